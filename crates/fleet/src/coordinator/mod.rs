//! The coordinator of a fleet: who is there, and runs on some of them.

mod clock;
mod conduct;
mod directory;
mod group;
mod merge;
mod orders;
mod resumed;
#[cfg(test)]
mod tests;
mod wires;

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use brunt_cause::{Complaint, complaint};
use brunt_measure::Nanos;
use brunt_messenger::{Held, Messenger, Presence, Undelivered};
use serde::Serialize;

use crate::protocol::{AgentAnswer, AgentDescription, AgentQuestion, from_bytes, to_bytes};

pub use directory::{RunDirectory, RunOutput, unfinished_runs};
pub use group::AgentGroup;
pub use resumed::ResumedRun;

/// Time within which an agent answers a question.
pub(crate) const ANSWERS: Duration = Duration::from_secs(3);
/// Agents that are asked at the same time.
const AT_ONCE: usize = 32;
/// Time for which agents of one name are there together before they count as several: what is left of one that was started
/// again is gone after three seconds.
const TOGETHER: Duration = Duration::from_secs(5);

/// An agent that is there.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPresence {
    /// What it says of itself; `None` if it is there and does not answer.
    pub description: Option<AgentDescription>,
    /// Its name.
    pub name: String,
    /// Number of agents of this name.
    pub times: usize,
    /// Offset of its monotonic clock (nanoseconds), and the shortest round trip.
    pub clock_ahead_ns: i64,
    /// Difference of its wall clock, ahead of this one (nanoseconds).
    pub wall_ahead_ns: i64,
    /// Shortest round trip.
    pub round_trip: Nanos,
}

impl AgentPresence {
    /// Returns what is wrong with a name that several agents have.
    pub fn why_not_alone(&self) -> Option<Complaint> {
        (self.times > 1).then(|| not_alone(&self.name, self.times))
    }
}

fn not_alone(name: &str, times: usize) -> Complaint {
    complaint!(
        "agent {name} is there {times} times, and no run can use it: each machine needs a token of its own (`brunt fleet add NAME`), or over NATS a --name",
        "施压机 {name} 同时有 {times} 台在线，无法用于压测：每台机器需要各自的令牌（`brunt fleet add NAME`）；使用 NATS 时，则需要各自的 --name"
    )
}

/// Agents that are there, with the moments at which that was said, and a way to wait for changes.
#[derive(Default)]
struct Attendance {
    there: Mutex<BTreeMap<Presence, Instant>>,
    changed: Condvar,
}

impl Attendance {
    fn there(&self) -> MutexGuard<'_, BTreeMap<Presence, Instant>> {
        self.there.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the times for which the agents of a name are there.
    fn ages(&self, name: &str) -> Vec<Duration> {
        let [first, last] = [0, u16::MAX].map(|instance| Presence { name: name.to_owned(), instance });
        self.there().range(first..=last).map(|(_, since)| since.elapsed()).collect()
    }
}

/// The fleet as its coordinator sees it.
pub struct Fleet {
    messenger: Arc<dyn Messenger>,
    attendance: Arc<Attendance>,
    expected: Vec<String>,
    _watch: Held,
}

impl Fleet {
    /// Watches the fleet through a messenger. `expected` are the names of all its agents; empty if nobody knows them.
    ///
    /// # Errors
    /// It is out of reach.
    pub fn watch(messenger: Arc<dyn Messenger>, expected: Vec<String>) -> Result<Fleet, Undelivered> {
        let attendance = Arc::<Attendance>::default();
        let told = Arc::clone(&attendance);
        let watch = messenger.watch(Box::new(move |presence, is_there| {
            if is_there {
                told.there().entry(presence.clone()).or_insert_with(Instant::now);
            } else {
                told.there().remove(presence);
            }
            told.changed.notify_all();
        }))?;
        Ok(Fleet { messenger, attendance, expected, _watch: watch })
    }

    /// Returns the names of all its agents, there or not; empty if nobody knows them.
    pub fn expected(&self) -> &[String] {
        &self.expected
    }

