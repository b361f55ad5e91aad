//! A WebSocket client (RFC 6455): an upgrade before the first exchange; an exchange is one text message and the next one
//! that comes back; what comes without being asked for is a push; a subscription is an exchange that stays open.
//! Leaves out: fragmented messages, extensions, checking Sec-WebSocket-Accept, and masks that cannot be guessed.

use wire::{Broken, Done, Ended, Event, ExchangeId, FaultKind, Full, Out, Session};

use crate::feed;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// What an exchange is.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// Send a message; the next one that arrives answers it.
    One,
    /// Send a message; all that arrive belong to it, until the peer closes.
    Stream,
}

enum Stage {
    Upgrading,
    Open,
    Over,
}

struct WebSocket {
    stage: Stage,
    upgrade: Vec<u8>,
    input: Vec<u8>,
    asked: Option<(ExchangeId, Asks, u64)>,
    mask: u32,
}

impl WebSocket {
    fn new(host: &str, path: &str, seed: u32) -> WebSocket {
        let upgrade = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        WebSocket { stage: Stage::Upgrading, upgrade: upgrade.into(), input: vec![], asked: None, mask: seed | 1 }
    }

    fn send(&mut self, kind: u8, message: &[u8], out: &mut Out) {
        self.mask = self.mask.wrapping_mul(0x9E37_79B1).rotate_left(13);
        let mask = self.mask.to_be_bytes();
        match message.len() {
            short @ 0..=125 => out.put(&[0x80 | kind, 0x80 | short as u8]),
            long => {
                out.put(&[0x80 | kind, 0x80 | 127]);
                out.put(&(long as u64).to_be_bytes());
            }
        }
        out.put(&mask);
        out.buffer().extend(message.iter().zip(mask.iter().cycle()).map(|(byte, m)| byte ^ m));
    }

    fn end(&mut self, fault: Option<FaultKind>, code: u32, done: &mut Done<(Asks, Vec<u8>)>) {
        if let Some((id, _, payload)) = self.asked.take() {
            done.push(Event::Ended(Ended { id, fault, code, payload, excerpt: None, follow: None }));
        }
    }

    fn upgraded(&mut self) -> Result<bool, Broken> {
        let Some(end) = self.input.windows(4).position(|w| w == b"\r\n\r\n") else { return Ok(false) };
        if !self.input.starts_with(b"HTTP/1.1 101 ") {
            return Err(Broken("the server did not switch to WebSocket"));
        }
        self.input.drain(..end + 4);
        self.stage = Stage::Open;
        Ok(true)
    }

    fn heard(&mut self, kind: u8, body: &[u8], out: &mut Out, done: &mut Done<(Asks, Vec<u8>)>) -> Result<(), Broken> {
        match kind {
            PING => self.send(PONG, body, out),
            PONG => {}
            CLOSE => {
                let code = body.first_chunk::<2>().map_or(1005, |c| u32::from(u16::from_be_bytes(*c)));
                let served = self.asked.is_none_or(|(_, asks, _)| asks == Asks::Stream) && code == 1000;
                self.end((!served).then_some(FaultKind::Closed), code, done);
                self.send(CLOSE, body, out);
                self.stage = Stage::Over;
            }
            TEXT | 2 => match &mut self.asked {
                None => done.push(Event::Unsolicited(body.len() as u32)),
                Some((id, asks, payload)) => {
                    *payload += body.len() as u64;
                    done.push(Event::Message(*id, body.len() as u32));
                    if *asks == Asks::One {
                        self.end(None, 0, done);
                    }
                }
            },
            _ => return Err(Broken("a frame of a kind WebSocket does not have")),
        }
        Ok(())
    }
}

impl Session for WebSocket {
    type Request = (Asks, Vec<u8>);

    fn open(&mut self, out: &mut Out) {
        out.put(&self.upgrade);
    }

