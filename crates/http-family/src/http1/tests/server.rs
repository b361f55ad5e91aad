//! Tests of the server: the requests it reports, however they are split, and its replies.

use brunt_contract::{BodyFraming, OutputBuffer, ProtocolError, ServerResponse, ServerSession};

use crate::http1::Http1Server;

/// Method, path, length of the body, and its beginning.
type ReceivedRequest = (String, String, u64, Vec<u8>);

fn hear(server: &mut Http1Server, pieces: &[&[u8]]) -> Result<Vec<ReceivedRequest>, ProtocolError> {
    let mut heard: Vec<ReceivedRequest> = Vec::new();
    for piece in pieces {
        server.receive(piece, &mut |ask| {
            assert_eq!(ask.id as usize, heard.len());
            assert!(ask.head.starts_with(ask.method.as_bytes()) && ask.head.ends_with(b"\n"));
            heard.push((ask.method.into(), ask.path.into(), ask.body_bytes, ask.body.to_vec()));
        })?;
    }
    Ok(heard)
}

fn expect(text: &str, expected: &Result<Vec<ReceivedRequest>, ProtocolError>) {
    let bytes = text.as_bytes();
    assert_eq!(hear(&mut Http1Server::new(), &[bytes]), *expected, "whole: {text}");
    for at in 1..bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(hear(&mut Http1Server::new(), &[a, b]), *expected, "cut at {at}: {text}");
        for second in 1..b.len() {
            let (b, c) = b.split_at(second);
            assert_eq!(hear(&mut Http1Server::new(), &[a, b, c]), *expected, "cut at {at}, {second}: {text}");
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(hear(&mut Http1Server::new(), &single), *expected, "byte by byte: {text}");
}

#[test]
fn requests_are_heard_however_they_are_cut() {
    for (text, expected) in [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", &[("GET", "/", "")][..]),
        ("GET /a?b=%20 HTTP/1.0\n\n", &[("GET", "/a?b=%20", "")]),
        ("\r\n\n\r\nGET / HTTP/1.1\r\n\r\n", &[("GET", "/", "")]),
        ("OPTIONS * HTTP/1.1\r\n\r\n", &[("OPTIONS", "*", "")]),
        ("GET http://h:80/a?b HTTP/1.1\r\n\r\n", &[("GET", "/a?b", "")]),
        ("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", &[("POST", "/", "abc")]),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nT: t\r\n\r\n",
            &[("POST", "/", "abc")],
        ),
        (
            "POST /1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\nConnection: close\r\n\r\nGET /4 HTTP/1.1\r\n\r\n",
            &[("POST", "/1", "ab"), ("GET", "/2", ""), ("GET", "/3", "")],
        ),
        ("GET /1 HTTP/1.0\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", &[("GET", "/1", "")]),
        (
            "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
            &[("GET", "/1", ""), ("GET", "/2", "")],
        ),
    ] {
        let owned = expected
            .iter()
            .map(|(method, path, body)| ((*method).into(), (*path).into(), body.len() as u64, body.as_bytes().to_vec()))
            .collect();
        expect(text, &Ok(owned));
    }
}

#[test]
fn what_is_no_request_is_refused() {
    let line = brunt_cause::http1::wrong_request_line();
    for (text, why) in [
        ("GET /\r\n\r\n", line),
        ("GET / HTTP/2.0\r\n\r\n", line),
        ("GET  / HTTP/1.1\r\n\r\n", line),
        ("GET /a b HTTP/1.1\r\n\r\n", line),
        ("GET /\t HTTP/1.1\r\n\r\n", line),
        (" GET / HTTP/1.1\r\n\r\n", line),
        ("G:T / HTTP/1.1\r\n\r\n", line),
        ("GET HTTP/1.1\r\n\r\n", line),
        ("GET  HTTP/1.1\r\n\r\n", line),
        ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", brunt_cause::http1::no_field()),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", brunt_cause::http1::request_not_chunked()),
        ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", brunt_cause::http1::length_not_a_number()),
    ] {
        expect(text, &Err(ProtocolError(why)));
    }
    let mut server = Http1Server::new();
    let not_text = server.receive(b"GET /\xff HTTP/1.1\r\n\r\n", &mut |_| {});
    assert_eq!(not_text.map_err(|broken| broken.to_string()), Err("the request target is not text".to_string()));
    let endless = format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(60_000));
    for size in [endless.len(), 1000] {
        let pieces: Vec<&[u8]> = endless.as_bytes().chunks(size).collect();
        let why = ProtocolError(brunt_cause::http1::endless_request_headers());
        assert_eq!(hear(&mut Http1Server::new(), &pieces), Err(why));
    }
}

#[test]
fn a_large_body_is_counted_and_its_beginning_shown() {
    let text = format!("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{}", "b".repeat(100_000));
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(1000).collect();
    let heard = hear(&mut Http1Server::new(), &pieces).expect("a request");
    assert_eq!((heard[0].2, heard[0].3.len()), (100_000, 65_536));
}

const REPLY: ServerResponse<'static> =
    ServerResponse { status: 200, headers: b"", body: b"hello", framing: BodyFraming::Length, close: false };

fn answered(request: &str, reply: &ServerResponse<'_>) -> (String, bool) {
    let (mut server, mut out) = (Http1Server::new(), OutputBuffer::default());
    hear(&mut server, &[request.as_bytes()]).expect("a request");
    server.respond(0, reply, &mut out);
    (String::from_utf8(out.bytes().to_vec()).expect("text"), server.is_finished())
}

