use crate::spacing::{coefficient_of_variation, dispersion, distance_from_exponential, gaps};
use proptest::prelude::*;

use super::*;

const fn secs(s: u64) -> Nanos {
    Nanos::from_secs(s)
}
const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn stage(lasts: Nanos, from: f64, to: f64) -> Stage {
    Stage { lasts, from, to }
}

/// A run to be scheduled.
#[derive(Clone, Debug)]
struct ScheduledRun {
    stages: Vec<Stage>,
    arrivals: Arrivals,
    warmup: Nanos,
    requests: Option<u64>,
    duration: Option<Nanos>,
    seed: u64,
}

impl ScheduledRun {
    fn new(arrivals: Arrivals, stages: &[Stage]) -> ScheduledRun {
        ScheduledRun { stages: stages.to_vec(), arrivals, warmup: Nanos::ZERO, requests: None, duration: None, seed: 1 }
    }

    /// Creates a run at a constant rate.
    fn level(arrivals: Arrivals, rate: f64, duration: Nanos) -> ScheduledRun {
        ScheduledRun { duration: Some(duration), ..ScheduledRun::new(arrivals, &[stage(duration, rate, rate)]) }
    }

    fn share(&self, index: u32, of: u32) -> Box<dyn Schedule> {
        let load = Load::Open { stages: self.stages.clone(), arrivals: self.arrivals };
        arrivals(&load, self.warmup, self.requests, self.duration, Share { index, of }, self.seed)
    }

    /// Returns all arrivals of all shares, in order.
    fn split(&self, of: u32) -> Vec<Nanos> {
        let mut all: Vec<Nanos> = (0..of).flat_map(|index| collect(self.share(index, of).as_mut())).collect();
        all.sort_unstable();
        all
    }

    fn whole(&self) -> Vec<Nanos> {
        self.split(1)
    }
}

/// Collects the due times of a schedule (two million at most), and checks that they do not decrease and that a schedule
/// that has ended does not begin again.
fn collect(schedule: &mut dyn Schedule) -> Vec<Nanos> {
    let all: Vec<Nanos> = std::iter::from_fn(|| schedule.next_due()).take(2_000_000).collect();
    assert!(all.is_sorted(), "a schedule went back");
    assert!(all.len() == 2_000_000 || schedule.next_due().is_none(), "a schedule began again");
    all
}

#[test]
fn constant_rates_have_equal_gaps() {
    let table = [
        (5.0, secs(60), 300, 200_000_000),
        (300.0 / 60.0, secs(60), 300, 200_000_000),
        (0.5, secs(10), 5, 2_000_000_000),
        (2.0 / 3600.0, secs(7200), 4, 1_800_000_000_000),
        (5000.0, secs(2), 10_000, 200_000),
        (1.0, ms(1500), 2, 1_000_000_000),
        (1e6, secs(1), 1_000_000, 1_000),
    ];
    for (rate, duration, count, gap) in table {
        let due = ScheduledRun::level(Arrivals::Constant, rate, duration).whole();
        assert_eq!(due.len(), count, "{rate}/s");
        assert!(due.iter().enumerate().all(|(i, t)| t.0 == i as u64 * gap), "{rate}/s");
    }
}

#[test]
fn a_million_a_second_does_not_drift_in_an_hour() {
    let hour = 3_600_000_000_000;
    let mut schedule = ScheduledRun::level(Arrivals::Constant, 1e6, secs(3600)).share(3_599, 3_600);
    let mut last = Nanos::ZERO;
    let mut count = 0;
    while let Some(due) = schedule.next_due() {
        (last, count) = (due, count + 1);
    }
    assert_eq!((last, count), (Nanos(hour - 1000), 1_000_000));
    // The last arrival of an hour at 3 million per second, whose gap is not a whole number of nanoseconds.
    let mut curve = Curve::level(3e6, Nanos::ZERO, secs(3600));
    assert_eq!(curve.time_of(10_799_999_999.0), Some(Nanos(hour - 333)));
    assert_eq!(curve.time_of(10_800_000_000.0), None);
}

