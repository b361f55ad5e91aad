//! A run in several processes: each takes a share of the workers, and what they count is merged as if they were threads.
//!
//! The shape that several machines will have: a task goes out once, lines of text follow it (a common start, a stop),
//! and frames of what was counted come back. A process that dies is told of, with what it told before: never a silent gap.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Scope;
use std::time::Duration;

use measure::{Clock, Nanos};

use crate::api::{Answers, Launcher, Lines, Task};
use crate::barrier::{Barrier, NOTICE};
use crate::message::Message;
use crate::stragglers::{Member, Stragglers};
use crate::{Stop, frames};

/// From the decision to start to the start: the processes have prepared their requests by then.
const LEAD: Nanos = Nanos::from_millis(400);
/// A stop is passed on so soon.
const STOP_LOOKS: Duration = Duration::from_millis(20);
/// The number of barriers a run may have: before a common start, before connections are held.
const BARRIERS: usize = 2;

/// The ends of the children that lines go to, and who is still missing where.
struct ProcessLinks {
    inputs: Mutex<Vec<ChildStdin>>,
    missing: Mutex<[u32; BARRIERS]>,
    stragglers: Mutex<Stragglers>,
}

impl ProcessLinks {
    fn say(&self, line: &str) {
        let mut inputs = self.inputs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for input in inputs.iter_mut() {
            // One that is gone is found out by whoever reads it.
            let _ = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        }
    }

    fn stragglers(&self) -> MutexGuard<'_, Stragglers> {
        self.stragglers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A process is ready for a barrier; the last one sets the time.
    fn ready(&self, barrier: usize) {
        let last = {
            let mut missing = self.missing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let Some(missing) = missing.get_mut(barrier) else { return };
            *missing = missing.saturating_sub(1);
            *missing == 0
        };
        if last {
            self.say(&format!("go {barrier} {}\n", (Clock.now() + NOTICE).0));
        }
    }
}

/// Starts `number` processes that share `workers` workers; what they report goes to `report`.
pub(crate) fn start<'s>(
    scope: &'s Scope<'s, '_>,
    number: u32,
    launcher: &dyn Launcher,
    workers: u32,
    report: &Sender<(usize, Message)>,
    stop: &Stop,
) {
    let start_ns = (Clock.now() + LEAD).0;
    let missing = Mutex::new([number; BARRIERS]);
    let links = Arc::new(ProcessLinks { inputs: Mutex::default(), missing, stragglers: Mutex::default() });
    for index in 0..number {
        let share = plan::Share { index, of: number };
        let from = (0..index)
            .map(|before| plan::Share { index: before, of: number }.of_total(u64::from(workers)) as u32)
            .sum();
        let task = Task { from, to: from + share.of_total(u64::from(workers)) as u32, of: workers, start_ns };
        match launcher.launch(&task).and_then(|child| taken(child, &links)) {
            Ok((child, output)) => {
                let (report, links) = (report.clone(), Arc::clone(&links));
                let child = links.stragglers().watch(child);
                scope.spawn(move || receive(&child, output, &task, &report, &links));
            }
            Err(why) => {
                (0..BARRIERS).for_each(|barrier| links.ready(barrier));
                lose(&task, report, format!("not started: {why}"));
            }
        }
    }
    let (links, stop) = (Arc::downgrade(&links), stop.clone());
    scope.spawn(move || {
        let mut stopping = false;
        while let Some(links) = links.upgrade() {
            if stop.requested() && !std::mem::replace(&mut stopping, true) {
                links.say("stop\n");
                links.stragglers().stopping();
            }
            links.stragglers().look();
            drop(links);
            std::thread::sleep(STOP_LOOKS);
        }
    });
}

fn taken(mut child: Child, links: &ProcessLinks) -> std::io::Result<(Child, impl Read + Send + use<>)> {
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (Some(input), Some(output)) = (input, output) else {
        return Err(std::io::Error::other("its standard input and output are not ours"));
    };
    links.inputs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(input);
    Ok((child, output))
}

