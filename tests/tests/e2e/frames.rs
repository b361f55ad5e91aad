//! Tests of HTTP/2, gRPC and WebSocket with faulty peers: the output of `--debug`, the texts of failures, and peers
//! that flood.

use std::io::{Read, Write};
use std::net::TcpStream;

use brunt_tests::peer::PeerConnection;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, TestReport, brunt};

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Starts a server that sends SETTINGS and these frames after the first request, and then closes the connection.
fn saying(frames: Vec<u8>) -> ScriptedPeer {
    ScriptedPeer::new(move |mut connection: PeerConnection| {
        // The preface looks like a request.
        if connection.request().is_some() && connection.send(&SETTINGS) {
            std::thread::sleep(std::time::Duration::from_millis(50));
            connection.send(&frames);
            connection.half_close();
            connection.wait_for_close();
        }
    })
}

/// Returns the failures of a run, with all of their text.
fn failures(report: &TestReport) -> String {
    report.json["failures"].to_string()
}

#[test]
fn a_malformed_answer_in_http2_says_what_was_wrong() {
    let long = [frame(1, 4, 1, &[0x88, 0x5c, 1, b'9']), frame(0, 1, 1, b"short")].concat();
    let cases: [(Vec<u8>, &str); 7] = [
        (frame(1, 5, 1, &[0x0f, 13, 1, b'4']), "the response headers do not start with :status"),
        (long, "the response's body is shorter than its content-length"),
        (frame(0, 1, 1, b"x"), "the response body comes before its headers"),
        (frame(3, 0, 1, &2u32.to_be_bytes()), "the server reset the stream: INTERNAL_ERROR"),
        (frame(3, 0, 1, &13u32.to_be_bytes()), "the server reset the stream: HTTP_1_1_REQUIRED"),
        (
            frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 12]),
            "the server closed the connection with GOAWAY: \
            INADEQUATE_SECURITY",
        ),
        (frame(6, 0, 1, &[0; 8]), "a connection-level frame was sent on a stream"),
    ];
    for (frames, sentence) in cases {
        let peer = saying(frames);
        let run = report(&["--http2", "-c", "1", "-n", "3", "--connect-timeout", "2s", "-t", "2s", &peer.url()]);
        assert!(failures(&run).contains(sentence), "{sentence}: {run}");
        assert!(run.count("requests.failed") > 0, "{run}");
        // Anything with a status is a response worth showing, even if it is broken.
        if !sentence.contains("content-length") {
            // With a broken response, something was received; an exchange that the server rejected has no response.
            let taken_back = sentence.starts_with("the server ");
            let shown = brunt(["--debug", "--http2", &peer.url()]).with_code(if taken_back { 30 } else { 20 });
            let said = if taken_back { &shown.err } else { &shown.out };
            assert!(said.contains(sentence), "{sentence}: {said}");
        }
    }
}

#[test]
fn the_text_of_a_goaway_is_shown() {
    let goaway = [&[0, 0, 0, 1, 0, 0, 0, 11][..], b"too_many_pings"].concat();
    let peer = saying(frame(7, 0, 0, &goaway));
    let run = report(&["--http2", "-c", "1", "-n", "2", "-t", "2s", &peer.url()]);
    for text in ["with GOAWAY: ENHANCE_YOUR_CALM", "too_many_pings"] {
        assert!(failures(&run).contains(text), "{text}: {run}");
    }
}

#[test]
fn debug_shows_http2_as_header_lists_and_bodies() {
    let target = TargetProcess::healthy();
    let url = target.url("echo?cups=2");
    let shown = brunt(["--debug", "--http2", "-H", "Authorization: Bearer abc", "--data", "x=y", &url]).with_code(0);
    for line in [
        "* the preface of HTTP/2",
        "* SETTINGS: ENABLE_PUSH=0, INITIAL_WINDOW_SIZE=16777216, MAX_HEADER_LIST_SIZE=262144",
        "* SETTINGS, ACK",
        "* stream 1: HEADERS",
        "POST /echo?cups=2 HTTP/2",
        "authorization: Bearer ***",
        "* stream 1: DATA, 3 bytes, END_STREAM",
        "x=y",
        "HTTP/2 200",
    ] {
        assert!(shown.out.lines().any(|shown| shown == line), "{line} in\n{}", shown.out);
    }
    assert!(!shown.out.contains("abc") && !shown.out.contains("\\x") && !shown.out.contains("\\u{"), "{}", shown.out);
    let reset = brunt(["--debug", "--http2", &target.url("reset")]).with_code(30);
    assert!(reset.out.contains("* stream 1: RST_STREAM: INTERNAL_ERROR"), "{}", reset.out);
}

