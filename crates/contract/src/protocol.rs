//! The traits that a protocol implements.

use std::fmt;
use std::sync::Arc;

use brunt_cause::{Cause, Complaint, StaticCause, complaint};
use brunt_measure::Nanos;

use crate::{
    CacheHit, EventBuffer, ExchangeId, FaultKind, FollowUp, OptionSpec, OutputBuffer, ProtocolConfig, Request,
    RequestDraft, RequestList, RequestNames, ResourceSearch, SlotContext, StateUpdate, Trace, UsageError, UserState,
};

/// Destination of a request's connections: the key of the connection pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP or UDP port.
    pub port: u16,
    /// Set if connections use TLS.
    pub tls: bool,
    /// Set if connections carry datagrams (UDP) instead of a stream.
    pub datagrams: bool,
    /// Index, private to the workload, of what a connection is bound to in addition to the address (a WebSocket's path,
    /// a database). 0 if a connection can serve any request to the address.
    pub bound: u32,
    /// Set if an HTTP proxy reads the requests in cleartext: no tunnel is opened, and requests carry absolute URLs
    /// ([`crate::ProxyRules::forwarding_for`]).
    pub forwarded: bool,
}

impl Origin {
    /// Creates the origin of a stream to `host`, bound to nothing.
    pub fn tcp(host: impl Into<String>, port: u16, tls: bool) -> Origin {
        Origin { host: host.into(), port, tls, ..Origin::default() }
    }
}

/// Static description of a protocol: its name, options and capabilities.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolDescription<'a> {
    /// Name in plans and reports.
    pub name: &'static str,
    /// URL schemes that the protocol handles, without `://`: `http`, `https`. [`Protocol::prepare`] interprets what a
    /// scheme implies.
    pub schemes: &'static [&'static str],
    /// Options of the protocol, one description each.
    pub options: &'a [OptionSpec],
    /// Names of the options that may be set for a single URL of a run ([`ProtocolConfig::url_options`]); empty if URLs
    /// have no options of their own.
    pub url_options: &'a [&'static str],
    /// Names of the options that are checks of a response, in the order in which sessions report failed ones
    /// ([`EventBuffer::record_failed_checks`]).
    pub checks: &'static [&'static str],
    /// Set if the number of connections is part of the plan: the `-c` connections are opened first and kept open, and
    /// with a rate, arrivals use them in turn.
    pub fixed_connections: bool,
    /// Set if connections have a heartbeat that the peer answers (`--ping`, [`Session::heartbeat`]).
    pub heartbeats: bool,
}

impl<'a> ProtocolDescription<'a> {
    /// Creates a description with this name, these schemes and these options, and defaults for everything else.
    pub fn new(
        name: &'static str,
        schemes: &'static [&'static str],
        options: &'a [OptionSpec],
        options_of_one_url: &'a [&'static str],
    ) -> ProtocolDescription<'a> {
        ProtocolDescription {
            name,
            schemes,
            options,
            url_options: options_of_one_url,
            checks: &[],
            fixed_connections: false,
            heartbeats: false,
        }
    }
}

/// A protocol as the rest of brunt sees it. Protocols are listed once, in order, and passed to `cli::main_with`.
pub trait Protocol: Send + Sync + 'static {
    /// Returns the protocol's description.
    fn description(&self) -> ProtocolDescription<'_>;
    /// Returns the options that are checks ([`ProtocolDescription::checks`]) of a response to a request of this URL.
    fn checks(&self, _url: &str) -> &'static [&'static str] {
        self.description().checks
    }
    /// Checks that connections of this run have a heartbeat that the peer answers.
    ///
    /// # Errors
    /// Returns why they have none and what to do instead, worded to follow `--ping:`.
    fn check_heartbeats(&self, _asked: &ProtocolConfig) -> Result<(), Complaint> {
        let ProtocolDescription { name, heartbeats, .. } = self.description();
        if heartbeats {
            Ok(())
        } else {
            Err(complaint!("{name} has no heartbeat; leave it out", "{name} 没有心跳；请去掉"))
        }
    }
    /// Returns a workload whose first request asks the target for something that is needed before requests can be
    /// prepared (a schema); [`Workload::take_inquiry_response`] then returns the response. Called again with all
    /// responses so far ([`ProtocolConfig::inquiry_responses`]) until it returns `None`, which means that nothing more
    /// is needed.
    ///
    /// # Errors
    /// Returns a usage error that names the option.
    fn inquiry(&self, _asked: &ProtocolConfig) -> Result<Option<Arc<dyn Workload>>, UsageError> {
        Ok(None)
    }
    /// Prepares the workload: encodes everything that can be encoded before the run.
    ///
    /// # Errors
    /// Returns a usage error that names the option.
    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError>;
}

