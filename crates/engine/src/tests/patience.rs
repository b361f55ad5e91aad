//! A server that refuses or drops connections is not stormed, and what it did to those nobody had asked for is told.

use std::sync::Arc;

use measure::Nanos;
use net::sim::{Mishap, Peer, ReplyOwned, Say, ServerPeer, Welcome};
use plan::Arrivals;
use protocols::http::Http;
use protocols::http1::Http1Server;
use wire::{Ask, Place};

use super::harness::{MS, Played, SECOND, Scene};

/// A server that lets so many in at a time, answers each of those after `answers` (never: drops it at its first word).
struct Narrow<P> {
    server: P,
    room: usize,
    inside: usize,
}

impl<P: Peer> Peer for Narrow<P> {
    fn asked(&mut self, _now: Nanos, _to: &Place) -> Welcome {
        if self.inside == self.room {
            return Welcome::Refuse;
        }
        self.inside += 1;
        Welcome::Accept
    }
    fn opened(&mut self, now: Nanos, conn: u32) {
        self.server.opened(now, conn);
    }
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say) {
        self.server.received(now, conn, bytes, say);
    }
    fn closed(&mut self, now: Nanos, conn: u32) {
        self.inside -= 1;
        self.server.closed(now, conn);
    }
    fn next_timer(&self) -> Option<Nanos> {
        self.server.next_timer()
    }
    fn timer(&mut self, now: Nanos, say: &mut Say) {
        self.server.timer(now, say);
    }
}

/// A server that lets everybody in and hangs up at the first word.
struct Dropping;

impl Peer for Dropping {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut Say) {
        say.close(conn);
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// Connections asked for in each second.
fn attempts(played: &Played) -> Vec<u64> {
    played.seconds.iter().map(|s| s.connections.opened + s.connections.failed).collect()
}

#[test]
fn a_server_that_takes_no_more_connections_is_asked_a_few_times_a_second_and_said_to_refuse() {
    let scene = Scene::open(300.0, Arrivals::Constant, Nanos::from_secs(10)).with(|p| p.timeout = SECOND);
    let played = scene.play_with(Arc::default(), |_| {
        // Three connections carry 150 requests a second, half of what comes.
        let answer = |now: Nanos, _: &Ask<'_>| (now + Nanos::from_millis(20), ReplyOwned::new(200, b"x"));
        Box::new(Narrow { server: ServerPeer::new(Http1Server::new, answer), room: 3, inside: 0 })
    });
    let s = &played.sum;
    assert_eq!(s.due, s.finished + s.failed + s.censored, "{s:?}");
    assert!(s.finished > 1000 && s.failures("timeout/wait/") > 500, "{:?}", s.failures);
    let attempts = attempts(&played);
    assert!(attempts[0] <= 20 && attempts[1..].iter().all(|n| *n <= 6), "{attempts:?}");
    let unopened: Vec<_> = played.seconds.iter().flat_map(|s| &s.unopened).collect();
    assert_eq!(unopened.iter().map(|loss| loss.count).sum::<u64>(), s.connect_failed, "each is told");
    assert!(s.connect_failed > 10, "{}", s.connect_failed);
    let sorts: Vec<_> = unopened.iter().map(|loss| (&*loss.kind, &*loss.phase, loss.errno.as_deref())).collect();
    assert!(sorts.iter().all(|sort| *sort == ("refused", "connect", Some("ECONNREFUSED"))), "{sorts:?}");
    assert!(played.examples.iter().any(|example| example.kind == "refused"), "{:?}", played.examples);
}

#[test]
fn a_server_that_accepts_and_drops_is_not_stormed() {
    let lasts = Nanos::from_secs(6);
    let (open, closed) = (Scene::open(1000.0, Arrivals::Constant, lasts), Scene::closed(4, lasts));
    let bare = Scene::closed(4, lasts).option("no-keepalive", "");
    let shared = Scene::closed(40, lasts).option("http", "2").option("streams", "10");
    // Open load has one pool, shared connections too; each user of its own connection is one who tries again.
    for (name, scene, who) in [("open", open, 1), ("closed", closed, 4), ("bare", bare, 4), ("shared", shared, 1)] {
        let played = scene.speak(&Http, Arc::default(), |_| Box::new(Dropping));
        let s = &played.sum;
        assert_eq!((s.due, s.finished), (s.failed + s.censored, 0), "{name}: {s:?}");
        assert_eq!(s.failures("closed/"), s.failed, "{name}: {:?}", s.failures);
        let attempts = attempts(&played);
        assert!(attempts[0] <= 12 * who, "{name}: {attempts:?}");
        assert!(attempts[1..6].iter().all(|n| (who..=6 * who).contains(n)), "{name}: {attempts:?}");
        assert!(name != "open" || s.failed > 5900, "those who wait are told: {}", s.failed);
    }
}

#[test]
fn a_connection_that_has_served_is_reopened_at_once() {
    let mut heard = 0;
    let brain = move |now: Nanos, _: &Ask<'_>| {
        heard += 1;
        let reply = ReplyOwned::new(200, b"x");
        (now + MS, if heard % 2 == 0 { reply.with(Mishap::Reset) } else { reply })
    };
    let played = Scene::closed(1, SECOND).play(|| brain);
    played.check();
    let s = &played.sum;
    // A request takes 1.1 ms and an opening 0.1: no pause lies between.
    assert!(s.due > 800 && s.failed >= s.due / 2 - 1, "{} due, {} failed", s.due, s.failed);
}

#[test]
fn a_pool_grows_to_what_is_needed_once_the_server_takes_connections_again() {
    /// Refuses until a moment.
    struct Later<P>(P, Nanos);
    impl<P: Peer> Peer for Later<P> {
        fn asked(&mut self, now: Nanos, _to: &Place) -> Welcome {
            if now < self.1 { Welcome::Refuse } else { Welcome::Accept }
        }
        fn opened(&mut self, now: Nanos, conn: u32) {
            self.0.opened(now, conn);
        }
        fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut Say) {
            self.0.received(now, conn, bytes, say);
        }
        fn closed(&mut self, now: Nanos, conn: u32) {
            self.0.closed(now, conn);
        }
        fn next_timer(&self) -> Option<Nanos> {
            self.0.next_timer()
        }
        fn timer(&mut self, now: Nanos, say: &mut Say) {
            self.0.timer(now, say);
        }
    }
    let scene = Scene::open(1000.0, Arrivals::Constant, Nanos::from_secs(6));
    let starts_at = scene.sim.starts_at;
    let played = scene.play_with(Arc::default(), |_| {
        let answer = |now: Nanos, _: &Ask<'_>| (now + Nanos::from_millis(100), ReplyOwned::new(200, b"x"));
        Box::new(Later(ServerPeer::new(Http1Server::new, answer), starts_at + Nanos::from_secs(2)))
    });
    let s = &played.sum;
    assert_eq!((s.due, s.censored), (s.finished + s.failed, 0));
    assert!((1500..=2600).contains(&s.failed), "{}: two seconds' worth, and a pause", s.failed);
    // A hundred are in flight at a time, each on a connection of its own.
    let last = &played.seconds[5];
    assert!(last.finished > 950 && last.waiting < 20, "{} finished, {} wait", last.finished, last.waiting);
}
