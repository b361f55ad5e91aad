//! The upgrade: the request, and every response that does not accept it.

use brunt_contract::FaultKind;

use super::*;

fn asked_for(url: &str, options: &[&str]) -> String {
    let dialogue = WebSocketProtocol.prepare(&super::asked(&[url], options)).expect("a good plan");
    let mut out = OutputBuffer::default();
    let established = EstablishedConnection { seed: SEED, ..EstablishedConnection::default() };
    dialogue.session(&dialogue.origins()[0], &established).open(&mut out);
    String::from_utf8(out.bytes().to_vec()).expect("text")
}

#[test]
fn the_example_of_the_specification() {
    assert_eq!(&accept(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn requests() {
    let key = key(SEED);
    let key = std::str::from_utf8(&key).expect("base64");
    let agent = concat!("User-Agent: brunt/", env!("CARGO_PKG_VERSION"), "\r\n");
    let fixed = format!(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    );
    assert_eq!(
        asked_for("ws://h:9/chat?x=1#part", &[]),
        format!("GET /chat?x=1 HTTP/1.1\r\nHost: h:9\r\n{agent}{fixed}\r\n")
    );
    assert_eq!(
        asked_for(
            "wss://me:pw@[::1]",
            &["header=Cookie: a=b", "subprotocol=chat", "subprotocol=v2", "compress", "header=Origin: http://h"]
        ),
        format!(
            "GET / HTTP/1.1\r\nHost: [::1]\r\nAuthorization: Basic bWU6cHc=\r\n{agent}{fixed}\
             Sec-WebSocket-Protocol: chat, v2\r\n\
             Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\
             Cookie: a=b\r\nOrigin: http://h\r\n\r\n"
        )
    );
    assert_ne!(super::key(1), super::key(2));
}

#[test]
fn consent_in_pieces_and_with_frames_behind_it() {
    let dialogue = dialogue(&["push"]);
    let script = [consent("X: y\r\n"), frame(0x81, b"welcome"), frame(0x81, b"again")].concat();
    let expected =
        ScriptResult { events: vec!["push of 7".into(), "push of 5".into()], room: true, ..ScriptResult::default() };
    for cut in 0..script.len() {
        assert_eq!(feed(&mut session(&dialogue), &[&script[..cut], &script[cut..]]), expected, "cut at {cut}");
        if cut < consent("X: y\r\n").len() {
            let mut begun = session(&dialogue);
            let heard = feed(&mut begun, &[&script[..cut]]);
            assert_eq!(heard, ScriptResult { opening: true, ..ScriptResult::default() }, "cut at {cut}");
            assert_eq!(
                begun.submit(
                    ExchangeId(0),
                    &dialogue.requests()[0].request,
                    &SlotContext::default(),
                    &mut OutputBuffer::default()
                ),
                Err(brunt_contract::SessionFull)
            );
        }
    }
}

#[test]
fn answers_that_are_no_consent() {
    let good = String::from_utf8(consent("")).expect("text");
    let options = ["subprotocol=chat", "compress"];
    let ok = String::from_utf8(consent("Sec-WebSocket-Protocol: chat\r\n")).expect("text");
    let table: [(&[&str], String, &str); 19] = [
        (&[], "HTTP/1.1 403 Forbidden\r\n\r\n".into(), "the server refused the upgrade with 403 Forbidden"),
        (
            &[],
            "HTTP/1.1 200 OK\r\n\r\n".into(),
            "the server responded to the upgrade with 200: there is no WebSocket at this URL",
        ),
        (&[], "HTTP/1.1 418 Teapot\r\n\r\n".into(), "the server refused the upgrade with a status of 4xx"),
        (
            &[],
            "HTTP/1.1 103 Early\r\n\r\n".into(),
            "the server responded to the upgrade with an interim status other than 101",
        ),
        (&[], "SSH-2.0-x\r\n".into(), "the response is not HTTP/1.x"),
        (&[], "\u{15}\u{3}\u{3}\0\u{2}\u{2}\n".into(), "the server uses TLS on this port; use wss://"),
        (
            &[],
            "\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0d".into(),
            "the server uses HTTP/2 on this port; brunt runs WebSocket over HTTP/1.1",
        ),
        (&[], good.replace("WebSocket\r", "h2c\r"), "the server switches to a protocol other than WebSocket (Upgrade)"),
        (&[], good.replace(", Upgrade", ""), "the server's 101 lacks Connection: Upgrade"),
        (&[], good.replace("Accept: ", "Accept: x"), "the server's Sec-WebSocket-Accept does not match the key"),
        (&[], good.replace("Sec-WebSocket-Accept", "X"), "the server's Sec-WebSocket-Accept does not match the key"),
        (&[], ok.clone(), "the server chose a subprotocol that was not offered"),
        (&options, good.clone(), "the server chose none of the offered subprotocols"),
        (&options, ok.replace("chat\r", "Chat\r"), "the server chose a subprotocol that was not offered"),
        (&options, ok.replace("chat\r", "chat, v2\r"), "the server chose a subprotocol that was not offered"),
        (
            &[],
            good.replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
            "the server responds with an extension that was not offered",
        ),
        (
            &options,
            ok.replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: other\r\n\r\n"),
            "the server responds with an extension that was not offered",
        ),
        (
            &options,
            ok.replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate; x\r\n\r\n"),
            "the server accepts permessage-deflate with a parameter that RFC 7692 does not allow",
        ),
        (
            &[],
            format!("HTTP/1.1 101 S\r\nX: {}\r\n", "y".repeat(70_000)),
            "endless headers: the response to the upgrade is larger than 64 KiB",
        ),
    ];
    for (options, answer, expected) in table {
        let dialogue = dialogue(options);
        for size in [answer.len(), 1] {
            let mut session = session(&dialogue);
            let heard = feed(&mut session, &answer.as_bytes().chunks(size).collect::<Vec<_>>());
            assert_eq!((heard.broken, heard.room, heard.opening), (Some(expected), false, false), "{answer}");
            let refused = expected.contains("with 403") || expected.contains("responded") || expected.contains("4xx");
            let kind = if refused { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol };
            assert_eq!(session.refusal_kind(), kind, "{answer}");
            if refused {
                assert_eq!(session.partial_response(), answer.as_bytes(), "the answer is the example");
            }
        }
    }
}
