//! The highest constant rate that one core sustains, for each generator, found by bisection: a rate
//! is sustained if at least 999 of 1,000 scheduled requests were sent and 99 of 100 arrived at most
//! a millisecond late. Both are computed from the built-in target's log of arrivals, in the same
//! way for all generators.
//!
//! A single schedule of equal gaps is fitted to the arrivals ([`lateness`]). A generator with one schedule per
//! connection (wrk2, h2load) sends bursts when these coincide, and that counts: a constant rate was requested, and a
//! server sees the bursts. The first half second, in which connections are opened, is excluded.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::lateness::{at_quantile, lateness};
use super::peer::Peer;
use super::scenario::BenchScenario;
use super::{BenchSettings, history, scenario};
use crate::measure::{self, GENERATOR_CORE};
use crate::pair::{LoggedArrival, LoggingTarget};
use crate::places;

/// Minimum share of scheduled requests that must be sent.
const SENT: f64 = 0.999;
/// Maximum 99th percentile of the lateness in nanoseconds.
const LATE: f64 = 1e6;
/// Initial time in which arrivals are ignored, in nanoseconds.
const SETTLING: u64 = 500_000_000;
/// Rates are multiples of this, so that each of a hundred connections has a whole-number rate.
const STEP: u32 = 100;
const LOWEST: u32 = 1_000;
const MOST: u32 = 1_000_000;
/// Ratio of the failing to the sustained rate at which the search ends.
const NEAR: f64 = 1.03;
/// Maximum number of attempts at a rate, since the machine may have been disturbed.
const TRIES: u32 = 2;
/// Minimum ratio of brunt's rate to the best of the others.
const LIMIT: f64 = 1.3;

const PEERS: [Peer; 6] = [Peer::BruntEpoll, Peer::BruntUring, Peer::Wrk2, Peer::H2load, Peer::Oha, Peer::Vegeta];

/// The result of one attempt at a rate, from the target's log.
#[derive(Clone, Copy, Debug)]
struct RateTrial {
    /// Share of the scheduled requests that were sent.
    sent: f64,
    /// The 99th percentile of the lateness in nanoseconds.
    late: f64,
}

impl RateTrial {
    fn of(arrivals: &[LoggedArrival], rate: u32, seconds: u32) -> RateTrial {
        let window = |from: u64| from + SETTLING..from + SETTLING + u64::from(seconds) * 1_000_000_000;
        let window = arrivals.first().map_or(0..0, |first| window(first.arrived));
        let within: Vec<_> = arrivals.iter().copied().filter(|arrival| window.contains(&arrival.arrived)).collect();
        let late = lateness(&within, 1e9 / f64::from(rate));
        let late = if late.is_empty() { f64::INFINITY } else { at_quantile(&late, 0.99) };
        RateTrial { sent: within.len() as f64 / (f64::from(rate) * f64::from(seconds)), late }
    }

    fn is_kept(self) -> bool {
        self.sent >= SENT && self.late <= LATE
    }
}

pub(super) fn run(settings: &BenchSettings) -> Result<(), String> {
    let Some(brunt) = &settings.brunt else {
        println!("skipped: the target is part of brunt, which is not available");
        return Ok(());
    };
    let open = scenario::ALL.iter().find(|s| s.rate.is_some()).ok_or("no scenario is open")?;
    let (mut best, mut results) = ([0_u32; 2], serde_json::Map::new());
    println!("sustained: sent ≥ {SENT} of the scheduled requests, p99 of lateness ≤ {:.0} ms", LATE / 1e6);
    for peer in PEERS {
        if !settings.wants(peer.name()) {
            continue;
        }
        let Some((rate, seen)) = highest(|rate| tried(peer, open, rate, brunt, settings))? else {
            println!("{:<12} is skipped: it is not installed", peer.name());
            continue;
        };
        match seen {
            Some(RateTrial { sent, late }) => {
                println!(
                    "{:<12} sustains {rate:>8}/s   sent {sent:.4}, p99 of lateness {:.0} µs",
                    peer.name(),
                    late / 1e3
                );
            }
            None => println!("{:<12} sustains no rate, not even {LOWEST}/s", peer.name()),
        }
        let of = &mut best[usize::from(!peer.is_brunt())];
        *of = rate.max(*of);
        results.insert(peer.name().replace(' ', "_"), json!({ "kept_per_second": rate }));
    }
    let [mine, theirs] = best;
    if mine > 0 && theirs > 0 {
        let ratio = f64::from(mine) / f64::from(theirs);
        println!(
            "brunt / the best of the others: {ratio:.2}; limit {LIMIT}: {}",
            if ratio >= LIMIT { "kept" } else { "MISSED" }
        );
    }
    if settings.keep_history { history::keep("highest", results.into(), settings, 1.0) } else { Ok(()) }
}

