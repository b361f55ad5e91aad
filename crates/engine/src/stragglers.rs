//! Detection of processes that do not end with their run: a suspended process (SIGSTOP) would block the run forever.
//!
//! Silence alone is not sufficient: nothing is reported while connections are opened for a common start, and closing a
//! million connections takes half a minute. So a process is checked only after its run should have ended (or its
//! preparation, once others are prepared), and a suspended one is given less time. During the run, the collector knows
//! which workers delay all others ([`AwaitedWorkers`]).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::processes::ProcessHandle;

/// Number of checks per second.
const SECOND: u32 = 50;
/// Interval of checks for the exit of a process after its last message.
const LOOK: Duration = Duration::from_millis(2);

/// Workers whose silence has delayed the seconds of all others for too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct AwaitedWorkers(Arc<Mutex<Vec<usize>>>);

impl AwaitedWorkers {
    /// Sets the workers.
    pub fn name(&self, workers: Vec<usize>) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = workers;
    }

    fn any(&self, workers: &Range<u32>) -> bool {
        let named = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        named.iter().any(|worker| u32::try_from(*worker).is_ok_and(|worker| workers.contains(&worker)))
    }
}

/// A process that takes a share of the run.
pub(crate) struct WatchedProcess {
    workers: Range<u32>,
    ending: Arc<dyn ProcessHandle>,
    /// Number of messages received.
    messages: AtomicU64,
    /// Set once its requests are prepared.
    prepared: AtomicBool,
    /// Set once all its workers are done.
    over: AtomicBool,
    killed: AtomicBool,
    /// Set if all other processes had to wait for it.
    silent: AtomicBool,
}

