//! The effect of the connection limit: whether arrivals waited for a connection, and in how many queues.

use brunt_measure::Nanos;
use brunt_record::{Notice, Subject};

use crate::numbers;
use crate::ranked::{Figure, RankedLatency};
use crate::sums::RunSums;

/// Threshold for a notice: one request in this many waited.
const ONE_IN: u64 = 1000;
/// Share of the mean response time above which a wait affects the figures.
const SHARE: f64 = 0.05;

/// Arrivals that waited because every connection was in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionLimitWait {
    /// Number of requests that waited.
    pub waited: u64,
    /// Number of requests due.
    pub due: u64,
    /// Maximum number of connections.
    pub limit: u32,
    /// Number of workers that share the connections.
    pub workers: u32,
    /// Mean wait of all requests.
    pub wait: Nanos,
    /// Mean response time of all requests.
    pub response: Nanos,
}

impl ConnectionLimitWait {
    /// Returns the waits of a run if enough requests waited to report them.
    pub fn of(run: &RunSums) -> Option<ConnectionLimitWait> {
        let (totals, started) = (&run.totals, run.started.as_ref()?);
        let (waited, due) = (totals.limited, totals.due);
        let told = run.open && waited > 0 && waited.saturating_mul(ONE_IN) >= due;
        let mean = |ranked: RankedLatency<'_>| match ranked.mean() {
            Figure::Exact(mean) | Figure::AtLeast(mean) => mean,
            Figure::Withheld => Nanos::ZERO,
        };
        let l = &totals.latency;
        told.then(|| ConnectionLimitWait {
            waited,
            due,
            limit: started.plan.max_connections,
            workers: started.workers,
            wait: mean(RankedLatency::with_unfinished(&l.wait_conn, &l.wait_conn_at_least)),
            response: mean(run.headline()),
        })
    }

    /// Returns `true` if arrivals waited in several queues, one per worker with its share of the limit, and this
    /// affects the figures: a request may wait on one worker while another has a free connection, so that the figures
    /// depend on the number of workers.
    pub fn is_split(&self) -> bool {
        self.workers > 1 && self.wait.0 as f64 > SHARE * self.response.0 as f64
    }

    /// Returns the notice about the waits.
    pub fn notice(&self) -> Notice {
        let facts = [
            ("waited", numbers::count(self.waited)),
            ("scheduled", numbers::count(self.due)),
            ("limit", numbers::count(u64::from(self.limit))),
            ("wait", numbers::duration(self.wait)),
            ("response", numbers::duration(self.response)),
        ];
        Notice::new(Subject::ConnectionLimit, facts)
    }
}
