//! The page of a run of three hours with many names: small enough to send on.

use std::io::Write as _;

use brunt_measure::{Histogram, Nanos, PackedHistogram};
use brunt_record::{CounterValue, HostCounters, NamedCounts, NamedFigures, RunEvent, Second};
use brunt_report::{SecondsSource, Style, Summary};
use serde_json::Value;

use crate::html::lines;
use crate::run_builder::{FillSecond, open, second};

const SECONDS: i64 = 3 * 3600;
const NAMES: u16 = 50;

/// Returns a number that looks random, from 0 to 1.
fn noise(of: u64) -> f64 {
    let mixed = of.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a duration with a long tail, around `usual_us`.
fn took(of: u64, usual_us: f64) -> Nanos {
    Nanos((usual_us * 1000.0 / (1.001 - noise(of)).sqrt()) as u64)
}

/// Creates a second of 500 requests.
fn busy(n: i64) -> Second {
    let mut made = second(n);
    for name in 0..NAMES {
        let mut latency = PackedHistogram::default();
        let mut counts = NamedCounts { due: 10, payload: 6120, ..NamedCounts::default() };
        for request in 0..10_u64 {
            let of = (n as u64 * 1000 + u64::from(name)) * 16 + request;
            let took = took(of, 800.0 + 200.0 * f64::from(name));
            made = made.answered(1, took);
            latency.merge(&PackedHistogram::of(took, 1));
            counts.finished += 1;
        }
        let status = [("200".to_owned(), 10)].into();
        made.named.push(NamedFigures { name, counts, status, latency, ..NamedFigures::default() });
    }
    // What each request also has would only make the test slow.
    let latency = &mut made.latency;
    for unused in [&mut latency.wait_conn, &mut latency.gen_late, &mut latency.transfer] {
        *unused = Histogram::default();
    }
    made
}

fn counters(n: i64) -> RunEvent {
    let value = |name: usize| {
        let moved = n as u64 * (name as u64 + 1) + (noise(n as u64 * 7 + name as u64) * 50.0) as u64;
        let called = if name < 20 { format!("net.eth{name}.rx_bytes") } else { format!("Tcp.Other{name}") };
        (called, CounterValue::Whole(moved))
    };
    let values = (0..100).map(value).collect();
    RunEvent::Counters(HostCounters { at_ns: n * 1_000_000_000, host: "h".into(), values, ..HostCounters::default() })
}

/// The run, made event by event.
struct LongRun {
    around: Vec<RunEvent>,
    /// Seconds of which it consists in another order.
    pool: Vec<Second>,
}

impl LongRun {
    fn new() -> LongRun {
        let mut run = open(500.0, SECONDS as u64);
        run.names = (0..NAMES).map(|name| format!("GET /shop/section-{name}/item")).collect();
        LongRun { around: run.events(), pool: (0..97).map(busy).collect() }
    }

    /// Returns a second; some requests fail in the last minute of each hour.
    fn second(&self, n: i64) -> RunEvent {
        let at = (noise(n as u64) * self.pool.len() as f64) as usize;
        let mut made = self.pool[at].clone();
        (made.from_ns, made.to_ns) = (n * 1_000_000_000, (n + 1) * 1_000_000_000);
        RunEvent::Second(Box::new(if n % 3600 >= 3540 {
            made.failing(40, "reset", "transfer", Some("ECONNRESET"))
        } else {
            made
        }))
    }

    fn all(&self) -> impl Iterator<Item = RunEvent> {
        let (last, first) = self.around.split_last().expect("the end of a run");
        // A reading every ten seconds, as far as this test is concerned.
        let second = move |n| [Some(self.second(n)), (n % 10 == 0).then(|| counters(n))].into_iter().flatten();
        first.iter().cloned().chain((0..SECONDS).flat_map(second)).chain([last.clone()])
    }
}

impl SecondsSource for LongRun {
    fn pass(&self) -> std::io::Result<Box<dyn Iterator<Item = std::io::Result<Second>> + '_>> {
        Ok(Box::new(self.all().filter_map(|event| match event {
            RunEvent::Second(second) => Some(Ok(*second)),
            _ => None,
        })))
    }

    fn events(&self) -> std::io::Result<Box<dyn Iterator<Item = std::io::Result<RunEvent>> + '_>> {
        Ok(Box::new(self.all().map(Ok)))
    }
}

fn column(all: &[Value], at: usize) -> u64 {
    all.iter().filter_map(|line| line["s"][at].as_u64()).sum()
}

/// `BRUNT_LONG_RECORD=FILE` keeps the record, to look at its page in a browser.
#[test]
fn the_page_of_three_hours_is_small_and_counts_every_request() {
    let run = LongRun::new();
    if let Some(file) = std::env::var_os("BRUNT_LONG_RECORD") {
        let mut out = std::io::BufWriter::new(std::fs::File::create(file).unwrap());
        for event in run.all() {
            serde_json::to_writer(&mut out, &event).unwrap();
            out.write_all(b"\n").unwrap();
        }
    }
    let summary = Summary::from_events(run.all());
    let mut page = Vec::new();
    brunt_report::format("html").unwrap().write(&summary, &run, Style::default(), &mut page).unwrap();
    assert!(page.len() <= 2_000_000, "{} bytes", page.len());
    let all = lines(&String::from_utf8(page).unwrap());
    let failed = 3 * 60 * 40;
    assert_eq!((column(&all, 3), column(&all, 6)), (SECONDS as u64 * 500 + failed, failed));
    let details: Vec<&Value> = all.iter().filter_map(|line| line["z"].as_array()).flatten().collect();
    assert_eq!(details.len(), SECONDS as usize, "each second can be looked at");
    let succeeded: u64 = details.iter().filter_map(|second| second[4].as_u64()).sum();
    assert_eq!(succeeded, SECONDS as u64 * 500);
    let steps = all.iter().filter(|line| line["s"].is_array()).count();
    assert!((500..=1800).contains(&steps), "{steps} steps");
}
