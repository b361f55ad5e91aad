//! N1: segments were lost and retransmitted.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N1",
    origin: CounterOrigin::Either,
    stage: PathStage::Network,
    title: text("Lost segments", "网络丢包"),
    symptom: text(
        "a latency plateau at 200 ms and above, throughput below what the link can carry",
        "延迟在 200 毫秒以上出现台阶，吞吐量低于链路的承载能力",
    ),
    remedy: text(
        "find the hop that drops packets: interface errors and drops, duplex, a shaper or a policer; no sysctl fixes it",
        "找出丢包的那一跳：网卡错误与丢弃、双工、整形或限速；调 sysctl 无济于事",
    ),
    experiment: text(
        "from a machine next to the service, RetransSegs should not rise",
        "在紧邻服务的机器上压测时，RetransSegs 不应上升",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the network lost segments: {share} were retransmitted, each costing 200 ms or more",
    "网络丢包：{share} 的报文段被重传，每次至少等待 200 毫秒",
);
const EVIDENCE: Text = text("Tcp RetransSegs +{again} of OutSegs +{sent}", "Tcp RetransSegs +{again}，OutSegs +{sent}");

/// Share of retransmitted segments above which latency is affected.
const SHARE: f64 = 0.001;
/// Minimum number of retransmissions: a few are normal.
const LEAST: f64 = 20.0;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (again, sent) = (case.counters.increase("Tcp.RetransSegs")?, case.counters.increase("Tcp.OutSegs")?);
    // A SYN is also retransmitted if the peer does not answer; drops of a full accept queue on this machine have their
    // own counter. A tail loss probe checks whether the last segment arrived; it did, except for the probes that
    // recovered one (RFC 8985, section 7).
    let rise = |name: &str| case.counters.increase(&format!("TcpExt.{name}")).unwrap_or(0.0);
    let probes = (rise("TCPLossProbes") - rise("TCPLossProbeRecovery")).max(0.0);
    let again = again - rise("TCPSynRetrans") - probes;
    let there = case.service_host.as_ref().map(|elsewhere| &elsewhere.counters);
    let drops =
        |host: &CounterSummary| ["ListenDrops", "TCPReqQFullDrop"].iter().any(|name| host.has_increased(&format!("TcpExt.{name}")));
    if drops(&case.counters)
        || there.is_some_and(drops)
        || !case.run.may_have_lost_segments()
        || !(again >= LEAST && again > SHARE * sent)
    {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::percent(again as u64, sent as u64))]);
    let facts = [again, sent].map(whole);
    let [again, sent] = facts;
    let evidence = LocalizedSentence::new(EVIDENCE, [("again", again), ("sent", sent)]);
    Some(proved(claim, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    /// Gives a run a duration as long as a retransmission takes.
    fn lost(run: &mut LoadResults) {
        run.service.longest = 0.25;
    }

    #[test]
    fn lost_data_is_told_and_dropped_syns_are_not() {
        let counters = |again, syn| {
            let all =
                [("Tcp.RetransSegs", 5.0, 5.0 + again), ("Tcp.OutSegs", 0.0, 1e5), ("TcpExt.TCPSynRetrans", 0.0, syn)];
            counted(&all)
        };
        assert_eq!(judged(&RULE, lost, counters(1000.0, 0.0)), Some("proved"));
        assert_eq!(judged(&RULE, lost, counters(1000.0, 1000.0)), None);
        assert_eq!(judged(&RULE, lost, counters(10.0, 0.0)), None);
        assert_eq!(judged(&RULE, |_| (), counters(1000.0, 0.0)), None, "somebody else's: nothing of ours took so long");
        let full = [("Tcp.RetransSegs", 0.0, 500.0), ("Tcp.OutSegs", 0.0, 1e4), ("TcpExt.ListenDrops", 0.0, 9.0)];
        assert_eq!(judged(&RULE, lost, counted(&full)), None, "a listener of this machine dropped them");
        assert_eq!(judged(&RULE, lost, counted(&[])), None);
        let probed = |recovered: f64| {
            counted(&[
                ("Tcp.RetransSegs", 0.0, 500.0),
                ("Tcp.OutSegs", 0.0, 1e5),
                ("TcpExt.TCPLossProbes", 0.0, 500.0),
                ("TcpExt.TCPLossProbeRecovery", 0.0, recovered),
            ])
        };
        assert_eq!(judged(&RULE, lost, probed(0.0)), None, "every one of them had come");
        assert_eq!(judged(&RULE, lost, probed(400.0)), Some("proved"), "400 had not");
    }
}