impl dyn Protocol {
    /// Returns the name in plans and reports.
    pub fn name(&self) -> &'static str {
        self.description().name
    }
    /// Returns the URL schemes that the protocol handles.
    pub fn schemes(&self) -> &'static [&'static str] {
        self.description().schemes
    }
    /// Returns the protocol's options.
    pub fn options(&self) -> &[OptionSpec] {
        self.description().options
    }
    /// Returns the names of the options that may be set for a single URL.
    pub fn options_of_one_url(&self) -> &[&'static str] {
        self.description().url_options
    }
    /// Returns `true` if the number of connections is part of the plan.
    pub fn fixed_connections(&self) -> bool {
        self.description().fixed_connections
    }
}

/// Maximum number of bytes shown for each direction of a connection; bytes beyond it are only counted.
pub const MAX_SHOWN_BYTES: usize = 1 << 20;

/// Kind of responses that are matched to requests only by their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedResponses {
    /// Datagrams, which the network may duplicate.
    Datagrams,
    /// Messages, which a server may send unsolicited.
    Messages,
}

/// A prepared workload: its requests, their origins and the properties that the engine needs before it starts.
#[derive(Debug)]
pub struct PreparedWorkload {
    /// Requests to choose from; at least one.
    pub requests: Box<dyn RequestList>,
    /// Origins of the requests; at least one.
    pub origins: Vec<Origin>,
    /// Names of the requests in reports, in the order of the requests. If empty, all requests share a single row, the
    /// total.
    pub names: RequestNames,
    /// Requests sent once before the run (`--before`) and not counted in any figure: on one connection to each origin,
    /// one after the other, in this order. If one fails, the run does not start.
    pub before: Vec<Arc<Request>>,
    /// Like `before`, but sent once the run is over (`--after`), even if it was interrupted. A failure is reported, and
    /// the rest are still sent.
    pub after: Vec<Arc<Request>>,
    /// Set if a connection serves one exchange only.
    pub one_exchange_per_connection: bool,
    /// Maximum number of exchanges that share a connection (`--streams`); the peer may allow fewer, see
    /// [`Session::room`].
    pub exchanges_per_connection: u32,
    /// Number of exchanges that one user keeps in flight (`--pipeline`).
    pub exchanges_per_user: u32,
    /// Set if nothing is sent: connections are opened and held, and the requests are not used.
    pub holds_only: bool,
    /// Kind of responses, if they are matched to requests by order alone and the peer may send unsolicited or
    /// duplicate ones: a run that saw such responses reports it. `None` if a response always identifies its request.
    pub by_order: Option<OrderedResponses>,
    /// Set if responses are inspected beyond their end (checks, captures), which can take long enough for a cached
    /// clock reading to become stale.
    pub inspects_responses: bool,
    /// Set if users keep state from responses for later requests (cookies): each user then has a [`UserState`] from its
    /// first request to its last, which the engine passes to [`Session::submit_with`].
    pub keeps_state: bool,
    /// Set if users cache responses and skip requests while the cached response is fresh: [`Workload::cached_response`]
    /// is called only then.
    pub caches_responses: bool,
    /// Set if requests of this run have slots: the engine creates a [`SlotContext`] only then.
    pub has_slots: bool,
    /// Set if the URL of a request is known only during the run: the engine calls [`Workload::addressed`] only then.
    pub follows_links: bool,
    /// Most messages that a request to each URL sends, those of a stream (gRPC); a URL that is not in it sends one.
    pub messages_per_request: Vec<u64>,
    /// Set if the messages of a connection are counted: the engine calls [`Session::sequence`] only then.
    pub counts_messages: bool,
    /// Number of requests after which the workload is exhausted (a data file that is read once); `None` if it never
    /// is.
    pub max_requests: Option<u64>,
}

