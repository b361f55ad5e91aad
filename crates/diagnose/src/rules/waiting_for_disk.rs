//! S9: the service's machine waited for its disks.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S9",
    origin: CounterOrigin::Service,
    stage: PathStage::Dependency,
    title: text("Waiting for disks", "等待磁盘"),
    symptom: text(
        "latency grows with writes while the CPU is idle; a log line per request is a write too",
        "CPU 空闲，延迟却随写入量上升；每个请求写一行日志也算写入",
    ),
    remedy: text(
        "buffer per-request writes (access_log … buffer=64k flush=1s), group commits, or use a faster disk",
        "缓冲每个请求的写入（access_log … buffer=64k flush=1s）、合并提交，或换用更快的磁盘",
    ),
    experiment: text("with logging turned off for one run, throughput should rise", "关闭日志再测一次，吞吐量应上升"),
    caution: Some(text(
        "access_log off hides the cost instead of reducing it: buffer the log",
        "关闭 access_log 只是掩盖开销：应改为缓冲日志",
    )),
    judge,
};

const CLAIM: Text = text(
    "tasks waited for the disk {share} of the time, while the CPU had headroom",
    "{share} 的时间里有任务在等磁盘，而 CPU 仍有余量",
);
const EVIDENCE: Text = text(
    "/proc/pressure/io: some +{waited} s in {span} s; {busy} of {cores} cores busy",
    "/proc/pressure/io：{span} 秒内 some +{waited} 秒；{cores} 个核中 {busy} 个繁忙",
);

/// Minimum share of time spent waiting for disks at which they may be the limit.
const SHARE: f64 = 0.25;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    let waited = here.increase("psi.io.some")? / 1e6;
    let (busy, cores) = here.busy_cores()?;
    let share = waited / here.span_s();
    // If the service does not run on this machine, it is another process that waits for the disk.
    let service = here.per_s("service.all.cpu")?;
    if !(share > SHARE && busy < 0.8 * cores && service > 0.0 && run.is_saturated()) {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::share(share))]);
    let facts = [
        ("waited", format!("{waited:.1}")),
        ("span", format!("{:.0}", here.span_s())),
        ("busy", format!("{busy:.2}")),
        ("cores", format!("{cores:.0}")),
    ];
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, judged};

    #[test]
    fn pressure_of_disks_beside_an_idle_cpu() {
        let with =
            |waited: f64, busy: f64| cores(busy, &[("psi.io.some", 0.0, waited * 1e6), ("service.all.cpu", 0.0, 1e9)]);
        assert_eq!(judged(&RULE, |_| (), with(6.0, 0.5)), Some("consistent"));
        assert_eq!(judged(&RULE, |_| (), with(0.5, 0.5)), None);
        assert_eq!(judged(&RULE, |_| (), with(6.0, 2.0)), None, "the CPU is full");
    }
}