impl WatchedProcess {
    /// Counts a message.
    pub fn note_message(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// Marks all its workers as done.
    pub fn set_over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits for its exit; the watcher may kill it in the meantime.
    pub fn end(&self) -> std::io::Result<String> {
        loop {
            if let Some(how) = self.ending.exit_text()? {
                return Ok(how);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns `true` if it was killed.
    pub fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Returns the reason for killing it; `None` if it was not killed.
    pub fn why_killed(&self) -> Option<&'static str> {
        let silent = self.silent.load(Ordering::Relaxed);
        let why = if silent {
            "it reported nothing for a minute while the others went on, and was killed"
        } else {
            "it did not end with the run, and was killed"
        };
        self.was_killed().then_some(why)
    }

    /// Kills it.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        self.ending.kill();
    }
}

/// The processes of a run, and for how long each has been silent.
#[derive(Default)]
pub(crate) struct Stragglers {
    members: Vec<(Arc<WatchedProcess>, Silence)>,
    /// Set once a stop was passed on.
    stopping: bool,
    some_prepared: bool,
    awaited: AwaitedWorkers,
}

#[derive(Clone, Copy, Default)]
struct Silence {
    heard: u64,
    /// Number of consecutive checks in which the process was overdue and silent. Checks are counted instead of timed,
    /// so that a pause of the whole machine is not blamed on a process.
    looks: u32,
}

impl Stragglers {
    /// Creates the watcher for a run whose collector reports awaited workers.
    pub fn of(awaited: &AwaitedWorkers) -> Stragglers {
        Stragglers { awaited: awaited.clone(), ..Stragglers::default() }
    }

    /// Adds a process with these workers.
    pub fn watch(&mut self, ending: Arc<dyn ProcessHandle>, workers: Range<u32>) -> Arc<WatchedProcess> {
        let [prepared, over, killed, silent] = std::array::from_fn(|_| AtomicBool::new(false));
        let member = WatchedProcess { workers, ending, messages: AtomicU64::new(0), prepared, over, killed, silent };
        let member = Arc::new(member);
        self.members.push((Arc::clone(&member), Silence::default()));
        member
    }

    /// Records that a stop was passed on, after which running processes end soon.
    pub fn stopping(&mut self) {
        self.stopping = true;
        self.members.iter_mut().for_each(|(_, silence)| silence.looks = 0);
    }

    /// Marks a process as prepared: the time of the others starts now.
    pub fn prepared(&mut self, member: &WatchedProcess) {
        member.prepared.store(true, Ordering::Relaxed);
        self.some_prepared = true;
    }

    /// Checks all processes and kills those whose time is over; called [`SECOND`] times a second.
    pub fn check(&mut self) {
        let some_over = self.members.iter().any(|(member, _)| member.over.load(Ordering::Relaxed));
        for (member, silence) in &mut self.members {
            if self.awaited.any(&member.workers) && !member.was_killed() {
                member.silent.store(true, Ordering::Relaxed);
                member.kill();
            }
            let heard = member.messages.load(Ordering::Relaxed);
            let late = self.some_prepared && !member.prepared.load(Ordering::Relaxed);
            let silent = heard == silence.heard && (self.stopping || some_over || late);
            *silence = Silence { heard, looks: if silent { silence.looks + 1 } else { 0 } };
            // In seconds, for suspended and for running processes. After a stop, suspended processes are not waited
            // for.
            let (still, running) = if self.stopping { (0, 30) } else { (10, 60) };
            let waits_long = silence.looks > still * SECOND && silence.looks.is_multiple_of(SECOND / 5);
            if waits_long && !member.was_killed() && (silence.looks > running * SECOND || member.ending.is_stopped()) {
                member.kill();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Mutex;

    use super::*;
    use crate::processes::child;

    /// A process whose state the test sets.
    #[derive(Default)]
    struct FakeProcess {
        still: bool,
        ended: Mutex<bool>,
    }

    impl ProcessHandle for FakeProcess {
        fn exit_text(&self) -> std::io::Result<Option<String>> {
            Ok(self.ended.lock().unwrap().then(|| "over".to_owned()))
        }
        fn kill(&self) {
            *self.ended.lock().unwrap() = true;
        }
        fn is_stopped(&self) -> bool {
            self.still
        }
    }

    #[test]
    fn one_that_stands_still_is_not_waited_for_once_the_run_is_stopped() {
        let mut all = Stragglers::default();
        let link = child(Command::new("sleep").arg("60")).expect("a process to watch");
        let [still, runs] = [link.process, Arc::new(FakeProcess::default())].map(|ending| all.watch(ending, 0..1));
        let pid = sleeping_child();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        while !still.ending.is_stopped() {
            std::thread::sleep(LOOK);
        }
        // No process is late during the run.
        (0..SECOND).for_each(|_| all.check());
        assert!(!still.was_killed());
        all.stopping();
        (0..SECOND / 4).for_each(|_| all.check());
        assert!(still.was_killed() && !runs.was_killed());
        runs.kill();
        assert_eq!((still.end().unwrap().as_str(), runs.end().unwrap().as_str()), ("killed by SIGKILL", "over"));
    }

    /// Returns the child of this process that sleeps.
    fn sleeping_child() -> rustix::process::Pid {
        let ours = std::process::id().to_string();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_it = |id: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)).map(str::to_owned);
            stat.contains("(sleep)") && parent.as_deref() == Some(&*ours)
        };
        ids.filter(is_it).find_map(rustix::process::Pid::from_raw).expect("it sleeps")
    }

    #[test]
    fn whom_the_collector_waits_for_too_long_is_killed_and_nobody_else() {
        let awaited = AwaitedWorkers::default();
        let mut all = Stragglers::of(&awaited);
        let [first, second] = [0..2, 2..4].map(|workers| all.watch(Arc::new(FakeProcess::default()), workers));
        all.check();
        awaited.name(vec![3]);
        all.check();
        assert_eq!(first.why_killed(), None);
        assert!(second.why_killed().is_some_and(|why| why.contains("reported nothing for a minute")));
    }

    #[test]
    fn who_does_not_prepare_while_others_have_is_not_waited_for() {
        let mut all = Stragglers::default();
        let [ready, still, slow] = [false, true, false].map(|still| {
            let made: Arc<dyn ProcessHandle> = Arc::new(FakeProcess { still, ..FakeProcess::default() });
            all.watch(made, 0..1)
        });
        (0..100 * SECOND).for_each(|_| all.check());
        assert!(!still.was_killed(), "as long as all prepare there is no hurry");
        all.prepared(&ready);
        (0..11 * SECOND).for_each(|_| all.check());
        assert!(still.was_killed() && !slow.was_killed());
        slow.note_message();
        (0..59 * SECOND).for_each(|_| all.check());
        assert!(!slow.was_killed(), "it has a minute since it was heard of");
        (0..2 * SECOND).for_each(|_| all.check());
        assert!(slow.was_killed() && !ready.was_killed());
    }
}
