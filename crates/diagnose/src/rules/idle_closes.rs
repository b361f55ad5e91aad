//! N10: the peer closed idle connections just as they were reused.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N10",
    origin: CounterOrigin::Generator,
    stage: PathStage::ServerKernel,
    title: text("Idle connections closed on reuse", "空闲连接被关闭"),
    symptom: text(
        "a few requests fail with closed or reset, only when connections sit idle between requests",
        "少量请求以 closed 或 reset 失败，且只在连接空闲过后出现",
    ),
    remedy: text(
        "let the client side close idle connections before the server side does: an idle timeout below the keep-alive \
            timeout of the server and of every proxy in between",
        "让客户端先于服务器关闭空闲连接：客户端的空闲超时应小于服务器以及沿途每个代理的 keep-alive 超时",
    ),
    experiment: text(
        "with --no-keepalive, or without pauses, these failures should be gone",
        "使用 --no-keepalive 或不停顿时，不应再有此类失败",
    ),
    caution: Some(text("retrying such requests is safe only if they are idempotent", "只有幂等请求才可安全重试")),
    judge,
};

const CLAIM: Text = text(
    "idle connections were closed just as they were reused: {failed} requests failed on connections that had worked \
        before",
    "空闲连接在再次使用时被对端关闭：{failed} 个请求在已用过的连接上失败",
);
const EVIDENCE: Text = text(
    "closed or reset before the first byte on reused connections: {failed} of {scheduled} requests",
    "{scheduled} 个请求中有 {failed} 个在复用的连接上尚未收到首字节就以 closed 或 reset 失败",
);

/// Maximum share of the requests that fail in this way; above it, the cause is not a race but a service that goes down.
const RACE: f64 = 0.05;
/// Minimum number of failures, and the share of them at one moment that indicates a single event (idle connections are
/// closed one by one).
const SOME: u64 = 3;
const AT_ONCE: f64 = 0.9;
/// Length in seconds below which a whole run counts as one moment.
const MOMENT: f64 = 4.0;

/// Minimum mean time in seconds for which connections rest between requests: no timeout of idle ones is shorter.
const IDLE_S: f64 = 0.5;

/// Returns the mean time for which connections rest between two requests, in seconds.
fn idle_s(run: &LoadResults) -> f64 {
    let connections = if run.is_open { run.opened as f64 } else { f64::from(run.users) };
    (connections / run.ended_per_s.max(f64::MIN_POSITIVE) - run.service.mean).max(0.0)
}

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let rested = run.has_pauses || (run.is_open && !run.is_overloaded);
    let failed = run.closed_when_reused;
    // A service that ends or stalls also closes its connections.
    let away = super::gone::refused(case) > 0 || run.outage.is_some();
    let at_once = failed >= SOME && run.window_s > MOMENT && run.closed_at_once as f64 >= AT_ONCE * failed as f64;
    if !rested || idle_s(run) < IDLE_S || away || at_once || failed == 0 || failed as f64 > RACE * run.scheduled as f64 {
        return None;
    }
    let failed = numbers::count(failed);
    let facts = [("failed", failed.clone()), ("scheduled", numbers::count(run.scheduled))];
    let claim = LocalizedSentence::new(CLAIM, [("failed", failed)]);
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn connections_that_rested() {
        let failed = |n: u64, pauses: bool| move |run: &mut LoadResults| (run.closed_when_reused, run.has_pauses) = (n, pauses);
        assert_eq!(judged(&RULE, failed(7, true), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, failed(7, false), counted(&[])), None, "they never rested");
        assert_eq!(judged(&RULE, failed(4_000, true), counted(&[])), None, "the service went away");
        assert_eq!(judged(&RULE, failed(0, true), counted(&[])), None);
        let busy = |run: &mut LoadResults| {
            failed(7, true)(run);
            run.ended_per_s = 500.0;
        };
        assert_eq!(judged(&RULE, busy, counted(&[])), None, "50 users, each after 50 ms: no timer is that short");
    }

    #[test]
    fn a_service_that_goes_away_closes_all_it_has_at_once() {
        let dies = |change: fn(&mut LoadResults)| {
            let also = move |run: &mut LoadResults| {
                (run.closed_when_reused, run.has_pauses) = (4, true);
                change(run);
            };
            judged(&RULE, also, counted(&[]))
        };
        assert_eq!(dies(|_| ()), Some("consistent"));
        let refused = |run: &mut LoadResults| {
            run.failures = vec![FailureCount { kind: "refused".into(), phase: "connect".into(), count: 1 }];
        };
        assert_eq!(dies(refused), None, "nobody listened afterwards");
        assert_eq!(dies(|run| run.outage = Some(Outage::default())), None, "nothing came for a while");
        assert_eq!(dies(|run| run.closed_at_once = 4), None, "a restart behind a socket that stays");
        assert_eq!(dies(|run| run.closed_at_once = 2), Some("consistent"));
        assert_eq!(dies(|run| (run.closed_at_once, run.window_s) = (4, 3.0)), Some("consistent"), "too short to tell");
    }
}