#[test]
fn debug_shows_messages_of_grpc_as_json_and_the_status() {
    let target = TargetProcess::healthy();
    let url = target.url("brunt.Target/ServerStream").replace("http://", "grpc://");
    let data = "{\"text\": \"hi\", \"count\": 2}";
    let shown = brunt(["--debug", "-H", "x-trace: 7", "--data", data, &url]).with_code(0);
    let json = "{\"text\":\"hi\",\"count\":2}";
    assert_eq!(shown.out.lines().filter(|line| *line == json).count(), 3, "once asked, twice said:\n{}", shown.out);
    for line in
        ["POST /brunt.Target/ServerStream HTTP/2", "x-trace: 7", "HTTP/2 200", "grpc-status: 0", "* the status is OK"]
    {
        assert!(shown.out.lines().any(|shown| shown == line), "{line} in\n{}", shown.out);
    }
}

#[test]
fn debug_shows_frames_of_a_web_socket() {
    let target = TargetProcess::healthy();
    let url = target.url("chat").replace("http://", "ws://");
    for options in [&[][..], &["--compress"]] {
        let shown =
            brunt(["--debug", "--data", "hello hello hello"].iter().chain(options).chain(&[&*url])).with_code(0);
        for part in ["GET /chat HTTP/1.1", "HTTP/1.1 101", "\n* text, ", "\n* close, 2 bytes\n1000 ("] {
            assert!(shown.out.contains(part), "{part} in\n{}", shown.out);
        }
        assert_eq!(shown.out.matches("\nhello hello hello\n").count(), 2, "{}", shown.out);
    }
}

/// Sends these bytes until they are no longer accepted, and reads nothing.
fn flood(connection: &mut PeerConnection, bytes: &[u8]) {
    let many = bytes.repeat(100_000 / bytes.len());
    while connection.send(&many) {}
}

#[test]
fn a_peer_that_floods_pings_and_reads_nothing_is_a_failure_and_not_our_memory() {
    let target = TargetProcess::healthy();
    let host = target.host().to_owned();
    let web_socket = ScriptedPeer::new(move |mut connection| {
        // The target knows how to accept an upgrade.
        let (Some(request), Ok(mut other)) = (connection.request(), TcpStream::connect(&host)) else { return };
        let mut head = vec![0; 4096];
        let read = other.write_all(&request).and_then(|()| other.read(&mut head));
        connection.send(&head[..read.unwrap_or(0)]);
        flood(&mut connection, &[0x89, 0]);
    });
    let url = web_socket.url().replace("http://", "ws://");
    let run = report(&["-c", "2", "-n", "2", "-t", "30s", "--data", "x", &url]);
    assert!(failures(&run).contains("a flood of pings while the server does not read the pongs"), "{run}");

    let http2 = ScriptedPeer::new(|mut connection| {
        if connection.request().is_some() && connection.send(&SETTINGS) {
            // Body frames between the pings mean that these are not idle frames.
            let pings = frame(6, 0, 0, &[0; 8]).repeat(500);
            connection.send(&frame(1, 4, 1, &[0x88]));
            flood(&mut connection, &[pings, frame(0, 0, 1, b"x")].concat());
        }
    });
    let run = report(&["--http2", "-c", "2", "-n", "2", "-t", "30s", &http2.url()]);
    assert!(
        failures(&run).contains("a flood of PING or SETTINGS while the server does not read the acknowledgements"),
        "{run}"
    );
}
