//! Truncated answers: the failure reported does not depend on the pieces in which they arrived.

use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_protocols::grpc::GrpcProtocol;
use brunt_protocols::raw::RawProtocol;
use brunt_sim::{PeerActions, SecurePeer, SimPeer};

use super::harness::{SECOND, SimPlan, SimResult};

/// A server that answers everything with these pieces, and may then close the connection.
struct FixedReply {
    pieces: &'static [&'static [u8]],
    closes: bool,
}

impl SimPeer for FixedReply {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, conn: u32, _bytes: &[u8], say: &mut PeerActions) {
        self.pieces.iter().for_each(|piece| say.send(conn, piece));
        if self.closes {
            say.close(conn);
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

fn failures(played: &SimResult) -> Vec<(String, String, u64)> {
    let all = played.seconds.iter().flat_map(|s| &s.failures);
    all.map(|f| (f.kind.clone(), f.phase.clone(), f.count)).collect()
}

/// Checks answers without a close_notify: neither an attacker who truncates a connection nor some servers send one, so
/// the two are indistinguishable.
#[test]
fn an_answer_that_ends_with_a_tls_connection_needs_its_close_notify() {
    const HTTP: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf"];
    const SIZED: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nhalf"];
    for (raw, pieces, polite, whole) in [
        (false, HTTP, true, true),
        (false, HTTP, false, false),
        // Its length shows that it is whole, however the connection ends.
        (false, SIZED, false, true),
        (true, HTTP, true, true),
        (true, HTTP, false, false),
    ] {
        let scene = SimPlan::closed(1, SECOND).with(|p| (p.requests, p.duration) = (Some(3), None));
        let peer = |_| {
            let peer = SecurePeer::new(FixedReply { pieces, closes: true });
            Box::new(if polite { peer } else { peer.without_close_notify() })
        };
        let played = if raw {
            let scene = scene.urls(&[("tls://a:9", 1.0)]).option("send", "x").option("until-close", "");
            scene.play_protocol(&RawProtocol, Arc::default(), peer)
        } else {
            scene.urls(&[("https://a/", 1.0)]).play_with(Arc::default(), peer)
        };
        let s = &played.sum;
        assert_eq!((s.due, s.finished, s.failed), (3, if whole { 3 } else { 0 }, if whole { 0 } else { 3 }));
        for example in &played.examples {
            assert_eq!((&*example.kind, &*example.phase), ("closed", "transfer"));
            assert!(example.detail.contains("without close_notify"), "{}", example.detail);
            assert!(example.received.ends_with("half"), "{}", example.received);
        }
        assert_eq!(played.examples.len(), usize::from(!whole));
    }
}

const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
const GRPC_HEAD: &[u8] = b"\0\0\x14\x01\x04\0\0\0\x01\x88\x0f\x10\x10application/grpc";
const MESSAGE: &[u8] = b"\0\0\x05\0\0\0\0\0\x01\0\0\0\0\0";
const INTERNAL: &[u8] = b"\0\0\x10\x01\x05\0\0\0\x01\x00\x0bgrpc-status\x0213";
const RESET: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x02";
const HTTP_HEAD: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88";
const BODY: &[u8] = b"\0\0\x04\0\0\0\0\0\x01half";

#[test]
fn a_stream_of_messages_that_fails_after_some_fails_in_their_transfer() {
    for (pieces, phase) in [
        (&[SETTINGS, GRPC_HEAD, MESSAGE, MESSAGE, INTERNAL][..], "transfer"),
        (&[SETTINGS, GRPC_HEAD, INTERNAL], "first_byte"),
    ] {
        let scene = SimPlan::closed(1, SECOND).with(|p| (p.requests, p.duration) = (Some(1), None));
        let scene = scene.urls(&[("grpc://a/brunt.Target/ServerStream", 1.0)]);
        let mut once = Some(FixedReply { pieces, closes: false });
        let played = scene.play_protocol(&GrpcProtocol, Arc::default(), |_| Box::new(SingleReply(once.take())));
        assert_eq!(failures(&played), [("wrong_status".to_owned(), phase.to_owned(), 1)]);
    }
}

#[test]
fn a_stream_reset_in_its_body_fails_in_transfer_with_what_had_come() {
    // In one piece and in two: SETTINGS together with the rest, or the reset in a separate piece.
    const TOGETHER: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x04\0\0\0\0\0\x01half\
\0\0\x04\x03\0\0\0\0\x01\0\0\0\x02";
    assert_eq!(TOGETHER, [SETTINGS, HTTP_HEAD, BODY, RESET].concat());
    for pieces in [&[TOGETHER][..], &[SETTINGS, HTTP_HEAD, BODY, RESET]] {
        let scene = SimPlan::closed(1, SECOND).with(|p| (p.requests, p.duration) = (Some(1), None));
        let scene = scene.option("http2", "");
        let mut once = Some(FixedReply { pieces, closes: false });
        let played =
            scene.play_protocol(&brunt_protocols::http::Http, Arc::default(), |_| Box::new(SingleReply(once.take())));
        assert_eq!(failures(&played), [("reset".to_owned(), "transfer".to_owned(), 1)]);
        let example = &played.examples[0];
        assert_eq!(example.detail, "the server reset the stream: INTERNAL_ERROR");
        assert_eq!(example.received, "HTTP/2 200\r\n\r\nhalf");
    }
}

/// A server that answers once, the first time it receives anything.
struct SingleReply(Option<FixedReply>);

impl SimPeer for SingleReply {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        if let Some(mut says) = self.0.take() {
            says.received(now, conn, bytes, say);
        }
    }
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}