#[test]
fn answers_have_the_shape_asked_for() {
    let (get, head, old, old_keep, close) = (
        "GET / HTTP/1.1\r\n\r\n",
        "HEAD / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    );
    let chunked = ServerResponse { framing: BodyFraming::Chunked(3), ..REPLY };
    let until_close = ServerResponse { framing: BodyFraming::UntilClose, ..REPLY };
    let (ok, closes, keeps) = ("HTTP/1.1 200 OK\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n");
    let chunks = "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    let length = "Content-Length: 5\r\n\r\n";
    for (request, reply, expected, over) in [
        (get, REPLY, format!("{ok}{length}hello"), false),
        (
            get,
            ServerResponse { headers: b"A: b\r\n", close: true, ..REPLY },
            format!("{ok}A: b\r\n{closes}{length}hello"),
            true,
        ),
        (
            get,
            ServerResponse { status: 503, body: b"", ..REPLY },
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".into(),
            false,
        ),
        (get, ServerResponse { status: 204, ..REPLY }, "HTTP/1.1 204 No Content\r\n\r\n".into(), false),
        (get, ServerResponse { status: 304, ..until_close }, "HTTP/1.1 304 Not Modified\r\n\r\n".into(), false),
        (get, chunked, format!("{ok}{chunks}"), false),
        (
            get,
            ServerResponse { body: b"", ..chunked },
            format!("{ok}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            false,
        ),
        (
            get,
            ServerResponse { framing: BodyFraming::Chunked(0), body: b"a", ..REPLY },
            format!("{ok}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
            false,
        ),
        (get, until_close, format!("{ok}{closes}\r\nhello"), true),
        (head, REPLY, format!("{ok}{length}"), false),
        (head, chunked, format!("{ok}Transfer-Encoding: chunked\r\n\r\n"), false),
        (head, until_close, format!("{ok}\r\n"), false),
        (old, REPLY, format!("{ok}{closes}{length}hello"), true),
        (old_keep, REPLY, format!("{ok}{keeps}{length}hello"), false),
        (old_keep, chunked, format!("{ok}{closes}\r\nhello"), true),
        (close, REPLY, format!("{ok}{closes}{length}hello"), true),
        (get, ServerResponse { status: 299, ..REPLY }, format!("HTTP/1.1 299 Status\r\n{length}hello"), false),
    ] {
        assert_eq!(answered(request, &reply), (expected, over), "{request:?} {reply:?}");
    }
}

#[test]
fn answers_leave_in_the_order_of_the_requests() {
    const MANY: u32 = 40;
    let (mut server, mut out) = (Http1Server::new(), OutputBuffer::default());
    let requests: String =
        (0..MANY).map(|n| format!("{} /{n} HTTP/1.1\r\n\r\n", if n % 3 == 0 { "HEAD" } else { "GET" })).collect();
    hear(&mut server, &[requests.as_bytes()]).expect("requests");
    let bodies: Vec<String> = (0..MANY).map(|n| format!("body {n}")).collect();
    // 13 is coprime to 40, so each request is answered once, and far from its turn.
    for n in (0..MANY).map(|n| (n * 13 + 5) % MANY) {
        server.respond(n, &ServerResponse { body: bodies[n as usize].as_bytes(), ..REPLY }, &mut out);
    }
    let expected: String = (0..MANY as usize)
        .map(|n| {
            let body = if n % 3 == 0 { "" } else { &bodies[n] };
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", bodies[n].len())
        })
        .collect();
    assert_eq!(String::from_utf8_lossy(out.bytes()), expected);
    server.respond(0, &REPLY, &mut out);
    server.respond(MANY, &REPLY, &mut out);
    assert_eq!(out.len(), expected.len(), "answers that nobody waits for are dropped");
}

#[test]
fn nothing_leaves_after_an_answer_that_closes() {
    let (mut server, mut out) = (Http1Server::new(), OutputBuffer::default());
    hear(&mut server, &["GET / HTTP/1.1\r\n\r\n".repeat(3).as_bytes()]).expect("requests");
    server.respond(2, &REPLY, &mut out);
    server.respond(1, &ServerResponse { close: true, ..REPLY }, &mut out);
    assert!(out.is_empty() && !server.is_finished());
    server.respond(0, &REPLY, &mut out);
    assert!(server.is_finished());
    let text = String::from_utf8_lossy(out.bytes()).into_owned();
    assert_eq!((text.matches("HTTP/1.1 200").count(), text.matches("Connection: close").count()), (2, 1));
    assert_eq!(hear(&mut server, &[b"GET / HTTP/1.1\r\n\r\n"]), Ok(vec![]));
}

#[test]
fn leave_to_send_a_body_is_given_once_and_only_where_it_is_waited_for() {
    let head = "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
    let old = head.replace("HTTP/1.1", "HTTP/1.0");
    let none = head.replace("Content-Length: 2", "Content-Length: 0");
    let with_body = format!("{head}a");
    for (pieces, leave) in [
        (&[head][..], true),
        (&[&head[..20], &head[20..]], true),
        (&[&with_body], false),
        (&[&head[..20], &with_body[20..]], false),
        (&[&old], false),
        (&[&none], false),
    ] {
        let (mut server, mut out) = (Http1Server::new(), OutputBuffer::default());
        for piece in pieces {
            hear(&mut server, &[piece.as_bytes()]).expect("good so far");
            assert!(out.is_empty());
            server.write_due(&mut out);
        }
        let expected: &[u8] = if leave { b"HTTP/1.1 100 Continue\r\n\r\n" } else { b"" };
        assert_eq!(out.bytes(), expected, "{pieces:?}");
        server.write_due(&mut out);
        assert_eq!(out.bytes(), expected);
    }
}
