//! N9: an old kernel rejects clients that share an address, because of their timestamps.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N9",
    origin: CounterOrigin::Service,
    stage: PathStage::ServerKernel,
    title: text("Connections dropped because of timestamps", "因时间戳丢弃连接"),
    symptom: text(
        "clients behind one NAT fail at random; kernels up to 4.11",
        "同一 NAT 后面的客户端随机失败；内核 4.11 及更早",
    ),
    remedy: text(
        "set net.ipv4.tcp_tw_recycle=0, also wherever it is set at boot; Linux 4.12 removed it",
        "设置 net.ipv4.tcp_tw_recycle=0，并从启动配置中删除；Linux 4.12 已移除该选项",
    ),
    experiment: text("with tcp_tw_recycle at 0, the counter should stop rising", "tcp_tw_recycle 为 0 后，该计数应不再上升"),
    caution: Some(text(
        "advice to set net.ipv4.tcp_tw_recycle=1 is outdated: it breaks NAT",
        "建议设置 net.ipv4.tcp_tw_recycle=1 的资料已经过时：该设置会破坏 NAT",
    )),
    judge,
};

const CLAIM: Text = text(
    "the service's kernel dropped connections because of their timestamps: clients sharing an address fail at random",
    "服务端内核因时间戳丢弃了连接：共用同一地址的客户端会随机失败",
);
const EVIDENCE: Text = text("TcpExt PAWSPassive +{dropped}", "TcpExt PAWSPassive +{dropped}");

fn judge(case: &Case) -> Option<RuleVerdict> {
    let dropped = case.counters.increase("TcpExt.PAWSPassive").filter(|dropped| *dropped > 0.0)?;
    if !case.run.waited_to_connect() {
        return None;
    }
    let evidence = LocalizedSentence::new(EVIDENCE, [("dropped", whole(dropped))]);
    Some(proved(CLAIM, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn connections_that_an_old_kernel_drops() {
        let felt = |run: &mut crate::LoadResults| run.connect.second_or_more = 0.1;
        let paws = |to: f64| counted(&[("TcpExt.PAWSPassive", 2.0, to)]);
        assert_eq!(judged(&RULE, felt, paws(9.0)), Some("proved"));
        assert_eq!(judged(&RULE, felt, paws(2.0)), None);
        assert_eq!(judged(&RULE, |_| (), paws(9.0)), None, "none of ours waited");
    }
}
