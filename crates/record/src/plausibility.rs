//! Plausibility checks of a record: its seconds follow one another, and no number is larger than a run can produce.
//!
//! A record from another source may contain anything. Sums must not overflow, and seconds that occur twice would yield
//! figures that look right but are wrong.

use std::borrow::Borrow;

use brunt_measure::Nanos;

use crate::{AgentEvent, Latency, ReferenceSecond, RunEnd, RunEvent, RunPart, RunStarted, Second};

/// Maximum distance of a time from the start of the window, and maximum length of the window (nanoseconds: 73 years).
const FARTHEST: u64 = 1 << 61;
/// Maximum sum of all counts of a run.
const COUNTED: u128 = 1 << 60;
/// Maximum sum of bytes, and of nanoseconds of CPU time.
const MEASURED: u128 = 1 << 62;
/// Maximum number of request-nanoseconds in a second.
const AREA: u128 = 1 << 90;

/// Maximum number of agents of a run.
const MAX_AGENTS: usize = 4096;

const BEYOND_REASON: &str = "its counts are larger than any run's: the record was changed or damaged";

/// The state of the checks after the events so far.
#[derive(Default)]
pub(crate) struct PlausibilityCheck {
    /// Start of the last second, and the latest end of any second.
    last: Option<(i64, i64)>,
    counted: u128,
    measured: u128,
    /// Start of the last second of the window.
    last_window_start: i64,
    /// Set if connections are held: the end of the window, which depends on the moment when all are open, is then known
    /// slightly later.
    holds_connections: bool,
    /// The state of each agent's own events.
    agents: Vec<PlausibilityCheck>,
}

impl PlausibilityCheck {
    /// Returns a check of a record that becomes part of another, which has room for as many as there may be.
    pub fn of_part() -> PlausibilityCheck {
        // The record of the whole holds its counts twice: in the sum, and beside it.
        let parts = 2 * MAX_AGENTS as u128;
        PlausibilityCheck {
            counted: COUNTED - COUNTED / parts,
            measured: MEASURED - MEASURED / parts,
            ..PlausibilityCheck::default()
        }
    }

    /// Checks the head of the record.
    pub fn start(&mut self, started: &RunStarted) -> Result<(), String> {
        self.holds_connections = started.plan.hold.is_some();
        if started.agents.len() > MAX_AGENTS {
            return Err(format!("it has more than {MAX_AGENTS} agents: the record was changed or damaged"));
        }
        let holds_connections = self.holds_connections;
        let agent = || PlausibilityCheck { holds_connections, ..PlausibilityCheck::default() };
        self.agents = started.agents.iter().map(|_| agent()).collect();
        Ok(())
    }

    /// Checks the next event; an error is a sentence that states what is wrong with it.
    pub fn check(&mut self, event: &RunEvent) -> Result<(), String> {
        let moments = match event {
            RunEvent::Second(second) => return self.second(second),
            RunEvent::Changed(changed) => [Some(changed.at_ns), None],
            RunEvent::Example(example) => [example.at_ns, None],
            RunEvent::Notice(notice) => [notice.at_ns, None],
            RunEvent::Reference(client) => return self.reference(client),
            RunEvent::Counters(sample) => [Some(sample.at_ns), None],
            RunEvent::Joined(joined) => [joined.at_ns, None],
            RunEvent::Ended(ended) => return self.ended(ended),
            RunEvent::FirstResponse(answer) => [Some(i64::try_from(answer.took.0).unwrap_or(i64::MAX)), None],
            RunEvent::OfAgent(told) => return self.of_agent(told),
            RunEvent::Started(_)
            | RunEvent::Began(_)
            | RunEvent::Spans(_)
            | RunEvent::Provisional(_)
            | RunEvent::Unknown => [None, None],
        };
        check_range(moments)
    }

    /// Checks an event of an agent, which follows the events of this agent; the counts of all agents add up, too.
    fn of_agent(&mut self, told: &AgentEvent) -> Result<(), String> {
        if !AgentEvent::may_hold(&told.event) {
            return Err("it tells something of an agent that only a whole run has: the record was changed".into());
        }
        let Some(agent) = self.agents.get_mut(usize::from(told.agent)) else {
            return Err(format!("it tells of agent {}, which the start of the run does not list", told.agent));
        };
        let before = (agent.counted, agent.measured);
        agent.check(&told.event)?;
        self.counted = self.counted.saturating_add(agent.counted - before.0);
        self.measured = self.measured.saturating_add(agent.measured - before.1);
        self.within_reason()
    }

    /// Checks the counts of the reference client, which have their own sums; these must not overflow either.
    fn reference(&mut self, client: &ReferenceSecond) -> Result<(), String> {
        check_range([Some(client.from_ns), Some(client.to_ns)])?;
        let counts = [client.scheduled, client.succeeded, client.failed, client.unfinished];
        let histograms = [client.service.count(), client.read_late.count()];
        self.counted = counts.into_iter().chain(histograms).fold(self.counted, |sum, n| sum.saturating_add(n.into()));
        self.within_reason()
    }

