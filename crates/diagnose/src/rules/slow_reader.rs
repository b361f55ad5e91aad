//! N8: the sender stalls until the peer has read earlier data.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N8",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("A slow reader", "接收方读取太慢"),
    symptom: text(
        "uploads or downloads stall while neither the link nor a CPU is full",
        "上传或下载停顿，而链路与 CPU 均未满",
    ),
    remedy: text(
        "find out what the service does instead of reading (too few workers, its disk, a single thread); on a long \
            path, also check net.ipv4.tcp_rmem there",
        "查明服务为何不读取（工作线程太少、磁盘、单线程处理）；网络路径很长时还要检查对端的 net.ipv4.tcp_rmem",
    ),
    experiment: text(
        "with bodies of a few bytes throughput should rise, as they never fill the window",
        "改用几字节的正文，吞吐量应上升：这样接收窗口不会填满",
    ),
    caution: Some(text(
        "larger buffers only delay the stall: a slow reader fills them too",
        "加大缓冲区只能推迟停顿：接收方读得慢，再大也会被填满",
    )),
    judge,
};

const CLAIM: Text = text(
    "the service reads slowly: for {share} of the time spent sending to it, sending was stalled until it read more",
    "服务读取缓慢：向其发送数据的时间里，有 {share} 停下来等待服务读取",
);
const UNSEEN: Text = text(
    "for {share} of the time spent sending to the service, sending was stalled: it reads slowly, or its receive \
        buffer is too small for a round trip of {rtt}",
    "向服务发送数据的时间里，有 {share} 处于停顿：服务读取缓慢，或其接收缓冲区太小，不足以应对 {rtt} 的往返时间",
);
const OURS: Text = text(
    "brunt reads slowly: for {share} of the time the service spent sending, it was stalled until brunt read more",
    "brunt 读取缓慢：服务发送数据的时间里，有 {share} 停下来等待 brunt 读取",
);
const EVIDENCE: Text = text(
    "tcp_info of {sockets} connections, on the sending side: the receive window was full for {limited} s of {busy} s",
    "{sockets} 个连接的 tcp_info（发送方）：{busy} 秒中有 {limited} 秒接收窗口已满",
);
const UNREAD: Text = text("; {unread} kB unread on each at the receiver", "；接收方每个连接有 {unread} kB 未读");
const OUR_REMEDY: Text = text(
    "give brunt more workers (-w), generate the load from more machines, or use smaller responses",
    "增加 brunt 的工作线程（-w），或用更多机器发压，或减小响应体",
);
const OUR_EXPERIMENT: Text = text(
    "with half as many connections on the same workers, the share should fall",
    "用同样的工作线程、一半的连接再测，该比例应下降",
);

/// Minimum share of the sending time that was stalled.
const SHARE: f64 = 0.05;
/// Minimum stalled share of the whole time: on loopback, a reader that keeps up has a full window for 3 % of it.
const SHARE_OF_ALL: f64 = 0.1;
/// Minimum sending time in total, in seconds.
const LEAST_BUSY_S: f64 = 0.5;
/// Minimum mean number of unread bytes on a connection; with a reader that keeps up, fewer are in transit.
const UNREAD_LEAST: f64 = 4096.0;

fn judge(case: &Case) -> Option<RuleVerdict> {
    if !case.run.is_saturated() {
        return None;
    }
    let service = case.service_host.as_ref().map_or(&case.counters, |elsewhere| &elsewhere.counters);
    reads_slowly(&case.counters, service).or_else(|| {
        let host = case.service_host.as_ref().map(|elsewhere| elsewhere.host.clone());
        we_read_slowly(&case.counters, service).map(|found| found.on_host(host))
    })
}

/// Judges the service as the reader: sending from this machine is stalled.
fn reads_slowly(here: &CounterSummary, service: &CounterSummary) -> Option<RuleVerdict> {
    let sent = SendStats::of(here, "target.tcp")?;
    let Some(unread) = unread(service, "service.tcp") else {
        let rtt = ("rtt", numbers::seconds(here.mean("target.tcp.rtt")? / 1e6));
        let claim = LocalizedSentence::new(UNSEEN, [("share", numbers::share(sent.share)), rtt]);
        let found = consistent(claim, sent.evidence());
        return Some(found);
    };
    let evidence = sent.evidence_beside(unread)?;
    let claim = LocalizedSentence::new(CLAIM, [("share", numbers::share(sent.share))]);
    Some(proved(claim, evidence))
}

/// Judges the generator as the reader: sending from the service is stalled, and bytes are unread here.
fn we_read_slowly(here: &CounterSummary, service: &CounterSummary) -> Option<RuleVerdict> {
    let sent = SendStats::of(service, "service.tcp")?;
    let evidence = sent.evidence_beside(unread(here, "target.tcp")?)?;
    let claim = LocalizedSentence::new(OURS, [("share", numbers::share(sent.share))]);
    Some(proved(claim, evidence).at(PathStage::Generator).remedy(OUR_REMEDY).experiment(OUR_EXPERIMENT))
}

/// Returns the mean number of unread bytes per connection.
fn unread(counted: &CounterSummary, name: &str) -> Option<f64> {
    Some(counted.mean(&format!("{name}.unread"))? / counted.mean(&format!("{name}.sockets"))?)
}

