//! S2: one thread of the service used a whole core while others were idle, or its threads took turns using one core.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S2",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("One busy thread", "单线程占满"),
    symptom: text("throughput is flat while most cores are idle", "大多数核空闲，而吞吐量不再上升"),
    remedy: text(
        "run more processes or event loops (a cluster, SO_REUSEPORT), or take work off that thread: a single event \
            loop, a global interpreter lock and a lone acceptor all look like this",
        "增加进程或事件循环（集群、SO_REUSEPORT），或减轻该线程的工作：单事件循环、全局解释器锁、单一 acceptor 都会如此",
    ),
    experiment: text("a second process of the service should nearly double throughput", "再启动一个服务进程后，吞吐量应接近翻倍"),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "one thread is the limit: it used {share} of a core, and the whole service {cores} cores",
    "瓶颈是单个线程：占用一个核的 {share}，整个服务合计 {cores} 个核",
);
const EVIDENCE: Text = text(
    "/proc/{pid}/task: busiest thread {share}; {busy} of {of} cores busy",
    "/proc/{pid}/task：最忙的线程 {share}；{of} 个核中 {busy} 个繁忙",
);
const EXPERIMENT_FULL: Text = text(
    "there is no core left here for a second process: with brunt on another machine, or on more cores, a second \
        process of the service should nearly double throughput",
    "本机已没有空闲核供第二个进程使用：把 brunt 放到另一台机器或增加核数后，再启动一个服务进程，吞吐量应接近翻倍",
);
const BY_TURNS: Text = text(
    "the service uses the CPU for one request at a time: it used {cores} of {of} cores, no thread more than \
        {share}, with {in_flight} requests in flight: one lock, or one event loop",
    "服务同一时刻只用 CPU 处理一个请求：合计用了 {of} 个核中的 {cores} 个，没有线程超过 {share}，而在途请求有 {in_flight} 个：原因是一把锁，或单个事件循环",
);
const EVIDENCE_BY_TURNS: Text = text(
    "CPU time of the service {cores} cores; {rate}/s × {least} (the shortest response) = {work} being worked on; \
        {busy} of {of} cores busy",
    "服务的 CPU 时间为 {cores} 个核；{rate}/s × {least}（最短响应时间）= {work} 个在处理；{of} 个核中 {busy} 个繁忙",
);
const REMEDY_BY_TURNS: Text = text(
    "look for a lock held while the service computes (a global interpreter lock, a synchronized method, a mutex \
        around a cache or an encoder): hold it for less work, split it, or run more processes",
    "查找计算期间一直持有的锁（全局解释器锁、synchronized 方法、保护缓存或编码器的互斥锁）：减少锁内的工作，将其拆分，或增加进程",
);

/// Share of a core at which a thread is saturated.
const FULL: f64 = 0.9;
/// Number of other cores in use above which other threads do work as well.
const BESIDE: f64 = 0.6;
/// Minimum free cores, per core that the service uses, for a second process.
const ROOM: f64 = 0.7;
/// Cores used by threads that take turns, including the runtime's overhead.
const ONE_CORE: std::ops::RangeInclusive<f64> = 0.85..=1.2;
/// Number of requests being processed in that case, computed as throughput × shortest response time.
const ONE: std::ops::RangeInclusive<f64> = 0.75..=1.35;
/// Minimum number of requests in flight; below it, hardly any request waits.
const WAITING: f64 = 3.0;
/// Share of busy cores up to which the service does not wait for a core.
const ROOMY: f64 = 0.85;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let (busy, of) = here.busy_cores()?;
    let cores = here.per_s("service.all.cpu")? / 1e9;
    let (pid, share) = here
        .name_middles("service.", ".busiest.cpu")
        .filter(|pid| *pid != "all")
        .filter_map(|pid| Some((pid, here.per_s(&format!("service.{pid}.busiest.cpu"))? / 1e9)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    if of < 2.0 || !case.run.is_pressed() || case.run.mostly_fails() {
        return None;
    }
    if share < FULL {
        return by_turns(case, CoreUsage { cores, share, busy, of });
    }
    if cores > share + BESIDE {
        return None;
    }
    let shown = numbers::share(share.min(1.0));
    let claim = LocalizedSentence::new(CLAIM, [("share", shown.clone()), ("cores", format!("{cores:.2}"))]);
    let facts = [("pid", pid.to_owned()), ("share", shown), ("busy", format!("{busy:.2}")), ("of", format!("{of:.0}"))];
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)).experiment(second(cores, of - busy)))
}

