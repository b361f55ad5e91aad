//! gRPC: messages answered as they arrive, each at its due time and in order; faults, deadlines, ends, and the
//! accounting of calls.

use super::*;

const ECHO: &str = "/brunt.Target/Bidi";

/// Returns the head of a call, with further fields.
fn call(stream: u32, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    // :method POST and :scheme from the static table, the rest as literals (RFC 7541 6).
    let mut block = [&[0x83, 0x86, 0x04][..], &text(path), &[0x01, 1, b'a']].concat();
    for (name, value) in [("content-type", "application/grpc")].iter().chain(fields) {
        block.push(0);
        block.extend([text(name), text(value)].concat());
    }
    frame(HEADERS, 4, stream, &block)
}

fn prefixed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// Returns a message of a call in its own frame.
fn said(stream: u32, message: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, &prefixed(message))
}

fn end(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, &[])
}

/// Returns a complete call with one message.
fn one(stream: u32, path: &str, fields: &[(&str, &str)], message: &[u8]) -> Vec<u8> {
    [call(stream, path, fields), said(stream, message), end(stream)].concat()
}

/// Returns the payload of all DATA frames, and the status at the end if it arrived; handles static and literal
/// fields only, as the target writes them.
fn heard(scene: &mut WorkerScene<DetectingSession>) -> (Vec<u8>, Option<String>) {
    let bytes = scene.heard(0);
    let (mut data, mut status, mut rest) = (Vec::new(), None, &bytes[..]);
    while rest.len() >= 9 {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        let payload = &rest[9..9 + length];
        match rest[3] {
            DATA => data.extend_from_slice(payload),
            HEADERS if rest[4] & END_STREAM != 0 => status = Some(grpc_status(payload)),
            RST_STREAM => status = Some(format!("reset {}", payload[3])),
            _ => {}
        }
        rest = &rest[9 + length..];
    }
    (data, status)
}

/// Returns the value of `grpc-status` in a block, through the crate's own decoder.
fn grpc_status(block: &[u8]) -> String {
    let mut decoder = brunt_protocols::http2::hpack::HpackDecoder::default();
    let mut fields = decoder.read(block);
    while let Ok(Some((name, value))) = fields.next() {
        if name == b"grpc-status" {
            return String::from_utf8_lossy(value).into_owned();
        }
    }
    "none".into()
}

fn opened() -> WorkerScene<DetectingSession> {
    let mut scene = scene();
    scene.say(0, &preface());
    scene.heard(0);
    scene
}

