//! One port, several protocols: detection by the first bytes, faults as each protocol expresses them, and answers out
//! of order.

mod calls;

use brunt_measure::Nanos;
use brunt_test_server::{Config, DetectingSession};

use crate::fake::{ClosedBy, WorkerScene};

const HEADERS: u8 = 1;
const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;

fn scene() -> WorkerScene<DetectingSession> {
    let mut scene = WorkerScene::speaking(&Config::default(), DetectingSession::new);
    scene.connect(0);
    scene
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn preface() -> Vec<u8> {
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[])].concat()
}

/// Returns a GET: method and scheme from the static table, path and authority as literals (RFC 7541 6).
fn get(stream: u32, path: &str) -> Vec<u8> {
    let block = [&[0x82, 0x86, 0x04, path.len() as u8][..], path.as_bytes(), &[0x01, 1, b'a']].concat();
    frame(HEADERS, 4 | END_STREAM, stream, &block)
}

/// Returns kind, flags, stream and length of each frame that concerns a stream, or that ends the connection.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, usize)> {
    let mut found = Vec::new();
    while bytes.len() >= 9 {
        let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
        if stream > 0 || bytes[3] == GOAWAY {
            found.push((bytes[3], bytes[4], stream, length));
        }
        bytes = bytes.get(9 + length..).unwrap_or_default();
    }
    found
}

/// Returns frames without their flags and, for heads, without their length.
fn shape(bytes: &[u8]) -> Vec<(u8, u32, usize)> {
    frames(bytes).iter().map(|f| (f.0, f.2, if f.0 == HEADERS { 0 } else { f.3 })).collect()
}

#[test]
fn first_bytes_decide_wherever_they_are_cut() {
    let http2 = [preface(), get(1, "/"), get(3, "/bytes/10")].concat();
    for cut in 0..http2.len() {
        let mut scene = scene();
        for piece in [&http2[..cut], &http2[cut..]].into_iter().filter(|p| !p.is_empty()) {
            scene.say(0, piece);
        }
        let heard = scene.heard(0);
        // A server begins with SETTINGS (RFC 9113 3.4).
        assert_eq!(heard[3], SETTINGS, "cut at {cut}");
        let wanted = vec![(HEADERS, 1, 0), (DATA, 1, 3), (HEADERS, 3, 0), (DATA, 3, 10)];
        assert_eq!(shape(&heard), wanted, "cut at {cut}");
        let stats = scene.stats();
        let of = stats.by_protocol["http2"];
        assert_eq!((of.open, of.opened, of.messages, stats.by_protocol.len()), (1, 1, 2, 1));
    }
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRINT / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PR / HTTP/1.1\r\nHost: a\r\n\r\n",
        "P / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        for cut in 0..request.len() {
            let mut scene = scene();
            for piece in [&request[..cut], &request[cut..]].into_iter().filter(|p| !p.is_empty()) {
                scene.say(0, piece.as_bytes());
            }
            assert!(scene.heard_text(0).ends_with("\r\n\r\nok\n"), "{request} cut at {cut}");
            assert_eq!(scene.stats().by_protocol["http1"].open, 1);
        }
    }
}

#[test]
fn answers_in_http2_overtake_each_other() {
    let mut scene = scene();
    scene.say(0, &[preface(), get(1, "/delay/20ms"), get(3, "/hang"), get(5, "/delay/10ms"), get(7, "/")].concat());
    assert_eq!(shape(&scene.heard(0)), [(HEADERS, 7, 0), (DATA, 7, 3)]);
    scene.pass(Nanos::from_millis(10));
    assert_eq!(shape(&scene.heard(0)), [(HEADERS, 5, 0), (DATA, 5, 3)]);
    scene.pass(Nanos::from_millis(10));
    assert_eq!(shape(&scene.heard(0)), [(HEADERS, 1, 0), (DATA, 1, 3)]);
    assert_eq!(scene.stats().waiting, 1);
    assert_eq!(scene.gone(0), None);
}

