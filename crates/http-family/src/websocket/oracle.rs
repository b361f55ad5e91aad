//! Properties that hold for arbitrary bytes, for the fuzz targets and the property tests: the result does not depend on
//! how the bytes are split, no more messages end than were sent, and nothing is reported after the end.

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, RequestedUrl,
    ServerSession, SlotContext,
};
use std::borrow::Cow;

use super::upgrade::{accept, key};
use super::{WebSocketProtocol, WebSocketServer};

/// Number of messages sent before the bytes arrive.
const SENT: u32 = 3;

/// Configurations of a session: its options, and the extensions the server agrees to.
const MODES: [(&[(&str, &str)], &str); 7] = [
    (&[], ""),
    (&[("push", ""), ("expect-body", "a")], ""),
    (&[("data", "{\"seq\":1}"), ("match-field", "seq"), ("push", "")], ""),
    (&[("compress", ""), ("expect-body", "e")], "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
    (&[("data", "a{sequence}"), ("expect-body", "a{sequence}"), ("reply", "^p(.)=>{captured}{sequence}")], ""),
    (&[("on-connect", "hi{sequence}=>a"), ("reply", "b=>"), ("push", "")], ""),
    (&[("data", "{\"seq\":{counter}}"), ("match-field", "seq"), ("reply", "(b*)$=>{captured}")], ""),
];

/// Checks a client on these frames, in the configuration chosen by `mode`.
///
/// # Panics
/// Panics if a property is violated.
pub fn frames(mode: u8, bytes: &[u8], cut: usize) {
    let (options, agreed) = MODES[usize::from(mode) % MODES.len()];
    let whole = outcome(options, Some(agreed), &[bytes]);
    assert_eq!(outcome(options, Some(agreed), &[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
}

/// Checks a client on these bytes as the answer to its upgrade.
///
/// # Panics
/// Panics if a property is violated.
pub fn consent(bytes: &[u8], cut: usize) {
    let whole = outcome(&[], None, &[bytes]);
    assert_eq!(outcome(&[], None, &[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
}

/// Feeds arbitrary bytes to a server.
pub fn server(bytes: &[u8], cut: usize) {
    let mut server = WebSocketServer::new();
    let mut out = OutputBuffer::default();
    for piece in [&bytes[..cut], &bytes[cut..]] {
        if server.receive(piece, &mut |_| {}).is_err() {
            return;
        }
        server.write_due(&mut out);
    }
}

/// Returns the events as text (without first bytes, which depend on how the bytes are split), the bytes sent, and the
/// error.
fn outcome(
    options: &[(&str, &str)],
    agreed: Option<&str>,
    pieces: &[&[u8]],
) -> (Vec<String>, Vec<u8>, Option<Cow<'static, str>>) {
    let mut asked = ProtocolConfig::default();
    asked.urls.push(RequestedUrl { url: "ws://h/".to_owned(), weight: 1.0 });
    for (name, value) in options {
        asked.options.insert((*name).to_owned(), vec![(*value).to_owned()]);
    }
    let Ok(dialogue) = WebSocketProtocol.prepare(&asked) else { panic!("the options of a mode are good") };
    let established = EstablishedConnection { seed: 9, ..EstablishedConnection::default() };
    let mut session = dialogue.session(&dialogue.origins()[0], &established);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    if let Some(agreed) = agreed {
        let accept = accept(&key(9));
        let head = "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
        let consent = [head.as_bytes(), &accept, b"\r\n", agreed.as_bytes(), b"\r\n"].concat();
        assert_eq!(session.receive(&consent, &mut out, &mut done), Ok(()));
    }
    for id in 0..SENT {
        let sent = session.submit(ExchangeId(id), &dialogue.requests()[0].request, &SlotContext::default(), &mut out);
        assert_eq!(sent.is_ok(), agreed.is_some() && !session.is_opening());
    }
    let broken = pieces.iter().find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    assert!(broken.is_none() || session.room() == 0, "nothing more after the end");
    let replies = session.write_replies(0, &mut out);
    assert!(broken.is_none() || replies == 0, "nothing more is said after the end");
    let ended = done.events.iter().filter(|event| matches!(event, Event::Ended(_))).count();
    assert!(ended <= SENT as usize, "more answers than messages");
    let told = done.events.iter().filter(|event| !matches!(event, Event::FirstByte(_)));
    (told.map(|event| format!("{event:?}")).collect(), out.bytes().to_vec(), broken.map(|broken| broken.0.en()))
}
