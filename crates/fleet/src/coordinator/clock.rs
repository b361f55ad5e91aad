//! How far an agent's clock is ahead of this one: by round trips, of which the shortest counts.

use std::time::Duration;

use brunt_engine::ClockOffset;
use brunt_measure::{Clock, Nanos};
use brunt_messenger::{Messenger, Undelivered};

use crate::protocol::{AgentAnswer, AgentQuestion, from_bytes, to_bytes};

/// Number of round trips.
const TRIPS: usize = 9;

/// A comparison of clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClockComparison {
    pub ahead: ClockOffset,
    /// Maximum error of the offset: half the shortest round trip.
    pub within: Nanos,
    /// Difference of the wall clocks (nanoseconds), the agent's ahead.
    pub wall_ahead_ns: i64,
}

/// Compares clocks with an agent.
///
/// # Errors
/// It does not answer.
pub(crate) fn compare(messenger: &dyn Messenger, agent: &str) -> Result<ClockComparison, Undelivered> {
    let (address, question) = (format!("agent/{agent}"), to_bytes(&AgentQuestion::Clock));
    let mut best: Option<ClockComparison> = None;
    for _ in 0..TRIPS {
        let asked = Clock.now();
        let answer = messenger.ask(&address, &question, Duration::from_secs(2))?;
        let answered = Clock.now();
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let Some(AgentAnswer::Clock { now_ns, unix_ns }) = from_bytes(&answer) else {
            return Err(Undelivered(format!("agent {agent} does not say what time it is")));
        };
        let half = (answered - asked).0 / 2;
        let found = ClockComparison {
            ahead: ClockOffset((now_ns as i64).wrapping_sub((asked.0 + half) as i64)),
            within: Nanos(half.max(1)),
            wall_ahead_ns: (unix_ns as i64).wrapping_sub(unix.as_nanos() as i64 - half as i64),
        };
        if best.is_none_or(|best| found.within < best.within) {
            best = Some(found);
        }
    }
    best.ok_or_else(|| Undelivered("no round trip was made".into()))
}
