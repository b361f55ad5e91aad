//! Frames that RFC 9113 forbids a server to send, by section, and the resulting error code.

use super::*;

/// Checks that each of these frames ends the connection with the given code, after SETTINGS and with streams 1 and 3
/// open.
#[test]
fn connections_end_with_the_right_code() {
    const PROTOCOL: u32 = code::PROTOCOL_ERROR;
    const SIZE: u32 = code::FRAME_SIZE_ERROR;
    const FLOW: u32 = code::FLOW_CONTROL_ERROR;
    let open = |flags, payload: &[u8]| frame(frames::HEADERS, flags, 1, payload);
    let over = |more: Vec<u8>| [last_head(1, OK), more].concat();
    let cases: Vec<(&str, Vec<u8>, u32)> = vec![
        ("4.2: a frame that is too large", frame(frames::DATA, 0, 1, &[0; 16_385]), SIZE),
        ("4.2: of an unknown kind", FrameHead { length: 16_385, kind: 0x50, flags: 0, stream: 0 }.bytes().into(), SIZE),
        ("4.3: a block that is no HPACK", open(frames::END_HEADERS, &[0x80]), code::COMPRESSION_ERROR),
        ("4.3: of a stream that is over", over(last_head(1, OK)), code::STREAM_CLOSED),
        ("4.3: interrupted by DATA", [open(0, b""), data(1, b"")].concat(), PROTOCOL),
        ("4.3: interrupted by PING", [open(0, b""), frame(frames::PING, 0, 0, &[0; 8])].concat(), PROTOCOL),
        ("4.3: by an unknown kind", [open(0, b""), frame(0x50, 0, 1, b"")].concat(), PROTOCOL),
        (
            "4.3: by CONTINUATION of another stream",
            [open(0, b""), frame(frames::CONTINUATION, frames::END_HEADERS, 3, b"")].concat(),
            PROTOCOL,
        ),
        ("5.1: DATA of an idle stream", data(5, b"x"), PROTOCOL),
        ("5.1: HEADERS of an idle stream", head(5, OK), PROTOCOL),
        ("5.1: WINDOW_UPDATE of an idle stream", window(5, 1), PROTOCOL),
        ("5.1: RST_STREAM of an idle stream", reset(5, 0), PROTOCOL),
        ("5.1: DATA after the end", over(data(1, b"x")), code::STREAM_CLOSED),
        ("5.1.1: a stream of the server's", head(2, OK), PROTOCOL),
        ("6.1: DATA of the connection", data(0, b"x"), PROTOCOL),
        ("6.1: padding as long as the frame", frame(frames::DATA, frames::PADDED, 1, &[4, 0, 0, 0]), PROTOCOL),
        ("6.1: padded without a length", frame(frames::DATA, frames::PADDED, 1, &[]), PROTOCOL),
        ("6.2: HEADERS of the connection", head(0, OK), PROTOCOL),
        ("6.2: padding longer than the frame", open(frames::END_HEADERS | frames::PADDED, &[9, 0x88]), PROTOCOL),
        ("6.2: no padding length", open(frames::END_HEADERS | frames::PADDED, &[]), PROTOCOL),
        ("6.2: too short for a priority", open(frames::END_HEADERS | frames::PRIORITIZED, &[0; 4]), SIZE),
        ("6.3: PRIORITY of four bytes", frame(frames::PRIORITY, 0, 1, &[0; 4]), SIZE),
        ("6.4: RST_STREAM of three bytes", frame(frames::RST_STREAM, 0, 1, &[0; 3]), SIZE),
        ("6.4: RST_STREAM of the connection", reset(0, 0), PROTOCOL),
        ("6.5: SETTINGS of a stream", frame(frames::SETTINGS, 0, 1, b""), PROTOCOL),
        ("6.5: SETTINGS of five bytes", frame(frames::SETTINGS, 0, 0, &[0; 5]), SIZE),
        ("6.5: an answer that says something", frame(frames::SETTINGS, frames::ACK, 0, &[0; 6]), SIZE),
        ("6.5.2: push allowed by a server", settings(&[(2, 1)]), PROTOCOL),
        ("6.5.2: push neither nor", settings(&[(2, 2)]), PROTOCOL),
        ("6.5.2: a window that is too large", settings(&[(4, 1 << 31)]), FLOW),
        ("6.5.2: a frame size that is too small", settings(&[(5, 16_383)]), PROTOCOL),
        ("6.5.2: a frame size that is too large", settings(&[(5, 1 << 24)]), PROTOCOL),
        ("6.6: PUSH_PROMISE", frame(frames::PUSH_PROMISE, frames::END_HEADERS, 1, &[0, 0, 0, 2]), PROTOCOL),
        ("6.7: PING of seven bytes", frame(frames::PING, 0, 0, &[0; 7]), SIZE),
        ("6.7: PING of a stream", frame(frames::PING, 0, 1, &[0; 8]), PROTOCOL),
        ("6.8: GOAWAY of a stream", frame(frames::GOAWAY, 0, 1, &[0; 8]), PROTOCOL),
        ("6.8: GOAWAY of seven bytes", frame(frames::GOAWAY, 0, 0, &[0; 7]), SIZE),
        ("6.9: WINDOW_UPDATE of three bytes", frame(frames::WINDOW_UPDATE, 0, 0, &[0; 3]), SIZE),
        ("6.9: by nothing, of the connection", window(0, 0), PROTOCOL),
        ("6.9: by nothing, of a stream", window(1, 0), PROTOCOL),
        ("6.9: the reserved bit alone", window(1, 1 << 31), PROTOCOL),
        ("6.9.1: the connection's window beyond 2^31-1", window(0, (1 << 31) - 1), FLOW),
        ("6.9.1: a stream's window beyond 2^31-1", window(1, (1 << 31) - 1), FLOW),
        ("6.9.2: by SETTINGS", [window(1, (1 << 31) - 65_536), settings(&[(4, 65_536)])].concat(), FLOW),
        ("6.10: CONTINUATION alone", frame(frames::CONTINUATION, frames::END_HEADERS, 1, b""), PROTOCOL),
        (
            "6.10: CONTINUATION after the end of a block",
            [head(1, OK), frame(frames::CONTINUATION, frames::END_HEADERS, 1, b"")].concat(),
            PROTOCOL,
        ),
    ];
    for (name, bytes, expected) in cases {
        for at in [0, 5, 9, bytes.len() / 2, bytes.len()] {
            let mut talk = Http2Client::after(&[], 2);
            talk.hear(&settings(&[]));
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            talk.hear(a);
            talk.hear(b);
            assert!(talk.broken.is_some(), "{name}");
            let Some((frames::GOAWAY, 0, 0, payload)) = talk.said().pop() else { panic!("{name}: no GOAWAY") };
            assert_eq!(payload[4..], expected.to_be_bytes(), "{name}: {:?}", talk.broken);
            assert_eq!(talk.session.room(), 0, "{name}");
        }
    }
}

