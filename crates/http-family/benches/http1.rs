//! User-mode cost of one exchange, without a network: encoding a request and parsing an nginx response, and the same
//! for the server side. Prints the best and the median of many rounds in nanoseconds; `cargo bench -p brunt-http-family
//! --bench http1`.

use std::hint::black_box;
use std::time::Instant;

use brunt_contract::{
    BodyFraming, EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolConfig,
    RequestedUrl, ServerResponse, ServerSession, SlotContext,
};
use brunt_http_family::http1::{Http1, Http1Server};

const ROUNDS: usize = 300;
const TURNS: usize = 2_000;

const NGINX: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:24:27 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1\r\nLast-Modified: Sat, 21 Nov 2026 06:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691ffd00-1\"\r\nAccept-Ranges: bytes\r\n\r\nx";

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:24:27 GMT\r\n\
    Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n\
    b\r\nhello world\r\n5\r\nagain\r\n0\r\n\r\n";

fn main() {
    println!("{:<44}{:>10}{:>10}", "", "best ns", "median ns");
    client("client: 240-byte nginx head, 1 byte", NGINX, 1);
    client("client: chunked", CHUNKED, 1);
    client("client: 240-byte nginx head, 1000 sessions", NGINX, 1000);
    server(
        "server: GET / with three headers, 1 byte",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: brunt/0.1.0\r\nAccept: */*\r\n\r\n",
    );
}

/// Measures submitting a request and receiving its response, over `sessions` connections in turn.
fn client(name: &str, answer: &[u8], sessions: usize) {
    let url = RequestedUrl { url: "http://127.0.0.1:8080/".into(), weight: 1.0 };
    let dialogue =
        Http1.prepare(&ProtocolConfig { urls: vec![url], ..ProtocolConfig::default() }).expect("a good plan");
    let request = &dialogue.requests()[0].request;
    let mut sessions: Vec<_> =
        (0..sessions).map(|_| dialogue.session(&Origin::default(), &EstablishedConnection::default())).collect();
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let mut next = 0;
    measure(name, || {
        next = if next + 1 < sessions.len() { next + 1 } else { 0 };
        let session = &mut sessions[next];
        session.submit(ExchangeId(1), black_box(request), &SlotContext::default(), &mut out).expect("room");
        black_box(out.bytes());
        out.clear();
        session.receive(black_box(answer), &mut out, &mut done).expect("an answer");
        assert!(matches!(done.events.last(), Some(Event::Ended(ended)) if ended.fault.is_none()));
        done.events.clear();
    });
}

/// Measures receiving a request and writing its response.
fn server(name: &str, request: &[u8]) {
    let mut session = Http1Server::new();
    let mut out = OutputBuffer::default();
    let reply = ServerResponse { status: 200, headers: b"", body: b"x", framing: BodyFraming::Length, close: false };
    measure(name, || {
        let mut id = None;
        session.receive(black_box(request), &mut |ask| id = Some(ask.id)).expect("a request");
        session.respond(id.expect("one request"), black_box(&reply), &mut out);
        black_box(out.bytes());
        out.clear();
    });
}

fn measure(name: &str, mut turn: impl FnMut()) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..TURNS {
                turn();
            }
            start.elapsed().as_nanos() as f64 / TURNS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<44}{:>10.1}{:>10.1}", rounds[0], rounds[ROUNDS / 2]);
}
