//! Tests that incomplete heads of all connections of a run share one memory budget, in every protocol.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, ProtocolError,
    RequestedUrl, SlotContext, Workload,
};
use brunt_values::budget::{MemoryBudget, NO_ROOM_FOR_HEADS};

use crate::grpc::GrpcProtocol;
use crate::http::Http;
use crate::http2::frames;
use crate::websocket::WebSocketProtocol;

/// Feeds endless heads to connections until one of them exceeds the budget. Returns the number of connections before
/// it, and its error.
fn crowd(workload: &Arc<dyn Workload>, start: &[u8], pieces: &[Vec<u8>]) -> (usize, brunt_cause::StaticCause) {
    let mut all = Vec::new();
    loop {
        let mut session = workload.session(&workload.origins()[0], &EstablishedConnection::default());
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        session.open(&mut out);
        // If a handshake comes first, nothing can be submitted yet.
        let _ = session.submit(ExchangeId(0), &workload.requests()[0].request, &SlotContext::default(), &mut out);
        session.receive(start, &mut out, &mut done).expect("a good beginning");
        for piece in pieces {
            if let Err(ProtocolError(said)) = session.receive(piece, &mut out, &mut done) {
                return (all.len(), said);
            }
        }
        all.push(session);
    }
}

#[test]
fn heads_that_do_not_end_have_one_bound_in_every_protocol_and_give_back_what_they_had() {
    let most = MemoryBudget::default().limit();
    let check = |name: &str, each: usize, crowd: &dyn Fn() -> (usize, brunt_cause::StaticCause)| {
        let (first, said) = crowd();
        assert_eq!(said, NO_ROOM_FOR_HEADS, "{name}");
        assert!(first > 100 && first * each <= most, "{name}: {first} with {each} bytes each");
        // The memory of the first crowd has been released.
        assert_eq!(crowd(), (first, said), "{name}");
    };
    let of = |url: &str, options: &[(&str, &str)]| {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]));
        let url = RequestedUrl { url: url.to_owned(), weight: 1.0 };
        ProtocolConfig { urls: vec![url], options: options.collect(), ..ProtocolConfig::default() }
    };
    let lines = |count: usize| vec![[b"X: ", &[b'x'; 10_000][..], b"\r\n"].concat(); count];
    let http = Http.prepare(&of("http://h/", &[])).expect("a plan");
    check("http/1.1", 250_000, &|| crowd(&http, b"HTTP/1.1 200 OK\r\nX: y", &lines(25)));
    let websocket = WebSocketProtocol.prepare(&of("ws://h/", &[("data", "x")])).expect("a plan");
    check("websocket", 60_000, &|| crowd(&websocket, b"HTTP/1.1 101 OK\r\nX: y", &lines(6)));
    let mut start = Vec::new();
    frames::put_settings(&[], &mut start);
    frames::put(frames::HEADERS, 0, 1, &[0x88], &mut start);
    let mut more = Vec::new();
    frames::put(frames::CONTINUATION, 0, 1, &[b'x'; 10_000], &mut more);
    let more = vec![more; 25];
    let two = Http.prepare(&of("http://h/", &[("http", "2")])).expect("a plan");
    check("http/2", 250_000, &|| crowd(&two, &start, &more));
    let grpc = GrpcProtocol.prepare(&of("grpc://h/grpc.health.v1.Health/Check", &[])).expect("a plan");
    check("grpc", 250_000, &|| crowd(&grpc, &start, &more));
}
