//! Endless answers: every protocol against a healthy peer and one whose answer never ends and comes faster than it is
//! read. Timeouts are kept, and the healthy peer is served.

use std::sync::Arc;

use brunt_contract::{
    BodyFraming, OutputBuffer, Protocol, ProtocolError, ServerRequest, ServerResponse, ServerSession,
};
use brunt_measure::Nanos;
use brunt_protocols::http1::Http1Server;
use brunt_protocols::http2::Http2Server;
use brunt_protocols::mysql::MysqlServer;
use brunt_protocols::redis::RedisServer;
use brunt_protocols::websocket::WebSocketServer;
use brunt_sim::{PeerActions, SecurePeer, SimPeer};

use super::harness::{SECOND, SimPlan, SimResult};

/// Size of one piece of the endless answer in bytes, and the interval between pieces: twice as fast as they are read.
const PIECE: usize = 1000;
const OFTEN: Nanos = Nanos::from_micros(100);
const READ: Nanos = Nanos::from_micros(200);

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

type MakeServer = fn() -> Box<dyn ServerSession>;

/// A server that answers at once on odd-numbered connections, and endlessly on the others.
struct EndlessServer {
    make: MakeServer,
    begins: &'static [u8],
    piece: Vec<u8>,
    sessions: Vec<Option<Box<dyn ServerSession>>>,
    /// Connections that were just opened, and those that receive an endless answer.
    fresh: Vec<u32>,
    endless: Vec<u32>,
    next: Nanos,
}

impl EndlessServer {
    fn new(make: MakeServer, begins: &'static [u8], goes_on: &[u8]) -> EndlessServer {
        let piece = goes_on.repeat(PIECE.div_ceil(goes_on.len()));
        let (sessions, fresh, endless) = (Vec::new(), Vec::new(), Vec::new());
        EndlessServer { make, begins, piece, sessions, fresh, endless, next: Nanos::MAX }
    }
}

impl SimPeer for EndlessServer {
    fn opened(&mut self, now: Nanos, conn: u32) {
        self.sessions.resize_with(self.sessions.len().max(conn as usize + 1), || None);
        self.sessions[conn as usize] = Some((self.make)());
        self.fresh.push(conn);
        self.next = self.next.min(now);
    }

    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let Some(session) = &mut self.sessions[conn as usize] else { return };
        let (mut out, mut asks) = (OutputBuffer::default(), Vec::new());
        let whole = |ask: &ServerRequest<'_>| matches!(ask.part, brunt_contract::RequestPart::Whole);
        session.receive(bytes, &mut |ask| asks.extend(whole(&ask).then_some(ask.id))).expect("a client");
        session.write_due(&mut out);
        for id in asks {
            if conn.is_multiple_of(2) {
                if !self.endless.contains(&conn) {
                    out.put(self.begins);
                    self.endless.push(conn);
                    self.next = self.next.min(now);
                }
            } else {
                let reply = ServerResponse {
                    status: 200,
                    headers: b"",
                    body: b"x",
                    framing: BodyFraming::Length,
                    close: false,
                };
                session.respond(id, &reply, &mut out);
            }
        }
        if !out.is_empty() {
            say.send_out(conn, &mut out);
        }
    }

    fn closed(&mut self, _now: Nanos, conn: u32) {
        self.sessions[conn as usize] = None;
        self.endless.retain(|other| *other != conn);
    }

    fn next_timer(&self) -> Option<Nanos> {
        Some(self.next).filter(|next| *next < Nanos::MAX)
    }

    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        for conn in self.fresh.drain(..) {
            let mut out = OutputBuffer::default();
            if let Some(session) = &mut self.sessions[conn as usize] {
                session.open(&mut out);
            }
            if !out.is_empty() {
                say.send_out(conn, &mut out);
            }
        }
        self.endless.iter().for_each(|conn| say.send(*conn, &self.piece));
        self.next = if self.endless.is_empty() { Nanos::MAX } else { now + OFTEN };
    }
}

/// A server that, after the greeting, treats each send as a request.
struct PlainServer {
    /// The answer to the first send, which is not a request; empty if there is no greeting.
    welcome: &'static [u8],
    answer: &'static [u8],
    greeted: bool,
}

impl ServerSession for PlainServer {
    fn receive(&mut self, _bytes: &[u8], receive: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        if self.greeted || self.welcome.is_empty() {
            receive(ServerRequest::default());
        }
        Ok(())
    }
    fn write_due(&mut self, out: &mut OutputBuffer) {
        if !std::mem::replace(&mut self.greeted, true) {
            out.put(self.welcome);
        }
    }
    fn respond(&mut self, _id: u32, _reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        out.put(self.answer);
    }
    fn is_finished(&self) -> bool {
        false
    }
}

fn plain(welcome: &'static [u8], answer: &'static [u8]) -> Box<dyn ServerSession> {
    Box::new(PlainServer { welcome, answer, greeted: false })
}

/// A server of gRPC calls: each stream is answered with no message and the status OK.
#[derive(Default)]
struct CallServer {
    bytes: Vec<u8>,
    settled: bool,
}

