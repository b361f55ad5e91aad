//! N5: the connection tracking table was full, so the kernel dropped packets of new connections.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N5",
    origin: CounterOrigin::Either,
    stage: PathStage::Network,
    title: text("Connection tracking table full", "连接跟踪表已满"),
    symptom: text(
        "connects through NAT, a firewall or a container host time out while everything else is fine",
        "经过 NAT、防火墙或容器主机时建连超时，其他一切正常",
    ),
    remedy: text(
        "raise net.netfilter.nf_conntrack_max with its hash size, or exempt the path under test (NOTRACK)",
        "提高 net.netfilter.nf_conntrack_max 及其哈希表大小，或对被测路径使用 NOTRACK",
    ),
    experiment: text("with keep-alive the table should stay far from full", "使用长连接后，该表应远未用满"),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "this machine's connection tracking table was full, and packets of new connections were dropped",
    "本机的连接跟踪表已满，新连接的数据包被丢弃",
);
const LOGGED: Text = text(
    "a connection tracking table was full, and packets of new connections were dropped",
    "连接跟踪表已满，新连接的数据包被丢弃",
);
const EVIDENCE: Text = text(
    "nf_conntrack: {count} of {max} entries, {dropped} dropped",
    "nf_conntrack：{count}/{max} 条，丢弃 {dropped} 个",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    counted(case).or_else(|| watched_log::found(case, LOGGED, &["conntrack_full"]))
}

fn counted(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let dropped: f64 =
        ["drop", "early_drop", "insert_failed"].iter().filter_map(|way| here.increase(&format!("conntrack.{way}"))).sum();
    let (count, max) = (here.max("conntrack.count")?, here.last("conntrack.max")?);
    // The kernel may also refuse entries for other reasons while the table is not full.
    if dropped <= 0.0 || count < 0.8 * max || !case.run.waited_to_connect() {
        return None;
    }
    let [count, max, dropped] = [count, max, dropped].map(whole);
    let evidence = LocalizedSentence::new(EVIDENCE, [("count", count), ("max", max), ("dropped", dropped)]);
    Some(proved(CLAIM, evidence))
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
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "conntrack_full");
    }

    #[test]
    fn a_full_table_that_drops() {
        let table = |count, dropped| {
            counted(&[
                ("conntrack.count", 10.0, count),
                ("conntrack.max", 1000.0, 1000.0),
                ("conntrack.drop", 0.0, dropped),
            ])
        };
        assert_eq!(judged(&RULE, felt, table(1000.0, 50.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), table(1000.0, 50.0)), None, "somebody else's: nothing of ours shows it");
        assert_eq!(judged(&RULE, felt, table(1000.0, 0.0)), None, "full, and nothing was lost by it");
        assert_eq!(judged(&RULE, felt, table(100.0, 50.0)), None, "dropped for another reason");
    }
}
