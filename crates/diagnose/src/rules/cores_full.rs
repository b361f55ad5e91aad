//! S1: all cores of the service's machine were busy.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S1",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("All cores busy", "CPU 占满"),
    symptom: text("throughput is flat and latency grows with the number of users", "吞吐量不再上升，延迟随用户数增长"),
    remedy: text(
        "profile the service (a flame graph shows where the time goes), or give it more cores",
        "对服务做性能剖析（火焰图），或增加核数",
    ),
    experiment: text(
        "doubling the users should raise latency but not throughput",
        "用户数翻倍后吞吐量不应上升，只有延迟上升",
    ),
    caution: Some(text(
        "running the load generator on the service's machine measures both",
        "在服务所在机器上发压，结果会同时受两者影响",
    )),
    judge,
};

const SERVICE: Text = text(
    "the CPU is the limit: the service used {service} of {cores} cores, with none to spare",
    "瓶颈是 CPU：服务用了 {cores} 个核中的 {service} 个，已无空闲",
);
const SHARED: Text = text(
    "all {cores} cores were busy, shared by service and load generator: the service used {service}, brunt {own}, so \
        this measures both",
    "全部 {cores} 个核都已占满，且服务与发压端共用：服务 {service}，brunt {own}，结果同时受两者影响",
);
const OTHERS: Text = text(
    "all {cores} cores were busy, but not with the service: it used {service}, brunt {own}, others {others}",
    "全部 {cores} 个核都已占满，但占用者不是服务：服务 {service}，brunt {own}，其他 {others}",
);
const DEPENDENCY: Text = text(
    "the CPU is the limit: {programs}, on which the service depends, used most of the {cores} cores, with none to spare; \
        the service itself used {service}",
    "瓶颈是 CPU：服务所依赖的 {programs} 占用了 {cores} 个核中的大部分，已无空闲；服务自身用了 {service}",
);
const LIGHTEN: Text = text(
    "find its expensive queries (EXPLAIN, the slow log) and cache or index them, or give it cores of its own",
    "找出其中开销大的查询（EXPLAIN、慢日志），加以缓存或建立索引，或为它分配独立的核",
);
const EVIDENCE: Text = text(
    "/proc/stat: {busy} of {cores} cores busy; CPU time of the service's processes: {service} cores",
    "/proc/stat：{cores} 个核中 {busy} 个繁忙；服务进程的 CPU 时间：{service} 个核",
);
const COST: Text = text("; {cost} of CPU per request", "；每个请求消耗 CPU {cost}");
const PROGRAMS: Text = text(", of which {programs}", "，其中 {programs}");
const OTHER_PROGRAMS: Text = text(" ({programs})", "（{programs}）");
const APART: Text = text(
    "run brunt on another machine, or pin each to its own cores (taskset)",
    "把 brunt 放到另一台机器，或用 taskset 为两者分配各自的核",
);
const QUIET: Text = text("stop everything else on this machine, or move the service", "停掉本机的其他程序，或迁移服务");

const WITHOUT_OTHERS: Text = text(
    "without them, throughput should rise or latency fall at the same load",
    "没有这些程序时，同样的负载下吞吐量应上升或延迟应下降",
);
const EXPERIMENT_OPEN: Text = text(
    "at twice the rate, no more requests should succeed than now",
    "速率翻倍后成功数不应增加",
);