impl ServerSession for CallServer {
    fn receive(&mut self, bytes: &[u8], receive: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        self.bytes.extend_from_slice(bytes);
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        if self.bytes.starts_with(PREFACE) {
            self.bytes.drain(..PREFACE.len());
        }
        while let [a, b, c, _, flags, rest @ ..] = &self.bytes[..] {
            let size = 9 + u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let (kind, flags) = (self.bytes[3], *flags);
            if self.bytes.len() < size {
                break;
            }
            let id = rest.first_chunk().map_or(0, |id| u32::from_be_bytes(*id));
            if kind < 2 && flags & 1 != 0 {
                receive(ServerRequest { id, ..ServerRequest::default() });
            }
            self.bytes.drain(..size);
        }
        Ok(())
    }
    fn write_due(&mut self, out: &mut OutputBuffer) {
        if !std::mem::replace(&mut self.settled, true) {
            out.put(b"\0\0\0\x04\0\0\0\0\0");
        }
    }
    fn respond(&mut self, id: u32, _reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        let field = |name: &str, value: &str| {
            [&[0, name.len() as u8][..], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
        };
        let head = [&[0x88][..], &field("content-type", "application/grpc")].concat();
        let (message, end) = (vec![0; 5], field("grpc-status", "0"));
        for (kind, flags, body) in [(1, 4, head), (0, 0, message), (1, 5, end)] {
            out.put(&[0, 0, body.len() as u8, kind, flags]);
            out.put(&id.to_be_bytes());
            out.put(&body);
        }
    }
    fn is_finished(&self) -> bool {
        false
    }
}

/// The first packets of an endless result set: one column, and rows with one empty text.
const MYSQL: &[u8] = b"\x01\0\0\x01\x01\x1a\0\0\x02\x03def\0\0\0\x04body\0\x0c\x2d\0\0\0\x01\0\xfd\0\0\0\0\0";

/// Returns rows in packets whose numbers follow those of [`MYSQL`].
fn rows() -> Vec<u8> {
    (3..=258_u32).flat_map(|number| [1, 0, 0, number as u8, 0]).collect()
}

/// Creates a scene of one second with one user for each peer.
fn scene(url: &str) -> SimPlan {
    let scene = SimPlan::closed(2, SECOND).urls(&[(url, 1.0)]).on(|s| (s.event_cost, s.read_size) = (READ, PIECE));
    scene.with(|p| (p.timeout, p.drain) = (ms(100), ms(200)))
}

fn play(
    scene: &SimPlan,
    protocol: &impl Protocol,
    make: MakeServer,
    begins: &'static [u8],
    goes_on: &[u8],
) -> SimResult {
    scene.play_protocol(protocol, Arc::default(), |_| -> Box<dyn SimPeer> {
        let peer = EndlessServer::new(make, begins, goes_on);
        if scene.plan.urls[0].url.starts_with("https") { Box::new(SecurePeer::new(peer)) } else { Box::new(peer) }
    })
}

/// Passes every protocol with its kind of endless answer to `each`.
fn every_protocol(each: impl Fn(&str, &dyn Fn(Option<Nanos>) -> SimResult)) {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    const HEADERS: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88";
    const CALL: &[u8] = b"\0\0\x20\x01\x04\0\0\0\x01\x88\0\x0ccontent-type\x10application/grpc";
    const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    macro_rules! hold {
        ($name:expr, $protocol:expr, $scene:expr, $make:expr, $begins:expr, $goes_on:expr) => {
            each($name, &|stop_at| {
                let scene = SimPlan { stop_at, ..$scene };
                play(&scene, &$protocol, $make, $begins, $goes_on)
            })
        };
    }
    use brunt_protocols::{
        grpc::GrpcProtocol, http::Http, mysql::MysqlProtocol, postgres::PostgresProtocol, raw::RawProtocol,
        redis::RedisProtocol,
    };
    let http1: MakeServer = || Box::new(Http1Server::new());
    hold!("http/1.1", Http, scene("http://a/"), http1, CHUNKED, b"1\r\nx\r\n");
    hold!("http/1.1 over TLS", Http, scene("https://a/"), http1, CHUNKED, b"1\r\nx\r\n");
    let http2: MakeServer = || Box::new(Http2Server::new());
    let data = b"\0\0\x01\0\0\0\0\0\x01x";
    hold!("http/2", Http, scene("http://a/").option("http", "2"), http2, HEADERS, data);
    let call = scene("grpc://a/grpc.health.v1.Health/Watch");
    let message = b"\0\0\x05\0\0\0\0\0\x01\0\0\0\0\0";
    hold!("grpc", GrpcProtocol, call.clone(), || Box::new(CallServer::default()), CALL, message);
    let sockets: MakeServer = || Box::new(WebSocketServer::new());
    let socket = || scene("ws://a/").option("data", "{\"id\":1}");
    let ws = brunt_protocols::websocket::WebSocketProtocol;
    hold!("websocket, fragments", ws, socket(), sockets, b"\x01\0", b"\0\0");
    let pushed = || socket().option("push", "").option("match-field", "id");
    hold!("websocket, pushes", ws, pushed(), || plain_socket(), b"", b"\x81\x08{\"id\":2}");
    hold!("redis", RedisProtocol, scene("redis://a"), || Box::new(RedisServer::new()), b"*2147483647\r\n", b":1\r\n");
    hold!("mysql", MysqlProtocol, scene("mysql://u@a/d"), || Box::new(MysqlServer::new()), MYSQL, &rows());
    let greeted: MakeServer = || plain(WELCOME, b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
    hold!("postgres", PostgresProtocol, scene("postgres://u@a/d"), greeted, b"", b"S\0\0\0\x08a\0b\0");
    let until = || scene("tcp://a:9").option("send", "x").option("until-regex", "e+nd");
    hold!("tcp, until a pattern", RawProtocol, until(), || plain(b"", b"end"), b"", b"en");
}

/// Creates a WebSocket server that answers everything with `{"id":1}`.
fn plain_socket() -> Box<dyn ServerSession> {
    struct SameReplySocket(WebSocketServer);
    impl ServerSession for SameReplySocket {
        fn receive(&mut self, bytes: &[u8], receive: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
            self.0.receive(bytes, receive)
        }
        fn write_due(&mut self, out: &mut OutputBuffer) {
            self.0.write_due(out);
        }
        fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
            self.0.respond(id, &ServerResponse { body: b"{\"id\":1}", ..*reply }, out);
        }
        fn is_finished(&self) -> bool {
            self.0.is_finished()
        }
    }
    Box::new(SameReplySocket(WebSocketServer::new()))
}

#[test]
fn whatever_is_spoken_an_endless_answer_times_out_and_others_are_served() {
    every_protocol(|name, play| {
        let played = play(None);
        let s = &played.sum;
        let timeouts = s.failures("timeout/");
        assert!(timeouts >= 5, "{name}: {timeouts} timeouts: {s:?}");
        // HTTP/2 gives up a connection on which an abandoned stream does not end.
        assert_eq!(s.failed, timeouts + s.failures("broken_protocol/first_byte/"), "{name}: {s:?}");
        // There are about two thousand unless each answer has to wait for a piece of the endless one.
        assert!(s.finished > 500, "{name}: {}", s.finished);
        let longest = s.latency.service_at_least.max();
        assert!(longest < 130_000_000, "{name}: timed out after {longest} ns instead of 100 ms");
        assert!(played.ended.elapsed < ms(1_400), "{name}: {}", played.ended.elapsed);
    });
}

#[test]
fn whatever_is_spoken_an_endless_answer_does_not_hold_up_a_stop() {
    every_protocol(|name, play| {
        let played = play(Some(SECOND + ms(450)));
        assert_eq!(played.ended.reason, brunt_record::End::Interrupted, "{name}");
        assert!(played.ended.elapsed < ms(520), "{name}: {}", played.ended.elapsed);
        let s = &played.sum;
        assert_eq!(s.due, s.finished + s.failed + s.censored, "{name}");
    });
}

/// Checks pieces that take longer to read than a turn should last: each has its own turn.
#[test]
fn pieces_that_are_slow_to_read_do_not_stop_the_clock_either() {
    let scene = scene("http://a/").on(|s| s.event_cost = ms(3));
    let begins = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let played = play(&scene, &brunt_protocols::http::Http, || Box::new(Http1Server::new()), begins, b"1\r\nx\r\n");
    let s = &played.sum;
    assert_eq!((s.failed, s.failures("timeout/") >= 5), (s.failures("timeout/"), true), "{s:?}");
    assert!(s.finished > 50, "{}", s.finished);
    assert!(played.ended.elapsed < ms(1_400), "{}", played.ended.elapsed);
}

/// Checks an answer of many pieces that arrived in its socket while we did not run.
#[test]
fn a_large_answer_that_lay_in_its_socket_while_we_were_stopped_did_not_time_out() {
    use brunt_sim::{SimInterval, SimReply};
    let scene = SimPlan::closed(3, SECOND).with(|p| p.timeout = ms(100));
    let from = scene.sim.starts_at + ms(50);
    let costs = |s: &mut brunt_sim::SimSettings| {
        s.pauses.push(SimInterval { from, to: from + ms(300) });
        (s.read_size, s.event_cost) = (1000, Nanos::from_micros(100));
    };
    // 100 pieces each, and 30 ms of reading for all three, after each has passed its deadline.
    let reply = SimReply::new(200, &vec![b'x'; 100_000]);
    let played = scene.on(costs).play(|| {
        let reply = reply.clone();
        move |now: Nanos, _: &ServerRequest<'_>| (now + ms(40), reply.clone())
    });
    played.check();
    assert_eq!(played.sum.failed, 0, "{:?}", played.sum.failures);
    assert!(played.sum.latency.service.max() > 290_000_000, "the time is told as it was");
}
