//! Changes of load during whole runs: every request is accounted for, and all workers agree.

use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Change};
use brunt_record::End;

use super::harness::{MS, SECOND, SimPlan, SimResult, after, each_seed, never};
use super::held_connections::{self, sending};

/// Returns the requests that were due in each second of the window.
fn due(played: &SimResult) -> Vec<u64> {
    played.seconds.iter().map(|second| second.due).filter(|due| *due > 0).collect()
}

fn at(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

#[track_caller]
fn check(played: &SimResult) {
    let s = &played.sum;
    assert_eq!(s.due, s.finished + s.failed + s.censored, "every request is accounted for");
    assert_eq!((s.failed, s.censored, played.ended.reason), (0, 0, End::Completed));
}

#[test]
fn a_rate_changes_at_its_moment_whatever_the_number_of_workers() {
    for workers in [1, 2, 5] {
        let scene = SimPlan::open(100.0, Arrivals::Constant, at(4000)).with(|p| p.workers = workers);
        let played = scene
            .changed(at(1000), Change::Rate(250.0))
            .changed(at(2000), Change::Pause)
            .changed(at(3000), Change::Resume)
            .play(|| after(MS));
        check(&played);
        assert_eq!(due(&played), [100, 250, 250], "{workers} workers");
        assert_eq!(played.sum.due, 600);
        assert_eq!(played.ended.window, at(4000), "a pause is part of the run");
        let changes: Vec<(i64, Change)> = played.changes.iter().map(|c| (c.at_ns / 1_000_000, c.change)).collect();
        assert_eq!(changes, [(1000, Change::Rate(250.0)), (2000, Change::Pause), (3000, Change::Resume)]);
    }
}

#[test]
fn a_number_of_requests_ends_when_it_is_done_at_the_rate_it_was_changed_to() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        for (rate, ms) in [(50.0, 7000), (400.0, 1750)] {
            let scene = SimPlan::open(100.0, arrivals, at(3000)).with(|p| (p.requests, p.duration) = (Some(400), None));
            let played = scene.with(|p| p.workers = 3).changed(at(1000), Change::Rate(rate)).play(|| after(MS));
            check(&played);
            assert_eq!(played.sum.due, 400, "{arrivals:?} {rate}");
            // One second at the planned rate, the rest at the new rate; only approximately so with Poisson arrivals.
            let slack = if arrivals == Arrivals::Poisson { SECOND.0 * 3 / 2 } else { SECOND.0 / 10 };
            let took = played.ended.window.0;
            assert!(took.abs_diff(ms * 1_000_000) <= slack, "{arrivals:?} {rate}: {took}");
        }
    }
}

#[test]
fn users_come_and_go_and_rest() {
    // One user takes 10 ms per request.
    for workers in [1, 3] {
        let scene = SimPlan::closed(6, at(5000)).with(|p| p.workers = workers);
        let played = scene
            .changed(at(1000), Change::Users(12))
            .changed(at(2000), Change::Pause)
            .changed(at(3000), Change::Resume)
            .changed(at(4000), Change::Users(3))
            .play(|| after(at(10)));
        check(&played);
        let users: Vec<u32> = played.seconds.iter().map(|second| second.users).collect();
        assert_eq!(users[..5], [6, 12, 0, 12, 3], "at the end of each second, {workers} workers");
        let rested = played.seconds[2].due;
        assert!(rested <= 12, "{rested} in a pause");
        assert!(played.seconds[1].due > 1000 && played.seconds[4].due < 400, "{:?}", due(&played));
    }
}

#[test]
fn a_pause_is_not_the_end_of_a_number_of_requests() {
    let scene = SimPlan::closed(4, SECOND).with(|p| (p.requests, p.duration) = (Some(1000), None));
    let played = scene.changed(at(500), Change::Pause).changed(at(2500), Change::Resume).play(|| after(at(10)));
    check(&played);
    assert_eq!(played.sum.due, 1000);
    // A thousand requests of four users at 10 ms each take 2.5 s, plus 2 s of rest.
    assert!((4_400..4_800).contains(&(played.ended.window.0 / 1_000_000)), "{}", played.ended.window.0);
    let whole = SimPlan::open(100.0, Arrivals::Poisson, SECOND).with(|p| (p.requests, p.duration) = (Some(200), None));
    let played = whole.changed(at(500), Change::Pause).changed(at(1500), Change::Resume).play(|| after(MS));
    check(&played);
    assert_eq!(played.sum.due, 200);
}

