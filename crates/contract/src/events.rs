//! Events reported by a session: the outcomes of exchanges, and everything else that happens on a connection.

use std::sync::Arc;

use brunt_cause::Cause;

use crate::{ExchangeId, FaultKind, Origin, Request, StateUpdate};

/// Event buffer that a session appends to and the engine drains.
#[derive(Debug)]
pub struct EventBuffer {
    /// Events, in order.
    pub events: Vec<Event>,
    wanted_examples: u32,
    /// Set if unsolicited messages are reported with their bytes.
    reports_unsolicited: bool,
    failed: Vec<(ExchangeId, u32)>,
}

impl Default for EventBuffer {
    fn default() -> Self {
        EventBuffer {
            events: Vec::with_capacity(64),
            wanted_examples: u32::MAX,
            reports_unsolicited: false,
            failed: Vec::new(),
        }
    }
}

impl EventBuffer {
    /// Creates an empty buffer that reuses the allocation of `events` and has the settings of `other`.
    pub fn with_settings_of(other: &EventBuffer, events: Vec<Event>) -> EventBuffer {
        EventBuffer {
            events,
            wanted_examples: other.wanted_examples,
            reports_unsolicited: other.reports_unsolicited,
            failed: Vec::new(),
        }
    }
    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }
    /// Reports unsolicited messages with their bytes from now on.
    pub fn report_unsolicited(&mut self) {
        self.reports_unsolicited = true;
    }
    /// Returns `true` if unsolicited messages are reported with their bytes: a session then buffers such a message
    /// until it is complete.
    #[inline]
    pub fn reports_unsolicited(&self) -> bool {
        self.reports_unsolicited
    }
    /// Appends the event of an unsolicited message of `size` bytes; the buffered part of it is copied only if the bytes
    /// are wanted.
    pub fn push_unsolicited(&mut self, size: u64, message: &[u8]) {
        let heard = self.reports_unsolicited.then(|| Box::from(message));
        self.push(Event::Unsolicited(u32::try_from(size).unwrap_or(u32::MAX), heard));
    }
    /// Records which checks of its request the response of an exchange failed, one bit each ([`crate::FailedChecks`]).
    /// Called before the end of the exchange, and only for a complete response that is a failure. A successful
    /// response passed all checks.
    pub fn record_failed_checks(&mut self, id: ExchangeId, checks: u32) {
        self.failed.push((id, checks));
    }
    /// Takes the failed checks recorded for an exchange, if any.
    #[cold]
    pub fn take_failed_checks(&mut self, id: ExchangeId) -> Option<u32> {
        let at = self.failed.iter().position(|(of, _)| *of == id)?;
        Some(self.failed.swap_remove(at).1)
    }
    /// Discards the failed checks of all exchanges.
    #[inline]
    pub fn clear_failed_checks(&mut self) {
        self.failed.clear();
    }
    /// Moves the failed checks recorded in another buffer into this one.
    pub fn merge_failed_checks(&mut self, other: &mut EventBuffer) {
        self.failed.append(&mut other.failed);
    }
    /// Returns `true` if no example of this kind of failure has been kept yet: the session then attaches the response.
    pub fn wants_example(&self, kind: FaultKind) -> bool {
        self.wanted_examples & (1 << kind as u8) != 0
    }
    /// Marks this kind of failure as having an example.
    pub fn mark_example(&mut self, kind: FaultKind) {
        self.wanted_examples &= !(1 << kind as u8);
    }
}

