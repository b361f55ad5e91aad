//! Loss of a process during the run: its reported figures are kept, and its open requests count as unfinished.

use brunt_measure::Nanos;
use brunt_plan::Arrivals;
use brunt_record::RunPart;

use super::harness::{MS, SECOND, SimPlan, SimResult, after, never};

const SECONDS: u64 = 4;

fn of_two(scene: SimPlan, lost: u32) -> SimPlan {
    SimPlan { lost: Some((lost, 2)), ..scene.with(|p| p.workers = 2) }
}

#[track_caller]
fn check(played: &SimResult, open: bool) {
    let (s, l) = (&played.sum, &played.sum.latency);
    assert_eq!(s.due, s.finished + s.failed + s.censored, "every request is accounted for");
    assert_eq!(l.service_at_least.count() + l.wait_conn_at_least.count(), s.censored, "a bound for each");
    assert_eq!(l.response_at_least.count(), if open { s.censored } else { 0 });
    for second in &played.seconds {
        assert_eq!(second.in_flight_ns as i128, second.service_ns, "Little's law in {}", second.from_ns);
    }
    for pair in played.seconds.windows(2) {
        assert_eq!(pair[0].to_ns, pair[1].from_ns, "no gap and no overlap between seconds");
    }
    assert_eq!(played.ended.reason, brunt_record::End::Partial);
}

#[test]
fn what_a_lost_process_told_is_kept_and_what_it_had_open_is_unfinished() {
    for lost in [0, 1] {
        // Each of ten users has a request in flight at any time; a request takes 30.1 ms.
        let scene = of_two(SimPlan::closed(10, Nanos::from_secs(SECONDS)), lost);
        let played = scene.play(|| after(Nanos::from_millis(30)));
        check(&played, false);
        let s = &played.sum;
        // Five users for four seconds, five for two.
        assert!((960..=1000).contains(&s.finished), "{}", s.finished);
        assert_eq!((s.failed, s.censored), (0, 5));
        assert_eq!(played.ended.window, Nanos::from_secs(SECONDS));
        let [notice] = &played.notices[..] else { panic!("{:?}", played.notices) };
        let facts = ["processes", "how", "until", "requests"].map(|name| notice.facts[name].as_str());
        assert_eq!(facts, ["1", "killed by SIGKILL", "2.00 s", "5"]);
    }
}

#[test]
fn arrivals_of_a_lost_process_that_waited_are_unfinished_too() {
    for lost in [0, 1] {
        let scene = SimPlan::open(100.0, Arrivals::Constant, Nanos::from_secs(SECONDS));
        let scene = of_two(scene.with(|p| (p.max_connections, p.drain) = (4, Nanos::ZERO)), lost);
        let played = scene.play(never);
        check(&played, true);
        let s = &played.sum;
        // Fifty requests per second for each worker: two in flight, the rest never sent.
        assert_eq!((s.due, s.finished, s.censored), (300, 0, 300));
        assert_eq!(s.latency.service_at_least.count(), 4);
    }
}

#[test]
fn a_process_lost_at_the_end_of_the_window_leaves_the_drain_a_drain() {
    let scene = SimPlan::closed(4, Nanos::from_secs(2)).with(|p| p.drain = SECOND);
    for lost in [0, 1] {
        let played = of_two(scene.clone(), lost).play(|| after(Nanos::from_millis(700)));
        check(&played, false);
        let window: i64 =
            played.seconds.iter().filter(|s| s.part == RunPart::Window).map(|s| s.to_ns - s.from_ns).sum();
        assert_eq!(window, 2_000_000_000);
        assert_eq!((played.sum.due, played.sum.censored), (12, 2));
    }
}

#[test]
fn one_that_told_nothing_leaves_the_figures_of_the_others() {
    let scene = SimPlan { lost: Some((1, 0)), ..SimPlan::closed(4, SECOND).with(|p| p.workers = 2) };
    let played = scene.play(|| after(MS));
    check(&played, false);
    assert!(played.sum.finished > 1500, "{}", played.sum.finished);
    assert_eq!((played.sum.censored, played.notices[0].facts["until"].as_str()), (0, "0 s"));
}
