//! C7: a network interface was saturated.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C7",
    origin: CounterOrigin::Either,
    stage: PathStage::Network,
    title: text("A full link", "链路已满"),
    symptom: text("throughput × response size is constant, whatever the size", "无论响应多大，吞吐量 × 响应大小都不变"),
    remedy: text("use smaller or compressed responses, or a faster path", "减小或压缩响应，或换用更快的链路"),
    experiment: text("with bodies half the size, throughput should double", "响应正文减半后，吞吐量应翻倍"),
    caution: Some(text("100 Mb/s is 12.5 MB/s, headers included", "100 Mb/s 只有 12.5 MB/s，含协议头")),
    judge,
};

const CLAIM: Text = text(
    "the link {link} was full: {used} MB/s of the {most} MB/s it carries",
    "链路 {link} 已满：{used} MB/s，上限 {most} MB/s",
);
const EVIDENCE: Text =
    text("byte counters: +{bytes} in {span} s at {speed} Mb/s", "字节计数器：{span} 秒内 +{bytes}，速率 {speed} Mb/s");
const SHAPED: Text = text(
    "responses arrive exactly as fast as a {nominal} Mb/s link can carry them: {used} MB/s",
    "响应的到达速度正好是 {nominal} Mb/s 链路的上限：{used} MB/s",
);
const SEEN: Text = text(
    "responses of {size} each fill {share} of {nominal} Mb/s, not counting TCP, IP and Ethernet headers",
    "每个响应 {size}，合计占 {nominal} Mb/s 的 {share}，不含 TCP、IP 与以太网首部",
);

/// Share of its speed at which a link is saturated (V17).
const FULL: f64 = 0.9;

/// Common speeds of links and traffic shapers (Mb/s).
const SPEEDS: [f64; 5] = [10.0, 100.0, 1000.0, 2500.0, 10000.0];
/// Share of a saturated link that carries TCP payload: 1,448 of 1,514 to 1,538 bytes, less a little for
/// acknowledgements and direction changes.
const CARRIED: std::ops::RangeInclusive<f64> = 0.92..=0.965;
/// Minimum mean response size in bytes; bandwidth does not limit smaller responses.
const SIZE: f64 = 16_000.0;
/// Minimum share of the service time spent transferring the response.
const TRANSFER: f64 = 0.1;

/// Busy share below which cores and workers are considered idle.
const IDLE: f64 = 0.7;

/// Returns the speed (Mb/s) of the link that the responses seem to saturate: they are large, spend time in transfer,
/// and arrive at the rate of a common link.
pub(super) fn shaped(case: &Case) -> Option<f64> {
    let run = &case.run;
    let size = run.received_per_s / run.ended_per_s;
    let in_transfer = run.transfers.median() >= TRANSFER * run.service.mean;
    // Copies within one machine keep its cores busy.
    let copied = run.busiest_worker >= IDLE || case.counters.busy_cores().is_some_and(|(busy, cores)| busy >= IDLE * cores);
    if !run.is_saturated() || size.is_nan() || size < SIZE || !in_transfer || copied {
        return None;
    }
    SPEEDS.into_iter().find(|speed| CARRIED.contains(&(run.received_per_s * 8e-6 / speed)))
}

/// Detects a saturated link whose speed no interface reports (a shaper, or a hop in between) from response sizes and
/// rates.
fn seems_full(case: &Case) -> Option<RuleVerdict> {
    let nominal = shaped(case)?;
    let run = &case.run;
    let facts = [("nominal", format!("{nominal:.0}")), ("used", numbers::megabytes_per_s(run.received_per_s))];
    let seen = [
        ("share", numbers::share(run.received_per_s * 8e-6 / nominal)),
        ("nominal", format!("{nominal:.0}")),
        ("size", numbers::bytes((run.received_per_s / run.ended_per_s) as u64)),
    ];
    Some(consistent(LocalizedSentence::new(SHAPED, facts), LocalizedSentence::new(SEEN, seen)))
}

fn judge(case: &Case) -> Option<RuleVerdict> {
    is_full(case).or_else(|| seems_full(case))
}

fn is_full(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let full = here.name_middles("net.", ".speed_mbps").filter(|link| *link != "lo").find_map(|link| {
        let speed = here.last(&format!("net.{link}.speed_mbps")).filter(|speed| *speed > 0.0)?;
        let ways = ["rx_bytes", "tx_bytes"].map(|way| here.increase(&format!("net.{link}.{way}")).unwrap_or(0.0));
        let bytes = ways[0].max(ways[1]);
        (bytes / here.span_s() >= FULL * speed * 1e6 / 8.0).then_some((link, bytes, speed))
    });
    let (link, bytes, speed) = full.filter(|_| case.run.is_saturated())?;
    let facts = [
        ("link", link.to_owned()),
        ("used", numbers::megabytes_per_s(bytes / here.span_s())),
        ("most", numbers::megabytes_per_s(speed * 1e6 / 8.0)),
    ];
    let counts = [
        ("bytes", numbers::bytes(bytes as u64)),
        ("span", format!("{:.0}", here.span_s())),
        ("speed", format!("{speed:.0}")),
    ];
    let bound = StatedBound::Capacity { most: speed * 1e6 / 8.0, used: bytes / here.span_s() };
    Some(proved(LocalizedSentence::new(CLAIM, facts), LocalizedSentence::new(EVIDENCE, counts)).stating(bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn responses_as_fast_as_a_link_carries_them_look_like_one() {
        let run = |bytes: f64, transfer: f64| {
            move |run: &mut LoadResults| {
                (run.received_per_s, run.ended_per_s) = (bytes, 116.0);
                run.service.mean = 0.068;
                run.transfers = DurationCounts::new([(transfer, 700)]);
            }
        };
        assert_eq!(judged(&RULE, run(11.75e6, 0.050), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, run(117.5e6, 0.050), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, run(9.0e6, 0.050), counted(&[])), None, "no such link");
        assert_eq!(judged(&RULE, run(11.75e6, 0.001), counted(&[])), None, "a slow service");
        let copying = |change: &mut LoadResults| {
            run(1175e6, 0.05)(change);
            change.busiest_worker = 0.8;
        };
        assert_eq!(judged(&RULE, copying, counted(&[])), None, "bytes copied within a machine");
        let small = |change: &mut LoadResults| {
            run(11.75e6, 0.05)(change);
            change.ended_per_s = 11_750.0;
        };
        assert_eq!(judged(&RULE, small, counted(&[])), None, "small responses");
    }

    #[test]
    fn a_full_link_is_told_and_a_fast_one_is_not() {
        let link = |name: &str, bytes: f64, speed: f64| {
            let names = ["rx_bytes", "tx_bytes", "speed_mbps"].map(|what| format!("net.{name}.{what}"));
            counted(&[(&*names[0], 0.0, bytes), (&*names[1], 0.0, 1.0), (&*names[2], speed, speed)])
        };
        assert_eq!(judged(&RULE, |_| (), link("eth0", 12e7, 100.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), link("eth0", 12e7, 1000.0)), None);
        assert_eq!(judged(&RULE, |_| (), link("lo", 12e7, 100.0)), None);
        assert_eq!(judged(&RULE, |run| run.has_pauses = true, link("eth0", 12e7, 100.0)), None);
    }
}
