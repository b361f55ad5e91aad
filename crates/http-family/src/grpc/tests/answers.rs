//! Results of responses, wherever the bytes are split.

use super::*;

/// A test case: name, call, the server's bytes, and the expected events.
type GrpcResponseCase = (&'static str, &'static str, Vec<u8>, &'static [&'static str]);

fn cases() -> Vec<GrpcResponseCase> {
    let reset = |code: u32| frame(frames::RST_STREAM, 0, 1, &code.to_be_bytes());
    let plain = |status: &str| headers(1, &[(":status", status), ("content-type", "text/html")], false);
    let at_once = |fields: &[(&str, &str)]| {
        headers(1, &[&[(":status", "200"), ("content-type", "application/grpc")], fields].concat(), true)
    };
    vec![
        ("unary", UNARY, [head(1), data(1, &[b"abc"]), trailers(1, "0")].concat(), &["ended 0 ok OK 3"]),
        ("an empty message", UNARY, [head(1), data(1, &[b""]), trailers(1, "0")].concat(), &["ended 0 ok OK 0"]),
        (
            "a stream",
            SERVER,
            [head(1), data(1, &[b"a", b"bc"]), data(1, &[b""]), trailers(1, "0")].concat(),
            &["first 0", "message 0 1", "message 0 2", "message 0 0", "ended 0 ok OK 3"],
        ),
        ("an empty stream", SERVER, [head(1), trailers(1, "0")].concat(), &["ended 0 ok OK 0"]),
        (
            "trailers only",
            UNARY,
            at_once(&[("grpc-status", "14")]),
            &["ended 0 wrong_status UNAVAILABLE 0 UNAVAILABLE"],
        ),
        (
            "a message, escaped",
            UNARY,
            at_once(&[("grpc-status", "5"), ("grpc-message", "no caf%C3%A9 100% %zz")]),
            &["ended 0 wrong_status NOT_FOUND 0 NOT_FOUND: no caf\u{e9} 100% %zz"],
        ),
        (
            "a status nobody knows",
            UNARY,
            at_once(&[("grpc-status", "99")]),
            &["ended 0 wrong_status STATUS_99 0 STATUS_99"],
        ),
        ("a status that is none", UNARY, at_once(&[("grpc-status", "x")]), &["ended 0 wrong_status UNKNOWN 0 UNKNOWN"]),
        (
            "failed in the middle",
            SERVER,
            [head(1), data(1, &[b"a"]), headers(1, &[("grpc-status", "13"), ("grpc-message", "oh")], true)].concat(),
            &["first 0", "message 0 1", "ended 0 wrong_status INTERNAL 1 INTERNAL: oh"],
        ),
        (
            "HTTP instead of gRPC",
            UNARY,
            [plain("503"), frame(frames::DATA, 1, 1, b"busy")].concat(),
            &["ended 0 wrong_status UNAVAILABLE 0 UNAVAILABLE: HTTP status 503 and no grpc-status"],
        ),
        (
            "not found",
            UNARY,
            headers(1, &[(":status", "404")], true),
            &["ended 0 wrong_status UNIMPLEMENTED 0 UNIMPLEMENTED: HTTP status 404 and no grpc-status"],
        ),
        (
            "a web page",
            UNARY,
            plain("200"),
            &["ended 0 broken_protocol - 0 the response is not gRPC: its content-type is not application/grpc"],
        ),
        (
            "no status",
            UNARY,
            [head(1), data(1, &[b"a"]), headers(1, &[("x", "y")], true)].concat(),
            &["ended 0 broken_protocol - 1 the response ended without grpc-status"],
        ),
        (
            "no trailers",
            UNARY,
            [head(1), frame(frames::DATA, 1, 1, &[0, 0, 0, 0, 0])].concat(),
            &["ended 0 broken_protocol - 0 the response ended without grpc-status"],
        ),
        (
            "a cut message",
            SERVER,
            [head(1), frame(frames::DATA, 0, 1, &[0, 0, 0, 0, 9, 1]), trailers(1, "0")].concat(),
            &["ended 0 broken_protocol - 0 the status is OK, but the last message is cut short"],
        ),
        (
            "two instead of one",
            UNARY,
            [head(1), data(1, &[b"a", b"b"]), trailers(1, "0")].concat(),
            &["ended 0 broken_protocol - 2 the status is OK, but with 2 messages instead of one"],
        ),
        (
            "none instead of one",
            UNARY,
            [head(1), trailers(1, "0")].concat(),
            &["ended 0 broken_protocol - 0 the status is OK, but with 0 messages instead of one"],
        ),
        (
            "no prefix",
            SERVER,
            [head(1), frame(frames::DATA, 0, 1, b"hello")].concat(),
            &["ended 0 broken_protocol - 0 the bytes between messages are not a length prefix"],
        ),
        (
            "compressed",
            UNARY,
            [head(1), frame(frames::DATA, 0, 1, &[1, 0, 0, 0, 1, 7]), trailers(1, "0")].concat(),
            &["ended 0 broken_protocol - 0 a message is compressed, but grpc-encoding is missing"],
        ),
        (
            "cancelled",
            UNARY,
            [head(1), reset(8)].concat(),
            &["ended 0 wrong_status CANCELLED 0 CANCELLED: the server reset the stream: CANCEL"],
        ),
        ("refused", UNARY, reset(7), &["refused 0"]),
        (
            "interim answers",
            UNARY,
            [headers(1, &[(":status", "103")], false), head(1), data(1, &[b"a"]), trailers(1, "0")].concat(),
            &["ended 0 ok OK 1"],
        ),
        (
            "a head in the middle",
            UNARY,
            [head(1), head(1)].concat(),
            &["ended 0 broken_protocol - 0 a second set of headers came between the messages"],
        ),
    ]
}

