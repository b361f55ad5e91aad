//! L4: responses took a round number of seconds, which suggests a timeout somewhere behind the service.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "L4",
    origin: CounterOrigin::Generator,
    stage: PathStage::Dependency,
    title: text("Responses at a round number of seconds", "整数秒后才响应"),
    symptom: text("some responses take exactly 5, 10, 15, 30 or 60 s", "部分响应恰好耗时 5、10、15、30 或 60 秒"),
    remedy: text(
        "find whose timeout it is: 5 s is usually a DNS server that does not respond (resolv.conf, options timeout); \
            others are in the configuration of the service, its pools and its proxies",
        "查明是哪里的超时：5 秒通常是 DNS 服务器无响应（resolv.conf 的 timeout），其余见服务、连接池与代理的配置",
    ),
    experiment: text(
        "changing that timeout should change the time of these responses with it",
        "修改该超时后，这些响应的耗时应随之改变",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "something behind the service hits a timeout of {time}: {slow} responses took exactly that much longer \
        than the others",
    "服务的后端发生 {time} 的超时：{slow} 个响应恰好比其他响应多耗时这么久",
);
const EVIDENCE: Text = text(
    "{slow} of {count} responses between {time} and 2% above it, {around} within half that distance on either side; median \
        {median}",
    "{count} 个响应中有 {slow} 个耗时在 {time} 至其 102 % 之间，前后各一半宽度的范围内有 {around} 个；中位数 {median}",
);

/// Common timeouts, in seconds.
const ROUND: [f64; 6] = [5.0, 10.0, 15.0, 20.0, 30.0, 60.0];
/// Maximum delay of such a response after the timeout, as a share.
const LATER: f64 = 0.02;
/// Tolerance below the timeout: times are recorded to one part in a hundred.
const EARLIER: f64 = 0.985;
/// Minimum number of such responses, and minimum ratio to the responses around them.
const LEAST: u64 = 3;
const PEAK: u64 = 5;
/// Maximum difference of a time from the length of the run, as a share of it, for the end of the run to explain it.
const OF_THE_RUN: f64 = 0.1;

fn judge(case: &Case) -> Option<RuleVerdict> {
    // A request that always takes this long is none: each name is compared with itself.
    let named = case.run.named_times.iter().map(|(_, times)| times);
    let all = Some(&case.run.times).filter(|_| case.run.named_times.is_empty());
    named.chain(all).find_map(|times| judge_times(case, times))
}

fn judge_times(case: &Case, times: &DurationCounts) -> Option<RuleVerdict> {
    let median = times.median();
    let peak = |at: f64| {
        let slow = times.within(at * EARLIER, at * (1.0 + LATER) + median);
        let around = times.within(0.75 * at, 1.25 * at).saturating_sub(slow);
        (slow >= LEAST && slow >= around.max(1).saturating_mul(PEAK) && median < at / 20.0)
            .then_some((at, slow, around))
    };
    // Responses that took as long as the run was held up until other users left at its end.
    let is_of_the_run = |at: f64| (at - case.run.window_s).abs() <= OF_THE_RUN * case.run.window_s;
    let (at, slow, around) = ROUND.into_iter().filter(|at| !is_of_the_run(*at)).find_map(peak)?;
    let time = numbers::seconds(at);
    let facts = [
        ("time", time.clone()),
        ("slow", numbers::count(slow)),
        ("around", numbers::count(around)),
        ("count", numbers::count(times.count())),
        ("median", numbers::seconds(median)),
    ];
    let claim = LocalizedSentence::new(CLAIM, [("time", time), ("slow", numbers::count(slow))]);
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn somebodys_timeout() {
        let times = |slow: &'static [(f64, u64)]| {
            move |run: &mut LoadResults| run.times = DurationCounts::new([(0.01, 900)].into_iter().chain(slow.iter().copied()))
        };
        assert_eq!(judged(&RULE, times(&[(5.013, 8)]), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, times(&[(30.2, 8)]), counted(&[])), Some("consistent"));
        let at_the_end = |run: &mut LoadResults| {
            times(&[(5.013, 8)])(run);
            run.window_s = 5.0;
        };
        assert_eq!(judged(&RULE, at_the_end, counted(&[])), None, "held up until the run was over");
        assert_eq!(judged(&RULE, times(&[(5.013, 8), (4.2, 5), (5.6, 5)]), counted(&[])), None, "slow in any way");
        assert_eq!(judged(&RULE, times(&[(5.6, 8)]), counted(&[])), None, "no round time");
        assert_eq!(
            judged(&RULE, |run| run.times = DurationCounts::new([(5.01, 50)]), counted(&[])),
            None,
            "that is its usual time"
        );
        let named = |poll: f64| {
            move |run: &mut LoadResults| {
                let of = |quick: u64, slow: u64| DurationCounts::new([(0.01, quick), (poll, slow)]);
                run.times = of(900, 50);
                run.named_times = vec![("/quick".into(), of(900, 0)), ("/poll".into(), of(0, 50))];
            }
        };
        assert_eq!(judged(&RULE, named(5.01), counted(&[])), None, "a long poll beside quick requests");
        let behind = |run: &mut LoadResults| {
            named(0.02)(run);
            run.named_times[0].1 = DurationCounts::new([(0.01, 900), (5.01, 8)]);
        };
        assert_eq!(judged(&RULE, behind, counted(&[])), Some("consistent"), "its own name is slow at times");
    }
}
