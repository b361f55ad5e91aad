//! Histories with and without a change.

use brunt_measure::Nanos;
use brunt_record::{RunEnd, RunEvent, Second};
use brunt_report::Lang;

use super::*;
use crate::report::text as said;

/// Creates a run of a second with a thousand requests that took this long.
fn run(n: usize, took_us: f64) -> (String, Summary) {
    let mut second = Second { to_ns: 1_000_000_000, finished: 1000, due: 1000, ..Default::default() };
    second.latency.service.record_n(Nanos((took_us * 1e3) as u64), 1000);
    let ended = RunEnd { window: Nanos::from_secs(1), ..Default::default() };
    (format!("{n:02}.bruntrec"), Summary::from_events([RunEvent::Second(Box::new(second)), RunEvent::Ended(ended)]))
}

/// Varies a level by a few per cent.
fn around(level: f64, n: usize) -> f64 {
    level * (1.0 + 0.01 * ((n * 7) % 5) as f64)
}

#[test]
fn a_level_that_changed_is_named_with_the_run_it_began_at() {
    let records = (0..24).map(|n| run(n, around(if n < 15 { 1000.0 } else { 1400.0 }, n))).collect();
    let history = TestHistory::of(records, 1);
    let of_p50: Vec<&LevelChange> = history.changes.iter().filter(|change| change.measure.name == "p50_us").collect();
    assert_eq!(of_p50.len(), 1, "{:?}", history.changes);
    assert_eq!((of_p50[0].at, of_p50[0].verdict), (15, ChangeVerdict::Worse));
    let text = said(&history, Lang::En);
    assert!(
        text.contains("p50 changed at 15.bruntrec: 1.02 ms before, 1.43 ms from there on (+40.0 %): worse."),
        "{text}"
    );
    assert!(text.lines().nth(16).is_some_and(|row| row.contains("15.bruntrec") && row.contains('▲')), "{text}");
    assert!(said(&history, Lang::Zh).contains("自 15.bruntrec 起改变"));
}

#[test]
fn a_steady_history_has_no_change_and_a_short_one_says_so() {
    let steady = TestHistory::of((0..24).map(|n| run(n, around(1000.0, n))).collect(), 1);
    assert_eq!(steady.changes, []);
    assert!(said(&steady, Lang::En).ends_with("No figure changed to another level in 24 runs."));
    let short = TestHistory::of((0..5).map(|n| run(n, if n < 3 { 1000.0 } else { 2000.0 })).collect(), 1);
    assert!(said(&short, Lang::En).ends_with("5 runs are too few to find a change: it takes 8 or more."));
    let mut text = Vec::new();
    document::write_json(&steady, &mut text).expect("memory");
    let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((json["runs"].as_array().map(Vec::len), &json["schema"]), (Some(24), &"brunt-trend/1".into()));
}
