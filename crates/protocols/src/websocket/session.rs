//! The client's conversation on one connection: the upgrade, messages out, answers, pushes and control frames in.
//!
//! A message that arrives whole is read where it lies, without a copy or an allocation; what arrives in pieces lies in a
//! box that exists only meanwhile, so that an idle connection holds its few dozen bytes and nothing else.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem::Finder;
use wire::{Broken, Done, Ended, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session};

use super::asked::{Asked, Whose};
use super::close;
use super::codec::{CLOSE, CONTINUATION, Frame, PING, PONG, Sender, TEXT, frame};
use super::deflate::Deflate;
use super::field::Field;
use super::incoming::{Incoming, NO_TEXT, Part};
use super::mask::Masks;
use super::options::Wishes;
use super::request::{Message, put_frame};
use super::upgrade::{Upgrade, agreed, refusal};
use crate::detect::{Detected, detect};
use crate::http1::codec::{Head, response_head};
use crate::kept::{Budget, Kept, NO_ROOM_FOR_HEADS};
use crate::verify;

/// The most bytes of an answer kept as an example.
const EXCERPT_BOUND: usize = 4096;
/// The most bytes the head of the server's consent may have.
const CONSENT_BOUND: usize = 64 * 1024;
/// The most messages in flight on a connection.
const ROOM: usize = 16 * 1024;

/// What holds for every connection of a run.
#[derive(Debug)]
pub struct Rules {
    upgrades: Vec<Upgrade>,
    subprotocols: Vec<String>,
    field: Option<Field>,
    expect: Option<Finder<'static>>,
    one_way: bool,
    push: bool,
    compress: bool,
    kept: Budget,
}

impl Rules {
    /// What was wished, and the request of the upgrade for each URL.
    pub fn new(wishes: Wishes, upgrades: Vec<Upgrade>) -> Rules {
        let Wishes { subprotocols, field, one_way, push, expect, compress, .. } = wishes;
        let kept = Budget::default();
        Rules { upgrades, subprotocols, field, expect, one_way, push, compress, kept }
    }

    /// True where the next message is taken for the next answer, and none was said to be a push.
    pub fn pairs_by_order(&self) -> bool {
        self.field.is_none() && !self.push
    }

    /// Where the content of an answer matters: what it is kept within.
    fn looks(&self) -> Option<&Budget> {
        (self.field.is_some() || self.expect.is_some()).then_some(&self.kept)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The upgrade is on its way.
    Opening,
    /// Messages go both ways.
    Open,
    /// The closing handshake is done, or the conversation is broken.
    Over,
    /// The server said no to the upgrade.
    Refused,
}

/// A conversation in WebSocket, client side.
#[derive(Debug)]
pub struct WebSocketSession {
    rules: Arc<Rules>,
    rare: Option<Box<Rare>>,
    deflate: Option<Box<Deflate>>,
    asked: Asked,
    masks: Masks,
    /// Which of the upgrades is this connection's.
    path: u32,
    /// What the answer to our ping must hold; 0: none is awaited.
    ping: u32,
    stage: Stage,
    /// Pings answered, of which it is not known that the answers have left.
    replies: u16,
    /// What the server closed with; 0: it has not.
    closed_with: u16,
}

/// What an idle connection does not need.
#[derive(Debug, Default)]
struct Rare {
    /// The beginning of the server's consent, and how far it was read.
    consent: Kept,
    head: Head,
    incoming: Incoming,
}

/// What is to be sent, and what happened.
type Told<'a> = (&'a mut Out, &'a mut Done<Message>);

impl WebSocketSession {
    pub(super) fn new(rules: Arc<Rules>, path: u32, seed: u64) -> WebSocketSession {
        WebSocketSession {
            rules,
            rare: None,
            deflate: None,
            asked: Asked::default(),
            masks: Masks::new(seed),
            path,
            ping: 0,
            stage: Stage::Opening,
            replies: 0,
            closed_with: 0,
        }
    }

