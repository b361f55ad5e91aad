//! The rule that compares the load with the reference client (V10): a delay of the load that the client does not have
//! is queueing inside brunt. Delays of the load that may be brunt's own are left out: they have a size, which the bands
//! tell (`docs/measurement.md` 2.5), and this rule is for what bands do not hold, the length of ordinary turns.

use brunt_measure::Nanos;
use brunt_record::{ReferenceSecond, RunEvent, RunPart, Second};

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::ranked::{RankedLatency, headline};
use crate::text::{Text, text};

const QUEUED: Text = text(
    "requests waited inside brunt: service p50 was {load}, while the reference client saw {client} in the same \
        seconds, and the busiest worker used {share} of a core; use more workers (-w) or machines, or a lower load",
    "请求在发压端内部排队：服务时间 p50 为 {load}，而同一时段参照客户端测得的只有 {client}，且最忙的工作线程占用一个核的 {share}；请增加工作线程（-w）或机器，或降低负载",
);

/// Ratio of the load's median to the client's above which the load is slower, if their difference also exceeds
/// [`DIFFERENCE`] (`docs/measurement.md` 2.1, V10).
const RATIO: f64 = 1.25;
const DIFFERENCE: Nanos = Nanos::from_micros(50);
/// Minimum number of seconds, and the share of them in which the load must be slower.
const SECONDS: usize = 5;
const MOST_OF_THEM: f64 = 0.9;
/// Number of successes on either side below which a second has no meaningful median.
const LEAST: u64 = 5;
/// Share of a core below which no queue forms inside brunt; another component that serves connections unequally is then
/// the cause.
const BUSY: f64 = 0.5;
/// Maximum number of seconds kept; longer runs are judged by their first seconds.
const KEPT: usize = 1 << 16;

/// A time range and the median of the requests served in it, as measured and without brunt's own delays.
#[derive(Clone, Copy, Debug)]
struct MedianSecond {
    from_ns: i64,
    to_ns: i64,
    median: Nanos,
    undelayed: Nanos,
}

/// The medians of the load and of the client in the same second.
#[derive(Clone, Copy, Debug)]
struct MedianPair {
    load: MedianSecond,
    client: MedianSecond,
}

/// The seconds of the load and of the client that have a median.
#[derive(Debug, Default)]
pub(super) struct ReferenceRule {
    load: Vec<MedianSecond>,
    client: Vec<MedianSecond>,
}

impl TrustRule for ReferenceRule {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Second(second) if second.part == RunPart::Window => {
                let Second { from_ns, to_ns, latency, .. } = &**second;
                keep(&mut self.load, (*from_ns, *to_ns), headline(latency, false));
            }
            RunEvent::Reference(client) => {
                let ReferenceSecond { from_ns, to_ns, service, .. } = &**client;
                keep(&mut self.client, (*from_ns, *to_ns), RankedLatency::finished_only(service));
            }
            _ => {}
        }
    }

    fn findings(&self, run: &Evidence<'_>) -> Vec<Finding> {
        let pairs = self.pairs();
        let apart = pairs.iter().filter(|pair| is_slower(pair.load.undelayed, pair.client.median)).count();
        let share = run.totals.generator.busiest_share().unwrap_or(0.0);
        if pairs.len() < SECONDS || (apart as f64) < MOST_OF_THEM * pairs.len() as f64 || share < BUSY {
            return Vec::new();
        }
        let typical = |of: fn(&MedianPair) -> Nanos| {
            let mut all: Vec<Nanos> = pairs.iter().map(of).collect();
            all.sort_unstable();
            numbers::duration(all[all.len() / 2])
        };
        let facts = [
            ("load", typical(|pair| pair.load.median)),
            ("client", typical(|pair| pair.client.median)),
            ("share", numbers::share(share)),
        ];
        vec![Finding::new("queued_inside", Grade::Warn, QUEUED, facts)]
    }
}

impl ReferenceRule {
    /// Returns the medians of load and client in the same seconds: each second of the load is paired with the client's
    /// second whose middle it contains.
    fn pairs(&self) -> Vec<MedianPair> {
        let at = |client: &MedianSecond| {
            let middle = client.from_ns / 2 + client.to_ns / 2;
            let found = self.load.partition_point(|load| load.to_ns <= middle);
            let load = self.load.get(found).filter(|load| load.from_ns <= middle)?;
            Some(MedianPair { load: *load, client: *client })
        };
        self.client.iter().filter_map(at).collect()
    }
}

