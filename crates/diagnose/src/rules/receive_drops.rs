//! N7: packets were dropped between the driver and the sockets.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "this machine dropped received packets: its cores could not keep up",
    "本机丢弃了已收到的报文：CPU 处理不过来",
);
const EVIDENCE: Text = text(
    "softnet_stat dropped +{dropped}, TcpExt TCPBacklogDrop +{backlog}",
    "softnet_stat 丢弃 +{dropped}，TcpExt TCPBacklogDrop +{backlog}",
);
const REMEDY: Text = text(
    "spread the interface's queues over more cores (RSS, RPS, interrupt affinity); net.core.netdev_max_backlog where only the first counter rises",
    "将网卡队列分散到更多核（RSS、RPS、中断亲和性）；若只有前者上升，可调 net.core.netdev_max_backlog",
);
const EXPERIMENT: Text = text("at half the rate, both counters should stop rising", "速率减半后，这两个计数应不再上升");

pub(super) const PAGE: Page = Page {
    rule: "N7",
    title: text("Received packets dropped", "接收丢包"),
    sign: text("a ceiling in packets per second, with one core busy in softirq", "每秒包数见顶，某个核的软中断很高"),
    remedy: REMEDY,
    beware: None,
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let [dropped, backlog] =
        ["softnet.all.dropped", "TcpExt.TCPBacklogDrop"].map(|name| case.here.rise(name).unwrap_or(0.0));
    if dropped + backlog <= 0.0 || !case.run.may_have_lost() {
        return None;
    }
    let [dropped, backlog] = [dropped, backlog].map(|n| words::show::count(n as u64));
    let evidence = Said::new(EVIDENCE, [("dropped", dropped), ("backlog", backlog)]);
    let found = Found::new("N7", Stage::Network, Proof::Proved, plain(CLAIM), evidence);
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};
    use crate::run::Run;

    /// This run has the sign of it.
    fn felt(run: &mut Run) {
        run.service.longest = 0.25;
    }

    #[test]
    fn drops_and_not_squeezes() {
        let of = |dropped| counted(&[("softnet.all.dropped", 7.0, 7.0 + dropped), ("softnet.all.squeezed", 0.0, 99.0)]);
        assert_eq!(judged(judge, felt, of(12.0)), Some("proved"));
        assert_eq!(judged(judge, |_| (), of(12.0)), None, "somebody else's: nothing of ours shows it");
        assert_eq!(judged(judge, felt, of(0.0)), None);
    }
}
