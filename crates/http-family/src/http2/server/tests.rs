//! Client and server against each other, with bytes split in many ways, and clients that violate the protocol.

use std::sync::Arc;

use brunt_contract::{BodyFraming, Event, ExchangeEnd, ExchangeId, ServerResponse, ServerSession, SlotContext};

use super::*;
use crate::http2::frames::{FrameHead, HEAD, PREFACE, code};
use crate::http2::tests::{Http2Client, block, dialogue, dialogue_of, frame, in_words, settings, window};

/// A received request: stream, method, head, body size, body.
type ReceivedRequests = Vec<(u32, String, String, u64, Vec<u8>)>;

fn hear(server: &mut Http2Server, bytes: &[u8]) -> (ReceivedRequests, Option<&'static str>) {
    let mut heard = Vec::new();
    let broken = server.receive(bytes, &mut |ask| {
        let head = String::from_utf8(ask.head.to_vec()).unwrap();
        assert!(head.starts_with(&format!("{} {} HTTP/2\r\n", ask.method, ask.path)), "{head}");
        heard.push((ask.id, ask.method.to_owned(), head, ask.body_bytes, ask.body.to_vec()));
    });
    (heard, broken.err().map(|broken| &*broken.to_string().leak()))
}

/// Runs a client against a server, passing bytes in pieces; every request is answered in reverse order.
fn converse(
    mut talk: Http2Client,
    requests: u32,
    reply: &ServerResponse<'_>,
    piece: usize,
) -> (Vec<String>, ReceivedRequests) {
    let mut server = Http2Server::new();
    let (mut out, mut heard) = (OutputBuffer::default(), ReceivedRequests::new());
    for id in 0..requests {
        talk.submit(id);
    }
    let mut words = Vec::new();
    for _ in 0..1000 {
        server.write_due(&mut out);
        let said = std::mem::take(&mut talk.out);
        if said.is_empty() && out.is_empty() {
            break;
        }
        let mut news = Vec::new();
        for part in said.bytes().chunks(piece) {
            let (asks, broken) = hear(&mut server, part);
            assert_eq!(broken, None);
            news.extend(asks);
        }
        for (id, ..) in news.iter().rev() {
            server.respond(*id, reply, &mut out);
        }
        heard.extend(news);
        server.write_due(&mut out);
        let answers = std::mem::take(&mut out);
        answers.bytes().chunks(piece).for_each(|part| talk.hear(part));
        assert_eq!(talk.broken, None);
        words.extend(talk.done.events.drain(..).map(|e| in_words(&e)).filter(|w| !w.starts_with("first")));
    }
    assert_eq!(server.open(), 0);
    words.sort();
    (words, heard)
}

const REPLY: ServerResponse<'static> = ServerResponse {
    status: 200,
    headers: b"Server: x\r\n",
    body: b"hello",
    framing: BodyFraming::Length,
    close: false,
};

#[test]
fn the_halves_understand_each_other_however_the_bytes_are_cut() {
    let large = vec![7; 300_000];
    for (options, reply, expected) in [
        (&[][..], REPLY, "ok 200 5"),
        (&["data=abc"], ServerResponse { status: 404, ..REPLY }, "wrong_status 404 5"),
        (&["method=HEAD"], REPLY, "ok 200 0"),
        (&[], ServerResponse { body: b"", ..REPLY }, "ok 200 0"),
        (&[], ServerResponse { framing: BodyFraming::Chunked(2), ..REPLY }, "ok 200 5"),
        (&[], ServerResponse { framing: BodyFraming::UntilClose, ..REPLY }, "ok 200 5"),
        (&[], ServerResponse { body: &large, ..REPLY }, "ok 200 300000"),
        (&[], ServerResponse { body: &large, framing: BodyFraming::Chunked(100_000), ..REPLY }, "ok 200 300000"),
    ] {
        for piece in [1, 7, 100, 1 << 20] {
            let (words, heard) = converse(Http2Client::of(dialogue(options)), 3, &reply, piece);
            let all: Vec<String> = (0..3).map(|id| format!("{id} {expected}")).collect();
            assert_eq!(words, all, "{options:?} in pieces of {piece}");
            assert_eq!(heard.len(), 3);
            assert!(heard.iter().all(|h| h.2 == heard[0].2), "every head is heard alike");
        }
    }
}

