//! D7: more queries run at once than the machine has cores.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D7",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("More queries than cores", "并发查询多于 CPU 核"),
    symptom: text(
        "latency grows with users, throughput falls; needs --watch mysql=… and the database on a monitored machine",
        "延迟随用户数增长，吞吐量下降；需要 --watch mysql=…，并监控数据库所在机器",
    ),
    remedy: text(
        "let fewer queries run at once (a smaller pool, a queue in front): each finishes sooner, and throughput does \
            not drop",
        "减少并发查询（更小的连接池、前置队列）：每个查询更快完成，吞吐量不会下降",
    ),
    experiment: text(
        "with {users} users, throughput should be the same and latency lower",
        "{users} 个用户时吞吐量应相同而延迟更低",
    ),
    caution: Some(text(
        "a larger pool makes it worse: work is done by cores, not connections",
        "加大连接池只会更糟：真正干活的是 CPU 核，而不是连接",
    )),
    judge,
};

const CLAIM: Text = text(
    "the database runs {running} queries at once on {cores} cores, all busy: more queries only take turns",
    "数据库在 {cores} 个已占满的核上同时运行 {running} 个查询：再多也只是轮流执行",
);
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Threads_running {running} on average; /proc/stat: {busy} of {cores} cores busy",
    "SHOW GLOBAL STATUS：Threads_running 平均 {running}；/proc/stat：{cores} 个核中 {busy} 个繁忙",
);

/// Minimum number of running queries per core.
const CROWD: f64 = 2.0;
/// Share of busy cores above which the machine is saturated.
const FULL: f64 = 0.93;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    let (busy, cores) = here.busy_cores()?;
    let busy = busy - run.polled_cores;
    // The query that reads this counter is itself one of the running ones.
    let running = case.reported_by("mysql.").find_map(|mysql| mysql.mean("mysql.Threads_running"))? - 1.0;
    // Judged only if the counters are those of the database's machine.
    let local = here.per_s("service.all.cpu")? / 1e9 >= 0.5 * busy;
    if !run.is_saturated() || !local || busy < FULL * cores || running < CROWD * cores {
        return None;
    }
    let [running, shown] = [running, cores].map(|n| format!("{n:.0}"));
    let claim = LocalizedSentence::new(CLAIM, [("running", running.clone()), ("cores", shown.clone())]);
    let facts = [("running", running), ("busy", format!("{busy:.2}")), ("cores", shown.clone())];
    let found = consistent(claim, LocalizedSentence::new(EVIDENCE, facts));
    let users = (CROWD * cores).round() as u64;
    Some(found.experiment_with([("users", users.to_string())]).repeated_with(ExperimentLoad::Users(users)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, counted, run};

    #[test]
    fn queries_that_take_turns() {
        let found = |running: f64, busy: f64, service: f64| {
            let here = cores(busy, &[("service.all.cpu", 0.0, service * 1e10)]);
            let told = vec![counted(&[("mysql.Threads_running", running, running)])];
            RULE.judge_host(&Case { run: run(), counters: here, reported: told, ..Case::default() }).map(|found| found.proof)
        };
        assert_eq!(found(20.0, 1.99, 1.7), Some(Proof::Consistent));
        assert_eq!(found(3.0, 1.99, 1.7), None, "as many as cores");
        assert_eq!(found(20.0, 1.2, 1.1), None, "they wait for something else");
        assert_eq!(found(20.0, 1.99, 0.1), None, "the cores are those of another machine");
    }
}
