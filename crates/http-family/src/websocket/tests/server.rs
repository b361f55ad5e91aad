//! The server on scripted bytes.

use brunt_contract::{BodyFraming, OutputBuffer, ProtocolError, ServerRequest, ServerResponse, ServerSession};

use crate::websocket::{WebSocketServer, codec, mask::mask};

const UPGRADE: &[u8] = b"GET /echo?x HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat, v2\r\n\
    Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
const ACCEPTED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n";

/// Encodes a client frame.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::put_head(first, payload.len(), true, &mut bytes);
    bytes.extend_from_slice(b"\x01\x02\x03\x04");
    let start = bytes.len();
    bytes.extend_from_slice(payload);
    mask(&mut bytes[start..], [1, 2, 3, 4], 0);
    bytes
}

/// Returns what an echo server sent, and how its session ended.
fn echoed(pieces: &[&[u8]]) -> (Vec<u8>, Result<bool, ProtocolError>) {
    let mut server = WebSocketServer::new();
    let mut out = OutputBuffer::default();
    for piece in pieces {
        let mut heard = Vec::new();
        let read = server.receive(piece, &mut |ask: ServerRequest<'_>| {
            assert_eq!((ask.method, ask.path, ask.body_bytes), ("MESSAGE", "/echo?x", ask.body.len() as u64));
            heard.push((ask.id, ask.body.to_vec()));
        });
        server.write_due(&mut out);
        for (id, body) in heard {
            server.respond(
                id,
                &ServerResponse { status: 200, headers: b"", body: &body, framing: BodyFraming::Length, close: false },
                &mut out,
            );
        }
        if let Err(broken) = read {
            return (out.bytes().to_vec(), Err(broken));
        }
    }
    (out.bytes().to_vec(), Ok(server.is_finished()))
}

#[test]
fn a_conversation_cut_anywhere() {
    let script = [
        UPGRADE.to_vec(),
        masked(0x81, b"hello"),
        masked(0x82, &[7; 600]),
        masked(0x01, b"frag"),
        masked(0x00, b"men"),
        masked(0x80, b"ts"),
        masked(0x89, b"ping"),
    ]
    .concat();
    let goodbye = [masked(0x88, b"\x03\xe8bye"), masked(0x81, b"too late")].concat();
    let answer = [
        ACCEPTED.to_vec(),
        super::frame(0x81, b"hello"),
        super::frame(0x82, &[7; 600]),
        super::frame(0x81, b"fragments"),
        super::frame(0x8a, b"ping"),
        super::frame(0x88, b"\x03\xe8"),
    ]
    .concat();
    for cut in 0..script.len() {
        let (said, over) = echoed(&[&script[..cut], &script[cut..], &goodbye]);
        assert_eq!(over, Ok(true), "cut at {cut}");
        // Replies to control frames are sent before the answers to messages of the same piece; all of it is sent.
        assert_eq!(said.len(), answer.len(), "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = script.chunks(1).chain(goodbye.chunks(1)).collect();
    assert_eq!(echoed(&bytes), (answer, Ok(true)));
}

#[test]
fn answers_leave_in_the_order_of_the_messages() {
    let mut server = WebSocketServer::new();
    let mut out = OutputBuffer::default();
    let mut ids = Vec::new();
    let script = [UPGRADE.to_vec(), masked(0x81, b"a"), masked(0x82, b"b"), masked(0x81, b"c")].concat();
    server.receive(&script, &mut |ask: ServerRequest<'_>| ids.push(ask.id)).expect("good");
    server.write_due(&mut out);
    out.clear();
    let reply = |body| ServerResponse { status: 200, headers: b"", body, framing: BodyFraming::Length, close: false };
    server.respond(ids[2], &reply(b"C"), &mut out);
    server.respond(ids[1], &reply(b"B"), &mut out);
    assert!(out.is_empty());
    server.push(b"news", true, &mut out);
    server.respond(ids[0], &reply(b"A"), &mut out);
    server.respond(ids[0], &reply(b"again"), &mut out);
    let expected = [(0x82, &b"news"[..]), (0x81, b"A"), (0x82, b"B"), (0x81, b"C")];
    let expected: Vec<u8> = expected.iter().flat_map(|(first, body)| super::frame(*first, body)).collect();
    assert_eq!(out.bytes(), expected);
}

#[test]
fn answers_that_close() {
    for (status, close, expected) in [
        (500, false, super::frame(0x88, b"\x03\xf3")),
        (200, true, [super::frame(0x81, b"x"), super::frame(0x88, b"\x03\xe8")].concat()),
    ] {
        let mut server = WebSocketServer::new();
        let mut out = OutputBuffer::default();
        let mut id = 0;
        server
            .receive(&[UPGRADE, &masked(0x81, b"a")].concat(), &mut |ask: ServerRequest<'_>| id = ask.id)
            .expect("good");
        server.write_due(&mut out);
        out.clear();
        server.respond(
            id,
            &ServerResponse { status, headers: b"", body: b"x", framing: BodyFraming::Length, close },
            &mut out,
        );
        assert_eq!((out.bytes(), server.is_finished()), (&expected[..], true));
    }
}

#[test]
fn what_is_no_upgrade_or_no_frame() {
    let text = String::from_utf8(UPGRADE.to_vec()).expect("text");
    let refused = |request: String| {
        let (said, over) = echoed(&[request.as_bytes()]);
        assert_eq!(over, Ok(true));
        String::from_utf8(said).expect("text").lines().next().map(str::to_owned)
    };
    assert_eq!(refused(text.replace("websocket", "h2c")).as_deref(), Some("HTTP/1.1 400 Bad Request"));
    assert_eq!(refused(text.replace("ZQ==", "ZQ=")).as_deref(), Some("HTTP/1.1 400 Bad Request"));
    assert_eq!(refused(text.replace(" 13", " 8")).as_deref(), Some("HTTP/1.1 426 Upgrade Required"));
    for (bytes, why) in [
        (b"\x81\x01a".to_vec(), "the client sent a frame without a mask"),
        (masked(0x81, b"\xff"), "a text message that is not UTF-8"),
        (masked(0x80, b""), "a fragment that belongs to no message"),
    ] {
        let heard = echoed(&[UPGRADE, &bytes]).1.map_err(|broken| broken.to_string());
        assert_eq!(heard, Err(why.to_string()));
    }
    let head = text.as_bytes();
    let mut out = OutputBuffer::default();
    assert!(WebSocketServer::is_upgrade(head) && !WebSocketServer::is_upgrade(b"GET / HTTP/1.1\r\n\r\n"));
    assert!(!WebSocketServer::accept(head, "/echo?x", &mut out).is_finished() && out.bytes() == ACCEPTED);
}

proptest::proptest! {
    #[test]
    fn noise_is_no_trouble(noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = echoed(&[&noise]);
        let _ = echoed(&[UPGRADE, &noise]);
    }
}
