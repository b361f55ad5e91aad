//! C7: a network interface carried all that it can.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "the link {link} was full: {used} MB/s of the {most} MB/s it carries",
    "链路 {link} 已满：{used} MB/s，上限 {most} MB/s",
);
const EVIDENCE: Text = text(
    "its byte counters: +{bytes} in {span} s at {speed} Mb/s",
    "其字节计数：{span} 秒内 +{bytes}，速率 {speed} Mb/s",
);
const REMEDY: Text = text("smaller or compressed responses, or a faster path", "减小或压缩响应，或换用更快的链路");
const EXPERIMENT: Text = text("with a body half as large throughput must double", "响应体减半后，吞吐量应翻倍");

/// The share of its speed at which a link is full (V17).
const FULL: f64 = 0.9;

pub(super) const PAGE: Page = Page {
    rule: "C7",
    title: text("A full link", "链路已满"),
    sign: text(
        "throughput × size of a response is the same whatever the size",
        "吞吐量×响应大小 与响应大小无关，恒定不变",
    ),
    remedy: REMEDY,
    beware: Some(text("100 Mb/s carry 12.5 MB/s, headers included", "100 Mb/s 只有 12.5 MB/s，含协议头")),
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let here = &case.here;
    let full = here.between("net.", ".speed_mbps").filter(|link| *link != "lo").find_map(|link| {
        let speed = here.last(&format!("net.{link}.speed_mbps")).filter(|speed| *speed > 0.0)?;
        let ways = ["rx_bytes", "tx_bytes"].map(|way| here.rise(&format!("net.{link}.{way}")).unwrap_or(0.0));
        let bytes = ways[0].max(ways[1]);
        (bytes / here.span_s() >= FULL * speed * 1e6 / 8.0).then_some((link, bytes, speed))
    });
    let (link, bytes, speed) = full.filter(|_| case.run.is_pressed())?;
    let facts = [
        ("link", link.to_owned()),
        ("used", words::show::megabytes_per_s(bytes / here.span_s())),
        ("most", words::show::megabytes_per_s(speed * 1e6 / 8.0)),
    ];
    let counts = [
        ("bytes", words::show::bytes(bytes as u64)),
        ("span", format!("{:.0}", here.span_s())),
        ("speed", format!("{speed:.0}")),
    ];
    let found = Found::new("C7", Stage::Network, Proof::Proved, Said::new(CLAIM, facts), Said::new(EVIDENCE, counts));
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn a_full_link_is_told_and_a_fast_one_is_not() {
        let link = |name: &str, bytes: f64, speed: f64| {
            let names = ["rx_bytes", "tx_bytes", "speed_mbps"].map(|what| format!("net.{name}.{what}"));
            counted(&[(&*names[0], 0.0, bytes), (&*names[1], 0.0, 1.0), (&*names[2], speed, speed)])
        };
        assert_eq!(judged(judge, |_| (), link("eth0", 12e7, 100.0)), Some("proved"));
        assert_eq!(judged(judge, |_| (), link("eth0", 12e7, 1000.0)), None);
        assert_eq!(judged(judge, |_| (), link("lo", 12e7, 100.0)), None);
        assert_eq!(judged(judge, |run| run.has_pauses = true, link("eth0", 12e7, 100.0)), None);
    }
}
