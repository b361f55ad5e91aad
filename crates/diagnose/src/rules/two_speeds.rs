//! S14: the service keeps up with the load, but a part of the responses takes many times as long as the others.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S14",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Stalls under a load that is kept", "负载虽能承受，响应却有停顿"),
    symptom: text(
        "the rate is kept and most responses are quick, but p95 or p99 is ten or a hundred times the median",
        "速率能够维持，多数响应很快，但 p95 或 p99 是中位数的十倍甚至百倍",
    ),
    remedy: text(
        "find what stops the service now and then: computation or synchronous I/O on an event loop, a garbage collection, a \
            lock, a flush; if it is one kind of request that is slow, give it a name of its own (names) and look at that",
        "查明是什么让服务不时停顿：事件循环上的计算或同步 I/O、垃圾回收、锁、刷盘；若只是某一类请求慢，请为其单独命名（names）再看",
    ),
    experiment: text(
        "with one kind of request only, at half the rate: the share of slow responses halves if each is slow by itself, and \
            falls further if requests wait for a stall",
        "只用一类请求、速率减半：若慢的只是请求本身，慢响应的占比不变；若请求是在等待停顿，占比会下降",
    ),
    caution: Some(text(
        "the mean and the median hide it; a closed load sees each stall once for every user",
        "平均值和中位数会掩盖停顿；封闭模型中，每次停顿对每个用户只计一次",
    )),
    judge,
};

const CLAIM: Text = text(
    "the rate was kept, but not evenly: {share} of the responses took {slow} or more, where half took {typical} or less; \
        the service stalls, or is slow for some requests",
    "速率得以维持，但并不平稳：{share} 的响应耗时 {slow} 以上，而半数不超过 {typical}；服务有停顿，或对部分请求很慢",
);
const CLAIM_NAMED: Text = text(
    "the rate was kept, but not evenly: {share} of the responses to {name} took {slow} or more, where half took {typical} \
        or less; the service stalls, or is slow for some requests",
    "速率得以维持，但并不平稳：{name} 有 {share} 的响应耗时 {slow} 以上，而半数不超过 {typical}；服务有停顿，或对部分请求很慢",
);
const EVIDENCE: Text = text(
    "{n} of {all} responses took {slow} or more: p90 {p90}, p99 {p99}, the longest {longest}",
    "{all} 个响应中有 {n} 个耗时 {slow} 以上：p90 {p90}，p99 {p99}，最长 {longest}",
);

/// Minimum response time of a slow response, as a multiple of the median and in seconds. Exponential times, the longest
/// of a service that only queues, reach ten medians in one of a thousand.
const TIMES: f64 = 10.0;
const LEAST: f64 = 0.05;
/// Minimum share and number of slow responses, and minimum number of responses.
const SHARE: f64 = 0.01;
const SLOW: u64 = 10;
const ALL: u64 = 100;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    // A run that asked for more than it got waits in a queue.
    let is_kept = !run.is_saturated() && !run.fell_behind && run.outage.is_none();
    // Stalls that come regularly, and those that last as long as a timeout, have rules of their own.
    let mut named = [&super::periodic_stalls::RULE, &super::round_timeouts::RULE].into_iter();
    if !is_kept || named.any(|rule| (rule.judge)(case).is_some()) {
        return None;
    }
    if run.named_times.is_empty() {
        return uneven(None, &run.times);
    }
    // Names may differ as much as they like; each must be even.
    let named = run.named_times.iter().filter_map(|(name, times)| Some((slow(times)?, name, times)));
    let (_, name, times) = named.max_by(|(a, ..), (b, ..)| a.share().total_cmp(&b.share()))?;
    uneven(Some(name), times)
}

/// The slow part of a distribution.
#[derive(Clone, Copy)]
struct SlowPart {
    typical: f64,
    from: f64,
    n: u64,
    all: u64,
}

impl SlowPart {
    fn share(&self) -> f64 {
        self.n as f64 / self.all.max(1) as f64
    }
}

fn slow(times: &DurationCounts) -> Option<SlowPart> {
    let (typical, all) = (times.median(), times.count());
    let from = LEAST.max(TIMES * typical);
    let part = SlowPart { typical, from, n: times.within(from, f64::INFINITY), all };
    (typical > 0.0 && all >= ALL && part.n >= SLOW && part.share() >= SHARE).then_some(part)
}

