//! A second as a line of a page.

use std::collections::BTreeMap;

use brunt_record::{RunPart, Second};
use serde_json::{Value, json};

use super::flows::FlowFigures;
use super::histogram::numbers;
use crate::ranked::{Figure, RankedLatency, headline};

/// Returns the line of a second. `s`: its counts, in the order of `SECOND` in `web/src/lib/run.svelte.ts`; `h` and `a`:
/// its latency, and the lower bounds of unfinished requests; `d` and `u`: the latency of requests that brunt may have
/// delayed, and the same without the delays; `q`: p50, p95 and p99 of the latency (nanoseconds;
/// negative: a lower bound; 0: withheld); `f`: failures, each as `[kind, phase, errno, count]`; `k`: status codes; `e`:
/// checks, each as `[which, passed, failed]`; `x`: its flows.
pub(super) fn row(second: &Second, open: bool, grouping: u32, flows: Option<&FlowFigures>) -> Value {
    let s = second;
    let ranked = headline(&s.latency, open);
    let quantiles = [0.5, 0.95, 0.99].map(|q| figure(&ranked, q));
    let mut row = json!({
        "s": [
            ms(s.from_ns), ms(s.to_ns), part(s.part), s.due, s.sent, s.finished, s.failed, s.censored,
            s.finished_of_warmup, s.warmup, s.users, s.in_flight, s.waiting, s.bytes.sent, s.bytes.received,
            s.connections.opened, s.connections.failed, s.connections.lost, s.connections.open,
            s.cpu_ns / 1000, s.generator.busiest_cpu_ns / 1000,
        ],
        "q": quantiles,
        "h": numbers(ranked.finished, grouping),
    });
    let at_least = ranked.at_least.filter(|bounds| !bounds.is_empty());
    let own = ranked.own.map(|own| [("d", own.delayed), ("u", own.undelayed)]);
    let failures = failures(s);
    if let Value::Object(entries) = &mut row {
        entries.extend(at_least.map(|bounds| ("a".to_owned(), json!(numbers(bounds, grouping)))));
        let own = own.into_iter().flatten();
        entries.extend(own.map(|(key, latency)| (key.to_owned(), json!(numbers(latency, grouping)))));
        entries.extend((!failures.is_empty()).then(|| ("f".to_owned(), json!(failures))));
        let codes = codes(s);
        entries.extend((!codes.is_empty()).then(|| ("k".to_owned(), json!(codes))));
        let checks: Vec<[u64; 3]> = checks(s);
        entries.extend((!checks.is_empty()).then(|| ("e".to_owned(), json!(checks))));
        entries.extend(flows.map(|flows| ("x".to_owned(), json!(flows))));
    }
    row
}

/// Returns the figures of a second within a step: beginning, end (milliseconds), scheduled, sent, succeeded, failed,
/// succeeded of the warm-up, sent of the warm-up, and p50, p95 and p99 in microseconds (as in [`row`] otherwise).
pub(super) fn detail(second: &Second, open: bool) -> Value {
    let s = second;
    let ranked = headline(&s.latency, open);
    let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| figure(&ranked, q) / 1000);
    json!([
        ms(s.from_ns),
        ms(s.to_ns),
        s.due,
        s.sent,
        s.finished,
        s.failed,
        s.finished_of_warmup,
        s.warmup,
        p50,
        p95,
        p99,
    ])
}

fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

fn part(part: RunPart) -> u8 {
    match part {
        RunPart::Warmup => 0,
        RunPart::Window => 1,
        RunPart::Drain => 2,
    }
}

fn figure(ranked: &RankedLatency<'_>, q: f64) -> i64 {
    let whole = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    match ranked.quantile(q).figure {
        Figure::Exact(time) => whole(time.0),
        Figure::AtLeast(time) => -whole(time.0),
        Figure::Withheld => 0,
    }
}

/// Maximum number of distinct sorts and codes in a second: a record from another source may contain any number.
const SORTS: usize = 64;

/// A failure in the form of a page: kind, phase, errno and count.
type FailureEntry = (String, String, Option<String>, u64);

fn failures(second: &Second) -> Vec<FailureEntry> {
    let mut all: BTreeMap<(String, String, Option<String>), u64> = BTreeMap::new();
    let plain = |text: &str| brunt_measure::sanitize::line(text).into_owned();
    for failure in &second.failures {
        let sort = (plain(&failure.kind), plain(&failure.phase), failure.errno.as_deref().map(plain));
        let known = all.len() < SORTS || all.contains_key(&sort);
        let sort = if known { sort } else { ("other".into(), String::new(), None) };
        let count = all.entry(sort).or_default();
        *count = count.saturating_add(failure.count);
    }
    all.into_iter().map(|((kind, phase, errno), n)| (kind, phase, errno, n)).collect()
}

/// Returns the results of checks; the warm-up is not counted.
fn checks(second: &Second) -> Vec<[u64; 3]> {
    let counted = second.checks.iter().filter(|_| second.part != RunPart::Warmup);
    counted.map(|told| [u64::from(told.check), told.passed, told.failed]).collect()
}

/// Returns the counts of status codes; the warm-up is not counted.
fn codes(second: &Second) -> BTreeMap<String, u64> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for (code, n) in second.status.iter().filter(|_| second.part != RunPart::Warmup) {
        let code = brunt_measure::sanitize::line(code).into_owned();
        let code = if all.len() < SORTS || all.contains_key(&code) { code } else { "other".into() };
        let count = all.entry(code).or_default();
        *count = count.saturating_add(*n);
    }
    all
}