    /// Reads the server's consent; tells how many of `bytes` belong to it. Where it is refused it stays, as an example.
    #[cold]
    fn consent(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let rare = self.rare.get_or_insert_default();
        let before = rare.consent.len();
        if !rare.consent.add(&bytes[..bytes.len().min(CONSENT_BOUND + 1 - before)], &self.rules.kept) {
            return Err(Broken(NO_ROOM_FOR_HEADS));
        }
        let read = response_head(&rare.consent, &mut rare.head);
        if !read.map_err(|broken| detect(&rare.consent).and_then(elsewhere).unwrap_or(broken))? {
            let endless = rare.consent.len() > CONSENT_BOUND;
            return if endless { Err(ENDLESS) } else { Ok(bytes.len()) };
        }
        let used = rare.head.at - before;
        rare.consent.truncate(rare.head.at);
        if rare.head.status != 101 {
            self.stage = Stage::Refused;
            return Err(refusal(rare.head.status));
        }
        let rules = &self.rules;
        let deflate = agreed(&rare.consent, self.masks.seed(), &rules.subprotocols, rules.compress)?;
        self.deflate = deflate.map(|agreement| Box::new(Deflate::new(agreement)));
        (self.stage, self.rare) = (Stage::Open, None);
        Ok(used)
    }

    /// Reads one frame that is there as a whole and a message of its own; None where it is not.
    #[inline]
    fn whole(&mut self, bytes: &[u8], (out, done): Told<'_>) -> Result<Option<usize>, Broken> {
        let Some(frame) = frame(bytes, Sender::Server, self.deflate.is_some())? else { return Ok(None) };
        let size = usize::try_from(frame.size).unwrap_or(usize::MAX);
        let Some(payload) = bytes[frame.head..].get(..size) else { return Ok(None) };
        if frame.is_control() {
            self.control(frame.kind, payload, (out, done))?;
        } else if frame.last && frame.kind != CONTINUATION && !frame.deflated {
            if frame.kind == TEXT && std::str::from_utf8(payload).is_err() {
                return Err(NO_TEXT);
            }
            self.heard(frame.size, payload, done)?;
        } else {
            return Ok(None);
        }
        Ok(Some(frame.head + size))
    }

    /// Reads on in frames that come in pieces or belong to a message in fragments; tells how many bytes it took.
    #[cold]
    fn read_on(&mut self, bytes: &[u8], (out, done): Told<'_>) -> Result<usize, Broken> {
        let mut rare = self.rare.take().unwrap_or_default();
        let mut at = 0;
        if let Some(frame) = rare.incoming.frame(bytes, &mut at, Sender::Server, self.deflate.is_some())? {
            let (piece, over) = rare.incoming.payload(bytes, &mut at);
            if frame.is_control() {
                rare.incoming.control.extend_from_slice(piece);
                if over {
                    self.control(frame.kind, &rare.incoming.control, (out, done))?;
                }
            } else {
                self.piece(&mut rare.incoming, &frame, piece, over, done)?;
            }
        }
        // With compression every message passes here: the box stays.
        if self.stage != Stage::Over && (!rare.incoming.at_rest() || self.deflate.is_some()) {
            self.rare = Some(rare);
        }
        Ok(at)
    }

    /// A piece of a message.
    fn piece(
        &mut self,
        incoming: &mut Incoming,
        frame: &Frame,
        piece: &[u8],
        over: bool,
        done: &mut Done<Message>,
    ) -> Result<(), Broken> {
        let Some(part) = &mut incoming.part else { return Ok(()) };
        let whole = over && frame.last;
        unpack(self.deflate.as_deref_mut(), part, piece, whole, self.rules.looks())?;
        if whole {
            let part = incoming.part.take().unwrap_or_default();
            part.end()?;
            return self.heard(part.size, &part.kept, done);
        }
        if !std::mem::replace(&mut part.told, true)
            && self.rules.field.is_none()
            && let Some(id) = self.asked.oldest()
        {
            done.push(Event::FirstByte(id));
        }
        Ok(())
    }