    /// Checks that the window does not end before its last second begins, because throughput would then be wrong.
    fn ended(&self, ended: &RunEnd) -> Result<(), String> {
        let span = |span: Nanos| i64::try_from(span.0).unwrap_or(i64::MAX);
        check_range([Some(span(ended.window)), Some(span(ended.elapsed))])?;
        if span(ended.window) >= self.last_window_start || self.holds_connections {
            return Ok(());
        }
        Err(format!(
            "it says the window ended after {}, but one of its seconds starts at {}: the record was changed, or put \
                together from several",
            at(span(ended.window)),
            at(self.last_window_start)
        ))
    }

    fn second(&mut self, s: &Second) -> Result<(), String> {
        check_range([Some(s.from_ns), Some(s.to_ns)])?;
        check_range([s.first_success_ns, s.last_success_ns])?;
        check_range([s.first_failure_ns, s.last_failure_ns])?;
        check_range([s.busy_since_ns, None])?;
        if !(0.0..=1.0).contains(&s.missing_share) {
            return Err("a share of a run is between 0 and 1: the record was changed or damaged".into());
        }
        self.follows(s)?;
        let area = s.in_flight_ns.max(s.service_ns.unsigned_abs());
        self.counted = self.counted.saturating_add(counted(s));
        self.measured = self.measured.saturating_add(measured(s));
        if area > AREA {
            return Err(BEYOND_REASON.into());
        }
        self.within_reason()
    }

    fn within_reason(&self) -> Result<(), String> {
        if self.counted > COUNTED || self.measured > MEASURED {
            return Err(BEYOND_REASON.into());
        }
        Ok(())
    }

    /// Checks that seconds follow one another. A second of zero length may lie inside another: it contains the last
    /// results that a worker reported when it ended.
    fn follows(&mut self, s: &Second) -> Result<(), String> {
        let (began, ended) = self.last.unwrap_or((i64::MIN, i64::MIN));
        let (from, to) = (s.from_ns, s.to_ns);
        let wrong = match () {
            () if to < from => format!("this second ends ({}) before it starts ({})", at(to), at(from)),
            () if from < began || (from < ended && to > from) => {
                format!("this second starts ({}) before the one above ends ({})", at(from), at(ended))
            }
            () => String::new(),
        };
        if !wrong.is_empty() {
            return Err(wrong + ": the record was changed, or put together from several");
        }
        self.last = Some((s.from_ns, ended.max(s.to_ns)));
        if s.part == RunPart::Window && to > from {
            self.last_window_start = from;
        }
        Ok(())
    }
}

fn at(ns: i64) -> String {
    format!("{} s", ns as f64 / 1e9)
}

fn check_range(moments: [Option<i64>; 2]) -> Result<(), String> {
    match moments.into_iter().flatten().all(|ns| ns.unsigned_abs() <= FARTHEST) {
        true => Ok(()),
        false => Err("it has a time that no run reaches: the record was changed or damaged".into()),
    }
}

/// Returns the sum of all counts of a second.
fn counted(s: &Second) -> u128 {
    let mut counts = s.counts();
    (counts.cpu_ns, counts.spun_ns, counts.unanswered_ns) = (0, 0, 0);
    (counts.kept_out_ns, counts.woken_late_ns) = (0, 0);
    let (mut connections, mut heartbeats) = (s.connections, s.heartbeats);
    let plain = sum(counts.each_mut()) + sum(connections.each_mut()) + sum(heartbeats.each_mut());
    let listed = s
        .failures
        .iter()
        .map(|f| f.count)
        .chain(s.losses.iter().chain(&s.unopened).chain(&s.failed_addresses).map(|loss| loss.count));
    let named = s.named.iter().map(|named| {
        let mut counts = named.counts;
        sum(counts.each_mut())
            + sum(named.status.values())
            + u128::from(named.latency.count())
            + u128::from(named.at_least.count())
    });
    let generator = [s.generator.periods, s.generator.throttled];
    plain
        + sum(s.status.values())
        + listed.map(u128::from).sum::<u128>()
        + named.sum::<u128>()
        + sum(generator)
        + times(&s.latency)
}

fn times(latency: &Latency) -> u128 {
    latency.all().map(|(_, histogram)| u128::from(histogram.count())).sum()
}

/// Returns the sum of the bytes and CPU times of a second.
fn measured(s: &Second) -> u128 {
    let mut bytes = s.bytes;
    let spans = [s.cpu_ns, s.spun_ns, s.connections.ahead_ns, s.generator.busiest_cpu_ns, s.generator.ready_ns];
    sum(bytes.each_mut()) + sum(spans)
}

fn sum(all: impl IntoIterator<Item = impl Borrow<u64>>) -> u128 {
    all.into_iter().map(|n| u128::from(*n.borrow())).sum()
}
