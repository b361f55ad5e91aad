//! Side messages of one connection: progress of the opening, pending replies and the number of messages sent.

use std::ops::Range;

use brunt_contract::{Event, EventBuffer, ProtocolError, SlotContext};

use super::{SideMessage, SideMessages};
use crate::steps::OutOfSteps;
use crate::template::{CapturedGroups, MOST_CAPTURED, Template};

/// The kind of a message that is not a response to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsolicitedKind {
    /// Matches no pattern.
    Unknown,
    /// Matches a `--reply` pattern without a reply.
    Ignored,
    /// Will be replied to; no other reply is pending.
    FirstReply,
    /// Will be replied to, together with replies that are already pending.
    LaterReply,
}

impl UnsolicitedKind {
    /// Reports a message of `size` bytes, of which only `message` was kept.
    pub fn report(self, size: u64, message: &[u8], done: &mut EventBuffer) {
        match self {
            UnsolicitedKind::FirstReply => done.push(Event::ReplyDue),
            // Not reported separately, because all pending replies are written together.
            UnsolicitedKind::LaterReply => {}
            UnsolicitedKind::Ignored | UnsolicitedKind::Unknown => done.push_unsolicited(size, message),
        }
    }
}

/// Maximum number of replies that the peer has not read yet.
const REPLIES_BOUND: u16 = 32_768;
const UNREAD: ProtocolError = ProtocolError(brunt_cause::side_messages::flood());
const TOO_COSTLY: ProtocolError = ProtocolError(brunt_cause::side_messages::too_costly());
const REFUSED: ProtocolError = ProtocolError(brunt_cause::side_messages::wrong_opening());
/// Buffer capacity kept between messages with replies, in bytes.
const KEPT: usize = 4096;

/// The state of one connection.
#[derive(Debug)]
pub struct SideMessageState {
    /// Slot context shared by all messages, except for the values that differ between messages.
    context: SlotContext<'static>,
    /// Index of the opening step that is next or whose response is awaited.
    step: usize,
    /// Number of opening messages sent.
    openings_sent: u32,
    /// Last sequence number assigned.
    last_number: u64,
    /// Number of side messages sent.
    messages_sent: u64,
    /// Number of replies that are pending, or sent but not known to have left.
    unread: u16,
    pending: PendingReplies,
}

/// The pending replies.
#[derive(Debug, Default)]
struct PendingReplies {
    /// Index of each reply, and the range of its captured groups.
    prompts: Vec<(usize, Range<usize>)>,
    groups: Vec<(u32, u32)>,
    text: Vec<u8>,
}

impl SideMessageState {
    /// Creates the state of a new connection; `context` provides the values of its side messages.
    pub fn new(context: &SlotContext) -> SideMessageState {
        SideMessageState {
            context: context.without_values(),
            step: 0,
            openings_sent: 0,
            last_number: 0,
            messages_sent: 0,
            unread: 0,
            pending: PendingReplies::default(),
        }
    }

