//! Figures by name, summed up: what each URL, command or call of a run comes to alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use measure::Histogram;
use plan::scenarios::SCENARIOS;
use record::{NamedFigures, NamedCounts, RunPart};

use crate::ranked::Ranked;

/// So many rows are told apart: of the names that a run may have, of the one they share beyond, and of iterations and groups, and of scenarios.
/// A record from elsewhere may have any.
const NAMES: usize = 1001 + 2 * (SCENARIOS + plan::flow::GROUPS) + SCENARIOS;
/// So many examples are kept beside the first of each sort.
pub(crate) const EXAMPLES: usize = 256;

/// Sums over the seconds of a run, of one name.
#[derive(Clone, Debug, Default)]
pub struct NamedTotals {
    /// Requests by what became of them; those of all names add up to the run's.
    pub counts: NamedCounts,
    /// Successes that ended within the window, those of requests of the warm-up included.
    pub finished_in_window: u64,
    /// Of a scenario: time integral of its users over the window, in user-nanoseconds.
    pub users_ns_in_window: u64,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// Latency of the successes: response in open load, service in closed.
    latency: Histogram,
    /// Lower bounds of it of those that did not finish, where there are any.
    at_least: Option<Box<Histogram>>,
}

impl NamedTotals {
    fn add(&mut self, part: RunPart, second: &NamedFigures) {
        self.counts.add(&second.counts);
        if part == RunPart::Window {
            let ended = second.counts.finished.saturating_add(second.counts.finished_of_warmup);
            self.finished_in_window = self.finished_in_window.saturating_add(ended);
            // Records of before have those at the ends of seconds.
            let NamedCounts { users, users_ns, .. } = second.counts;
            let users_ns = if users_ns > 0 { users_ns } else { users.saturating_mul(1_000_000_000) };
            self.users_ns_in_window = self.users_ns_in_window.saturating_add(users_ns);
        }
        for (code, n) in &second.status {
            record::add_code(&mut self.status, code, *n);
        }
        second.latency.add_to(&mut self.latency);
        if !second.at_least.is_empty() {
            second.at_least.add_to(self.at_least.get_or_insert_default());
        }
    }

    /// The latency this name stands for.
    pub fn ranked(&self) -> Ranked<'_> {
        Ranked { finished: &self.latency, at_least: self.at_least.as_deref(), blocks: None }
    }

    /// Requests without an end that the record tells of are unfinished.
    fn cut_off(&mut self) {
        let NamedCounts { due, finished, failed, censored, dropped, .. } = &mut self.counts;
        let over = finished.saturating_add(*failed).saturating_add(*censored).saturating_add(*dropped);
        *censored += due.saturating_sub(over);
    }
}

/// The sums of all names, shared by those who only read them: they are many histograms.
#[derive(Clone, Debug, Default)]
pub struct ByName(Arc<Vec<NamedTotals>>);

impl ByName {
    /// Adds what a second tells of each name.
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

    /// Of each name that was seen, by its index.
    pub(crate) fn each(&self) -> &[NamedTotals] {
        &self.0
    }

    /// The record stops before the end of the run.
    pub(crate) fn cut_off(&mut self) {
        Arc::make_mut(&mut self.0).iter_mut().for_each(NamedTotals::cut_off);
    }
}
