//! How far an agent's clock is ahead of this one: by round trips, of which the shortest counts.

use std::time::Duration;

use brunt_cause::{Complaint, complaint};
use brunt_engine::ClockOffset;
use brunt_measure::{Clock, Nanos};
use brunt_messenger::{Messenger, Undelivered};

use crate::protocol::{AgentAnswer, AgentQuestion, from_bytes, to_bytes};

/// Number of round trips.
const TRIPS: usize = 9;
/// Longest time that a clock can show, since its machine was started or since 1970 (nanoseconds): a century. With more, an
/// agent would be told to start at a time that never comes.
const CENTURY: u64 = 100 * 365 * 24 * 3600 * 1_000_000_000;

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
/// It does not answer, or says a time that no clock shows.
pub(crate) fn compare(messenger: &dyn Messenger, agent: &str) -> Result<ClockComparison, Complaint> {
    let (address, question) = (format!("agent/{agent}"), to_bytes(&AgentQuestion::Clock));
    let mut best: Option<ClockComparison> = None;
    for _ in 0..TRIPS {
        let asked = Clock.now();
        let answer = messenger.ask(&address, &question, Duration::from_secs(2)).map_err(not_told)?;
        let answered = Clock.now();
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let Some(AgentAnswer::Clock { now_ns, unix_ns }) = from_bytes(&answer) else {
            return Err(complaint!("it does not say what time it is", "它没有说明当前时间"));
        };
        if now_ns.max(unix_ns) > CENTURY {
            let years = now_ns.max(unix_ns) / (CENTURY / 100);
            return Err(complaint!(
                "its clock shows {years} years, so that it cannot be told when to start; set it right, or start the agent again",
                "它的时钟显示 {years} 年，因此无法告知它何时开始；请校正时钟，或重新启动该施压机"
            ));
        }
        let half = (answered - asked).0 / 2;
        let found = ClockComparison {
            ahead: ClockOffset((now_ns as i64).saturating_sub((asked.0 + half) as i64)),
            within: Nanos(half.max(1)),
            wall_ahead_ns: (unix_ns as i64).saturating_sub(unix.as_nanos() as i64 - half as i64),
        };
        if best.is_none_or(|best| found.within < best.within) {
            best = Some(found);
        }
    }
    best.ok_or_else(|| not_told(Undelivered("no round trip was made".into())))
}

fn not_told(Undelivered(why): Undelivered) -> Complaint {
    let why = Complaint::of_text(why);
    let zh = why.zh();
    complaint!("its clock cannot be asked ({why})", "无法询问它的时钟（{zh}）")
}

#[cfg(test)]
mod tests {
    use brunt_messenger::LocalMessenger;

    use super::*;

    #[test]
    fn a_clock_that_shows_what_no_clock_can_show_is_refused_with_a_sentence() {
        let hub = LocalMessenger::default();
        let agent = hub.participant();
        let compared = |now_ns: u64, unix_ns: u64| {
            let answer = move |_: &[u8]| to_bytes(&AgentAnswer::Clock { now_ns, unix_ns });
            let _held = agent.answer("agent/a1", Box::new(answer)).unwrap();
            compare(&hub.participant(), "a1")
        };
        for far in [u64::MAX, 1 << 63, 1 << 62] {
            let said = [compared(far, 0), compared(0, far)].map(|found| found.unwrap_err());
            assert!(said.iter().all(|why| why.contains("years") && why.zh().contains('年')), "{said:?}");
        }
        let own = Clock.now().0;
        let ahead = compared(own + 50 * (CENTURY / 100), 0).unwrap().ahead.0;
        assert!(ahead > 49 * (CENTURY / 100) as i64, "{ahead}");
    }
}