/// Checks that no request was waiting in this second, neither for the server nor for brunt.
#[track_caller]
fn rested(played: &SimResult, second: usize) {
    let s = &played.seconds[second];
    let counts = [s.due, s.finished, s.failed, s.censored, s.kept_out_ns, s.unanswered_ns];
    assert_eq!((counts, s.in_flight_ns, s.busy_since_ns), ([0; 6], 0, None), "{s:?}");
    assert_eq!((s.connections.lost, s.connections.failed, s.waiting), (0, 0, 0), "{s:?}");
    assert!(s.latency.loop_gap.max() < MS.0 && s.latency.gen_late.max() == 0, "{s:?}");
}

#[test]
fn a_pause_of_users_on_connections_of_their_own_loses_nothing() {
    for workers in [1, 3] {
        let pause = |scene: SimPlan| {
            let scene = scene.with(|p| p.workers = workers);
            held_connections::play(&scene.changed(at(1500), Change::Pause).changed(at(3500), Change::Resume), at(10), 0)
        };
        let lasting = pause(sending(SimPlan::closed(6, at(5000))));
        check(&lasting);
        rested(&lasting, 2);
        let users: Vec<u32> = lasting.seconds.iter().map(|second| second.users).collect();
        assert_eq!(users[..5], [6, 0, 0, 6, 6], "{workers} workers");
        // Returning users reconnect, and none of the connections was lost.
        assert_eq!((lasting.sum.opened, lasting.sum.connect_failed), (12, 0));
        assert!(lasting.seconds.iter().all(|second| second.connections.lost == 0));
        let counted = sending(SimPlan::closed(6, SECOND)).with(|p| (p.requests, p.duration) = (Some(1200), None));
        let played = pause(counted);
        check(&played);
        rested(&played, 2);
        assert_eq!((played.sum.due, played.heard), (1200, 1200), "{workers} workers");
        // Six users at 10 ms each take 2 s for that number, plus 2 s of rest.
        assert!((3_900..4_400).contains(&(played.ended.window.0 / 1_000_000)), "{}", played.ended.window.0);
    }
}

#[test]
fn connections_that_a_rate_goes_over_stand_through_a_pause() {
    let scene = sending(SimPlan::open(100.0, Arrivals::Constant, at(4000))).with(|p| p.max_connections = 4);
    let played =
        held_connections::play(&scene.changed(at(1500), Change::Pause).changed(at(3500), Change::Resume), at(10), 0);
    check(&played);
    assert_eq!((played.sum.opened, played.heard), (4, played.sum.due));
    // The window begins once the connections are open, and the times of the changes are those of the run.
    assert!((195..=205).contains(&played.sum.due), "{}", played.sum.due);
    rested(&played, 2);
    assert!(played.seconds[..4].iter().all(|second| second.connections.open == 4));
}

#[test]
fn what_is_in_flight_when_a_pause_begins_is_waited_for_and_counted_as_ever() {
    // Answers take a second, longer than the half second of load before the pause.
    let slow = SimPlan::closed(3, at(5000)).changed(at(500), Change::Pause).changed(at(3000), Change::Resume);
    let played = slow.play(|| after(at(1000)));
    check(&played);
    played.check();
    assert_eq!(played.seconds[0].busy_since_ns, Some(0));
    rested(&played, 2);
    let hangs = slow.with(|p| p.drain = at(100)).play(never);
    let s = &hangs.sum;
    assert_eq!((s.due, s.finished, s.failed, s.censored), (3, 0, 0, 3), "a user that waits does not begin another");
    hangs.check();
    // A pause that is never resumed ends with the run, however the run ends.
    let timed = SimPlan::closed(3, at(3000)).changed(at(500), Change::Pause).play(|| after(at(10)));
    check(&timed);
    assert_eq!(timed.ended.window, at(3000));
    let counted =
        SimPlan::open(100.0, Arrivals::Constant, SECOND).with(|p| (p.requests, p.duration) = (Some(100), None));
    let mut stopped = counted.changed(at(500), Change::Pause);
    stopped.stop_at = Some(stopped.sim.starts_at + at(4000));
    let stopped = stopped.play(|| after(at(10)));
    assert_eq!((stopped.ended.reason, stopped.sum.due, stopped.sum.finished), (End::Interrupted, 50, 50));
}

