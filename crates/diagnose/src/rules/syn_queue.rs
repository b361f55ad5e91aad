//! N3: connection requests were dropped before they were established, or answered with SYN cookies.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N3",
    origin: CounterOrigin::Service,
    stage: PathStage::ServerKernel,
    title: text("SYN queue full", "半连接队列已满"),
    symptom: text("connects take a second during bursts of new connections", "新连接突发时建连耗时 1 秒"),
    remedy: text(
        "raise the backlog, net.core.somaxconn and net.ipv4.tcp_max_syn_backlog; leave net.ipv4.tcp_syncookies at 1",
        "加大 backlog、net.core.somaxconn 与 net.ipv4.tcp_max_syn_backlog；net.ipv4.tcp_syncookies 保持为 1",
    ),
    experiment: text("with keep-alive, both counters should stop rising", "使用长连接后，这两个计数应不再上升"),
    caution: Some(text(
        "net.ipv4.tcp_syncookies=0 makes a full queue drop silently: leave it at 1",
        "net.ipv4.tcp_syncookies=0 会使队列满时静默丢弃连接：请保持为 1",
    )),
    judge,
};

const CLAIM: Text = text("the service's machine had no room for half-open connections", "服务所在机器的半连接队列已满");
const EVIDENCE: Text = text(
    "TcpExt TCPReqQFullDrop +{dropped}, TCPReqQFullDoCookies +{cookies}",
    "TcpExt TCPReqQFullDrop +{dropped}，TCPReqQFullDoCookies +{cookies}",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    counted(case).or_else(|| watched_log::warned(case, CLAIM, &["syn_flood"]).filter(|_| case.run.waited_to_connect()))
}

fn counted(case: &Case) -> Option<RuleVerdict> {
    let [dropped, cookies] =
        ["TcpExt.TCPReqQFullDrop", "TcpExt.TCPReqQFullDoCookies"].map(|name| case.counters.increase(name).unwrap_or(0.0));
    if dropped + cookies <= 0.0 || !case.run.waited_to_connect() {
        return None;
    }
    // Connections stay half-open if the accept queue is full: a full SYN queue is then a consequence, and another rule
    // reports the cause.
    if case.counters.has_increased("TcpExt.ListenOverflows") {
        return None;
    }
    // Clients answered with a cookie could connect.
    let proof = if dropped > 0.0 { Proof::Proved } else { Proof::Consistent };
    let [dropped, cookies] = [dropped, cookies].map(whole);
    let evidence = LocalizedSentence::new(EVIDENCE, [("dropped", dropped), ("cookies", cookies)]);
    Some(RuleVerdict::new(proof, CLAIM, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    /// Gives a run the symptom.
    fn felt(run: &mut LoadResults) {
        run.connect.second_or_more = 0.1;
    }

    #[test]
    fn its_line_in_the_log_of_the_kernel() {
        let log = counted(&[("log.syn_flood", 0.0, 1.0)]);
        assert_eq!(crate::rules::made_up::judged_told(&RULE, felt, log.clone()), Some("proved"));
        assert_eq!(crate::rules::made_up::judged_told(&RULE, |_| (), log), None, "no connect waited");
    }

    #[test]
    fn half_open_connections() {
        assert_eq!(judged(&RULE, felt, counted(&[("TcpExt.TCPReqQFullDrop", 0.0, 4.0)])), Some("proved"));
        assert_eq!(judged(&RULE, felt, counted(&[("TcpExt.TCPReqQFullDoCookies", 0.0, 4.0)])), Some("consistent"));
        let accepts_slowly = [("TcpExt.TCPReqQFullDoCookies", 0.0, 4.0), ("TcpExt.ListenOverflows", 0.0, 9.0)];
        assert_eq!(
            judged(&RULE, felt, counted(&accepts_slowly)),
            None,
            "the accept queue is full, and this comes of it"
        );
        assert_eq!(
            judged(&RULE, |_| (), counted(&[("TcpExt.TCPReqQFullDoCookies", 0.0, 4.0)])),
            None,
            "somebody else's: nothing of ours shows it"
        );
        assert_eq!(judged(&RULE, felt, counted(&[("TcpExt.SyncookiesRecv", 0.0, 4.0)])), None);
    }
}