#[test]
fn shares_of_numbered_arrivals_are_the_whole() {
    let ramp = [stage(secs(2), 0.0, 900.0), stage(secs(1), 333.3, 333.3), stage(ms(700), 1000.0, 0.0)];
    for kind in [Arrivals::Constant, Arrivals::Burst] {
        for (requests, duration) in
            [(None, None), (Some(1001), None), (Some(1001), Some(secs(3))), (None, Some(secs(5)))]
        {
            let run = ScheduledRun { warmup: ms(300), requests, duration, ..ScheduledRun::new(kind, &ramp) };
            let level = ScheduledRun { stages: vec![stage(secs(4), 77.7, 77.7)], ..run.clone() };
            for of in 2..=5 {
                assert_eq!(run.split(of), run.whole(), "{run:?} over {of}");
                assert_eq!(level.split(of), level.whole(), "{level:?} over {of}");
            }
        }
    }
}

#[test]
fn ramps_send_the_area_below_them() {
    let table: [(&[Stage], f64); 8] = [
        (&[stage(secs(10), 100.0, 500.0)], 3000.0),
        (&[stage(secs(10), 500.0, 100.0)], 3000.0),
        (&[stage(secs(10), 0.0, 400.0)], 2000.0),
        (&[stage(secs(10), 400.0, 0.0)], 2000.0),
        (&[stage(secs(10), 0.0, 400.0), stage(secs(5), 400.0, 400.0), stage(secs(10), 400.0, 0.0)], 6000.0),
        (&[stage(secs(10), 100.0, 100.000_000_001)], 1000.0),
        (
            &[
                stage(secs(3), 0.0, 0.0),
                stage(secs(2), 10.0, 10.0),
                stage(Nanos::ZERO, 9.0, 0.0),
                stage(secs(2), 0.0, 5.0),
            ],
            25.0,
        ),
        (&[stage(secs(4), 0.3, 0.9), stage(secs(7), 1.7, 0.1)], 8.7),
    ];
    for (stages, total) in table {
        for (kind, of) in [(Arrivals::Constant, 1), (Arrivals::Constant, 4), (Arrivals::Burst, 3)] {
            let due = ScheduledRun::new(kind, stages).split(of);
            assert!((due.len() as f64 - total).abs() <= 1.0, "{kind:?} {stages:?}: {} not {total}", due.len());
        }
        // Poisson: the number is Poisson too, within five standard deviations of its mean.
        let due = ScheduledRun::new(Arrivals::Poisson, stages).split(3);
        assert!((due.len() as f64 - total).abs() <= 5.0 * total.sqrt(), "Poisson {stages:?}: {}", due.len());
    }
}

#[test]
fn ramps_follow_the_formula() {
    let (from, slope) = (1000.0, 200.0);
    let due = ScheduledRun::new(Arrivals::Constant, &[stage(secs(20), from, 5000.0)]).whole();
    for i in [0, 1, 10, 1000, 30_000, 59_999] {
        let expected = (-from + (from * from + 2.0 * slope * i as f64).sqrt()) / slope;
        assert!(due[i].0.abs_diff(Nanos::from_secs_f64(expected).0) <= 1, "arrival {i}: {}", due[i]);
    }
    let from_zero = ScheduledRun::new(Arrivals::Constant, &[stage(secs(2), 0.0, 4.0)]).whole();
    let expected = [0.0, 1.0, 2.0_f64.sqrt(), 3.0_f64.sqrt()].map(Nanos::from_secs_f64);
    assert_eq!(from_zero, expected);
    let to_zero = ScheduledRun::new(Arrivals::Constant, &[stage(secs(2), 4.0, 0.0)]).whole();
    let expected = [0.0, 2.0 - 3.0_f64.sqrt(), 2.0 - 2.0_f64.sqrt(), 1.0].map(Nanos::from_secs_f64);
    assert_eq!(to_zero, expected);
}

