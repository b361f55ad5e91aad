//! S12: more was asked for than the service sustained, and the rest queued.

use super::*;
use super::own_connections;
use crate::load_seconds::Knee;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S12",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Capacity of the service", "服务的容量"),
    symptom: text(
        "throughput stops rising although the load rises, or stays below the rate; from there on requests queue and \
            latency grows",
        "负载上升而吞吐量不再上升，或始终低于设定的速率；此后请求排队，延迟增长",
    ),
    remedy: text(
        "this is the capacity as things are: stay below it, or find what is used up at that load (threads, a pool, \
            connections, a lock) and raise it",
        "这就是目前的容量：让负载低于它，或查明在该负载下是什么用尽了（线程、连接池、连接、锁）并加以扩充",
    ),
    experiment: text(
        "at 80 % of that throughput nothing should queue",
        "以该吞吐量的 80 % 施压时不应有请求排队",
    ),
    caution: Some(text(
        "latency beyond the capacity is the length of the queue, which depends on how long the run lasts",
        "超出容量后，延迟反映的是队列长度，取决于压测时长",
    )),
    judge,
};

const KNEE_OPEN: Text = text(
    "throughput stopped rising at about {rate}/s in second {second}, when {load}/s were scheduled; from there on \
        requests queued, while the rate rose to {most}/s",
    "第 {second} 秒、计划速率为 {load}/s 时，吞吐量不再上升，停在约 {rate}/s；此后速率升至 {most}/s，多出的请求只是排队",
);
const KNEE_CLOSED: Text = text(
    "throughput stopped rising at about {rate}/s in second {second}, with {load} users; from there on users, up to \
        {most}, only waited longer",
    "第 {second} 秒、用户数为 {load} 时，吞吐量不再上升，停在约 {rate}/s；此后用户增至 {most}，只是等待更久",
);
const KNEE_EVIDENCE: Text = text(
    "requests in flight or waiting: {before} before, up to {after} after; typical mean latency of a second: {quick} \
        before, {slow} after",
    "在途或等待的请求：此前 {before}，此后最多 {after}；各秒平均延迟的典型值：此前 {quick}，此后 {slow}",
);
const GROWING: Text = text(
    "the service sustained about {sustained}/s of the {scheduled}/s scheduled, and the queue grew by {growth}/s",
    "计划 {scheduled}/s，服务只能维持约 {sustained}/s，队列每秒增长 {growth}",
);
const TIMED_OUT: Text = text(
    "the service sustained about {sustained}/s of the {scheduled}/s scheduled; the rest queued until it timed out",
    "计划 {scheduled}/s，服务只能维持约 {sustained}/s，其余请求排队直至超时",
);
const EVIDENCE: Text = text(
    "requests in flight or waiting: {first} after the first second, {middle} in the middle, {last} at the end; \
        {unanswered} timed out",
    "在途或等待的请求：第一秒末 {first}，中途 {middle}，结束时 {last}；超时 {unanswered} 个",
);

const OF_ALL: Text = text(
    "at 80 % of that throughput, with less load in every scenario, nothing should queue",
    "降低每个场景的负载，使吞吐量为上述的 80 %，此时不应有请求排队",
);

/// Share of the capacity at which the experiment runs.
const BELOW: f64 = 0.8;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    if own_connections::are_the_limit(case) {
        return None;
    }
    let (verdict, capacity) = match (run.knee(), run.shortfall) {
        (Some(knee), _) => (at_knee(run, &knee), knee.succeeded_per_s),
        (None, Some(short)) => (at_level(run, &short), short.sustained_per_s),
        (None, None) => return None,
    };
    Some(match run.has_scenarios {
        // No option changes the load of every scenario.
        true => verdict.experiment(OF_ALL),
        false => verdict.repeated_with(ExperimentLoad::Rate(run.rate_for(BELOW * capacity))),
    })
}

