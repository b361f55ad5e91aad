//! S3: the service processes one request at a time while its cores are idle: a lock, a single connection, one row.

use super::*;
use crate::stated_bound::UNEVEN;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S3",
    origin: CounterOrigin::Service,
    stage: PathStage::Dependency,
    title: text("One at a time", "串行"),
    symptom: text("throughput is flat from the second user on; CPU idle", "从第二个用户起吞吐量就不再上升；CPU 空闲"),
    remedy: text(
        "it is a lock, a single backend connection, or one row that all requests write: hold it for less time, take it \
            last, or split it",
        "这是锁、到后端的唯一连接，或所有请求都要写的同一行：缩短占用时间、最后再获取，或将其拆分",
    ),
    experiment: text(
        "if it is one row, requests for different rows should be faster; with one user, throughput should be the same",
        "若原因是同一行，请求不同的行应更快；只有一个用户时，吞吐量应相同",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service works on one request at a time: each takes {hold}, which allows {most}/s, whatever the number of \
        users",
    "服务一次只处理一个请求：每个请求占用 {hold}，因此无论用户多少，吞吐量都只有 {most}/s",
);
const EVIDENCE: Text = text(
    "{in_flight} requests in flight, and yet {rate}/s, one every {hold}; the shortest response took {least}, so \
        about {work} were being worked on; on average {busy} of its threads ran or waited for a core",
    "在途请求有 {in_flight} 个，却只有 {rate}/s，即每 {hold} 一个；最短响应时间为 {least}，因此平均约有 {work} 个在处理；\
        其进程平均有 {busy} 个线程在运行或等待 CPU",
);

/// Maximum coefficient of variation of response times in a queue; larger variation has other causes.
const ALIKE: f64 = 0.3;
/// Minimum ratio of requests in flight to places; below it, hardly any request waits.
const WAITING: f64 = 3.0;
/// Maximum number of the service's threads that run or wait for a core, as a share of the requests being processed;
/// above it, the CPU may be the limit.
const COMPUTING: f64 = 0.5;
/// Utilization of a worker of brunt above which responses may be waiting for it.
const OWN: f64 = 0.8;
/// Maximum distance of rate × time from a whole number of places: in places, or as a share if there are many.
const NEAR: f64 = 0.25;
const NEAR_SHARE: f64 = 0.05;
/// Maximum ratio of rate × time to the number of responses that met no queue, if these are the places: the shortest
/// response also includes work outside of them, such as a connect.
const OUTSIDE: f64 = 1.35;
/// Maximum duration of a response that did not queue, as a multiple of the shortest one.
pub(super) const LONE: f64 = 1.25;
/// Minimum share of the expected responses between the shortest and the usual time while a queue fills.
const FILLING: f64 = 0.3;
/// Share of the usual response time below which a response counts as between the two.
const USUAL: f64 = 0.8;

/// Number of requests that a service processes at a time.
pub(super) struct ServiceConcurrency {
    /// Average, by Little's law.
    pub at_work: f64,
    /// Whole number of requests; `None` unless `at_work` is close to it and at least that many responses met no queue.
    pub number: Option<u64>,
    /// Shortest response time that `at_work` is computed from, in seconds.
    pub shortest: f64,
    /// Average number of the service's threads that ran or waited for a core.
    pub busy: f64,
}