    /// A whole message came: an answer, a late one, or a push. `content` may be left out where nobody looks at it.
    #[inline]
    fn heard(&mut self, size: u64, content: &[u8], done: &mut Done<Message>) -> Result<(), Broken> {
        let rules = &self.rules;
        let whose = match &rules.field {
            None => self.asked.next(),
            Some(field) => field.key(content).map_or(Whose::Nobodys, |key| self.asked.with(key)),
        };
        let id = match whose {
            Whose::Of(id) => id,
            Whose::TooLate => return Ok(()),
            Whose::Nobodys if rules.push => {
                done.push(Event::Unsolicited(u32::try_from(size).unwrap_or(u32::MAX)));
                return Ok(());
            }
            Whose::Nobodys => {
                if rules.field.is_none() {
                    done.push(Event::Stray(u32::try_from(size).unwrap_or(u32::MAX)));
                }
                return Err(UNASKED);
            }
        };
        let missing = rules.expect.as_ref().is_some_and(|text| text.find(content).is_none());
        let fault = missing.then_some(FaultKind::WrongBody);
        let excerpt = fault
            .filter(|kind| done.wants_example(*kind))
            .map(|_| Box::from(&content[..content.len().min(EXCERPT_BOUND)]));
        let why = match (&rules.expect, &excerpt) {
            (Some(text), Some(_)) => verify::lacks("message", text.needle(), content, size).into(),
            _ => Cow::Borrowed(""),
        };
        done.push(Event::Ended(Ended { id, fault, code: 0, payload: size, excerpt, follow: None, why }));
        Ok(())
    }

    /// A control frame came (5.5).
    #[cold]
    fn control(&mut self, kind: u8, payload: &[u8], (out, done): Told<'_>) -> Result<(), Broken> {
        match kind {
            PING if self.replies == REPLIES_BOUND => return Err(UNREAD),
            PING => {
                self.replies += 1;
                put_frame(0x80 | PONG, payload, self.masks.key(), out.buffer());
            }
            // A pong may come unasked, and says nothing then.
            PONG if self.ping != 0 && payload == self.ping.to_be_bytes() => {
                self.ping = 0;
                done.push(Event::Heartbeat);
            }
            CLOSE => {
                let code = close::code(payload)?;
                let echo = payload.get(..2).unwrap_or_default();
                put_frame(0x80 | CLOSE, echo, self.masks.key(), out.buffer());
                self.stage = Stage::Over;
                self.closed_by(code, payload.get(2..).unwrap_or_default(), done);
            }
            _ => {}
        }
        Ok(())
    }

    /// The server closed with a code: nobody answers what is in flight. Its words stay, for who asks why nothing is taken.
    fn closed_by(&mut self, code: u16, reason: &[u8], done: &mut Done<Message>) {
        let words = close::words(code, reason);
        let words = words.as_bytes();
        self.closed_with = code;
        while self.asked.len() > 0 {
            let Whose::Of(id) = self.asked.next() else { continue };
            let fault = FaultKind::Closed;
            let excerpt = done.wants_example(fault).then(|| Box::from(words));
            let code = u32::from(code);
            done.push(Event::Ended(Ended {
                id,
                fault: Some(fault),
                code,
                payload: 0,
                excerpt,
                follow: None,
                why: "".into(),
            }));
        }
        let said = Rare { consent: Kept::beginning(words), ..Rare::default() };
        self.rare = Some(Box::new(said));
    }

    fn read(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Message>) -> Result<(), Broken> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match self.stage {
                Stage::Over | Stage::Refused => return Ok(()),
                Stage::Opening => self.consent(rest)?,
                Stage::Open => {
                    let whole = if self.rare.is_none() { self.whole(rest, (out, done))? } else { None };
                    match whole {
                        Some(taken) => taken,
                        None => self.read_on(rest, (out, done))?,
                    }
                }
            };
        }
        Ok(())
    }
}

/// What helps where the server speaks something else on this port.
fn elsewhere(spoken: Detected) -> Option<Broken> {
    match spoken {
        Detected::Tls => Some(Broken("the server speaks TLS on this port; write wss:// for it")),
        Detected::Http2 => {
            Some(Broken("the server speaks HTTP/2 on this port; WebSocket is spoken over HTTP/1.1 here"))
        }
        Detected::Http1 => None,
    }
}

/// Gives a piece of a message to its [`Part`], decompressed where it is deflated.
fn unpack(
    deflate: Option<&mut Deflate>,
    part: &mut Part,
    piece: &[u8],
    whole: bool,
    keep: Option<&Budget>,
) -> Result<(), Broken> {
    match deflate.filter(|_| part.deflated) {
        None => part.take(piece, keep),
        Some(deflate) => {
            let mut take = |plain: &[u8]| part.take(plain, keep);
            deflate.unpack(piece, &mut take)?;
            if whole { deflate.unpack_end(&mut take) } else { Ok(()) }
        }
    }
}

