//! The coordinator with simulated processes, linked by pipes within this process; their clocks are hours apart.

use std::io::pipe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use brunt_plan::Change;
use brunt_record::{End, RunEvent, RunPart};

use super::*;
use crate::barrier::Barrier;
use crate::collector::Collector;
use crate::tally::{WorkerTally, encode};

const HOURS: i64 = 3 * 3_600_000_000_000;
const SECOND: Nanos = Nanos::from_secs(1);

/// A launcher of simulated processes with a clock offset, each played by a function.
struct PlayedLauncher<F> {
    ahead: i64,
    play: Arc<F>,
}

/// The end of a simulated process, set when its function returns.
struct PlayedProcess(Arc<AtomicBool>);

impl ProcessHandle for PlayedProcess {
    fn exit_text(&self) -> io::Result<Option<String>> {
        Ok(self.0.load(Ordering::Relaxed).then(|| "over".to_owned()))
    }
    fn kill(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<F: Fn(Task, Assignment) + Send + Sync + 'static> Launcher for PlayedLauncher<F> {
    fn launch(&self, task: &Task) -> io::Result<ProcessLink> {
        let ((there, to), (from, back)) = (pipe()?, pipe()?);
        let (over, play, task) = (Arc::new(AtomicBool::new(false)), Arc::clone(&self.play), *task);
        let ended = Arc::clone(&over);
        std::thread::spawn(move || {
            play(task, Assignment::accept(there, back).unwrap());
            over.store(true, Ordering::Relaxed);
        });
        let clock = ClockOffset(self.ahead);
        Ok(ProcessLink { to: Box::new(to), from: Box::new(from), process: Arc::new(PlayedProcess(ended)), clock })
    }
}

/// Runs `number` processes with one worker each; returns the events.
fn run(number: u32, launcher: impl Launcher + 'static, (stop, control): (&Stop, &Control)) -> Vec<RunEvent> {
    let briefing = Arc::new(Briefing { description: "the plan".into(), ..Briefing::default() });
    let processes = Processes { number, launcher: Arc::new(launcher), briefing };
    let (report, told) = channel();
    let (mut events, name) = (Vec::new(), |code: u32| code.to_string());
    std::thread::scope(|scope| {
        let awaited = AwaitedWorkers::default();
        start(scope, &processes, number, &report, (stop, control), &awaited);
        drop(report);
        let mut sink = |event| events.push(event);
        Collector::new(number as usize, false, &name, &mut sink)
            .with_control(control)
            .with_awaited(&awaited)
            .listen(&told, Nanos::ZERO);
    });
    events
}

/// Reports one second of a window that began at this time of the worker's clock.
fn report_second(task: Task, window: Nanos, report: &Sender<(usize, WorkerMessage)>) {
    let mut tally = WorkerTally::new(1);
    (tally.counts.due, tally.counts.finished) = (10, 10);
    let second = encode(&tally, (window, window + SECOND), RunPart::Window, window);
    let worker = task.from as usize;
    report.send((worker, WorkerMessage::Snapshot(second))).unwrap();
    report.send((worker, WorkerMessage::Over { window: SECOND, interrupted: false })).unwrap();
}

#[test]
fn moments_are_translated_where_they_pass_a_link() {
    for ahead in [0, HOURS, -HOURS.min(Clock.now().0 as i64 / 2)] {
        let clock = ClockOffset(ahead);
        let play = move |task, assignment: Assignment| {
            assert_eq!(assignment.description(), "the plan");
            serve(assignment, 1, &Control::default(), |report, _, barriers: [Arc<Barrier>; 2], start| {
                let now = clock.to_process(Clock.now());
                assert!(start + SECOND > now && start < now + SECOND, "the start is a moment of its clock");
                barriers[0].ready(now);
                let until = Instant::now() + Duration::from_secs(20);
                let go = loop {
                    match barriers[0].starts_at() {
                        Some(go) => break go,
                        None => assert!(Instant::now() < until, "nobody says when the barrier is over"),
                    }
                    std::thread::sleep(Duration::from_millis(1));
                };
                let now = clock.to_process(Clock.now());
                assert!(go + SECOND > now && go < now + SECOND, "so is the end of a barrier");
                report_second(task, go, &report);
            });
        };
        let before = Clock.now();
        let events = run(2, PlayedLauncher { ahead, play: Arc::new(play) }, (&Stop::default(), &Control::default()));
        let began: Vec<u64> = events
            .iter()
            .filter_map(|event| if let RunEvent::Began(began) = event { Some(began.clock_ns) } else { None })
            .collect();
        let within = before.0..Clock.now().0 + SECOND.0;
        assert!(began.len() == 1 && within.contains(&began[0]), "{began:?} is on our clock: {within:?}");
        let finished: u64 =
            events.iter().map(|event| if let RunEvent::Second(second) = event { second.finished } else { 0 }).sum();
        assert_eq!(finished, 20, "{events:?}");
    }
}

#[test]
fn a_change_reaches_every_process_at_its_moment_and_is_recorded() {
    for ahead in [0, HOURS] {
        let control = Control::default();
        let at = Clock.now() + SECOND;
        let clock = ClockOffset(ahead);
        let play = move |task: Task, assignment: Assignment| {
            let told = Control::default();
            serve(assignment, 1, &told.clone(), |report, _, _, start| {
                let until = Instant::now() + Duration::from_secs(20);
                while told.since(1).is_empty() {
                    assert!(Instant::now() < until, "it is not told");
                    std::thread::sleep(Duration::from_millis(1));
                }
                let changes =
                    [(clock.to_process(at), Change::Users(7)), (clock.to_process(at + SECOND), Change::Pause)];
                let told = told.since(0);
                assert_eq!(told, changes.map(|(at, change)| ScheduledChange { at, change }));
                report_second(task, start, &report);
            });
        };
        control.add_scheduled(ScheduledChange { at, change: Change::Users(7) });
        control.add_scheduled(ScheduledChange { at: at + SECOND, change: Change::Pause });
        let events = run(2, PlayedLauncher { ahead, play: Arc::new(play) }, (&Stop::default(), &control));
        let began = events
            .iter()
            .find_map(|event| if let RunEvent::Began(began) = event { Some(began.clock_ns) } else { None });
        let changed: Vec<brunt_record::LoadChange> = events
            .iter()
            .filter_map(|event| if let RunEvent::Changed(changed) = event { Some(*changed) } else { None })
            .collect();
        let since = at.0 as i64 - began.unwrap() as i64;
        let second = brunt_record::LoadChange { at_ns: since + SECOND.0 as i64, change: Change::Pause };
        assert_eq!(changed, [brunt_record::LoadChange { at_ns: since, change: Change::Users(7) }, second]);
    }
}

#[test]
fn a_run_begins_once_all_have_prepared_and_whoever_cannot_is_not_waited_for() {
    let prepared = Arc::new(AtomicBool::new(false));
    let late = Arc::clone(&prepared);
    let play = move |task: Task, assignment: Assignment| match task.from {
        0 => assignment.refuse("-d: is no file"),
        1 => {
            std::thread::sleep(Duration::from_millis(600));
            late.store(true, Ordering::Relaxed);
            serve(assignment, 1, &Control::default(), |report, _, _, start| report_second(task, start, &report));
        }
        _ => serve(assignment, 1, &Control::default(), |report, _, _, start| {
            assert!(late.load(Ordering::Relaxed), "it began before the other had prepared");
            report_second(task, start, &report);
        }),
    };
    let events = run(3, PlayedLauncher { ahead: 0, play: Arc::new(play) }, (&Stop::default(), &Control::default()));
    let lost: Vec<&str> = events
        .iter()
        .filter_map(|event| if let RunEvent::Notice(notice) = event { Some(&*notice.facts["how"]) } else { None })
        .collect();
    assert_eq!(lost, ["it could not take its share: -d: is no file"]);
    let RunEvent::Ended(ended) = events.last().unwrap() else { panic!("{events:?}") };
    assert_eq!((ended.reason, ended.window), (End::Partial, SECOND));
    assert!(prepared.load(Ordering::Relaxed));
}

#[test]
fn one_that_tells_nothing_while_others_go_on_is_given_up_before_memory_is_and_the_record_says_so() {
    let (one_told, all_told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let wait_for = |flag: &AtomicBool| {
        while !flag.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let play = move |task: Task, assignment: Assignment| {
        serve(assignment, 1, &Control::default(), |report, _, _, start| {
            let worker = task.from as usize;
            let second = |nth: u64, due| {
                let mut tally = WorkerTally::new(1);
                (tally.counts.due, tally.counts.finished) = (due, 10);
                let (from, to) = (start + Nanos::from_secs(nth), start + Nanos::from_secs(nth + 1));
                WorkerMessage::Snapshot(encode(&tally, (from, to), RunPart::Window, start))
            };
            if worker == 1 {
                // The process has two requests in flight when it is stopped.
                report.send((worker, second(0, 12))).unwrap();
                one_told.store(true, Ordering::Relaxed);
                wait_for(&all_told);
                return;
            }
            // An hour of seconds in quick succession, once the only second of the other process has had time to arrive.
            wait_for(&one_told);
            std::thread::sleep(Duration::from_millis(100));
            for nth in 0..3600 {
                report.send((worker, second(nth, 10))).unwrap();
            }
            report.send((worker, WorkerMessage::Over { window: Nanos::from_secs(3600), interrupted: false })).unwrap();
            all_told.store(true, Ordering::Relaxed);
        });
    };
    let events = run(2, PlayedLauncher { ahead: 0, play: Arc::new(play) }, (&Stop::default(), &Control::default()));
    let (mut seconds, mut sums, mut lost) = (0, [0; 3], Vec::new());
    for event in &events {
        match event {
            RunEvent::Second(second) => {
                seconds += 1;
                sums = [sums[0] + second.due, sums[1] + second.finished, sums[2] + second.censored];
            }
            RunEvent::Notice(notice) => lost.push((notice.code.clone(), notice.facts.clone(), seconds)),
            _ => {}
        }
    }
    assert_eq!(sums, [36_012, 36_010, 2], "what it had told is kept, what it had under way is unfinished");
    let (code, facts, told) = &lost[0];
    assert!(*told <= 1, "it is given up before the seconds it holds up are handed on: {told}");
    // Either its end was detected first, or the collector first held twice the limit of seconds.
    assert!(["process_lost", "worker_lost"].contains(&&**code), "{lost:?}");
    assert!(facts.values().any(|fact| fact.contains("it reported nothing for")), "{lost:?}");
    let RunEvent::Ended(ended) = events.last().unwrap() else { panic!("{events:?}") };
    assert_eq!((ended.reason, ended.window), (End::Partial, Nanos::from_secs(3600)));
}

#[test]
fn a_stop_reaches_those_who_still_prepare() {
    let stop = Stop::default();
    let wish = stop.clone();
    let play = move |task: Task, assignment: Assignment| {
        if task.from == 0 {
            wish.request();
            // The process never reports that it is prepared.
            let mut assignment = assignment;
            while !matches!(Order::read(&mut assignment.orders), Ok(Some(Order::Stop) | None)) {}
            assignment.refuse("the run was stopped");
        } else {
            serve(assignment, 1, &Control::default(), |report, stop, _, _| {
                assert!(stop.requested());
                let over = WorkerMessage::Over { window: Nanos::ZERO, interrupted: true };
                report.send((task.from as usize, over)).unwrap();
            });
        }
    };
    let events = run(2, PlayedLauncher { ahead: 0, play: Arc::new(play) }, (&stop, &Control::default()));
    let RunEvent::Ended(ended) = events.last().unwrap() else { panic!("{events:?}") };
    assert_eq!(ended.reason, End::Interrupted);
}
