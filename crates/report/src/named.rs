//! Figures by name, summed up: what each URL, command or call of a run comes to alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use measure::Histogram;
use record::{Example, Named, NamedCounts, Part};

use crate::objectives::Facts;
use crate::ranked::Ranked;
use crate::summary::Summary;

/// So many names are told apart: those a run may have and the one they share beyond. A record from elsewhere may have any.
const NAMES: usize = 1001;
/// So many examples are kept beside the first of each sort.
pub(crate) const EXAMPLES: usize = 256;

/// Sums over the seconds of a run, of one name.
#[derive(Clone, Debug, Default)]
pub struct NamedTotals {
    /// Requests by what became of them; those of all names add up to the run's.
    pub counts: NamedCounts,
    /// Successes that ended within the window, those of requests of the warm-up included.
    pub finished_in_window: u64,
    /// Status code → count.
    pub status: BTreeMap<String, u64>,
    /// Latency of the successes: response in open load, service in closed.
    latency: Histogram,
    /// Lower bounds of it of those that did not finish, where there are any.
    at_least: Option<Box<Histogram>>,
}

impl NamedTotals {
    fn add(&mut self, part: Part, second: &Named) {
        self.counts.add(&second.counts);
        if part == Part::Window {
            let ended = second.counts.finished.saturating_add(second.counts.finished_of_warmup);
            self.finished_in_window = self.finished_in_window.saturating_add(ended);
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
        let NamedCounts { due, finished, failed, censored, .. } = &mut self.counts;
        *censored += due.saturating_sub(*finished + *failed + *censored);
    }
}

/// The sums of all names, shared by those who only read them: they are many histograms.
#[derive(Clone, Debug, Default)]
pub struct ByName(Arc<Vec<NamedTotals>>);

impl ByName {
    /// Adds what a second tells of each name.
    pub(crate) fn add(&mut self, part: Part, second: &[Named]) {
        if second.is_empty() || part == Part::Warmup {
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

    /// The record stops before the end of the run.
    pub(crate) fn cut_off(&mut self) {
        Arc::make_mut(&mut self.0).iter_mut().for_each(NamedTotals::cut_off);
    }
}

/// A row of figures by name.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// What its requests are called.
    pub name: &'a str,
    /// Its index in the names of the run.
    pub index: u16,
    /// What they come to.
    pub totals: &'a NamedTotals,
}

impl Summary {
    /// The names of the run.
    pub fn names(&self) -> &[String] {
        self.started.as_ref().map_or(&[], |started| &started.names)
    }

    /// What each name comes to; nothing where the run has but one, whose figures are the run's.
    pub fn by_name(&self) -> impl Iterator<Item = Row<'_>> {
        let names = self.names();
        let several = if names.len() > 1 { names } else { &[] };
        let totals = self.totals.named.0.iter().map(Some).chain(std::iter::repeat(None));
        let nothing = nothing();
        several.iter().zip(totals).enumerate().map(move |(index, (name, totals))| Row {
            name,
            index: index as u16,
            totals: totals.unwrap_or(nothing),
        })
    }

    /// The kept examples of failures of a name, one of each sort and status.
    pub fn examples_of(&self, name: u16) -> impl Iterator<Item = &Example> {
        let all = self.examples.iter().chain(&self.examples_by_name);
        all.filter(move |example| example.name == Some(name))
    }

    /// What objectives of this name are judged on; None where the run has no such name.
    pub(crate) fn facts_of(&self, name: &str) -> Option<Facts<'_>> {
        if let [only] = self.names() {
            return (only == name).then(|| self.facts());
        }
        let NamedTotals { counts, finished_in_window, .. } = self.by_name().find(|row| row.name == name)?.totals;
        Some(Facts {
            due: counts.due,
            failed: counts.failed,
            censored: counts.censored,
            throughput_per_s: self.per_s(*finished_in_window),
            latency: self.by_name().find(|row| row.name == name)?.totals.ranked(),
        })
    }
}

/// Of a name that nothing was asked by.
fn nothing() -> &'static NamedTotals {
    static NOTHING: std::sync::LazyLock<NamedTotals> = std::sync::LazyLock::new(NamedTotals::default);
    &NOTHING
}