/// Finds the highest rate that `trial` reports as sustained, and its result; 0 if not even the lowest is. `None` if the
/// generator is not installed.
fn highest(
    mut trial: impl FnMut(u32) -> Result<Option<RateTrial>, String>,
) -> Result<Option<(u32, Option<RateTrial>)>, String> {
    let mut kept: (u32, Option<RateTrial>) = (0, None);
    let (mut rate, mut broken) = (LOWEST, None);
    while rate <= MOST {
        let Some(seen) = trial(rate)? else { return Ok(None) };
        if seen.is_kept() {
            kept = (rate, Some(seen));
        } else {
            broken = Some(rate);
        }
        let next = match broken {
            None => rate * 2,
            // Not even the lowest rate is sustained.
            Some(_) if kept.0 == 0 => break,
            Some(broken) => (kept.0 + broken) / 2 / STEP * STEP,
        };
        if broken.is_some_and(|broken| f64::from(broken) <= f64::from(kept.0) * NEAR) || next <= kept.0 {
            break;
        }
        rate = next;
    }
    Ok(Some(kept))
}

/// Repeats a failing rate up to [`TRIES`] times; returns the last result.
fn tried(
    peer: Peer,
    open: &BenchScenario,
    rate: u32,
    brunt: &Path,
    settings: &BenchSettings,
) -> Result<Option<RateTrial>, String> {
    let mut last = None;
    for _ in 0..TRIES {
        last = one_try(peer, &BenchScenario { rate: Some(rate), ..*open }, rate, brunt, settings.seconds)?;
        if last.is_none_or(RateTrial::is_kept) {
            break;
        }
    }
    Ok(last)
}

fn one_try(
    peer: Peer,
    open: &BenchScenario,
    rate: u32,
    brunt: &Path,
    seconds: u32,
) -> Result<Option<RateTrial>, String> {
    let name = format!("highest-{}", peer.name().replace(' ', "-"));
    let folder = places::scratch("bench")?;
    let target = LoggingTarget::start(brunt, &name, "")?;
    // One second longer than the measured window: half before, half after.
    let document = folder.join(format!("{name}.json"));
    let Some(what) = peer.invocation(open, &target.url("/"), seconds + 1, Some(brunt), &document) else {
        return Ok(None);
    };
    let longest = Duration::from_secs(u64::from(seconds) + 30);
    measure::run(&what, GENERATOR_CORE, &folder.join(format!("{name}.out")), longest, |_| {})?;
    let mut arrivals = target.finish()?;
    if peer.is_brunt() && !arrivals.is_empty() {
        // This is the probe, sent before the load.
        arrivals.remove(0);
    }
    Ok(Some(RateTrial::of(&arrivals, rate, seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_found_by_halving() {
        for (most, wanted) in
            [(900, 0..1), (1_000, 1_000..1_001), (37_000, 35_900..37_001), (5_000_000, 512_000..1_000_001)]
        {
            let mut trials = 0;
            let found = highest(|rate| {
                trials += 1;
                Ok(Some(RateTrial { sent: if rate <= most { 1.0 } else { 0.9 }, late: 0.0 }))
            });
            let (rate, _) = found.expect("no trouble").expect("it is here");
            assert!(wanted.contains(&rate) && rate % STEP == 0 && trials < 20, "{most}: {rate} by {trials}");
        }
        assert!(highest(|_| Ok(None)).expect("no trouble").is_none());
    }

    #[test]
    fn a_rate_is_kept_where_hardly_anything_is_missing_or_late() {
        // In each thousand (or ten thousand) arrivals a gap of ten to the millisecond; then one of a hundred is never
        // sent.
        for (each, gap_ms, missing, kept) in
            [(10_000, 6, 0, true), (1_000, 6, 0, false), (1_000, 1, 0, true), (1_000, 0, 100, false)]
        {
            let due = (0..40_000_u64).filter(|n| missing == 0 || n % missing != 7);
            // A request due in the gap arrives at its end.
            let arrived = due.map(|n| if n % each < gap_ms * 10 { n / each * each + gap_ms * 10 } else { n } * 100_000);
            let arrivals: Vec<LoggedArrival> = arrived.map(|arrived| LoggedArrival { arrived, answered: 0 }).collect();
            let seen = RateTrial::of(&arrivals, 10_000, 3);
            assert_eq!(seen.is_kept(), kept, "{each} {gap_ms} {missing}: {seen:?}");
        }
        assert!(!RateTrial::of(&[], 10_000, 3).is_kept());
    }
}
