//! A WebSocket session on one connection, client side: the upgrade, messages sent, and answers, pushes and control
//! frames received.
//!
//! A message that arrives whole is processed in place, without a copy or an allocation; the state of one that arrives
//! in pieces is boxed and exists only meanwhile, so an idle connection holds a few dozen bytes and nothing else.

use std::sync::Arc;

use cause::{Cause, Plain};
use memchr::memmem;
use wire::{Broken, Done, Ended, Established, Event, ExchangeId, FaultKind, Fill, Full, Out, Sent, Session};

use super::asked::{Asked, Whose};
use super::close;
use super::codec::{CLOSE, CONTINUATION, Frame, PING, Sender, TEXT, frame};
use super::deflate::Deflate;
use super::incoming::{Incoming, NO_TEXT, unpack};
use super::introduction::prompted;
use super::mask::Masks;
use super::own::Own;
use super::request::{Filling, Message, put_frame};
use super::rules::Rules;
use super::upgrade::{agreed, refusal};
use crate::detect::{Detected, detect};
use crate::http1::codec::{Head, response_head};
use values::beside::Talk;
use values::kept::{Kept, NO_ROOM_FOR_HEADS};
use values::verify;

/// Maximum number of bytes of an answer kept as an example.
pub(super) const EXCERPT_BOUND: usize = 4096;
/// Maximum size of the head of the server's upgrade response.
const CONSENT_BOUND: usize = 64 * 1024;
/// Maximum number of messages in flight on a connection.
const ROOM: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The upgrade request was sent.
    Opening,
    /// Opening messages are exchanged.
    Introducing,
    /// Messages are exchanged.
    Open,
    /// The closing handshake is done, or an error occurred.
    Over,
    /// The server refused the upgrade.
    Refused,
    /// The server's answer to an opening message was not the expected one.
    Unwelcome,
}

/// A WebSocket session, client side.
#[derive(Debug)]
pub struct WebSocketSession {
    pub(super) rules: Arc<Rules>,
    pub(super) rare: Option<Box<Rare>>,
    pub(super) own: Option<Box<Own>>,
    pub(super) asked: Asked,
    pub(super) masks: Masks,
    /// Index of this connection's upgrade request.
    path: u32,
    /// Payload of our outstanding ping, 0 if there is none.
    pub(super) ping: u32,
    pub(super) stage: Stage,
    /// Number of pongs that may still be unsent.
    pub(super) replies: u16,
    /// Close code from the server, 0 if it has not closed.
    pub(super) closed_with: u16,
}

/// State that an idle connection does not need.
#[derive(Debug, Default)]
pub(super) struct Rare {
    /// The upgrade response so far with the position read up to, or the text of a refusal.
    consent: Kept,
    head: Head,
    incoming: Incoming,
}

impl Rare {
    /// Creates the state with the server's last text.
    pub(super) fn saying(words: &[u8]) -> Box<Rare> {
        Box::new(Rare { consent: Kept::beginning(words), ..Rare::default() })
    }
}

/// The output and the events.
pub(super) type Told<'a> = (&'a mut Out, &'a mut Done);

impl WebSocketSession {
    pub(super) fn new(rules: Arc<Rules>, path: u32, established: &Established) -> WebSocketSession {
        let talk = rules.beside.talk(&established.fill);
        let apart = talk.is_some() || rules.expects_filled || !rules.steps.is_empty();
        let own = apart.then(|| Box::new(Own { talk, ..Own::default() }));
        WebSocketSession {
            rules,
            rare: None,
            own,
            asked: Asked::default(),
            masks: Masks::new(established.seed),
            path,
            ping: 0,
            stage: Stage::Opening,
            replies: 0,
            closed_with: 0,
        }
    }