impl PreparedWorkload {
    /// Creates a prepared workload from requests with their names and origins, with one exchange at a time on each
    /// connection.
    pub fn new(requests: impl RequestList + 'static, origins: Vec<Origin>, names: RequestNames) -> PreparedWorkload {
        PreparedWorkload {
            requests: Box::new(requests),
            origins,
            names,
            before: Vec::new(),
            after: Vec::new(),
            one_exchange_per_connection: false,
            exchanges_per_connection: 1,
            exchanges_per_user: 1,
            holds_only: false,
            by_order: None,
            inspects_responses: true,
            keeps_state: false,
            caches_responses: false,
            has_slots: false,
            follows_links: false,
            messages_per_request: Vec::new(),
            counts_messages: false,
            max_requests: None,
        }
    }
}

/// The complete workload of a run in one protocol: prepared once, shared read-only by the workers.
pub trait Workload: Send + Sync + 'static {
    /// Returns what was prepared before the run.
    fn prepared(&self) -> &PreparedWorkload;
    /// Returns the protocols to offer by ALPN on TLS connections to `origin`.
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[]
    }
    /// Returns who owns a connection to this origin while users go through a flow.
    fn connection_owner(&self, _origin: &Origin) -> ConnectionOwner {
        ConnectionOwner::Pool
    }
    /// Composes a request during the run from a prepared one and a draft; called only if
    /// [`ProtocolConfig::composes_requests`] is set.
    ///
    /// # Errors
    /// Returns why the request cannot be composed: its URL cannot be parsed, or this protocol does not support composed
    /// requests.
    fn compose(&self, _like: &Request, _draft: &RequestDraft) -> Result<FollowUp, Cause> {
        Err(brunt_cause::connecting::composes_nothing().into())
    }
    /// Returns the request that a prepared one becomes with this slot context, and where it leads, if that is known only
    /// during the run; called only if [`PreparedWorkload::follows_links`] is set.
    ///
    /// # Errors
    /// Returns why there is no such request: a captured value is not a URL.
    fn addressed(&self, _request: &Request, _context: &SlotContext<'_>) -> Option<Result<FollowUp, Cause>> {
        None
    }
    /// Returns the bytes of a request as sent with this slot context, by a user with this state
    /// ([`PreparedWorkload::keeps_state`]): for examples of failures and for `--debug`.
    fn encoded_with(&self, request: &Request, context: &SlotContext<'_>, memory: Option<&UserState>) -> Vec<u8>;
    /// Returns the trace that a request announces with this slot context. It is derived again on each call; nothing is
    /// stored while the request is in flight.
    fn trace(&self, _request: &Request, _fill: &SlotContext<'_>) -> Option<Trace> {
        None
    }
    /// Returns `true` if a request cannot carry a trace header. The request still belongs to a trace, if the run has
    /// traces.
    fn carries_no_trace(&self, _request: &Request) -> bool {
        false
    }
    /// Returns `true` if a request may be sent once before the run: it creates nothing, and takes no row that the run takes
    /// only once.
    fn may_precede_run(&self, _request: &Request) -> bool {
        self.prepared().max_requests.is_none()
    }
    /// Updates a user's state with what a response to one of its requests asked it to keep
    /// ([`crate::Event::StateUpdate`]). Returns a closure that finds the resources named in the response, to be called
    /// once the end of the response has been timestamped.
    fn update_state(
        &self,
        _request: &Request,
        _fill: &SlotContext<'_>,
        _lesson: StateUpdate,
        _memory: &mut UserState,
    ) -> Option<ResourceSearch> {
        None
    }
    /// Returns the user's cached response to a request, or `None` if the request must be sent.
    fn cached_response(
        &self,
        _request: &Request,
        _fill: &SlotContext<'_>,
        _memory: &mut UserState,
    ) -> Option<CacheHit> {
        None
    }
    /// Returns a description of the message that is the response to a request (`json $.type == "joined"`), if other
    /// messages may precede it. Shown to users if no such message arrives during the run.
    fn response_condition(&self, _request: &Request) -> Option<String> {
        None
    }
    /// Returns a request as users write it, for messages that name it. Overridden by protocols whose encoded bytes
    /// differ from what users write.
    fn display_request(&self, request: &Request) -> String {
        let sent = self.encoded_with(request, &SlotContext::default(), None);
        String::from_utf8_lossy(&sent).trim().to_owned()
    }
    /// Returns the bytes of a connection in readable form, sent bytes first, for `--debug`; implemented by protocols
    /// whose bytes are not text. `None` if the bytes are shown unchanged. A few bytes may expand to a huge text, so no
    /// text is produced beyond [`MAX_SHOWN_BYTES`].
    fn display_bytes(
        &self,
        _established: &EstablishedConnection,
        _sent: &[u8],
        _received: &[u8],
    ) -> Option<[Vec<u8>; 2]> {
        None
    }
    /// Creates the session of a newly established connection to `origin`.
    fn session(&self, origin: &Origin, established: &EstablishedConnection) -> Box<dyn Session>;
    /// Takes the response to an inquiry ([`Protocol::inquiry`]); `None` once it has been taken.
    fn take_inquiry_response(&self) -> Option<Vec<u8>> {
        None
    }
    /// Returns the protocol and version used on a connection, for display: `HTTP/1.1`.
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        String::new()
    }
    /// Returns the name under which reports count a status code of this protocol, or a code with which the peer ended a
    /// connection or an exchange ([`crate::Event::PeerCode`]): "200", "OK".
    fn code_name(&self, code: u32) -> String {
        code.to_string()
    }
    /// Returns the meaning of a status code in one sentence, for readers who do not know it; shown as the detail of its
    /// example in reports. `None` if the name explains itself.
    fn code_meaning(&self, _code: u32) -> Option<StaticCause> {
        None
    }
}

