//! Processes of a run that do not end with it: one that was stopped (SIGSTOP) would keep the whole run for ever.
//!
//! Silence alone is no sign: while connections are opened for a common start nothing is told, and closing a million of them
//! takes half a minute. So only a process whose time is over is looked at, and one that stands still has less of it left.

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Looks in a second.
const SECOND: u32 = 50;
/// So often it is looked whether a process that told its last has ended.
const LOOK: Duration = Duration::from_millis(2);

/// A process that takes a share of the run.
pub(crate) struct Member {
    child: Mutex<Child>,
    /// Times it was heard of.
    heard: AtomicU64,
    /// All its workers are over.
    over: AtomicBool,
    killed: AtomicBool,
}

impl Member {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// It was heard of.
    pub fn heard(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// All its workers are over.
    pub fn over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits for its end, in looks: whoever watches may kill it meanwhile, and nobody else by mistake.
    pub fn end(&self) -> std::io::Result<ExitStatus> {
        loop {
            let ended = self.child().try_wait()?;
            if let Some(status) = ended {
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// True where it did not end by itself.
    pub fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        let _ = self.child().kill();
    }

    /// True where it does not run because somebody stopped it.
    fn stands_still(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.child().id())).unwrap_or_default();
        // `pid (name) state`, and a name may hold anything.
        status.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
    }
}

/// The processes of a run, and how long each has been silent.
#[derive(Default)]
pub(crate) struct Stragglers {
    members: Vec<(Arc<Member>, Silence)>,
    /// A stop was passed on to them.
    stopping: bool,
}

#[derive(Clone, Copy, Default)]
struct Silence {
    heard: u64,
    /// Looks since; of those who look, so that a pause of the whole machine is nobody's.
    looks: u32,
}

impl Stragglers {
    /// One more.
    pub fn watch(&mut self, child: Child) -> Arc<Member> {
        let member =
            Member { child: Mutex::new(child), heard: AtomicU64::new(0), over: false.into(), killed: false.into() };
        let member = Arc::new(member);
        self.members.push((Arc::clone(&member), Silence::default()));
        member
    }

    /// A stop was passed on: whoever runs ends at once.
    pub fn stopping(&mut self) {
        self.stopping = true;
        self.members.iter_mut().for_each(|(_, silence)| silence.looks = 0);
    }

    /// A look at all of them, as often as [`SECOND`] says; kills those that had their time.
    pub fn look(&mut self) {
        let some_over = self.members.iter().any(|(member, _)| member.over.load(Ordering::Relaxed));
        for (member, silence) in &mut self.members {
            let heard = member.heard.load(Ordering::Relaxed);
            let silent = heard == silence.heard && (self.stopping || some_over);
            *silence = Silence { heard, looks: if silent { silence.looks + 1 } else { 0 } };
            // In seconds: one that stands still, and one that runs. After a stop nobody waits for the first.
            let (still, running) = if self.stopping { (0, 30) } else { (10, 60) };
            let waits_long = silence.looks > still * SECOND && silence.looks.is_multiple_of(SECOND / 5);
            if waits_long && !member.was_killed() && (silence.looks > running * SECOND || member.stands_still()) {
                member.kill();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn one_that_stands_still_is_not_waited_for_once_the_run_is_stopped() {
        let mut all = Stragglers::default();
        let [still, runs] =
            [(); 2].map(|()| all.watch(Command::new("sleep").arg("60").spawn().expect("a process to watch")));
        let pid = rustix::process::Pid::from_child(&still.child());
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        while !still.stands_still() {
            std::thread::sleep(LOOK);
        }
        // While the run goes on, nobody is in the way.
        (0..SECOND).for_each(|_| all.look());
        assert!(!still.was_killed());
        all.stopping();
        (0..SECOND / 4).for_each(|_| all.look());
        assert!(still.was_killed() && !runs.was_killed());
        runs.kill();
        assert!(still.end().is_ok() && runs.end().is_ok());
    }
}