    /// Returns `true` if nobody is missing among these names: it is useless to wait for more.
    pub fn is_whole(&self, names: &[String]) -> bool {
        !self.expected.is_empty() && self.expected.iter().all(|name| names.contains(name))
    }

    /// Returns the names of the agents that are there.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.attendance.there().keys().map(|presence| presence.name.clone()).collect();
        names.dedup();
        names
    }

    /// Returns how many agents of this name are there; what may be left of one that was started again does not count.
    fn times(&self, name: &str) -> usize {
        self.attendance.ages(name).into_iter().filter(|age| *age >= TOGETHER).count().max(1)
    }

    /// Waits until it is known how many agents of these names are there: no time for those of which one is.
    pub fn wait_for_leftovers(&self, names: &[String]) {
        let is_known = |name: &String| self.attendance.ages(name).len() < 2 || self.times(name) > 1;
        self.wait_for(TOGETHER * 2, |_| names.iter().all(is_known));
    }

    /// Checks that there is one agent of each of these names; waits for what is left of those that were started again.
    pub(crate) fn check_alone(&self, names: &[String]) -> Result<(), Complaint> {
        self.wait_for_leftovers(names);
        let several = names.iter().map(|name| (name, self.times(name))).find(|(_, times)| *times > 1);
        several.map_or(Ok(()), |(name, times)| Err(not_alone(name, times)))
    }

    /// Waits until `enough` says so of the names that are there, or this time is over.
    pub fn wait_for(&self, within: Duration, mut enough: impl FnMut(&[String]) -> bool) {
        let until = Instant::now() + within;
        loop {
            if enough(&self.names()) {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let guard = self.attendance.there();
            drop(self.attendance.changed.wait_timeout(guard, left.min(Duration::from_millis(200))));
        }
    }

    /// Asks each agent that is there who it is, and what time it is there.
    pub fn survey(&self) -> Vec<AgentPresence> {
        at_once(&self.names(), |name| {
            let description = self.describe(name);
            let clock = description.as_ref().and_then(|_| clock::compare(&*self.messenger, name).ok());
            let clock = clock.unwrap_or_default();
            AgentPresence {
                description,
                name: name.clone(),
                times: self.times(name),
                clock_ahead_ns: clock.ahead.0,
                wall_ahead_ns: clock.wall_ahead_ns,
                round_trip: clock.within + clock.within,
            }
        })
    }

    /// Asks an agent who it is; its name is the one that its certificate allows, and its texts are fit for a terminal.
    pub(crate) fn describe(&self, agent: &str) -> Option<AgentDescription> {
        let Ok(AgentAnswer::Description(found)) = self.ask(agent, &AgentQuestion::Describe) else { return None };
        let mut value = serde_json::to_value(&*found).ok()?;
        sanitize(&mut value);
        let found: AgentDescription = serde_json::from_value(value).ok()?;
        Some(AgentDescription { name: agent.to_owned(), ..found })
    }

    pub(crate) fn ask(&self, agent: &str, question: &AgentQuestion) -> Result<AgentAnswer, Undelivered> {
        let answer = self.messenger.ask(&format!("agent/{agent}"), &to_bytes(question), ANSWERS)?;
        from_bytes(&answer).ok_or_else(|| Undelivered(format!("agent {agent} answers in another language")))
    }
}

/// Makes all texts within a value fit for a terminal.
fn sanitize(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = brunt_measure::sanitize::text(text).into_owned(),
        serde_json::Value::Array(values) => values.iter_mut().for_each(sanitize),
        serde_json::Value::Object(values) => values.values_mut().for_each(sanitize),
        _ => {}
    }
}

/// Does something for each item, many at a time; returns the results in their order.
pub(crate) fn at_once<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut results = Vec::with_capacity(items.len());
    for chunk in items.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let running: Vec<_> = chunk.iter().map(|item| scope.spawn(|| each(item))).collect();
            results.extend(running.into_iter().filter_map(|thread| thread.join().ok()));
        });
    }
    results
}
