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
const EVIDENCE: Text = text(
    "steal in /proc/stat: +{stolen} s in {span} s; with it, {busy} of {cores} cores were busy, most of them with this run",
    "/proc/stat 中的 steal：{span} 秒内 +{stolen} 秒；计入后 {cores} 个核中有 {busy} 个繁忙，且大部分用于本次压测",
);

/// Share of stolen CPU time above which results are affected (V7).
const SHARE: f64 = 0.03;
/// Share of the cores that were busy or stolen above which none was left for whoever waited for one.
const FULL: f64 = 0.9;
/// Minimum share of the CPU time that the run itself used, of what was not stolen; below it, others asked for the time.
const OWN: f64 = 0.5;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    // Stolen time counts as busy: a core asked for it.
    let (busy, cores) = here.busy_cores()?;
    let stolen = here.per_s("cpu.all.steal")? / 1e9;
    let own = run.generator_cores + here.per_s("service.all.cpu").unwrap_or(0.0) / 1e9;
    // A thread that waits for stolen time shows as running, not as waiting. Only if no core was idle, and the run itself
    // used most of what was given, did its threads go without.
    let took_it_from_us = busy >= FULL * cores && own >= OWN * (busy - stolen);
    if !(stolen > SHARE * cores && took_it_from_us && run.is_saturated()) {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::share(stolen / cores))]);
    let facts = [
        ("stolen", format!("{:.1}", stolen * here.span_s())),
        ("span", format!("{:.0}", here.span_s())),
        ("busy", format!("{busy:.2}")),
        ("cores", format!("{cores:.0}")),
    ];
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, judged};

    /// Returns counters of two cores: stolen, used by the service, used by others.
    fn of(stolen: f64, service: f64, others: f64) -> crate::CounterSummary {
        let steal = ("cpu.all.steal", 0.0, stolen * 1e10);
        let idle = ("cpu.all.idle", 0.0, (2.0 - stolen - service - others) * 1e10);
        cores(service + others, &[steal, idle, ("service.all.cpu", 0.0, service * 1e10)])
    }

    #[test]
    fn stolen_time_is_a_limit_where_the_run_asked_for_it() {
        assert_eq!(judged(&RULE, |_| (), of(0.2, 1.75, 0.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), of(0.02, 1.9, 0.0)), None, "a little");
        assert_eq!(judged(&RULE, |_| (), of(0.2, 0.3, 0.0)), None, "a lock, and a core idle");
        assert_eq!(judged(&RULE, |_| (), of(0.2, 0.2, 1.5)), None, "others asked for it");
        assert_eq!(judged(&RULE, |run| run.has_pauses = true, of(0.2, 1.75, 0.0)), None, "nothing was at its limit");
        assert_eq!(judged(&RULE, |_| (), cores(2.0, &[])), None, "a full machine is no stolen one");
        let mut short = crate::CounterSummary::default();
        for at in [0, 15] {
            let ns = f64::from(at) * 1e6;
            let values = ["user", "system", "irq", "softirq", "idle", "iowait"].map(|part| format!("cpu.all.{part}"));
            let values = values.iter().map(|name| (name.as_str(), 0.0));
            let others = [("cpu.all.steal", ns), ("cpu.count", 2.0), ("service.all.cpu", ns)];
            short.add_reading(i64::from(at) * 1_000_000, values.chain(others));
        }
        assert_eq!(judged(&RULE, |_| (), short), None, "a tick in 15 ms is no share");
    }
}