#[test]
fn the_warmup_runs_at_the_first_level_and_changes_nothing_after_it() {
    for kind in [Arrivals::Constant, Arrivals::Burst] {
        let plain = ScheduledRun { requests: Some(30), ..ScheduledRun::new(kind, &[stage(secs(10), 7.0, 20.0)]) };
        let warmed = ScheduledRun { warmup: ms(2500), ..plain.clone() };
        let (before, after): (Vec<Nanos>, Vec<Nanos>) = warmed.whole().into_iter().partition(|t| *t < warmed.warmup);
        assert_eq!(before.len(), 18, "{kind:?}: 7 a second for 2.5 s");
        assert_eq!(after.len(), 30, "{kind:?}");
        let shifted: Vec<Nanos> = plain.whole().into_iter().map(|t| t + warmed.warmup).collect();
        assert_eq!(after, shifted, "{kind:?}");
    }
    let warmed = ScheduledRun {
        warmup: secs(5),
        requests: Some(1000),
        ..ScheduledRun::level(Arrivals::Poisson, 100.0, secs(60))
    };
    for of in [1, 3] {
        let (before, after): (Vec<Nanos>, Vec<Nanos>) = warmed.split(of).into_iter().partition(|t| *t < warmed.warmup);
        assert!(before.len().abs_diff(500) < 120, "{}", before.len());
        assert_eq!(after.len(), 1000);
    }
}

#[test]
fn what_ends_a_run() {
    let one = [stage(secs(1), 10.0, 10.0)];
    let two = [stage(secs(1), 10.0, 10.0), stage(secs(1), 20.0, 20.0)];
    type Row<'a> = (&'a str, &'a [Stage], Option<u64>, Option<Nanos>, usize);
    let table: [Row; 10] = [
        ("one stage alone", &one, None, None, 10),
        ("one stage and a number: it goes on", &one, Some(25), None, 25),
        ("one stage and a longer time: it goes on", &one, None, Some(secs(3)), 30),
        ("a shorter time", &one, None, Some(ms(500)), 5),
        ("the number first", &one, Some(7), Some(secs(3)), 7),
        ("the time first", &one, Some(70), Some(secs(3)), 30),
        ("stages alone", &two, None, None, 30),
        ("stages and a larger number", &two, Some(99), None, 30),
        ("stages and a longer time: the last goes on", &two, None, Some(secs(4)), 70),
        ("no request at all", &two, Some(0), None, 0),
    ];
    for (name, stages, requests, duration, count) in table {
        for kind in [Arrivals::Constant, Arrivals::Burst] {
            let run = ScheduledRun { requests, duration, ..ScheduledRun::new(kind, stages) };
            assert_eq!(run.whole().len(), count, "{name}, {kind:?}");
            assert_eq!(run.split(4).len(), count, "{name}, {kind:?} over 4");
        }
    }
    assert_eq!(ScheduledRun { requests: Some(5), ..ScheduledRun::new(Arrivals::Poisson, &one) }.split(2).len(), 5);
    assert!(ScheduledRun::new(Arrivals::Constant, &[]).whole().is_empty());
    let dead = [stage(Nanos::ZERO, 0.0, 0.0)];
    for kind in [Arrivals::Constant, Arrivals::Burst, Arrivals::Poisson] {
        assert!(ScheduledRun { requests: Some(5), ..ScheduledRun::new(kind, &dead) }.whole().is_empty(), "{kind:?}");
    }
}

#[test]
fn a_closed_load_has_no_arrivals() {
    let load = Load::Closed { stages: vec![stage(secs(1), 5.0, 5.0)], think: None, together: false };
    assert_eq!(arrivals(&load, secs(1), None, None, Share::WHOLE, 1).next_due(), None);
}

