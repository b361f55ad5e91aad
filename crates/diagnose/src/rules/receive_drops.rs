//! N7: packets were dropped between the driver and the sockets.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N7",
    origin: CounterOrigin::Either,
    stage: PathStage::Network,
    title: text("Received packets dropped", "接收丢包"),
    symptom: text("a ceiling in packets per second, with one core busy in softirq", "每秒数据包数达到上限，有一个核忙于软中断"),
    remedy: text(
        "spread the interface's queues over more cores (RSS, RPS, interrupt affinity); if only the first counter rises, raise net.core.netdev_max_backlog",
        "将网卡队列分散到更多核（RSS、RPS、中断亲和性）；若只有第一个计数上升，可调 net.core.netdev_max_backlog",
    ),
    experiment: text("at half the rate, both counters should stop rising", "速率减半后，这两个计数应不再上升"),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "this machine dropped received packets: its cores could not keep up",
    "本机丢弃了已收到的数据包：CPU 处理不过来",
);
const EVIDENCE: Text = text(
    "softnet_stat dropped +{dropped}, TcpExt TCPBacklogDrop +{backlog}",
    "softnet_stat 丢弃 +{dropped}，TcpExt TCPBacklogDrop +{backlog}",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let [dropped, backlog] =
        ["softnet.all.dropped", "TcpExt.TCPBacklogDrop"].map(|name| case.counters.increase(name).unwrap_or(0.0));
    if dropped + backlog <= 0.0 || !case.run.may_have_lost_segments() {
        return None;
    }
    let [dropped, backlog] = [dropped, backlog].map(whole);
    let evidence = LocalizedSentence::new(EVIDENCE, [("dropped", dropped), ("backlog", backlog)]);
    Some(proved(CLAIM, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    /// Gives a run the symptom.
    fn felt(run: &mut LoadResults) {
        run.service.longest = 0.25;
    }

    #[test]
    fn drops_and_not_squeezes() {
        let of = |dropped| counted(&[("softnet.all.dropped", 7.0, 7.0 + dropped), ("softnet.all.squeezed", 0.0, 99.0)]);
        assert_eq!(judged(&RULE, felt, of(12.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), of(12.0)), None, "somebody else's: nothing of ours shows it");
        assert_eq!(judged(&RULE, felt, of(0.0)), None);
    }
}
