//! C3: the hypervisor gave the cores of this machine to other virtual machines.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C3",
    origin: CounterOrigin::Either,
    stage: PathStage::Generator,
    title: text("Stolen CPU time", "CPU 时间被抢占（steal）"),
    symptom: text(
        "on virtual machines, latency jitters at low CPU usage and varies from hour to hour",
        "虚拟机的 CPU 使用率不高，延迟却有抖动，且随时段变化",
    ),
    remedy: text("use a host that is not overcommitted, or dedicated cores", "换用未超卖的主机或独占的核"),
    experiment: text(
        "at another time of day, or on another host, the same run should give different results",
        "换个时间或换台主机，同样的压测应得到不同的结果",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the hypervisor took {share} of this machine's CPU time for other machines",
    "虚拟化平台把本机 {share} 的 CPU 时间给了其他虚拟机",
);
const EVIDENCE: Text =
    text("steal in /proc/stat: +{stolen} s in {span} s", "/proc/stat 中的 steal：{span} 秒内 +{stolen} 秒");

/// Share of stolen CPU time above which results are affected (V7).
const SHARE: f64 = 0.03;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (stolen, cores) = (case.counters.increase("cpu.all.steal")? / 1e9, case.counters.last("cpu.count")?);
    let span = case.counters.span_s();
    let share = stolen / (span * cores);
    if !(share > SHARE && case.run.is_saturated()) {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::share(share))]);
    let facts = [("stolen", format!("{stolen:.1}")), ("span", format!("{span:.0}"))];
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, counted, judged};

    #[test]
    fn stolen_time_is_told() {
        let steal = |ns: f64| counted(&[("cpu.all.steal", 0.0, ns), ("cpu.count", 2.0, 2.0)]);
        assert_eq!(judged(&RULE, |_| (), steal(2e9)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), steal(1e8)), None);
        assert_eq!(judged(&RULE, |run| run.has_pauses = true, steal(2e9)), None, "nothing was at its limit");
        assert_eq!(judged(&RULE, |_| (), cores(2.0, &[])), None, "a full machine is no stolen one");
    }
}
