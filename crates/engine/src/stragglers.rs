//! Processes of a run that do not end with it: one that was stopped (SIGSTOP) would keep the whole run for ever.
//!
//! Silence alone is no sign: while connections are opened for a common start nothing is told, and closing a million of them
//! takes half a minute. So only a process whose time is over (or the time to prepare, once others have) is looked at, and one that stands still has less of it left.
//! While the run goes on, it is the collector who knows whom all others wait for ([`Awaited`]).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::processes::Ending;

/// Looks in a second.
const SECOND: u32 = 50;
/// So often it is looked whether a process that told its last has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Workers whose silence keeps the seconds of all others from being handed on, for too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Awaited(Arc<Mutex<Vec<usize>>>);

impl Awaited {
    /// These are.
    pub fn name(&self, workers: Vec<usize>) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = workers;
    }

    fn any(&self, workers: &Range<u32>) -> bool {
        let named = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        named.iter().any(|worker| u32::try_from(*worker).is_ok_and(|worker| workers.contains(&worker)))
    }
}

/// A process that takes a share of the run.
pub(crate) struct Member {
    workers: Range<u32>,
    ending: Arc<dyn Ending>,
    /// Times it was heard of.
    heard: AtomicU64,
    /// It has prepared its requests.
    prepared: AtomicBool,
    /// All its workers are over.
    over: AtomicBool,
    killed: AtomicBool,
    /// All others waited for it.
    silent: AtomicBool,
}

impl Member {
    /// It was heard of.
    pub fn heard(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// All its workers are over.
    pub fn over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits for its end, in looks: whoever watches may kill it meanwhile.
    pub fn end(&self) -> std::io::Result<String> {
        loop {
            if let Some(how) = self.ending.ended()? {
                return Ok(how);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// True where it did not end by itself.
    pub fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Why it was ended, where it did not end by itself.
    pub fn why_killed(&self) -> Option<&'static str> {
        let silent = self.silent.load(Ordering::Relaxed);
        let why = if silent {
            "it reported nothing for a minute while the others went on, and was killed"
        } else {
            "it did not end with the run, and was killed"
        };
        self.was_killed().then_some(why)
    }

    /// Ends it.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        self.ending.kill();
    }
}

/// The processes of a run, and how long each has been silent.
#[derive(Default)]
pub(crate) struct Stragglers {
    members: Vec<(Arc<Member>, Silence)>,
    /// A stop was passed on to them.
    stopping: bool,
    some_prepared: bool,
    awaited: Awaited,
}

#[derive(Clone, Copy, Default)]
struct Silence {
    heard: u64,
    /// Looks since; of those who look, so that a pause of the whole machine is nobody's.
    looks: u32,
}

impl Stragglers {
    /// Of a run whose collector names whom it waits for.
    pub fn of(awaited: &Awaited) -> Stragglers {
        Stragglers { awaited: awaited.clone(), ..Stragglers::default() }
    }

    /// One more, which takes these workers.
    pub fn watch(&mut self, ending: Arc<dyn Ending>, workers: Range<u32>) -> Arc<Member> {
        let [prepared, over, killed, silent] = std::array::from_fn(|_| AtomicBool::new(false));
        let member = Member { workers, ending, heard: AtomicU64::new(0), prepared, over, killed, silent };
        let member = Arc::new(member);
        self.members.push((Arc::clone(&member), Silence::default()));
        member
    }

    /// A stop was passed on: whoever runs ends at once.
    pub fn stopping(&mut self) {
        self.stopping = true;
        self.members.iter_mut().for_each(|(_, silence)| silence.looks = 0);
    }

    /// One of them has prepared its requests: the others have their time from now on.
    pub fn prepared(&mut self, member: &Member) {
        member.prepared.store(true, Ordering::Relaxed);
        self.some_prepared = true;
    }

    /// A look at all of them, as often as [`SECOND`] says; kills those that had their time.
    pub fn look(&mut self) {
        let some_over = self.members.iter().any(|(member, _)| member.over.load(Ordering::Relaxed));
        for (member, silence) in &mut self.members {
            if self.awaited.any(&member.workers) && !member.was_killed() {
                member.silent.store(true, Ordering::Relaxed);
                member.kill();
            }
            let heard = member.heard.load(Ordering::Relaxed);
            let late = self.some_prepared && !member.prepared.load(Ordering::Relaxed);
            let silent = heard == silence.heard && (self.stopping || some_over || late);
            *silence = Silence { heard, looks: if silent { silence.looks + 1 } else { 0 } };
            // In seconds: one that stands still, and one that runs. After a stop nobody waits for the first.
            let (still, running) = if self.stopping { (0, 30) } else { (10, 60) };
            let waits_long = silence.looks > still * SECOND && silence.looks.is_multiple_of(SECOND / 5);
            if waits_long && !member.was_killed() && (silence.looks > running * SECOND || member.ending.stands_still())
            {
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

    /// One of which the test says how it is.
    #[derive(Default)]
    struct Made {
        still: bool,
        ended: Mutex<bool>,
    }

    impl Ending for Made {
        fn ended(&self) -> std::io::Result<Option<String>> {
            Ok(self.ended.lock().unwrap().then(|| "over".to_owned()))
        }
        fn kill(&self) {
            *self.ended.lock().unwrap() = true;
        }
        fn stands_still(&self) -> bool {
            self.still
        }
    }

    #[test]
    fn one_that_stands_still_is_not_waited_for_once_the_run_is_stopped() {
        let mut all = Stragglers::default();
        let link = child(Command::new("sleep").arg("60")).expect("a process to watch");
        let [still, runs] = [link.ending, Arc::new(Made::default())].map(|ending| all.watch(ending, 0..1));
        let pid = sleeping_child();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        while !still.ending.stands_still() {
            std::thread::sleep(LOOK);
        }
        // While the run goes on, nobody is in the way.
        (0..SECOND).for_each(|_| all.look());
        assert!(!still.was_killed());
        all.stopping();
        (0..SECOND / 4).for_each(|_| all.look());
        assert!(still.was_killed() && !runs.was_killed());
        runs.kill();
        assert_eq!((still.end().unwrap().as_str(), runs.end().unwrap().as_str()), ("killed by SIGKILL", "over"));
    }

    /// The child of this process that sleeps.
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
        let awaited = Awaited::default();
        let mut all = Stragglers::of(&awaited);
        let [first, second] = [0..2, 2..4].map(|workers| all.watch(Arc::new(Made::default()), workers));
        all.look();
        awaited.name(vec![3]);
        all.look();
        assert_eq!(first.why_killed(), None);
        assert!(second.why_killed().is_some_and(|why| why.contains("reported nothing for a minute")));
    }

    #[test]
    fn who_does_not_prepare_while_others_have_is_not_waited_for() {
        let mut all = Stragglers::default();
        let [ready, still, slow] = [false, true, false].map(|still| {
            let made: Arc<dyn Ending> = Arc::new(Made { still, ..Made::default() });
            all.watch(made, 0..1)
        });
        (0..100 * SECOND).for_each(|_| all.look());
        assert!(!still.was_killed(), "as long as all prepare there is no hurry");
        all.prepared(&ready);
        (0..11 * SECOND).for_each(|_| all.look());
        assert!(still.was_killed() && !slow.was_killed());
        slow.heard();
        (0..59 * SECOND).for_each(|_| all.look());
        assert!(!slow.was_killed(), "it has a minute since it was heard of");
        (0..2 * SECOND).for_each(|_| all.look());
        assert!(slow.was_killed() && !ready.was_killed());
    }
}