/// Sending statistics of some connections.
struct SendStats {
    sockets: f64,
    busy_s: f64,
    limited_s: f64,
    share: f64,
}

impl SendStats {
    /// Returns the statistics; `None` if the connections hardly stalled, or hardly sent.
    fn of(counted: &CounterSummary, name: &str) -> Option<SendStats> {
        let rise = |what: &str| Some(counted.increase(&format!("{name}.{what}"))? / 1e6);
        let (busy_s, limited_s, time_s) = (rise("busy")?, rise("window_limited")?, rise("time")?);
        let waited = busy_s >= LEAST_BUSY_S && limited_s > SHARE * busy_s && limited_s > SHARE_OF_ALL * time_s;
        let sockets = counted.max(&format!("{name}.sockets"))?;
        waited.then(|| SendStats { sockets, busy_s, limited_s, share: (limited_s / busy_s).min(1.0) })
    }

    fn evidence(&self) -> LocalizedSentence {
        let facts = [
            ("sockets", numbers::count(self.sockets as u64)),
            ("limited", format!("{:.1}", self.limited_s)),
            ("busy", format!("{:.1}", self.busy_s)),
        ];
        LocalizedSentence::new(EVIDENCE, facts)
    }

    /// Returns the evidence, including the unread bytes at the receiver; `None` if it had read everything, so that
    /// something else kept the window small.
    fn evidence_beside(&self, unread: f64) -> Option<LocalizedSentence> {
        let lay = ("unread", format!("{:.0}", unread / 1000.0));
        (unread >= UNREAD_LEAST).then(|| self.evidence().with_clause(UNREAD, [lay]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::ServiceHost;
    use crate::rules::made_up::{counted, judged, run};

    /// Returns counters of eight connections over ten seconds: total time sending, total time stalled, and unread bytes
    /// per connection.
    fn connections(name: &str, busy_s: f64, limited_s: f64, unread: f64) -> CounterSummary {
        let names = ["time", "busy", "window_limited", "sockets", "unread", "rtt"].map(|what| format!("{name}.{what}"));
        let from = [0.0, 0.0, 0.0, 8.0, 8.0 * unread, 2e4];
        let to = [8e7, busy_s * 1e6, limited_s * 1e6, 8.0, 8.0 * unread, 2e4];
        let all: Vec<(&str, f64, f64)> =
            names.iter().zip(from.iter().zip(to)).map(|(name, (from, to))| (&**name, *from, to)).collect();
        counted(&all)
    }

    fn both(there: CounterSummary, here: CounterSummary) -> Case {
        let elsewhere = Some(ServiceHost { host: "web1".into(), counters: there, shares_kernel: false });
        Case { run: run(), counters: here, service_host: elsewhere, ..Case::default() }
    }

    fn seen(case: &Case) -> Option<(PathStage, Proof)> {
        RULE.judge_host(case).map(|found| (found.stage, found.proof))
    }

    #[test]
    fn sending_that_waits_is_a_slow_reader_where_bytes_lie_unread() {
        let sending = || connections("target.tcp", 60.0, 50.0, 0.0);
        let at_service = |unread| connections("service.tcp", 0.1, 0.0, unread);
        let slow = both(at_service(60e3), sending());
        assert_eq!(seen(&slow), Some((PathStage::Service, Proof::Proved)));
        let said = RULE.judge_host(&slow).unwrap().evidence(brunt_i18n::Lang::En);
        assert!(
            said.contains("8 connections") && said.contains("50.0 s of 60.0 s") && said.contains("60 kB"),
            "{said}"
        );
        assert_eq!(seen(&both(at_service(0.0), sending())), None, "all was read: the window is small by itself");
        assert_eq!(judged(&RULE, |_| (), sending()), Some("consistent"), "nobody counted there");
    }

    #[test]
    fn what_hardly_waits_or_hardly_sends_is_well() {
        let judged_of = |busy, limited| judged(&RULE, |_| (), connections("target.tcp", busy, limited, 0.0));
        assert_eq!(judged_of(60.0, 2.0), None, "3 % of it");
        assert_eq!(judged_of(0.4, 0.4), None, "next to nothing was sent");
        assert_eq!(judged_of(10.0, 7.0), None, "9 % of the time of all connections");
        assert_eq!(judged_of(20.0, 15.0), Some("consistent"));
        let kept = |run: &mut LoadResults| run.is_open = true;
        assert_eq!(judged(&RULE, kept, connections("target.tcp", 60.0, 50.0, 0.0)), None, "the rate was kept");
        assert_eq!(judged(&RULE, |_| (), counted(&[])), None);
    }

    #[test]
    fn what_lies_unread_here_is_ours() {
        let sending = || connections("service.tcp", 60.0, 50.0, 0.0);
        let found = RULE.judge_host(&both(sending(), connections("target.tcp", 0.1, 0.0, 1e6))).unwrap();
        assert_eq!((found.stage, found.proof, found.host.as_deref()), (PathStage::Generator, Proof::Proved, Some("web1")));
        assert_eq!(seen(&both(sending(), connections("target.tcp", 0.1, 0.0, 100.0))), None, "we had read everything");
        assert_eq!(seen(&both(sending(), counted(&[]))), None, "nobody saw who reads");
    }
}
