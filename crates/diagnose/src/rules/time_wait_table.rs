//! N4: the kernel's TIME_WAIT table was full, so it destroyed some closed connections at once.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N4",
    origin: CounterOrigin::Either,
    stage: PathStage::ClientKernel,
    title: text("The TIME_WAIT table overflows", "TIME_WAIT 表溢出"),
    symptom: text("odd resets when connections close at a high rate", "高速关闭连接时出现异常的连接重置"),
    remedy: text(
        "use keep-alive, or raise net.ipv4.tcp_max_tw_buckets (never lower it)",
        "使用长连接；或提高 net.ipv4.tcp_max_tw_buckets，切勿降低",
    ),
    experiment: text("without --no-keepalive, the counter should stop rising", "去掉 --no-keepalive 后，该计数应不再上升"),
    caution: Some(text(
        "the kernel documentation advises against lowering tcp_max_tw_buckets",
        "内核文档要求不要调低 tcp_max_tw_buckets",
    )),
    judge,
};

const CLAIM: Text = text("this machine's TIME_WAIT table overflowed", "本机的 TIME_WAIT 连接表溢出");
const EVIDENCE: Text = text("TcpExt TCPTimeWaitOverflow +{n}", "TcpExt TCPTimeWaitOverflow +{n}");

/// Minimum number of connections that a run must open to fill the table.
const LEAST: u64 = 1000;

fn judge(case: &Case) -> Option<RuleVerdict> {
    counted(case).or_else(|| watched_log::found(case, CLAIM, &["time_wait_full"]))
}

fn counted(case: &Case) -> Option<RuleVerdict> {
    let n = case.counters.increase("TcpExt.TCPTimeWaitOverflow").filter(|n| *n > 0.0 && case.run.opened >= LEAST)?;
    let evidence = LocalizedSentence::new(EVIDENCE, [("n", whole(n))]);
    Some(proved(CLAIM, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    /// Gives a run the symptom.
    fn felt(run: &mut LoadResults) {
        run.opened = 50_000;
    }

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "time_wait_full");
    }

    #[test]
    fn an_overflow_within_the_window() {
        assert_eq!(judged(&RULE, felt, counted(&[("TcpExt.TCPTimeWaitOverflow", 3.0, 9.0)])), Some("proved"));
        assert_eq!(
            judged(&RULE, |_| (), counted(&[("TcpExt.TCPTimeWaitOverflow", 3.0, 9.0)])),
            None,
            "somebody else's: nothing of ours shows it"
        );
        assert_eq!(judged(&RULE, felt, counted(&[("TcpExt.TCPTimeWaitOverflow", 9.0, 9.0)])), None);
    }
}
