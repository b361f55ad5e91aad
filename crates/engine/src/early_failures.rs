//! Early failures: a run in which all requests fail is reported within its first second.

use brunt_measure::Nanos;
use brunt_record::{Failure, Notice, Second, Subject};

use crate::failure_class::{FailureClass, errno_name};

/// Time after which a run reports that all of its requests have failed so far.
const REPORT_AFTER: Nanos = Nanos::from_millis(600);
/// Maximum number of kinds of failure that are distinguished.
pub(crate) const MAX_CLASSES: usize = 16;

/// Results since the start, warm-up included.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EarlyFailures {
    at: Nanos,
    pub finished: u64,
    pub failed: u64,
    /// The failures by kind, in order of first occurrence.
    pub classes: Vec<(FailureClass, u64)>,
}

impl EarlyFailures {
    pub fn new(start: Nanos) -> EarlyFailures {
        EarlyFailures { at: start + REPORT_AFTER, finished: 0, failed: 0, classes: Vec::new() }
    }

    /// Returns `true` if it is time to report.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.at
    }

    /// Adds the results of another worker.
    pub fn add(&mut self, other: &EarlyFailures) {
        self.finished = self.finished.saturating_add(other.finished);
        self.failed = self.failed.saturating_add(other.failed);
        other.classes.iter().for_each(|(sort, count)| self.count(*sort, *count));
    }

    /// Counts a failure.
    pub fn failed(&mut self, sort: FailureClass) {
        self.failed += 1;
        self.count(sort, 1);
    }

    fn count(&mut self, sort: FailureClass, count: u64) {
        let room = self.classes.len() < MAX_CLASSES;
        match self.classes.iter_mut().find(|(known, _)| *known == sort) {
            Some((_, n)) => *n = n.saturating_add(count),
            None if room => self.classes.push((sort, count)),
            None => {}
        }
    }

    /// Returns the most frequent kinds and their counts as text.
    pub fn kinds(&self) -> String {
        let failure = |&(sort, count): &(FailureClass, u64)| Failure {
            kind: sort.kind.name().to_owned(),
            phase: String::new(),
            errno: sort.errno.map(errno_name),
            count,
        };
        brunt_record::most_frequent(&self.classes.iter().map(failure).collect::<Vec<_>>())
    }
}

/// Detector that reports once, at the beginning of a run, if all requests failed: as soon as every worker has reported
/// its first moments, or with the first second in which a request ended, if that is later.
#[derive(Debug)]
pub(crate) struct OnlyErrorsDetector {
    sum: EarlyFailures,
    reports: usize,
    /// Set once the failure was reported, or a request succeeded.
    settled: bool,
}

impl OnlyErrorsDetector {
    pub fn new() -> OnlyErrorsDetector {
        OnlyErrorsDetector { sum: EarlyFailures::new(Nanos::ZERO), reports: 0, settled: false }
    }

    /// Adds the results of one of `workers` workers.
    pub fn early(&mut self, early: &EarlyFailures, workers: usize) -> Option<Notice> {
        self.sum.add(early);
        self.reports += 1;
        if self.reports < workers {
            return None;
        }
        let kinds = self.sum.kinds();
        self.check(self.sum.finished, self.sum.failed, kinds)
    }

    /// Checks a second of the run.
    pub fn second(&mut self, second: &Second) -> Option<Notice> {
        self.check(second.successes(), second.failed, brunt_record::most_frequent(&second.failures))
    }

    fn check(&mut self, finished: u64, failed: u64, kinds: String) -> Option<Notice> {
        if self.settled || (finished, failed) == (0, 0) {
            return None;
        }
        self.settled = true;
        (finished == 0).then(|| Notice::new(Subject::OnlyErrors, [("count", failed.to_string()), ("kind", kinds)]))
    }
}

#[cfg(test)]
mod tests {
    use brunt_contract::{FaultKind, Phase};

    use super::*;

    #[test]
    fn the_most_frequent_kinds_are_named_whatever_came_first() {
        let mut early = EarlyFailures::new(Nanos::ZERO);
        let sort = |kind, phase, errno| FailureClass { kind, phase, errno };
        early.failed(sort(FaultKind::Reset, Phase::FirstByte, None));
        let mut other = EarlyFailures::new(Nanos::ZERO);
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

    fn second(finished: u64, failed: u64) -> Second {
        let failure =
            |count| Failure { kind: "refused".into(), errno: Some("ECONNREFUSED".into()), count, ..Failure::default() };
        let failures = (failed > 0).then(|| failure(failed)).into_iter().collect();
        Second { finished, failed, failures, ..Second::default() }
    }

    #[test]
    fn a_dead_end_is_said_once_and_only_at_the_beginning() {
        let table: [(&[Second], usize); 6] = [
            (&[second(0, 5), second(0, 5)], 1),
            (&[second(1, 5)], 0),
            (&[second(0, 0), second(0, 1)], 1),
            (&[second(3, 0), second(0, 9)], 0),
            (&[Second { finished_of_warmup: 3, ..second(0, 0) }, second(0, 9)], 0),
            (&[second(0, 0)], 0),
        ];
        for (seconds, said) in table {
            let mut dead_end = OnlyErrorsDetector::new();
            let notices: Vec<Notice> = seconds.iter().filter_map(|second| dead_end.second(second)).collect();
            assert_eq!(notices.len(), said, "{seconds:?}");
            for notice in notices {
                assert_eq!(notice.facts["kind"], format!("{} × refused (ECONNREFUSED)", notice.facts["count"]));
            }
        }
    }

    #[test]
    fn the_first_moments_of_all_workers_settle_it_and_their_seconds_say_nothing_again() {
        let told = |finished, failures: u64| {
            let mut early = EarlyFailures { finished, ..EarlyFailures::new(Nanos::ZERO) };
            (0..failures).for_each(|_| {
                early.failed(FailureClass { kind: FaultKind::Refused, phase: Phase::Connect, errno: None });
            });
            early
        };
        for (workers, early, later) in [
            (vec![told(0, 2), told(0, 3)], Some("5"), None),
            (vec![told(0, 2), told(1, 0)], None, None),
            (vec![told(0, 0), told(0, 0)], None, Some("9")),
        ] {
            let mut dead_end = OnlyErrorsDetector::new();
            assert_eq!(dead_end.early(&workers[0], 2), None, "the other may still succeed");
            let count = |notice: Option<Notice>| notice.map(|notice| notice.facts["count"].clone());
            assert_eq!(count(dead_end.early(&workers[1], 2)).as_deref(), early);
            assert_eq!(count(dead_end.second(&second(0, 9))).as_deref(), later);
        }
    }

    #[test]
    fn records_know_every_kind_and_phase_by_the_word_that_is_written() {
        let words = |all: &[brunt_record::Kind]| all.iter().map(|kind| kind.name()).collect::<Vec<_>>();
        assert_eq!(FaultKind::ALL.map(FaultKind::name).to_vec(), words(brunt_record::Kind::ALL));
        let words = |all: &[brunt_record::Phase]| all.iter().map(|phase| phase.name()).collect::<Vec<_>>();
        assert_eq!(Phase::ALL.map(Phase::name).to_vec(), words(brunt_record::Phase::ALL));
    }
}
