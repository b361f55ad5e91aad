//! A dead end is never silent: a run in which nothing but failures came back says so within its first second.

use measure::Nanos;
use record::Failure;
use wire::{Dialogue, Network};

use crate::collector::errno_name;
use crate::message::Message;
use crate::tally::Sort;
use crate::worker::Worker;

/// How long a run may only fail before it says so.
const PATIENCE: Nanos = Nanos::from_millis(600);
/// So many sorts of failure are told apart.
const SORTS: usize = 16;

/// What came back since the start, warm-up included.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EarlyFailures {
    at: Nanos,
    pub finished: u64,
    pub failed: u64,
    /// The failures by sort, as they came first.
    pub sorts: Vec<(Sort, u64)>,
}

impl EarlyFailures {
    pub fn set(start: Nanos) -> EarlyFailures {
        EarlyFailures { at: start + PATIENCE, finished: 0, failed: 0, sorts: Vec::new() }
    }

    /// Adds what another worker saw.
    pub fn add(&mut self, other: &EarlyFailures) {
        self.finished += other.finished;
        self.failed += other.failed;
        other.sorts.iter().for_each(|(sort, count)| self.count(*sort, *count));
    }

    /// A failure came.
    pub fn failed(&mut self, sort: Sort) {
        self.failed += 1;
        self.count(sort, 1);
    }

    fn count(&mut self, sort: Sort, count: u64) {
        let room = self.sorts.len() < SORTS;
        match self.sorts.iter_mut().find(|(known, _)| *known == sort) {
            Some((_, n)) => *n += count,
            None if room => self.sorts.push((sort, count)),
            None => {}
        }
    }

    /// The most frequent kinds with their counts.
    pub fn kinds(&self) -> String {
        let failure = |&(sort, count): &(Sort, u64)| Failure {
            kind: sort.kind.name().to_owned(),
            phase: String::new(),
            errno: sort.errno.map(errno_name),
            count,
        };
        record::most_frequent(&self.sorts.iter().map(failure).collect::<Vec<_>>())
    }
}

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// Tells what came back so far, once: when its time has come or the run ends before.
    pub fn report_early(&mut self, now_or_never: bool) {
        if let Some(early) = self.early.take_if(|early| now_or_never || self.stamp >= early.at) {
            (self.report)(Message::Early(early));
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::{FaultKind, Phase};

    use super::*;

    #[test]
    fn the_most_frequent_kinds_are_named_whatever_came_first() {
        let mut early = EarlyFailures::set(Nanos::ZERO);
        let sort = |kind, phase, errno| Sort { kind, phase, errno };
        early.failed(sort(FaultKind::Reset, Phase::FirstByte, None));
        let mut other = EarlyFailures::set(Nanos::ZERO);
        for _ in 0..3 {
            other.failed(sort(FaultKind::Refused, Phase::Connect, Some(libc::ECONNREFUSED)));
            other.failed(sort(FaultKind::Timeout, Phase::FirstByte, None));
            other.failed(sort(FaultKind::Timeout, Phase::Transfer, None));
        }
        early.add(&other);
        assert_eq!((early.failed, &*early.kinds()), (10, "6 × timeout, 3 × refused (ECONNREFUSED), 1 × reset"));
        early.failed(sort(FaultKind::Tls, Phase::Tls, None));
        assert_eq!(early.kinds(), "6 × timeout, 3 × refused (ECONNREFUSED), 1 × reset, …");
    }
}
