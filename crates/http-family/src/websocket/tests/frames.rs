//! Frames that are refused, and frames that are unusual but valid, in the manner of the Autobahn test suite.

use super::*;

/// Returns the error caused by a script, whole and byte by byte.
fn broken(options: &[&str], more: &str, script: &[u8]) -> Option<&'static str> {
    let dialogue = dialogue(options);
    let outcomes: Vec<Option<&'static str>> = [script.len().max(1), 1]
        .into_iter()
        .map(|size| {
            let mut session = opened(&dialogue, more);
            let pieces: Vec<&[u8]> = script.chunks(size).collect();
            let heard = feed(&mut session, &pieces);
            assert_eq!(heard.room, heard.broken.is_none(), "{script:x?}");
            heard.broken
        })
        .collect();
    assert_eq!(outcomes[0], outcomes[1], "whole or byte by byte: {script:x?}");
    outcomes[0]
}

#[test]
fn frames_that_no_server_may_send() {
    let long = [&[0x82, 127][..], &(1u64 << 63).to_be_bytes(), b"x"].concat();
    let table: [(&[u8], &str); 22] = [
        (b"\xc1\x01a", "a frame with reserved bits that no extension explains"),
        (b"\xa1\x01a", "a frame with reserved bits that no extension explains"),
        (b"\x91\x01a", "a frame with reserved bits that no extension explains"),
        (b"\x83\x00", "a frame with an unknown opcode"),
        (b"\x87\x00", "a frame with an unknown opcode"),
        (b"\x8b\x00", "a frame with an unknown opcode"),
        (b"\x8f\x00", "a frame with an unknown opcode"),
        (b"\x81\x81\x01\x02\x03\x04a", "the server masked a frame, which only clients may do"),
        (b"\x09\x00", "a control frame in fragments"),
        (b"\x08\x00", "a control frame in fragments"),
        (b"\x89\x7e\x00\x7e", "a control frame of more than 125 bytes"),
        (b"\x88\x01\x03", "a close frame with half a status code"),
        (b"\x88\x02\x03\xed", "a close frame with a code that may not be sent"),
        (b"\x88\x02\x00\x00", "a close frame with a code that may not be sent"),
        (b"\x88\x03\x03\xe8\xff", "a close frame whose reason is not UTF-8"),
        (b"\x80\x01a", "a fragment that belongs to no message"),
        (b"\x00\x01a", "a fragment that belongs to no message"),
        (b"\x01\x01a\x81\x01b", "a message starts before the previous one has ended"),
        (b"\x01\x01a\x02\x01b", "a message starts before the previous one has ended"),
        (b"\x81\x7e\x00\x7dx", "a frame whose length is not in its shortest form"),
        (b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xffx", "a frame whose length is not in its shortest form"),
        (&long, "a frame's length is out of range"),
    ];
    for (script, expected) in table {
        assert_eq!(broken(&["push"], "", script), Some(expected), "{script:x?}");
    }
}

#[test]
fn text_is_utf8_over_all_fragments() {
    let euro = "\u{20ac}".as_bytes();
    let odd: [(Vec<u8>, bool); 8] = [
        ([frame(0x01, &euro[..1]), frame(0x00, &euro[1..2]), frame(0x80, &euro[2..])].concat(), true),
        ([frame(0x01, &euro[..2]), frame(0x89, b"\xff"), frame(0x80, &euro[2..])].concat(), true),
        ([frame(0x01, &euro[..2]), frame(0x80, b"")].concat(), false),
        ([frame(0x01, &euro[..2]), frame(0x80, b"a")].concat(), false),
        (frame(0x81, b"\xc0\xaf"), false),
        (frame(0x81, b"\xed\xa0\x80"), false),
        (frame(0x81, &euro[..2]), false),
        (frame(0x82, b"\xc0\xaf"), true),
    ];
    for (script, good) in odd {
        let expected = (!good).then_some("a text message that is not UTF-8");
        assert_eq!(broken(&["push"], "", &script), expected, "{script:x?}");
    }
    // Bytes that cannot become UTF-8 are refused before the message ends.
    assert!(broken(&["push"], "", b"\x01\x02\xed\xa0").is_some());
}

#[test]
fn a_deflated_message_needs_an_agreement() {
    let agreed = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    let hello = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
    let options = ["compress", "push"];
    assert_eq!(broken(&options, agreed, &frame(0xc1, hello)), None);
    assert_eq!(broken(&options, agreed, &[frame(0x41, &hello[..3]), frame(0x80, &hello[3..])].concat()), None);
    assert!(broken(&options, "", &frame(0xc1, hello)).is_some(), "the server declined");
    assert!(broken(&options, agreed, &[frame(0x41, hello), frame(0xc0, b"")].concat()).is_some(), "on a continuation");
    assert!(broken(&options, agreed, &frame(0xc9, b"")).is_some(), "on a control frame");
    let wrong = broken(&options, agreed, &frame(0xc2, b"\xff\xff\xff\xff"));
    assert_eq!(wrong, Some("a message marked as compressed that is not deflate data"));
    let text = broken(&options, agreed, &frame(0xc1, b"\x7a\xd0\x00\x00"));
    assert!(matches!(
        text,
        None | Some("a text message that is not UTF-8" | "a message marked as compressed that is not deflate data")
    ));
}

#[test]
fn compressed_messages_go_both_ways_and_are_counted_unpacked() {
    let agreed = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10\r\n";
    let text = "all the same ".repeat(500);
    let dialogue = dialogue(&[&format!("data={text}"), "compress", "expect-body=same all"]);
    let mut session = opened(&dialogue, agreed);
    let mut server = crate::websocket::deflate::DeflateStreams::new(crate::websocket::deflate::DeflateParameters {
        server_forgets: false,
        client_forgets: false,
        client_bits: 15,
    });
    for id in 0..3 {
        let sent = unmasked(&submit(&mut session, &dialogue, id));
        assert!(sent[0].0 == 0xc1 && sent[0].1.len() < 100, "{sent:?}");
        let mut plain = Vec::new();
        let mut take = |bytes: &[u8]| {
            plain.extend_from_slice(bytes);
            Ok(())
        };
        server.decompress(&sent[0].1, &mut take).expect("deflated");
        server.finish_message(&mut take).expect("deflated");
        assert_eq!(plain, text.as_bytes());
        let answer = frame(0xc1, server.compress(&plain));
        let heard = feed(&mut session, &answer.chunks(7).collect::<Vec<_>>());
        assert_eq!((heard.events, heard.broken), (vec![format!("{id} 0 of {}", text.len())], None));
    }
}

#[test]
fn a_small_message_may_not_grow_beyond_all_bounds() {
    let agreed = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    let dialogue = dialogue(&["compress", "expect-body=x"]);
    let mut session = opened(&dialogue, agreed);
    submit(&mut session, &dialogue, 0);
    let mut bomb = crate::websocket::deflate::DeflateStreams::new(crate::websocket::deflate::DeflateParameters {
        server_forgets: false,
        client_forgets: false,
        client_bits: 15,
    });
    let packed = bomb.compress(&vec![0; 17 << 20]).to_vec();
    let heard = feed(&mut session, &[&frame(0xc2, &packed)]);
    assert_eq!(heard.broken, Some("a message larger than 16 MiB, the limit for checks"));
}
