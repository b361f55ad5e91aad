//! Rules for users who sent fewer requests than the load implies: they waited for an answer that never came, had no
//! usable connection, were woken late, or stopped sending.

use brunt_record::End;

use super::Evidence;
use crate::failed_addresses;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::ranked::RankedLatency;
use crate::text::{Text, text};

const STUCK: Text = text(
    "users were stuck: {share} of their waiting time went to requests that never completed, and they sent nothing \
        else meanwhile",
    "有用户卡住：等待时间的 {share} 花在始终没有完成的请求上，这些用户在此期间没有发送其他请求",
);
const KEPT_OUT: Text = text(
    "users could not connect {share} of the time (refused, or dropped before a response), so the load was lower than \
        requested",
    "用户有 {share} 的时间连不上服务（被拒绝，或在响应前断开），实际负载低于设定值",
);

const KEPT_OUT_BY_ONE: Text = text(
    "; users could not connect {share} of the time, so the load was lower than requested: \
        start the server there, take the address out of the name, or choose the others (--connect-to)",
    "；用户有 {share} 的时间没有可用的连接，实际负载低于设定值：请在该地址启动服务，或从域名中移除该地址，或只压其他地址（--connect-to）",
);

const WOKEN_LATE: Text = text(
    "brunt woke users late from their pauses, by {share} of their time, and their requests left {late} late on average, so the load was lower than requested",
    "brunt 没有及时唤醒停顿中的用户：延误占用户时间的 {share}，其请求平均晚发 {late}，实际负载低于设定值",
);
const LEFT: Text = text(
    "{n} {n|user|users} left for good because a step failed (`on-failure: stop-user`), so the load was lower from then on",
    "有 {n} 个用户因步骤失败而不再运行（`on-failure: stop-user`），此后的负载低于设定值",
);
const ENDLESS: Text = text(
    "{n} {n|user was|users were} in a loop of the flow that sends nothing and never ends",
    "有 {n} 个用户陷入了流程中不发送任何请求且不会结束的循环",
);

/// Share of the users' time that is negligible, and share above which the figures are invalid.
const OK: f64 = 0.01;
const FAIL: f64 = 0.05;

fn grade(share: f64) -> Option<Grade> {
    (share > OK).then_some(if share > FAIL { Grade::Fail } else { Grade::Warn })
}

fn found(code: &'static str, text: Text, share: f64) -> Option<Finding> {
    grade(share).map(|grade| Finding::new(code, grade, text, [("share", numbers::share(share))]))
}

/// Finds stuck users. A user that waits for an answer that never comes sends no other requests, so its requests are few
/// among those of the others, however long it waits. Requests cut off by an interruption do not count as stuck.
pub(super) fn stuck(run: &Evidence<'_>) -> Option<Finding> {
    let totals = &run.totals;
    if run.open || totals.in_flight_ns == 0 || run.end == End::Interrupted {
        return None;
    }
    let share = totals.unanswered_ns as f64 / totals.in_flight_ns as f64;
    found("users_stuck", STUCK, share.min(1.0))
}

/// Finds users that were refused. They pause between attempts, so their few attempts are hardly visible among the
/// requests of the others.
pub(super) fn refused(run: &Evidence<'_>) -> Option<Finding> {
    if !run.has_latency() {
        return None;
    }
    let out = run.totals.kept_out_ns as f64;
    let share = out / (out + run.totals.in_flight_ns as f64);
    let Some(failed) = failed_addresses::worst_name(run.sums) else {
        return found("users_kept_out", KEPT_OUT, share);
    };
    let (text, facts) = failed.sentence();
    let found = |grade| Finding::new("address_fails", grade, text, facts);
    grade(share).map(|grade| found(grade).and(KEPT_OUT_BY_ONE, [("share", numbers::share(share))]))
}

/// Finds users of flows that paused longer than requested and thus sent less, in records without bands: elsewhere the
/// lateness has a size, and widens throughput and the durations of iterations (`docs/measurement.md` 2.5).
pub(super) fn woken_late(run: &Evidence<'_>) -> Option<Finding> {
    let totals = &run.totals;
    if run.open || totals.has_bands {
        return None;
    }
    let share = totals.woken_late_share();
    let late = RankedLatency::finished_only(&totals.latency.gen_late).mean();
    let facts = [("share", numbers::share(share.min(1.0))), ("late", late.show())];
    grade(share).map(|grade| Finding::new("generator_woke_late", grade, WOKEN_LATE, facts))
}

/// Finds users ended by a failed step: they send no more requests and are not replaced.
pub(super) fn ended_by_failure(run: &Evidence<'_>) -> Option<Finding> {
    let left = run.totals.user_stops;
    let users = f64::from(run.totals.users).max(left as f64);
    (left as f64 > OK * users).then(|| Finding::new("users_left", Grade::Warn, LEFT, [("n", numbers::count(left))]))
}

