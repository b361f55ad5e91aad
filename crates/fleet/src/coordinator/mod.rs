//! The coordinator of a fleet: who is there, and runs on some of them.

mod clock;
mod conduct;
mod directory;
mod group;
mod merge;
mod orders;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use brunt_measure::Nanos;
use brunt_messenger::{Held, Messenger, Undelivered};
use serde::Serialize;

use crate::protocol::{AgentAnswer, AgentDescription, AgentQuestion, from_bytes, to_bytes};

pub use directory::{RunDirectory, RunOutput, unfinished_runs};
pub use group::{AgentGroup, ResumedRun};

/// Time within which an agent answers a question.
pub(crate) const ANSWERS: Duration = Duration::from_secs(3);
/// Agents that are asked at the same time.
const AT_ONCE: usize = 32;

/// An agent that is there.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPresence {
    /// What it says of itself; `None` if it is there and does not answer.
    pub description: Option<AgentDescription>,
    /// Its name.
    pub name: String,
    /// Offset of its monotonic clock (nanoseconds), and the shortest round trip.
    pub clock_ahead_ns: i64,
    /// Difference of its wall clock, ahead of this one (nanoseconds).
    pub wall_ahead_ns: i64,
    /// Shortest round trip.
    pub round_trip: Nanos,
}

/// Names of the agents that are there, and a way to wait for changes.
#[derive(Default)]
struct Attendance {
    there: Mutex<BTreeMap<String, bool>>,
    changed: Condvar,
}

impl Attendance {
    fn there(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.there.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
        let watch = messenger.watch(Box::new(move |name, is_there| {
            told.there().insert(name.to_owned(), is_there);
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
        let there = self.attendance.there();
        there.iter().filter(|(_, there)| **there).map(|(name, _)| name.clone()).collect()
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
