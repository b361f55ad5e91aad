//! C6: arrivals waited because the run's connection limit was reached.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C6",
    origin: CounterOrigin::Generator,
    stage: PathStage::Generator,
    title: text("All connections in use", "压测连接已用尽"),
    symptom: text(
        "a rate is not sustained, arrivals wait for a connection, and service times are normal",
        "速率未能维持，请求在等待连接，而服务时间正常",
    ),
    remedy: text(
        "raise --max-connections if real clients open more; otherwise this is what the service does with this many \
            connections",
        "若真实客户端有更多连接，请提高 --max-connections；否则这就是服务在这么多连接下的表现",
    ),
    experiment: text(
        "with --max-connections {double}, either throughput rises, or service time does, and then the service is the \
            limit",
        "用 --max-connections {double} 再测：若吞吐量上升，瓶颈在连接数；若服务时间上升，瓶颈在服务",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "every connection of this run ({limit}) was in use: at {service} per request, they carry {most}/s at most",
    "本次压测的 {limit} 个连接已全部占用：每个请求耗时 {service}，最多承载 {most}/s",
);
const OPENING: Text = text(
    "every connection of this run ({limit}) was taken, but only {in_flight} requests were in flight: the other \
        connections were still being opened",
    "本次压测的 {limit} 个连接已全部占用，但在途请求只有 {in_flight} 个：其余连接仍在建立",
);
const OPENING_REMEDY: Text = text(
    "first find out why connections are slow to open or fail: more of them would only wait too",
    "先查明建立连接为何缓慢或失败：增加连接数只会让更多连接等待",
);
const EVIDENCE: Text =
    text("{waited} of {scheduled} requests waited for a connection", "{scheduled} 个请求中有 {waited} 个等待连接");

/// Share of the total connection capacity below which requests in flight do not account for all connections.
const IN_USE: f64 = 0.75;
/// Minimum share of arrivals that waited.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let waited = run.waited_for_connection as f64 > SHARE * run.scheduled as f64;
    if !(run.is_open && run.is_overloaded && waited && run.connections > 0) {
        return None;
    }
    let limit = ("limit", numbers::count(u64::from(run.connections)));
    let places = f64::from(run.connections) * f64::from(run.per_connection.max(1));
    // The time for which a request holds a connection, by Little's law, including requests that failed.
    let held = if run.ended_per_s > 0.0 { run.in_flight / run.ended_per_s } else { 0.0 };
    let (claim, remedy, bound) = if run.in_flight >= IN_USE * places && held > 0.0 {
        let facts = [limit, ("service", numbers::seconds(held)), ("most", numbers::rate(places / held))];
        (LocalizedSentence::new(CLAIM, facts), RULE.remedy, Some(StatedBound::RequestsPerS(places / held)))
    } else {
        let claim = LocalizedSentence::new(OPENING, [limit, ("in_flight", format!("{:.0}", run.in_flight))]);
        (claim, OPENING_REMEDY, None)
    };
    let counts =
        [("waited", numbers::count(run.waited_for_connection)), ("scheduled", numbers::count(run.scheduled))];
    let found = consistent(claim, LocalizedSentence::new(EVIDENCE, counts));
    let double = numbers::count(2 * u64::from(run.connections)).replace(',', "");
    let found = found.remedy(remedy).experiment_with([("double", double)]);
    Some(match bound {
        Some(bound) => found.stating(bound),
        None => found,
    })
}

/// Returns `true` if the connections of this run are the limit: all are in use, and the service has no queue.
pub(super) fn are_the_limit(case: &Case) -> bool {
    case.run.serves_alone() && judge(case).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn a_full_pool_of_ours_is_told_where_the_rate_was_not_kept() {
        let open = |waited: u64, overloaded: bool| {
            move |run: &mut LoadResults| {
                (run.is_open, run.connections, run.is_overloaded) = (true, 8, overloaded);
                run.waited_for_connection = waited;
            }
        };
        assert_eq!(judged(&RULE, open(5_000, true), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, open(5_000, false), counted(&[])), None, "the rate was kept");
        assert_eq!(judged(&RULE, open(5, true), counted(&[])), None, "hardly anybody waited");
    }

    #[test]
    fn the_bound_is_what_the_connections_held_for_and_never_below_what_was_measured() {
        let claim = |change: fn(&mut LoadResults)| {
            let mut run = LoadResults { is_open: true, is_overloaded: true, connections: 8, ..crate::rules::made_up::run() };
            (run.waited_for_connection, run.in_flight, run.ended_per_s) = (5_000, 8.0, 100.0);
            run.succeeded_per_s = 90.0;
            change(&mut run);
            RULE.judge_host(&Case { run, ..Case::default() }).unwrap().claim(brunt_i18n::Lang::En)
        };
        // Eight requests of 80 ms each, regardless of the mean of the successful ones.
        assert!(claim(|_| ()).ends_with("at 80.0 ms per request, they carry 100/s at most"), "{}", claim(|_| ()));
        let streams = |run: &mut LoadResults| (run.per_connection, run.in_flight) = (4, 32.0);
        assert!(claim(streams).contains("at 320 ms per request, they carry 100/s"), "{}", claim(streams));
        assert!(claim(|run| run.in_flight = 1.0).contains("only 1 requests"), "{}", claim(|run| run.in_flight = 1.0));
    }
}
