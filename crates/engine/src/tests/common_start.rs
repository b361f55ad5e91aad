//! Workers that wait for each other: a common start, and connections that are held until all are open.

use std::sync::Arc;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::Load;
use brunt_protocols::websocket::{WebSocketProtocol, WebSocketServer};
use brunt_sim::{ServerPeer, SimDelay, SimReply};

use super::harness::{MS, SECOND, ServerLog, SimPlan, after};

fn together(scene: SimPlan, workers: u32) -> SimPlan {
    scene.with(|p| {
        p.workers = workers;
        let Load::Closed { together, .. } = &mut p.load else { unreachable!() };
        *together = true;
    })
}

#[test]
fn users_of_several_workers_start_at_one_instant() {
    for workers in [2, 3, 4] {
        let scene = together(SimPlan::closed(60, SECOND), workers);
        // Some connections take a third of a second, so that some workers are ready long before others.
        let scene = scene.on(|s| s.connect_delay = SimDelay { fixed: MS, jitter: Nanos::from_millis(300) });
        let played = scene.play(|| after(Nanos::from_millis(10)));
        played.check();
        let first = played.asks.iter().map(|(at, _)| *at).min().unwrap();
        let at_first = played.asks.iter().filter(|(at, _)| *at == first).count();
        assert_eq!(at_first, 60, "{workers} workers");
        assert_eq!((played.sum.opened, played.ended.window), (60, SECOND));
        assert_eq!(played.sum.latency.service.max(), 10_100_000, "no request opens a connection");
    }
}

#[test]
fn a_common_start_of_several_workers_is_the_same_in_every_run() {
    let scene = together(SimPlan::closed(12, SECOND), 3);
    let scene = scene.on(|s| s.latency = SimDelay { fixed: MS, jitter: MS });
    let [one, two] = [(); 2].map(|()| scene.play(|| after(MS)).timeless());
    assert_eq!(one, two);
}

#[test]
fn several_workers_hold_until_all_of_them_could() {
    let scene = SimPlan::closed(9, SECOND).urls(&[("ws://test/echo", 1.0)]).with(|p| {
        (p.hold, p.duration, p.workers) = (Some(Nanos::from_secs(2)), None, 3);
        (p.connect_rate, p.requests) = (Some(9.0), None);
    });
    let played = scene.play_protocol(&WebSocketProtocol, Arc::<ServerLog>::default(), |_| {
        let answer = |now: Nanos, ask: &ServerRequest<'_>| (now, SimReply::new(200, ask.body));
        Box::new(ServerPeer::new(WebSocketServer::new, answer))
    });
    assert_eq!((played.sum.opened, played.sum.connect_failed), (9, 0));
    // Connections are opened one by one at nine per second across all workers: all are open after 0.89 s, and are held
    // for 2 s.
    let window = played.ended.window;
    assert!((Nanos::from_millis(2885)..Nanos::from_millis(2960)).contains(&window), "{window}");
    assert!(played.seconds.iter().any(|s| s.connections.open == 9));
}
