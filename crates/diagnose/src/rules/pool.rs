//! S4: the service processes a limited number of requests at a time; the others wait for a slot in a pool, or for a
//! lock.

use super::*;
use crate::rules::serial::{LONE, ServiceConcurrency, places};

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S4",
    origin: CounterOrigin::Service,
    stage: PathStage::Dependency,
    title: text("A pool, or a lock held part of the time", "资源池，或请求期间短暂持有的锁"),
    symptom: text(
        "above some number of users, throughput is flat and latency grows; CPU idle",
        "用户超过某个数量后吞吐量不再上升，延迟随用户数增长；CPU 空闲",
    ),
    remedy: text(
        "if it is a pool of threads, workers or backend connections: size it by Little's law (target throughput × time \
            per request × 1.5), not by guesswork; if it is a lock: hold it for less time, or split it",
        "若是线程池、工作进程或到后端的连接池，按利特尔法则设定大小（目标吞吐量 × 单个请求耗时 × 1.5），不要凭感觉；若是锁，缩短持有时间，或将其拆分",
    ),
    experiment: text(
        "if it is a pool of {places}, {places} requests at once should all take about {least}; if the longest takes \
            much more, it is a lock or a smaller pool",
        "若是大小为 {places} 的池，同时发出的 {places} 个请求都应耗时约 {least}；若最长的明显更久，则是锁或更小的池",
    ),
    caution: Some(text(
        "max_connections=10000 only buys contention: Little's law says how many are needed",
        "max_connections=10000 只会带来争用：需要多少，可用利特尔法则算出",
    )),
    judge,
};

