//! N6: the sockets of this machine ran out of memory.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N6",
    origin: CounterOrigin::Either,
    stage: PathStage::ClientKernel,
    title: text("Out of socket memory", "套接字内存耗尽"),
    symptom: text("stalls with very many connections", "连接极多时出现停顿"),
    remedy: text(
        "use fewer connections or smaller buffers (tcp_rmem, tcp_wmem); net.ipv4.tcp_mem counts pages, not bytes",
        "减少连接或缩小缓冲区（tcp_rmem、tcp_wmem）；net.ipv4.tcp_mem 的单位是页而非字节",
    ),
    experiment: text("with half the connections, both counters should stop rising", "连接数减半后，这两个计数应不再上升"),
    caution: Some(text(
        "net.ipv4.tcp_mem is in pages: three million of them are 12 GB",
        "net.ipv4.tcp_mem 的单位是页：三百万页即 12 GB",
    )),
    judge,
};

const CLAIM: Text = text("this machine ran out of socket memory", "本机的套接字内存耗尽");
const EVIDENCE: Text = text(
    "TcpExt TCPMemoryPressures +{pressed}, TCPAbortOnMemory +{aborted}",
    "TcpExt TCPMemoryPressures +{pressed}，TCPAbortOnMemory +{aborted}",
);
const USED: Text =
    text("; up to {used} pages, with pressure starting at {limit}", "；最多 {used} 页，从 {limit} 页起即有内存压力");

fn judge(case: &Case) -> Option<RuleVerdict> {
    counted(case).or_else(|| watched_log::found(case, CLAIM, &["tcp_memory"]))
}

fn counted(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let [pressed, aborted] =
        ["TcpExt.TCPMemoryPressures", "TcpExt.TCPAbortOnMemory"].map(|name| here.increase(name).unwrap_or(0.0));
    if pressed + aborted <= 0.0 {
        return None;
    }
    let mut evidence = LocalizedSentence::new(EVIDENCE, [("pressed", whole(pressed)), ("aborted", whole(aborted))]);
    if let (Some(used), Some(limit)) = (here.max("sockstat.TCP.mem"), here.last("setting.tcp_mem.pressure")) {
        evidence = evidence.with_clause(USED, [("used", whole(used)), ("limit", whole(limit))]);
    }
    Some(proved(CLAIM, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "tcp_memory");
    }

    #[test]
    fn memory_of_sockets() {
        let pressed = |n| counted(&[("TcpExt.TCPMemoryPressures", 1.0, 1.0 + n), ("TcpExt.PruneCalled", 0.0, 9.0)]);
        assert_eq!(judged(&RULE, |_| (), pressed(2.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), pressed(0.0)), None, "a full buffer of one socket is no shortage");
    }
}
