//! Table tests of responses: whole, split at every position and at every pair of positions, byte by byte, and with the
//! connection closed at every position.

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, Session, SlotContext,
};

use super::{PlayedExchange, dialogue, feed, play};

/// A response and its expected outcome.
#[derive(Clone, Copy)]
struct Http1ResponseCase {
    options: &'static [&'static str],
    answer: &'static str,
    close: bool,
    fault: Option<FaultKind>,
    code: u32,
    payload: u64,
    room: usize,
    broken: Option<&'static str>,
}

/// A 200 response on a persistent connection.
const GOOD: Http1ResponseCase = Http1ResponseCase {
    options: &[],
    answer: "",
    close: false,
    fault: None,
    code: 200,
    payload: 0,
    room: 1,
    broken: None,
};
/// A successful response that ends the connection.
const LAST: Http1ResponseCase = Http1ResponseCase { room: 0, ..GOOD };
/// A successful response followed by stray bytes.
const UNASKED: Http1ResponseCase = Http1ResponseCase { broken: Some("unsolicited bytes"), ..LAST };
/// A malformed response.
const BROKEN: Http1ResponseCase = Http1ResponseCase { fault: Some(FaultKind::BrokenProtocol), code: 0, ..LAST };
/// A 200 response with malformed chunks.
const BAD_CHUNKS: Http1ResponseCase = Http1ResponseCase { code: 200, ..BROKEN };

const NOT_HTTP: Option<&str> = Some("the response is not HTTP/1.x");
const NO_FIELD: Option<&str> = Some("a header line is not NAME: VALUE");
const CONTROL: Option<&str> = Some("a header line contains a control character");
const NO_NUMBER: Option<&str> = Some("Content-Length is not a number");
const NO_SIZE: Option<&str> = Some("a chunk size is not a hexadecimal number");
const NO_END: Option<&str> = Some("a chunk line or trailer does not end in CR LF");

/// A TLS alert as ASCII text: TLS servers send it to clients that use another protocol.
const ALERT: &str = "\u{15}\u{3}\u{3}\0\u{2}\u{2}\n";
/// First frame of an HTTP/2 server.
const SETTINGS: &str = "\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0d";
const TLS: Option<&str> = Some("the server uses TLS on this port; use https://");
const HTTP2: Option<&str> = Some("the server uses HTTP/2 on this port; add --http2");

#[rustfmt::skip]
const CASES: &[Http1ResponseCase] = &[
    // Delimited by length.
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200\r\ncontent-length:5  \r\n\r\nhello", payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 \r\nCONTENT-LENGTH:\t5\r\n\r\nhello", payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 005\r\n\r\nhello", payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\nContent-Length: 5\nX:\n\nhello", payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 Tr\u{e8}s bien\r\nX: \u{e9}\tz\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..GOOD },
    // Delimited by chunks.
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0010\r\n0123456789abcdef\r\n0\r\nT: x\r\n\r\n", payload: 21, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\nA  \r\n0123456789\r\n000;x\r\n\r\n", payload: 10, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n", payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", payload: 1, ..LAST },
    // Without a body.
    Http1ResponseCase { answer: "HTTP/1.1 204 No Content\r\n\r\n", code: 204, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", code: 304, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", options: &["method=HEAD"], ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", options: &["method=HEAD"], ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\n\r\n", options: &["method=HEAD"], ..GOOD },
    // After interim responses.
    Http1ResponseCase { answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 102 P\r\nConnection: close\r\n\r\nHTTP/1.1 204 N\r\n\r\n", code: 204, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", broken: Some("unrequested 101 Switching Protocols"), ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", options: &["header=Upgrade: x", "expect-status=101"], code: 101, ..LAST },
    // Ending and persistent connections.
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nConnection: Foo , CLOSE\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", options: &["no-keepalive"], payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", options: &["header=Connection: close"], payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n1\r\nx\r\n", close: true, payload: 6, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello", close: true, payload: 5, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\n\r\n", close: true, ..LAST },
    // Checks.
    Http1ResponseCase { answer: "HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", code: 301, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", fault: Some(FaultKind::WrongStatus), code: 404, payload: 2, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", fault: Some(FaultKind::WrongStatus), code: 999, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", options: &["expect-status=200,404"], code: 404, payload: 2, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", options: &["expect-status=4xx"], fault: Some(FaultKind::WrongStatus), ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\naababcab", options: &["expect-body=abc"], payload: 8, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\naababdab", options: &["expect-body=abc"], fault: Some(FaultKind::WrongBody), payload: 8, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxa\r\n1\r\nb\r\n2\r\ncc\r\n0\r\n\r\n", options: &["expect-body=abc"], payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxa\r\n1\r\nb\r\n2\r\nac\r\n0\r\n\r\n", options: &["expect-body=abc"], fault: Some(FaultKind::WrongBody), payload: 5, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 204 None\r\n\r\n", options: &["expect-body=a"], fault: Some(FaultKind::WrongBody), code: 204, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\na", options: &["expect-body=a"], fault: Some(FaultKind::WrongStatus), code: 500, payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\n\r\nxxabc", options: &["expect-body=abc"], close: true, payload: 5, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 404 No\r\n\r\nxxabc", close: true, fault: Some(FaultKind::WrongStatus), code: 404, payload: 5, ..LAST },
    // Unsolicited bytes.
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", payload: 5, ..UNASKED },
    Http1ResponseCase { answer: "HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\nx", code: 204, ..UNASKED },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ..UNASKED },
    Http1ResponseCase { answer: "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\nx", fault: Some(FaultKind::WrongStatus), code: 404, ..UNASKED },
    // Malformed responses.
    Http1ResponseCase { answer: "SSH-2.0-OpenSSH_9.2\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "x", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: ALERT, broken: TLS, ..BROKEN },
    Http1ResponseCase { answer: SETTINGS, broken: HTTP2, ..BROKEN },
    Http1ResponseCase { answer: "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/2.0 200 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.2 200 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 20 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 2000 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 099 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1  200 OK\r\n\r\n", broken: NOT_HTTP, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 O\0K\r\n\r\n", broken: CONTROL, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\rx\r\n\r\n", broken: CONTROL, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\n\tX: a\r\n\r\n", broken: Some("a header line is folded"), ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", broken: NO_FIELD, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX : a\r\n\r\n", broken: NO_FIELD, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\n: a\r\n\r\n", broken: NO_FIELD, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX\r\n\r\n", broken: NO_FIELD, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n", broken: CONTROL, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", broken: CONTROL, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX: \x7f\r\n\r\n", broken: CONTROL, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", broken: Some("Content-Length is given twice with different values"), ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", broken: Some("Content-Length is given twice \
        with different values"), ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", broken: NO_NUMBER, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", broken: NO_NUMBER, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", broken: NO_NUMBER, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n", broken: NO_NUMBER, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n", broken: NO_NUMBER, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", broken: NO_NUMBER, ..BROKEN },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", broken: Some("Transfer-Encoding has chunked twice"), ..BROKEN },
    // Malformed chunks.
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", broken: NO_SIZE, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", broken: NO_SIZE, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", broken: NO_SIZE, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n", broken: NO_SIZE, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\rx", broken: NO_END, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;\0\r\nx", broken: NO_END, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n", broken: Some("a chunk size is out of range"), ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n", broken: Some("a chunk is longer than its size says"), payload: 1, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: \n\r\n", broken: NO_END, ..BAD_CHUNKS },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\rx", broken: NO_END, ..BAD_CHUNKS },
];

