//! The rule for a schedule that brunt itself did not send: arrivals that were due and still waited for brunt when the run
//! was over (V2).

use brunt_measure::Nanos;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};
use crate::totals::RunTotals;

/// Code of the finding.
pub(crate) const CODE: &str = "schedule_not_sent";

const NOT_SENT: Text = text(
    "brunt itself did not send {share} of the scheduled requests: it cannot generate this load here; use more workers \
        (-w) or machines, or a lower rate",
    "brunt 自身未能发送计划请求的 {share}：在此无法产生这样的负载；请增加工作线程（-w）或机器，或降低速率",
);

const STOOD_STILL: Text = text(
    "brunt itself did not send {share} of the scheduled requests: it stood still for {longest} or longer; find out what \
        stopped it (a signal, a suspended or sleeping machine), and repeat the run",
    "brunt 自身未能发送计划请求的 {share}：它曾停住至少 {longest}；请查明原因（信号、机器被挂起或休眠），然后重新压测",
);

/// Share of the scheduled requests that is negligible, and share above which the counts of the run are not those of the
/// load that was asked for.
const OK: f64 = 0.01;
const FAIL: f64 = 0.05;

/// Share of the arrivals that were never sent up to which those that waited for a connection waited for brunt as well: it
/// took them when the run was over.
const LAST: f64 = 0.05;

/// Finds arrivals that were never sent because of brunt.
pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let unsent = unsent(&run.totals);
    let share = unsent as f64 / run.totals.due.max(1) as f64;
    let grade = if share > FAIL { Grade::Fail } else { Grade::Warn };
    if !run.open || !run.totals.has_bands || share <= OK {
        return None;
    }
    let share = ("share", numbers::share(share));
    Some(match standstill(run, unsent) {
        Some(longest) => Finding::new(CODE, grade, STOOD_STILL, [share, ("longest", numbers::duration(longest))]),
        None => Finding::new(CODE, grade, NOT_SENT, [share]),
    })
}

/// Returns the number of arrivals that were never sent because of brunt: requests without an end that have no service time
/// either.
pub(super) fn unsent(totals: &RunTotals) -> u64 {
    let own = totals.latency.service_at_least.count_at_most(Nanos::ZERO);
    let all = totals.due.saturating_sub(totals.sent);
    if all > own && (all - own) as f64 <= LAST * own as f64 { all } else { own }
}

/// Returns for how long brunt stood still at least (what is beyond the drain is not counted), if most of what it did not send was due in that time.
fn standstill(run: &Evidence<'_>, unsent: u64) -> Option<Nanos> {
    let longest = run.stood_still()?;
    let due = run.per_s(run.totals.due) * longest.as_secs_f64();
    (due >= unsent as f64 / 2.0).then_some(longest)
}

#[cfg(test)]
mod tests {
    use brunt_record::{End, Second};

    use super::*;
    use crate::rules::tests::of_second;
    use crate::text::Lang;

    /// Returns what is said of a run in which brunt stood still from the third second of eight on, for `ms`.
    fn of_standstill(ms: u64, held_back: u64) -> String {
        let mut s = Second { due: 8_000, sent: 2_216, finished: 2_210, censored: 5_790, ..Second::default() };
        s.to_ns = 8_000_000_000;
        s.generator.resolution_ns = 20_000;
        s.latency.response.record_n(Nanos(2_000_000), 2_210);
        s.latency.loop_gap.record(Nanos::from_millis(ms));
        let latency = &mut s.latency;
        latency.service_at_least.record_n(Nanos::ZERO, 5_784 - held_back);
        latency.service_at_least.record_n(Nanos(5_000_000), 6);
        latency.wait_conn_at_least.record_n(Nanos::from_millis(ms), held_back);
        of_second(judge, s, End::Completed).map(|found| found.sentence(Lang::En)).unwrap_or_default()
    }

    #[test]
    fn what_stood_still_is_told_with_all_that_it_did_not_send() {
        let said = of_standstill(50_000, 10);
        assert!(
            said.contains("did not send 72.3 % of") && said.contains("it stood still for 50.0 s or longer"),
            "{said}"
        );
        assert!(!said.contains("-w"), "{said}");
        let waited = of_standstill(50_000, 2_000);
        assert!(
            waited.contains("did not send 47.3 % of"),
            "those that waited for the server are no matter of brunt: {waited}"
        );
        let overloaded = of_standstill(1_500, 10);
        assert!(overloaded.contains("more workers (-w)"), "most was due at other times: {overloaded}");
    }

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
