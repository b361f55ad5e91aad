//! Users of flows in closed load whose pauses end while the generator is stopped: their next steps are late by the
//! remaining time of the stop, and no other steps are late.

use brunt_measure::Nanos;
use brunt_plan::flow::{Flow, Pause, Step};
use brunt_plan::scenarios::total_load;
use brunt_plan::{Arrivals, Load, Stage, WeightedUrl};
use brunt_sim::SimInterval;

use super::harness::{MS, SECOND, SimPlan, after, each_seed};
use super::scenarios::scenario;
use super::sim_result::SimResult;

const FROM: Nanos = Nanos::from_millis(2_500);
const TO: Nanos = Nanos::from_millis(2_600);

fn pause(from: u64, to: u64) -> Step {
    Step::Pause(Pause::Uniform { from: Nanos::from_millis(from), to: Nanos::from_millis(to) })
}

fn send() -> Step {
    Step::Request { url: 0, on_failure: Default::default() }
}

/// Creates users that start within one second and then send one request per second each.
fn scene(steps: Vec<Step>) -> SimPlan {
    SimPlan::closed(200, Nanos::from_secs(5)).with(|plan| {
        plan.urls = vec![WeightedUrl::plain("http://test/a")].into();
        plan.flow = Some(Flow { steps, ..Flow::default() });
        plan.workers = 1;
    })
}

/// Returns the number of requests that were late by a millisecond or more, and their total lateness.
fn late(played: &SimResult) -> (u64, Nanos) {
    let late = &played.sum.latency.gen_late;
    let all = late.buckets().filter(|(value, _)| *value >= MS);
    all.fold((0, Nanos::ZERO), |(n, sum), (value, count)| (n + count, sum + Nanos(value.0 * count)))
}

fn woken_late(played: &SimResult) -> Nanos {
    Nanos(played.seconds.iter().map(|second| second.woken_late_ns).sum())
}

#[test]
fn a_step_that_a_stall_delays_is_late_by_what_is_left_of_it_and_no_other_is() {
    let once = |inner| Step::Once { steps: vec![inner] };
    // The pause is between two steps, or at the end of an iteration.
    let flows = [
        vec![once(pause(0, 1_000)), send(), pause(1_000, 1_000), send(), pause(1_000, 1_000)],
        vec![once(pause(0, 1_000)), send(), pause(1_000, 1_000)],
    ];
    for steps in flows {
        each_seed(1..5, |seed| {
            let scene = scene(steps.clone()).with(|plan| plan.seed = seed);
            let healthy = scene.clone().play(|| after(MS));
            let stalled = scene.on(|sim| sim.pauses = vec![SimInterval { from: FROM, to: TO }]).play(|| after(MS));
            assert_eq!((late(&healthy).0, healthy.sum.latency.gen_late.count()), (0, healthy.heard));
            assert!(woken_late(&healthy) < SECOND, "{} of a thousand pauses", woken_late(&healthy));
            // Without the stop, these would have been sent during it; the network takes 0.05 ms.
            let in_it = healthy.asks.iter().map(|(at, _)| *at).filter(|at| *at > FROM && *at + MS < TO);
            let left: Vec<u64> = in_it.map(|at| (TO - at).0).collect();
            let (count, sum) = late(&stalled);
            assert!(left.len() > 10 && count.abs_diff(left.len() as u64) <= 1, "{count} {}", left.len());
            // The histogram rounds by 0.2 %; a request due at the very beginning may have been sent before the stop.
            let (expected, off) =
                (left.iter().sum::<u64>(), MS.0 * count + (TO - FROM).0 * count.abs_diff(left.len() as u64));
            assert!(sum.0.abs_diff(expected) <= off, "{sum} {expected}");
            assert!(woken_late(&stalled).0.abs_diff(sum.0) <= off + 20 * MS.0, "{} {sum}", woken_late(&stalled));
            assert_eq!(
                (stalled.sum.latency.wait_conn.count(), stalled.sum.latency.gen_late.count()),
                (0, stalled.heard)
            );
        });
    }
}

