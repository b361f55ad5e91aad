//! What a session tells: what became of exchanges, and what else happened in a conversation.

use std::sync::Arc;

use cause::Cause;

use crate::{ExchangeId, FaultKind, Lesson, Origin, Request};

/// What became of exchanges: a plain buffer the session appends to and the engine drains.
#[derive(Debug)]
pub struct Done {
    /// What happened, in order.
    pub events: Vec<Event>,
    wanted: u32,
    /// Messages that nobody asked for are told with their bytes.
    hears: bool,
    failed: Vec<(ExchangeId, u32)>,
}

impl Default for Done {
    fn default() -> Self {
        Done { events: Vec::with_capacity(64), wanted: u32::MAX, hears: false, failed: Vec::new() }
    }
}

impl Done {
    /// An empty one in this memory, of which the same is wanted.
    pub fn like(other: &Done, events: Vec<Event>) -> Done {
        Done { events, wanted: other.wanted, hears: other.hears, failed: Vec::new() }
    }
    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }
    /// Messages that nobody asked for are to be told with their bytes from now on.
    pub fn hear_unasked(&mut self) {
        self.hears = true;
    }
    /// True where they are: a session then keeps such a message until it is whole.
    #[inline]
    pub fn hears_unasked(&self) -> bool {
        self.hears
    }
    /// Tells of a message of so many bytes that nobody asked for; what of it was kept is copied only where somebody hears it.
    pub fn unasked(&mut self, size: u64, message: &[u8]) {
        let heard = self.hears.then(|| Box::from(message));
        self.push(Event::Unsolicited(u32::try_from(size).unwrap_or(u32::MAX), heard));
    }
    /// Tells which of the checks of its request the answer of an exchange failed, bit by bit ([`crate::Failed`]): before its end, and only of
    /// a whole answer that is a failure. Of one that succeeded all are passed.
    pub fn failed(&mut self, id: ExchangeId, checks: u32) {
        self.failed.push((id, checks));
    }
    /// What was told of an exchange that failed, once.
    #[cold]
    pub fn take_failed(&mut self, id: ExchangeId) -> Option<u32> {
        let at = self.failed.iter().position(|(of, _)| *of == id)?;
        Some(self.failed.swap_remove(at).1)
    }
    /// What was told of exchanges that nobody asks about any more is gone.
    #[inline]
    pub fn forget_failed(&mut self) {
        self.failed.clear();
    }
    /// Takes over what another was told of checks.
    pub fn failed_as(&mut self, other: &mut Done) {
        self.failed.append(&mut other.failed);
    }
    /// True where no example of this kind of failure was kept yet: the session then attaches what came back.
    pub fn wants_example(&self, kind: FaultKind) -> bool {
        self.wanted & (1 << kind as u8) != 0
    }
    /// Remembers that an example of this kind is kept.
    pub fn example_kept(&mut self, kind: FaultKind) {
        self.wanted &= !(1 << kind as u8);
    }
}

/// One thing that happened in a conversation.
#[derive(Debug)]
pub enum Event {
    /// The first byte of an answer arrived (before the bytes that end it; may be left out where one piece held both).
    FirstByte(ExchangeId),
    /// A message of so many bytes inside an exchange whose answer is a stream of them.
    Message(ExchangeId, u32),
    /// The peer answered a [`crate::Session::heartbeat`].
    Heartbeat,
    /// The peer said of a connection or an exchange how it ends (GOAWAY, RST_STREAM), whatever became of the exchanges; what it
    /// said is named as status codes are ([`crate::Dialogue::code_name`]).
    Word(u32),
    /// Its user is to keep this of the answer; directly before the end of the exchange.
    Learnt(ExchangeId, Lesson),
    /// The exchange is over.
    Ended(Ended),
    /// The peer says that it did nothing for this exchange and never will (GOAWAY, REFUSED_STREAM): nothing was lost, and
    /// it may be submitted again as it was, on a connection that has room. The session has forgotten it.
    Refused(ExchangeId),
    /// The peer answered before it asked for the part that was withheld ([`crate::Sent::Withheld`]), which is not sent.
    Declined(ExchangeId),
    /// A message (so many bytes) that nobody asked for: a push; not a failure. Its bytes, where they are heard ([`Done::unasked`]).
    Unsolicited(u32, Option<Box<[u8]>>),
    /// The peer said what is to be replied to: [`crate::Session::pay`] says it.
    Owed,
    /// So many bytes of an answer beyond those that were asked for, where answers belong to requests by order alone: unlike a
    /// push it may have been taken for another's.
    Stray(u32),
}

impl Event {
    /// The same of a protocol that holds this one: what follows is a request of that, and so is its status code.
    pub fn within(self, code: impl Fn(u32) -> u32, follow: impl FnOnce(Follow) -> Follow) -> Event {
        match self {
            Event::Word(word) => Event::Word(code(word)),
            Event::Ended(ended) => Event::Ended(Ended {
                code: code(ended.code),
                follow: ended.follow.map(|next| Box::new(follow(*next))),
                ..ended
            }),
            other => other,
        }
    }
}

/// How an exchange ended.
#[derive(Debug)]
pub struct Ended {
    /// Which one.
    pub id: ExchangeId,
    /// None: success.
    pub fault: Option<FaultKind>,
    /// The protocol's status code; 0 where there is none.
    pub code: u32,
    /// Bytes of payload (body) received.
    pub payload: u64,
    /// Why it failed, where the protocol knows more than the kind says.
    pub why: Option<Cause>,
    /// What came back, attached where the exchange failed and [`Done::wants_example`] said so.
    pub excerpt: Option<Box<[u8]>>,
    /// The next hop (a redirect): a request of its own, for the same user.
    pub follow: Option<Box<Follow>>,
}

/// What an answer names that its user is to fetch beside it, found when this is called: that may take long, and is done once the
/// end of the answer was stamped.
pub type Found = Box<dyn FnOnce() -> Page + Send>;

/// A page whose user fetches what it names before it goes on.
pub struct Page {
    /// So many resources are under way at once.
    pub at_once: u32,
    /// What they are called in figures, by its index among [`crate::Prepared::names`].
    pub name: u16,
    /// Their failures are not the page's.
    pub may_fail: bool,
    /// How many there are to fetch.
    pub found: u32,
    /// So many of other hosts are not fetched.
    pub elsewhere: u32,
    /// So many are more than are fetched of one page.
    pub beyond: u32,
    /// Not all of the page was looked into.
    pub cut: bool,
    /// The request of the next one; None: there is no more.
    pub next: Box<dyn FnMut() -> Option<Follow> + Send>,
}

/// A request that an answer asks for.
#[derive(Debug)]
pub struct Follow {
    /// Where it goes.
    pub origin: Origin,
    /// The request.
    pub request: Arc<Request>,
}