#[test]
fn bursts_come_at_the_beginning_of_each_second() {
    type Row<'a> = (&'a str, ScheduledRun, &'a [(u64, usize)]);
    let table: [Row; 6] = [
        ("level", ScheduledRun::level(Arrivals::Burst, 100.0, secs(3)), &[(0, 100), (1, 100), (2, 100)]),
        ("a cut second", ScheduledRun::level(Arrivals::Burst, 100.0, ms(2300)), &[(0, 100), (1, 100), (2, 30)]),
        ("a rest carried over", ScheduledRun::level(Arrivals::Burst, 2.5, secs(4)), &[(0, 3), (1, 2), (2, 3), (3, 2)]),
        ("less than one a second", ScheduledRun::level(Arrivals::Burst, 0.5, secs(6)), &[(0, 1), (2, 1), (4, 1)]),
        ("a ramp", ScheduledRun::new(Arrivals::Burst, &[stage(secs(3), 0.0, 30.0)]), &[(0, 5), (1, 15), (2, 25)]),
        (
            "a number",
            ScheduledRun { requests: Some(250), ..ScheduledRun::new(Arrivals::Burst, &[stage(secs(1), 100.0, 100.0)]) },
            &[(0, 100), (1, 100), (2, 50)],
        ),
    ];
    for (name, run, expected) in table {
        let expected: Vec<Nanos> = expected.iter().flat_map(|&(s, n)| vec![secs(s); n]).collect();
        assert_eq!(run.whole(), expected, "{name}");
    }
}

#[test]
fn poisson_arrivals_look_like_poisson() {
    for (seed, of) in [(1, 1), (2, 2), (3, 4), (4, 7)] {
        let run = ScheduledRun { seed, ..ScheduledRun::level(Arrivals::Poisson, 1000.0, secs(20)) };
        let due = run.split(of);
        let context = format!("seed {seed} over {of}");
        assert!((due.len() as f64 - 20_000.0).abs() < 5.0 * 20_000_f64.sqrt(), "{context}: {}", due.len());
        let gaps = gaps(&due);
        let variation = coefficient_of_variation(&gaps).expect("gaps");
        assert!((variation - 1.0).abs() <= 0.05, "{context}: variation {variation}");
        let distance = distance_from_exponential(&gaps[..10_000]).expect("gaps");
        assert!(distance <= 0.05, "{context}: distance {distance}");
        let dispersion = dispersion(&due, ms(10), secs(20)).expect("windows");
        assert!((dispersion - 1.0).abs() <= 0.15, "{context}: dispersion {dispersion}");
    }
}

#[test]
fn a_seed_is_a_schedule() {
    let run = |seed| ScheduledRun { seed, ..ScheduledRun::level(Arrivals::Poisson, 100.0, secs(10)) }.split(3);
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
    let one = ScheduledRun::level(Arrivals::Poisson, 100.0, secs(10));
    assert_ne!(collect(one.share(0, 2).as_mut()), collect(one.share(1, 2).as_mut()));
}

fn any_run() -> impl Strategy<Value = ScheduledRun> {
    let rate = prop_oneof![Just(0.0), 0.01f64..3000.0];
    let stages = prop::collection::vec((0u64..3_000_000_000, rate.clone(), rate), 0..5);
    let kind = prop::sample::select(vec![Arrivals::Poisson, Arrivals::Constant, Arrivals::Burst]);
    let bounds = (prop::option::of(0u64..3000), prop::option::of((0u64..5_000_000_000).prop_map(Nanos)));
    (stages, kind, 0u64..1_000_000_000, bounds, any::<u64>()).prop_map(|(stages, arrivals, warmup, bounds, seed)| {
        ScheduledRun {
            stages: stages.into_iter().map(|(lasts, from, to)| stage(Nanos(lasts), from, to)).collect(),
            arrivals,
            warmup: Nanos(warmup),
            requests: bounds.0,
            duration: bounds.1,
            seed,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_run_keeps_its_bounds(run in any_run(), of in 1u32..6) {
        // Order within each share is asserted while collecting.
        let all = run.split(of);
        if let Some(end) = ends(&run.stages, run.warmup, run.requests, run.duration) {
            prop_assert!(all.iter().all(|t| *t < end));
        }
        if let Some(requests) = run.requests {
            prop_assert!(all.iter().filter(|t| **t >= run.warmup).count() as u64 <= requests);
        }
        if run.arrivals != Arrivals::Poisson {
            prop_assert_eq!(all, run.whole());
        }
    }
}
