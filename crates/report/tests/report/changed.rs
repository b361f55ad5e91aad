//! Reports of runs whose load was changed: no statement applies only to the planned load.

use brunt_plan::Change;
use brunt_record::Second;
use brunt_report::{Grade, Lang};

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

/// Adds ten seconds to a run, with the load paused for five seconds in the middle.
fn paused(run: RunBuilder) -> RunBuilder {
    let of = |n: i64| {
        let answered = second(n).answered(1000, ms(10));
        let (first, last) = (Some(answered.from_ns + 10_000_000), Some(answered.to_ns - 1));
        Second { users: 10, first_success_ns: first, last_success_ns: last, busy_since_ns: first, ..answered }
    };
    let run = run.changed(3_000, Change::Pause).changed(8_000, Change::Resume);
    (0..10).fold(run, |run, n| run.second(if (3..8).contains(&n) { second(n) } else { of(n) }))
}

#[test]
fn a_pause_is_no_outage_and_costs_no_trust() {
    for run in [paused(closed(10, 10)), paused(open(1000.0, 10))] {
        let summary = run.summary();
        let doubts = summary.trust.findings.iter().filter(|finding| finding.grade > Grade::Ok);
        assert_eq!(doubts.count(), 0, "{:?}", summary.trust.findings);
        assert_eq!((summary.throughput_per_s(), summary.paused().0), (500.0, 5_000_000_000));
    }
}

#[test]
fn what_a_stall_would_hide_is_told_of_the_time_with_load() {
    let said = paused(closed(10, 10)).written("text", Lang::En);
    assert!(said.contains("a 1 s stall would hide about 1,000 requests") && said.contains("-r 500/s"), "{said}");
    assert!(said.contains("500/s succeeded, over a window of 10.0 s, 5.00 s of it paused"), "{said}");
    // A run paused until its end, and one paused in the warm-up and never resumed.
    for (pause, rested) in [(6_000, 4.0), (-500, 10.0)] {
        let run = (0..10).fold(closed(10, 10).changed(pause, Change::Pause), |run, n| run.second(second(n)));
        assert_eq!(run.summary().paused().as_secs_f64(), rested);
        assert!(!run.written("text", Lang::En).contains("would hide"));
    }
}

#[test]
fn nothing_is_measured_by_the_load_that_was_planned() {
    let said = paused(open(1000.0, 10)).written("text", Lang::En);
    assert!(!said.contains("expected"), "of Poisson arrivals: {said}");
    assert!(said.contains("load changed: paused from 3.00 s on, resumed at 8.00 s"), "{said}");
    let users = closed(10, 2).changed(500, Change::Users(11)).changed(900, Change::Users(12));
    let said =
        users.second(second(0).answered(10, ms(5))).second(second(1).answered(10, ms(5))).written("text", Lang::En);
    assert!(said.contains("at 10..12 users"), "{said}");
}

#[test]
fn a_window_that_was_shortened_by_hand_brings_no_throughput() {
    let mut run = closed(10, 10);
    run = (0..10).fold(run, |run, n| run.second(second(n).answered(100, ms(10))));
    run.window = ms(9_100);
    assert_eq!(run.summary().throughput_per_s(), 100.0, "its seconds are ten");
}