/// Answers to pings that may wait for the server to read them.
const REPLIES_BOUND: u16 = 32_768;
const UNREAD: Broken = Broken("a flood of pings whose answers the server does not read");
const ENDLESS: Broken = Broken("endless headers: the response to the upgrade is larger than 64 KiB");
const UNASKED: Broken =
    Broken("a message that nobody asked for; if the server pushes messages, write --push to count them apart");

impl Session for WebSocketSession {
    type Request = Message;
    const SLOTS: bool = true;

    fn open(&mut self, out: &mut Out) {
        if let Some(upgrade) = self.rules.upgrades.get(self.path as usize) {
            upgrade.put(self.masks.seed(), out.buffer());
        }
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &Message, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        let (mask, field) = (self.masks.key(), &self.rules.field);
        let mut key = request.key;
        // A message without the field has a key that no answer has but by chance.
        let mut look = |payload: &[u8]| key = field.as_ref().and_then(|field| field.key(payload)).unwrap_or_default();
        let out = out.buffer();
        match &mut self.deflate {
            None => request.put(fill, mask, out, look),
            Some(deflate) => {
                let start = out.len();
                request.put_payload(fill, out);
                if request.has_slots() {
                    look(&out[start..]);
                }
                let packed = deflate.pack(&out[start..]);
                out.truncate(start);
                // RSV1 says that the message is compressed (RFC 7692 7.2.1).
                put_frame(request.first() | 0x40, packed, mask, out);
            }
        }
        if self.rules.one_way {
            return Ok(Sent::OneWay);
        }
        self.asked.add(id, key);
        Ok(Sent::Asked)
    }

    /// With answers matched by a field, a late one is known as such, unless messages have the same value in it and one is
    /// lost for good; by order, all that follow would be mistaken.
    fn cancel(&mut self, id: ExchangeId, _out: &mut Out) -> bool {
        self.asked.give_up(id) && self.rules.field.is_some()
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Message>) -> Result<(), Broken> {
        let read = self.read(bytes, out, done);
        if read.is_err() && self.stage != Stage::Refused {
            self.stage = Stage::Over;
        }
        read
    }

    fn closed(&mut self, _done: &mut Done<Message>) {
        self.stage = Stage::Over;
    }

    fn begun(&self) -> &[u8] {
        let Some(rare) = &self.rare else { return &[] };
        let kept = rare.incoming.part.as_ref().map_or(&rare.consent[..], |part| &part.kept);
        &kept[..kept.len().min(EXCERPT_BOUND)]
    }

    #[inline]
    fn replies(&self) -> u32 {
        self.replies.into()
    }

    fn replies_left(&mut self) {
        self.replies = 0;
    }

    fn goodbye(&self) -> &'static str {
        if self.closed_with == 0 { "" } else { close::goodbye(self.closed_with) }
    }

    fn farewell(&self) -> Cow<'static, str> {
        let said = self.rare.as_ref().map_or(&[][..], |rare| &rare.consent[..]);
        if self.closed_with == 0 { Cow::Borrowed("") } else { close::farewell(self.closed_with, said) }
    }

    fn heartbeat(&mut self, out: &mut Out) -> bool {
        if self.stage != Stage::Open || self.ping != 0 {
            return false;
        }
        self.ping = (self.masks.bits() as u32) | 1;
        put_frame(0x80 | PING, &self.ping.to_be_bytes(), self.masks.key(), out.buffer());
        true
    }

    fn finish(&mut self, out: &mut Out) {
        if self.stage == Stage::Open {
            self.stage = Stage::Over;
            put_frame(0x80 | CLOSE, &close::NORMAL.to_be_bytes(), self.masks.key(), out.buffer());
        }
    }

    #[inline]
    fn room(&self) -> usize {
        if self.stage == Stage::Open { ROOM - self.asked.len() } else { 0 }
    }

    fn refusal(&self) -> FaultKind {
        if self.stage == Stage::Refused { FaultKind::WrongStatus } else { FaultKind::BrokenProtocol }
    }

    fn refusal_code(&self) -> u32 {
        let status = self.rare.as_ref().map_or(0, |rare| rare.head.status);
        if self.stage == Stage::Refused { status.into() } else { 0 }
    }

    fn opening(&self) -> bool {
        self.stage == Stage::Opening
    }
}
