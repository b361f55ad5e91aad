//! The coordinator with agents that are played: they answer like real ones, and hand in records that were made up. The
//! coordinator begins where [`ResumedRun`] does, so that no plan must be prepared.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_engine::{Control, PREPARED, Stop};
use brunt_measure::{Clock, Nanos};
use brunt_messenger::{FrameId, Held, LocalMessenger, Messenger, Presence};
use brunt_plan::{Change, LossPolicy, Plan, RunTerms};
use brunt_record::{
    AgentHead, End, EventEncoder, Notice, RunEnd, RunEvent, RunPart, RunStarted, Second, Subject, WindowStart,
    WorkerRange,
};

use super::directory::{RunDirectory, RunHead};
use super::merge::RunTime;
use super::wires::{Troubles, keep};
use super::{Fleet, ResumedRun, unfinished_runs_of};
use crate::frame::Item;
use crate::protocol::{AgentAnswer, AgentDescription, AgentOrder, AgentQuestion, from_bytes, to_bytes};

const RUN: &str = "r";
const SOON: Duration = Duration::from_secs(30);
const SECOND: i64 = 1_000_000_000;

fn started(agents: usize) -> RunStarted {
    let text = include_str!("../../../record/src/version-1.jsonl");
    let line = text.lines().next().unwrap();
    let RunEvent::Started(started) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
    let head = |n: usize| AgentHead {
        name: format!("a{n}"),
        workers: WorkerRange { from: n as u32, to: n as u32 + 1 },
        ..AgentHead::default()
    };
    // A level load, which others can take over.
    let plan = Plan { requests: None, ..started.plan };
    RunStarted { plan, agents: (0..agents).map(head).collect(), schema: brunt_record::SCHEMA.into(), ..*started }
}

/// An agent that is played.
struct PlayedAgent {
    messenger: LocalMessenger,
    name: String,
    encoder: Mutex<EventEncoder>,
    next: AtomicU64,
    orders: Arc<Mutex<Vec<AgentOrder>>>,
    /// Time by which it follows changes of the load late (nanoseconds).
    late: Arc<AtomicU64>,
    _held: Vec<Held>,
}

impl PlayedAgent {
    fn new(hub: &LocalMessenger, number: usize) -> PlayedAgent {
        let (messenger, name) = (hub.participant(), format!("a{number}"));
        let orders = Arc::<Mutex<Vec<AgentOrder>>>::default();
        let (heard, follows_late) = (Arc::clone(&orders), Arc::<AtomicU64>::default());
        let late = Arc::clone(&follows_late);
        let respond = move |question: &[u8]| {
            to_bytes(&match from_bytes(question) {
                Some(AgentQuestion::Clock) => AgentAnswer::Clock { now_ns: Clock.now().0, unix_ns: 0 },
                Some(AgentQuestion::Order { order, .. }) => {
                    heard.lock().unwrap().push(order);
                    match order {
                        AgentOrder::Change { at_ns, .. } => {
                            AgentAnswer::Follows { from_ns: at_ns + late.load(Ordering::Relaxed) }
                        }
                        _ => AgentAnswer::Yes,
                    }
                }
                _ => AgentAnswer::Yes,
            })
        };
        let held = vec![
            messenger.answer(&format!("agent/{name}"), Box::new(respond)).unwrap(),
            messenger.appear(&Presence::draw(&name)).unwrap(),
        ];
        let encoder = Mutex::new(EventEncoder::new().unwrap());
        PlayedAgent { messenger, name, encoder, next: AtomicU64::new(0), orders, late: follows_late, _held: held }
    }

    /// Hands in items, again and again until they are taken, like a real agent; returns `false` if that is never.
    fn hand_in(&self, items: &[Item]) -> bool {
        let mut frame = Vec::new();
        items.iter().for_each(|item| item.write(&mut frame));
        let seq = self.next.load(Ordering::Relaxed);
        let id = FrameId { run: RUN.into(), agent: self.name.clone(), epoch: 0, seq };
        let until = Instant::now() + SOON;
        while self.messenger.deliver(&id, &frame, SOON).is_err() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // A network may bring a frame twice.
        let _ = self.messenger.deliver(&id, &frame, SOON);
        self.next.fetch_add(items.len() as u64, Ordering::Relaxed);
        true
    }

    fn event(&self, event: &RunEvent) -> Item {
        Item::Event(self.encoder.lock().unwrap().encode(event).unwrap().to_vec())
    }

    fn tell(&self, event: &RunEvent) {
        let item = self.event(event);
        assert!(self.hand_in(&[item]), "{}: nobody takes {event:?}", self.name);
    }

    /// Waits for a change of the load, and some looks of the coordinator for the answer: a real agent has no second to report of
    /// before.
    fn until_changed(&self) {
        self.until_ordered(|order| matches!(order, AgentOrder::Change { .. }));
        std::thread::sleep(Duration::from_millis(300));
    }

