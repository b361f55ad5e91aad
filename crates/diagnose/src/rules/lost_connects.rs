//! L1: connects that took as long as a retransmitted SYN does, to a machine without recorded counters.

use super::*;

pub(super) const RULE: Rule = Rule {
    rule: "L1",
    on: On::Generator,
    stage: Stage::Network,
    title: text("Connects taking 1, 3 or 7 seconds", "建连耗时 1、3 或 7 秒"),
    sign: text(
        "connect times cluster at 1 s, 3 s, 7 s; the service's machine is not monitored",
        "建连耗时集中在 1、3、7 秒；服务所在机器未被统计",
    ),
    remedy: text(
        "check the counters on the service's machine: ListenOverflows (accept queue), TCPReqQFullDrop, conntrack drops, \
            or packet loss in between; `brunt probe` there adds them to a run",
        "查看服务所在机器的计数：ListenOverflows（accept 队列）、TCPReqQFullDrop、conntrack 丢弃，或网络丢包；在该机运行 `brunt probe` 可并入本次压测",
    ),
    experiment: text("with keep-alive (fewer connects) they should be gone", "使用长连接（减少建连）后应消失"),
    beware: None,
    judge,
};

const CLAIM: Text = text(
    "connects were dropped in the network or by the service's kernel: {lost} needed a SYN retransmission",
    "建连请求在途中或被服务端内核丢弃：{lost} 个经历了 SYN 重传",
);
const EVIDENCE: Text = text(
    "{lost} of {count} connects took about 1, 3 or 7 s; the median of the others is {median}",
    "{count} 次建连中有 {lost} 次约 1、3 或 7 秒，其余中位数 {median}",
);

/// Connect times with retransmitted SYNs: after 1 s, then 2 s, then 4 s (`TCP_TIMEOUT_INIT`), plus the round trip.
const AGAIN: [f64; 3] = [1.0, 3.0, 7.0];
const LATER: f64 = 0.15;
/// Tolerance below: times are recorded to one part in a hundred.
const EARLIER: f64 = 0.985;
/// Minimum number of such connects.
const LEAST: u64 = 3;

fn judge(case: &Case) -> Option<Verdict> {
    let connects: &Times = &case.run.connects;
    let again = AGAIN.iter().map(|at| connects.within(at * EARLIER, at + LATER));
    let lost = again.fold(0, u64::saturating_add);
    // If the counters of the service's kernel were recorded, they show the cause.
    let counted = case.here.between("listener.", "").next().is_some() || case.elsewhere.is_some();
    let median = connects.median();
    if counted || lost < LEAST || median > 0.3 {
        return None;
    }
    let facts = [
        ("lost", show::count(lost)),
        ("count", show::count(connects.count())),
        ("median", show::seconds(median)),
    ];
    let claim = Said::new(CLAIM, [("lost", show::count(lost))]);
    Some(consistent(claim, Said::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn connects_that_were_sent_again() {
        let connects = |slow: f64, n: u64| move |run: &mut Run| run.connects = Times::of([(0.001, 500), (slow, n)]);
        assert_eq!(judged(&RULE, connects(1.02, 9), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, connects(1.02, 2), counted(&[])), None);
        assert_eq!(judged(&RULE, connects(0.8, 9), counted(&[])), None, "no time of the kernel's");
        let local = counted(&[("listener.127.0.0.1:80.queue", 0.0, 0.0)]);
        assert_eq!(judged(&RULE, connects(1.02, 9), local), None, "its counters say what it is");
    }
}