/// Reads one process to its end.
fn receive(member: &Member, output: impl Read, task: &Task, report: &Sender<(usize, Message)>, links: &ProcessLinks) {
    let mut output = BufReader::new(output);
    let mut waited_for = [true; BARRIERS];
    let mut ready = |barrier: usize| {
        // Each process counts once at each barrier.
        if waited_for.get_mut(barrier).is_some_and(std::mem::take) {
            links.ready(barrier);
        }
    };
    let mut open: Vec<bool> = (task.from..task.to).map(|_| true).collect();
    loop {
        let frame = frames::read(&mut output);
        member.heard();
        match frame {
            Ok(Some(frames::Frame::Ready(barrier))) => ready(barrier as usize),
            Ok(Some(frames::Frame::Told(worker, message))) => {
                let over = matches!(message, Message::Over { .. } | Message::Broken(_));
                if let Some(open) = worker.checked_sub(task.from).and_then(|at| open.get_mut(at as usize)) {
                    *open &= !over;
                    let _ = report.send((worker as usize, message));
                }
                if over && !open.contains(&true) {
                    member.over();
                }
            }
            Ok(None) | Err(_) => break,
        }
    }
    let how = match member.end() {
        Ok(_) if member.was_killed() => "it did not end with the run, and was killed".to_owned(),
        Ok(status) => ending(status),
        Err(error) => error.to_string(),
    };
    if open.contains(&true) {
        (0..BARRIERS).for_each(&mut ready);
        lose(task, report, how);
    }
}

fn lose(task: &Task, report: &Sender<(usize, Message)>, how: String) {
    let _ = report.send((task.from as usize, Message::Lost { workers: task.from..task.to, how }));
}

/// How a process ended, in words: `killed by SIGKILL`.
fn ending(status: ExitStatus) -> String {
    let name = |signal| match signal {
        libc::SIGHUP => "SIGHUP".to_owned(),
        libc::SIGINT => "SIGINT".to_owned(),
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGBUS => "SIGBUS".to_owned(),
        libc::SIGKILL => "SIGKILL".to_owned(),
        libc::SIGSEGV => "SIGSEGV".to_owned(),
        libc::SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    };
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("killed by {}", name(signal)),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => status.to_string(),
    }
}

/// In a process that takes a share: runs `threads` (which joins its workers) and writes what they report; its `lines` say
/// when a barrier is over and when to stop. Its end means that whoever set the task is gone.
pub(crate) fn serve(
    lines: Lines,
    answers: Answers,
    workers: u32,
    threads: impl FnOnce(Sender<(usize, Message)>, &Stop, [Arc<Barrier>; BARRIERS]) + Send,
) {
    let stop = Stop::default();
    let answers = Arc::new(Mutex::new(answers));
    let barriers: [Arc<Barrier>; BARRIERS] = std::array::from_fn(|number| {
        let answers = Arc::clone(&answers);
        let report = move || {
            let mut answers = answers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            // Whoever set the task is gone: the end of its lines says so too.
            let _ = frames::write_ready(&mut *answers, number as u32);
        };
        Barrier::reporting(workers, Box::new(report))
    });
    let (heard, told_stop) = (barriers.clone(), stop.clone());
    // Not joined: it reads until whoever set the task closes the line, which may be after our end.
    std::thread::spawn(move || obey(lines, &heard, &told_stop));
    let (report, told) = channel();
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || threads(report, stop, barriers));
        for (worker, message) in told {
            let mut answers = answers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if frames::write(&mut *answers, worker as u32, &message).is_err() {
                stop.request();
            }
        }
    });
}

/// Lines from whoever set the task.
fn obey(lines: Lines, barriers: &[Arc<Barrier>; BARRIERS], stop: &Stop) {
    for line in lines.lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("go"), Some(barrier), Some(at)) => {
                let barrier = barrier.parse().ok().and_then(|number: usize| barriers.get(number));
                if let (Some(barrier), Ok(at)) = (barrier, at.parse()) {
                    barrier.go_at(Nanos(at));
                }
            }
            (Some("stop"), ..) => stop.request(),
            _ => {}
        }
    }
    stop.request();
}

/// How a process that takes a share is started: its task on the command line or the environment, both ends ours.
pub fn piped(command: &mut std::process::Command) -> std::io::Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}
