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
        "if its workers were busy: more workers (-w), more machines, or fewer response checks; if others disturbed it: \
            dedicated cores, or an idle machine",
        "若工作线程已占满：增加工作线程（-w）或机器，或减少对响应的检查；若受其他程序干扰：分配独占的核，或换用空闲的机器",
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
    "发压端受到干扰，结果不能反映服务的真实性能",
);
const WIDENED: Text = text(
    "the load generator was disturbed: without that, {quantile} might have been {least} instead of {most}",
    "发压端受到干扰：若无干扰，{quantile} 可能是 {least} 而非 {most}",
);
const WIDENED_TOO: Text = text(", {quantile} {least} instead of {most}", "，{quantile} 可能是 {least} 而非 {most}");
const NOT_WIDENED: Text = text(
    "the load generator was disturbed, which changed p50, p95 and p99 by less than a tenth",
    "发压端受到干扰，p50、p95、p99 的变化都不到十分之一",
);
const SLOWED: Text = text(
    "; throughput might have been up to {most}/s instead of {rate}/s",
    "；吞吐量最高可能达到 {most}/s，而非 {rate}/s",
);
const CPU: Text = text("CPU time of its threads: {cores} cores", "发压端线程的 CPU 时间：{cores} 个核");
const STARVED: Text = text("its threads waited for a CPU core (see Trust)", "其线程在等待 CPU 核（见可信度）");
const THROTTLED: Text = text("its cgroup used up its CPU quota (see Trust)", "其 cgroup 的 CPU 配额已用完（见可信度）");
const ABSENT: Text = text(
    "its threads did not read their sockets for a while (see Trust)",
    "其线程有一段时间没有读取套接字（见可信度）",
);
const LATE: Text = text("it sent requests late (see Trust)", "发送请求过晚（见可信度）");
const STOOD_STILL: Text = text("it stood still for a while (see Trust)", "其进程曾停住一段时间（见可信度）");
const AWAY: Text = text(
    "with requests in flight, its workers did not get to their sockets for {away}, of which they waited {ready} for a core",
    "有请求在途时，其工作线程共有 {away} 未能处理套接字，其中 {ready} 在等待 CPU 核",
);
const STOLEN: Text = text(
    "; the hypervisor took {stolen} s of CPU time in {span} s (steal in /proc/stat)",
    "；虚拟化平台在 {span} 秒内抢占了 {stolen} 秒的 CPU 时间（/proc/stat 中的 steal）",
);
const APART: Text = text(
    "give it dedicated cores (taskset) or its own machine, and stop everything else there",
    "用 taskset 为它分配独占的核，或换到独立的机器，并停掉其他程序",
);
const QUOTA: Text = text("raise the CPU quota of its cgroup", "提高其 cgroup 的 CPU 配额");
const HOST: Text = text(
    "use a host that is not overcommitted, or dedicated cores: the time was taken by the hypervisor",
    "换用未超卖的主机或独占的核：CPU 时间被虚拟化平台抢占",
);
const AWAKE: Text = text(
    "find out what stopped it (a signal, a suspended or sleeping machine), and repeat the run",
    "查明停住的原因（信号、机器被挂起或休眠），然后重新压测",
);
const AGAIN: Text =
    text("the same run on a quiet machine should be trusted", "在空闲的机器上重跑同样的压测，结果应为可信");
const AGAIN_AWAKE: Text =
    text("the same run should be trusted if nothing stops it", "不被暂停时重跑同样的压测，结果应为可信");

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
        GeneratorDoubt::StoodStill => (STOOD_STILL, AWAKE),
    };
    use GeneratorDoubt::{Late, StoodStill, Throttled};
    let is_elsewhere = matches!(run.generator_doubt, Some(Throttled | Late | StoodStill));
    let is_timed = run.away_s > 0.0 && !is_elsewhere;
    let evidence = match is_timed {
        true => {
            let [away, ready] = [run.away_s, run.away_ready_s].map(numbers::seconds);
            LocalizedSentence::new(AWAY, [("away", away), ("ready", ready)])
        }
        false => evidence.into(),
    };
    let found = match stolen(case) {
        Some(stolen) => {
            let remedy = if remedy == APART { HOST } else { remedy };
            proved(disturbed(run), evidence.with_clause(STOLEN, stolen)).remedy(remedy)
        }
        None => proved(disturbed(run), evidence).remedy(remedy),
    };
    let again = if remedy == AWAKE { AGAIN_AWAKE } else { AGAIN };
    Some(found.experiment(again).limiting(run.is_distorted()))
}

/// Share of the time for which brunt was away from its sockets that stolen time must reach to be named as its cause.
const PART: f64 = 0.5;
/// Minimum share of a core that was stolen (V7): less is ordinary on a virtual machine, and other processes take more.
/// Of the machine, if it is unknown for how long brunt was away.
const SHARE: f64 = 0.03;