    /// Returns the slot context of a request with the next sequence number.
    #[inline]
    pub fn next_numbered<'a>(&mut self, context: &SlotContext<'a>) -> SlotContext<'a> {
        self.last_number += 1;
        SlotContext { sequence: self.last_number, ..*context }
    }

    /// Returns the last sequence number assigned.
    #[inline]
    pub fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Returns the number of opening messages sent so far.
    pub fn opening_messages(&self) -> u32 {
        self.openings_sent
    }

    /// Returns the number of replies that are not known to have left.
    #[inline]
    pub fn unread_replies(&self) -> u32 {
        self.unread.into()
    }

    /// Resets the number of unread replies; called once nearly all of them have left.
    pub fn mark_replies_read(&mut self) {
        self.unread = 0;
    }

    /// Returns `true` as long as requests must wait for the opening.
    pub fn is_opening<M>(&self, beside: &SideMessages<M>) -> bool {
        self.step < beside.openings.len()
    }

    /// Sends the opening messages up to the next one whose response is awaited, or to the end.
    pub fn continue_opening<M: SideMessage>(
        &mut self,
        beside: &SideMessages<M>,
        mut say: impl FnMut(&M, &SlotContext),
    ) {
        while let Some(opening) = beside.openings.get(self.step) {
            if let Some(said) = &opening.message {
                let fill = self.next_fill(said, self.context.unix_ns);
                say(said, &fill);
                self.openings_sent += 1;
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
    pub fn on_opening_message<M>(
        &mut self,
        beside: &SideMessages<M>,
        message: &[u8],
    ) -> Result<Option<UnsolicitedKind>, ProtocolError> {
        let message = searched_part(message);
        let awaited = beside.openings.get(self.step).and_then(|opening| opening.awaits.as_ref());
        if awaited.is_some_and(|regex| regex.find(&mut regex.begin(), message).is_some()) {
            self.step += 1;
            return Ok(None);
        }
        match self.on_message(beside, message)? {
            UnsolicitedKind::Unknown => Err(REFUSED),
            heard => Ok(Some(heard)),
        }
    }

    /// Handles a message that is not known to be a response to a request.
    ///
    /// # Errors
    /// The peer keeps sending messages and does not read the replies, or the search for the groups of a pattern takes
    /// too long.
    #[inline]
    pub fn on_message<M>(
        &mut self,
        beside: &SideMessages<M>,
        message: &[u8],
    ) -> Result<UnsolicitedKind, ProtocolError> {
        let message = searched_part(message);
        let matches = |reply: &super::AutoReply<M>| reply.pattern.find(&mut reply.pattern.begin(), message).is_some();
        let Some(number) = beside.replies.iter().position(matches) else { return Ok(UnsolicitedKind::Unknown) };
        let reply = &beside.replies[number];
        if reply.message.is_none() {
            return Ok(UnsolicitedKind::Ignored);
        }
        if self.unread == REPLIES_BOUND {
            return Err(UNREAD);
        }
        self.unread += 1;
        let from = self.pending.groups.len();
        if let Some(captures) = &reply.captures {
            self.pending.keep(message, |spans| captures.find(message, spans)).map_err(|_| TOO_COSTLY)?;
        }
        self.pending.prompts.push((number, from..self.pending.groups.len()));
        Ok(if self.pending.prompts.len() == 1 { UnsolicitedKind::FirstReply } else { UnsolicitedKind::LaterReply })
    }

    /// Writes the pending replies, with `unix_ns` as their time, and returns their number.
    pub fn write_replies<M: SideMessage>(
        &mut self,
        beside: &SideMessages<M>,
        unix_ns: u64,
        mut say: impl FnMut(&M, &SlotContext, CapturedGroups<'_>),
    ) -> u32 {
        let mut owed = std::mem::take(&mut self.pending);
        let mut paid = 0;
        for (number, groups) in owed.prompts.drain(..) {
            let Some(said) = &beside.replies[number].message else { continue };
            let fill = self.next_fill(said, unix_ns);
            say(said, &fill, CapturedGroups { text: &owed.text, groups: &owed.groups[groups] });
            paid += 1;
        }
        self.pending = owed.cleared();
        paid
    }

    /// Returns the slot context of the next side message; each message has its own random values.
    fn next_fill<M: SideMessage>(&mut self, said: &M, unix_ns: u64) -> SlotContext<'static> {
        self.messages_sent += 1;
        let random = self.context.random ^ self.messages_sent.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let fill = SlotContext { random, unix_ns, ..self.context };
        let takes_number = said.template().is_some_and(Template::is_numbered);
        if takes_number { self.next_numbered(&fill) } else { fill }
    }
}

impl PendingReplies {
    /// Stores a message and the spans that `find` records in it.
    fn keep(
        &mut self,
        message: &[u8],
        find: impl FnOnce(&mut Vec<(u32, u32)>) -> Result<(), OutOfSteps>,
    ) -> Result<(), OutOfSteps> {
        let (from, at) = (self.groups.len(), self.text.len() as u32);
        find(&mut self.groups)?;
        for (start, end) in &mut self.groups[from..] {
            (*start, *end) = (*start + at, *end + at);
        }
        self.text.extend_from_slice(message);
        Ok(())
    }

    /// Clears the pending replies and keeps only a small buffer.
    fn cleared(mut self) -> PendingReplies {
        if self.text.capacity() > KEPT || self.prompts.capacity() > KEPT / size_of::<(usize, Range<usize>)>() {
            return PendingReplies::default();
        }
        self.groups.clear();
        self.text.clear();
        self
    }
}

/// Returns the part of a message that patterns search, which does not depend on fragmentation.
fn searched_part(message: &[u8]) -> &[u8] {
    &message[..message.len().min(MOST_CAPTURED)]
}