/// One line end before the first response and one behind a response are skipped, but no more.
#[rustfmt::skip]
const LINE_ENDS: &[Http1ResponseCase] = &[
    Http1ResponseCase { answer: "\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx\r\n", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\r\n", ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx\n", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx\r\n", payload: 1, ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", payload: 1, ..UNASKED },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx\rx", payload: 1, ..UNASKED },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx\r\nx", payload: 1, ..UNASKED },
];

/// A line that begins with white space continues the one before it (RFC 9112 5.2).
#[rustfmt::skip]
const FOLDED: &[Http1ResponseCase] = &[
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\ttwice\r\nContent-Length: 1\r\n\r\nx", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nContent-Length:\r\n 1\r\n\r\nx", payload: 1, ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\nTransfer-Encoding:\n  chunked\n\n0\r\n\r\n", ..GOOD },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nConnection: x,\r\n close\r\nContent-Length: 0\r\n\r\n", ..LAST },
    Http1ResponseCase { answer: "HTTP/1.1 200 OK\r\nX: a\r\n f\0lded\r\n\r\n", broken: CONTROL, ..BROKEN },
];

fn expected(case: &Http1ResponseCase) -> PlayedExchange {
    PlayedExchange { ended: Some((case.fault, case.code, case.payload, None)), broken: case.broken, room: case.room }
}

#[test]
fn every_answer_comes_to_the_same_however_it_is_cut() {
    for case in CASES.iter().chain(LINE_ENDS).chain(FOLDED) {
        let dialogue = dialogue("http://h/", case.options);
        let (text, answer) = (case.answer, case.answer.as_bytes());
        assert_eq!(play(&dialogue, &[answer], case.close), expected(case), "whole: {text}");
        for at in 1..answer.len() {
            let (a, b) = answer.split_at(at);
            assert_eq!(play(&dialogue, &[a, b], case.close), expected(case), "cut at {at}: {text}");
            for second in 1..b.len() {
                let (b, c) = b.split_at(second);
                assert_eq!(play(&dialogue, &[a, b, c], case.close), expected(case), "cut at {at} and {second}: {text}");
            }
        }
        let bytes: Vec<&[u8]> = answer.chunks(1).collect();
        assert_eq!(play(&dialogue, &bytes, case.close), expected(case), "byte by byte: {text}");
    }
}