/// Share of busy cores above which a machine is saturated.
const FULL: f64 = 0.9;
/// Minimum share of the cores that the service must use itself, so that twice the users can hardly get more from them.
const SATURATED: f64 = 0.85;
/// Watched services, by the prefix of their counters, and the beginnings of their programs' names.
const WATCHED: [(&str, &[&str]); 4] = [
    ("mysql.", &["mysqld", "mariadbd"]),
    ("postgres.", &["postgres"]),
    ("redis.", &["redis-server", "valkey-server", "keydb-server"]),
    ("nginx.", &["nginx"]),
];
/// Minimum share of the busy cores that one party must use to be named as the cause.
const PART: f64 = 0.5;
/// Number of threads waiting for a core that delay the service, also as a multiple of the cores it used: at least, and
/// for certain.
const DELAYED: (f64, f64) = (0.25, 0.3);
const HELD_UP: (f64, f64) = (0.5, 1.0);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    let (busy, cores) = here.busy_cores()?;
    let service = here.per_s("service.all.cpu")? / 1e9;
    // A core on which brunt only polls is available to others.
    let busy = busy - run.polled_cores;
    if busy < FULL * cores || run.mostly_fails() {
        return None;
    }
    let own = (run.generator_cores - run.polled_cores).min(busy);
    let others = (busy - service - own).max(0.0);
    let shown = |cores: f64| format!("{cores:.2}");
    let facts =
        [("service", shown(service)), ("own", shown(own)), ("others", shown(others)), ("cores", format!("{cores:.0}"))];
    let wait = here.per_s("service.all.wait").unwrap_or(0.0) / 1e9;
    let depends = watched_programs(case);
    let of_dependencies: f64 = depends.iter().map(|(_, cores)| cores).sum();
    let waits = |(cores, share): (f64, f64)| wait >= cores.max(share * service);
    let (text, remedy) = if service >= PART * busy && own < 0.25 * busy {
        (SERVICE, RULE.remedy)
    } else if of_dependencies > service && of_dependencies + service >= PART * busy {
        (DEPENDENCY, LIGHTEN)
    } else if service + own >= PART * busy {
        (SHARED, APART)
    } else if waits(DELAYED) {
        (OTHERS, QUIET)
    } else {
        // Other processes saturate the machine, but the service hardly waits for a core.
        return None;
    };
    // A load that is kept is not limited; strangers who take the cores still lengthen its latencies.
    if !run.is_pressed() && text != OTHERS {
        return None;
    }
    let mut evidence =
        LocalizedSentence::new(EVIDENCE, [("busy", shown(busy)), ("cores", format!("{cores:.0}")), ("service", shown(service))]);
    let programs = here.program_cores("service.program");
    if programs.len() > 1 {
        evidence = evidence.with_clause(PROGRAMS, [("programs", listed(&programs))]);
    }
    let depended = (text == DEPENDENCY).then(|| ("programs", listed(&depends)));
    let facts: Vec<_> = facts.into_iter().chain(depended).collect();
    let mut claim = LocalizedSentence::new(text, facts);
    if text == OTHERS {
        let others = here.program_cores("others");
        if !others.is_empty() {
            claim = claim.with_clause(OTHER_PROGRAMS, [("programs", listed(&others))]);
        }
    }
    if run.answered_per_s() > 0.0 {
        evidence = evidence.with_clause(COST, [("cost", numbers::seconds(service / run.answered_per_s()))]);
    }
    // More users would get more out of cores that the service does not have, and from batches of brunt's own work. Only a
    // service that waits for cores, or has them all, has no more to give.
    let has_all = service + of_dependencies >= SATURATED * cores;
    let is_proved = has_all || (text == OTHERS && waits(HELD_UP));
    let proof = if is_proved { Proof::Proved } else { Proof::Consistent };
    let verdict = RuleVerdict::new(proof, claim, evidence).remedy(remedy).limiting(run.is_pressed());
    let verdict = if text == DEPENDENCY { verdict.at(PathStage::Dependency) } else { verdict };
    Some(if text == OTHERS {
        verdict.experiment(WITHOUT_OTHERS)
    } else if run.is_open {
        let rate = run.rate_for(2.0 * run.scheduled as f64 / run.window_s.max(1.0));
        verdict.experiment(EXPERIMENT_OPEN).repeated_with(ExperimentLoad::Rate(rate))
    } else {
        verdict.repeated_with(ExperimentLoad::Users(2 * u64::from(run.users.max(1))))
    })
}

/// Returns the programs beside the service that belong to watched services, with the cores that each used.
fn watched_programs(case: &Case) -> Vec<(String, f64)> {
    let names = WATCHED.iter().filter(|(kind, _)| case.reported_by(kind).next().is_some()).flat_map(|(_, names)| *names);
    let names: Vec<&str> = names.copied().collect();
    let mut programs = case.counters.program_cores("others");
    programs.retain(|(program, _)| names.iter().any(|name| program.starts_with(name)));
    programs
}

/// Maximum number of programs named.
const NAMED: usize = 4;