#[test]
fn requests_are_heard_as_http1_would_write_them() {
    let talk = Http2Client::of(dialogue_of(&["http://h:81/a?b"], &["data=x=1", "header=X-Own: Yes"]));
    let (_, heard) = converse(talk, 1, &REPLY, 1 << 20);
    let (id, method, head, body_bytes, body) = &heard[0];
    assert_eq!((*id, method.as_str(), *body_bytes, &body[..]), (1, "POST", 3, &b"x=1"[..]));
    assert!(head.starts_with("POST /a?b HTTP/2\r\nhost: h:81\r\n"), "{head}");
    assert!(head.contains("\r\nx-own: Yes\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_large_upload_is_counted_and_its_beginning_shown() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; 30_000_000]).unwrap();
    let talk = Http2Client::of(dialogue(&[&format!("data-file={}", file.path().display())]));
    let (words, heard) = converse(talk, 1, &REPLY, 50_000);
    assert_eq!(words, ["0 ok 200 5"]);
    assert_eq!((heard[0].3, heard[0].4.len()), (30_000_000, 65_536));
}

fn greeted() -> Http2Server {
    let mut server = Http2Server::new();
    assert_eq!(hear(&mut server, &[PREFACE, &settings(&[])].concat()).1, None);
    server.write_due(&mut OutputBuffer::default());
    server
}

const GET: [(&str, &str); 3] = [(":method", "GET"), (":scheme", "http"), (":path", "/")];

fn request(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, stream, &block(fields))
}

/// Returns the types and streams of the frames sent.
fn said(server: &mut Http2Server) -> Vec<(u8, u32)> {
    let mut out = OutputBuffer::default();
    server.write_due(&mut out);
    let (mut rest, mut said) = (out.bytes(), Vec::new());
    while let Some((head, more)) = rest.split_first_chunk::<HEAD>() {
        let head = FrameHead::read(head);
        said.push((head.kind, head.stream));
        rest = &more[head.length..];
    }
    said
}

#[test]
fn malformed_requests_are_reset_and_the_next_is_heard() {
    for (name, fields) in [
        ("no method", &GET[1..]),
        ("no scheme", &[GET[0], GET[2]]),
        ("no path", &GET[..2]),
        ("two paths", &[GET[0], GET[1], GET[2], GET[2]]),
        ("an empty path", &[GET[0], GET[1], (":path", "")]),
        ("a path with a space", &[GET[0], GET[1], (":path", "/ HTTP/1.1")]),
        ("a late path", &[GET[0], GET[1], ("a", "b"), GET[2]]),
        ("a status", &[GET[0], GET[1], GET[2], (":status", "200")]),
        ("a large name", &[GET[0], GET[1], GET[2], ("Host", "h")]),
        ("a connection", &[GET[0], GET[1], GET[2], ("connection", "close")]),
    ] {
        let mut server = greeted();
        assert_eq!(hear(&mut server, &request(1, fields)), (vec![], None), "{name}");
        assert_eq!(said(&mut server), [(frames::RST_STREAM, 1)], "{name}");
        assert_eq!(hear(&mut server, &request(3, &GET)).0.len(), 1, "{name}");
    }
}

#[test]
fn a_client_that_does_not_follow_is_told_goodbye() {
    for (name, bytes) in [
        ("an even stream", request(2, &GET)),
        ("data of nobody", frame(frames::DATA, 0, 1, b"x")),
        ("data after the end", [request(1, &GET), frame(frames::DATA, 0, 1, b"x")].concat()),
        ("push", frame(frames::PUSH_PROMISE, 0, 1, b"")),
        ("a short PING", frame(frames::PING, 0, 0, b"")),
        ("a window of nothing", window(0, 0)),
        ("a window too wide", window(0, (1 << 31) - 1)),
        ("SETTINGS of five bytes", frame(frames::SETTINGS, 0, 0, &[0; 5])),
        ("a setting out of range", settings(&[(5, 1)])),
        ("CONTINUATION alone", frame(frames::CONTINUATION, 0, 1, b"")),
        ("no HPACK", frame(frames::HEADERS, frames::END_HEADERS, 1, &[0x80])),
        ("a reset of nobody", frame(frames::RST_STREAM, 0, 9, &[0; 4])),
        ("a trailer in the middle", {
            let open = frame(frames::HEADERS, frames::END_HEADERS, 1, &block(&GET));
            open.repeat(2)
        }),
        ("a flood", settings(&[]).repeat(70_000)),
    ] {
        let mut server = greeted();
        assert!(hear(&mut server, &bytes).1.is_some(), "{name}");
        assert_eq!(said(&mut server).last(), Some(&(frames::GOAWAY, 0)), "{name}");
        assert!(server.is_finished(), "{name}");
    }
    let mut server = Http2Server::new();
    assert!(hear(&mut server, b"GET / HTTP/1.1\r\n").1.is_some());
}

#[test]
fn the_last_answer_ends_the_connection_and_the_rest_is_refused() {
    let mut talk = Http2Client::of(dialogue(&[]));
    let mut server = Http2Server::new();
    (0..2).for_each(|id| talk.submit(id));
    let sent = std::mem::take(&mut talk.out);
    let (heard, _) = hear(&mut server, sent.bytes());
    let mut out = OutputBuffer::default();
    server.write_due(&mut out);
    server.respond(heard[0].0, &ServerResponse { close: true, ..REPLY }, &mut out);
    server.write_due(&mut out);
    assert!(!server.is_finished(), "one answer is still to come");
    // A request in transit when GOAWAY was sent.
    talk.submit(2);
    let sent = std::mem::take(&mut talk.out);
    assert_eq!(hear(&mut server, sent.bytes()), (vec![], None));
    talk.hear(out.bytes());
    assert_eq!(talk.ends(), ["0 ok 200 5", "refused 2"]);
    let mut out = OutputBuffer::default();
    server.respond(heard[1].0, &REPLY, &mut out);
    talk.hear(out.bytes());
    assert_eq!((talk.ends(), server.is_finished(), talk.session.room()), (vec!["1 ok 200 5".to_owned()], true, 0));
}

#[test]
fn answers_in_parts_and_spoiled_ones() {
    let mut talk = Http2Client::of(dialogue(&[]));
    let mut server = Http2Server::new();
    (0..4).for_each(|id| talk.submit(id));
    let sent = std::mem::take(&mut talk.out);
    hear(&mut server, sent.bytes());
    let mut out = OutputBuffer::default();
    server.write_due(&mut out);
    // A trailer; a reset after a part; fewer bytes than announced; only a reset.
    assert!(server.head(1, 200, b"", None, false, &mut out));
    server.data(1, b"x", false, &mut out);
    server.trailer(1, b"grpc-status: 0\r\n", &mut out);
    server.head(3, 200, b"", Some(9), false, &mut out);
    server.data(3, b"x", false, &mut out);
    server.reset(3, code::CANCEL, &mut out);
    server.head(5, 200, b"", Some(9), false, &mut out);
    server.data(5, b"x", true, &mut out);
    server.reset(7, code::REFUSED_STREAM, &mut out);
    talk.hear(out.bytes());
    assert_eq!(talk.ends(), ["0 ok 200 1", "1 reset 200 1", "2 broken_protocol 200 1", "refused 3"]);
    assert_eq!(server.open(), 0);
}

#[test]
fn heartbeats_are_answered_and_counted() {
    let mut talk = Http2Client::of(dialogue(&[]));
    assert!(talk.session.heartbeat(&mut talk.out));
    let mut server = Http2Server::new();
    hear(&mut server, talk.out.bytes());
    let mut out = OutputBuffer::default();
    server.write_due(&mut out);
    talk.hear(out.bytes());
    assert_eq!((talk.ends(), server.heartbeats(), server.heartbeats()), (vec!["heartbeat".to_owned()], 1, 0));
}

#[test]
fn a_request_that_is_given_up_is_forgotten() {
    let mut talk = Http2Client::of(dialogue(&[]));
    let request = &talk.workload.requests()[0].request;
    talk.session.submit(ExchangeId(0), request, &SlotContext::default(), &mut talk.out).unwrap();
    talk.session.cancel(ExchangeId(0), &mut talk.out);
    let mut server = Http2Server::new();
    let (heard, broken) = hear(&mut server, talk.out.bytes());
    assert_eq!((heard.len(), broken, server.open()), (1, None, 0));
    let mut out = OutputBuffer::default();
    server.respond(1, &REPLY, &mut out);
    assert!(out.is_empty());
    assert!(!talk.done.events.iter().any(|e| matches!(e, Event::Ended(ExchangeEnd { .. }))));
}

proptest::proptest! {
    #[test]
    fn garbage_of_a_client_is_survived(bytes: Vec<u8>, piece in 1_usize..20) {
        let mut server = greeted();
        let mut out = OutputBuffer::default();
        for part in bytes.chunks(piece) {
            let (heard, broken) = hear(&mut server, part);
            heard.iter().for_each(|h| server.respond(h.0, &REPLY, &mut out));
            server.write_due(&mut out);
            if broken.is_some() {
                break;
            }
        }
    }
}

#[test]
fn a_flood_leaves_as_client_and_room_allow_and_holds_nothing_meanwhile() {
    let block: Arc<[u8]> = (0..=255).cycle().take(1000).collect();
    for size in [0, 1, 999, 1000, 1001, 250_300] {
        let mut talk = Http2Client::of(dialogue(&[]));
        let (mut server, mut out) = (Http2Server::new(), OutputBuffer::default());
        talk.submit(0);
        let (heard, broken) = hear(&mut server, talk.out.bytes());
        assert_eq!((heard.len(), broken), (1, None));
        talk.out.clear();
        server.write_due(&mut out);
        server.set_room(700);
        server.flood(heard[0].0, &REPLY, size, &block, &mut out);
        assert!(server.queued_bytes() <= size % 1000 && server.is_short_of_room() == (size > 700), "{size}");
        let mut words = Vec::new();
        for _ in 0..2000 {
            server.write_due(&mut out);
            let said = std::mem::take(&mut out);
            assert!(said.len() < 900, "no more than there is room for: {}", said.len());
            talk.hear(said.bytes());
            words.extend(talk.done.events.drain(..).map(|event| in_words(&event)));
            let (_, broken) = hear(&mut server, std::mem::take(&mut talk.out).bytes());
            assert_eq!((broken, talk.broken), (None, None));
            server.set_room(700);
            server.flush_within_room(&mut out);
        }
        assert_eq!(words.last().map(String::as_str), Some(&*format!("0 ok 200 {size}")));
        assert_eq!((server.open(), server.queued_bytes(), server.is_short_of_room()), (0, 0, false));
    }
}

#[test]
fn requests_that_are_not_whole_hold_so_much() {
    // A field of 4000 bytes enters the table once and takes one byte from then on.
    let first = [&[0x82, 0x86, 0x84, 0x01, 1, b'a', 0x40, 1, b'b', 0x7f, 0xa1, 0x1e][..], &[b'x'; 4000]].concat();
    let long = [&first[..], &[0xbe; 50]].concat();
    let again = [&[0x82, 0x86, 0x84, 0x01, 1, b'a'][..], &[0xbe; 50]].concat();
    let mut server = Http2Server::new();
    let mut said = [PREFACE, &settings(&[]), &frame(frames::HEADERS, frames::END_HEADERS, 1, &long)].concat();
    said.extend((1..400).flat_map(|n| frame(frames::HEADERS, frames::END_HEADERS, 2 * n + 1, &again)));
    assert!(said.len() < 64 * 1024);
    let (_, broken) = hear(&mut server, &said);
    assert_eq!(broken, Some("incomplete requests take up more than 16 MiB"));
    assert!(server.held_bytes() < 17 << 20, "{}", server.held_bytes());
}

#[test]
fn what_was_held_of_a_request_is_let_go_of_with_it() {
    let mut server = Http2Server::new();
    let head = block(&[(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")]);
    let asked = |id| frame(frames::HEADERS, frames::END_HEADERS, id, &head);
    let body = |id, flags| frame(frames::DATA, flags, id, &[7; 1000]);
    let said = [PREFACE, &settings(&[]), &asked(1), &body(1, 0), &asked(3), &body(3, 0)].concat();
    assert_eq!(hear(&mut server, &said).1, None);
    assert!(server.request_bytes > 2000, "{}", server.request_bytes);
    let reset = frame(frames::RST_STREAM, 0, 3, &[0; 4]);
    let (heard, _) = hear(&mut server, &[body(1, frames::END_STREAM), reset].concat());
    assert_eq!((heard[0].3, server.request_bytes), (2000, 0));
}