impl dyn Workload {
    /// Returns the requests to choose from.
    #[inline]
    pub fn requests(&self) -> &dyn RequestList {
        &*self.prepared().requests
    }
    /// Returns the origins of the requests.
    #[inline]
    pub fn origins(&self) -> &[Origin] {
        &self.prepared().origins
    }
    /// Returns the names of the requests in reports.
    #[inline]
    pub fn names(&self) -> &RequestNames {
        &self.prepared().names
    }
    /// Returns the bytes of a request as sent, with its slots left empty.
    pub fn encoded(&self, request: &Request) -> Vec<u8> {
        self.encoded_with(request, &SlotContext::default(), None)
    }
}

impl fmt::Debug for dyn Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.origins()).finish()
    }
}

/// Owner of a connection while users go through a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionOwner {
    /// No user: each request takes a free connection.
    #[default]
    Pool,
    /// The user, from its first request on the connection to the end of the iteration, since later requests may depend
    /// on earlier ones (a transaction). After that the connection returns to the pool.
    Iteration,
    /// The user alone: the connection is opened with the user's values and closed at the end of the iteration.
    User,
}

/// Properties of a newly established connection.
#[derive(Clone, Debug, Default)]
pub struct EstablishedConnection {
    /// Index of what the origin is bound to ([`Origin::bound`]).
    pub bound: u32,
    /// Protocol chosen by ALPN.
    pub alpn: Option<Vec<u8>>,
    /// Set if the connection uses TLS.
    pub tls: bool,
    /// Random number derived from the run's seed, for values that must differ between connections (masks, keys,
    /// nonces).
    pub seed: u64,
    /// Slot context for the messages that open the connection. Its `number` is the connection's, unique within the run
    /// (0 outside of the load), and its `user` is the user for whom the connection is opened.
    pub context: SlotContext<'static>,
}

