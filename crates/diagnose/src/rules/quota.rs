//! S5: the CPU quota of the service's cgroup was used up.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S5",
    origin: CounterOrigin::Service,
    stage: PathStage::ServerKernel,
    title: text("A CPU quota", "CPU 配额"),
    symptom: text("latency in steps of 100 ms while the machine has idle cores", "机器仍有空闲的核，延迟却以 100 毫秒为台阶上升"),
    remedy: text(
        "raise or remove the CPU limit, or give the service no more threads than the quota has cores",
        "提高或取消 CPU 限额，或让服务的线程数不超过配额的核数",
    ),
    experiment: text(
        "without the limit, or at half the load, nr_throttled should stop rising",
        "取消限额或负载减半后，nr_throttled 应不再上升",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service was throttled by its CPU quota in {share} of the periods: latency rises in steps of up to 100 ms",
    "服务在 {share} 的周期内受到 CPU 配额限制：延迟出现最高 100 毫秒的台阶",
);
const EVIDENCE: Text = text(
    "cgroup cpu.stat: nr_throttled +{throttled} of nr_periods +{periods}",
    "cgroup cpu.stat：nr_throttled +{throttled}，nr_periods +{periods}",
);

/// Share of throttled periods above which latency is affected.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (throttled, periods) = (case.counters.increase("service.cgroup.throttled")?, case.counters.increase("service.cgroup.periods")?);
    if periods <= 0.0 || throttled <= SHARE * periods {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::percent(throttled as u64, periods as u64))]);
    let [throttled, periods] = [throttled, periods].map(whole);
    let evidence = LocalizedSentence::new(EVIDENCE, [("throttled", throttled), ("periods", periods)]);
    Some(proved(claim, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn a_quota_that_is_used_up() {
        let of = |n| counted(&[("service.cgroup.throttled", 0.0, n), ("service.cgroup.periods", 0.0, 100.0)]);
        assert_eq!(judged(&RULE, |_| (), of(60.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), of(1.0)), None);
    }
}
