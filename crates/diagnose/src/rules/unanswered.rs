//! S13: a share of the requests gets no response, no matter how few are in flight.

use super::*;
use crate::load_seconds::{SecondFigures, median};

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S13",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Requests without a response at any load", "与负载无关的无响应"),
    symptom: text(
        "the same share of the requests times out while hardly any are in flight and while many are",
        "无论在途请求多少，超时的比例都差不多",
    ),
    remedy: text(
        "it is not a queue: look for requests that the service drops, never finishes, or needs longer for than \
            --timeout (one of several backends, one kind of input)",
        "原因不是排队：查找被服务丢弃、一直没有完成、或耗时超过 --timeout 的请求（例如多个后端之一，或某一类输入）",
    ),
    experiment: text(
        "with one user the share should be the same",
        "一个用户时比例应相同",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "{share} of the requests got no response before they timed out, at any load",
    "{share} 的请求直到超时也没有响应，与负载大小无关",
);
const EVIDENCE: Text = text(
    "{low} in the half of the seconds with the fewest requests being answered ({few} at a time), {high} in the half \
        with the most ({many}); half of the responses took {typical} or less",
    "按正在处理并得到响应的请求数，最少的一半各秒中为 {low}（同时 {few} 个），最多的一半各秒中为 {high}（同时 {many} 个）；半数响应不超过 {typical}",
);

/// Minimum share and number of requests without a response.
const SHARE: f64 = 0.01;
const LEAST: u64 = 10;
/// Minimum ratio of the share at the lower load to that at the higher one.
const ALIKE: f64 = 0.5;
/// Maximum number of requests being answered at a time that cannot be queueing for each other.
const ALONE: f64 = 2.0;
/// Minimum ratio of two loads that differ.
const APART: f64 = 1.5;
/// Maximum ratio of the median response time to the shortest one without a queue.
const QUICK: f64 = 3.0;

/// Maximum ratio of the p95 response time to the median: in a queue that serves the latest first, few wait, but long.
const TAIL: f64 = 10.0;

/// A half of the seconds: the share of requests without a response, and the mean number of others in flight.
struct HalfShare {
    share: f64,
    in_flight: f64,
}

fn half(seconds: &[SecondFigures]) -> HalfShare {
    let unanswered = seconds.iter().map(|s| s.unanswered).sum::<u64>() as f64;
    let answered = seconds.iter().map(|s| s.succeeded + s.failed_responses).sum::<u64>() as f64;
    let in_flight = median(seconds.iter().map(|s| s.answered_in_flight));
    HalfShare { share: unanswered / (unanswered + answered).max(1.0), in_flight }
}

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let unanswered: u64 = run.seconds.iter().map(|s| s.unanswered).sum();
    let succeeded: u64 = run.seconds.iter().map(|s| s.succeeded).sum();
    let failed: u64 = run.failures.iter().map(|failure| failure.count).sum();
    let share = unanswered as f64 / (succeeded + failed.max(unanswered)).max(1) as f64;
    let queued = run.shortfall.is_some() || run.outage.is_some() || run.knee().is_some();
    if unanswered < LEAST || succeeded < LEAST || share < SHARE || queued {
        return None;
    }
    let mut seconds = run.seconds.clone();
    seconds.sort_by(|a, b| a.answered_in_flight.total_cmp(&b.answered_in_flight));
    let (few, many) = seconds.split_at(seconds.len() / 2);
    let (few, many) = (half(few), half(many));
    let typical = run.times.median();
    let no_queue = many.in_flight <= ALONE
        || (few.in_flight > 0.0 && many.in_flight >= APART * few.in_flight)
        || typical <= QUICK * run.service.min;
    let of_all = run.times.count();
    let slow = run.times.at_rank(of_all - of_all / 20).unwrap_or(0.0);
    if !no_queue || slow > TAIL * typical || few.share < ALIKE * many.share {
        return None;
    }
    let facts = [("share", numbers::share(share))];
    let evidence = [
        ("low", numbers::share(few.share)),
        ("few", format!("{:.2}", few.in_flight)),
        ("high", numbers::share(many.share)),
        ("many", format!("{:.2}", many.in_flight)),
        ("typical", numbers::seconds(typical)),
    ];
    let found = consistent(LocalizedSentence::new(CLAIM, facts), LocalizedSentence::new(EVIDENCE, evidence));
    Some(found.repeated_with(ExperimentLoad::Users(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_seconds::tests::queue;
    use crate::rules::made_up::{counted, judged};
    use brunt_i18n::Lang;

    /// Drops every third request of a service that takes `took` seconds for each of the others.
    fn dropping(took: f64) -> impl Fn(&mut LoadResults) {
        move |run: &mut LoadResults| {
            let second = |n: u64| SecondFigures {
                length_s: 1.0,
                succeeded: 2 * n,
                unanswered: n,
                answered_in_flight: 2.0 * n as f64 * took,
                ..SecondFigures::default()
            };
            run.seconds = (0..10).map(|at| second(10 + at % 3)).collect();
            run.times = DurationCounts::new([(took, 200)]);
            run.service.min = 0.9 * took;
        }
    }

    #[test]
    fn a_third_without_a_response_at_any_load() {
        assert_eq!(judged(&RULE, dropping(0.05), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, dropping(0.5), counted(&[])), Some("consistent"), "ten in flight, none queueing");
        let latest_first = |run: &mut LoadResults| {
            dropping(0.05)(run);
            run.times = DurationCounts::new([(0.05, 180), (0.9, 20)]);
        };
        assert_eq!(judged(&RULE, latest_first, counted(&[])), None, "a tenth waited: it is a queue, a stack");
        let few = |run: &mut LoadResults| {
            dropping(0.05)(run);
            run.seconds.iter_mut().for_each(|s| s.unanswered = 0);
        };
        assert_eq!(judged(&RULE, few, counted(&[])), None, "all were answered");
    }

    #[test]
    fn other_failures_are_requests_as_well() {
        let mut case = Case { run: crate::rules::made_up::run(), ..Case::default() };
        dropping(0.05)(&mut case.run);
        let unanswered: u64 = case.run.seconds.iter().map(|s| s.unanswered).sum();
        let of = |kind: &str, count| FailureCount { kind: kind.into(), count, ..FailureCount::default() };
        case.run.failures = vec![of("timeout", unanswered), of("wrong_status", 2 * unanswered)];
        let claim = RULE.judge_host(&case).expect("a finding").claim(Lang::En);
        assert!(claim.starts_with("20.0 % of the requests"), "{claim}");
    }

    #[test]
    fn what_times_out_at_the_end_of_a_queue_is_overload() {
        let overloaded = |run: &mut LoadResults| {
            run.seconds = queue([300.0; 12], 200.0, 1.0);
            run.times = DurationCounts::new([(0.9, 2000)]);
            run.service.min = 0.005;
        };
        assert_eq!(judged(&RULE, overloaded, counted(&[])), None, "a queue, whether or not it was seen as one");
        let late = |run: &mut LoadResults| {
            dropping(0.05)(run);
            for (at, s) in run.seconds.iter_mut().enumerate() {
                s.answered_in_flight = at as f64;
                s.unanswered = if at < 7 { 0 } else { 20 };
            }
        };
        assert_eq!(judged(&RULE, late, counted(&[])), None, "only at high load");
    }
}
