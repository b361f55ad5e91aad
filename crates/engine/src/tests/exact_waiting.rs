//! Exact waiting: requests are sent when they are due although the CPU wakes late, at a bounded cost.

use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_sim::SimDelay;

use super::harness::{SECOND, SimPlan, SimResult, US, after};
use crate::connections::SpinBudget;

/// Creates a CPU that wakes 30 µs late, plus 20 µs on average; a poll takes a microsecond.
fn sleepy(rate: f64, spinning: SpinBudget) -> SimResult {
    let mut scene = SimPlan::open(rate, Arrivals::Poisson, SECOND + SECOND).on(|sim| {
        sim.oversleep = SimDelay { fixed: Nanos::from_micros(30), jitter: Nanos::from_micros(20) };
        sim.wait_cost = US;
    });
    scene.spinning = spinning;
    let played = scene.play(|| after(Nanos::from_micros(20)));
    played.check();
    played
}

/// Returns a quantile of the lateness with which requests were sent.
fn late(played: &SimResult, part: f64) -> Nanos {
    let all = &played.sum.latency.gen_late;
    all.at_rank((part * all.count() as f64).ceil() as u64).expect("requests left")
}

fn spun(played: &SimResult) -> f64 {
    played.seconds.iter().map(|s| s.spun_ns).sum::<u64>() as f64 / 2e9
}

#[test]
fn requests_leave_when_due_though_the_processor_wakes_late() {
    let without = sleepy(300.0, SpinBudget::Never);
    assert!(late(&without, 0.5) >= Nanos::from_micros(29), "{:?}", late(&without, 0.5));
    assert_eq!(spun(&without), 0.0);
    let with = sleepy(300.0, SpinBudget::Share(0.25));
    assert!(late(&with, 0.5) <= US + US, "{:?}", late(&with, 0.5));
    assert!(late(&with, 0.95) <= US + US, "{:?}", late(&with, 0.95));
    assert!((0.005..0.15).contains(&spun(&with)), "{}", spun(&with));
    assert_eq!(with.sum.due, without.sum.due, "the same arrivals");
}

#[test]
fn no_more_than_its_part_of_a_core_is_polled_away() {
    for rate in [1_000.0, 4_000.0, 20_000.0] {
        let played = sleepy(rate, SpinBudget::Share(0.1));
        assert!(spun(&played) <= 0.1 + 0.02, "{rate}: {}", spun(&played));
    }
}

#[test]
fn a_worker_that_may_poll_always_is_never_late() {
    let played = sleepy(2_000.0, SpinBudget::Always);
    assert!(late(&played, 0.999) <= US + US, "{:?}", late(&played, 0.999));
    assert!(spun(&played) > 0.9, "{}", spun(&played));
}

#[test]
fn a_load_of_users_polls_nothing_and_slack_asks_for_none() {
    let open = SimPlan::open(10.0, Arrivals::Poisson, SECOND).plan;
    assert_eq!(SpinBudget::of(&open, 5), SpinBudget::Share(0.05));
    assert_eq!(SpinBudget::of(&brunt_plan::Plan { slack: US, ..open.clone() }, 1), SpinBudget::Never);
    assert_eq!(SpinBudget::of(&SimPlan::closed(1, SECOND).plan, 1), SpinBudget::Never);
    assert_eq!(SpinBudget::of(&brunt_plan::Plan { precise: true, ..open }, 1), SpinBudget::Always);
}
