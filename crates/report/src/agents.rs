//! The agents of a run of many machines: the figures, the trust and the limits of each, and of each label.
//!
//! Figures of the whole come from its merged seconds. What is here stands beside them, and is judged by the rules that
//! concern a machine; [`verdict`] says what of it stands against the whole.

mod builder;
mod figures;
mod labels;
pub(crate) mod verdict;

pub(crate) use self::builder::AgentBuilder;
pub use self::figures::FleetFigures;
pub use self::labels::LabelSummary;
pub(crate) use self::labels::by_label;

use std::sync::Arc;

use brunt_diagnose::{CounterCoverage, CounterSummary, LimitFinding};
use brunt_measure::{Nanos, sanitize};
use brunt_record::{AgentHead, End, Notice, Second, WindowStart};

use crate::limits::ServiceNearby;
use crate::summary::Summary;
use crate::trust::Trust;

/// An agent of a run, summed up and judged.
#[derive(Clone, Debug)]
pub struct AgentSummary {
    /// The agent.
    pub head: AgentHead,
    /// Share of the run's workers.
    pub share: f64,
    /// Its figures.
    pub figures: Arc<FleetFigures>,
    /// Verdict on its machine and its counts.
    pub trust: Trust,
    /// Limits on its side.
    pub limits: Vec<LimitFinding>,
    /// Its notices.
    pub notices: Vec<Notice>,
    /// Start of its window, with the maximum error of that on the coordinator's clock; `None` if it told of none.
    pub began: Option<(WindowStart, Nanos)>,
    /// The way its part ended; cut off if it was lost.
    pub end: End,
    /// What it left open when it was given up, in a second of no length; `None` if it left nothing open.
    pub left_open: Option<Box<Second>>,
    /// Moments of what may stand against it.
    pub(crate) moments: AgentMoments,
    /// Origin of its counters.
    pub(crate) observed: CounterCoverage,
}

/// The moments of what may stand against an agent, in nanoseconds since the start of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentMoments {
    /// Start of the first second in which requests failed for lack of ports or descriptors.
    pub local_limit: Option<i64>,
    /// Start of the first second in which a worker was full.
    pub full: Option<i64>,
    /// Start of the first second in which the CPU quota was used up.
    pub throttled: Option<i64>,
    /// The longest delay of the agent itself, and the start of its second.
    pub longest_delay: Option<(Nanos, i64)>,
}

/// How far apart agents began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartSpread {
    /// Time from the first start to the last.
    pub spread: Nanos,
    /// Maximum error of that time, because clocks were compared over a network.
    pub within: Nanos,
}

/// Error above which the spread says less than the clocks that it was measured with.
const KNOWN_WITHIN: Nanos = Nanos::from_millis(10);

impl StartSpread {
    /// Returns `true` if the clocks were compared well enough to tell the spread, and not only the most it can be.
    pub fn is_known(self) -> bool {
        self.within <= KNOWN_WITHIN
    }

    /// Returns the most that it can be.
    pub fn most(self) -> Nanos {
        self.spread.saturating_add(self.within)
    }
}

impl Summary {
    /// Returns how far apart the agents began; `None` if fewer than two told of it. Without a second comparison of their
    /// clocks, all seem to begin when they were told to, and nothing is known of it.
    pub fn start_spread(&self) -> Option<StartSpread> {
        let started =
            || self.agents.iter().filter_map(|agent| agent.began).map(|(began, within)| (began.clock_ns, within));
        let (first, last) = (started().min()?, started().max()?);
        let spread = Nanos(last.0 - first.0);
        // Any two may really be the first and the last: the two widest errors bound every difference. No spread at all
        // is what clocks say that were not compared again.
        let mut errors: Vec<Nanos> = started().map(|(_, within)| within).collect();
        errors.sort_unstable_by_key(|within| std::cmp::Reverse(*within));
        let within = errors.iter().take(2).fold(Nanos::ZERO, |sum, within| sum.saturating_add(*within));
        (spread > Nanos::ZERO).then_some(StartSpread { spread, within })
    }

    /// Returns how long after the first agent this one began.
    pub fn started_after(&self, agent: &AgentSummary) -> Option<Nanos> {
        let first = self.agents.iter().filter_map(AgentSummary::started_ns).min()?;
        agent.started_ns()?.checked_sub(first).map(Nanos)
    }
}

/// Returns the machine of an agent that the service under load runs on as well, if there is one: its counters show what
/// the service did.
pub(crate) fn service_nearby(agents: &[AgentSummary], counters: Vec<Option<CounterSummary>>) -> Option<ServiceNearby> {
    let found = agents.iter().zip(counters).filter_map(|(agent, counters)| Some((agent, counters?)));
    // The counters of one that was lost end with it.
    let (agent, counters) = found.rev().max_by_key(|(agent, _)| agent.figures.rated)?;
    let mut there = FleetFigures::default();
    let beside = agents.iter().filter(|other| other.head.host.name == agent.head.host.name);
    beside.for_each(|other| there.merge(&other.figures));
    let [generator_cores, polled_cores] = [there.cpu, there.polling].map(|used| there.cores(used, there.rated));
    Some(ServiceNearby { counters, generator_cores, polled_cores })
}

impl AgentSummary {
    /// Returns the start of its window on the coordinator's clock (nanoseconds).
    fn started_ns(&self) -> Option<u64> {
        self.began.map(|(began, _)| began.clock_ns)
    }

    /// Returns the maximum error of its moments on the coordinator's clock.
    pub(crate) fn clock_within(&self) -> Nanos {
        self.began.map_or(Nanos(self.head.clock_within_ns), |(_, within)| within)
    }

    /// Returns `true` if it told of no end: it was lost, or the record ends before it did.
    pub fn is_lost(&self) -> bool {
        self.end == End::CutOff
    }
}

/// Formats a moment of a run for a sentence: `00:42`, `1:02:03`.
pub(crate) fn clock(at: Nanos) -> String {
    let s = at.0 / 1_000_000_000;
    match s / 3600 {
        0 => format!("{:02}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// Maximum number of characters of an agent's name or label that are shown.
const NAME: usize = 40;

/// Returns the name of an agent or a label as it may stand in a sentence.
pub(crate) fn shown_name(name: &str) -> String {
    let mut shown = sanitize::line(name).into_owned();
    if let Some((end, _)) = shown.char_indices().nth(NAME) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_names_fit_into_a_sentence() {
        let at = |s| clock(Nanos::from_secs(s));
        assert_eq!([0, 42, 61, 3723].map(at), ["00:00", "00:42", "01:01", "1:02:03"]);
        assert_eq!(shown_name("eu-1"), "eu-1");
        assert_eq!(shown_name(&"长".repeat(99)).chars().count(), NAME + 1);
        assert!(!shown_name("a\u{1b}[2Jb").contains('\u{1b}'));
    }
}
