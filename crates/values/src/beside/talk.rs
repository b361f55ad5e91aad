//! Side messages of one connection: progress of the opening, pending replies and the number of messages sent.

use std::ops::Range;

use wire::{Broken, Done, Event, Fill};

use super::{Beside, Said};
use crate::template::{Captured, MOST_CAPTURED, Template};

/// The kind of a message that is not an answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Matches no pattern.
    Unknown,
    /// Matches a `--reply` pattern that has no reply.
    Known,
    /// Will be replied to; no reply was pending before.
    FirstOwed,
    /// Will be replied to, together with replies already pending.
    Owed,
}

impl Heard {
    /// Reports a message of `size` bytes, of which `message` was kept.
    pub fn tell(self, size: u64, message: &[u8], done: &mut Done) {
        match self {
            Heard::FirstOwed => done.push(Event::Owed),
            // Reported with the first reply; all pending replies are written together.
            Heard::Owed => {}
            Heard::Known | Heard::Unknown => done.unasked(size, message),
        }
    }
}

/// Maximum number of replies that wait for the peer to read them.
const REPLIES_BOUND: u16 = 32_768;
const UNREAD: Broken = Broken(cause::beside::flood());
const REFUSED: Broken = Broken(cause::beside::wrong_opening());
/// Memory kept between messages that are replied to, in bytes.
const KEPT: usize = 4096;

/// The state of one connection.
#[derive(Debug)]
pub struct Talk {
    /// Slot context shared by all messages, except for the values that differ between messages.
    fill: Fill<'static>,
    /// Index of the opening step that is next, or whose answer is awaited.
    step: usize,
    /// Number of opening messages sent.
    said: u32,
    /// Last sequence number given.
    numbers: u64,
    /// Number of side messages sent.
    spoken: u64,
    /// Number of replies pending, or sent but not known to have left.
    unread: u16,
    owed: Owed,
}

/// The pending replies.
#[derive(Debug, Default)]
struct Owed {
    /// Index of each reply, and the range of its groups.
    prompts: Vec<(usize, Range<usize>)>,
    groups: Vec<(u32, u32)>,
    text: Vec<u8>,
}

impl Talk {
    /// Creates the state of a connection that is opened with these values.
    pub fn new(fill: &Fill) -> Talk {
        Talk { fill: fill.without_values(), step: 0, said: 0, numbers: 0, spoken: 0, unread: 0, owed: Owed::default() }
    }

    /// Returns the slot context of a request with the next sequence number.
    #[inline]
    pub fn numbered<'a>(&mut self, fill: &Fill<'a>) -> Fill<'a> {
        self.numbers += 1;
        Fill { sequence: self.numbers, ..*fill }
    }

    /// Returns the last sequence number given.
    #[inline]
    pub fn last_number(&self) -> u64 {
        self.numbers
    }

    /// Returns the number of opening messages sent so far.
    pub fn opening_messages(&self) -> u32 {
        self.said
    }

    /// Returns the number of replies that are not known to have left.
    #[inline]
    pub fn unread(&self) -> u32 {
        self.unread.into()
    }

    /// Resets the number of unread replies, once nearly all of them have left.
    pub fn were_read(&mut self) {
        self.unread = 0;
    }

    /// Returns `true` as long as requests must wait.
    pub fn is_opening<M>(&self, beside: &Beside<M>) -> bool {
        self.step < beside.openings.len()
    }

    /// Sends the opening up to the first message whose answer is awaited, or all of it.
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

    /// Handles a message received during the opening; returns `None` if it is the awaited one.
    ///
    /// # Errors
    /// The message is neither awaited nor replied to.
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

    /// Handles a message that is not, or may not be, an answer to a request.
    ///
    /// # Errors
    /// The peer keeps sending messages and does not read the replies.
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

    /// Writes the pending replies at this time; returns how many.
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

    /// Returns the slot context of the next side message; each message has its own random values.
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

    /// Clears the pending replies and keeps only a small buffer.
    fn emptied(mut self) -> Owed {
        if self.text.capacity() > KEPT || self.prompts.capacity() > KEPT / size_of::<(usize, Range<usize>)>() {
            return Owed::default();
        }
        self.groups.clear();
        self.text.clear();
        self
    }
}

/// Returns the part of a message that patterns see, which does not depend on how it was fragmented.
fn looked_at(message: &[u8]) -> &[u8] {
    &message[..message.len().min(MOST_CAPTURED)]
}
