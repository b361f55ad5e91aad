//! N2: the accept queue of the service was full: connections arrived faster than they were accepted.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N2",
    origin: CounterOrigin::Service,
    stage: PathStage::ServerKernel,
    title: text("A full accept queue", "accept 队列已满"),
    symptom: text(
        "connects take 1, 3 or 7 s, or time out, while the service is not busy",
        "建连耗时 1、3、7 秒或超时，而服务并不忙",
    ),
    remedy: text(
        "raise the backlog, both in the service's listen() and in net.core.somaxconn (the smaller one applies); accept \
            faster: more acceptors, SO_REUSEPORT; leave net.ipv4.tcp_abort_on_overflow at 0",
        "同时加大服务 listen() 的 backlog 与 net.core.somaxconn（以较小者为准）；加快 accept：增加 acceptor、使用 SO_REUSEPORT；net.ipv4.tcp_abort_on_overflow 保持为 0",
    ),
    experiment: text(
        "with no more users than the queue holds, the counter should stay flat",
        "用户数不超过队列长度时，该计数应不再上升",
    ),
    caution: Some(text(
        "a backlog of a million only turns refusals into timeouts: size it as accept rate × tolerable wait",
        "百万级的 backlog 只是把拒绝变成超时：长度应为 accept 速率 × 可容忍的等待时间",
    )),
    judge,
};

const CLAIM: Text = text(
    "the accept queue of {listener} overflowed: connections that did not fit were dropped and retried after 1 s, 3 \
        s, 7 s",
    "{listener} 的 accept 队列溢出：放不下的连接被丢弃，在 1、3、7 秒后重试",
);
const SHAPE: Text = text(
    "connections seem to be dropped on the way in: {share} took a second or more, which is how long a SYN \
        retransmission takes",
    "连接请求疑似被丢弃：{share} 的建连耗时一秒以上，正是 SYN 重传所需的时间",
);
const EVIDENCE: Text = text(
    "TcpExt ListenOverflows +{n}; queue length up to {queue} of {limit}",
    "TcpExt ListenOverflows +{n}；队列长度最高 {queue}，上限 {limit}",
);
const SYNS: Text = text("TcpExt TCPSynRetrans +{n}", "TcpExt TCPSynRetrans +{n}");

/// Minimum share of connections that waited for a second SYN, required if there is no other evidence.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    let is_used_up = case.reported_by("prometheus.").find_map(super::stuck_listener::used_up).is_some();
    let (claim, evidence, proof, users) = match full(case) {
        // A proxy that has all the connections it allows does not accept: a longer queue would only hide that.
        Some(_) if is_used_up => return None,
        Some((listener, queue, limit)) => {
            let overflows = here.increase("TcpExt.ListenOverflows").unwrap_or(0.0);
            let [n, queue, held] = [overflows, queue, limit].map(whole);
            let claim = LocalizedSentence::new(CLAIM, [("listener", listener.to_owned())]);
            let evidence = LocalizedSentence::new(EVIDENCE, [("n", n), ("queue", queue), ("limit", held)]);
            (claim, evidence, Proof::Proved, (limit as u64).max(1))
        }
        None => {
            let again = here.increase("TcpExt.TCPSynRetrans").filter(|n| *n > 0.0)?;
            if run.connect.second_or_more < SHARE || run.connect.count == 0 || here.has_increased("TcpExt.ListenOverflows") {
                return None;
            }
            let claim = LocalizedSentence::new(SHAPE, [("share", numbers::share(run.connect.second_or_more))]);
            let evidence = LocalizedSentence::new(SYNS, [("n", whole(again))]);
            (claim, evidence, Proof::Consistent, 4)
        }
    };
    Some(RuleVerdict::new(proof, claim, evidence).repeated_with(ExperimentLoad::Users(users)))
}

/// Returns the service's listener whose queue was full while the kernel counted overflows, or whose drops increased.
fn full(case: &Case) -> Option<(&str, f64, f64)> {
    let here = &case.counters;
    here.name_middles("listener.", ".limit").find_map(|listener| {
        let limit = here.last(&format!("listener.{listener}.limit"))?;
        let queue = here.max(&format!("listener.{listener}.queue"))?;
        // A listener also drops packets for other reasons (a segment without a connection), and the kernel counts
        // overflows of all listeners together, so only both counters are evidence for this queue. A queue holds one
        // connection more than its limit.
        let this_one = queue >= limit || here.has_increased(&format!("listener.{listener}.drops"));
        (here.has_increased("TcpExt.ListenOverflows") && this_one).then_some((listener, queue, limit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    const HERE: &str = "listener.127.0.0.1:80.limit";

    fn queue(most: f64, overflows: f64, drops: f64) -> crate::CounterSummary {
        counted(&[
            (HERE, 5.0, 5.0),
            ("listener.127.0.0.1:80.queue", 0.0, most),
            ("listener.127.0.0.1:80.drops", 0.0, drops),
            ("TcpExt.ListenOverflows", 1.0, 1.0 + overflows),
        ])
    }

    #[test]
    fn a_queue_that_overflows() {
        assert_eq!(judged(&RULE, |_| (), queue(6.0, 40.0, 0.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), queue(2.0, 40.0, 40.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), queue(6.0, 0.0, 0.0)), None, "full for a moment, and nobody was turned away");
        assert_eq!(judged(&RULE, |_| (), queue(1.0, 40.0, 0.0)), None, "somebody else's queue");
        assert_eq!(judged(&RULE, |_| (), queue(1.0, 0.0, 40.0)), None, "dropped for another reason");
    }

    #[test]
    fn a_proxy_that_has_all_its_connections_does_not_need_a_longer_queue() {
        let haproxy = |now: f64| {
            counted(&[
                ("prometheus.haproxy_process_current_connections", 0.0, now),
                ("prometheus.haproxy_process_max_connections", 100.0, 100.0),
            ])
        };
        let found = |now| {
            let reported = vec![haproxy(now)];
            RULE.judge_host(&Case { counters: queue(6.0, 40.0, 0.0), reported, ..Case::default() }).is_some()
        };
        assert!(!found(100.0) && found(40.0), "its maxconn is the limit, or it is not");
    }

    #[test]
    fn a_target_elsewhere_shows_it_by_its_connects() {
        let syns = |n| counted(&[("TcpExt.TCPSynRetrans", 0.0, n)]);
        let slow = DurationStats { count: 100, second_or_more: 0.3, ..DurationStats::default() };
        assert_eq!(judged(&RULE, |run| run.connect = slow, syns(30.0)), Some("consistent"));
        assert_eq!(judged(&RULE, |run| run.connect = slow, syns(0.0)), None, "slow, but nothing was sent again");
        assert_eq!(judged(&RULE, |_| (), syns(30.0)), None, "sent again, but by somebody else");
    }
}