/// Returns the experiment of starting a second process.
fn second(cores: f64, free: f64) -> Text {
    if free >= ROOM * cores { RULE.experiment } else { EXPERIMENT_FULL }
}

/// Cores used by the service, by its busiest thread and in total, and the number of cores.
struct CoreUsage {
    cores: f64,
    share: f64,
    busy: f64,
    of: f64,
}

/// Judges threads that take turns: none is saturated, but together they use one core, because each blocks the others
/// while it computes.
fn by_turns(case: &Case, CoreUsage { cores, share, busy, of }: CoreUsage) -> Option<RuleVerdict> {
    let run = &case.run;
    let at_work = run.worked_per_s() * run.service.min;
    let one = ONE_CORE.contains(&cores) && ONE.contains(&at_work);
    if !one || run.in_flight < WAITING || busy > ROOMY * of {
        return None;
    }
    let shown = format!("{cores:.2}");
    let claim = [
        ("cores", shown.clone()),
        ("of", format!("{of:.0}")),
        ("share", numbers::share(share)),
        ("in_flight", format!("{:.0}", run.in_flight)),
    ];
    let facts = [
        ("cores", shown),
        ("rate", numbers::rate(run.worked_per_s())),
        ("least", numbers::seconds(run.service.min)),
        ("work", format!("{at_work:.1}")),
        ("busy", format!("{busy:.2}")),
        ("of", format!("{of:.0}")),
    ];
    let claim = LocalizedSentence::new(BY_TURNS, claim);
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE_BY_TURNS, facts)).remedy(REMEDY_BY_TURNS).experiment(second(cores, of - busy)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, judged, run};
    use brunt_i18n::Lang;

    #[test]
    fn one_hot_thread() {
        let with = |share: f64, service: f64| {
            cores(1.3, &[("service.7.busiest.cpu", 0.0, share * 1e10), ("service.all.cpu", 0.0, service * 1e10)])
        };
        assert_eq!(judged(&RULE, |_| (), with(0.97, 1.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), with(0.5, 0.6)), None);
        assert_eq!(judged(&RULE, |_| (), with(0.97, 1.9)), None, "others work as well");
        assert_eq!(judged(&RULE, |run| run.is_open = true, with(0.97, 1.0)), None, "the rate was kept");
        let errors = |run: &mut LoadResults| run.failed_responses.count = 2 * run.service.count;
        assert_eq!(judged(&RULE, errors, with(0.97, 1.0)), None, "it is busy with errors");
    }

    #[test]
    fn threads_that_compute_by_turns() {
        let with = |busy: f64, share: f64, service: f64| {
            cores(busy, &[("service.7.busiest.cpu", 0.0, share * 1e10), ("service.all.cpu", 0.0, service * 1e10)])
        };
        // A lock held for 1.7 ms of work, 600/s.
        let lock = |run: &mut LoadResults| (run.succeeded_per_s, run.service.min) = (600.0, 0.0017);
        assert_eq!(judged(&RULE, lock, with(1.2, 0.5, 1.06)), Some("consistent"));
        assert_eq!(judged(&RULE, lock, with(1.9, 0.5, 1.06)), None, "no core is left");
        assert_eq!(judged(&RULE, lock, with(1.2, 0.5, 0.6)), None, "a part of a core");
        assert_eq!(
            judged(&RULE, |_| (), with(1.2, 0.5, 1.06)),
            None,
            "many are at work, and one core is what they use"
        );
        let few = |run: &mut LoadResults| {
            lock(run);
            run.in_flight = 2.0;
        };
        assert_eq!(judged(&RULE, few, with(1.2, 0.5, 1.06)), None, "nobody waits");
    }

    #[test]
    fn a_second_process_needs_a_core() {
        let check = |busy: f64| {
            let here = cores(busy, &[("service.7.busiest.cpu", 0.0, 9.8e9), ("service.all.cpu", 0.0, 1e10)]);
            RULE.judge_host(&Case { run: run(), counters: here, ..Case::default() }).unwrap().experiment(Lang::En)
        };
        assert!(check(1.1).starts_with("a second process"), "{}", check(1.1));
        assert!(check(1.95).starts_with("there is no core left"), "{}", check(1.95));
    }
}
