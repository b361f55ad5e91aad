//! Times of heartbeats.

use std::sync::{Arc, Mutex};

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_protocols::websocket::{WebSocketProtocol, WebSocketServer};
use brunt_sim::{ServerPeer, SimReply};

use super::filtered_peer::FilteredPeer;
use super::harness::{SECOND, SimPlan};
use super::held_connections::held;

/// Returns the times of each connection's upgrade and heartbeats.
fn listened(scene: &SimPlan) -> Vec<Vec<Nanos>> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| {
        let answer = |now: Nanos, ask: &ServerRequest<'_>| (now, SimReply::new(200, ask.body));
        let notes = Arc::clone(&notes);
        Box::new(FilteredPeer::new(ServerPeer::new(WebSocketServer::new, answer)).with_input_filter(
            move |now, conn, bytes, _| {
                if bytes[0] == 0x89 || bytes.starts_with(b"GET ") {
                    notes.lock().unwrap().push((conn, now));
                }
                false
            },
        ))
    });
    let mut each: Vec<Vec<Nanos>> = Vec::new();
    for (conn, at) in notes.lock().unwrap().drain(..) {
        each.resize(each.len().max(conn as usize + 1), Vec::new());
        each[conn as usize].push(at);
    }
    each
}

#[test]
fn every_connection_is_pinged_within_an_interval_from_the_moment_it_stands() {
    // Connections are opened one after another over six intervals, or all at once.
    for rate in [Some(20.0), None] {
        let scene = held(120, Nanos::from_secs(4)).with(|p| (p.connect_rate, p.heartbeat) = (rate, Some(SECOND)));
        let each = listened(&scene);
        assert_eq!(each.len(), 120);
        let late = SECOND + Nanos::from_millis(60);
        for times in &each {
            let gaps: Vec<Nanos> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.len() >= 3, "{times:?}");
            assert!(gaps[0] <= late, "{gaps:?}");
            // While other connections are being opened, visits may be off by a fraction of a round.
            assert!(gaps.iter().all(|gap| *gap <= late + Nanos::from_millis(60)), "{gaps:?}");
            assert!(gaps[1..].iter().all(|gap| *gap >= Nanos::from_millis(800)), "{gaps:?}");
        }
        // Heartbeats are spread over the interval: no tenth of it has more than a quarter of them.
        let mut tenths = [0; 10];
        each.iter().for_each(|times| tenths[(times[2].0 % SECOND.0 * 10 / SECOND.0) as usize] += 1);
        assert!(tenths.iter().all(|n| *n <= 30), "{tenths:?}");
    }
}
