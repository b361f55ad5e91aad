//! Figures by name, summed up: the totals of each URL, command or call of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_measure::Histogram;
use brunt_plan::scenarios::SCENARIOS;
use brunt_record::{NamedCounts, NamedFigures, RunPart};

use crate::ranked::RankedLatency;

/// Maximum number of rows: those of the names that a run may have, of the one that further names share, of iterations
/// and groups, and of scenarios. A record from another source may contain any number.
const NAMES: usize = 1001 + 2 * (SCENARIOS + brunt_plan::flow::GROUPS) + SCENARIOS;
/// Maximum number of examples kept in addition to the first of each sort.
pub(crate) const EXAMPLES: usize = 256;

/// The sums of one name over the seconds of a run.
#[derive(Clone, Debug, Default)]
pub struct NamedTotals {
    /// Requests by outcome; over all names, they add up to the counts of the run.
    pub counts: NamedCounts,
    /// Successes that completed within the window, including those of warm-up requests.
    pub finished_in_window: u64,
    /// Time integral of a scenario's users over the window, in user-nanoseconds.
    pub users_ns_in_window: u64,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// Latency of the successes: response time under open load, service time under closed load.
    latency: Histogram,
    /// Lower bounds for requests that did not finish, if there are any.
    at_least: Option<Box<Histogram>>,
    /// Latency of the requests that brunt itself may have delayed, and without these delays, if there are any.
    own: Option<Box<[Histogram; 2]>>,
}

impl NamedTotals {
    fn add(&mut self, part: RunPart, second: &NamedFigures) {
        self.counts.add(&second.counts);
        if part == RunPart::Window {
            let ended = second.counts.finished.saturating_add(second.counts.finished_of_warmup);
            self.finished_in_window = self.finished_in_window.saturating_add(ended);
            // Older records contain only the number of users at the end of each second.
            let NamedCounts { users, users_ns, .. } = second.counts;
            let users_ns = if users_ns > 0 { users_ns } else { users.saturating_mul(1_000_000_000) };
            self.users_ns_in_window = self.users_ns_in_window.saturating_add(users_ns);
        }
        for (code, n) in &second.status {
            brunt_record::add_code(&mut self.status, code, *n);
        }
        second.latency.add_to(&mut self.latency);
        if !second.at_least.is_empty() {
            second.at_least.add_to(self.at_least.get_or_insert_default());
        }
        if !second.latency_delayed.is_empty() {
            let [delayed, undelayed] = &mut **self.own.get_or_insert_default();
            second.latency_delayed.add_to(delayed);
            second.latency_undelayed.add_to(undelayed);
        }
    }

    /// Returns the latency of the requests with this name.
    pub fn ranked(&self) -> RankedLatency<'_> {
        let ranked =
            RankedLatency { at_least: self.at_least.as_deref(), ..RankedLatency::finished_only(&self.latency) };
        match self.own.as_deref() {
            Some([delayed, undelayed]) => ranked.with_own(delayed, undelayed),
            None => ranked,
        }
    }

    /// Counts requests whose end was not recorded as unfinished.
    fn cut_off(&mut self) {
        let NamedCounts { due, finished, failed, censored, dropped, .. } = &mut self.counts;
        let over = finished.saturating_add(*failed).saturating_add(*censored).saturating_add(*dropped);
        *censored += due.saturating_sub(over);
    }
}

/// The sums of all names; readers share them because they contain many histograms.
#[derive(Clone, Debug, Default)]
pub struct TotalsByName(Arc<Vec<NamedTotals>>);

impl TotalsByName {
    /// Adds the figures of a second by name.
    pub(crate) fn add(&mut self, part: RunPart, second: &[NamedFigures]) {
        if second.is_empty() || part == RunPart::Warmup {
            return;
        }
        let all = Arc::make_mut(&mut self.0);
        for named in second.iter().filter(|named| usize::from(named.name) < NAMES) {
            let at = usize::from(named.name);
            if all.len() <= at {
                all.resize_with(at + 1, NamedTotals::default);
            }
            all[at].add(part, named);
        }
    }

    /// Returns the totals of each name seen, by index.
    pub(crate) fn each(&self) -> &[NamedTotals] {
        &self.0
    }

    /// Completes the totals of a record that stops before the end of the run.
    pub(crate) fn cut_off(&mut self) {
        Arc::make_mut(&mut self.0).iter_mut().for_each(NamedTotals::cut_off);
    }
}