#[test]
fn a_server_begins_with_settings() {
    for first in [data(1, b"x"), head(1, OK), frame(frames::SETTINGS, frames::ACK, 0, b""), goaway(0, 0)] {
        let mut talk = Http2Client::after(&[], 1);
        talk.hear(&first);
        assert_eq!(talk.broken, Some("the server's first frame is not SETTINGS"));
    }
    for text in ["HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.0 200 OK\r\n"] {
        let mut talk = Http2Client::after(&[], 1);
        text.bytes().for_each(|byte| talk.hear(&[byte]));
        let expected = "the server responded in HTTP/1: it does not support HTTP/2 here; leave out --http2";
        assert_eq!(talk.broken, Some(expected));
    }
    // An alert, shorter than the head of a frame, with and without more bytes after it.
    for alert in [&[0x15, 3, 3, 0, 2, 2, 70][..], &[0x15, 3, 1, 0, 2, 2, 10, 0x15, 3, 1, 0, 2, 1, 0]] {
        for size in [1, alert.len()] {
            let mut talk = Http2Client::after(&[], 1);
            alert.chunks(size).for_each(|part| talk.hear(part));
            assert!(talk.broken.is_some_and(|why| why.starts_with("the server uses TLS on this port")));
        }
    }
}

#[test]
fn reserved_bits_are_ignored() {
    let mut answer = last_head(1, OK);
    answer[5] |= 0x80;
    answer[4] |= 0xc2;
    let mut talk = Http2Client::after(&[], 1);
    talk.hear(&[settings(&[]), window(0, 1 | 1 << 31), answer].concat());
    assert_eq!((talk.ends(), talk.broken), (vec!["0 ok 200 0".to_owned()], None));
}

