//! One long conversation with everything in it, split and closed at every position.

use super::*;

/// Three responses, with every kind of frame a server may send in between.
fn conversation() -> Vec<u8> {
    let long = block(&[(":status", "200"), ("x-long", &"y".repeat(40)), ("content-length", "9")]);
    let (first, rest) = long.split_at(20);
    let (second, third) = rest.split_at(1);
    let padded_start = [&[3, 0, 0, 0, 0, 7][..], first, &[0; 3]].concat();
    [
        settings(&[(1, 100), (2, 0), (3, 50), (4, 100_000), (5, 20_000), (6, 1 << 20), (99, 1)]),
        window(0, 1000),
        frame(frames::PING, 0, 0, b"12345678"),
        frame(frames::SETTINGS, frames::ACK, 0, b""),
        frame(frames::HEADERS, frames::PADDED | frames::PRIORITIZED, 1, &padded_start),
        frame(frames::CONTINUATION, 0, 1, second),
        frame(frames::CONTINUATION, frames::END_HEADERS, 1, third),
        frame(frames::DATA, frames::PADDED, 1, b"\x04body\0\0\0\0"),
        head(3, &[(":status", "103"), ("link", "</a>")]),
        frame(0x77, 0xff, 5, b"nobody knows"),
        window(5, 10),
        head(3, OK),
        data(3, b"of the second"),
        frame(frames::PRIORITY, 0, 5, &[0, 0, 0, 1, 9]),
        last_head(5, &[(":status", "204")]),
        frame(frames::DATA, frames::PADDED | frames::END_STREAM, 1, b"\x02rest.\0\0"),
        settings(&[]),
        last_head(3, &[("x-sum", "1")]),
        goaway(5, 0),
    ]
    .concat()
}

const ENDS: [&str; 3] = ["2 ok 204 0", "0 ok 200 9", "1 ok 200 13"];

#[test]
fn it_is_the_same_wherever_it_is_cut() {
    let bytes = conversation();
    for at in 0..=bytes.len() {
        let mut talk = Http2Client::after(&[], 3);
        talk.hear(&bytes[..at]);
        let before = talk.session.room();
        talk.hear(&bytes[at..]);
        assert_eq!((talk.ends(), talk.broken), (ENDS.map(str::to_owned).to_vec(), None), "cut at {at}");
        assert_eq!(talk.session.room(), 0, "it went away");
        assert!(before > 0 || at == bytes.len());
        let pong = (frames::PING, frames::ACK, 0, b"12345678".to_vec());
        assert_eq!(talk.said(), [ACKNOWLEDGED, pong, ACKNOWLEDGED]);
    }
}

#[test]
fn it_is_the_same_byte_by_byte() {
    let mut talk = Http2Client::after(&[], 3);
    conversation().iter().for_each(|byte| talk.hear(&[*byte]));
    assert_eq!((talk.ends(), talk.broken), (ENDS.map(str::to_owned).to_vec(), None));
}

#[test]
fn closed_anywhere_it_ends_what_was_whole_and_nothing_else() {
    let bytes = conversation();
    for at in 0..bytes.len() {
        let mut talk = Http2Client::after(&[], 3);
        talk.hear(&bytes[..at]);
        let before = talk.ends();
        talk.session.peer_closed(&mut talk.done);
        assert!(ENDS.map(str::to_owned).starts_with(&before), "cut at {at}: {before:?}");
        assert!(talk.ends().is_empty(), "the engine fails what is left");
    }
}

#[test]
fn a_heartbeat_is_a_ping_and_only_its_own_answer_counts() {
    let mut talk = Http2Client::after(&[], 0);
    talk.hear(&settings(&[]));
    talk.said();
    assert!(talk.session.heartbeat(&mut talk.out));
    assert!(!talk.session.heartbeat(&mut talk.out), "one is on its way");
    let said = talk.said();
    assert_eq!((said[0].0, said[0].1, said.len()), (frames::PING, 0, 1));
    talk.hear(&frame(frames::PING, frames::ACK, 0, b"whatever"));
    assert_eq!(talk.news(), [""; 0]);
    talk.hear(&frame(frames::PING, frames::ACK, 0, &said[0].3));
    assert_eq!(talk.news(), ["heartbeat"]);
    talk.hear(&frame(frames::PING, frames::ACK, 0, &said[0].3));
    assert_eq!(talk.news(), [""; 0]);
    assert!(talk.session.heartbeat(&mut talk.out));
}

