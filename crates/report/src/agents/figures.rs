//! The figures of an agent, or of several: they add up, and their latencies are merged from histograms.

use brunt_measure::Nanos;
use brunt_record::Latency;

use crate::finding::Grade;
use crate::ranked::{Figure, RankedLatency, headline};
use crate::sums::RunSums;

/// The figures of one agent, or the sum of several.
#[derive(Clone, Debug, Default)]
pub struct FleetFigures {
    /// Requests scheduled.
    pub scheduled: u64,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests without an end.
    pub unfinished: u64,
    /// Successes within the window: the basis of throughput.
    pub succeeded_in_window: u64,
    /// Histograms, as far as agents tell them ([`brunt_record::Second::slim`]).
    pub latency: Latency,
    /// CPU time of the busiest worker as a share of a core, of the agent with the busiest one.
    pub busiest_share: Option<f64>,
    /// CPU time of all workers.
    pub cpu: Nanos,
    /// Part of it that was spent polling.
    pub polling: Nanos,
    /// Length of the seconds in which it was used: of a lost agent, less than the run.
    pub rated: Nanos,
    /// The worst verdict.
    pub verdict: Grade,
}

impl FleetFigures {
    /// Takes the figures of an agent.
    pub(super) fn of(mut sums: RunSums, verdict: Grade) -> FleetFigures {
        let totals = &mut sums.totals;
        let generator = totals.generator;
        FleetFigures {
            scheduled: totals.due,
            succeeded: totals.finished,
            failed: totals.failed,
            unfinished: totals.censored,
            succeeded_in_window: totals.finished_in_window,
            latency: std::mem::take(&mut totals.latency),
            busiest_share: generator.busiest_share(),
            cpu: generator.cpu,
            polling: generator.polling,
            rated: generator.rated,
            verdict,
        }
    }

    /// Adds the figures of another agent.
    pub fn merge(&mut self, other: &FleetFigures) {
        for (mine, theirs) in [
            (&mut self.scheduled, other.scheduled),
            (&mut self.succeeded, other.succeeded),
            (&mut self.failed, other.failed),
            (&mut self.unfinished, other.unfinished),
            (&mut self.succeeded_in_window, other.succeeded_in_window),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        self.latency.merge(&other.latency);
        let busiest = self.busiest_share.into_iter().chain(other.busiest_share);
        self.busiest_share = busiest.max_by(f64::total_cmp);
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.polling = self.polling.saturating_add(other.polling);
        self.rated = self.rated.max(other.rated);
        self.verdict = self.verdict.max(other.verdict);
    }

    /// Returns CPU time in cores over this time, or over the agent's own seconds if they are longer: what is compared or
    /// added up must be of the same time.
    pub(crate) fn cores(&self, used: Nanos, over: Nanos) -> f64 {
        let over = over.max(self.rated);
        if over > Nanos::ZERO { used.0 as f64 / over.0 as f64 } else { 0.0 }
    }

    /// Returns the main latency: response time under open load, service time under closed load.
    pub fn headline(&self, open: bool) -> RankedLatency<'_> {
        headline(&self.latency, open)
    }

    /// Returns the time by which brunt itself sent one request in a hundred late.
    pub fn late_p99(&self) -> Figure {
        RankedLatency::finished_only(&self.latency.gen_late).quantile(0.99).figure
    }

    /// Returns the delays that may be brunt's own, summed over the requests.
    pub(super) fn delays(&self) -> Nanos {
        crate::rules::band::delays(&self.latency)
    }
}