#[test]
fn a_pace_goes_on_as_if_the_generator_had_not_stood_still() {
    let stall = SimInterval { from: Nanos::from_millis(2_990), to: Nanos::from_millis(3_090) };
    let scene = scene(vec![send(), Step::Pace(SECOND)]).on(|sim| sim.pauses = vec![stall]);
    let played = scene.play(|| after(MS));
    let beyond = |at: &Nanos| at.0 / MS.0 % 1_000;
    let asks: Vec<Nanos> = played.asks.iter().map(|(at, _)| *at).collect();
    let late = asks.iter().filter(|at| beyond(at) >= 50).count();
    // One visit by each user, and none after it.
    assert_eq!((late, asks.len()), (200, 1000), "{:?}", asks.iter().map(beyond).max());
    assert!(asks.iter().filter(|at| **at > stall.to + MS + Nanos::from_millis(500)).all(|at| beyond(at) < 50));
}

#[test]
fn users_who_think_are_woken_late_like_those_who_pause() {
    let think = Some((SECOND, SECOND));
    let stages = vec![Stage { lasts: Nanos::from_secs(5), from: 200.0, to: 200.0 }];
    let scene = scene(Vec::new()).with(|plan| {
        (plan.flow, plan.load) = (None, Load::Closed { stages, think, together: false });
    });
    let stop = SimInterval { from: FROM, to: FROM + SECOND };
    let [healthy, stopped] =
        [vec![], vec![stop]].map(|pauses| woken_late(&scene.clone().on(|sim| sim.pauses = pauses).play(|| after(MS))));
    // All 200 are woken in that second, half of it late on average.
    assert!(
        healthy < SECOND && stopped > Nanos(80 * SECOND.0) && stopped < Nanos(120 * SECOND.0),
        "{healthy} {stopped}"
    );
}

#[test]
fn plain_closed_load_has_no_lateness() {
    let plain =
        SimPlan::closed(5, SECOND).on(|sim| sim.pauses = vec![SimInterval { from: FROM - SECOND, to: TO - SECOND }]);
    let played = plain.play(|| after(MS));
    assert_eq!((played.sum.latency.gen_late.count(), woken_late(&played)), (0, Nanos::ZERO));
}

#[test]
fn beside_a_rate_what_users_are_woken_late_is_no_wait_for_a_connection() {
    let stages = |level| vec![Stage { lasts: Nanos::from_secs(5), from: level, to: level }];
    let scenarios = vec![
        scenario(
            "users",
            Load::Closed { stages: stages(100.0), think: None, together: false },
            vec![pause(500, 1_000), send()],
        ),
        scenario("rate", Load::Open { stages: stages(10.0), arrivals: Arrivals::Constant }, vec![send()]),
    ];
    let scene = scene(Vec::new()).with(|plan| {
        (plan.flow, plan.load, plan.duration) = (None, total_load(&scenarios), None);
        plan.scenarios = scenarios;
    });
    let played = scene.on(|sim| sim.pauses = vec![SimInterval { from: FROM, to: TO }]).play(|| after(MS));
    let (count, _) = late(&played);
    let wait = &played.sum.latency.wait_conn;
    assert!(count > 5 && wait.max() < 5 * MS.0, "{count} {}", wait.max());
    assert_eq!(wait.count(), played.heard);
}

#[test]
fn users_of_a_ramp_are_counted_for_as_long_as_they_are_there() {
    let stages = vec![Stage { lasts: Nanos::from_secs(5), from: 0.0, to: 100.0 }];
    let scene = scene(Vec::new()).with(|plan| {
        (plan.flow, plan.load) = (None, Load::Closed { stages, think: Some((MS, MS)), together: false });
    });
    let played = scene.play(|| after(MS));
    let mean: Vec<u64> = played.seconds.iter().take(5).map(|second| second.users_ns / SECOND.0).collect();
    let right = [9..=11, 29..=31, 49..=51, 69..=71, 89..=91];
    assert!(mean.iter().zip(right).all(|(mean, right)| right.contains(mean)), "{mean:?}");
}
