//! L2: responses took 200 ms, the shortest retransmission timeout, longer than the others.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "L2",
    origin: CounterOrigin::Generator,
    stage: PathStage::Network,
    title: text("Responses 200 ms late", "响应延迟多出 200 毫秒"),
    symptom: text(
        "a second latency peak 200 ms after the first; the service's machine is not monitored",
        "延迟分布在主峰之后 200 毫秒处有第二个峰；没有监控服务所在机器",
    ),
    remedy: text(
        "monitor the service's machine too, with `brunt probe` (its RetransSegs cover the response direction); then \
            look for loss in between (link errors, a full buffer, a policer)",
        "用 `brunt probe` 同时监控服务所在机器（其 RetransSegs 反映响应方向）；再排查沿途丢包（链路错误、缓冲区满、限速）",
    ),
    experiment: text("from a machine next to the service they should be gone", "在紧邻服务的机器上压测时，这一现象应消失"),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "segments were lost in the network: {lost} responses took 200 ms longer than the others, the time of one \
        retransmission",
    "网络有丢包：{lost} 个响应比其他响应多耗时 200 毫秒，正好是一次重传的时间",
);
const EVIDENCE: Text = text(
    "{lost} responses between {from} and {to}, {around} others above {bulk}; median {median}",
    "{lost} 个响应耗时在 {from} 与 {to} 之间，其余高于 {bulk} 的有 {around} 个；中位数 {median}",
);

/// `TCP_RTO_MIN`, and the tolerance above it.
const AGAIN: f64 = 0.2;
const WIDE: f64 = 0.02;
/// Minimum number of such responses, and minimum ratio to the responses around them.
const LEAST: u64 = 5;
const PEAK: u64 = 5;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let times = &case.run.times;
    let median = times.median();
    let counted = case.counters.name_middles("listener.", "").next().is_some() || case.service_host.is_some();
    if counted || median > AGAIN / 4.0 {
        return None;
    }
    let (from, to, bulk) = (median + AGAIN * 0.98, median + AGAIN + WIDE, AGAIN / 2.0);
    let lost = times.within(from, to);
    let around = times.within(bulk, from).saturating_add(times.within(to, 2.0 * AGAIN));
    if lost < LEAST || lost < around.max(1).saturating_mul(PEAK) || lost.saturating_mul(4) > times.count() {
        return None;
    }
    let facts = [
        ("lost", numbers::count(lost)),
        ("around", numbers::count(around)),
        ("from", numbers::seconds(from)),
        ("to", numbers::seconds(to)),
        ("bulk", numbers::seconds(bulk)),
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
    fn responses_that_were_sent_again() {
        let times = |slow: &'static [(f64, u64)]| {
            move |run: &mut LoadResults| run.times = DurationCounts::new([(0.002, 5_000)].into_iter().chain(slow.iter().copied()))
        };
        assert_eq!(judged(&RULE, times(&[(0.203, 40)]), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, times(&[(0.203, 40), (0.15, 30), (0.3, 30)]), counted(&[])), None, "slow in any way");
        assert_eq!(judged(&RULE, times(&[(0.203, 5_000)]), counted(&[])), None, "half of its work is that slow");
        let local = counted(&[("listener.127.0.0.1:80.queue", 0.0, 0.0)]);
        assert_eq!(judged(&RULE, times(&[(0.203, 40)]), local), None, "its counters say what it is");
    }
}
