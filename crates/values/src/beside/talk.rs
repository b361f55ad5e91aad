//! What one connection says beside its requests: how far its opening is, what it owes the peer, and how often it spoke.

use std::ops::Range;

use wire::{Broken, Done, Event, Fill};

use super::{Beside, Said};
use crate::template::{Captured, MOST_CAPTURED, Template};

/// What a message was that is no answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing that is known here.
    Unknown,
    /// What `--reply` names, and says nothing to.
    Known,
    /// It is replied to; the connection owed nothing before.
    FirstOwed,
    /// The same, and others wait with it.
    Owed,
}

impl Heard {
    /// Tells of a message of so many bytes, of which these were kept.
    pub fn tell(self, size: u64, message: &[u8], done: &mut Done) {
        match self {
            Heard::FirstOwed => done.push(Event::Owed),
            // It was told of the first, and all of them are said together.
            Heard::Owed => {}
            Heard::Known | Heard::Unknown => done.unasked(size, message),
        }
    }
}

/// Replies that may wait for the peer to read them.
const REPLIES_BOUND: u16 = 32_768;
const UNREAD: Broken = Broken(cause::beside::flood());
const REFUSED: Broken = Broken(cause::beside::wrong_opening());
/// Memory for messages that are replied to, kept between them.
const KEPT: usize = 4096;

/// Where one connection stands.
#[derive(Debug)]
pub struct Talk {
    /// What slots are filled with, but for what differs from one message to the next.
    fill: Fill<'static>,
    /// The step of the opening that is next, or whose answer is awaited.
    step: usize,
    /// Opening messages said.
    said: u32,
    /// Numbers given.
    numbers: u64,
    /// Messages said beside requests.
    spoken: u64,
    /// Replies said, of which it is not known that they have left, and those to be said.
    unread: u16,
    owed: Owed,
}

/// What the peer said that is to be replied to.
#[derive(Debug, Default)]
struct Owed {
    /// Which reply, and where its groups are.
    prompts: Vec<(usize, Range<usize>)>,
    groups: Vec<(u32, u32)>,
    text: Vec<u8>,
}

impl Talk {
    /// Of a connection that is opened with these values.
    pub fn new(fill: &Fill) -> Talk {
        Talk { fill: fill.without_values(), step: 0, said: 0, numbers: 0, spoken: 0, unread: 0, owed: Owed::default() }
    }

    /// What a request is filled with that takes the next number.
    #[inline]
    pub fn numbered<'a>(&mut self, fill: &Fill<'a>) -> Fill<'a> {
        self.numbers += 1;
        Fill { sequence: self.numbers, ..*fill }
    }

    /// The last number given.
    #[inline]
    pub fn last_number(&self) -> u64 {
        self.numbers
    }

    /// Opening messages said so far.
    pub fn opening_messages(&self) -> u32 {
        self.said
    }

    /// Replies of which it is not known that they have left.
    #[inline]
    pub fn unread(&self) -> u32 {
        self.unread.into()
    }

    /// Nearly all of them have left.
    pub fn were_read(&mut self) {
        self.unread = 0;
    }

    /// True as long as requests must wait.
    pub fn is_opening<M>(&self, beside: &Beside<M>) -> bool {
        self.step < beside.openings.len()
    }

    /// Says what is to be said now: up to the first message whose answer is awaited, or all of it.
    pub fn go_on<M: Said>(&mut self, beside: &Beside<M>, mut say: impl FnMut(&M, &Fill)) {
        while let Some(opening) = beside.openings.get(self.step) {
            if let Some(said) = &opening.said {
                let fill = self.next_fill(said, self.fill.unix_ns);
                say(said, &fill);
                self.said += 1;
            }
            if opening.awaits.is_some() {
                return;
            }
            self.step += 1;
        }
    }

    /// A message came while the opening goes on; None: it is what was awaited.
    ///
    /// # Errors
    /// It is anything else, and nothing that is replied to.
    pub fn hear_opening<M>(&mut self, beside: &Beside<M>, message: &[u8]) -> Result<Option<Heard>, Broken> {
        let message = looked_at(message);
        let awaited = beside.openings.get(self.step).and_then(|opening| opening.awaits.as_ref());
        if awaited.is_some_and(|regex| regex.find(&mut regex.begin(), message).is_some()) {
            self.step += 1;
            return Ok(None);
        }
        match self.hear(beside, message)? {
            Heard::Unknown => Err(REFUSED),
            heard => Ok(Some(heard)),
        }
    }

    /// A message came that is no answer to a request, or might be none.
    ///
    /// # Errors
    /// The peer asks and does not read.
    #[inline]
    pub fn hear<M>(&mut self, beside: &Beside<M>, message: &[u8]) -> Result<Heard, Broken> {
        let message = looked_at(message);
        let matches = |reply: &super::Reply<M>| reply.pattern.find(&mut reply.pattern.begin(), message).is_some();
        let Some(number) = beside.replies.iter().position(matches) else { return Ok(Heard::Unknown) };
        let reply = &beside.replies[number];
        if reply.said.is_none() {
            return Ok(Heard::Known);
        }
        if self.unread == REPLIES_BOUND {
            return Err(UNREAD);
        }
        self.unread += 1;
        let from = self.owed.groups.len();
        if let Some(captures) = &reply.captures {
            self.owed.take(message, |spans| captures.find(message, spans));
        }
        self.owed.prompts.push((number, from..self.owed.groups.len()));
        Ok(if self.owed.prompts.len() == 1 { Heard::FirstOwed } else { Heard::Owed })
    }

    /// Says what is owed, at this time; how many messages that was.
    pub fn pay<M: Said>(
        &mut self,
        beside: &Beside<M>,
        unix_ns: u64,
        mut say: impl FnMut(&M, &Fill, Captured<'_>),
    ) -> u32 {
        let mut owed = std::mem::take(&mut self.owed);
        let mut paid = 0;
        for (number, groups) in owed.prompts.drain(..) {
            let Some(said) = &beside.replies[number].said else { continue };
            let fill = self.next_fill(said, unix_ns);
            say(said, &fill, Captured { text: &owed.text, groups: &owed.groups[groups] });
            paid += 1;
        }
        self.owed = owed.emptied();
        paid
    }

    /// What the next message beside requests is filled with: each has random values of its own.
    fn next_fill<M: Said>(&mut self, said: &M, unix_ns: u64) -> Fill<'static> {
        self.spoken += 1;
        let random = self.fill.random ^ self.spoken.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let fill = Fill { random, unix_ns, ..self.fill };
        let takes_number = said.template().is_some_and(Template::is_numbered);
        if takes_number { self.numbered(&fill) } else { fill }
    }
}

impl Owed {
    /// Keeps what `find` finds in a message.
    fn take(&mut self, message: &[u8], find: impl FnOnce(&mut Vec<(u32, u32)>)) {
        let (from, at) = (self.groups.len(), self.text.len() as u32);
        find(&mut self.groups);
        for (start, end) in &mut self.groups[from..] {
            (*start, *end) = (*start + at, *end + at);
        }
        self.text.extend_from_slice(message);
    }

    /// Nothing is owed; memory for little is kept.
    fn emptied(mut self) -> Owed {
        if self.text.capacity() > KEPT || self.prompts.capacity() > KEPT / size_of::<(usize, Range<usize>)>() {
            return Owed::default();
        }
        self.groups.clear();
        self.text.clear();
        self
    }
}

/// As much of a message as patterns see, however it arrived.
fn looked_at(message: &[u8]) -> &[u8] {
    &message[..message.len().min(MOST_CAPTURED)]
}
