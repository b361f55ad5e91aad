//! What a sweep says and writes.

use brunt_config::AxisKind;
use brunt_report::Lang;
use serde_json::Value;

use super::scaling::curve_of;
use super::*;
use crate::report::text as said;

fn axis(name: &'static str, kind: AxisKind, values: &[&str]) -> SweepAxis {
    SweepAxis { name: name.into(), kind, values: values.iter().map(|value| (*value).to_owned()).collect() }
}

fn outcome(axes: Vec<SweepAxis>, cells: Vec<TableCell>, repeat: usize) -> SweepOutcome {
    let made = cells.len() * repeat;
    SweepOutcome {
        plan: SweepPlan { target: "http://h/".into(), axes, cells: Vec::new(), repeat, shuffle: false, seed: 1 },
        cells,
        curves: Vec::new(),
        made,
        elapsed: Nanos::from_secs(60),
        unreachable: false,
        lost_part: None,
        refused: None,
    }
}

fn empty(at: Vec<usize>, load: f64) -> TableCell {
    TableCell {
        at,
        load,
        runs: vec![ComparedFigures::of_sums(&Summary::from_events([])); 1],
        scheduled_per_s: vec![0.0],
        doubt: None,
    }
}

#[test]
fn a_curve_along_users_has_a_fit_bounds_and_a_knee() {
    // γ 100, σ 0.05, κ 0.002: the peak is at √(0.95 ÷ 0.002) = 21.8 users.
    let law = |n: f64| (n, 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0)));
    let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(law).to_vec();
    let curve = curve_of(Some(("no-keepalive".into(), "on".into())), AxisKind::Users, points, 1);
    let peak = curve.usl.as_ref().and_then(|fit| fit.peak()).expect("a peak");
    assert!((peak - 21.8).abs() < 0.3, "{peak}");
    assert!((curve.bounds.expect("a user alone").knee() - 7.4).abs() < 0.5, "{curve:?}");
    let found = SweepOutcome { curves: vec![curve], ..outcome(Vec::new(), Vec::new(), 1) };
    let text = said(&found, Lang::En);
    let linear = curve_of(None, AxisKind::Users, vec![(1.0, 100.0), (2.0, 199.0)], 1);
    assert_eq!(linear.bounds, None, "nobody queued yet");
    for said in [
        "With no-keepalive on: A user alone gets 100/s",
        "peak at 22 users",
        "Users queue for certain from 7",
        "One run of each",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(said(&found, Lang::Zh).contains("通用可扩展性定律"));
}

#[test]
fn a_curve_along_rates_says_from_where_on_it_is_not_sustained() {
    // Ten successes in the one second of the run.
    let run = |scheduled| {
        let mut second = brunt_record::Second { to_ns: 1_000_000_000, finished: 10, due: 10, ..Default::default() };
        second.latency.response.record_n(Nanos::from_millis(2), 10);
        let ended = brunt_record::RunEnd { window: Nanos::from_secs(1), ..Default::default() };
        let events = [brunt_record::RunEvent::Second(Box::new(second)), brunt_record::RunEvent::Ended(ended)];
        let runs = vec![ComparedFigures::of_sums(&Summary::from_events(events))];
        TableCell { runs, scheduled_per_s: vec![scheduled], ..empty(vec![0], 12.0) }
    };
    assert_eq!([10.0, 10.4, 12.0].map(|scheduled| scaling::is_unsustained(&run(scheduled))), [false, false, true]);
    let axes = || vec![axis("rate", AxisKind::Rate, &["12"])];
    let of = |axes, scheduled| scaling::curves(&outcome(axes, vec![run(scheduled)], 1))[0].unsustained;
    assert_eq!((of(axes(), 12.0), of(axes(), 10.0)), (Some(12.0), None), "fewer arrivals than the rate are chance");
    assert_eq!(of(vec![axis("users", AxisKind::Users, &["12"])], 12.0), None, "users ask for no rate");
}

#[test]
fn the_table_has_a_row_for_each_cell() {
    let axes = vec![axis("users", AxisKind::Users, &["1", "4"]), axis("no-keepalive", AxisKind::Other, &["on", "off"])];
    let cells = (0..4).map(|n| empty(vec![n / 2, n % 2], if n < 2 { 1.0 } else { 4.0 })).collect();
    let found = outcome(axes, cells, 1);
    let text = said(&found, Lang::En);
    // The answer and an empty line are above the table.
    let lines: Vec<&str> = text.lines().skip(2).take(5).collect();
    assert!(
        lines[0].contains("users") && lines[0].contains("no-keepalive") && lines[0].contains("efficiency"),
        "{text}"
    );
    assert!(lines[4].trim_start().starts_with('4') && lines[4].contains("off"), "{text}");
    assert!(text.ends_with("4 runs in 60 s; exit code 0."), "{text}");
    let mut written = Vec::new();
    let found = SweepOutcome { lost_part: Some(UsageError::whole("agent a2 was lost")), ..found };
    document::write_json(&found, &mut written).expect("memory");
    let json: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!((&json["cells"][1]["of"]["no-keepalive"], &json["cells"][3]["load"]), (&"off".into(), &4.0.into()));
    assert_eq!(json["doubts"], serde_json::json!(["agent a2 was lost"]));
}

#[test]
fn what_is_missing_is_said() {
    let cells = vec![empty(vec![0], 1.0), TableCell { runs: Vec::new(), ..empty(vec![1], 2.0) }];
    let found = outcome(vec![axis("users", AxisKind::Users, &["1", "2"])], cells, 1);
    assert_eq!(found.exit().code(), 20, "a cell that cannot be trusted");
    let cut = SweepOutcome { made: 1, ..found.clone() };
    assert_eq!(cut.exit().code(), 21);
    assert!(said(&cut, Lang::En).contains("Not finished: 1 of 2 runs were made."));
    let lost = SweepOutcome { unreachable: true, ..found };
    assert_eq!(lost.exit().code(), 30);
}

#[test]
fn rates_that_were_not_measured_are_not_said_to_be_sustained() {
    let curve = curve_of(None, AxisKind::Rate, vec![(10.0, 10.0)], 1);
    let text = |values: &[&str]| {
        let axes = vec![axis("rate", AxisKind::Rate, values)];
        let found = SweepOutcome { curves: vec![curve.clone()], ..outcome(axes, Vec::new(), 1) };
        said(&found, Lang::En)
    };
    assert!(text(&["10"]).contains("Every rate was sustained."));
    let part = text(&["10", "20", "30"]);
    assert!(part.contains("Every rate that was measured was sustained, up to 10.0/s; 2 were not."), "{part}");
}

#[test]
fn repeats_are_passes_over_the_table() {
    let plan = outcome(Vec::new(), Vec::new(), 2).plan;
    assert_eq!(order(3, &plan), [0, 1, 2, 0, 1, 2]);
    let mut shuffled = order(3, &SweepPlan { shuffle: true, seed: 7, ..plan });
    shuffled.sort_unstable();
    assert_eq!(shuffled, [0, 0, 1, 1, 2, 2]);
}