/// Checks that repeated frames without effect cause bounded work and a failure that is counted.
#[test]
fn floods_end_the_connection() {
    let nothing = frame(frames::HEADERS, 0, 1, b"");
    let floods = [
        ("PING", frame(frames::PING, 0, 0, &[0; 8])),
        ("SETTINGS", settings(&[(4, 65_535)])),
        ("empty SETTINGS", settings(&[])),
        ("answers to SETTINGS", frame(frames::SETTINGS, frames::ACK, 0, b"")),
        ("empty DATA", data(1, b"")),
        ("padding", frame(frames::DATA, frames::PADDED, 1, &[1, 0])),
        ("PRIORITY", frame(frames::PRIORITY, 0, 1, &[0; 5])),
        ("unknown kinds", frame(0x42, 0, 0, b"")),
        ("interim answers", head(1, &[(":status", "103")])),
        ("small windows", window(0, 1)),
        ("empty CONTINUATION", frame(frames::CONTINUATION, 0, 1, b"")),
        ("large CONTINUATION", frame(frames::CONTINUATION, 0, 1, &[0x82; 16_384])),
        ("RST_STREAM of a stream that is over", reset(3, 0)),
    ];
    for (name, flood) in floods {
        let mut talk = Http2Client::after(&[], 2);
        talk.hear(&[settings(&[]), last_head(3, OK)].concat());
        match name {
            "empty DATA" | "padding" => talk.hear(&head(1, OK)),
            "empty CONTINUATION" | "large CONTINUATION" => talk.hear(&nothing),
            _ => {}
        }
        let many = flood.repeat(1000.min(8_000_000 / flood.len()));
        let mut rounds = 0;
        while talk.broken.is_none() && rounds < 100 {
            talk.hear(&many);
            assert!(talk.out.len() <= 100_000, "{name}");
            talk.out.clear();
            rounds += 1;
        }
        assert!(talk.broken.is_some(), "{name}");
    }
}

#[test]
fn a_server_that_answers_is_no_flood_whatever_else_it_says() {
    let mut talk = Http2Client::after(&[], 0);
    talk.hear(&settings(&[]));
    for turn in 0..1000 {
        talk.submit(0);
        talk.out.clear();
        talk.hear(&frame(frames::PING, 0, 0, &[0; 8]).repeat(100));
        talk.hear(&last_head(2 * turn + 1, OK));
        // The engine calls this once the socket has taken the replies.
        talk.session.reset_pending_replies();
        assert_eq!((talk.ends(), talk.broken), (vec!["0 ok 200 0".to_owned()], None));
    }
}

/// A body between the pings keeps them from counting as idle frames; replies that nobody reads are still bounded.
#[test]
fn answers_that_nobody_reads_are_bounded_whatever_comes_between() {
    for asking in [frame(frames::PING, 0, 0, &[0; 8]), settings(&[])] {
        let flood = [data(1, b"x"), asking.repeat(1000)].concat();
        let mut talk = Http2Client::after(&[], 1);
        talk.hear(&[settings(&[]), head(1, OK)].concat());
        for _ in 0..1000 {
            talk.hear(&flood);
        }
        let why = "a flood of PING or SETTINGS while the server does not read the acknowledgements";
        assert_eq!(talk.broken, Some(why));
        assert!(talk.out.len() < 1 << 20, "{}", talk.out.len());
        // The server may continue if it reads the replies.
        let mut read = Http2Client::after(&[], 1);
        read.hear(&[settings(&[]), head(1, OK)].concat());
        for _ in 0..100 {
            read.hear(&flood);
            assert!(read.session.pending_replies() >= 1000);
            read.session.reset_pending_replies();
            read.out.clear();
        }
        assert_eq!((read.broken, read.session.pending_replies()), (None, 0));
    }
}

#[test]
fn rapid_resets_cost_one_failure_each() {
    let mut talk = Http2Client::after(&[], 100);
    let resets: Vec<u8> = (0..100).flat_map(|n| reset(2 * n + 1, 2)).collect();
    talk.hear(&[settings(&[]), resets].concat());
    let expected: Vec<String> = (0..100).map(|n| format!("{n} reset 0 0")).collect();
    assert_eq!((talk.news(), talk.broken), (expected, None));
}
