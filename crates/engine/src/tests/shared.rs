//! Connections shared by users: as many as the streams need, and no request is lost when a peer refuses it.

use std::sync::Arc;

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_protocols::http::Http;
use brunt_protocols::http2::Http2Server;
use brunt_sim::{ServerPeer, SimReply};

use super::harness::{SECOND, ServerLog, SimPlan, SimResult};

fn play(scene: &SimPlan, delay: Nanos) -> SimResult {
    let books = Arc::new(ServerLog::default());
    let counted = Arc::clone(&books);
    scene.play_protocol(&Http, books, |_| {
        let books = Arc::clone(&counted);
        Box::new(ServerPeer::new(Http2Server::new, move |now: Nanos, ask: &ServerRequest<'_>| {
            books.record(now, ask);
            (now + delay, SimReply::new(200, b"x"))
        }))
    })
}

fn shared(scene: SimPlan, streams: u32) -> SimPlan {
    let streams = streams.to_string();
    scene.option("http", "2").option("streams", &streams)
}

#[test]
fn users_share_as_few_connections_as_their_streams_allow() {
    for (users, streams, connections) in [(10, 10, 1), (11, 10, 2), (100, 10, 10), (5, 1, 5), (3, 100, 1)] {
        let played = play(&shared(SimPlan::closed(users, SECOND), streams), Nanos::from_millis(10));
        played.check();
        let s = &played.sum;
        assert_eq!(s.opened, connections, "{users} users, {streams} streams");
        assert_eq!((s.failed, played.heard), (0, s.finished + s.censored), "{users} users, {streams} streams");
        assert!(s.finished > u64::from(users) * 80, "{users} users, {streams} streams: {}", s.finished);
    }
}

#[test]
fn arrivals_share_connections_too() {
    let scene = SimPlan::open(1000.0, brunt_plan::Arrivals::Constant, SECOND).with(|p| p.max_connections = 2);
    let played = play(&shared(scene, 50), Nanos::from_millis(50));
    played.check();
    let s = &played.sum;
    // Fifty requests are in flight at any time: the streams of one connection, or of two while the first was being
    // opened.
    assert_eq!((s.due, s.finished, s.failed), (1000, 1000, 0));
    assert!(s.opened <= 2, "{}", s.opened);
}