/// A line end behind a response may also arrive once the next request is in flight.
#[test]
fn a_line_end_before_the_next_answer_is_skipped_and_is_not_its_first_byte() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let dialogue = dialogue("http://h/", &[]);
    for (end, skipped) in [("\r\n", true), ("\n", true), ("\r\n\r\n", false), ("\rx", false), ("\r\r\n", false)] {
        for cut in 0..end.len() {
            let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
            let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
            let mut next = |session: &mut Box<dyn Session>, id| {
                let request = &dialogue.requests()[0].request;
                session.submit(ExchangeId(id), request, &SlotContext::default(), &mut out).expect("room");
            };
            next(&mut session, 1);
            let first = feed(&mut session, &dialogue, &[answer.as_bytes()], false, &mut done);
            assert_eq!((first.broken, first.room), (None, 1));
            done.events.clear();
            // The first part comes before the next request, the rest after it.
            let (before, after) = end.as_bytes().split_at(cut);
            let early = feed(&mut session, &dialogue, &[before], false, &mut done);
            if early.broken.is_some() && !skipped {
                continue;
            }
            assert_eq!((early.broken, done.events.len()), (None, 0), "{end:?} cut at {cut}");
            next(&mut session, 2);
            let rest = feed(&mut session, &dialogue, &[after], false, &mut done);
            assert_eq!(rest.broken.is_none(), skipped, "{end:?} cut at {cut}");
            if skipped {
                assert!(done.events.is_empty(), "{end:?} cut at {cut}: {:?}", done.events);
                let second = feed(&mut session, &dialogue, &[answer.as_bytes()], false, &mut done);
                assert_eq!((second.broken, second.ended), (None, Some((None, 200, 1, None))), "{end:?} cut at {cut}");
            }
        }
    }
}

#[test]
fn a_long_head_is_read_the_same_however_it_is_cut() {
    let filler: String = (0..40).map(|n| format!("X-{}-{n}: {}\r\n", "n".repeat(n), "v".repeat(n * 3 % 97))).collect();
    let answer = format!("HTTP/1.1 200 OK\r\n{filler}Content-Length: 70\r\n{filler}\r\n{}", "b".repeat(70));
    let dialogue = dialogue("http://h/", &[]);
    let good = expected(&Http1ResponseCase { payload: 70, ..GOOD });
    for at in 1..answer.len() {
        let (a, b) = answer.as_bytes().split_at(at);
        assert_eq!(play(&dialogue, &[a, b], false), good, "cut at {at}");
    }
}

#[test]
fn an_answer_cut_short_is_no_answer_unless_its_end_is_the_close() {
    for case in CASES.iter().filter(|c| c.broken.is_none()) {
        let dialogue = dialogue("http://h/", case.options);
        let head_end = case.answer.rfind("\r\n\r\n").map_or(case.answer.len(), |at| at + 4);
        for at in 0..case.answer.len() {
            let pieces: &[&[u8]] = if at == 0 { &[] } else { &[&case.answer.as_bytes()[..at]] };
            let outcome = play(&dialogue, pieces, true);
            assert_eq!(outcome.room, 0);
            match outcome.ended {
                None => assert!(!case.close || at < head_end, "cut at {at}: {}", case.answer),
                Some((_, code, payload, _)) => {
                    assert!(case.close && at >= head_end, "cut at {at}: {}", case.answer);
                    assert_eq!((code, payload), (case.code, (at - head_end) as u64));
                }
            }
        }
    }
}

#[test]
fn endless_heads_are_refused_whole_and_in_pieces() {
    let line = "X: y\r\n";
    let endless = format!("HTTP/1.1 200 OK\r\n{}", line.repeat(300 * 1024 / line.len()));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(300 * 1024 / 25);
    let dialogue = dialogue("http://h/", &[]);
    for text in [&endless, &format!("{endless}\r\n"), &interim] {
        for size in [text.len(), 65_536, 1000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let outcome = play(&dialogue, &pieces, false);
            assert_eq!(outcome.broken, Some("endless headers: the response headers are larger than 256 KiB"));
            assert_eq!(outcome.ended, Some((Some(FaultKind::BrokenProtocol), 0, 0, None)));
        }
    }
}

/// Unsolicited bytes may be the response to another request; a 408 only closes an idle connection.
#[test]
fn an_answer_too_many_is_a_stray_and_a_408_on_an_idle_connection_is_none() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let idle = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    let dialogue = dialogue("http://h/", &[]);
    for (late, strays) in [(&answer[..], 1), (b"x", 1), (idle, 0)] {
        for together in [true, false] {
            let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
            let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
            session
                .submit(ExchangeId(3), &dialogue.requests()[0].request, &SlotContext::default(), &mut out)
                .expect("room");
            let whole = [answer, late].concat();
            let pieces = if together { vec![&whole[..]] } else { vec![&answer[..], late] };
            let read = pieces.into_iter().find_map(|piece| session.receive(piece, &mut out, &mut done).err());
            assert_eq!((read.is_some(), session.room()), (true, 0));
            assert_eq!(done.events.iter().filter(|event| matches!(event, Event::SurplusResponse(_))).count(), strays);
        }
    }
}

#[test]
fn endless_trailers_are_refused() {
    let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}", "X: y\r\n".repeat(100_000));
    let outcome = play(&dialogue("http://h/", &[]), &[text.as_bytes()], false);
    assert_eq!(outcome.broken, Some("endless chunk extensions or trailers"));
}