#[test]
fn every_answer_whole_and_cut_at_every_position() {
    for (name, url, said, events) in cases() {
        let bytes = [settings(&[]), said].concat();
        for cut in 0..=bytes.len() {
            let mut talk = GrpcClient::new(dialogue(url, &[]));
            talk.call(0);
            for piece in [&bytes[..cut], &bytes[cut..]] {
                talk.hear(piece).unwrap_or_else(|broken| panic!("{name} cut at {cut}: {broken:?}"));
            }
            let mut heard = talk.events();
            // A response in pieces reports its first byte, which a single piece need not.
            if heard.first().is_some_and(|e| e == "first 0") && events.first() != Some(&"first 0") {
                heard.remove(0);
            }
            assert_eq!(heard, events, "{name} cut at {cut}");
            assert_eq!(talk.session.room(), 1, "{name} cut at {cut}: the connection lives on");
        }
        let mut talk = GrpcClient::new(dialogue(url, &[]));
        talk.call(0);
        bytes.iter().for_each(|byte| talk.hear(&[*byte]).expect("byte by byte"));
        let ended = talk.events().pop();
        assert_eq!(ended.as_deref(), events.last().copied(), "{name} byte by byte");
    }
}

#[test]
fn what_was_offered_may_be_compressed() {
    let ok = "ended 0 ok OK 1";
    let other = "ended 0 broken_protocol - 0 a message is compressed with an encoding that was not offered";
    let unasked = "ended 0 broken_protocol - 0 a message is compressed, which was not requested";
    for (offered, encoding, expected) in [
        (None, "gzip", ok),
        (None, "deflate", ok),
        (None, "zstd", other),
        (Some("gzip"), "gzip", ok),
        (Some("identity, zstd"), "zstd", ok),
        (Some("identity"), "gzip", unasked),
    ] {
        let said = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-encoding", encoding)];
        let bytes = [
            settings(&[]),
            headers(1, &said, false),
            frame(frames::DATA, 0, 1, &[1, 0, 0, 0, 1, 7]),
            trailers(1, "0"),
            headers(3, &said, false),
            frame(frames::DATA, 0, 3, &[1, 0, 0, 0, 1, 7]),
            trailers(3, "0"),
        ];
        let header = offered.map(|offered| format!("grpc-accept-encoding: {offered}"));
        let options: Vec<(&str, &str)> = header.iter().map(|header| ("header", header.as_str())).collect();
        let mut talk = GrpcClient::new(dialogue(UNARY, &[&[("streams", "2")][..], &options].concat()));
        (0..2).for_each(|id| talk.call(id));
        talk.hear(&bytes.concat()).expect("heard");
        // The second head is recognized as identical to the first.
        let second = expected.replace("ended 0", "ended 1");
        assert_eq!(talk.events(), [expected, &second], "{offered:?} {encoding}");
    }
}

#[test]
fn a_call_with_a_deadline_that_the_server_cancels_is_late() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[("deadline", "1s")]));
    talk.call(0);
    talk.hear(&[settings(&[]), frame(frames::RST_STREAM, 0, 1, &[0, 0, 0, 8])].concat()).expect("heard");
    let said = "ended 0 wrong_status DEADLINE_EXCEEDED 0 DEADLINE_EXCEEDED: the server reset the stream: CANCEL";
    assert_eq!(talk.events(), [said]);
}

#[test]
fn other_statuses_may_be_a_success() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[("expect-status", "NOT_FOUND,5")]));
    talk.call(0);
    let at_once = headers(1, &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")], true);
    talk.hear(&[settings(&[]), at_once].concat()).expect("heard");
    talk.call(1);
    talk.hear(&[head(3), data(3, &[b"x"]), trailers(3, "0")].concat()).expect("heard");
    assert_eq!(talk.events(), ["ended 0 ok NOT_FOUND 0", "ended 1 wrong_status OK 1 OK"]);
}

#[test]
fn the_same_trailers_are_read_once_and_mean_the_same() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[("streams", "3")]));
    talk.hear(&settings(&[])).expect("settings");
    for (number, status, ended) in
        [(0, "0", "ok OK 1"), (1, "0", "ok OK 1"), (2, "4", "wrong_status DEADLINE_EXCEEDED 1")]
    {
        let stream = 2 * number + 1;
        talk.call(number);
        talk.hear(&[head(stream), data(stream, &[b"x"]), trailers(stream, status)].concat()).expect("heard");
        let heard = talk.events().remove(0);
        assert!(heard.starts_with(&format!("ended {number} {ended}")), "{heard}");
    }
}

#[test]
fn an_answer_that_goes_on_tells_its_first_byte() {
    let mut talk = GrpcClient::new(dialogue(UNARY, &[]));
    talk.call(0);
    talk.hear(&[settings(&[]), head(1)].concat()).expect("heard");
    assert_eq!(talk.events(), ["first 0"]);
    talk.hear(&[data(1, &[b"x"]), trailers(1, "0")].concat()).expect("heard");
    assert_eq!(talk.events(), ["ended 0 ok OK 1"]);
}

#[test]
fn a_head_before_the_first_message_is_not_yet_a_stream_that_answers() {
    let mut talk = GrpcClient::new(dialogue(SERVER, &[]));
    talk.call(0);
    talk.hear(&[settings(&[]), head(1)].concat()).expect("heard");
    assert_eq!(talk.events(), [""; 0]);
    talk.hear(&data(1, &[b"x"])).expect("heard");
    assert_eq!(talk.events(), ["first 0", "message 0 1"]);
}
