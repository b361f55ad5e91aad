//! P4: the proxy's clients disconnected before it had responded.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P4",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("499: the client disconnected first", "499：客户端先断开"),
    symptom: text(
        "status 499 in nginx's log; needs --watch-log on its access log",
        "nginx 日志中出现 499；需要用 --watch-log 指定其访问日志",
    ),
    remedy: text(
        "find out what the service behind the proxy is waiting for ($upstream_response_time in the log); \
            proxy_ignore_client_abort only hides the problem",
        "查明后端在等待什么（日志中的 $upstream_response_time）；proxy_ignore_client_abort 只会掩盖问题",
    ),
    experiment: text(
        "with a longer -t the 499s should be gone, and those responses take as long as the service does",
        "加大 -t 后 499 应消失，这些请求的响应时间就是后端的实际耗时",
    ),
    caution: Some(text(
        "proxy_ignore_client_abort on hides the 499s and keeps the slow requests running",
        "proxy_ignore_client_abort on 只是隐藏 499，慢请求仍在执行",
    )),
    judge,
};

const OURS: Text = text(
    "the proxy's 499s are brunt's own timeouts: {lines} log lines, {timeouts} timed-out requests; the service \
        behind the proxy is too slow",
    "代理的 499 来自 brunt 自身的超时：日志中有 {lines} 行，{timeouts} 个请求超时；代理的后端服务太慢",
);
const OTHERS: Text = text(
    "something between brunt and the proxy gave up: its log has {lines} requests with 499, and {timeouts} requests \
        of brunt timed out",
    "brunt 与代理之间有设备提前断开了连接：日志中有 {lines} 个 499，而 brunt 有 {timeouts} 个请求超时",
);
const EVIDENCE: Text = text("access log: {lines} lines with status 499", "访问日志：{lines} 行的状态码为 499");
const BETWEEN: Text =
    text("look for a load balancer or firewall in between, and its timeout", "检查两者之间的负载均衡或防火墙，以及它们的超时设置");

/// Maximum difference, as a share, between counts of the same requests: log and run end at different times.
const SAME: f64 = 0.2;

fn judge(case: &Case) -> Option<RuleVerdict> {
    // Requests without a response at the end of the run are also aborted.
    let timeouts = case.run.failed_by("timeout").saturating_add(case.run.unfinished) as f64;
    let lines = case.reported_by("log.").find_map(|log| log.increase("log.client_closed")).filter(|lines| *lines > 0.0)?;
    let ours = (lines - timeouts).abs() <= SAME * lines.max(timeouts);
    let (text, remedy, stage) = if ours { (OURS, RULE.remedy, PathStage::Service) } else { (OTHERS, BETWEEN, PathStage::Network) };
    let claim = LocalizedSentence::new(text, [("lines", whole(lines)), ("timeouts", whole(timeouts))]);
    let evidence = LocalizedSentence::new(EVIDENCE, [("lines", whole(lines))]);
    let proof = if ours { Proof::Proved } else { Proof::Consistent };
    (ours || lines > timeouts)
        .then(|| RuleVerdict::new(proof, claim, evidence).at(stage).remedy(remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    #[test]
    fn whose_timeouts_they_are() {
        let timed_out = |count: u64| {
            move |run: &mut LoadResults| {
                run.failures = vec![FailureCount { kind: "timeout".into(), phase: "first_byte".into(), count }];
            }
        };
        let log = |lines: f64| counted(&[("log.lines", 0.0, 999.0), ("log.client_closed", 3.0, 3.0 + lines)]);
        assert_eq!(judged_told(&RULE, timed_out(100), log(95.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, timed_out(0), log(95.0)), Some("consistent"), "something between");
        assert_eq!(judged_told(&RULE, timed_out(100), log(0.0)), None);
        assert_eq!(judged_told(&RULE, timed_out(1000), log(9.0)), None, "most of ours never came to the proxy");
    }
}