#[test]
fn what_is_asked_before_a_run_begins_holds_from_its_beginning() {
    let scene = SimPlan::open(100.0, Arrivals::Constant, at(2000)).with(|p| p.warmup = SECOND);
    let played = scene.changed(Nanos::ZERO, Change::Rate(10.0)).play(|| after(MS));
    check(&played);
    assert_eq!((played.sum.due, played.sum.warmup), (20, 10));
    assert_eq!(played.changes[0].at_ns, -1_000_000_000);
}

#[test]
fn many_changes_of_many_workers_lose_nothing() {
    each_seed(0..20, |seed| {
        let scene = SimPlan::open(300.0, Arrivals::Constant, at(5000)).with(|p| (p.workers, p.seed) = (4, seed));
        let mut expected = 300;
        let mut scene = scene;
        for second in 1..5 {
            let rate = 100 + (seed * 37 + second * 91) % 500;
            scene = scene.changed(at(second * 1000), Change::Rate(rate as f64));
            expected += rate;
        }
        let played = scene.play(|| after(at(3)));
        check(&played);
        assert_eq!(played.sum.due, expected);
    });
}

#[test]
fn a_drain_ends_the_window_at_its_moment_and_lets_what_is_in_flight_end() {
    for workers in [1, 3] {
        let drained = |scene: SimPlan, takes: u64| {
            let scene = scene.with(|p| p.workers = workers);
            scene.changed(at(1500), Change::Drain).play(move || after(at(takes)))
        };
        let open = drained(SimPlan::open(100.0, Arrivals::Constant, at(9000)), 300);
        assert_eq!(due(&open), [100, 50], "{workers} workers");
        assert_eq!((open.sum.finished, open.sum.failed, open.sum.censored), (150, 0, 0));
        let closed = drained(SimPlan::closed(6, at(9000)), 300);
        // Users start requests at 0 ms and every 300 ms, and none from 1500 ms on.
        assert_eq!((closed.sum.due, closed.sum.finished, closed.sum.censored), (30, 30, 0), "{workers} workers");
        let counted = drained(SimPlan::closed(6, SECOND).with(|p| (p.requests, p.duration) = (Some(10_000), None)), 10);
        for played in [&open, &closed, &counted] {
            assert_eq!((played.ended.reason, played.ended.window), (End::Completed, at(1500)));
            let late = played.seconds.iter().filter(|second| second.from_ns >= 1_500_000_000);
            assert!(late.into_iter().all(|second| second.part == brunt_record::RunPart::Drain && second.due == 0));
            assert!(played.ended.elapsed <= at(2000), "it does not wait for the planned end: {:?}", played.ended);
            assert_eq!(played.changes.iter().map(|c| c.change).collect::<Vec<_>>(), [Change::Drain]);
        }
        // Unfinished requests are counted as such once the drain is over.
        let hangs = SimPlan::open(100.0, Arrivals::Constant, at(9000)).with(|p| p.drain = at(200));
        let played = hangs.changed(at(1500), Change::Drain).play(never);
        let ended = played.ended;
        assert_eq!((played.sum.censored, ended.window, ended.elapsed), (150, at(1500), at(1700)));
        assert_eq!(ended.reason, End::Completed);
        // A stop cuts the drain short.
        let mut stopped = SimPlan::open(100.0, Arrivals::Constant, at(9000)).changed(at(1500), Change::Drain);
        stopped.stop_at = Some(stopped.sim.starts_at + at(1700));
        let stopped = stopped.play(never);
        assert_eq!(
            (stopped.ended.reason, stopped.ended.window, stopped.sum.censored),
            (End::Interrupted, at(1500), 150)
        );
        // A drain after the end changes nothing.
        let over =
            SimPlan::open(100.0, Arrivals::Constant, at(1000)).changed(at(1100), Change::Drain).play(|| after(at(300)));
        check(&over);
        assert_eq!(over.ended.window, at(1000));
    }
}