const CLAIM: Text = text(
    "on average the service works on about {places} of {in_flight} requests in flight at a time: a pool of \
        {places}, or a smaller pool or lock held for part of each request",
    "{in_flight} 个在途请求中，服务平均同时只处理约 {places} 个：原因是大小为 {places} 的资源池，或请求只在部分时间占用的更小的池或锁",
);
const UNCOUNTED: Text = text(
    "requests wait for each other inside the service: of {in_flight} in flight, only some are being worked on, because \
        of a lock or pool held for part of each request, or a pool whose size this run cannot show",
    "请求在服务内部互相等待：{in_flight} 个在途请求中只有一部分在处理；原因是请求只在部分时间占用的锁或资源池，或本次压测无法得知大小的池",
);
const EVIDENCE: Text = text(
    "{rate}/s × {least} (the shortest response) = {work} being worked on; {lone} responses took at most 1.25 \
        times that, and the mean was {mean}; on average {busy} of its threads ran or waited for a core",
    "{rate}/s × {least}（最短响应时间）= {work} 个在处理；{lone} 个响应的耗时不超过其 1.25 倍，平均 {mean}；其进程平均有 {busy} 个线程在运行或等待 CPU",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let ServiceConcurrency { at_work, number, shortest, busy } = places(case).filter(|places| places.number != Some(1))?;
    let run = &case.run;
    // At least two are needed to wait for each other.
    let size = number.unwrap_or(at_work.ceil() as u64).max(2);
    let places = size.to_string();
    let least = numbers::seconds(shortest);
    let in_flight = format!("{:.0}", run.in_flight);
    let claim = if number.is_some() { CLAIM } else { UNCOUNTED };
    let claim = LocalizedSentence::new(claim, [("places", places.clone()), ("in_flight", in_flight)]);
    let lone = run.times_from_start.within(0.0, LONE * shortest);
    let facts = [
        ("rate", numbers::rate(run.worked_per_s())),
        ("least", least.clone()),
        ("work", format!("{at_work:.1}")),
        ("lone", numbers::count(lone)),
        ("mean", numbers::seconds(run.service.mean)),
        ("busy", format!("{busy:.2}")),
    ];
    let verdict = consistent(claim, LocalizedSentence::new(EVIDENCE, facts));
    let verdict = match number {
        Some(number) => verdict.stating(StatedBound::AtOnce(number as f64)),
        None => verdict,
    };
    let verdict = verdict.experiment_with([("places", places), ("least", least)]);
    Some(verdict.repeated_with(ExperimentLoad::OneEach(size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, run};
    use brunt_i18n::Lang;

    /// Simulates 50 users who start at once and a resource with `places` places: a request holds one for `hold` seconds
    /// and spends another `outside` seconds without it. Response times grow until all 50 are in the queue.
    fn queue(places: u64, outside: f64, hold: f64) -> impl Fn(&mut LoadResults) {
        move |run| {
            let per_s = places as f64 / hold;
            let (min, mean) = (outside + hold, 50.0 / per_s);
            let waves = (0..50u64).map(|user| (min + (user / places) as f64 * hold, 1));
            let times: Vec<(f64, u64)> = waves.filter(|(time, _)| *time < mean).chain([(mean, 4000)]).collect();
            run.succeeded_per_s = per_s;
            run.times_from_start = DurationCounts::new(times);
            run.service = DurationStats { count: 4000, min, mean, deviation: mean / 20.0, longest: mean, second_or_more: 0.0 };
        }
    }

    /// Simulates a pool of `places` places with 20 ms per request and 50 users.
    fn pool(places: u64) -> impl Fn(&mut LoadResults) {
        queue(places, 0.0, 0.02)
    }

    /// Returns the claim when the cores of the service are idle.
    fn claimed(change: impl Fn(&mut LoadResults)) -> Option<String> {
        let mut case = Case { run: run(), counters: computing(0.05), ..Case::default() };
        change(&mut case.run);
        RULE.judge_host(&case).map(|found| found.claim(Lang::En))
    }

    /// Returns the counters of a service with this many computing threads.
    fn computing(threads: f64) -> crate::CounterSummary {
        counted(&[("service.all.cpu", 0.0, threads * 1e10), ("service.all.wait", 0.0, 0.0)])
    }

    #[test]
    fn a_pool_shows_by_its_shortest_response() {
        assert_eq!(judged(&RULE, pool(8), computing(0.3)), Some("consistent"));
        assert_eq!(judged(&RULE, pool(50), computing(0.3)), None, "all are at work");
        assert_eq!(judged(&RULE, pool(8), computing(7.0)), None, "its threads compute");
        assert_eq!(judged(&RULE, pool(1), computing(0.3)), None, "a single place is another rule's");
    }

    #[test]
    fn a_number_of_places_needs_as_many_who_found_one_free() {
        let says = |change: &dyn Fn(&mut LoadResults), part: &str| {
            let claim = claimed(change).unwrap();
            assert!(claim.contains(part), "{claim}");
        };
        says(&pool(8), "a pool of 8, or a smaller pool");
        // 15 ms before a lock of 5 ms: 200/s × 20 ms = 4, and the first four took 20 to 35 ms.
        says(&queue(1, 0.015, 0.005), "wait for each other");
        // Requests spend half of their time in a pool of four: eight are processed at a time.
        says(&queue(4, 0.01, 0.01), "of 50 in flight, only some");
        let cold = |run: &mut LoadResults| {
            // A pool of five with 10 ms per request, whose first users found a cold service.
            queue(5, 0.0, 0.01)(run);
            run.service.min = 0.0161;
            run.times_from_start = DurationCounts::new([(0.0161, 5), (0.027, 5), (0.037, 5), (0.06, 10), (0.1, 4000)]);
        };
        says(&cold, "of 50 in flight, only some");
    }

    #[test]
    fn a_pool_is_as_large_as_the_first_wave() {
        // The shortest response includes a connect: 400/s × 21.5 ms = 8.6, and 400/s × 23 ms = 9.2.
        for least in [0.0215, 0.023] {
            let connecting = |run: &mut LoadResults| {
                pool(8)(run);
                run.service.min = least;
                let waves = (0..6).map(|wave| (least + f64::from(wave) * 0.02, 8));
                run.times_from_start = DurationCounts::new(waves.chain([(0.13, 4000)]));
            };
            assert!(claimed(connecting).unwrap().contains("a pool of 8,"), "{least}");
        }
    }

    #[test]
    fn between_whole_numbers_no_number_is_named() {
        let between = |run: &mut LoadResults| {
            pool(4)(run);
            run.succeeded_per_s = 3.5 / 0.02;
        };
        assert!(claimed(between).unwrap().contains("whose size this run cannot show"));
        let slower = |run: &mut LoadResults| {
            between(run);
            // Fast at first, then slow to the end: no queue fills like this.
            run.times_from_start = DurationCounts::new([(0.02, 8), (0.25, 4000)]);
        };
        assert_eq!(claimed(slower), None);
    }

    #[test]
    fn services_whose_responses_differ_have_no_pool() {
        let varied = |run: &mut LoadResults| {
            pool(8)(run);
            run.service.deviation = run.service.mean;
        };
        assert_eq!(judged(&RULE, varied, computing(0.3)), None);
        assert_eq!(judged(&RULE, |run| run.has_pauses = true, computing(0.3)), None);
        let counters_of_nobody = crate::CounterSummary::default();
        assert_eq!(judged(&RULE, pool(8), counters_of_nobody), None, "it may be the CPU of another machine");
    }
}