/// Applies Little's law to the service alone: its throughput times the shortest response time, which included no
/// queueing, is the number of requests that it processes at a time. This is valid only if response times are similar,
/// most requests wait, and the CPU is not the limit.
///
/// The shortest response is a single sample, possibly from a cold service or with a connect, and then too long. A pool
/// of N has a second sign: N requests did not queue before it was full. If both agree, that is the number. If there were
/// fewer such requests, but the responses show how a queue filled, there is a queue with an unknown number of places.
pub(super) fn places(case: &Case) -> Option<ServiceConcurrency> {
    let (run, here) = (&case.run, &case.counters);
    let threads = |what: &str| here.per_s(&format!("service.all.{what}")).map(|ns| ns / 1e9);
    let busy = threads("cpu")? + threads("wait").unwrap_or(0.0);
    let at_work = run.worked_per_s() * run.service.min;
    let alike = run.service.variation() < ALIKE && run.service.count >= 30;
    let waiting = run.in_flight >= WAITING * at_work.max(1.0);
    let free = busy < COMPUTING * at_work && run.busiest_worker < OWN;
    // A saturated link also looks like one response at a time.
    let queues = run.is_saturated() && alike && waiting && free && super::link::shaped(case).is_none();
    let least = at_work.round();
    if !queues || at_work < 1.0 - NEAR {
        return None;
    }
    let whole = (at_work - least).abs() <= NEAR.max(NEAR_SHARE * least);
    let lone = run.times_from_start.within(0.0, LONE * run.service.min) as f64;
    let first = run.times_from_start.at_rank(1).unwrap_or(0.0);
    let first_wave = run.times_from_start.within(0.0, LONE * first) as f64;
    let at_first = run.worked_per_s() * first;
    let (number, at_work, shortest) = match () {
        // The queue was full at once: the first wave is as large as the pool. The request before the load, alone with
        // the service, may have been faster.
        () if first_wave >= 1.0 && first_wave <= at_first && at_first <= OUTSIDE * first_wave => {
            (Some(first_wave as u64), at_first, first)
        }
        () if whole && lone >= least => (Some(least as u64), at_work, run.service.min),
        // Two places would each be held for longer than the shortest response took.
        () if at_work * (1.0 + UNEVEN) < 2.0 && filled(run) => (Some(1), at_work, run.service.min),
        () => (None, at_work, run.service.min),
    };
    (number.is_some() || filled(run)).then_some(ServiceConcurrency { at_work, number, shortest, busy })
}

/// Returns `true` if response times covered the range from the shortest to the usual one: they do while a queue grows,
/// but not when a service becomes slower.
fn filled(run: &LoadResults) -> bool {
    let (from, to) = (LONE * run.service.min, USUAL * run.service.mean);
    let expected = run.worked_per_s() * (to - from);
    let between = run.times_from_start.within(from, to) as f64;
    between >= 1.0 && between >= FILLING * expected
}