fn uneven(name: Option<&str>, times: &DurationCounts) -> Option<RuleVerdict> {
    let part = slow(times)?;
    let at = |q: f64| numbers::seconds(times.at_rank((part.all as f64 * q).ceil() as u64).unwrap_or(0.0));
    let limit = || ("slow", numbers::seconds(part.from));
    let facts = [("share", numbers::share(part.share())), limit(), ("typical", numbers::seconds(part.typical))];
    let facts: Vec<_> = facts.into_iter().chain(name.map(|name| ("name", name.to_owned()))).collect();
    let claim = LocalizedSentence::new(if name.is_some() { CLAIM_NAMED } else { CLAIM }, facts);
    let counts = [("n", numbers::count(part.n)), ("all", numbers::count(part.all)), limit()];
    let [n, all, limit] = counts;
    let facts = [n, all, limit, ("p90", at(0.9)), ("p99", at(0.99)), ("longest", at(1.0))];
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, run};

    /// Returns the response times of an event loop that is blocked for 150 ms once in 150 requests: those that come
    /// meanwhile wait for the rest of it.
    fn blocked() -> DurationCounts {
        let waiting = (1..=15).map(|n| (f64::from(n) * 0.01, 10));
        DurationCounts::new(std::iter::once((0.001, 1350)).chain(waiting))
    }

    fn open(times: DurationCounts) -> impl FnOnce(&mut LoadResults) {
        move |run| (run.is_open, run.times) = (true, times)
    }

    #[test]
    fn a_blocked_event_loop_is_no_all_clear() {
        assert_eq!(judged(&RULE, open(blocked()), counted(&[])), Some("consistent"));
        let conclusion = crate::conclude(&Case {
            run: LoadResults { is_open: true, times: blocked(), ..run() },
            ..Case::default()
        });
        assert_eq!(conclusion.outcome, crate::DiagnosisOutcome::Limit);
        let pausing = |run: &mut LoadResults| (run.has_pauses, run.times) = (true, blocked());
        assert_eq!(judged(&RULE, pausing, counted(&[])), Some("consistent"), "users who pause press no more");
        assert_eq!(judged(&RULE, |run| run.times = blocked(), counted(&[])), None, "users without pauses press");
    }

    #[test]
    fn what_only_queues_or_varies_is_even() {
        let exponential = |mean: f64| {
            let at = |n: u32| -mean * (1.0 - (f64::from(n) + 0.5) / 10_000.0).ln();
            DurationCounts::new((0..10_000).map(|n| (at(n), 1)))
        };
        assert_eq!(judged(&RULE, open(exponential(0.02)), counted(&[])), None);
        let quick = DurationCounts::new([(0.0002, 9_000), (0.02, 1_000)]);
        assert_eq!(judged(&RULE, open(quick), counted(&[])), None, "20 ms may be anybody's");
        let timeouts = DurationCounts::new([(0.005, 9_800), (5.01, 200)]);
        assert_eq!(judged(&RULE, open(timeouts), counted(&[])), None, "a timeout of 5 s has a rule of its own");
        let rare = DurationCounts::new([(0.001, 9_950), (0.15, 50)]);
        assert_eq!(judged(&RULE, open(rare), counted(&[])), None, "one in two hundred");
    }

    #[test]
    fn names_may_differ_but_each_must_be_even() {
        let level = |time: f64| DurationCounts::new([(time, 500)]);
        let with = |named: Vec<(String, DurationCounts)>| {
            move |run: &mut LoadResults| {
                (run.is_open, run.times, run.named_times) = (true, blocked(), named);
            }
        };
        let even = vec![("quick".to_owned(), level(0.001)), ("slow".to_owned(), level(0.3))];
        assert_eq!(judged(&RULE, with(even.clone()), counted(&[])), None);
        let one = even.into_iter().chain([("loop".to_owned(), blocked())]).collect();
        let mut case = Case { run: run(), ..Case::default() };
        with(one)(&mut case.run);
        let found = RULE.judge_host(&case).expect("a finding");
        assert!(found.claim(Lang::En).contains("of the responses to loop took 50"), "{}", found.claim(Lang::En));
    }
}