#[test]
fn faults_in_http2_spare_the_other_streams() {
    for (path, wanted) in [
        ("/reset", vec![(RST_STREAM, 1, 4)]),
        ("/cut/20", vec![(HEADERS, 1, 0), (DATA, 1, 20), (RST_STREAM, 1, 4)]),
        ("/short/100", vec![(HEADERS, 1, 0), (DATA, 1, 50)]),
        ("/long/100", vec![(HEADERS, 1, 0), (DATA, 1, 150)]),
        ("/hang", vec![]),
    ] {
        let mut scene = scene();
        scene.say(0, &[preface(), get(1, path)].concat());
        assert_eq!(shape(&scene.heard(0)), wanted, "{path}");
        scene.say(0, &get(3, "/"));
        assert_eq!(shape(&scene.heard(0)), [(HEADERS, 3, 0), (DATA, 3, 3)], "{path}");
        assert_eq!(scene.gone(0), None, "{path}");
        let stats = scene.stats();
        assert_eq!(stats.heard, 2);
        assert_eq!(stats.answered, 1, "{path}");
        assert_eq!(stats.spoiled + stats.withheld + stats.waiting, 1, "{path}");
    }
    let mut scene = scene();
    scene.say(0, &[preface(), get(1, "/garbage")].concat());
    assert!(!scene.heard(0).is_empty());
    assert_eq!(scene.gone(0), Some(ClosedBy::Closed));
}

#[test]
fn large_bodies_in_http2_come_whole_within_the_window() {
    let mut scene = scene();
    scene.say(0, &[preface(), get(1, "/bytes/200000")].concat());
    let data = |bytes: &[u8]| frames(bytes).iter().filter(|f| f.0 == DATA).map(|f| f.3).sum::<usize>();
    assert_eq!(data(&scene.heard(0)), 65_535);
    let more = 200_000u32.to_be_bytes();
    scene.say(0, &[frame(8, 0, 0, &more), frame(8, 0, 1, &more)].concat());
    let rest = scene.heard(0);
    assert_eq!(data(&rest), 200_000 - 65_535);
    assert_eq!(frames(&rest).last().unwrap().1 & END_STREAM, END_STREAM);
}

#[test]
fn who_breaks_http2_is_told_and_let_go() {
    let mut scene = scene();
    scene.say(0, &[preface(), frame(DATA, 0, 0, b"x")].concat());
    assert_eq!(frames(&scene.heard(0)).last().unwrap().0, GOAWAY);
    assert_eq!(scene.gone(0), Some(ClosedBy::Closed));
    assert_eq!(scene.stats().malformed, 1);
}

fn upgrade(path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    .into_bytes()
}

/// Returns a text frame, masked with zeros.
fn message(text: &str) -> Vec<u8> {
    [&[0x81, 0x80 | text.len() as u8, 0, 0, 0, 0], text.as_bytes()].concat()
}

fn upgraded(path: &str) -> WorkerScene<DetectingSession> {
    let mut scene = scene();
    scene.say(0, &upgrade(path));
    let head = scene.heard_text(0);
    // The answer of RFC 6455 1.3.
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{path}: {head}");
    scene
}

#[test]
fn an_upgrade_makes_a_web_socket_wherever_it_is_cut() {
    let all = [upgrade("/chat"), message("hello"), message("you")].concat();
    for cut in 0..all.len() {
        let mut scene = scene();
        for piece in [&all[..cut], &all[cut..]].into_iter().filter(|p| !p.is_empty()) {
            scene.say(0, piece);
        }
        let heard = scene.heard(0);
        assert!(heard.ends_with(b"\r\n\r\n\x81\x05hello\x81\x03you"), "cut at {cut}: {heard:?}");
        let stats = scene.stats();
        assert_eq!(stats.by_protocol["websocket"].open, 1);
        assert_eq!((stats.heard, stats.answered), (2, 2));
    }
}