fn keep(kept: &mut Vec<MedianSecond>, (from_ns, to_ns): (i64, i64), service: RankedLatency<'_>) {
    let service = RankedLatency { at_least: None, ..service };
    if kept.len() == KEPT || service.count() < LEAST {
        return;
    }
    let estimate = service.quantile(0.5);
    if let Some(median) = estimate.figure.exact() {
        let undelayed = estimate.band.map_or(median, |band| band.least);
        kept.push(MedianSecond { from_ns, to_ns, median, undelayed });
    }
}

fn is_slower(load: Nanos, client: Nanos) -> bool {
    load.0 as f64 > RATIO * client.0 as f64 && load.0.saturating_sub(client.0) > DIFFERENCE.0
}

#[cfg(test)]
mod tests {
    use brunt_measure::Histogram;
    use brunt_record::GeneratorUsage;

    use super::*;
    use crate::rules::tests::found;

    const SECOND: i64 = 1_000_000_000;

    /// Creates ten seconds with these times of the load and of the client (microseconds), while the busiest
    /// worker used `busy` of a core.
    fn ten_seconds(took: impl Fn(i64) -> (u64, u64), busy: f64) -> Vec<RunEvent> {
        let of = |n: u64, us: u64| {
            let mut service = Histogram::new();
            service.record_n(Nanos::from_micros(us), n);
            service
        };
        let second = |at: i64| {
            let (load, client) = took(at);
            let (from_ns, to_ns) = (at * SECOND, (at + 1) * SECOND);
            let generator =
                GeneratorUsage { busiest_cpu_ns: (busy * SECOND as f64) as u64, ..GeneratorUsage::default() };
            let mut second = Second { from_ns, to_ns, generator, part: RunPart::Window, ..Second::default() };
            second.latency.service = of(1000, load);
            // The client's seconds begin at other times than those of the load.
            let (from_ns, to_ns) = (from_ns + 3_000_000, to_ns + 3_000_000);
            let client = ReferenceSecond { from_ns, to_ns, service: of(20, client), ..ReferenceSecond::default() };
            [RunEvent::Reference(Box::new(client)), RunEvent::Second(Box::new(second))]
        };
        (0..10).flat_map(second).collect()
    }

    #[test]
    fn queueing_inside_is_found_where_the_load_waits_longer_and_brunt_was_busy() {
        let said = found(ReferenceRule::default(), ten_seconds(|_| (900, 300), 0.8));
        assert_eq!((said[0].code, said[0].grade), ("queued_inside", Grade::Warn));
        let sentence = said[0].sentence(crate::Lang::En);
        assert!(sentence.contains("service p50 was 900 µs") && sentence.contains("saw 300 µs"), "{sentence}");
    }

    #[test]
    fn delays_that_the_band_tells_are_not_told_again() {
        let delayed = |by: u64| {
            let mut events = ten_seconds(|_| (900, 300), 0.8);
            for event in &mut events {
                if let RunEvent::Second(second) = event {
                    second.latency.service_delayed.record_n(Nanos::from_micros(900), 1000);
                    second.latency.service_undelayed.record_n(Nanos::from_micros(900 - by), 1000);
                }
            }
            found(ReferenceRule::default(), events).len()
        };
        assert_eq!([delayed(100), delayed(590)], [1, 0]);
    }

    #[test]
    fn load_and_client_that_queue_at_the_same_server_are_no_finding() {
        let silent = [
            ten_seconds(|_| (900, 850), 0.8),
            // A stall of the server affects both.
            ten_seconds(|at| if at == 4 { (90_000, 300) } else { (310, 300) }, 0.8),
            // Another component serves connections unequally.
            ten_seconds(|_| (900, 300), 0.2),
            // The difference is too small to matter.
            ten_seconds(|_| (70, 30), 0.8),
            ten_seconds(|_| (300, 900), 0.8),
            ten_seconds(|_| (900, 300), 0.8).split_off(12),
            Vec::new(),
        ];
        for (case, events) in silent.into_iter().enumerate() {
            assert_eq!(found(ReferenceRule::default(), events), [], "case {case}");
        }
    }
}
