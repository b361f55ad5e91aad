//! Unexpected input: refusals of one-way datagrams, duplicate answers, and unsolicited messages.

use std::collections::VecDeque;
use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_protocols::websocket::WebSocketProtocol;
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{MS, SECOND, SimPlan};
use super::held_connections::{sending, upgrade_response};

/// A host with closed ports: every datagram is refused when it arrives.
struct ClosedPort;

impl SimPeer for ClosedPort {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        say.reset(conn);
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// A resolver that gives every origin a port for datagrams.
struct DatagramResolver;

impl crate::Resolver for DatagramResolver {
    fn resolve(
        &self,
        _origin: &brunt_contract::Origin,
    ) -> Result<Vec<brunt_contract::PeerAddress>, brunt_cause::Cause> {
        Ok(vec![brunt_contract::PeerAddress::Udp(([127, 0, 0, 1], 9).into())])
    }
}

#[test]
fn refusals_of_datagrams_that_nobody_answers_are_counted() {
    let closed = SimPlan::closed(3, SECOND).with(|p| (p.requests, p.duration) = (Some(60), None));
    let open = SimPlan::open(100.0, brunt_plan::Arrivals::Constant, SECOND);
    for scene in [closed, open] {
        let scene = scene.urls(&[("udp://test:9", 1.0)]).option("send", "x").option("no-answer", "");
        let scene = SimPlan { resolver: Arc::new(DatagramResolver), ..scene };
        let played = scene.play_protocol(&brunt_protocols::raw::RawProtocol, Arc::default(), |_| Box::new(ClosedPort));
        let s = &played.sum;
        let refused: u64 = played.seconds.iter().map(|s| s.connections.refused).sum();
        assert_eq!((s.due, s.due, s.censored), (s.sent, s.finished + s.failed, 0), "each is accounted for");
        assert!(refused > 0, "{refused} of {} sent were refused", s.sent);
    }
}

/// A host that echoes everything it receives, twice.
struct DoubleEcho;

impl SimPeer for DoubleEcho {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        say.send(conn, bytes);
        say.send(conn, bytes);
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

/// Checks that duplicate answers, each matched to the next request, are detected by the answers left over at the end.
#[test]
fn answers_that_come_twice_are_found_out_at_the_end_at_the_latest() {
    for (users, requests) in [(1, 1), (1, 20), (3, 60)] {
        let scene = SimPlan::closed(users, SECOND).with(|p| (p.requests, p.duration) = (Some(requests), None));
        let scene = scene.urls(&[("udp://test:9", 1.0)]).option("send", "x");
        let scene = SimPlan { resolver: Arc::new(DatagramResolver), ..scene };
        let played = scene.play_protocol(&brunt_protocols::raw::RawProtocol, Arc::default(), |_| Box::new(DoubleEcho));
        let (s, strays) = (&played.sum, played.seconds.iter().map(|s| s.strays).sum::<u64>());
        assert_eq!((s.due, s.finished, s.failed, s.censored), (requests, requests, 0, 0));
        assert!(strays > 0, "{users} users, {requests} requests");
        let open = played.seconds.last().map(|s| s.connections.open);
        assert_eq!(open, Some(0), "sockets that were kept for a last look are closed");
    }
}

/// A host that answers any input twice: at once, or the second time a millisecond later.
struct DoubleAnswer {
    answer: &'static [u8],
    apart: bool,
    late: VecDeque<(Nanos, u32)>,
}

impl SimPeer for DoubleAnswer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        say.send(conn, self.answer);
        if self.apart {
            self.late.push_back((now + MS, conn));
        } else {
            say.send(conn, self.answer);
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
    fn next_timer(&self) -> Option<Nanos> {
        self.late.front().map(|(due, _)| *due)
    }
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        while let Some((_, conn)) = self.late.pop_front_if(|(due, _)| *due <= now) {
            say.send(conn, self.answer);
        }
    }
}

#[test]
fn answers_that_come_twice_on_a_stream_are_told_apart_from_pushes() {
    let twice = |scene: SimPlan, answer, apart| {
        let peer =
            move |_: u32| -> Box<dyn SimPeer> { Box::new(DoubleAnswer { answer, apart, late: VecDeque::new() }) };
        let scene = scene.with(|p| (p.requests, p.duration) = (Some(50), None));
        match scene.plan.urls[0].url.split_once(':').map(|(scheme, _)| scheme) {
            Some("redis") => scene.play_protocol(&brunt_protocols::redis::RedisProtocol, Arc::default(), peer),
            Some("tcp") => scene.play_protocol(&brunt_protocols::raw::RawProtocol, Arc::default(), peer),
            _ => scene.play_protocol(&brunt_protocols::http1::Http1, Arc::default(), peer),
        }
    };
    for apart in [false, true] {
        let closed = || SimPlan::closed(2, SECOND);
        for (name, played) in [
            ("redis", twice(closed().urls(&[("redis://test", 1.0)]), b"+PONG\r\n", apart)),
            ("http", twice(closed(), b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", apart)),
            ("tcp", {
                let scene = closed().urls(&[("tcp://test:9", 1.0)]).option("send", "x").option("until-bytes", "3");
                twice(scene, b"abc", apart)
            }),
        ] {
            let strays: u64 = played.seconds.iter().map(|s| s.strays).sum();
            let unasked: u64 = played.seconds.iter().map(|s| s.unsolicited).sum();
            assert!(played.sum.finished > 0 && strays > 0, "{name}, apart: {apart}: {strays} strays");
            assert_eq!(strays, unasked, "{name}: none of them is a push");
        }
    }
}

/// A host that echoes its input 20 ms later, and echoes the first input twice.
#[derive(Default)]
struct DelayedEcho {
    waiting: VecDeque<(Nanos, u32, Vec<u8>)>,
    doubled: bool,
}

impl SimPeer for DelayedEcho {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], _say: &mut PeerActions) {
        let times = if std::mem::replace(&mut self.doubled, true) { 1 } else { 2 };
        (0..times).for_each(|_| self.waiting.push_back((now + Nanos(20 * MS.0), conn, bytes.to_vec())));
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
    fn next_timer(&self) -> Option<Nanos> {
        self.waiting.front().map(|(due, ..)| *due)
    }
    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        while let Some((_, conn, bytes)) = self.waiting.pop_front_if(|(due, ..)| *due <= now) {
            say.send(conn, &bytes);
        }
    }
}

/// Checks that one surplus answer, which shifts all later ones, is detected: for any number of requests, the last
/// answer is still in transit at the end.
#[test]
fn a_single_answer_too_many_is_waited_for() {
    for requests in [2, 39, 40, 41] {
        let scene = SimPlan::closed(1, SECOND).with(|p| (p.requests, p.duration) = (Some(requests), None));
        let scene = scene.urls(&[("udp://test:9", 1.0)]).option("send", "x");
        let scene = SimPlan { resolver: Arc::new(DatagramResolver), ..scene };
        let played = scene
            .play_protocol(&brunt_protocols::raw::RawProtocol, Arc::default(), |_| Box::new(DelayedEcho::default()));
        let strays = played.seconds.iter().map(|s| s.strays).sum::<u64>();
        assert_eq!((played.sum.finished, strays), (requests, 1), "{requests} requests");
    }
}

/// A server that sends an unsolicited message with each answer: in the same piece, or right after it.
struct PushingServer {
    apart: bool,
}

impl SimPeer for PushingServer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        if bytes.starts_with(b"GET ") {
            return say.send(conn, &upgrade_response(bytes));
        }
        // A message of one byte, preceded by header and mask.
        for _ in 0..bytes.len() / 7 {
            if self.apart {
                say.send(conn, b"\x81\x01a");
                say.send(conn, b"\x81\x01p");
            } else {
                say.send(conn, b"\x81\x01a\x81\x01p");
            }
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn pushes_that_nobody_announced_are_counted() {
    for apart in [false, true] {
        for scene in [SimPlan::closed(2, SECOND), SimPlan::open(40.0, brunt_plan::Arrivals::Constant, SECOND)] {
            let scene = sending(scene).with(|p| (p.requests, p.max_connections) = (Some(20), 2));
            let played = scene.play_protocol(&WebSocketProtocol, Arc::default(), |_| Box::new(PushingServer { apart }));
            let (s, strays) = (&played.sum, played.seconds.iter().map(|s| s.strays).sum::<u64>());
            assert_eq!((s.due, s.censored), (s.finished + s.failed, 0));
            assert!(s.finished > 0 && strays > 0, "apart: {apart}, {} finished, {strays} strays", s.finished);
        }
    }
}
