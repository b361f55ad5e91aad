//! L1: connects to a machine without recorded counters took as long as a retransmitted SYN does.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "L1",
    origin: CounterOrigin::Generator,
    stage: PathStage::Network,
    title: text("Connects taking 1, 3 or 7 seconds", "建连耗时 1、3 或 7 秒"),
    symptom: text(
        "connect times cluster at 1 s, 3 s, 7 s; the service's machine is not monitored",
        "建连耗时集中在 1、3、7 秒；没有监控服务所在机器",
    ),
    remedy: text(
        "check the counters on the service's machine: ListenOverflows (accept queue), TCPReqQFullDrop, conntrack drops, \
            or packet loss in between; `brunt probe` there adds them to a run",
        "查看服务所在机器的计数器：ListenOverflows（accept 队列）、TCPReqQFullDrop、conntrack 丢弃，或网络丢包；在该机器上运行 `brunt probe` 可把它们并入压测结果",
    ),
    experiment: text("with keep-alive (fewer connects) they should be gone", "使用长连接（减少建连）后，这一现象应消失"),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "connects were dropped in the network or by the service's kernel: {lost} needed a SYN retransmission",
    "建连请求在网络中或被服务端内核丢弃：{lost} 个需要 SYN 重传",
);
const EVIDENCE: Text = text(
    "{lost} of {count} connects took about 1, 3 or 7 s; the median of the others is {median}",
    "{count} 次建连中有 {lost} 次耗时约 1、3 或 7 秒，其余的中位数为 {median}",
);

/// Connect times with retransmitted SYNs: after 1 s, then 2 s, then 4 s (`TCP_TIMEOUT_INIT`), plus the round trip.
const AGAIN: [f64; 3] = [1.0, 3.0, 7.0];
const LATER: f64 = 0.15;
/// Tolerance below these times: they are recorded to one part in a hundred.
const EARLIER: f64 = 0.985;
/// Minimum number of such connects.
const LEAST: u64 = 3;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let connects: &DurationCounts = &case.run.connects;
    let again = AGAIN.iter().map(|at| connects.within(at * EARLIER, at + LATER));
    let lost = again.fold(0, u64::saturating_add);
    // If the counters of the service's kernel were recorded, they show the cause.
    let counted = case.counters.name_middles("listener.", "").next().is_some() || case.service_host.is_some();
    let median = connects.median();
    if counted || lost < LEAST || median > 0.3 {
        return None;
    }
    let facts = [
        ("lost", numbers::count(lost)),
        ("count", numbers::count(connects.count())),
        ("median", numbers::seconds(median)),
    ];
    let claim = LocalizedSentence::new(CLAIM, [("lost", numbers::count(lost))]);
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn connects_that_were_sent_again() {
        let connects = |slow: f64, n: u64| move |run: &mut LoadResults| run.connects = DurationCounts::new([(0.001, 500), (slow, n)]);
        assert_eq!(judged(&RULE, connects(1.02, 9), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, connects(1.02, 2), counted(&[])), None);
        assert_eq!(judged(&RULE, connects(0.8, 9), counted(&[])), None, "no time of the kernel's");
        let local = counted(&[("listener.127.0.0.1:80.queue", 0.0, 0.0)]);
        assert_eq!(judged(&RULE, connects(1.02, 9), local), None, "its counters say what it is");
    }
}