/// Returns the stolen time and the span it was counted in, if it explains why brunt was away: a thread whose core was
/// taken by the hypervisor counts as running, neither as ready nor as asleep.
fn stolen(case: &Case) -> Option<[(&'static str, String); 2]> {
    let (run, here) = (&case.run, &case.counters);
    let (stolen, span) = (here.increase("cpu.all.steal")? / 1e9, here.span_s());
    let unexplained = run.away_s - run.away_ready_s;
    let is_cause = match run.away_s > 0.0 {
        true => unexplained >= PART * run.away_s && stolen >= (PART * unexplained).max(SHARE * span),
        false => stolen > SHARE * span * here.last("cpu.count")?,
    };
    is_cause.then(|| [("stolen", format!("{stolen:.2}")), ("span", format!("{span:.0}"))])
}

/// Returns the claim about a disturbed generator: which figures it may have changed, and by how much.
fn disturbed(run: &LoadResults) -> LocalizedSentence {
    if run.away_s <= 0.0 {
        return DISTURBED.into();
    }
    let facts = |figure: &WidenedFigure| {
        let [least, most] = [figure.least_s, figure.most_s].map(numbers::seconds);
        [("quantile", figure.quantile.to_owned()), ("least", least), ("most", most)]
    };
    let claim = match run.widened.split_first() {
        None => NOT_WIDENED.into(),
        Some((first, rest)) => {
            let claim = LocalizedSentence::new(WIDENED, facts(first));
            rest.iter().fold(claim, |claim, figure| claim.with_clause(WIDENED_TOO, facts(figure)))
        }
    };
    // Users of closed load, who were ready to send, stood still with it.
    if run.is_open || run.could_succeed_per_s < 1.01 * run.succeeded_per_s {
        return claim;
    }
    let [most, rate] = [run.could_succeed_per_s, run.succeeded_per_s].map(numbers::rate);
    claim.with_clause(SLOWED, [("most", most), ("rate", rate)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, run};

    #[test]
    fn a_full_worker_is_the_limit_and_a_well_one_is_not() {
        let found = |doubt| judged(&RULE, |run| run.generator_doubt = doubt, counted(&[]));
        assert_eq!(found(Some(GeneratorDoubt::Busy)), Some("proved"));
        use GeneratorDoubt::{Absent, Late, Starved, StoodStill, Throttled};
        for doubt in [Starved, Throttled, Absent, Late, StoodStill] {
            assert_eq!(found(Some(doubt)), Some("proved"));
        }
        assert_eq!(found(None), None);
    }

    #[test]
    fn one_that_stood_still_needs_no_other_cores() {
        let [.., remedy] = said(|run| run.generator_doubt = Some(GeneratorDoubt::StoodStill), 0.0);
        assert!(remedy.starts_with("find out what stopped it"), "{remedy}");
    }

    fn said(change: impl FnOnce(&mut LoadResults), steal_s: f64) -> [String; 3] {
        let counters = counted(&[("cpu.all.steal", 0.0, steal_s * 1e9), ("cpu.count", 2.0, 2.0)]);
        let mut case = Case { run: run(), counters, ..Case::default() };
        (case.run.generator_doubt, case.run.workers) = (Some(GeneratorDoubt::Absent), 2);
        change(&mut case.run);
        let found = RULE.judge_host(&case).expect("a doubt");
        let en = brunt_i18n::Lang::En;
        [found.claim(en), found.evidence(en), found.remedy(en)]
    }

    #[test]
    fn it_says_which_figures_it_widened_and_by_how_much() {
        let widened = |run: &mut LoadResults| {
            run.widened = vec![
                WidenedFigure { quantile: "p95", least_s: 0.002, most_s: 0.0024 },
                WidenedFigure { quantile: "p99", least_s: 0.0021, most_s: 0.0066 },
            ];
            (run.away_s, run.succeeded_per_s, run.could_succeed_per_s) = (1.0, 950.0, 1000.0);
        };
        let [claim, ..] = said(widened, 0.0);
        let wanted = "p95 might have been 2.00 ms instead of 2.40 ms, p99 2.10 ms instead of 6.60 ms";
        assert!(claim.contains(wanted) && claim.contains("up to 1,000/s instead of 950/s"), "{claim}");
        let [open, ..] = said(
            |run| {
                widened(run);
                run.is_open = true;
            },
            0.0,
        );
        assert!(!open.contains("throughput"), "arrivals do not wait for brunt: {open}");
        let [little, ..] = said(|run| run.away_s = 0.05, 0.0);
        assert!(little.contains("less than a tenth") && !little.contains("throughput"), "{little}");
        let [_, evidence, _] = said(|run| (run.away_s, run.away_ready_s) = (0.5, 0.4), 0.0);
        assert!(evidence.contains("for 500 ms, of which they waited 400 ms for a core"), "{evidence}");
        let late = |run: &mut LoadResults| (run.generator_doubt, run.away_s) = (Some(GeneratorDoubt::Late), 0.003);
        let [_, evidence, _] = said(late, 0.0);
        assert!(evidence.contains("sent requests late"), "what it was away for says little: {evidence}");
    }

    #[test]
    fn stolen_time_is_named_where_it_is_the_cause() {
        let away = |ready: f64| move |run: &mut LoadResults| (run.away_s, run.away_ready_s) = (1.0, ready);
        let [_, evidence, remedy] = said(away(0.1), 0.8);
        assert!(evidence.contains("took 0.80 s of CPU time in 10 s") && remedy.contains("overcommitted"), "{evidence}");
        let [_, waited, remedy] = said(away(0.9), 0.8);
        assert!(!waited.contains("hypervisor") && remedy.contains("taskset"), "others had its core: {waited}");
        let [_, stopped, _] = said(away(0.1), 0.1);
        assert!(!stopped.contains("hypervisor"), "it was stopped: {stopped}");
        let short = |run: &mut LoadResults| (run.away_s, run.away_ready_s) = (0.09, 0.04);
        let [_, little, remedy] = said(short, 0.05);
        assert!(!little.contains("hypervisor") && remedy.contains("taskset"), "half a percent of a core: {little}");
        let [_, of_old, _] = said(|_| (), 1.2);
        assert!(of_old.contains("hypervisor"), "an old record knows only shares: {of_old}");
    }
}