fn status(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_call_is_answered_with_its_message_and_a_trailer_wherever_it_is_cut() {
    let whole = one(1, "/brunt.Target/Unary", &[], b"\x10\x01");
    for cut in 0..whole.len() {
        let mut scene = opened();
        for piece in [&whole[..cut], &whole[cut..]].into_iter().filter(|p| !p.is_empty()) {
            scene.say(0, piece);
        }
        assert_eq!(heard(&mut scene), (prefixed(b"\x10\x01"), status("0")), "cut at {cut}");
        let stats = scene.stats();
        assert_eq!((stats.heard, stats.answered, stats.by_path["grpc"]), (1, 1, 1));
        assert_eq!((stats.grpc.calls, stats.grpc.heard, stats.grpc.said), (1, 1, 1));
        assert_eq!(stats.by_protocol["http2"].messages, 1);
    }
}

#[test]
fn a_bidirectional_call_in_lockstep_hears_each_message_back_before_it_says_the_next() {
    let mut scene = opened();
    scene.say(0, &call(1, ECHO, &[]));
    for text in [&b"one"[..], b"", b"three"] {
        scene.say(0, &said(1, text));
        assert_eq!(heard(&mut scene), (prefixed(text), None), "{text:?}");
    }
    scene.say(0, &end(1));
    assert_eq!(heard(&mut scene), (vec![], status("0")));
    let stats = scene.stats();
    assert_eq!((stats.heard, stats.answered, stats.waiting), (1, 1, 0));
    assert_eq!((stats.grpc.heard, stats.grpc.said), (3, 3));
}

#[test]
fn delays_are_those_of_the_metadata_and_messages_of_a_call_keep_their_order() {
    let mut scene = opened();
    scene.say(0, &call(1, ECHO, &[("brunt-path", "/delay/uniform:1ms..9ms")]));
    let texts: Vec<[u8; 1]> = (b'a'..=b'z').map(|letter| [letter]).collect();
    for text in &texts {
        scene.say(0, &said(1, text));
    }
    scene.say(0, &[end(1), one(3, ECHO, &[], b"prompt")].concat());
    assert_eq!(heard(&mut scene), (prefixed(b"prompt"), status("0")), "another call does not wait");
    let mut all = Vec::new();
    for _ in 0..9 {
        scene.pass(Nanos::from_millis(1));
        let (data, over) = heard(&mut scene);
        all.extend(data);
        if over.is_some() {
            break;
        }
    }
    assert_eq!(all, texts.iter().flat_map(|text| prefixed(text)).collect::<Vec<u8>>());
    assert_eq!((scene.stats().answered, scene.stats().waiting), (2, 0));
}

#[test]
fn a_server_stream_says_each_message_after_its_delay_and_all_at_once_without_one() {
    let message = b"\x0a\x02hi\x10\x03";
    let mut scene = opened();
    scene.say(0, &one(1, "/brunt.Target/ServerStream", &[], message));
    assert_eq!(heard(&mut scene), (prefixed(message).repeat(3), status("0")));
    scene.say(0, &one(3, "/brunt.Target/ServerStream", &[("brunt-path", "/delay/5ms")], message));
    for time in 1..=3 {
        assert_eq!(heard(&mut scene), (vec![], None), "{time}");
        scene.pass(Nanos::from_millis(5));
        let expected = (prefixed(message), (time == 3).then(|| "0".to_owned()));
        assert_eq!(heard(&mut scene), expected, "{time}");
    }
    assert_eq!((scene.stats().grpc.said, scene.stats().answered), (6, 2));
}

#[test]
fn faults_of_a_call_spare_the_other_streams_and_are_accounted_for() {
    let message = b"\x0a\x02hi";
    let cases: [(&str, usize, Option<&str>); 9] = [
        ("/reset", 0, Some("reset 2")),
        ("/hang", 0, None),
        ("/cut/4", 4, Some("reset 2")),
        // A prefix, a tag, two bytes of length and the text; half of all that.
        ("/short/1000", 504, Some("0")),
        ("/long/1000", 1008 + 504, Some("0")),
        ("/bytes/1000", 1008, Some("0")),
        ("/?grpc-status=5", 0, Some("5")),
        ("/status/503", 20, Some("none")),
        ("/nothing/here", 0, Some("3")),
    ];
    for (wish, size, expected) in cases {
        for path in [ECHO, "/brunt.Target/Unary", "/brunt.Target/ServerStream"] {
            let mut scene = opened();
            scene.say(0, &one(1, path, &[("brunt-path", wish)], message));
            let (data, over) = heard(&mut scene);
            let over_in_data = over.or_else(|| (wish == "/status/503").then(|| "none".to_owned()));
            assert_eq!((data.len(), over_in_data.as_deref()), (size, expected), "{wish} {path}");
            scene.say(0, &one(3, ECHO, &[], b"x"));
            assert_eq!(heard(&mut scene), (prefixed(b"x"), status("0")), "{wish} {path}");
            let stats = scene.stats();
            let (ended, waiting) = (stats.answered + stats.spoiled + stats.withheld, stats.waiting);
            assert_eq!((stats.heard, ended, waiting), (2, 2 - waiting, u64::from(wish == "/hang")), "{wish} {path}");
        }
    }
}

#[test]
fn a_deadline_ends_what_lasts_longer() {
    for wish in ["/hang", "/delay/30ms"] {
        let mut scene = opened();
        scene.say(0, &one(1, ECHO, &[("brunt-path", wish), ("grpc-timeout", "20m")], b"x"));
        scene.pass(Nanos::from_millis(19));
        assert_eq!(heard(&mut scene), (vec![], None), "{wish}");
        scene.pass(Nanos::from_millis(1));
        assert_eq!(heard(&mut scene), (vec![], status("4")), "{wish}");
        scene.pass(Nanos::from_millis(100));
        assert_eq!(heard(&mut scene), (vec![], None), "{wish}: nothing follows its end");
        assert_eq!((scene.stats().answered, scene.stats().waiting), (1, 0), "{wish}");
    }
}

#[test]
fn a_call_given_up_is_abandoned_once_and_no_more_is_said_of_it() {
    let mut scene = opened();
    scene.say(0, &call(1, ECHO, &[("brunt-path", "/delay/10ms")]));
    scene.say(0, &[said(1, b"a"), said(1, b"b")].concat());
    scene.say(0, &frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
    scene.pass(Nanos::from_millis(20));
    assert_eq!(heard(&mut scene), (vec![], None));
    assert_eq!((scene.stats().abandoned, scene.stats().waiting), (1, 0));
    // Again, but the connection ends.
    scene.say(0, &call(3, ECHO, &[("brunt-path", "/delay/10ms")]));
    scene.say(0, &[said(3, b"a"), said(3, b"b")].concat());
    scene.hang_up(0);
    assert_eq!((scene.stats().heard, scene.stats().abandoned, scene.stats().waiting), (2, 2, 0));
}

#[test]
fn a_trailer_waits_for_what_the_window_holds_back() {
    let mut scene = opened();
    let large = vec![7; 100_000];
    let mut bytes = call(1, ECHO, &[]);
    for piece in prefixed(&large).chunks(16_384) {
        bytes.extend(frame(DATA, 0, 1, piece));
    }
    bytes.extend(end(1));
    scene.say(0, &bytes);
    let (data, over) = heard(&mut scene);
    assert_eq!((data.len(), over), (65_535, None));
    let more = 1_000_000u32.to_be_bytes();
    scene.say(0, &[frame(8, 0, 0, &more), frame(8, 0, 1, &more)].concat());
    let (rest, over) = heard(&mut scene);
    assert_eq!(([data, rest].concat(), over), (prefixed(&large), status("0")));
}

#[test]
fn a_client_that_asks_on_and_reads_nothing_is_let_go() {
    let mut scene = opened();
    // No window at all.
    scene.say(0, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
    scene.say(0, &call(1, ECHO, &[]));
    for _ in 0..10 {
        scene.say(0, &said(1, b"x").repeat(500));
    }
    let (data, over) = heard(&mut scene);
    assert_eq!((data.len(), over), (0, status("reset 11")));
    assert_eq!(scene.stats().waiting, 0);
}

#[test]
fn reflection_tells_the_services_and_the_file_of_each() {
    for version in ["v1", "v1alpha"] {
        let mut scene = opened();
        scene.say(0, &call(1, &format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"), &[]));
        // list_services = 7; file_containing_symbol = 4.
        scene.say(0, &said(1, b"\x3a\x01*"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (services, over) = heard(&mut scene);
        for service in ["brunt.Target", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] {
            assert!(text(&services).contains(service), "{services:?}");
        }
        assert_eq!(over, None);
        scene.say(0, &said(1, b"\x22\x0cbrunt.Target"));
        let (file, _) = heard(&mut scene);
        assert!(text(&file).contains("target.proto") && text(&file).contains("ServerStream"), "{file:?}");
        scene.say(0, &[said(1, b"\x22\x04no.S"), end(1)].concat());
        let (refused, over) = heard(&mut scene);
        assert!(text(&refused).contains("there is no no.S"), "{refused:?}");
        assert_eq!(over, status("0"));
    }
}
