//! Lateness of the requests of an open load: the built-in target logs each arrival in nanoseconds, and a schedule of
//! equal gaps is fitted to the log.
//!
//! The i-th arrival was due at t0 + i·gap, where t0 is the latest time at which no arrival is early. The difference is
//! the generator's lateness plus the network delay, measured the same way for all.

use std::time::Duration;

use serde_json::json;

use super::peer::Peer;
use super::{BenchSettings, history, scenario};
use crate::measure::{self, GENERATOR_CORE};
use crate::pair::{LoggedArrival, LoggingTarget};
use crate::places;

pub(super) fn run(settings: &BenchSettings) -> Result<(), String> {
    let Some(brunt) = &settings.brunt else {
        println!("skipped: the target is part of brunt, which is not available");
        return Ok(());
    };
    let open = scenario::ALL.iter().find(|s| s.rate.is_some()).ok_or("no scenario is open")?;
    let rate = open.rate.unwrap_or(1);
    let mut results = serde_json::Map::new();
    println!("{:<12} {:>10} {:>10} {:>10} {:>10}  sent ÷ due", "lateness µs", "p50", "p90", "p99", "max");
    for peer in [Peer::BruntEpoll, Peer::BruntUring, Peer::BruntSlack, Peer::H2load, Peer::Oha, Peer::Vegeta] {
        if !settings.wants(peer.name()) {
            continue;
        }
        let name = format!("lateness-{}", peer.name().replace(' ', "-"));
        let folder = places::scratch("bench")?;
        let document = folder.join(format!("{name}.json"));
        let target = LoggingTarget::start(brunt, &name, "")?;
        let Some(what) = peer.invocation(open, &target.url("/"), settings.seconds, Some(brunt), &document) else {
            println!("{} is skipped: it is not installed", peer.name());
            continue;
        };
        let longest = Duration::from_secs(u64::from(settings.seconds) + 30);
        measure::run(&what, GENERATOR_CORE, &folder.join(format!("{name}.out")), longest, |_| {})?;
        let mut arrivals = target.finish()?;
        if peer.is_brunt() && !arrivals.is_empty() {
            // This is the probe, sent well before the load.
            arrivals.remove(0);
        }
        let late = lateness(&arrivals, 1e9 / f64::from(rate));
        let at = |q: f64| at_quantile(&late, q) / 1e3;
        let kept = arrivals.len() as f64 / (f64::from(rate) * f64::from(settings.seconds));
        println!(
            "{:<12} {:>10.1} {:>10.1} {:>10.1} {:>10.1}  {kept:.4}",
            peer.name(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0)
        );
        let figures = json!({ "p50_us": at(0.5), "p99_us": at(0.99), "max_us": at(1.0), "sent_by_due": kept });
        results.insert(peer.name().replace(' ', "_"), figures);
    }
    if settings.keep_history { history::keep("lateness", results.into(), settings, 1.0) } else { Ok(()) }
}

/// Returns a quantile of sorted values; 0 if there are none.
pub(super) fn at_quantile(sorted: &[f64], q: f64) -> f64 {
    sorted.get(((sorted.len() as f64 * q) as usize).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Returns the lateness of each arrival in nanoseconds, in ascending order.
pub(super) fn lateness(arrivals: &[LoggedArrival], gap: f64) -> Vec<f64> {
    let Some(first) = arrivals.first() else { return Vec::new() };
    let offset = |(i, arrival): (usize, &LoggedArrival)| (arrival.arrived - first.arrived) as f64 - i as f64 * gap;
    let mut offsets: Vec<f64> = arrivals.iter().enumerate().map(offset).collect();
    offsets.sort_by(f64::total_cmp);
    let earliest = offsets.first().copied().unwrap_or_default();
    offsets.iter().map(|offset| offset - earliest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lays_the_schedule_under_the_arrivals() {
        let arrivals: Vec<_> =
            [1_005, 1_100, 1_230, 1_300].map(|arrived| LoggedArrival { arrived, answered: 0 }).into();
        assert_eq!(lateness(&arrivals, 100.0), [0.0, 0.0, 5.0, 30.0]);
        assert_eq!(lateness(&[], 100.0), Vec::<f64>::new());
    }
}