/// Finds users in endless loops that send no requests.
pub(super) fn endless(run: &Evidence<'_>) -> Option<Finding> {
    let stuck = run.totals.endless;
    (stuck > 0).then(|| Finding::new("flow_endless", Grade::Fail, ENDLESS, [("n", numbers::count(stuck))]))
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_record::Second;

    use super::ended_by_failure as left_of;
    use super::*;
    use crate::rules::tests::of_second;
    use crate::text::Lang;

    #[test]
    fn users_who_are_refused_cost_trust_though_they_hardly_ask() {
        let second = |kept_out_ns| Second {
            kept_out_ns,
            in_flight_ns: 11_000_000_000,
            finished: 1,
            due: 1,
            ..Second::default()
        };
        let judged = |ns| of_second(refused, second(ns), End::Completed).map(|found| found.grade);
        let grades = [0, 50_000_000, 300_000_000, 9_000_000_000].map(judged);
        assert_eq!(grades, [None, None, Some(Grade::Warn), Some(Grade::Fail)]);
    }

    #[test]
    fn users_who_are_kept_out_by_one_address_of_two_are_told_which() {
        let failed = |address: &str, kind: &str| brunt_record::ConnectionLoss {
            kind: kind.into(),
            phase: "connect".into(),
            detail: address.into(),
            cause: Some(brunt_cause::connecting::one_address(address, "2", "m.test")),
            count: 9,
            ..brunt_record::ConnectionLoss::default()
        };
        let second = |failed_addresses| Second {
            kept_out_ns: 9_000_000_000,
            in_flight_ns: 11_000_000_000,
            finished: 1,
            due: 1,
            part: brunt_record::RunPart::Window,
            failed_addresses,
            ..Second::default()
        };
        let said = |failed| {
            let found = of_second(refused, second(failed), End::Completed).expect("a finding");
            (found.code, found.sentence(Lang::En))
        };
        let (code, one) = said(vec![failed("127.0.0.9:80", "refused")]);
        assert!(
            code == "address_fails" && one.starts_with("1 of the 2 addresses of m.test refuses: 127.0.0.9; users"),
            "{one}"
        );
        let (_, late) = said(vec![failed("127.0.0.9:80", "timeout")]);
        assert!(late.starts_with("1 of the 2 addresses of m.test cannot be connected to: 127.0.0.9"), "{late}");
        let both = said(vec![failed("127.0.0.9:80", "refused"), failed("127.0.0.8:80", "refused")]);
        assert_eq!(both.0, "users_kept_out", "no single address is to blame");
        assert_eq!(said(Vec::new()).0, "users_kept_out");
    }

    #[test]
    fn users_who_were_woken_late_cost_trust_by_what_they_lost_of_their_time() {
        // A second of a hundred users who send half as many steps.
        let second = |late: u64| {
            let woken_late_ns = 50 * late;
            let mut s = Second { users: 100, woken_late_ns, finished: 50, due: 50, ..Second::default() };
            (s.part, s.to_ns) = (brunt_record::RunPart::Window, 1_000_000_000);
            s.latency.service.record_n(Nanos::from_millis(2), 50);
            s.latency.gen_late.record_n(Nanos(late), 50);
            s
        };
        let judged = |late| of_second(woken_late, second(late), End::Completed);
        let mut banded = second(200_000_000);
        banded.generator.resolution_ns = 20_000;
        assert_eq!(of_second(woken_late, banded, End::Completed), None, "the band of throughput tells it");
        // A millisecond is healthy; 30 ms are 1.5 % of the users' time, 200 ms are 10 %.
        let grades = [1_000_000, 10_000_000, 30_000_000, 200_000_000].map(|late| judged(late).map(|found| found.grade));
        assert_eq!(grades, [None, None, Some(Grade::Warn), Some(Grade::Fail)]);
        let said = judged(30_000_000).expect("a finding").sentence(Lang::En);
        assert!(said.contains("1.5 % of their time") && said.contains("left 30.0 ms late"), "{said}");
    }

    #[test]
    fn users_who_left_or_go_round_and_round_are_told_of() {
        let second = |users, user_stops, endless| Second { users, user_stops, endless, ..Second::default() };
        let judged = |judge, second| of_second(judge, second, End::Completed).map(|found| found.sentence(Lang::En));
        assert_eq!([0, 1].map(|left| judged(left_of, second(200, left, 0))), [None, None]);
        let said = judged(left_of, second(0, 1, 0)).unwrap_or_default();
        assert!(said.starts_with("1 user left for good"), "{said}");
        let said = judged(endless, second(9, 0, 2)).unwrap_or_default();
        assert!(said.starts_with("2 users were in a loop"), "{said}");
        assert_eq!(judged(endless, second(9, 0, 0)), None);
    }
}
