//! L3: the rest of a response arrives 40 ms after its beginning: Nagle's algorithm on the server waits for a delayed
//! acknowledgement of the client.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "L3",
    origin: CounterOrigin::Generator,
    stage: PathStage::ServerKernel,
    title: text("40 ms stall after the first bytes", "首字节后停顿 40 毫秒"),
    symptom: text("a latency plateau at 40 ms while every CPU is idle", "延迟集中在 40 毫秒，而 CPU 空闲"),
    remedy: text(
        "set TCP_NODELAY on the service's connections, or send each response in one write (headers and body together); if it \
            is set already, the service itself writes the rest so much later",
        "在服务的连接上设置 TCP_NODELAY，或一次写出整个响应（头部与正文在同一次 write 中）；若已设置，则是服务自己晚写了其余部分",
    ),
    experiment: text(
        "with TCP_NODELAY the pause should be gone, and a single user's throughput should be many times higher",
        "设置 TCP_NODELAY 后停顿应消失，单用户吞吐量应成倍上升",
    ),
    caution: Some(text(
        "where responses wait longer for something else (a pool, the CPU), the pause costs latency but no throughput",
        "如果响应主要在等待其他资源（资源池、CPU），该停顿只影响延迟，不影响吞吐量",
    )),
    judge,
};

const CLAIM: Text = text(
    "Nagle's algorithm and delayed ACKs wait for each other: {share} of the responses stall for 40 ms after their \
        first bytes",
    "Nagle 算法与延迟确认互相等待：{share} 的响应在首字节后停顿 40 毫秒",
);
const EVIDENCE: Text = text(
    "first to last byte took 38 to 48 ms in {slow} of {count} responses; TcpExt DelayedACKs +{acks}",
    "{count} 个响应中有 {slow} 个首字节到末字节耗时 38 至 48 毫秒；TcpExt DelayedACKs +{acks}",
);

/// Range of the delay: a delayed acknowledgement waits 40 ms (`TCP_DELACK_MIN`), with a timer resolution of a few
/// milliseconds.
const FROM: f64 = 0.038;
const TO: f64 = 0.048;
/// Minimum share of the responses, and minimum number.
const SHARE: f64 = 0.2;
const LEAST: u64 = 5;
/// Minimum number of delayed acknowledgements per delayed response.
const DELAYED: f64 = 0.5;
/// Minimum share of the mean response time at which the pauses are the limit: if responses mostly wait for something
/// else, that limits throughput, and its queue would only grow without the pauses.
const MOST_OF_IT: f64 = 0.5;
const PAUSE: f64 = 0.04;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let transfers = &case.run.transfers;
    let slow = transfers.within(FROM, TO);
    let acks = case.counters.increase("TcpExt.DelayedACKs")?;
    if slow < LEAST || (slow as f64) < SHARE * transfers.count() as f64 || acks < DELAYED * slow as f64 {
        return None;
    }
    let facts = [
        ("slow", numbers::count(slow)),
        ("count", numbers::count(transfers.count())),
        ("acks", whole(acks)),
    ];
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::percent(slow, transfers.count()))]);
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)).limiting(holds_up(case, slow)))
}

/// Returns `true` if the pauses keep users from sending again, or connections from serving the next arrival.
fn holds_up(case: &Case, slow: u64) -> bool {
    let (run, all) = (&case.run, case.run.transfers.count().max(1));
    run.is_saturated() && PAUSE * slow as f64 / all as f64 >= MOST_OF_IT * run.service.mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, run};

    #[test]
    fn a_pause_within_responses() {
        let transfers = |at: f64, n: u64| move |run: &mut LoadResults| run.transfers = DurationCounts::new([(0.0, 100), (at, n)]);
        let acks = |n: f64| counted(&[("TcpExt.DelayedACKs", 3.0, 3.0 + n)]);
        assert_eq!(judged(&RULE, transfers(0.0405, 900), acks(900.0)), Some("consistent"));
        assert_eq!(judged(&RULE, transfers(0.0405, 900), acks(3.0)), None, "nobody delayed anything");
        assert_eq!(judged(&RULE, transfers(0.070, 900), acks(900.0)), None, "a slow body");
        assert_eq!(judged(&RULE, transfers(0.0405, 10), acks(900.0)), None, "few of them");
    }

    #[test]
    fn a_pause_limits_where_it_is_most_of_a_response() {
        let limits = |mean: f64, change: fn(&mut LoadResults)| {
            let mut run = LoadResults { transfers: DurationCounts::new([(0.0, 10), (0.0405, 900)]), ..run() };
            run.service.mean = mean;
            change(&mut run);
            let here = counted(&[("TcpExt.DelayedACKs", 0.0, 900.0)]);
            RULE.judge_host(&Case { run, counters: here, ..Case::default() }).unwrap().is_limit
        };
        assert!(limits(0.041, |_| ()), "nothing else");
        assert!(limits(0.062, |_| ()), "and 20 ms of work");
        assert!(!limits(0.126, |_| ()), "a pool of 4 places of 20 ms, and 24 users");
        assert!(!limits(0.041, |run| run.is_open = true), "the rate was kept");
    }
}
