//! Frames that RFC 9113 allows a server, or wants ignored, by section: the connection continues and the response is
//! unaffected.

use super::*;

#[test]
fn what_is_allowed_or_ignored_changes_nothing() {
    let priority = |stream: u32, on: u32| frame(frames::PRIORITY, 0, stream, &[&on.to_be_bytes()[..], &[7]].concat());
    let padded = |kind, flags, stream, content: &[u8]| {
        frame(kind, flags | frames::PADDED, stream, &[&[3][..], content, &[0; 3]].concat())
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("5.5: a frame of an unknown kind, on no stream", frame(0x42, 0xff, 0, b"what")),
        ("5.5: on a stream in flight", frame(0x42, 0xff, 1, b"what")),
        ("5.5: on an idle stream", frame(0x42, 0, 99, b"")),
        ("ALTSVC (RFC 7838) and ORIGIN (RFC 8336)", [frame(0xa, 0, 0, b"\0\x01ax"), frame(0xc, 0, 0, b"")].concat()),
        ("5.3: PRIORITY of an idle stream", priority(99, 1)),
        ("5.3: of a stream on itself", priority(1, 1)),
        ("5.1: PRIORITY of a stream that is over", priority(3, 0)),
        ("5.1: WINDOW_UPDATE of a stream that is over", window(3, 1)),
        ("5.1: RST_STREAM of a stream that is over", reset(3, 0)),
        ("6.4: RST_STREAM with a flag", frame(frames::RST_STREAM, 0xff, 3, &[0; 4])),
        ("6.5: an answer to SETTINGS that nobody awaits", frame(frames::SETTINGS, frames::ACK, 0, b"")),
        ("6.5.2: a setting that nobody knows", settings(&[(0xfff0, 7), (8, 1), (9, 1)])),
        ("6.5.2: one setting twice, the last counts", settings(&[(3, 0), (3, 100)])),
        ("6.5.2: the bounds of a frame's size", settings(&[(5, 16_384), (5, (1 << 24) - 1)])),
        ("6.5.2: the largest window", settings(&[(4, (1 << 31) - 1), (4, 65_535)])),
        ("6.5.2: no push", settings(&[(2, 0)])),
        ("6.5.2: a table of nothing, and a large one", settings(&[(1, 0), (1, u32::MAX)])),
        ("6.7: an answer to a PING that nobody sent", frame(frames::PING, frames::ACK, 0, &[7; 8])),
        ("6.8: GOAWAY whose last stream grows", [goaway(1, 0), goaway(5, 0)].concat()),
        ("6.9: a window with its reserved bit", window(1, 1 << 31 | 1)),
        ("8.1: interim answers with fields", head(1, &[(":status", "103"), ("link", "</x>")])),
    ];
    for (name, bytes) in cases {
        for at in [0, 3, 9, bytes.len() / 2, bytes.len()] {
            let mut talk = Http2Client::after(&[], 2);
            talk.hear(&[settings(&[]), last_head(3, OK)].concat());
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            talk.hear(a);
            talk.hear(b);
            talk.hear(&[head(1, OK), last_data(1, b"x")].concat());
            let expected = vec!["1 ok 200 0".to_owned(), "0 ok 200 1".to_owned()];
            assert_eq!((talk.ends(), talk.broken), (expected, None), "{name} cut at {at}");
        }
    }
    // 6.1, 6.2 and 6.10: padding, a priority within HEADERS, empty pieces of a block.
    let mut talk = Http2Client::after(&[], 2);
    let prioritized = [&[0, 0, 0, 0, 7][..], &block(OK)].concat();
    talk.hear(&settings(&[]));
    talk.hear(&padded(frames::HEADERS, frames::END_HEADERS | frames::PRIORITIZED, 1, &prioritized));
    talk.hear(&[padded(frames::DATA, 0, 1, b""), padded(frames::DATA, frames::END_STREAM, 1, b"xy")].concat());
    talk.hear(&frame(frames::HEADERS, frames::END_STREAM, 3, b""));
    talk.hear(&frame(frames::CONTINUATION, 0, 3, b""));
    talk.hear(&frame(frames::CONTINUATION, frames::END_HEADERS, 3, &block(OK)));
    assert_eq!((talk.ends(), talk.broken), (vec!["0 ok 200 2".to_owned(), "1 ok 200 0".to_owned()], None));
}