    fn until_ordered(&self, is_it: impl Fn(&AgentOrder) -> bool) {
        let end = Instant::now() + SOON;
        while !self.orders.lock().unwrap().iter().any(&is_it) {
            assert!(Instant::now() < end, "{} is not told", self.name);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Gets ready, and begins once it is told to.
    fn begin(&self) {
        self.begin_before(Nanos::ZERO);
    }

    /// Does so, and says that its window began this long before.
    fn begin_before(&self, before: Nanos) {
        assert!(self.hand_in(&[Item::Ready(PREPARED as u32)]));
        self.until_ordered(|order| matches!(order, AgentOrder::Go { barrier, .. } if *barrier == PREPARED as u32));
        self.tell(&RunEvent::Started(Box::new(started(0))));
        self.tell(&RunEvent::Began(WindowStart { clock_ns: Clock.now().0.saturating_sub(before.0), unix_ns: 1 }));
    }

    /// Reports the nth second: this many requests were due, and ten succeeded.
    fn second(&self, nth: i64, due: u64) {
        let (from_ns, to_ns) = (nth * SECOND, (nth + 1) * SECOND);
        let mut second = Second { from_ns, to_ns, part: RunPart::Window, due, finished: 10, ..Second::default() };
        for n in 0..10 {
            second.latency.service.record(Nanos::from_millis(1 + n));
        }
        self.tell(&RunEvent::Second(Box::new(second)));
    }

    fn end(&self, seconds: u64) {
        let window = Nanos::from_secs(seconds);
        self.tell(&RunEvent::Ended(RunEnd { reason: End::Completed, window, elapsed: window }));
        assert!(self.hand_in(&[Item::Ended("exit code 0".into())]));
    }
}

/// A coordinator on a thread, whose events are collected.
struct PlayedRun {
    hub: LocalMessenger,
    own: LocalMessenger,
    below: tempfile::TempDir,
    stop: Stop,
    control: Control,
    events: Arc<Mutex<Vec<RunEvent>>>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Set to make the coordinator vanish at its next event, as if it was killed.
    killed: Arc<AtomicBool>,
}

impl PlayedRun {
    fn start(agents: usize, terms: RunTerms) -> (PlayedRun, Vec<PlayedAgent>) {
        PlayedRun::start_as(started(agents), terms)
    }

    /// Starts a run of two agents, and returns once both have begun.
    fn of_two(terms: RunTerms) -> (PlayedRun, [PlayedAgent; 2]) {
        let (run, agents) = PlayedRun::start(2, terms);
        std::thread::scope(|scope| agents.iter().for_each(|agent| drop(scope.spawn(|| agent.begin()))));
        (run, agents.try_into().ok().expect("two agents"))
    }

    fn start_as(started: RunStarted, terms: RunTerms) -> (PlayedRun, Vec<PlayedAgent>) {
        PlayedRun::start_below(started, terms, Vec::new())
    }

    fn start_below(started: RunStarted, terms: RunTerms, ceilings: Vec<Option<f64>>) -> (PlayedRun, Vec<PlayedAgent>) {
        let agents = started.agents.len();
        let hub = LocalMessenger::default();
        let below = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(below.path(), RUN).unwrap();
        let (opening, outputs) = (Vec::new(), Vec::new());
        directory
            .write_head(&RunHead { started, opening, is_open: false, terms, ceilings, fleet: None, outputs })
            .unwrap();
        // It is conducted by the thread of the coordinator.
        drop(directory);
        let all = (0..agents).map(|number| PlayedAgent::new(&hub, number)).collect();
        let own = hub.participant();
        let mut run = PlayedRun {
            own,
            hub,
            below,
            stop: Stop::default(),
            control: Control::default(),
            events: Arc::default(),
            thread: None,
            killed: Arc::default(),
        };
        run.go_on();
        (run, all)
    }

    /// Starts the coordinator, or starts it again.
    fn go_on(&mut self) {
        self.own = self.hub.participant();
        self.killed = Arc::default();
        let (own, stop, killed) = (self.own.clone(), self.stop.clone(), Arc::clone(&self.killed));
        let control = self.control.clone();
        let directory = RunDirectory::open(self.below.path(), RUN).unwrap();
        let events = Arc::<Mutex<Vec<RunEvent>>>::default();
        self.events = Arc::clone(&events);
        self.thread = Some(std::thread::spawn(move || {
            let fleet = Arc::new(Fleet::watch(Arc::new(own.clone()), Vec::new()).unwrap());
            let resumed = ResumedRun::open(fleet, directory).unwrap();
            let collect = &mut |event| {
                if killed.load(Ordering::Relaxed) {
                    own.cut_off(true);
                    panic!("killed");
                }
                events.lock().unwrap().push(event);
            };
            resumed.conduct((&stop, &control), collect).unwrap();
        }));
    }

    fn is_gone(&self) -> bool {
        !Path::new(&self.below.path().join(RUN)).exists()
    }

    fn finish(&mut self) -> Vec<RunEvent> {
        self.thread.take().unwrap().join().unwrap();
        assert!(self.is_gone(), "the directory of a run that is whole is removed");
        std::mem::take(&mut *self.events.lock().unwrap())
    }

    fn until(&self, what: &str, is_so: impl Fn(&[RunEvent]) -> bool) {
        let end = Instant::now() + SOON;
        while !is_so(&self.events.lock().unwrap()) {
            assert!(Instant::now() < end, "{what}: {:?}", self.events.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn seconds(events: &[RunEvent]) -> Vec<&Second> {
    events
        .iter()
        .filter_map(|event| if let RunEvent::Second(second) = event { Some(&**second) } else { None })
        .collect()
}

fn notices(events: &[RunEvent]) -> Vec<(Subject, String)> {
    let notice = |event: &RunEvent| match event {
        RunEvent::Notice(notice) => Some((notice.subject()?, notice.facts.get("agent").cloned().unwrap_or_default())),
        _ => None,
    };
    events.iter().filter_map(notice).collect()
}

fn ended(events: &[RunEvent]) -> &RunEnd {
    match events.last() {
        Some(RunEvent::Ended(ended)) => ended,
        other => panic!("{other:?}"),
    }
}

/// Returns the sums over all seconds: due, succeeded, unfinished.
fn sums(events: &[RunEvent]) -> [u64; 3] {
    let all = seconds(events);
    let sum = |of: fn(&Second) -> u64| all.iter().map(|second| of(second)).sum();
    [sum(|s| s.due), sum(|s| s.finished), sum(|s| s.censored)]
}

fn terms(lost_after: u64) -> RunTerms {
    RunTerms { lost_after: Nanos::from_millis(lost_after), ..RunTerms::default() }
}

#[test]
fn records_of_agents_are_one_record_and_each_stands_beside_it() {
    let (mut run, agents) = PlayedRun::start(3, terms(60_000));
    std::thread::scope(|scope| {
        for agent in &agents {
            scope.spawn(|| {
                agent.begin();
                (0..5).for_each(|nth| agent.second(nth, 10));
                agent.end(5);
            });
        }
    });
    let events = run.finish();
    assert!(matches!(&events[0], RunEvent::Started(started) if started.agents.len() == 3));
    assert_eq!(events.iter().filter(|event| matches!(event, RunEvent::Began(_))).count(), 1);
    let whole = seconds(&events);
    assert_eq!(whole.iter().map(|second| second.from_ns / SECOND).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(whole.iter().all(|second| second.finished == 30 && second.latency.service.count() == 30));
    assert_eq!((sums(&events), ended(&events).reason), ([150, 150, 0], End::Completed));
    assert_eq!(ended(&events).window, Nanos::from_secs(5));
    for agent in 0..3 {
        let own = events.iter().filter(|event| matches!(event, RunEvent::OfAgent(told) if told.agent == agent));
        assert_eq!(own.count(), 7, "its start, five seconds and its end");
    }
    assert!(notices(&events).is_empty());
}

#[test]
fn quantiles_of_the_whole_are_those_of_all_samples() {
    const AGENTS: usize = 4;
    let (mut run, agents) = PlayedRun::start(AGENTS, terms(60_000));
    let samples = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (number, agent) in agents.iter().enumerate() {
            let samples = &samples;
            scope.spawn(move || {
                agent.begin();
                // Each is slower than the one before, and has a tail: no quantile of the whole is one of an agent.
                let mut rng = brunt_measure::Rng::new(number as u64);
                for nth in 0..3 {
                    let (from_ns, to_ns) = (nth * SECOND, (nth + 1) * SECOND);
                    let mut second = Second { from_ns, to_ns, part: RunPart::Window, ..Second::default() };
                    for _ in 0..2000 {
                        let took = Nanos((1e6 * (1.0 + number as f64) * (0.1 + rng.exponential())) as u64);
                        second.latency.service.record(took);
                        samples.lock().unwrap().push(took);
                    }
                    (second.due, second.finished) = (2000, 2000);
                    agent.tell(&RunEvent::Second(Box::new(second)));
                }
                agent.end(3);
            });
        }
    });
    let events = run.finish();
    let mut samples = samples.into_inner().unwrap();
    samples.sort_unstable();
    let mut whole = brunt_measure::Histogram::new();
    seconds(&events).iter().for_each(|second| whole.merge(&second.latency.service));
    assert_eq!(
        (whole.count(), whole.sum()),
        (samples.len() as u64, samples.iter().map(|took| u128::from(took.0)).sum())
    );
    for q in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
        let rank = brunt_measure::quantile::rank_of(whole.count(), q);
        let (found, exact) = (whole.at_rank(rank).unwrap(), samples[rank as usize - 1]);
        let error = (found.0 as f64 / exact.0 as f64 - 1.0).abs();
        assert!(error <= 0.0021, "q {q}: {found:?} for {exact:?}");
    }
}

#[test]
fn a_silent_agent_is_waited_for_and_its_seconds_are_merged_once() {
    let (mut run, agents) = PlayedRun::of_two(terms(60_000));
    let [steady, cut] = &agents;
    cut.second(0, 10);
    cut.messenger.cut_off(true);
    // It is said after three seconds; meanwhile the other goes on.
    for nth in 0..6 {
        steady.second(nth, 10);
        std::thread::sleep(Duration::from_millis(800));
    }
    run.until("it is said to be silent", |events| notices(events) == [(Subject::AgentLate, "a1".into())]);
    run.until("seconds are shown without it", |events| {
        events.iter().any(|event| matches!(event, RunEvent::Provisional(second) if second.missing_share == 0.5))
    });
    assert_eq!(seconds(&run.events.lock().unwrap()).len(), 1, "the record waits");
    cut.messenger.cut_off(false);
    (1..6).for_each(|nth| cut.second(nth, 10));
    [steady, cut].into_iter().for_each(|agent| agent.end(6));
    let events = run.finish();
    assert_eq!((sums(&events), ended(&events).reason), ([120, 120, 0], End::Completed));
    assert!(seconds(&events).iter().all(|second| second.missing_share == 0.0 && second.finished == 20));
    assert_eq!(notices(&events), [(Subject::AgentLate, "a1".into()), (Subject::AgentBack, "a1".into())]);
}

#[test]
fn an_agent_that_was_started_again_is_said_to_be_lost_and_not_to_be_back() {
    let (mut run, agents) = PlayedRun::of_two(terms(60_000));
    let [steady, again] = &agents;
    again.second(0, 10);
    run.until("it is said to be silent", |events| notices(events).contains(&(Subject::AgentLate, "a1".into())));
    // Its spool is handed in, in more than one piece.
    again.second(1, 10);
    assert!(again.hand_in(&[Item::Ended("the agent was started again".into())]));
    (0..2).for_each(|nth| steady.second(nth, 10));
    steady.end(2);
    let of_it: Vec<_> = notices(&run.finish()).into_iter().filter(|(_, agent)| agent == "a1").collect();
    assert_eq!(of_it.iter().map(|(what, _)| *what).collect::<Vec<_>>(), [Subject::AgentLate, Subject::AgentLost]);
}

#[test]
fn a_change_after_the_planned_end_is_neither_recorded_nor_passed_on() {
    for (begun_before, expected) in [(0, 1), (61, 0)] {
        let mut started = started(1);
        started.plan.duration = Some(Nanos::from_secs(60));
        let plan = started.plan.clone();
        let (mut run, agents) = PlayedRun::start_as(started, terms(60_000));
        let [agent] = &agents[..] else { panic!("one agent") };
        agent.begin_before(Nanos::from_secs(begun_before));
        agent.second(0, 10);
        run.until("the window began", |events| events.iter().any(|event| matches!(event, RunEvent::Began(_))));
        run.control.change(&plan, Change::Users(7)).unwrap();
        let is_change = |order: &AgentOrder| matches!(order, AgentOrder::Change { .. });
        if expected == 1 {
            agent.until_ordered(is_change);
        } else {
            // Some looks of the coordinator.
            std::thread::sleep(Duration::from_millis(300));
        }
        agent.end(1);
        let recorded = run.finish().iter().filter(|event| matches!(event, RunEvent::Changed(_))).count();
        let heard = agent.orders.lock().unwrap().iter().filter(|order| is_change(order)).count();
        assert_eq!((recorded, heard), (expected, expected), "begun {begun_before} s before");
    }
}

#[test]
fn a_lost_agent_is_missing_from_then_on_and_what_it_had_in_flight_is_unfinished() {
    let (mut run, agents) = PlayedRun::of_two(terms(1500));
    let [steady, lost] = &agents;
    // Two of its requests have not ended.
    lost.second(0, 12);
    for nth in 0..5 {
        steady.second(nth, 10);
        std::thread::sleep(Duration::from_millis(600));
    }
    steady.end(5);
    let events = run.finish();
    assert_eq!(sums(&events), [62, 60, 2]);
    let missing: Vec<f64> =
        seconds(&events).iter().filter(|s| s.to_ns > s.from_ns).map(|second| second.missing_share).collect();
    assert_eq!(missing, [0.0, 0.5, 0.5, 0.5, 0.5]);
    assert_eq!(ended(&events).reason, End::Partial);
    assert!(notices(&events).contains(&(Subject::AgentLost, "a1".into())));
}

#[test]
fn an_agent_that_cannot_take_its_share_or_dies_is_lost_at_once_with_its_reason() {
    let (mut run, agents) = PlayedRun::start(3, terms(60_000));
    let [steady, refuses, dies] = &agents[..] else { panic!("three agents") };
    assert!(refuses.hand_in(&[Item::Refused("-d: is no file".into()), Item::Ended("exit code 64".into())]));
    std::thread::scope(|scope| {
        [steady, dies].into_iter().for_each(|agent| drop(scope.spawn(|| agent.begin())));
    });
    dies.second(0, 10);
    assert!(dies.hand_in(&[Item::Ended("killed by SIGKILL".into())]));
    (0..3).for_each(|nth| steady.second(nth, 10));
    steady.end(3);
    let events = run.finish();
    let why = |name: &str| {
        let is_it = |event: &&RunEvent| matches!(event, RunEvent::Notice(said) if said.subject() == Some(Subject::AgentLost) && said.facts["agent"] == name);
        match events.iter().find(is_it) {
            Some(RunEvent::Notice(notice)) => notice.facts["why"].clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        (why("a1"), why("a2")),
        ("it could not take its share: -d: is no file".into(), "killed by SIGKILL".into())
    );
    assert_eq!((sums(&events), ended(&events).reason), ([40, 40, 0], End::Partial));
}

#[test]
fn a_coordinator_that_was_killed_goes_on_with_what_it_had_and_with_what_it_missed() {
    let (mut run, agents) = PlayedRun::of_two(terms(60_000));
    (0..3).for_each(|nth| agents.iter().for_each(|agent| agent.second(nth, 10)));
    run.until("three seconds are passed on", |events| seconds(events).len() == 3);
    let before = run.events.lock().unwrap().clone();
    run.killed.store(true, Ordering::Relaxed);
    agents.iter().for_each(|agent| agent.second(3, 10));
    assert!(run.thread.take().unwrap().join().is_err());
    // Agents go on; what they deliver now nobody takes.
    let handing_in = std::thread::spawn(move || {
        (4..8).for_each(|nth| agents.iter().for_each(|agent| agent.second(nth, 10)));
        agents.iter().for_each(|agent| agent.end(8));
    });
    std::thread::sleep(Duration::from_millis(300));
    run.go_on();
    let events = run.finish();
    handing_in.join().unwrap();
    assert_eq!((sums(&events), ended(&events).reason), ([160, 160, 0], End::Completed));
    assert_eq!(seconds(&events).len(), 8);
    let told = |events: &[RunEvent]| seconds(events).into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(told(&events)[..3], told(&before)[..3], "the same seconds are told again");
}

#[test]
fn a_stop_reaches_all_and_abort_stops_the_others() {
    for policy in [LossPolicy::GoOn, LossPolicy::Abort] {
        let (mut run, agents) = PlayedRun::of_two(RunTerms { on_lost: policy, ..terms(60_000) });
        let [steady, other] = &agents;
        [steady, other].into_iter().for_each(|agent| agent.second(0, 10));
        if policy == LossPolicy::Abort {
            assert!(other.hand_in(&[Item::Ended("killed by SIGKILL".into())]));
        } else {
            run.stop.request();
            other.until_ordered(|order| *order == AgentOrder::Stop);
            other.end(1);
        }
        steady.until_ordered(|order| *order == AgentOrder::Stop);
        steady.end(1);
        let events = run.finish();
        let expected = if policy == LossPolicy::Abort { End::Partial } else { End::Interrupted };
        assert_eq!(ended(&events).reason, expected, "{policy:?}");
    }
}

#[test]
fn an_agent_that_works_on_its_end_is_waited_for_and_one_that_works_under_load_is_not() {
    for is_stopped in [true, false] {
        let (mut run, agents) = PlayedRun::of_two(terms(1500));
        let [steady, works] = &agents;
        [steady, works].into_iter().for_each(|agent| agent.second(0, 10));
        if is_stopped {
            run.stop.request();
            works.until_ordered(|order| *order == AgentOrder::Stop);
            steady.end(1);
        }
        for nth in 1..9 {
            std::thread::sleep(Duration::from_millis(500));
            if !is_stopped {
                steady.second(nth, 10);
            }
            assert!(works.hand_in(&[Item::Works]));
        }
        if is_stopped {
            works.end(1);
        } else {
            steady.end(9);
        }
        let lost = notices(&run.finish()).contains(&(Subject::AgentLost, "a1".into()));
        assert_eq!(lost, !is_stopped, "stopped: {is_stopped}");
    }
}

#[test]
fn an_agent_whose_last_second_is_there_may_work_on_its_end() {
    let mut started = started(1);
    started.plan.duration = Some(Nanos::from_secs(1));
    let (mut run, agents) = PlayedRun::start_as(started, terms(1000));
    let [agent] = &agents[..] else { panic!("one agent") };
    agent.begin();
    agent.second(0, 10);
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(500));
        assert!(agent.hand_in(&[Item::Works]));
    }
    agent.end(1);
    let events = run.finish();
    assert_eq!((ended(&events).reason, notices(&events)), (End::Completed, vec![(Subject::AgentCloses, "a0".into())]));
}

#[test]
fn an_agent_that_hands_in_what_changes_nothing_is_silent_and_its_remarks_end() {
    let (mut run, agents) = PlayedRun::of_two(terms(1500));
    let [steady, talks] = &agents;
    [steady, talks].into_iter().for_each(|agent| agent.second(0, 10));
    for nth in 1..9 {
        std::thread::sleep(Duration::from_millis(500));
        steady.second(nth, 10);
        let nothing = talks.event(&RunEvent::Notice(Notice::new(Subject::AgentRemark, [])));
        let remarks = vec![Item::Remark("so it goes".into()); 50];
        assert!(talks.hand_in(&[vec![Item::Ready(77), Item::Works, nothing], remarks].concat()));
    }
    steady.end(9);
    let told = notices(&run.finish());
    assert!(told.contains(&(Subject::AgentLost, "a1".into())), "{told:?}");
    assert_eq!(told.iter().filter(|(what, _)| *what == Subject::AgentRemark).count(), 100);
}

#[test]
fn an_agent_that_its_owner_takes_back_is_lost_from_then_on_with_all_its_figures() {
    for policy in [LossPolicy::GoOn, LossPolicy::Redistribute, LossPolicy::Abort] {
        let (mut run, agents) = PlayedRun::of_two(RunTerms { on_lost: policy, ..terms(60_000) });
        let [steady, taken] = &agents;
        [steady, taken].into_iter().for_each(|agent| agent.second(0, 10));
        let window = Nanos::from_secs(1);
        let over = taken.event(&RunEvent::Ended(RunEnd { reason: End::Interrupted, window, elapsed: window }));
        let leaves = [Item::Remark("taken back by its owner".into()), over, Item::Ended("exit code 21".into())];
        assert!(taken.hand_in(&leaves));
        match policy {
            LossPolicy::GoOn => {}
            LossPolicy::Redistribute => steady.until_changed(),
            LossPolicy::Abort => steady.until_ordered(|order| *order == AgentOrder::Stop),
        }
        (1..60).for_each(|nth| steady.second(nth, 10));
        steady.end(60);
        let events = run.finish();
        assert_eq!((sums(&events), ended(&events).reason), ([610, 610, 0], End::Partial), "{policy:?}");
        assert_eq!(notices(&events)[..2], [Subject::AgentRemark, Subject::AgentLost].map(|said| (said, "a1".into())));
        let told = seconds(&events);
        let expected = if policy == LossPolicy::Redistribute { 0.0 } else { 0.5 };
        assert_eq!((told[0].missing_share, told[59].missing_share), (0.0, expected), "{policy:?}");
    }
}

#[test]
fn a_full_disk_in_which_room_is_made_in_time_costs_nothing() {
    let below = tempfile::tempdir().unwrap();
    let directory = RunDirectory::create(below.path(), RUN).unwrap();
    let head = AgentHead { name: "a0".into(), ..AgentHead::default() };
    let mut items = directory.open_items(&head).unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let disk = std::mem::replace(&mut items.file, full);
    let (names, files) = (["a0".to_owned()], [Mutex::new(items)]);
    let (told, incoming) = std::sync::mpsc::sync_channel(1);
    let troubles = Troubles::default();
    let mut frame = Vec::new();
    Item::Ready(7).write(&mut frame);
    let id = FrameId { run: RUN.into(), agent: "a0".into(), epoch: 0, seq: 0 };
    assert!(!keep(&names, &files, (&told, &troubles), &id, &frame));
    assert!(troubles.of(0).is_some_and(|why| why.contains("No space left")));
    files[0].lock().unwrap().file = disk;
    assert!(keep(&names, &files, (&told, &troubles), &id, &frame));
    assert_eq!((troubles.of(0), incoming.recv().unwrap().items), (None, vec![Item::Ready(7)]));
    assert_eq!(directory.open_items(&head).unwrap().known, [Item::Ready(7)]);
}

#[test]
fn what_is_no_record_costs_the_agent_its_place_and_nobody_else() {
    let (mut run, agents) = PlayedRun::of_two(terms(60_000));
    let [steady, liar] = &agents;
    liar.second(0, 10);
    liar.second(0, 10);
    liar.until_ordered(|order| *order == AgentOrder::Stop);
    (0..2).for_each(|nth| steady.second(nth, 10));
    steady.end(2);
    let events = run.finish();
    assert_eq!(sums(&events)[1], 30, "its second is counted once");
    assert!(notices(&events).contains(&(Subject::AgentLost, "a1".into())));
}

/// Adds events of an agent whose window begins now; returns why it is given up, if it is, and all that is told.
fn lied(events: &[RunEvent]) -> (Option<String>, Vec<RunEvent>) {
    let mut merger = super::merge::RecordMerger::new([("a0".to_owned(), 1.0, Default::default())], true);
    let (mut encoder, mut told) = (EventEncoder::new().unwrap(), Vec::new());
    let began = WindowStart { clock_ns: Clock.now().0, unix_ns: 1 };
    let opening = [RunEvent::Started(Box::new(started(1))), RunEvent::Began(began)];
    let why = opening.iter().chain(events).find_map(|event| {
        let frame = encoder.encode(event).unwrap().to_vec();
        merger.add(0, &frame, &mut |event| told.push(event)).err()
    });
    merger.finish(false, &mut |event| told.push(event));
    (why, told)
}

#[test]
fn an_agent_whose_record_would_spoil_that_of_the_whole_is_given_up() {
    let second = |from_ns, to_ns| {
        RunEvent::Second(Box::new(Second { from_ns, to_ns, part: RunPart::Window, ..Second::default() }))
    };
    let ended = |window| RunEvent::Ended(RunEnd { window, elapsed: window, ..RunEnd::default() });
    let off = "it reports a second that is none of the run's";
    for (events, said) in [
        (vec![second(0, SECOND), second(SECOND, SECOND + 5), ended(Nanos(SECOND as u64 + 5))], None),
        (vec![second(SECOND / 2, SECOND * 3 / 2)], Some(off)),
        (vec![second(0, 1 << 60)], Some(off)),
        (vec![second(9_000 * SECOND, 9_001 * SECOND)], Some(off)),
        (
            vec![second(0, SECOND), ended(Nanos::from_secs(2000))],
            Some("it reports an end that its seconds do not reach"),
        ),
    ] {
        assert_eq!(lied(&events).0.as_deref(), said, "{events:?}");
    }
    let mut counts = Second { to_ns: SECOND, part: RunPart::Window, ..Second::default() };
    counts.due = 9 << 56;
    let why = lied(&[RunEvent::Second(Box::new(counts))]).0.expect("a reason");
    assert!(why.contains("larger than any run's"), "{why}");
}

#[test]
fn notices_in_the_record_of_an_agent_are_bounded() {
    let notice = |text: &str| RunEvent::Notice(Notice::new(Subject::AgentRemark, [("remark", text.to_owned())]));
    let kept = |events: Vec<RunEvent>| {
        let told = lied(&events).1;
        told.iter()
            .filter(|event| matches!(event, RunEvent::OfAgent(of) if matches!(*of.event, RunEvent::Notice(_))))
            .count()
    };
    assert_eq!(kept((0..300).map(|n| notice(&n.to_string())).collect()), 200);
    assert_eq!(kept(vec![notice(&"x".repeat(1 << 20)), notice("short")]), 1);
}

/// Decodes and adds up what many agents say each second (`FLEET_AGENTS`), and prints what that costs.
#[test]
fn what_many_agents_say_is_added_up() {
    let agents: usize = std::env::var("FLEET_AGENTS").map_or(50, |number| number.parse().unwrap());
    const SECONDS: i64 = 5;
    let names = (0..agents).map(|n| (format!("a{n}"), 1.0 / agents as f64, brunt_engine::ClockOffset::default()));
    let mut merger = super::merge::RecordMerger::new(names, true);
    let mut rng = brunt_measure::Rng::new(7);
    // One agent's record, as large as that of a real one: ten thousand requests a second with a tail.
    let mut encoder = EventEncoder::new().unwrap();
    let mut frames = vec![
        encoder.encode(&RunEvent::Started(Box::new(started(0)))).unwrap().to_vec(),
        encoder.encode(&RunEvent::Began(WindowStart { clock_ns: 1, unix_ns: 1 })).unwrap().to_vec(),
    ];
    for nth in 0..SECONDS {
        let (from_ns, to_ns) = (nth * SECOND, (nth + 1) * SECOND);
        let mut second =
            Second { from_ns, to_ns, part: RunPart::Window, due: 10_000, finished: 10_000, ..Second::default() };
        for _ in 0..10_000 {
            let took = Nanos((1e6 * rng.exponential()) as u64);
            let latency = &mut second.latency;
            let all = [&mut latency.response, &mut latency.service, &mut latency.first_byte, &mut latency.gen_late];
            all.into_iter().for_each(|histogram| histogram.record(took));
        }
        frames.push(encoder.encode(&RunEvent::Second(Box::new(second))).unwrap().to_vec());
    }
    let (began, mut seconds, mut finished) = (Instant::now(), 0, 0);
    for frame in &frames {
        for agent in 0..agents {
            let sink = &mut |event| {
                if let RunEvent::Second(second) = event {
                    (seconds, finished) = (seconds + 1, finished + second.finished);
                }
            };
            merger.add(agent, frame, sink).unwrap();
        }
    }
    assert_eq!((seconds, finished), (SECONDS, SECONDS as u64 * 10_000 * agents as u64));
    let each = began.elapsed().as_secs_f64() / SECONDS as f64;
    let bytes = frames.iter().map(Vec::len).max().unwrap();
    println!(
        "{agents} agents, {bytes} B a second each, ten thousand requests a second each: {each:.2} s of one core for each second"
    );
}

#[test]
fn load_that_others_took_over_is_missing_no_more() {
    let clock = brunt_engine::ClockOffset::default();
    let agents = ["a0", "a1"].map(|name| (name.to_owned(), 0.5, clock));
    let mut merger = super::merge::RecordMerger::new(agents, true);
    let mut missing = Vec::new();
    let mut sink = |event| {
        if let RunEvent::Second(second) = event {
            missing.push(second.missing_share);
        }
    };
    let mut encoders = [EventEncoder::new().unwrap(), EventEncoder::new().unwrap()];
    let window = 5 * SECOND as u64;
    let mut tell = |merger: &mut super::merge::RecordMerger, agent: usize, event: &RunEvent| {
        merger.add(agent, encoders[agent].encode(event).unwrap(), &mut sink).unwrap();
    };
    let second = |nth: i64| {
        let (from_ns, to_ns) = (nth * SECOND, (nth + 1) * SECOND);
        RunEvent::Second(Box::new(Second { from_ns, to_ns, part: RunPart::Window, ..Second::default() }))
    };
    for agent in 0..2 {
        tell(&mut merger, agent, &RunEvent::Started(Box::new(started(0))));
        tell(&mut merger, agent, &RunEvent::Began(WindowStart { clock_ns: window, unix_ns: 1 }));
        tell(&mut merger, agent, &second(0));
    }
    merger.lose(1, "silent", &mut |_| {});
    merger.carries(0, RunTime::At(Nanos(window + 2 * SECOND as u64)), 2.0);
    (1..4).for_each(|nth| tell(&mut merger, 0, &second(nth)));
    assert_eq!(missing, [0.0, 0.5, 0.0, 0.0]);
}

#[test]
fn a_lost_agent_is_stopped_and_stays_lost_for_whoever_goes_on_with_the_run() {
    let (mut run, agents) = PlayedRun::of_two(terms(1500));
    let [steady, lost] = &agents;
    lost.second(0, 10);
    lost.messenger.cut_off(true);
    for nth in 0..4 {
        steady.second(nth, 10);
        std::thread::sleep(Duration::from_millis(600));
    }
    run.until("it is lost", |events| notices(events).contains(&(Subject::AgentLost, "a1".into())));
    lost.messenger.cut_off(false);
    // It went on meanwhile: nobody counts that, so it must end.
    lost.until_ordered(|order| matches!(order, AgentOrder::Stop));
    (1..4).for_each(|nth| lost.second(nth, 10));
    lost.end(4);
    run.killed.store(true, Ordering::Relaxed);
    steady.second(4, 10);
    assert!(run.thread.take().unwrap().join().is_err());
    run.go_on();
    steady.end(5);
    let events = run.finish();
    assert_eq!((sums(&events), ended(&events).reason), ([60, 60, 0], End::Partial));
    let missing: Vec<f64> = seconds(&events).iter().map(|second| second.missing_share).collect();
    assert_eq!(missing, [0.0, 0.5, 0.5, 0.5, 0.5]);
    let losses = notices(&events).into_iter().filter(|(what, _)| *what == Subject::AgentLost).count();
    assert_eq!(losses, 1);
}

#[test]
fn what_agents_hold_that_all_fell_silent_is_there_for_whoever_goes_on_with_the_run() {
    for one_went_on in [false, true] {
        let (mut run, agents) = PlayedRun::of_two(terms(2000));
        let [last, first] = &agents;
        [last, first].into_iter().for_each(|agent| agent.second(0, 10));
        first.messenger.cut_off(true);
        if one_went_on {
            for nth in 1..5 {
                std::thread::sleep(Duration::from_millis(600));
                last.second(nth, 10);
            }
            run.until("one is lost", |events| notices(events).contains(&(Subject::AgentLost, "a1".into())));
            last.second(5, 10);
        }
        last.messenger.cut_off(true);
        run.thread.take().unwrap().join().unwrap();
        let awaited = |event: &RunEvent| match event {
            RunEvent::Notice(said) if said.subject() == Some(Subject::AgentsAwaited) => {
                Some(said.facts["agents"].clone())
            }
            _ => None,
        };
        let told = std::mem::take(&mut *run.events.lock().unwrap());
        let names = if one_went_on { "a0" } else { "a0, a1" };
        assert_eq!(told.iter().find_map(awaited).as_deref(), Some(names), "{told:?}");
        let lost = notices(&told).into_iter().filter(|(what, _)| *what == Subject::AgentLost).count();
        assert_eq!((lost, ended(&told).reason, run.is_gone()), (2, End::Partial, false));

        [last, first].into_iter().for_each(|agent| agent.messenger.cut_off(false));
        run.go_on();
        // A frame of one whose loss stands is taken, and does not count.
        (1..6).for_each(|nth| first.second(nth, 10));
        first.end(6);
        let (done, expected) = if one_went_on { (6, [70, 70, 0]) } else { (1, [120, 120, 0]) };
        (done..6).for_each(|nth| last.second(nth, 10));
        last.end(6);
        let events = run.finish();
        let reason = if one_went_on { End::Partial } else { End::Completed };
        assert_eq!((sums(&events), ended(&events).reason), (expected, reason));
    }
}

#[test]
fn what_others_took_over_is_missing_no_more_for_whoever_goes_on_with_the_run() {
    let (mut run, agents) = PlayedRun::of_two(RunTerms { on_lost: LossPolicy::Redistribute, ..terms(60_000) });
    let [steady, lost] = &agents;
    [steady, lost].into_iter().for_each(|agent| agent.second(0, 10));
    assert!(lost.hand_in(&[Item::Ended("killed by SIGKILL".into())]));
    // The others carry its load within the first second or, if this machine is slow, in one soon after.
    steady.until_changed();
    (1..60).for_each(|nth| steady.second(nth, 10));
    run.until("all is passed on", |events| seconds(events).len() == 60);
    let before = run.events.lock().unwrap().clone();
    run.killed.store(true, Ordering::Relaxed);
    steady.second(60, 10);
    assert!(run.thread.take().unwrap().join().is_err());
    run.go_on();
    steady.end(61);
    let events = run.finish();
    let missing = |events: &[RunEvent]| seconds(events).iter().map(|s| s.missing_share).collect::<Vec<_>>();
    assert_eq!(missing(&events)[..60], missing(&before)[..]);
    assert_eq!(missing(&events)[60], 0.0);
}

#[test]
fn what_an_agent_was_given_is_missing_until_it_follows_for_whoever_goes_on_with_the_run_too() {
    let (mut run, agents) = PlayedRun::start(3, RunTerms { on_lost: LossPolicy::Redistribute, ..terms(60_000) });
    std::thread::scope(|scope| agents.iter().for_each(|agent| drop(scope.spawn(|| agent.begin()))));
    let [prompt, late, lost] = &agents[..] else { panic!("three agents") };
    late.late.store(3 * SECOND as u64, Ordering::Relaxed);
    agents.iter().for_each(|agent| agent.second(0, 10));
    assert!(lost.hand_in(&[Item::Ended("killed by SIGKILL".into())]));
    run.until("it is told that one was late", |events| {
        notices(events).contains(&(Subject::AgentChangedLate, "a1".into()))
    });
    (1..10).for_each(|nth| [prompt, late].into_iter().for_each(|agent| agent.second(nth, 10)));
    run.until("all is passed on", |events| seconds(events).len() == 10);
    let missing = |events: &[RunEvent]| seconds(events).iter().map(|s| s.missing_share).collect::<Vec<_>>();
    let before = missing(&run.events.lock().unwrap());
    // Each carries half as much again; a third was lost, half of which is missing for three seconds.
    let sixth = before.iter().filter(|share| (**share - 1.0 / 6.0).abs() < 1e-9).count();
    assert!((2..=4).contains(&sixth) && before[9] == 0.0, "{before:?}");
    run.killed.store(true, Ordering::Relaxed);
    prompt.second(10, 10);
    assert!(run.thread.take().unwrap().join().is_err());
    run.go_on();
    late.second(10, 10);
    [prompt, late].into_iter().for_each(|agent| agent.end(11));
    let events = run.finish();
    assert_eq!(missing(&events)[..10], before[..]);
    assert!(notices(&events).contains(&(Subject::AgentChangedLate, "a1".into())));
}

#[test]
fn what_an_owner_does_not_allow_is_not_carried_by_those_that_take_over() {
    let terms = RunTerms { on_lost: LossPolicy::Redistribute, ..terms(60_000) };
    let started = started(2);
    let users = started.plan.load.peak();
    // Of twice the users it may carry a share of one and a half times.
    let (mut run, agents) = PlayedRun::start_below(started, terms, vec![Some(1.5 * users), None]);
    std::thread::scope(|scope| agents.iter().for_each(|agent| drop(scope.spawn(|| agent.begin()))));
    let [held, lost] = &agents[..] else { panic!("two agents") };
    agents.iter().for_each(|agent| agent.second(0, 10));
    assert!(lost.hand_in(&[Item::Ended("killed by SIGKILL".into())]));
    held.until_changed();
    (1..6).for_each(|nth| held.second(nth, 10));
    held.end(6);
    let events = run.finish();
    assert!((seconds(&events)[5].missing_share - 0.25).abs() < 1e-9, "{:?}", seconds(&events)[5].missing_share);
    assert!(notices(&events).contains(&(Subject::AgentRemark, "a0".into())));
}

#[test]
fn a_change_that_did_not_arrive_is_ordered_again_by_whoever_goes_on_with_the_run() {
    let mut started = started(2);
    started.plan.duration = Some(Nanos::from_secs(600));
    let plan = started.plan.clone();
    let (mut run, agents) = PlayedRun::start_as(started, terms(60_000));
    std::thread::scope(|scope| agents.iter().for_each(|agent| drop(scope.spawn(|| agent.begin()))));
    let [there, cut] = &agents[..] else { panic!("two agents") };
    agents.iter().for_each(|agent| agent.second(0, 10));
    run.until("the window began", |events| events.iter().any(|event| matches!(event, RunEvent::Began(_))));
    cut.messenger.cut_off(true);
    run.control.change(&plan, Change::Users(7)).unwrap();
    let is_change = |order: &AgentOrder| matches!(order, AgentOrder::Change { change: Change::Users(7), .. });
    there.until_ordered(is_change);
    run.until("it is recorded", |events| events.iter().any(|event| matches!(event, RunEvent::Changed(_))));
    run.killed.store(true, Ordering::Relaxed);
    there.second(1, 10);
    cut.messenger.cut_off(false);
    cut.second(1, 10);
    assert!(run.thread.take().unwrap().join().is_err());
    cut.orders.lock().unwrap().clear();
    run.go_on();
    cut.until_ordered(is_change);
    agents.iter().for_each(|agent| agent.end(2));
    run.finish();
}

#[test]
fn an_agent_that_stopped_though_nobody_was_to_stop_is_lost() {
    let (mut run, agents) = PlayedRun::of_two(terms(60_000));
    let [steady, stopped] = &agents;
    agents.iter().for_each(|agent| agent.second(0, 10));
    let window = Nanos::from_secs(1);
    let over = stopped.event(&RunEvent::Ended(RunEnd { reason: End::Interrupted, window, elapsed: window }));
    assert!(stopped.hand_in(&[over, Item::Ended("exit code 0".into())]));
    (1..3).for_each(|nth| steady.second(nth, 10));
    steady.end(3);
    let events = run.finish();
    let missing: Vec<f64> = seconds(&events).iter().map(|second| second.missing_share).collect();
    assert_eq!((missing, ended(&events).reason), (vec![0.0, 0.5, 0.5], End::Partial));
}

#[test]
fn an_agent_that_never_begins_though_it_was_told_to_is_lost_like_any_other() {
    let (mut run, agents) = PlayedRun::start(2, terms(1500));
    let [steady, lost] = &agents[..] else { panic!("two agents") };
    assert!(lost.hand_in(&[Item::Ready(PREPARED as u32)]));
    steady.begin();
    for nth in 0..6 {
        steady.second(nth, 10);
        std::thread::sleep(Duration::from_millis(500));
    }
    steady.end(6);
    let events = run.finish();
    assert_eq!((sums(&events), ended(&events).reason), ([60, 60, 0], End::Partial));
    assert!(notices(&events).contains(&(Subject::AgentLost, "a1".into())), "{:?}", notices(&events));
}

#[test]
fn what_workers_tell_when_they_end_makes_a_record_that_goes_forward() {
    let agents = (0..2).map(|n| (format!("a{n}"), 0.5, Default::default()));
    let mut merger = super::merge::RecordMerger::new(agents, true);
    let mut events = Vec::new();
    let mut encoders = [EventEncoder::new().unwrap(), EventEncoder::new().unwrap()];
    let mut add = |agent: usize, event: &RunEvent| {
        let frame = encoders[agent].encode(event).unwrap().to_vec();
        merger.add(agent, &frame, &mut |event| events.push(event)).unwrap();
    };
    for agent in 0..2 {
        add(agent, &RunEvent::Started(Box::new(started(0))));
        add(agent, &RunEvent::Began(WindowStart { clock_ns: 1, unix_ns: 1 }));
    }
    let second = |from_ns, to_ns| {
        RunEvent::Second(Box::new(Second { from_ns, to_ns, finished: 1, part: RunPart::Window, ..Second::default() }))
    };
    // As two agents that hold connections and are stopped: each worker ends at a moment of its own.
    for (agent, parts) in [[(0, 300), (100, 100), (300, 300)], [(0, 400), (200, 200), (400, 400)]].iter().enumerate() {
        parts.iter().for_each(|(from, to)| add(agent, &second(*from, *to)));
        add(agent, &RunEvent::Ended(RunEnd { reason: End::Completed, ..RunEnd::default() }));
    }
    merger.finish(false, &mut |event| events.push(event));
    let told = seconds(&events);
    assert!(told.is_sorted_by_key(|second| second.from_ns), "{:?}", told.iter().map(|s| s.from_ns).collect::<Vec<_>>());
    assert_eq!(told.iter().map(|second| second.finished).sum::<u64>(), 6);
}

#[test]
fn an_agent_that_was_told_to_stop_when_its_load_was_over_is_whole() {
    let ends = |window| {
        let agents = [("a0".to_owned(), 1.0, Default::default())];
        let mut merger = super::merge::RecordMerger::new(agents, true).lasting(Some(Nanos::from_secs(2)));
        let mut encoder = EventEncoder::new().unwrap();
        let ended = RunEnd { reason: End::Interrupted, window, elapsed: window };
        let mut told = Vec::new();
        let last = Second { to_ns: 1_000_000_000, part: RunPart::Window, ..Second::default() };
        for event in [RunEvent::Started(Box::new(started(0))), RunEvent::Second(Box::new(last)), RunEvent::Ended(ended)]
        {
            let frame = encoder.encode(&event).unwrap().to_vec();
            if let Err(why) = merger.add(0, &frame, &mut |_| ()) {
                merger.lose(0, &why, &mut |_| ());
            }
        }
        merger.finish(false, &mut |event| told.push(event));
        ended_agent_and_whole(&told)
    };
    assert_eq!(ends(Nanos::from_secs(2)), [Some(End::Completed); 2]);
    assert_eq!(ends(Nanos::from_secs(1)), [Some(End::Interrupted), Some(End::Partial)]);
}

/// Returns the last end that an agent told of, and that of the whole.
fn ended_agent_and_whole(events: &[RunEvent]) -> [Option<End>; 2] {
    let reason = |event: &RunEvent| if let RunEvent::Ended(ended) = event { Some(ended.reason) } else { None };
    let of_agent = |event: &RunEvent| if let RunEvent::OfAgent(told) = event { reason(&told.event) } else { None };
    [events.iter().filter_map(of_agent).next_back(), events.iter().filter_map(reason).next_back()]
}

#[test]
fn load_that_was_taken_over_before_the_first_second_is_missing_until_then_only() {
    let agents = (0..2).map(|n| (format!("a{n}"), 0.5, Default::default()));
    let mut merger = super::merge::RecordMerger::new(agents, true);
    let mut events = Vec::new();
    merger.lose(1, "killed", &mut |event| events.push(event));
    let window = 70 * SECOND as u64;
    merger.carries(0, RunTime::At(Nanos(window + SECOND as u64)), 2.0);
    let mut encoder = EventEncoder::new().unwrap();
    let mut add = |event: &RunEvent| {
        let frame = encoder.encode(event).unwrap().to_vec();
        merger.add(0, &frame, &mut |event| events.push(event)).unwrap();
    };
    add(&RunEvent::Started(Box::new(started(0))));
    add(&RunEvent::Began(WindowStart { clock_ns: window, unix_ns: 1 }));
    for nth in 0..3 {
        let (from_ns, to_ns) = (nth * SECOND, (nth + 1) * SECOND);
        add(&RunEvent::Second(Box::new(Second { from_ns, to_ns, part: RunPart::Window, ..Second::default() })));
    }
    let missing: Vec<f64> = seconds(&events).iter().map(|second| second.missing_share).collect();
    assert_eq!(missing, [0.5, 0.0, 0.0]);
}

#[test]
fn what_an_agent_says_of_itself_bears_its_own_name_and_is_fit_for_a_terminal() {
    let hub = LocalMessenger::default();
    let agent = hub.participant();
    let found = crate::protocol::AgentDescription {
        name: "a2".into(),
        labels: vec!["\u{1b}[2Jeu\u{202e}".into()],
        brunt: "9\u{1b}[31m".into(),
        host: brunt_record::GeneratorHost { name: "\u{202e}h\n".into(), ..Default::default() },
        ..Default::default()
    };
    let answer = move |_: &[u8]| to_bytes(&AgentAnswer::Description(Box::new(found.clone())));
    let _held = (agent.answer("agent/a1", Box::new(answer)).unwrap(), agent.appear(&Presence::draw("a1")).unwrap());
    let fleet = Fleet::watch(Arc::new(hub.participant()), Vec::new()).unwrap();
    let told = fleet.describe("a1").unwrap();
    assert_eq!(told.name, "a1");
    let texts = format!("{} {}", told.host.name, told.brunt);
    assert!(!texts.contains(['\u{1b}', '\u{202e}', '\n']), "{texts:?}");
    assert_eq!(told.labels, Vec::<String>::new(), "nobody could ask for that one");
}

#[test]
fn another_agent_of_a_name_is_told_once_during_a_run() {
    let (mut run, agents) = PlayedRun::of_two(terms(60_000));
    let _twin = run.hub.appear(&Presence::draw("a1")).unwrap();
    agents.iter().for_each(|agent| agent.second(0, 10));
    run.until("it is told", |events| notices(events).contains(&(Subject::AgentTwice, "a1".into())));
    agents.iter().for_each(|agent| (1..3).for_each(|nth| agent.second(nth, 10)));
    agents.iter().for_each(|agent| agent.end(3));
    assert_eq!(notices(&run.finish()).iter().filter(|(what, _)| *what == Subject::AgentTwice).count(), 1);
}

#[test]
fn two_agents_of_one_name_are_told_once_they_stay_and_one_that_was_started_again_is_not() {
    let hub = LocalMessenger::default();
    let fleet = Fleet::watch(Arc::new(hub.participant()), Vec::new()).unwrap();
    let appear = || hub.appear(&Presence::draw("a")).unwrap();
    let (names, old, other) = (["a".to_owned()], appear(), hub.appear(&Presence::draw("b")).unwrap());
    // It waits for the old one to vanish.
    let new = appear();
    assert_eq!(fleet.survey().iter().map(|agent| agent.times).collect::<Vec<_>>(), [1, 1]);
    let vanishes = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(old);
    });
    let began = Instant::now();
    assert_eq!(fleet.check_alone(&names), Ok(()));
    assert!(began.elapsed() < super::TOGETHER);
    vanishes.join().unwrap();
    let twin = appear();
    let why = fleet.check_alone(&names).unwrap_err();
    assert!(why.contains("agent a is there 2 times") && why.zh().contains("2 台在线"), "{why}");
    let there = fleet.survey();
    assert_eq!(there.iter().map(|agent| agent.times).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((there[0].why_not_alone(), there[1].why_not_alone()), (Some(why), None));
    drop((twin, other));
    assert_eq!(fleet.check_alone(&names), Ok(()));
    drop(new);
}

/// Leaves a run of one agent of this fleet below a directory.
fn left_run(below: &Path, run: &str, fleet: Option<&str>) -> RunDirectory {
    let directory = RunDirectory::create(below, run).unwrap();
    let (fleet, terms) = (fleet.map(str::to_owned), RunTerms::default());
    let (opening, ceilings, outputs) = (Vec::new(), Vec::new(), Vec::new());
    let head = RunHead { started: started(1), opening, is_open: false, terms, ceilings, fleet, outputs };
    directory.write_head(&head).unwrap();
    directory
}

#[test]
fn a_run_does_not_go_on_while_an_agent_of_it_is_there_twice() {
    let (hub, below) = (LocalMessenger::default(), tempfile::tempdir().unwrap());
    let directory = left_run(below.path(), RUN, None);
    let fleet = Arc::new(Fleet::watch(Arc::new(hub.participant()), Vec::new()).unwrap());
    let resumed = ResumedRun::open(Arc::clone(&fleet), directory).unwrap();
    let presence = |instance| hub.appear(&Presence { name: "a0".into(), instance }).unwrap();
    let _one = presence(1);
    assert_eq!(resumed.find_agents(SOON), Ok(()));
    let _other = presence(2);
    let said = resumed.find_agents(SOON).expect_err("two agents").to_string();
    assert!(said.starts_with("--resume: agent a0 is there 2 times"), "{said}");
}

#[test]
fn a_fleet_offers_only_runs_of_its_own() {
    let below = tempfile::tempdir().unwrap();
    for (run, fleet) in [("1", None), ("2", Some("/f")), ("3", Some("nats://h:4222")), ("4", Some("/f"))] {
        drop(left_run(below.path(), run, fleet));
    }
    for (fleet, runs) in [(None, &["1"][..]), (Some("/f"), &["2", "4"]), (Some("nats://h:4222"), &["3"])] {
        assert_eq!(unfinished_runs_of(below.path(), |of| of == fleet), runs, "{fleet:?}");
    }
}

#[test]
fn what_an_agent_announces_is_kept_within_bounds() {
    let hub = LocalMessenger::default();
    let fleet = Fleet::watch(Arc::new(hub.participant()), Vec::new()).unwrap();
    let long = "x".repeat(10_000);
    let appear = |name: &str, instance| hub.appear(&Presence { name: name.to_owned(), instance }).unwrap();
    let mut held: Vec<Held> = (0..200).map(|instance| appear("a1", instance)).collect();
    held.extend([&*long, "../a", "A", ""].map(|name| appear(name, 1)));
    held.push(appear("b1", 1));
    fleet.wait_for(SOON, |names| names.iter().any(|name| name == "b1"));
    assert_eq!(fleet.names(), ["a1", "b1"]);
    assert_eq!(fleet.attendance.ages("a1").len(), super::MOST_OF_A_NAME);

    let described = |labels: Vec<String>, brunt: String| {
        let found = AgentDescription { name: long.clone(), labels, brunt, ..AgentDescription::default() };
        let answer = move |_: &[u8]| to_bytes(&AgentAnswer::Description(Box::new(found.clone())));
        let _held = hub.participant().answer("agent/a1", Box::new(answer)).unwrap();
        fleet.describe("a1")
    };
    let mut labels: Vec<String> = (0..50).map(|n| format!("l{n}")).collect();
    labels[0] = "eu\nasia".into();
    labels[1].clone_from(&long);
    let found = described(labels, format!("{long}\n")).expect("a description");
    assert_eq!((found.name.as_str(), found.labels.len(), &*found.labels[0]), ("a1", 20, "l2"));
    assert_eq!(found.brunt.len(), super::LONGEST_TEXT);
    assert_eq!(described(vec![long.clone(); 30], String::new()), None, "an answer of 300 kB");
}
