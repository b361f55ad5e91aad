//! S11: the service responded to no request for a second or more, and did not refuse connections either.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S11",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("The service stalled", "服务停顿"),
    symptom: text(
        "for about a second or more no request succeeds, though some are in flight; then it resumes, or never does",
        "虽有请求在途，却在一秒或更久的时间里没有请求成功；之后恢复，或再也没有恢复",
    ),
    remedy: text(
        "find out what the service and its backends did at that moment: a full GC, a checkpoint, a failover, a lock \
            everything waits for, a paused machine or container",
        "查明服务及其依赖当时在做什么：Full GC、checkpoint、故障切换、所有请求都在等的锁、被暂停的机器或容器",
    ),
    experiment: text(
        "a stall that comes again at this load, but not with one user, is caused by the load; one that never comes again was \
            not",
        "若同样的负载下再次停顿、而只有一个用户时不停顿，就是负载所致；若不再出现，则与负载无关",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service stalled from {from} to {to}: requests were in flight or failed, and none succeeded",
    "服务在 {from} 到 {to} 之间停顿：有请求在途或失败，没有一个成功",
);
const TO_THE_END: Text = text(
    "the service stalled from {from} to the end of the run: requests were in flight or failed, and none succeeded",
    "服务自 {from} 起停顿直到压测结束：有请求在途或失败，没有一个成功",
);
const ONCE_MORE: Text = text("; this happened one other time", "，另有一次同样的停顿");
const MORE: Text = text("; this happened {n} more times", "，另有 {n} 次同样的停顿");
const EVIDENCE: Text = text(
    "no success for {length}; of {scheduled} requests, the longest successful one took {longest}, the mean was {mean}",
    "{length} 内没有成功的请求；共 {scheduled} 个请求，成功的请求最长耗时 {longest}，平均 {mean}",
);

/// Minimum number of successes that the outage cost, at the pace of the rest of the window: with fewer, requests are so
/// slow and so few that a pause between two successes is ordinary.
const MISSED: f64 = 10.0;

/// Returns the number of requests that would have succeeded in an outage at the pace of the rest of the window.
fn missed(run: &LoadResults, out: Outage) -> f64 {
    let length = out.to_s - out.from_s;
    let rest = run.window_s - length;
    if rest > 0.0 { run.succeeded_per_s * run.window_s / rest * length } else { f64::INFINITY }
}
const WATCHED: Text = text(
    "{service}, which is watched, stalled from {from} to {to}: it answered none of {n} queries, and responses took up to \
        {longest}, where half took {typical} or less",
    "受监视的 {service} 在 {from} 到 {to} 之间停顿：{n} 次查询均无回应，其间响应最长耗时 {longest}，而半数不超过 {typical}",
);
const WATCHED_EVIDENCE: Text = text(
    "{service} gave no reply to {n} of {queries} queries, and did before; the third slowest response of a second took \
        {longest} then, {usual} in the median second",
    "{service} 此前有回应，{queries} 次查询中有 {n} 次无回应；其间每秒第三慢的响应达 {longest}，各秒的中位数为 {usual}",
);
const SILENT: Text = text("; {service} did not reply either", "；{service} 同样没有回应");
const SILENT_EVIDENCE: Text = text(
    "; {service}, which is watched, answered none of {n} queries in that time, but did before",
    "；受监视的 {service} 此前有回应，这段时间内的 {n} 次查询均无回应",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    // A service that is down refuses connections, which another rule reports.
    let Some(out) = run.outage.filter(|_| super::gone::refused(case) == 0) else { return silent(run) };
    // A service beyond its capacity may work only on requests that have timed out by then.
    let is_overloaded = run.silent.is_empty() && (run.shortfall.is_some() || run.knee().is_some());
    if missed(run, out) < MISSED || is_overloaded || answered(run, out) as f64 >= MISSED {
        return None;
    }
    let claim = outage(if out.to_the_end { TO_THE_END } else { CLAIM }, out);
    let claim = match out.more {
        0 => claim,
        1 => claim.with_clause(ONCE_MORE, []),
        n => claim.with_clause(MORE, [("n", numbers::count(n))]),
    };
    let facts = [
        ("length", moment(out.to_s - out.from_s)),
        ("scheduled", numbers::count(run.scheduled)),
        ("longest", numbers::seconds(run.service.longest)),
        ("mean", numbers::seconds(run.service.mean)),
    ];
    let evidence = LocalizedSentence::new(EVIDENCE, facts);
    let Some(silent) = run.silent.first() else {
        return Some(consistent(claim, evidence).repeated_with(ExperimentLoad::Users(1)));
    };
    let service = || ("service", silent.name.clone());
    let (claim, n) = (claim.with_clause(SILENT, [service()]), numbers::count(silent.unanswered));
    let evidence = evidence.with_clause(SILENT_EVIDENCE, [service(), ("n", n)]);
    Some(proved(claim, evidence).at(stage_of(&silent.name, &run.url)))
}

/// Minimum response time in a stretch without replies, in seconds and as a multiple of the usual one.
const SLOW: f64 = 0.1;
const TIMES: f64 = 5.0;

