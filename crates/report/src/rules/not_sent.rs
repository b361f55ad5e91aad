//! The rule for a schedule that brunt itself did not send: arrivals that were due and still waited for brunt when the run
//! was over (V2).

use brunt_measure::Nanos;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

/// Code of the finding.
pub(crate) const CODE: &str = "schedule_not_sent";

const NOT_SENT: Text = text(
    "brunt itself did not send {share} of the scheduled requests: it cannot generate this load here; use more workers \
        (-w) or machines, or a lower rate",
    "brunt 自身未能发送计划请求的 {share}：在此无法产生这样的负载；请增加工作线程（-w）或机器，或降低速率",
);

/// Share of the scheduled requests that is negligible, and share above which the counts of the run are not those of the
/// load that was asked for.
const OK: f64 = 0.01;
const FAIL: f64 = 0.05;

/// Finds arrivals that were never sent because of brunt: requests without an end that have no service time either.
pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let unsent = run.totals.latency.service_at_least.count_at_most(Nanos::ZERO);
    let share = unsent as f64 / run.totals.due.max(1) as f64;
    let grade = if share > FAIL { Grade::Fail } else { Grade::Warn };
    let found = run.open && run.totals.has_bands && share > OK;
    found.then(|| Finding::new(CODE, grade, NOT_SENT, [("share", numbers::share(share))]))
}

#[cfg(test)]
mod tests {
    use brunt_record::{End, Second};

    use super::*;
    use crate::rules::tests::of_second;

    #[test]
    fn arrivals_that_were_never_sent_are_a_doubt_in_the_counts() {
        let judged = |unsent: u64, resolution_ns| {
            let mut s = Second { due: 1_000, censored: unsent, finished: 1_000 - unsent, ..Second::default() };
            s.generator.resolution_ns = resolution_ns;
            s.latency.response.record_n(Nanos(2_000_000), 1_000 - unsent);
            s.latency.service_at_least.record_n(Nanos::ZERO, unsent);
            // One that was sent and has no end.
            s.latency.service_at_least.record_n(Nanos(5_000_000), 100);
            of_second(judge, s, End::Completed).map(|found| found.grade)
        };
        assert_eq!([5, 30, 200].map(|n| judged(n, 20_000)), [None, Some(Grade::Warn), Some(Grade::Fail)]);
        assert_eq!(judged(200, 0), None, "records of older versions have a rule of their own");
    }

    #[test]
    fn what_a_lost_agent_had_in_flight_was_sent() {
        let mut s = Second { due: 1_000, finished: 800, ..Second::default() };
        s.generator.resolution_ns = 20_000;
        let mut open = brunt_record::OpenRequests::default();
        open.add_second(&s);
        open.count_unfinished(&mut s, true);
        assert_eq!((s.censored, s.latency.service_at_least.count()), (200, 200));
        assert!(of_second(judge, s, End::Completed).is_none());
    }
}