    /// Reads the upgrade response; returns the number of bytes consumed. A refusal is kept as an example.
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
        if let Some(agreement) = deflate {
            self.own.get_or_insert_default().deflate = Some(Deflate::new(agreement));
        }
        (self.stage, self.rare) = (Stage::Introducing, None);
        Ok(used)
    }

    /// Returns `true` if compression was agreed on.
    #[inline]
    fn deflates(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.deflate.is_some())
    }

    /// Processes a frame that is complete and a message of its own; returns `None` if it is not.
    #[inline]
    fn whole(&mut self, bytes: &[u8], (out, done): Told<'_>) -> Result<Option<usize>, Broken> {
        let Some(frame) = frame(bytes, Sender::Server, self.deflates())? else { return Ok(None) };
        let size = usize::try_from(frame.size).unwrap_or(usize::MAX);
        let Some(payload) = bytes[frame.head..].get(..size) else { return Ok(None) };
        if frame.is_control() {
            self.control(frame.kind, payload, (out, done))?;
        } else if frame.last && frame.kind != CONTINUATION && !frame.deflated {
            if frame.kind == TEXT && std::str::from_utf8(payload).is_err() {
                return Err(NO_TEXT);
            }
            self.heard(frame.size, payload, (out, done))?;
        } else {
            return Ok(None);
        }
        Ok(Some(frame.head + size))
    }

    /// Processes frames that come in pieces or belong to a fragmented message; returns the number of bytes consumed.
    #[cold]
    fn read_on(&mut self, bytes: &[u8], (out, done): Told<'_>) -> Result<usize, Broken> {
        let mut rare = self.rare.take().unwrap_or_default();
        let mut at = 0;
        if let Some(frame) = rare.incoming.frame(bytes, &mut at, Sender::Server, self.deflates())? {
            let (piece, over) = rare.incoming.payload(bytes, &mut at);
            if frame.is_control() {
                rare.incoming.control.extend_from_slice(piece);
                if over {
                    self.control(frame.kind, &rare.incoming.control, (out, done))?;
                }
            } else {
                self.piece(&mut rare.incoming, &frame, (piece, over), (out, done))?;
            }
        }
        // With compression every message takes this path, so the box is kept.
        if self.stage != Stage::Over && (!rare.incoming.at_rest() || self.deflates()) {
            self.rare = Some(rare);
        }
        Ok(at)
    }

    /// Processes a piece of a message; `over` if its frame ends with it.
    fn piece(
        &mut self,
        incoming: &mut Incoming,
        frame: &Frame,
        (piece, over): (&[u8], bool),
        (out, done): Told<'_>,
    ) -> Result<(), Broken> {
        let Some(part) = &mut incoming.part else { return Ok(()) };
        let whole = over && frame.last;
        let deflate = self.own.as_mut().and_then(|own| own.deflate.as_mut());
        let heard = done.hears_unasked().then_some(&self.rules.kept);
        unpack(deflate, part, piece, whole, self.rules.looks().or(heard))?;
        if whole {
            let part = incoming.part.take().unwrap_or_default();
            part.end()?;
            return self.heard(part.size, &part.kept, (out, done));
        }
        if !std::mem::replace(&mut part.told, true)
            && self.rules.field.is_none()
            // With reply rules, only the whole message shows whether it is an answer.
            && !self.rules.beside.listens()
            && let Some(id) = self.asked.oldest()
        {
            done.push(Event::FirstByte(id));
        }
        Ok(())
    }

    /// Handles a whole message: an answer, a late one, or a push. `content` may be empty if it is not examined.
    #[inline]
    fn heard(&mut self, size: u64, content: &[u8], (out, done): Told<'_>) -> Result<(), Broken> {
        if self.stage == Stage::Introducing {
            return self.hear_opening(size, content, (out, done));
        }
        if !self.rules.steps.is_empty() {
            self.hear_step(size, content, done);
            return Ok(());
        }
        let WebSocketSession { rules, own, asked, .. } = self;
        let mut own = own.as_deref_mut();
        let whose = match &rules.field {
            // When matching by order, a message that is replied to is never an answer.
            None if prompted(rules, own.as_deref_mut(), (size, content), done)? => return Ok(()),
            None => asked.next(),
            Some(field) => field.key(content).map_or(Whose::Nobodys, |key| asked.with(key)),
        };
        let id = match whose {
            Whose::Of(id) => id,
            Whose::TooLate => return Ok(()),
            Whose::Nobodys if rules.field.is_some() && prompted(rules, own.as_deref_mut(), (size, content), done)? => {
                return Ok(());
            }
            Whose::Nobodys if rules.push => {
                done.unasked(size, content);
                return Ok(());
            }
            Whose::Nobodys => {
                if rules.field.is_none() {
                    done.push(Event::Stray(u32::try_from(size).unwrap_or(u32::MAX)));
                }
                return Err(UNASKED);
            }
        };
        let filled = own.as_mut().and_then(|own| own.expected.take(id));
        let missing = match (&rules.expect, &filled) {
            (Some(text), _) => text.find(content).is_none(),
            (None, Some(text)) => memmem::find(content, text).is_none(),
            (None, None) => false,
        };
        let fault = missing.then_some(FaultKind::WrongBody);
        let excerpt = fault
            .filter(|kind| done.wants_example(*kind))
            .map(|_| Box::from(&content[..content.len().min(EXCERPT_BOUND)]));
        let text = rules.expect.as_ref().map(|text| text.needle()).or(filled.as_deref());
        let why = match (text, &excerpt) {
            (Some(text), Some(_)) => Some(verify::lacks(cause::checks::message_lacks, text, content, size)),
            _ => None,
        };
        if let Some(own) = own {
            own.expected.give_back(filled);
        }
        if missing {
            done.failed(id, 1);
        }
        done.push(Event::Ended(Ended { id, fault, code: 0, payload: size, excerpt, follow: None, why }));
        Ok(())
    }

    fn read(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match self.stage {
                Stage::Over | Stage::Refused | Stage::Unwelcome => return Ok(()),
                Stage::Opening => {
                    let used = self.consent(rest)?;
                    self.introduce(out);
                    used
                }
                Stage::Introducing | Stage::Open => {
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

/// Returns a helpful error if the server uses another protocol on this port.
fn elsewhere(spoken: Detected) -> Option<Broken> {
    match spoken {
        Detected::Tls => Some(Broken(cause::websocket::uses_tls())),
        Detected::Http2 => Some(Broken(cause::websocket::uses_http2())),
        Detected::Http1 => None,
    }
}

const ENDLESS: Broken = Broken(cause::websocket::endless_response());
const UNASKED: Broken = Broken(cause::websocket::unsolicited());

impl Session for WebSocketSession {
    fn open(&mut self, out: &mut Out) {
        self.open_with(&Fill::default(), out);
    }

    fn open_with(&mut self, fill: &Fill<'_>, out: &mut Out) {
        if let Some(upgrade) = self.rules.upgrades.get(self.path as usize) {
            upgrade.put(self.masks.seed(), fill, out.buffer());
        }
    }

    fn unheard(&self) -> u32 {
        self.own.as_ref().map_or(0, |own| own.inbox.unheard())
    }

    #[inline]
    fn submit(&mut self, id: ExchangeId, request: &wire::Request, fill: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let request = request.of::<Message>();
        if self.room() == 0 {
            return Err(Full);
        }
        if !self.rules.steps.is_empty() {
            return self.begin_step(id, request, fill, out);
        }
        let (mask, field) = (self.masks.key(), &self.rules.field);
        let mut key = request.key;
        let (mut deflate, mut expected, mut talk) = (None, None, None);
        if let Some(own) = &mut self.own {
            (deflate, expected, talk) = (own.deflate.as_mut(), Some(&mut own.expected), own.talk.as_mut());
        }
        let numbered = talk.filter(|_| request.is_numbered()).map(|talk| talk.numbered(fill));
        let look = |payload: &[u8], text: &[u8]| {
            // A message without the field gets a key that an answer can have only by chance.
            key = field.as_ref().and_then(|field| field.key(payload)).unwrap_or_default();
            if let Some(expected) = expected.take().filter(|_| request.expects()) {
                expected.add(id, text);
            }
        };
        request.say(numbered.as_ref().unwrap_or(fill).into(), deflate.take(), mask, out.buffer(), look);
        if self.rules.one_way {
            return Ok(Sent::OneWay);
        }
        self.asked.add(id, key);
        Ok(Sent::Asked)
    }

    /// Gives up an exchange. With answers matched by a field, a late one is recognized, unless several messages share a
    /// value and one of them is lost; when matching by order, all later answers would be attributed wrongly.
    fn cancel(&mut self, id: ExchangeId, _out: &mut Out) -> bool {
        if let Some(own) = &mut self.own {
            if !self.rules.steps.is_empty() {
                return own.inbox.cancel(&self.rules.steps);
            }
            let text = own.expected.take(id);
            own.expected.give_back(text);
        }
        self.asked.give_up(id) && self.rules.field.is_some()
    }

    #[inline]
    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done) -> Result<(), Broken> {
        if bytes.is_empty() {
            self.tell_step(done);
        }
        let read = self.read(bytes, out, done);
        if read.is_err() && !matches!(self.stage, Stage::Refused | Stage::Unwelcome) {
            self.stage = Stage::Over;
        }
        read
    }

    fn closed(&mut self, _done: &mut Done) {
        self.stage = Stage::Over;
    }

    fn begun(&self) -> &[u8] {
        let Some(rare) = &self.rare else { return &[] };
        let kept = rare.incoming.part.as_ref().map_or(&rare.consent[..], |part| &part.kept);
        &kept[..kept.len().min(EXCERPT_BOUND)]
    }

    #[inline]
    fn replies(&self) -> u32 {
        u32::from(self.replies) + self.talk().map_or(0, Talk::unread)
    }

    fn replies_left(&mut self) {
        self.replies = 0;
        if let Some(talk) = self.own.as_mut().and_then(|own| own.talk.as_mut()) {
            talk.were_read();
        }
    }

    fn sequence(&self) -> u64 {
        self.talk().map_or(0, Talk::last_number)
    }

    fn opening_messages(&self) -> u32 {
        self.talk().map_or(0, Talk::opening_messages)
    }

    fn pay(&mut self, unix_ns: u64, out: &mut Out) -> u32 {
        let WebSocketSession { rules, own, masks, stage, .. } = self;
        let Some(Own { talk: Some(talk), deflate, .. }) = own.as_deref_mut() else { return 0 };
        if !matches!(stage, Stage::Introducing | Stage::Open) {
            return 0;
        }
        talk.pay(&rules.beside, unix_ns, |message, fill, captured| {
            message.say(Filling { fill, captured }, deflate.as_mut(), masks.key(), out.buffer(), |_, _| {});
        })
    }

    fn goodbye(&self) -> Option<Plain> {
        (self.closed_with != 0).then(|| close::goodbye(self.closed_with))
    }

    fn farewell(&self) -> Option<Cause> {
        let said = self.rare.as_ref().map_or(&[][..], |rare| &rare.consent[..]);
        (self.closed_with != 0).then(|| close::farewell(self.closed_with, said))
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
        if matches!(self.stage, Stage::Introducing | Stage::Open) {
            self.stage = Stage::Over;
            put_frame(0x80 | CLOSE, &close::NORMAL.to_be_bytes(), self.masks.key(), out.buffer());
        }
    }

    #[inline]
    fn room(&self) -> usize {
        let awaits = self.own.as_ref().is_some_and(|own| own.inbox.is_awaiting());
        if self.stage == Stage::Open && !awaits { ROOM - self.asked.len() } else { 0 }
    }

    fn refusal(&self) -> FaultKind {
        match self.stage {
            Stage::Refused => FaultKind::WrongStatus,
            Stage::Unwelcome => FaultKind::WrongBody,
            _ => FaultKind::BrokenProtocol,
        }
    }

    fn refusal_code(&self) -> u32 {
        let status = self.rare.as_ref().map_or(0, |rare| rare.head.status);
        if self.stage == Stage::Refused { status.into() } else { 0 }
    }

    fn opening(&self) -> bool {
        matches!(self.stage, Stage::Opening | Stage::Introducing)
    }
}