/// Lists programs with the cores that each used: `php-fpm 1.40, nginx 0.02`.
fn listed(programs: &[(String, f64)]) -> String {
    let each = programs.iter().take(NAMED).map(|(program, cores)| format!("{program} {cores:.2}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, judged, run};
    use brunt_i18n::Lang;

    fn with(busy: f64, service: f64) -> crate::CounterSummary {
        cores(busy, &[("service.all.cpu", 0.0, service * 1e10)])
    }

    #[test]
    fn full_cores_are_the_limit_where_something_was_pressed() {
        assert_eq!(judged(&RULE, |_| (), with(1.99, 1.7)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), with(1.84, 1.7)), Some("proved"), "what is left between two requests");
        assert_eq!(judged(&RULE, |_| (), with(1.76, 1.6)), None, "an eighth was free");
        assert_eq!(judged(&RULE, |_| (), with(1.2, 1.1)), None, "a core was free");
        assert_eq!(judged(&RULE, |run| run.has_pauses = true, with(1.99, 1.7)), None, "users paused");
        let errors = |run: &mut LoadResults| run.failed_responses.count = 2 * run.service.count;
        assert_eq!(judged(&RULE, errors, with(1.99, 1.7)), None, "two of three responses are errors");
        assert_eq!(judged(&RULE, |_| (), cores(1.99, &[])), None, "nobody knows what the service used");
        assert_eq!(judged(&RULE, |_| (), with(1.99, 0.1)), None, "others fill it, and the service wants no core");
        let waits = |wait: f64| cores(1.99, &[("service.all.cpu", 0.0, 1e9), ("service.all.wait", 0.0, wait * 1e10)]);
        assert_eq!(judged(&RULE, |_| (), waits(0.2)), None, "a little waiting limits nobody");
        assert_eq!(judged(&RULE, |_| (), waits(0.3)), Some("consistent"));
        let kept = Case { run: LoadResults { has_pauses: true, ..run() }, counters: waits(0.9), ..Case::default() };
        let found = RULE.judge_host(&kept).expect("its latencies are those of a machine of others");
        assert!(!found.is_limit, "the load was kept");
        assert_eq!(judged(&RULE, |_| (), waits(0.9)), Some("proved"));
        let polls = |run: &mut LoadResults| (run.generator_cores, run.polled_cores) = (1.1, 1.0);
        assert_eq!(judged(&RULE, polls, with(1.99, 0.8)), None, "half of it is only polled away");
    }

    #[test]
    fn the_experiment_has_twice_the_load_of_the_run() {
        let with = |change: fn(&mut LoadResults)| {
            let mut case = Case { run: run(), counters: with(1.99, 1.7), ..Case::default() };
            change(&mut case.run);
            RULE.judge_host(&case).unwrap().experiment(Lang::En)
        };
        assert!(with(|_| ()).contains("brunt -c 100 http://"));
        let open = |run: &mut LoadResults| (run.is_open, run.is_overloaded, run.users) = (true, true, 0);
        assert!(with(open).contains("brunt -r 2000/s http://"), "{}", with(open));
    }

    #[test]
    fn programs_are_named_with_what_they_used() {
        let said = |service: [f64; 2], other: f64| {
            let all = service[0] + service[1];
            let mut here = cores(
                2.0,
                &[
                    ("service.all.cpu", 0.0, all * 1e10),
                    ("service.all.wait", 0.0, 6e9),
                    ("service.program.0.cpu", 0.0, service[0] * 1e10),
                    ("service.program.1.cpu", 0.0, service[1] * 1e10),
                    ("others.0.cpu", 0.0, other * 1e10),
                ],
            );
            let names = [("service.program.0.comm", "nginx"), ("service.program.1.comm", "php-fpm8.2")];
            here.set_labels(names.into_iter().chain([("others.0.comm", "ffmpeg")]));
            let found = RULE.judge_host(&Case { run: run(), counters: here, ..Case::default() }).unwrap();
            [found.claim(Lang::En), found.evidence(Lang::En)]
        };
        let [claim, evidence] = said([0.1, 1.8], 0.05);
        assert!(claim.starts_with("the CPU is the limit") && !claim.contains("ffmpeg"), "{claim}");
        assert!(evidence.contains("1.90 cores, of which php-fpm8.2 1.80, nginx 0.10"), "{evidence}");
        let [claim, _] = said([0.1, 0.0], 1.8);
        assert!(claim.ends_with("others 1.90 (ffmpeg 1.80)"), "{claim}");
    }

    #[test]
    fn it_says_whose_work_filled_them() {
        let said = |service: f64, own: f64| {
            let run = crate::LoadResults { generator_cores: own, ..run() };
            let waited = ("service.all.wait", 0.0, 6e9);
            let here = cores(2.0, &[("service.all.cpu", 0.0, service * 1e10), waited]);
            RULE.judge_host(&Case { run, counters: here, ..Case::default() }).unwrap().claim(Lang::En)
        };
        assert!(said(1.8, 0.1).starts_with("the CPU is the limit"), "{}", said(1.8, 0.1));
        assert!(said(1.0, 0.9).contains("measures both"), "{}", said(1.0, 0.9));
        assert!(said(0.2, 0.1).contains("not with the service"), "{}", said(0.2, 0.1));
    }

    #[test]
    fn a_watched_database_that_fills_the_cores_is_no_stranger() {
        let mut here = cores(
            2.0,
            &[
                ("service.all.cpu", 0.0, 2e9),
                ("service.all.wait", 0.0, 9e9),
                ("others.0.cpu", 0.0, 1.6e10),
                ("others.1.cpu", 0.0, 1e9),
            ],
        );
        here.set_labels([("others.0.comm", "mariadbd"), ("others.1.comm", "cron")]);
        let found = |reported: Vec<CounterSummary>| {
            RULE.judge_host(&Case { run: run(), counters: here.clone(), reported, ..Case::default() }).expect("a finding")
        };
        let alone = found(vec![]);
        assert!(alone.claim(Lang::En).contains("not with the service"), "{}", alone.claim(Lang::En));
        let watched = found(vec![crate::rules::made_up::counted(&[("mysql.Questions", 0.0, 9.0)])]);
        assert_eq!((watched.stage, watched.proof), (PathStage::Dependency, Proof::Proved));
        assert!(watched.claim(Lang::En).contains("mariadbd 1.60, on which the service depends"), "{}", watched.claim(Lang::En));
    }

    #[test]
    fn what_twice_the_users_may_refute_is_not_proved() {
        assert_eq!(judged(&RULE, |_| (), with(1.99, 1.7)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), with(1.99, 1.5)), Some("consistent"), "a quarter of the cores was not its own");
        let shared = |run: &mut LoadResults| run.generator_cores = 0.9;
        assert_eq!(judged(&RULE, shared, with(1.99, 1.05)), Some("consistent"), "brunt had the other half");
    }
}