    fn submit(&mut self, id: ExchangeId, (asks, message): &Self::Request, out: &mut Out) -> Result<(), Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        self.asked = Some((id, *asks, 0));
        self.send(TEXT, message, out);
        Ok(())
    }

    fn push(&mut self, id: ExchangeId, message: &[u8], _last: bool, out: &mut Out) -> Result<(), Full> {
        if self.asked.is_none_or(|(asked, ..)| asked != id) {
            return Err(Full);
        }
        self.send(TEXT, message, out);
        Ok(())
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Self::Request>) -> Result<(), Broken> {
        self.input.extend_from_slice(bytes);
        if matches!(self.stage, Stage::Upgrading) && !self.upgraded()? {
            return Ok(());
        }
        while let [first, second, rest @ ..] = self.input.as_slice() {
            let (kind, short) = (first & 15, usize::from(second & 127));
            let (head, size): (usize, usize) = match (short, rest) {
                (126, [a, b, ..]) => (4, usize::from(u16::from_be_bytes([*a, *b]))),
                (127, rest) if rest.len() >= 8 => (10, u64::from_be_bytes(*rest.first_chunk().unwrap()) as usize),
                (0..=125, _) => (2, short),
                _ => break,
            };
            let Some(body) = self.input.get(head..head.saturating_add(size)).map(<[u8]>::to_vec) else { break };
            self.input.drain(..head + size);
            self.heard(kind, &body, out, done)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) {
        self.send(CLOSE, &1000u16.to_be_bytes(), out);
    }

    fn room(&self) -> usize {
        usize::from(matches!(self.stage, Stage::Open) && self.asked.is_none())
    }

    fn opening(&self) -> bool {
        matches!(self.stage, Stage::Upgrading)
    }
}

const SWITCHED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

#[test]
fn pushes_are_told_from_answers_however_the_bytes_are_split() {
    let script = [SWITCHED, b"\x81\x04push", b"\x89\x02hi", b"\x81\x02ok"].concat();
    for cut in SWITCHED.len() + 6..script.len() {
        let (mut session, mut out) = (WebSocket::new("h", "/feed", 3), Out::default());
        session.open(&mut out);
        assert!(session.opening() && session.room() == 0, "not over, but not open yet");
        let (before, _) = feed(&mut session, &script[..SWITCHED.len() + 6], 5).unwrap();
        assert_eq!(before, ["unsolicited 4"]);
        session.submit(ExchangeId(1), &(Asks::One, b"question".to_vec()), &mut out).unwrap();
        let (mut events, mut sent) = feed(&mut session, &script[SWITCHED.len() + 6..cut], 64).unwrap();
        let (more, answered) = feed(&mut session, &script[cut..], 1).unwrap();
        events.extend(more);
        sent.extend(answered);
        assert_eq!(events, ["message 1 of 2", "ended 1 with 0"], "cut at {cut}");
        assert_eq!((sent[0], sent[1], sent.len()), (0x8A, 0x82, 8), "the ping is answered, masked");
        assert_eq!((session.opening(), session.room()), (false, 1));
    }
}

#[test]
fn a_subscription_hears_messages_until_the_server_closes() {
    let (mut session, mut out) = (WebSocket::new("h", "/feed", 3), Out::default());
    feed(&mut session, SWITCHED, 64).unwrap();
    session.submit(ExchangeId(4), &(Asks::Stream, b"all".to_vec()), &mut out).unwrap();
    session.push(ExchangeId(4), b"more", false, &mut out).unwrap();
    let (events, _) = feed(&mut session, b"\x81\x01a\x82\x02bc\x88\x02\x03\xe8", 3).unwrap();
    assert_eq!(events, ["message 4 of 1", "message 4 of 2", "ended 4 with 1000"]);
    assert!(session.room() == 0 && !session.opening(), "now it is over");
}

#[test]
fn a_server_that_does_not_switch_breaks_the_protocol() {
    let mut session = WebSocket::new("h", "/", 1);
    assert!(feed(&mut session, b"HTTP/1.1 404 Not Found\r\n\r\n", 7).is_err());
}