/// Judges a watched service that was silent while responses were slow, although some requests succeeded.
fn silent(run: &LoadResults) -> Option<RuleVerdict> {
    let usual = crate::load_seconds::median(run.slow_each_second.iter().copied());
    let slowest = |out: &SilentStretch| {
        // What waited for the service ends in the second of its next reply.
        let seconds = (out.from_s.max(0.0) as usize)..=(out.to_s.max(0.0).ceil() as usize);
        let within = run.slow_each_second.iter().enumerate().filter(|(at, _)| seconds.contains(at));
        within.map(|(_, time)| *time).fold(0.0, f64::max)
    };
    let all = run.silent_stretches.iter().map(|out| (out, slowest(out)));
    let (out, longest) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if longest < SLOW.max(TIMES * usual) {
        return None;
    }
    let service = || ("service", out.name.clone());
    let (n, longest) = (|| ("n", numbers::count(out.unanswered)), || ("longest", numbers::seconds(longest)));
    let typical = ("typical", numbers::seconds(run.times.median()));
    let (from, to) = (("from", moment(out.from_s)), ("to", moment(out.to_s)));
    let claim = LocalizedSentence::new(WATCHED, [service(), from, to, n(), longest(), typical]);
    let (queries, usual) = (("queries", numbers::count(out.queries)), ("usual", numbers::seconds(usual)));
    let evidence = LocalizedSentence::new(WATCHED_EVIDENCE, [service(), n(), queries, longest(), usual]);
    Some(proved(claim, evidence).at(stage_of(&out.name, &run.url)))
}

/// Returns the number of responses in an outage: all were failures, so the service did not stand still.
fn answered(run: &LoadResults, out: Outage) -> u64 {
    let within = run.seconds.iter().filter(|s| s.from_s >= out.from_s && s.from_s + s.length_s <= out.to_s);
    within.map(|s| s.failed_responses).sum()
}

/// Returns the place of a watched service: it is the one under load itself, or one that it depends on.
fn stage_of(watched: &str, url: &str) -> PathStage {
    let address = watched.split_once('=').map_or(watched, |(_, address)| address);
    let is_target = !address.is_empty() && url.contains(address);
    if is_target { PathStage::Service } else { PathStage::Dependency }
}

/// Fills in a text about an outage, with times formatted as in the trust section.
pub(super) fn outage(text: Text, out: Outage) -> LocalizedSentence {
    LocalizedSentence::new(text, [("from", moment(out.from_s)), ("to", moment(out.to_s))])
}

fn moment(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_results::SilentService;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn a_watched_service_that_was_silent_is_named() {
        let stopped = |run: &mut LoadResults| {
            run.outage = Some(Outage { from_s: 4.0, to_s: 8.2, to_the_end: false, more: 0 });
            run.silent = vec![SilentService { name: "mysql=127.0.0.1:3306".into(), unanswered: 4 }];
        };
        assert_eq!(judged(&RULE, stopped, counted(&[])), Some("proved"));
        let mut case = Case { run: crate::rules::made_up::run(), ..Case::default() };
        stopped(&mut case.run);
        let found = RULE.find(&case, None).expect("a finding");
        assert_eq!(found.stage, PathStage::Dependency);
        assert!(found.claim(Lang::En).ends_with("none succeeded; mysql=127.0.0.1:3306 did not reply either"));
        assert_eq!(stage_of("redis=127.0.0.1:6379", "redis://127.0.0.1:6379"), PathStage::Service);
    }

    #[test]
    fn a_watched_service_that_was_silent_without_an_outage_is_named_where_responses_were_slow() {
        let stretch = SilentStretch { name: "redis=127.0.0.1:6379".into(), from_s: 4.0, to_s: 6.1, unanswered: 2, queries: 12 };
        let with = |slow: f64| {
            let stretch = stretch.clone();
            move |run: &mut LoadResults| {
                (run.is_open, run.silent_stretches) = (true, vec![stretch]);
                run.slow_each_second = (0..10).map(|at| if at == 5 { slow } else { 0.01 }).collect();
            }
        };
        assert_eq!(judged(&RULE, with(1.9), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, with(0.02), counted(&[])), None, "nobody waited for it");
        let elsewhere = |run: &mut LoadResults| {
            with(0.01)(run);
            run.slow_each_second[9] = 1.9;
        };
        assert_eq!(judged(&RULE, elsewhere, counted(&[])), None, "another moment");
    }

    #[test]
    fn a_time_without_a_success_is_repeated() {
        let out = |more, to_the_end| Some(Outage { from_s: 1.4, to_s: 2.7, to_the_end, more });
        for (more, to_the_end) in [(0, false), (1, false), (3, true)] {
            let stopped = |run: &mut LoadResults| run.outage = out(more, to_the_end);
            assert_eq!(judged(&RULE, stopped, counted(&[])), Some("consistent"));
        }
        assert_eq!(judged(&RULE, |_| (), counted(&[])), None);
        let refused = |run: &mut LoadResults| {
            run.outage = out(0, true);
            run.failures = vec![FailureCount { kind: "refused".into(), phase: "connect".into(), count: 9 }];
        };
        assert_eq!(judged(&RULE, refused, counted(&[])), None, "nobody listened: another rule's");
        let slow = |run: &mut LoadResults| {
            // Thirty slow queries in a pool of five: a wave of answers every 1.6 s.
            (run.outage, run.succeeded_per_s) = (Some(Outage { from_s: 3.2, to_s: 4.8, to_the_end: false, more: 3 }), 3.0);
        };
        assert_eq!(judged(&RULE, slow, counted(&[])), None, "the pool has its pace");
        let failing = |run: &mut LoadResults| {
            run.outage = out(0, true);
            let from_s = run.outage.map_or(0.0, |out| out.from_s);
            let second = crate::SecondFigures { from_s, length_s: 0.1, failed_responses: 50, ..Default::default() };
            run.seconds = vec![second];
        };
        assert_eq!(judged(&RULE, failing, counted(&[])), None, "it answered every request, with an error");
        let overloaded = |run: &mut LoadResults| {
            run.outage = out(0, true);
            run.shortfall = Some(RateShortfall::default());
        };
        assert_eq!(judged(&RULE, overloaded, counted(&[])), None, "it works on what has timed out");
    }
}
