//! C2: one worker of brunt was saturated while the others were mostly idle.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C2",
    origin: CounterOrigin::Generator,
    stage: PathStage::Generator,
    title: text("brunt workers unevenly loaded", "发压端工作线程负载不均"),
    symptom: text("brunt is at its limit while cores are idle", "发压端到达极限而 CPU 仍有空闲"),
    remedy: text(
        "make the number of connections (-c) a multiple of the workers, or use fewer workers (-w)",
        "让连接数（-c）为工作线程数的整数倍，或减少工作线程（-w）",
    ),
    experiment: text(
        "with {users} users, throughput should rise",
        "{users} 个用户时吞吐量应上升",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "one of brunt's {workers} workers was saturated while the others had little to do: connections are spread \
        unevenly",
    "brunt 的 {workers} 个工作线程中有一个占满，其余空闲：连接分布不均",
);
const EVIDENCE: Text = text(
    "the busiest worker used {busiest} of a core, the others {others} each",
    "最忙的工作线程占用一个核的 {busiest}，其余各 {others}",
);

/// Share of a core at which a worker is saturated, and the maximum share of this that the others use.
const FULL: f64 = 0.9;
const PART: f64 = 0.5;
/// Maximum share of failed requests.
const FAILED: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    if run.generator_doubt != Some(GeneratorDoubt::Busy) || run.workers < 2 || run.busiest_worker < FULL {
        return None;
    }
    // With failures, one worker may be busy handling them, and another idle because its users were refused and wait to
    // reconnect.
    let failed = run.failures.iter().fold(0u64, |sum, failure| sum.saturating_add(failure.count));
    if failed as f64 > FAILED * run.scheduled as f64 || (!run.is_open && failed > run.users.into()) {
        return None;
    }
    let others = (run.generator_cores - run.polled_cores - run.busiest_worker).max(0.0) / f64::from(run.workers - 1);
    if others > PART * run.busiest_worker {
        return None;
    }
    let share = |share: f64| numbers::share(share.min(1.0));
    let claim = LocalizedSentence::new(CLAIM, [("workers", run.workers.to_string())]);
    let evidence = LocalizedSentence::new(EVIDENCE, [("busiest", share(run.busiest_worker)), ("others", share(others))]);
    let users = u64::from((run.users / run.workers + 1).saturating_mul(run.workers));
    let found = proved(claim, evidence).experiment_with([("users", users.to_string())]);
    Some(found.repeated_with(ExperimentLoad::Users(users)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn one_worker_that_has_all_the_work() {
        let with = |busiest: f64, all: f64, workers: u32| {
            move |run: &mut LoadResults| {
                run.generator_doubt = Some(GeneratorDoubt::Busy);
                (run.busiest_worker, run.generator_cores, run.workers) = (busiest, all, workers);
            }
        };
        assert_eq!(judged(&RULE, with(0.97, 1.1, 2), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, with(0.97, 1.9, 2), counted(&[])), None, "both are full");
        assert_eq!(judged(&RULE, with(0.97, 0.97, 1), counted(&[])), None, "there is only one");
        assert_eq!(judged(&RULE, with(0.5, 0.6, 2), counted(&[])), None, "it had time");
        let turned_away = |run: &mut LoadResults| {
            with(0.97, 1.1, 2)(run);
            run.failures = vec![FailureCount { count: 5_000, ..FailureCount::default() }];
        };
        assert_eq!(judged(&RULE, turned_away, counted(&[])), None, "it is full of what fails");
        let waiting = |failed: u64| {
            move |run: &mut LoadResults| {
                with(0.97, 1.1, 2)(run);
                (run.users, run.scheduled) = (60, 1_000_000);
                run.failures = vec![FailureCount { count: failed, ..FailureCount::default() }];
            }
        };
        assert_eq!(judged(&RULE, waiting(540), counted(&[])), None, "the users of the others are turned away");
        assert_eq!(judged(&RULE, waiting(3), counted(&[])), Some("proved"), "a few that failed on the way");
    }
}
