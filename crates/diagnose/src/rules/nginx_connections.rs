//! P1: nginx accepted connections and closed them at once because its workers had reached their limit.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P1",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("nginx out of connections", "nginx 连接数已满"),
    symptom: text(
        "above a round number of users, connections are reset or responses empty; needs --watch-log on its error \
            log, or --watch nginx=URL",
        "用户数超过某个整数后连接被重置或响应为空；需要用 --watch-log 指定其错误日志，或 --watch nginx=URL",
    ),
    remedy: text(
        "raise worker_connections (512 by default); upstream connections count too, so a proxy needs two per client; \
            raise worker_rlimit_nofile with it",
        "提高 worker_connections（默认 512）；到上游的连接也计算在内，代理时每个客户端需要两个；同时提高 worker_rlimit_nofile",
    ),
    experiment: text(
        "with fewer users than worker_connections × workers, accepts and handled should stay equal",
        "用户数少于 worker_connections × 工作进程数时，accepts 与 handled 应保持相等",
    ),
    caution: Some(text(
        "the error log says `worker_connections are not enough`; running out of descriptors looks the same from \
            outside",
        "错误日志会提示 worker_connections are not enough；文件描述符耗尽时，从外部看现象相同",
    )),
    judge,
};

const CLAIM: Text = text(
    "nginx closed {dropped} connections right after accepting them: its workers were at their connection limit",
    "nginx 接受后立即关闭了 {dropped} 个连接：其工作进程的连接数已达上限",
);
const REUSED: Text = text(
    "nginx's workers were at their connection limit: connections were closed to make room, or refused",
    "nginx 工作进程的连接数已达上限：有连接被关闭以腾出名额，或被拒绝",
);
const EVIDENCE: Text = text(
    "stub_status: {accepts} connections accepted, {handled} handled; up to {active} active",
    "stub_status：接受 {accepts} 个连接，处理 {handled} 个；活动连接最多 {active} 个",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    // nginx also closes idle keep-alive connections to free slots; the log reports this once a second (ngx_connection.c,
    // `ngx_drain_connections`), but the status page does not count it.
    let logged = || watched_log::found_at_times(case, REUSED, "worker_connections");
    closed(case).or_else(logged)
}

/// Returns a verdict from the status page, which counts connections that were accepted but not handled.
fn closed(case: &Case) -> Option<RuleVerdict> {
    case.reported_by("nginx.").find_map(|nginx| {
        let (accepts, handled) = (nginx.increase("nginx.accepts")?, nginx.increase("nginx.handled")?);
        let dropped = accepts - handled;
        if dropped <= 0.0 || !watched_log::explains(&case.run, dropped) {
            return None;
        }
        let active = nginx.max("nginx.active").unwrap_or(0.0);
        let facts = [("accepts", whole(accepts)), ("handled", whole(handled)), ("active", whole(active))];
        Some(proved(LocalizedSentence::new(CLAIM, [("dropped", whole(dropped))]), LocalizedSentence::new(EVIDENCE, facts)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    fn nginx(accepts: f64, handled: f64) -> CounterSummary {
        counted(&[
            ("nginx.accepts", 9.0, 9.0 + accepts),
            ("nginx.handled", 9.0, 9.0 + handled),
            ("nginx.active", 1.0, 63.0),
        ])
    }

    #[test]
    fn connections_that_were_closed_at_once() {
        let failed = |run: &mut crate::LoadResults| {
            run.failures = vec![FailureCount { count: 300, ..FailureCount::default() }];
        };
        assert_eq!(judged_told(&RULE, failed, nginx(66.0, 64.0)), None, "two cannot be the cause of 300 failures");
        assert_eq!(judged_told(&RULE, failed, nginx(200.0, 64.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, failed, nginx(200.0, 200.0)), None);
        assert_eq!(judged_told(&RULE, |_| (), nginx(200.0, 64.0)), None, "those of others");
        watched_log::assert_finds_in_crowd(&RULE, "worker_connections", Some("proved"));
    }
}