#[test]
fn a_transcript_is_readable_whatever_it_ends_with() {
    use crate::http2::transcript::{DecodedBodies, readable};
    let mut talk = Http2Client::of(dialogue(&["data=a=1"]));
    talk.submit(0);
    talk.submit(1);
    let text = String::from_utf8(readable(talk.out.bytes(), &mut DecodedBodies::default())).unwrap();
    // The second head is sent as indices only, and means the same.
    assert_eq!(text.matches("POST / HTTP/2\n").count(), 2, "{text}");
    assert!(text.contains("* stream 3: DATA, 3 bytes, END_STREAM\na=1\n"), "{text}");
    let said = [
        settings(&[(3, 7), (77, 1)]),
        frame(frames::SETTINGS, frames::ACK, 0, b""),
        frame(frames::HEADERS, 0, 1, b""),
        frame(frames::CONTINUATION, frames::END_HEADERS, 1, &block(&[(":status", "200"), ("a", "b")])),
        frame(frames::DATA, frames::PADDED, 1, &[&[2][..], b"hi", &[0; 2]].concat()),
        last_head(1, &[("t", "u")]),
        reset(3, code::CANCEL),
        [goaway(1, 11), frame(0x42, 0, 0, b"xyz")].concat(),
        frame(frames::HEADERS, frames::END_HEADERS, 5, &[0x80]),
        vec![0, 0, 9, 0],
    ]
    .concat();
    let text = String::from_utf8_lossy(&readable(&said, &mut DecodedBodies::default())).into_owned();
    let expected = "* SETTINGS: MAX_CONCURRENT_STREAMS=7, 77=1\n* SETTINGS, ACK\n* stream 1: HEADERS\n\
                    * stream 1: CONTINUATION\nHTTP/2 200\na: b\n\n* stream 1: DATA, 5 bytes\nhi\n\
                    * stream 1: HEADERS, END_STREAM\nt: u\n\n* stream 3: RST_STREAM: CANCEL\n\
                    * GOAWAY: ENHANCE_YOUR_CALM, last stream 1\n* a frame of type 66, 3 bytes\n* stream 5: HEADERS\n\
                    * a header block refers to an entry not in its table\n* 4 bytes of an incomplete frame:\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_coded_body_is_shown_once_and_as_it_was_before() {
    use super::super::transcript::{DecodedBodies, readable};
    let coded = zstd::encode_all(&b"plain text"[..], 3).unwrap();
    let (first, last) = coded.split_at(4);
    let head = |stream| {
        let fields = block(&[(":status", "200"), ("content-encoding", "zstd")]);
        frame(frames::HEADERS, frames::END_HEADERS, stream, &fields)
    };
    let piece = |bytes| frame(frames::DATA, 0, 1, bytes);
    let shown = |said: Vec<u8>| String::from_utf8_lossy(&readable(&said, &mut DecodedBodies::default())).into_owned();
    // In pieces, the last of them empty.
    let pieces = [head(1), piece(first), piece(last), frame(frames::DATA, frames::END_STREAM, 1, b"")].concat();
    let decoded = format!("* {} bytes of zstd, decoded to 10:\nplain text\n", coded.len());
    assert!(
        shown(pieces.clone()).ends_with(&format!("DATA, 0 bytes, END_STREAM\n{decoded}")),
        "{}",
        shown(pieces.clone())
    );
    assert_eq!(shown(pieces).matches("plain text").count(), 1);
    // Without an end: shown as far as received.
    assert!(shown([head(1), piece(&coded)].concat()).ends_with(&decoded));
    // Not compressed at all, despite its field.
    let lie = [head(1), frame(frames::DATA, frames::END_STREAM, 1, b"as it is")].concat();
    assert!(shown(lie).ends_with("END_STREAM\nas it is\n"));
}

#[test]
fn a_transcript_shows_no_more_of_a_small_block_for_a_huge_list_than_its_beginning() {
    use super::super::transcript::{DecodedBodies, readable};
    // A field of 4000 bytes enters the table once and takes one byte from then on.
    let first = [&[0x40, 1, b'a', 0x7f, 0xa1, 0x1e][..], &[b'x'; 4000]].concat();
    let block = [first, vec![0xbe; 12_000]].concat();
    let said: Vec<u8> = (0..8).flat_map(|n| frame(frames::HEADERS, frames::END_HEADERS, 2 * n + 1, &block)).collect();
    let text = readable(&said, &mut DecodedBodies::default());
    assert!((1 << 20..2 << 20).contains(&text.len()), "{}", text.len());
    assert!(text.ends_with(b"* the rest is not shown\n"));
}