/// Outcome of a successful submit: how the exchange ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// A response will end the exchange.
    AwaitingResponse,
    /// No response is expected: the exchange ends once its bytes are written, and has no latency.
    OneWay,
    /// Like [`SubmitOutcome::OneWay`], but the peer's flow control holds part of the bytes back:
    /// [`crate::Event::Released`] reports when the session has appended the last of them.
    OneWayHeldBack,
    /// A response will end the exchange. Part of the request is held back until the peer asks for it, or until this
    /// duration has passed and the engine calls [`Session::continue_request`].
    AwaitingContinue(Nanos),
    /// The message that ends the exchange arrived before the exchange was submitted; a call of [`Session::receive`]
    /// with no bytes reports it.
    AlreadyComplete,
}

/// Error of a submit: the session currently accepts no further exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionFull;

/// Protocol violation by the peer. The connection must be closed, and all exchanges on it fail with this error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub StaticCause);

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.en())
    }
}

/// The client side of one connection. It takes received bytes, and returns bytes to send and finished exchanges.
pub trait Session: Send {
    /// Appends the bytes that open the connection, before any request: preface, upgrade, AUTH.
    fn open(&mut self, _out: &mut OutputBuffer) {}
    /// Like [`Session::open`], but with the slot context of the user's first request, if the connection belongs to a
    /// user ([`ConnectionOwner::User`]).
    fn open_with(&mut self, _fill: &SlotContext<'_>, out: &mut OutputBuffer) {
        self.open(out);
    }
    /// Resets the session for another connection to the same origin, reusing its memory: for runs with one connection
    /// per request. Returns `false` if that is impossible (ALPN may have chosen another protocol): a new session is
    /// then created.
    fn restart(&mut self, _established: &EstablishedConnection) -> bool {
        false
    }
    /// Starts an exchange: appends its bytes to `out`.
    ///
    /// # Errors
    /// Returns [`SessionFull`] if [`Session::room`] is 0; nothing was appended.
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &Request,
        context: &SlotContext<'_>,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull>;
    /// Like [`Session::submit`], for a user who keeps state from earlier responses; called instead if
    /// [`PreparedWorkload::keeps_state`] is set.
    ///
    /// # Errors
    /// As for [`Session::submit`].
    fn submit_with(
        &mut self,
        id: ExchangeId,
        request: &Request,
        context: &SlotContext<'_>,
        _memory: &UserState,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        self.submit(id, request, context, out)
    }
    /// Cancels an exchange that timed out. Returns `true` if the connection stays usable and its other exchanges go
    /// on, `false` if the connection must be closed.
    fn cancel(&mut self, _id: ExchangeId, _out: &mut OutputBuffer) -> bool {
        false
    }
    /// Appends the part of a request that is still held back ([`SubmitOutcome::AwaitingContinue`]) when the wait for
    /// the peer times out. Returns `false` if nothing is held back any more.
    fn continue_request(&mut self, _id: ExchangeId, _out: &mut OutputBuffer) -> bool {
        false
    }
    /// Processes received bytes (one datagram, on a datagram network) and appends the resulting events to `done`.
    ///
    /// # Errors
    /// Returns [`ProtocolError`] if the peer violates the protocol; events before the violation are in `done`.
    fn receive(&mut self, bytes: &[u8], out: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError>;
    /// Returns the sequence number ([`SlotContext::sequence`]) of the request submitted last; 0 if it has none.
    fn sequence(&self) -> u64 {
        0
    }
    /// Returns the number of received messages that are buffered for a later request but have not been awaited by any.
    /// Once the connection is closed, they count as pushes.
    fn unread_messages(&self) -> u32 {
        0
    }
    /// Returns the number of messages sent so far to open the connection; they are not requests.
    fn opening_messages(&self) -> u32 {
        0
    }
    /// Writes the replies due for unsolicited messages ([`crate::Event::ReplyDue`]) at the given time (nanoseconds
    /// since 1970); returns how many.
    fn write_replies(&mut self, _unix_ns: u64, _out: &mut OutputBuffer) -> u32 {
        0
    }
    /// Handles the peer's close. A response delimited by the end of the connection is then complete; the engine fails
    /// everything else in flight.
    fn peer_closed(&mut self, _done: &mut EventBuffer) {}
    /// Returns the received part of an incomplete response, if it was buffered. Shown when the exchange fails.
    fn partial_response(&self) -> &[u8] {
        &[]
    }
    /// Returns the number of replies to unsolicited messages (pings) that may not have been sent yet. The session
    /// bounds this number: a peer that keeps asking and never reads causes a protocol error instead of filling our
    /// memory.
    fn pending_replies(&self) -> u32 {
        0
    }
    /// Resets the count of [`Session::pending_replies`]; called once nearly all of these replies have been sent.
    fn reset_pending_replies(&mut self) {}
    /// Returns, in a sentence, what the peer announced about the end of the connection before it closed; `None` if it
    /// announced nothing. Used as the detail of exchanges that fail with the connection.
    fn close_reason(&self) -> Option<StaticCause> {
        None
    }
    /// Like [`Session::close_reason`], including details particular to this peer (a reason, a private code). Lost
    /// connections are grouped by this cause.
    fn close_cause(&self) -> Option<Cause> {
        self.close_reason().map(Cause::from)
    }
    /// Returns, in a sentence, why the peer did not process exchanges ([`crate::Event::Refused`]).
    fn not_processed_reason(&self) -> StaticCause {
        brunt_cause::response::refusing()
    }
    /// Appends a heartbeat that the peer answers, reported by [`crate::Event::Heartbeat`]; returns `false` if the
    /// protocol has none or cannot send one now. At most one is in flight.
    fn heartbeat(&mut self, _out: &mut OutputBuffer) -> bool {
        false
    }
    /// Appends the bytes that a client sends before it closes the connection: a close frame, GOAWAY, COM_QUIT.
    fn finish(&mut self, _out: &mut OutputBuffer) {}
    /// Returns the number of exchanges that the session would accept now. 0 with nothing in flight means that the
    /// connection is used up (unless it is [`Session::is_opening`]).
    fn room(&self) -> usize;
    /// Returns the kind of failure to count when [`Session::receive`] returned an error. Not every error is a
    /// violation: a peer that refuses an upgrade or a password follows the protocol.
    fn refusal_kind(&self) -> FaultKind {
        FaultKind::BrokenProtocol
    }
    /// Returns the status code (as in [`crate::ExchangeEnd::code`]) to count when [`Session::receive`] returned an
    /// error; 0 if the peer sent none.
    fn refusal_code(&self) -> u32 {
        0
    }
    /// Returns `true` while the session's own handshake (an upgrade, AUTH, QUIC) is in progress and it accepts no
    /// exchange yet.
    fn is_opening(&self) -> bool {
        false
    }
    /// Returns `true` if TLS starts now, within the connection (MySQL's SSLRequest, STARTTLS): called after each
    /// [`Session::receive`] while [`Session::is_opening`] returns `true`. Bytes already appended to `out` are sent in
    /// cleartext; then a [`crate::SecureChannel`] is inserted. The session receives nothing until the TLS handshake is
    /// complete and [`Session::tls_established`] is called. Only used on connections without TLS.
    fn starts_tls(&self) -> bool {
        false
    }
    /// Continues after the TLS handshake requested by [`Session::starts_tls`]: everything from now on is encrypted.
    fn tls_established(&mut self, _out: &mut OutputBuffer) {}
}
