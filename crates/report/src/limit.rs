//! Whether it was the limit of connections that arrivals waited for, and whether that limit was one queue.

use measure::Nanos;
use record::{Notice, Subject};

use crate::ranked::{Figure, Ranked};
use crate::numbers;
use crate::sums::Sums;

/// One that waited in so many is worth a word.
const ONE_IN: u64 = 1000;
/// A wait that is so much of the mean response is a part of the figures.
const SHARE: f64 = 0.05;

/// Arrivals that waited because every connection was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limited {
    /// How many.
    pub waited: u64,
    /// Of how many.
    pub due: u64,
    /// Most connections.
    pub limit: u32,
    /// Workers that share them.
    pub workers: u32,
    /// The mean wait of all requests.
    pub wait: Nanos,
    /// Their mean response.
    pub response: Nanos,
}

impl Limited {
    /// Of a run in which they were many enough to be told.
    pub fn of(run: &Sums) -> Option<Limited> {
        let (totals, started) = (&run.totals, run.started.as_ref()?);
        let (waited, due) = (totals.limited, totals.due);
        let told = run.open && waited > 0 && waited.saturating_mul(ONE_IN) >= due;
        let mean = |ranked: Ranked<'_>| match ranked.mean() {
            Figure::Is(mean) | Figure::AtLeast(mean) => mean,
            Figure::Withheld => Nanos::ZERO,
        };
        let l = &totals.latency;
        told.then(|| Limited {
            waited,
            due,
            limit: started.plan.max_connections,
            workers: started.workers,
            wait: mean(Ranked::with(&l.wait_conn, &l.wait_conn_at_least)),
            response: mean(run.headline()),
        })
    }

    /// True where the limit was several queues, each with a share of it, and that is a part of the figures: a request of one
    /// waited while a connection of another was free, and with other workers the figures would be others.
    pub fn is_split(&self) -> bool {
        self.workers > 1 && self.wait.0 as f64 > SHARE * self.response.0 as f64
    }

    /// What the reader should know.
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