fn judge(case: &Case) -> Option<RuleVerdict> {
    let ServiceConcurrency { busy, at_work, shortest, .. } = places(case).filter(|places| places.number == Some(1))?;
    let run = &case.run;
    // What never lacks work takes the time between two responses for each. The shortest response also includes a
    // connect and the way there and back.
    let most = run.reached_per_s();
    let hold = numbers::seconds(1.0 / most);
    let claim = LocalizedSentence::new(CLAIM, [("hold", hold.clone()), ("most", numbers::rate(most))]);
    let facts = [
        ("rate", numbers::rate(most)),
        ("hold", hold),
        ("least", numbers::seconds(shortest)),
        ("work", format!("{at_work:.1}")),
        ("in_flight", format!("{:.0}", run.in_flight)),
        ("busy", format!("{busy:.2}")),
    ];
    let found = consistent(claim, LocalizedSentence::new(EVIDENCE, facts)).stating(StatedBound::RequestsPerS(most));
    Some(found.repeated_with(ExperimentLoad::Users(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    /// Gives a run the figures of a lock held for 2 ms, with 50 users.
    fn lock(run: &mut LoadResults) {
        run.succeeded_per_s = 490.0;
        run.service =
            DurationStats { count: 4900, min: 0.002, mean: 0.102, deviation: 0.004, longest: 0.0, second_or_more: 0.0 };
        run.times_from_start = DurationCounts::new([(0.002, 1), (0.102, 4899)]);
    }

    #[test]
    fn the_stated_bound_is_not_below_what_was_measured() {
        // Locks of 2 and of 5 ms whose first request also connected, or met a cold service.
        for (hold, least) in [(0.002, 0.00236), (0.002, 0.0026), (0.005, 0.0054), (0.005, 0.0050)] {
            let mut case = Case { run: crate::rules::made_up::run(), ..Case::default() };
            case.counters = counted(&[("service.all.cpu", 0.0, 1e9), ("service.all.wait", 0.0, 0.0)]);
            lock(&mut case.run);
            case.run.succeeded_per_s = 1.0 / hold;
            (case.run.service.min, case.run.service.mean) = (least, 50.0 * hold);
            case.run.times_from_start = DurationCounts::new([(least, 1), (least + hold, 1), (50.0 * hold, 4000)]);
            let claim = RULE.judge_host(&case).expect("a lock").claim(brunt_i18n::Lang::En);
            let per_s = if hold == 0.002 { "allows 500/s" } else { "allows 200/s" };
            assert!(claim.contains(per_s) && claim.contains(&numbers::seconds(hold)), "{claim}");
        }
    }

    #[test]
    fn a_probe_before_the_load_may_be_faster_than_its_first_request() {
        let connecting = |run: &mut LoadResults| {
            lock(run);
            run.times_from_start = DurationCounts::new([(0.0026, 1), (0.0046, 1), (0.102, 4899)]);
        };
        let idle = || counted(&[("service.all.cpu", 0.0, 1e9), ("service.all.wait", 0.0, 0.0)]);
        assert_eq!(judged(&RULE, connecting, idle()), Some("consistent"));
        let busy = |run: &mut LoadResults| {
            // The first requests of the load were held up, but the queue filled, and there is no room for two places.
            lock(run);
            run.service.min = 0.0032;
            let filling = (4..50).map(|n| (f64::from(n) * 0.002, 1));
            run.times_from_start = DurationCounts::new(filling.chain([(0.102, 4850)]));
        };
        assert_eq!(judged(&RULE, busy, idle()), Some("consistent"));
        let together = |run: &mut LoadResults| {
            lock(run);
            run.times_from_start = DurationCounts::new([(0.0026, 4), (0.102, 4899)]);
        };
        assert_eq!(judged(&RULE, together, idle()), None, "four at once are served together");
    }

    #[test]
    fn one_at_a_time() {
        let threads = |cpu: f64, wait: f64| {
            counted(&[("service.all.cpu", 0.0, cpu * 1e10), ("service.all.wait", 0.0, wait * 1e10)])
        };
        assert_eq!(judged(&RULE, lock, threads(0.1, 0.1)), Some("consistent"));
        assert_eq!(judged(&RULE, lock, threads(0.9, 0.0)), None, "a thread that computes");
        assert_eq!(judged(&RULE, lock, threads(0.1, 0.8)), None, "a thread that waits for a core");
        let checked = |run: &mut LoadResults| {
            lock(run);
            // Half of the responses fail a check, but held the lock like the others.
            run.succeeded_per_s /= 2.0;
            run.failed_responses = DurationStats { count: (run.succeeded_per_s * run.window_s) as u64, ..run.service };
        };
        assert_eq!(judged(&RULE, checked, threads(0.1, 0.1)), Some("consistent"));
        let turned_away = |run: &mut LoadResults| {
            lock(run);
            run.failed_responses = DurationStats { count: 1_000_000, mean: 0.000_000_1, ..DurationStats::default() };
        };
        assert_eq!(judged(&RULE, turned_away, threads(0.1, 0.1)), Some("consistent"), "they never came to the lock");
        let few = |run: &mut LoadResults| {
            lock(run);
            run.in_flight = 2.0;
        };
        assert_eq!(judged(&RULE, few, threads(0.1, 0.0)), None, "hardly anybody waits");
        let of_before = |run: &mut LoadResults| {
            lock(run);
            run.times_from_start = DurationCounts::new([(0.102, 4900)]);
        };
        assert_eq!(judged(&RULE, of_before, threads(0.1, 0.1)), None, "only the request before the load was so short");
        let own = |run: &mut LoadResults| {
            lock(run);
            run.busiest_worker = 0.95;
        };
        assert_eq!(judged(&RULE, own, threads(0.1, 0.0)), None, "it may be us");
    }
}