fn at_knee(run: &LoadResults, knee: &Knee) -> RuleVerdict {
    let load = |load| if run.is_open { numbers::rate(load) } else { whole(load) };
    let facts = [
        ("rate", numbers::rate(knee.succeeded_per_s)),
        ("second", knee.second.to_string()),
        ("load", load(knee.load)),
        ("most", load(knee.most_load)),
    ];
    let claim = LocalizedSentence::new(if run.is_open { KNEE_OPEN } else { KNEE_CLOSED }, facts);
    let ([before, after], [quick, slow]) = (knee.backlog.map(whole), knee.response_s.map(numbers::seconds));
    let facts = [("before", before), ("after", after), ("quick", quick), ("slow", slow)];
    consistent(claim, LocalizedSentence::new(KNEE_EVIDENCE, facts))
}

fn at_level(run: &LoadResults, short: &RateShortfall) -> RuleVerdict {
    let rates = [short.sustained_per_s, short.scheduled_per_s, short.growth_per_s.unwrap_or(0.0)];
    let [sustained, scheduled, growth] = rates.map(numbers::rate);
    let facts = [("sustained", sustained), ("scheduled", scheduled), ("growth", growth)];
    let claim = LocalizedSentence::new(if short.growth_per_s.is_some() { GROWING } else { TIMED_OUT }, facts);
    let seconds = &run.seconds;
    let backlog = |at: usize| whole(seconds.get(at).map_or(0.0, |s| s.backlog));
    let facts = [
        ("first", backlog(0)),
        ("middle", backlog(seconds.len() / 2)),
        ("last", backlog(seconds.len().saturating_sub(1))),
        ("unanswered", numbers::count(run.failed_by("timeout"))),
    ];
    consistent(claim, LocalizedSentence::new(EVIDENCE, facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_seconds::tests::queue;
    use crate::rules::made_up::{counted, judged};

    fn ramp(capacity: f64, is_open: bool) -> impl FnOnce(&mut LoadResults) {
        move |run| {
            let seconds = queue((0..16).map(|n| 20.0 + 50.0 * f64::from(n)), capacity, 2.0);
            (run.is_varied, run.is_open, run.seconds) = (true, is_open, seconds);
        }
    }

    #[test]
    fn a_ramp_beyond_the_capacity_has_a_knee() {
        assert_eq!(judged(&RULE, ramp(330.0, true), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, ramp(330.0, false), counted(&[])), Some("consistent"), "users");
        assert_eq!(judged(&RULE, ramp(900.0, true), counted(&[])), None, "the twin: it kept up");
        let level = |run: &mut LoadResults| {
            ramp(330.0, true)(run);
            run.is_varied = false;
        };
        assert_eq!(judged(&RULE, level, counted(&[])), None, "chance alone varies a level load");
        let stalled = |run: &mut LoadResults| {
            ramp(330.0, true)(run);
            run.outage = Some(Outage { from_s: 6.0, to_s: 16.0, to_the_end: true, more: 0 });
        };
        assert_eq!(judged(&RULE, stalled, counted(&[])), None, "what came of an outage is another rule's");
    }

    #[test]
    fn a_rate_that_was_not_sustained_is_the_capacity() {
        for growth_per_s in [Some(80.0), None] {
            let short = RateShortfall { sustained_per_s: 20.0, scheduled_per_s: 100.0, growth_per_s };
            for has_scenarios in [false, true] {
                let change = |run: &mut LoadResults| (run.shortfall, run.has_scenarios) = (Some(short), has_scenarios);
                assert_eq!(judged(&RULE, change, counted(&[])), Some("consistent"));
            }
        }
        assert_eq!(judged(&RULE, |_| (), counted(&[])), None);
    }

    #[test]
    fn a_service_without_a_queue_is_not_at_its_capacity() {
        let few_connections = |mean: f64| {
            move |run: &mut LoadResults| {
                let short = RateShortfall { sustained_per_s: 244.0, scheduled_per_s: 2000.0, growth_per_s: Some(1756.0) };
                (run.shortfall, run.is_open, run.is_overloaded, run.connections) = (Some(short), true, true, 5);
                (run.waited_for_connection, run.in_flight, run.ended_per_s) = (5_000, 5.0, 244.0);
                (run.service.min, run.service.mean) = (0.02, mean);
            }
        };
        assert_eq!(judged(&RULE, few_connections(0.0205), counted(&[])), None, "five connections of 20 ms each");
        assert_eq!(judged(&RULE, few_connections(0.2), counted(&[])), Some("consistent"), "they wait in the service");
    }
}
