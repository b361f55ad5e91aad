//! C1: the load generator itself was at its limit; throughput is a lower bound, and nothing beyond it can be judged.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C1",
    origin: CounterOrigin::Generator,
    stage: PathStage::Generator,
    title: text("Load generator at its limit", "发压端是瓶颈"),
    symptom: text(
        "throughput stops growing while the service is not busy; responses wait to be read",
        "吞吐量不再增长，而服务空闲；响应在排队等待读取",
    ),
    remedy: text(
        "give it more workers (-w), dedicated cores or more machines; fewer response checks also cost less",
        "增加工作线程（-w）、分配独占的核或增加机器；减少对响应的检查也能降低开销",
    ),
    experiment: text(
        "at half the load, latency should fall but throughput should not: if throughput halves too, the service had \
            headroom",
        "负载减半后延迟应下降而吞吐量不变；若吞吐量也减半，则服务仍有余量",
    ),
    caution: None,
    judge,
};

const FULL: Text = text(
    "the load generator was the limit: its busiest worker used {share} of a core",
    "瓶颈在发压端：最忙的工作线程占用一个核的 {share}",
);
const DISTURBED: Text = text(
    "the load generator was disturbed, so its results do not show what the service can do",
    "发压端受到干扰，结果不能反映服务的能力",
);
const CPU: Text = text("CPU time of its threads: {cores} cores", "发压端线程的 CPU 时间：{cores} 个核");
const STARVED: Text = text("its threads waited for a CPU core (see Trust)", "其线程在等待 CPU 核（见可信度）");
const THROTTLED: Text = text("its cgroup used up its CPU quota (see Trust)", "其 cgroup 的 CPU 配额已用完（见可信度）");
const ABSENT: Text = text(
    "its threads did not read their sockets for a while (see Trust)",
    "其线程有一段时间没有读取套接字（见可信度）",
);
const LATE: Text = text("it sent requests late (see Trust)", "发送请求过晚（见可信度）");
const APART: Text = text(
    "give it dedicated cores (taskset) or its own machine, and stop everything else there",
    "用 taskset 为它分配独占的核，或换到独立的机器，并停掉其他程序",
);
const QUOTA: Text = text("raise the CPU quota of its cgroup", "提高其 cgroup 的 CPU 配额");
const AGAIN: Text =
    text("the same run on a quiet machine should be trusted", "在空闲的机器上重跑同样的压测，结果应为可信");

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let (evidence, remedy) = match run.generator_doubt? {
        GeneratorDoubt::Busy => {
            let claim = LocalizedSentence::new(FULL, [("share", numbers::share(run.busiest_worker.min(1.0)))]);
            let evidence = LocalizedSentence::new(CPU, [("cores", format!("{:.2}", run.generator_cores))]);
            return Some(proved(claim, evidence));
        }
        GeneratorDoubt::Starved => (STARVED, APART),
        GeneratorDoubt::Throttled => (THROTTLED, QUOTA),
        GeneratorDoubt::Absent => (ABSENT, APART),
        GeneratorDoubt::Late => (LATE, APART),
    };
    Some(proved(DISTURBED, evidence).remedy(remedy).experiment(AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn a_full_worker_is_the_limit_and_a_well_one_is_not() {
        let found = |doubt| judged(&RULE, |run| run.generator_doubt = doubt, counted(&[]));
        assert_eq!(found(Some(GeneratorDoubt::Busy)), Some("proved"));
        use GeneratorDoubt::{Absent, Late, Starved, Throttled};
        for doubt in [Starved, Throttled, Absent, Late] {
            assert_eq!(found(Some(doubt)), Some("proved"));
        }
        assert_eq!(found(None), None);
    }
}