/// A single event on a connection.
#[derive(Debug)]
pub enum Event {
    /// The first byte of a response arrived. Precedes the event that ends the response; may be omitted if one read
    /// contained both.
    FirstByte(ExchangeId),
    /// A message of this many bytes within an exchange whose response is a stream of messages.
    Message(ExchangeId, u32),
    /// The peer answered a [`crate::Session::heartbeat`].
    Heartbeat,
    /// The peer sent a code for the end of a connection or an exchange (GOAWAY, RST_STREAM), independent of the
    /// outcome of exchanges. Named like status codes ([`crate::Workload::code_name`]).
    PeerCode(u32),
    /// State from a response that its user keeps; directly precedes the end of the exchange.
    StateUpdate(ExchangeId, StateUpdate),
    /// The exchange ended.
    Ended(ExchangeEnd),
    /// The peer did not process this exchange and never will (GOAWAY, REFUSED_STREAM): it is safe to submit it again,
    /// unchanged, on a connection that has room. The session has discarded it.
    Refused(ExchangeId),
    /// The peer responded without asking for the part of the request that was held back
    /// ([`crate::SubmitOutcome::AwaitingContinue`]), which is therefore not sent.
    RestNotSent(ExchangeId),
    /// The last bytes of a one-way request that the peer's flow control held back
    /// ([`crate::SubmitOutcome::OneWayHeldBack`]) were appended.
    Released(ExchangeId),
    /// An unsolicited message of this many bytes: a push, not a failure. Contains its bytes if they are wanted
    /// ([`EventBuffer::push_unsolicited`]).
    Unsolicited(u32, Option<Box<[u8]>>),
    /// A reply to an unsolicited message is due: [`crate::Session::write_replies`] writes it.
    ReplyDue,
    /// Response bytes beyond those requested, if responses are matched to requests by order alone: unlike a push, they
    /// may have been taken for the response to another request.
    SurplusResponse(u32),
}

impl Event {
    /// Converts the event of an inner protocol to one of the protocol that wraps it: maps the status code and the
    /// follow-up request.
    pub fn map_inner(self, code: impl Fn(u32) -> u32, follow: impl FnOnce(FollowUp) -> FollowUp) -> Event {
        match self {
            Event::PeerCode(word) => Event::PeerCode(code(word)),
            Event::Ended(ended) => Event::Ended(ExchangeEnd {
                code: code(ended.code),
                follow_up: ended.follow_up.map(|next| Box::new(follow(*next))),
                ..ended
            }),
            other => other,
        }
    }
}

/// The end of an exchange.
#[derive(Debug)]
pub struct ExchangeEnd {
    /// The exchange.
    pub id: ExchangeId,
    /// Kind of failure; `None` on success.
    pub fault: Option<FaultKind>,
    /// Status code of the protocol; 0 if it has none.
    pub code: u32,
    /// Bytes of payload (body) received.
    pub payload: u64,
    /// Cause of the failure, if the protocol knows more than the kind.
    pub cause: Option<Cause>,
    /// Received bytes, attached if the exchange failed and [`EventBuffer::wants_example`] returned `true`.
    pub excerpt: Option<Box<[u8]>>,
    /// Next hop (a redirect): a separate request for the same user.
    pub follow_up: Option<Box<FollowUp>>,
}

/// Deferred search for the resources that a response names and that its user then fetches. It may take a while, so it
/// is called once the end of the response has been timestamped.
pub type ResourceSearch = Box<dyn FnOnce() -> PageResources + Send>;

/// A page whose user fetches its resources before it continues.
pub struct PageResources {
    /// Maximum number of resources in flight at once.
    pub max_in_flight: u32,
    /// Index of the name of the resources in reports, among [`crate::PreparedWorkload::names`].
    pub name: u16,
    /// Set if failed resources do not make the page fail.
    pub may_fail: bool,
    /// Number of resources to fetch.
    pub resources: u32,
    /// Number of resources on other hosts, which are not fetched.
    pub on_other_hosts: u32,
    /// Number of resources beyond the limit per page, which are not fetched.
    pub over_limit: u32,
    /// Set if only part of the page was searched.
    pub truncated: bool,
    /// Returns the request of the next resource; `None` if there are no more.
    pub next: Box<dyn FnMut() -> Option<FollowUp> + Send>,
}

/// A follow-up request that a response asks for.
#[derive(Debug)]
pub struct FollowUp {
    /// Destination of the request.
    pub origin: Origin,
    /// The request.
    pub request: Arc<Request>,
}