#[test]
fn delays_and_faults_of_a_path_meet_each_message() {
    let mut slow = upgraded("/delay/5ms");
    slow.say(0, &message("a"));
    assert!(slow.heard(0).is_empty());
    // A ping is answered in the meantime.
    slow.say(0, &[0x89, 0x80, 0, 0, 0, 0]);
    assert_eq!(slow.heard(0), [0x8a, 0]);
    slow.pass(Nanos::from_millis(5));
    assert_eq!(slow.heard(0), b"\x81\x01a");
    assert_eq!(slow.stats().by_protocol["websocket"].heartbeats, 1);

    let mut sized = upgraded("/bytes/3");
    sized.say(0, &message("hello"));
    assert_eq!(sized.heard(0), b"\x81\x03abc");

    let mut cut = upgraded("/cut/2");
    cut.say(0, &message("hello"));
    assert_eq!(cut.heard(0), [&[0x82, 127, 0, 0, 0, 0, 0, 0, 0x03, 0xe8][..], b"ab"].concat());
    assert_eq!(cut.gone(0), Some(ClosedBy::Closed));

    let mut reset = upgraded("/reset");
    reset.say(0, &message("hello"));
    assert_eq!(reset.gone(0), Some(ClosedBy::Aborted));

    let mut hang = upgraded("/hang");
    hang.say(0, &message("hello"));
    assert_eq!((hang.heard(0), hang.gone(0)), (vec![], None));

    // A close frame is answered, and the connection closed.
    let mut closing = upgraded("/");
    closing.say(0, &[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
    assert_eq!(closing.heard(0), [0x88, 2, 0x03, 0xe8]);
    assert_eq!(closing.gone(0), Some(ClosedBy::Closed));
}

#[test]
fn upgrades_are_refused_where_the_path_says_so_or_the_request_is_none() {
    let mut refused = scene();
    refused.say(0, &upgrade("/status/403"));
    assert!(refused.heard_text(0).starts_with("HTTP/1.1 403 "));
    let mut other = scene();
    other.say(0, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    assert!(other.heard_text(0).starts_with("HTTP/1.1 200 "));
    let mut old = scene();
    let text = String::from_utf8(upgrade("/")).unwrap().replace("Version: 13", "Version: 8");
    old.say(0, text.as_bytes());
    assert!(old.heard_text(0).starts_with("HTTP/1.1 426 "));
    assert_eq!(old.gone(0), Some(ClosedBy::Closed));
}

#[test]
fn a_large_message_leaves_block_by_block_and_nothing_stands_within_it() {
    let mut scene = upgraded("/bytes/200000");
    scene.heard(0);
    scene.reads_only(0, 10_000);
    scene.say(0, &message("one"));
    // The client sends a ping and another message while its first answer is in progress.
    scene.say(0, &[vec![0x89, 0x80, 0, 0, 0, 0], message("two")].concat());
    assert!(scene.unsent(0) < 100_000, "{}", scene.unsent(0));
    let begun = scene.heard(0);
    assert_eq!(begun[..10], [0x81, 127, 0, 0, 0, 0, 0, 3, 0x0d, 0x40]);
    scene.reads_only(0, usize::MAX);
    let mut all = Vec::new();
    for _ in 0..20 {
        scene.pass(Nanos::from_millis(1));
        all.extend(scene.heard(0));
    }
    // The scene does not record the bytes of the first block that the slow client left unread.
    let second = all.windows(10).rposition(|w| w == &begun[..10]).expect("the second answer");
    assert_eq!(all.len() - second, 200_010, "whole");
    assert_eq!(all.windows(2).filter(|w| w == &[0x8a, 0]).count(), 1, "one pong, behind the first message");
    assert!(all[..second].ends_with(&[0x8a, 0]));
}

#[test]
fn who_goes_on_asking_and_reads_nothing_is_cut_off() {
    let mut scene = upgraded("/");
    scene.reads_only(0, 0);
    let large = [&[0x82, 0x80 | 127, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0][..], &[7; 1 << 20]].concat();
    for n in 0..40 {
        scene.say(0, &large);
        assert_eq!(scene.gone(0).is_some(), n >= 32, "{n}: {}", scene.unsent(0));
    }
    assert_eq!(scene.gone(0), Some(ClosedBy::Aborted));
    // Other clients are still served.
    scene.connect(1);
    scene.get(1, "/");
    assert!(scene.heard_text(1).starts_with("HTTP/1.1 200"));
}
