//! The figures of each stage of the load, and of each stretch between changes.

use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Change, Load, Stage};
use brunt_report::Lang;
use serde_json::Value;

use crate::run_builder::{FillSecond, RunBuilder, ms, open, second};

fn stage(seconds: u64, from: f64, to: f64) -> Stage {
    Stage { lasts: Nanos::from_secs(seconds), from, to }
}

/// Creates a run of these stages, whose seconds are `second`.
fn staged(stages: Vec<Stage>, seconds: impl Iterator<Item = brunt_record::Second>) -> RunBuilder {
    let lasts = stages.iter().map(|stage| stage.lasts.0).sum::<u64>() / 1_000_000_000;
    let mut run = open(1.0, lasts);
    run.plan.load = Load::Open { stages, arrivals: Arrivals::Poisson };
    seconds.fold(run, RunBuilder::second)
}

/// Creates a run of fifteen seconds at 10/s, answered in 9 ms, and fifteen at 400/s, answered in 50 ms.
fn two_stages() -> RunBuilder {
    let of = |n| if n < 15 { second(n).answered(10, ms(9)) } else { second(n).answered(400, ms(50)) };
    staged(vec![stage(15, 10.0, 10.0), stage(15, 400.0, 400.0)], (0..30).map(of))
}

fn column(run: &RunBuilder, name: &str) -> Vec<Value> {
    run.json()["stretches"].as_array().expect("stretches").iter().map(|one| one[name].clone()).collect()
}

#[test]
fn each_stage_has_the_figures_of_its_own_seconds() {
    let run = two_stages();
    assert_eq!(column(&run, "throughput_per_s"), [10.0, 400.0]);
    assert_eq!(column(&run, "scheduled"), [150, 6000]);
    assert_eq!(column(&run, "load_to"), [10.0, 400.0]);
    let told = run.json();
    let p = |at: usize, key: &str| told["stretches"][at]["latency"][key].clone();
    assert!(p(0, "p99_us").is_null(), "150 requests have no p99");
    for (at, key, ms) in [(0, "p95_us", 9.0), (1, "p95_us", 50.0), (1, "p99_us", 50.0)] {
        assert!((p(at, key).as_f64().unwrap() / 1000.0 / ms - 1.0).abs() < 0.005, "{at} {key}");
    }
    let text = run.written("text", Lang::En);
    assert!(text.contains("open load, 10.0/s, 400/s (Poisson"), "{text}");
    let row = text.lines().find(|line| line.trim_start().starts_with("stage 1")).expect("a row");
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["stage 1", "0–15 s", "10.0/s", "10.0", "9.00 ms", "9.00 ms", "–", "0 %"]);
    assert!(run.written("markdown", Lang::Zh).contains("| 阶段 2 | 15–30 s | 400/s |"));
}

#[test]
fn a_level_load_has_no_stages() {
    let run = (0..3).fold(open(100.0, 3), |run, n| run.second(second(n).answered(100, ms(2))));
    assert!(run.json()["stretches"].is_null() && run.summary().stretches.is_empty());
    assert!(!run.written("text", Lang::En).contains("By stage"));
}

#[test]
fn a_second_in_which_the_load_changed_belongs_to_no_stretch() {
    let run = open(100.0, 8).changed(1_300, Change::Rate(150.0)).changed(3_000, Change::Pause);
    let run = run.changed(5_000, Change::Resume);
    let many = [100, 135, 150, 0, 0, 150, 150, 150];
    let run = many.into_iter().zip(0..).fold(run, |run, (many, n)| run.second(second(n).answered(many, ms(3))));
    assert_eq!(column(&run, "begins"), ["stage", "change", "pause", "resume"]);
    assert_eq!(column(&run, "measured_s"), [1.0, 1.0, 2.0, 3.0]);
    assert_eq!(column(&run, "throughput_per_s"), [100.0, 150.0, 0.0, 150.0]);
    assert_eq!(column(&run, "load_from"), [100.0, 150.0, 0.0, 150.0]);
    assert_eq!(column(&run, "load_to"), [100.0, 150.0, 0.0, 150.0]);
    let text = run.written("text", Lang::En);
    assert!(text.contains("changed during the run to 150/s"), "{text}");
}

#[test]
fn a_rate_that_is_set_replaces_the_stages_and_a_pause_outlasts_them() {
    let stages = || vec![stage(4, 0.0, 40.0), stage(4, 40.0, 40.0), stage(4, 80.0, 80.0)];
    let seconds = || (0..12).map(|n| second(n).answered(1, ms(1)));
    let set = staged(stages(), seconds()).changed(2_000, Change::Rate(7.0));
    // Changes are told before the second in which they hold.
    let set = RunBuilder {
        events: set.events.iter().rev().take(1).chain(set.events.iter().take(12)).cloned().collect(),
        ..set
    };
    assert_eq!(column(&set, "begins"), ["stage", "change"]);
    assert_eq!(
        (column(&set, "load_to"), column(&set, "to_s")),
        (vec![20.0.into(), 7.0.into()], vec![2.0.into(), 12.0.into()])
    );
    let rests = staged(Vec::new(), std::iter::empty()).changed(3_000, Change::Pause).changed(9_000, Change::Resume);
    let mut rests = seconds().fold(rests, RunBuilder::second);
    rests.plan.load = Load::Open { stages: stages(), arrivals: Arrivals::Poisson };
    assert_eq!(column(&rests, "begins"), ["stage", "pause", "resume"]);
    assert_eq!(column(&rests, "load_from"), [0.0, 0.0, 80.0]);
}
