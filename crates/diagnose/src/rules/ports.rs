//! C5: all local ports towards the target were in use, mostly by connections in TIME_WAIT.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C5",
    origin: CounterOrigin::Generator,
    stage: PathStage::ClientKernel,
    title: text("Out of local ports", "本地端口耗尽"),
    symptom: text(
        "a connection per request, and after ports ÷ rate seconds connects fail with EADDRNOTAVAIL",
        "每个请求都新建连接，“端口数 ÷ 速率”秒之后建连开始报 EADDRNOTAVAIL",
    ),
    remedy: text(
        "use keep-alive first; then a wider net.ipv4.ip_local_port_range, several source addresses (--source), or \
            several ports on the target; net.ipv4.tcp_tw_reuse=1 on this machine",
        "先使用长连接；再扩大 net.ipv4.ip_local_port_range、使用多个源地址（--source）或目标的多个端口；在本机设置 net.ipv4.tcp_tw_reuse=1",
    ),
    experiment: text(
        "without --no-keepalive, or with a second --source, the failures should be gone",
        "去掉 --no-keepalive 或增加一个 --source 后，失败应消失",
    ),
    caution: Some(text(
        "net.ipv4.tcp_tw_recycle was removed in Linux 4.12; tcp_fin_timeout does not shorten TIME_WAIT (60 s, \
            fixed); lowering tcp_max_tw_buckets destroys connections; loopback hides the problem because it reuses \
            ports after a second",
        "net.ipv4.tcp_tw_recycle 自 Linux 4.12 起已移除；tcp_fin_timeout 不会缩短 TIME_WAIT（固定 60 秒）；调低 tcp_max_tw_buckets 会销毁连接；环回地址 1 秒后即复用端口，会掩盖问题",
    )),
    judge,
};

const CLAIM: Text = text(
    "this machine ran out of local ports for the target: {n} {n|request|requests} failed",
    "本机到目标的本地端口耗尽：{n} 个请求失败",
);
const EVIDENCE: Text = text("EADDRNOTAVAIL {n} times", "系统返回 EADDRNOTAVAIL {n} 次");
const TAKEN: Text = text(
    "; {range} ports in ip_local_port_range, up to {waiting} connections in TIME_WAIT",
    "；ip_local_port_range 有 {range} 个端口，最多 {waiting} 个连接处于 TIME_WAIT",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (failed, here) = (case.run.failed_by("no_ports"), &case.counters);
    if failed == 0 {
        return None;
    }
    let n = numbers::count(failed);
    let mut evidence = LocalizedSentence::new(EVIDENCE, [("n", n.clone())]);
    let range = here.last("setting.ip_local_port_range.high").zip(here.last("setting.ip_local_port_range.low"));
    if let (Some((high, low)), Some(waiting)) = (range, here.max("sockstat.TCP.tw")) {
        let shown = |value: f64| numbers::count(value.max(0.0) as u64);
        evidence = evidence.with_clause(TAKEN, [("range", shown(high - low + 1.0)), ("waiting", shown(waiting))]);
    }
    let claim = LocalizedSentence::new(CLAIM, [("n", n)]);
    Some(proved(claim, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn ports_that_are_gone_are_proved_by_the_system() {
        let failing = |kind: &str| vec![FailureCount { kind: kind.into(), phase: "connect".into(), count: 3 }];
        let range = [
            ("setting.ip_local_port_range.low", 32768.0, 32768.0),
            ("setting.ip_local_port_range.high", 33767.0, 33767.0),
            ("sockstat.TCP.tw", 0.0, 990.0),
        ];
        assert_eq!(judged(&RULE, |run| run.failures = failing("no_ports"), counted(&range)), Some("proved"));
        assert_eq!(judged(&RULE, |run| run.failures = failing("no_ports"), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, |run| run.failures = failing("refused"), counted(&range)), None);
    }
}
