//! A single connection outside the load, on which a few requests are sent one after another, with a transcript of its
//! beginning. It is used for the probe and for the requests before and after a run. The connection has the same life
//! cycle as those of a run ([`Links`]).

mod errors;
mod open;
mod text;
mod transcript;

use std::cell::RefCell;
use std::sync::Arc;

use brunt_cause::{Cause, connecting, response};
use brunt_contract::{
    ChannelProgress, Errno, EstablishedConnection, Event, ExchangeEnd, ExchangeId, FaultKind, Network, Origin,
    PeerAddress, ProtocolError, Request, ResourceSearch, SlotContext, SubmitOutcome, UserState, Workload,
};
use brunt_measure::Nanos;
use brunt_measure::random::Rng;
use brunt_net::Epoll;

pub(crate) use self::open::OpenConversation;
use self::open::StartedConversation;
use self::open::led;
pub(crate) use self::open::unix_ns;
use self::text::{describe, place_name};
pub(crate) use self::transcript::ConnectionTranscript;
use self::transcript::TranscriptTap;
use crate::connections::fail_truncated;
use crate::ids::{ConnId, PoolId};
use crate::links::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL, LinkEvent, Links, OpeningError, OpeningStep};
use crate::slot_values::SlotSource;
use crate::{Setup, Stop, lookup};

/// Maximum number of retries of a request that the peer did not process, as in a run.
const UNTOUCHED_AT_MOST: u32 = 8;
/// Maximum interval between checks of the stop flag.
const ATTENTION: Nanos = Nanos::from_millis(50);

/// A failure to obtain a response.
pub(crate) struct OneShotError {
    pub why: Cause,
    /// Set if the target cannot be reached at all.
    pub unreachable: bool,
    /// The kind of failure that a run would count; `None` if there was no response.
    pub fault: Option<FaultKind>,
    /// Set if the target does not speak the protocol, or refuses connections: see [`crate::ProbeFailure::refused`].
    pub refused: bool,
}

pub(crate) fn unreachable(why: impl Into<Cause>) -> OneShotError {
    OneShotError { why: why.into(), unreachable: true, fault: None, refused: false }
}

pub(crate) fn no_answer(why: impl Into<Cause>) -> OneShotError {
    OneShotError { why: why.into(), unreachable: false, fault: None, refused: false }
}

/// The parameters of a one-shot conversation.
pub(crate) struct OneShot<'a> {
    pub workload: &'a Arc<dyn Workload>,
    pub setup: &'a Setup,
    pub stop: &'a Stop,
    pub origin: &'a Origin,
    /// The state of the user for whom the requests are sent.
    pub memory: &'a RefCell<UserState>,
    /// Timeout of each response.
    pub timeout: Nanos,
    /// Deadline of the whole conversation.
    pub deadline: Nanos,
    /// Set if nothing more is sent after a failed request.
    pub until_failure: bool,
    /// Collector of pages, if the user fetches their resources.
    pub pages: Option<&'a Pages>,
}

/// Pages among the responses that have not been searched for resources.
pub(crate) type Pages = RefCell<Vec<ResourceSearch>>;

impl Clone for OneShot<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for OneShot<'_> {}

impl<'a> OneShot<'a> {
    /// Sends the requests one after another on a connection to the first address that accepts it; without requests, the
    /// connection is only opened, including its handshakes. Returns the outcome of each request, in order.
    pub fn run(
        &self,
        requests: &[&'a Request],
        transcribed: &mut ConnectionTranscript,
    ) -> Result<Vec<ExchangeEnd>, OneShotError> {
        let (outcome, kept) = self.begin(requests, transcribed)?;
        kept.end_transcribed(transcribed);
        Ok(outcome)
    }

    /// Like [`OneShot::run`], and returns the conversation so that it can continue.
    pub fn begin(
        &self,
        requests: &[&'a Request],
        transcribed: &mut ConnectionTranscript,
    ) -> Result<StartedConversation<'a>, OneShotError> {
        let found = lookup::find(&self.setup.resolver, self.origin, self.stop);
        let places = found.ok_or_else(|| no_answer(response::stopped()))?.map_err(unreachable)?;
        let mut last = unreachable(connecting::no_address(&self.origin.host));
        for to in places {
            match self.converse(to, requests, transcribed) {
                Err(trouble) if trouble.unreachable => last = trouble,
                settled => return settled,
            }
        }
        Err(last)
    }

    fn converse(
        &self,
        to: PeerAddress,
        requests: &[&'a Request],
        transcribed: &mut ConnectionTranscript,
    ) -> Result<StartedConversation<'a>, OneShotError> {
        let net = Epoll::new().map_err(|e| unreachable(connecting::epoll(e.to_string())))?;
        let ears = TranscriptTap::default();
        let (address, proxy) = (place_name(&to), self.setup.security.proxy(self.origin));
        let through = |proxy: &String| brunt_cause::proxy::at(proxy, &address).into();
        let name = proxy.as_ref().map_or_else(|| (&address).into(), through);
        let talk = OneShotConversation::new(self, net, requests, name, &ears);
        let mut kept = OpenConversation { conversation: talk, address, through: proxy };
        let outcome = kept.conversation.run(to);
        kept.copy_transcript(transcribed);
        outcome.map(|ended| (ended, kept))
    }
}

/// The premature end of a conversation.
enum ConversationEnd {
    /// The connection was never established.
    Before(i32),
    Trouble(OneShotError),
}

impl From<OneShotError> for ConversationEnd {
    fn from(trouble: OneShotError) -> ConversationEnd {
        ConversationEnd::Trouble(trouble)
    }
}

impl From<OpeningError> for ConversationEnd {
    fn from(cut: OpeningError) -> ConversationEnd {
        let why = cut.why.unwrap_or_else(|| brunt_cause::verbatim(""));
        ConversationEnd::Trouble(match cut.kind {
            FaultKind::Tls | FaultKind::Proxy => unreachable(why),
            _ => no_answer(why),
        })
    }
}

/// A conversation in progress on its only connection.
struct OneShotConversation<'a> {
    one_shot: OneShot<'a>,
    links: Links<Epoll>,
    conn: ConnId,
    /// Name of the peer for messages.
    name: brunt_cause::CauseArgument,
    /// Deadline of the current step.
    deadline: Nanos,
    spoken: String,
    established: Option<EstablishedConnection>,
    /// Set once the connection has reached the target, beyond any proxy.
    reached: bool,
    /// Set if the connection accepts requests.
    is_ready: bool,
    requests: Vec<&'a Request>,
    /// Number of completed requests whose outcome has been reported.
    reported: usize,
    /// Number of submitted requests, not counting those that the peer did not process.
    submitted: usize,
    /// Number of requests whose timeout has started.
    begun: usize,
    /// Number of times the peer did not process the current request.
    untouched: u32,
    /// Slot values of the current request.
    context: SlotContext<'static>,
    /// Time at which a withheld body is sent even without a response (`Expect: 100-continue`).
    release_at: Nanos,
    ears: TranscriptTap,
    ended: Vec<ExchangeEnd>,
    /// Failed checks of the last response as a bit set; `None` if none was evaluated.
    failed_checks: Option<u32>,
}

impl<'a> OneShotConversation<'a> {
    fn new(
        one_shot: &OneShot<'a>,
        mut net: Epoll,
        requests: &[&'a Request],
        name: brunt_cause::CauseArgument,
        ears: &TranscriptTap,
    ) -> Self {
        let OneShot { workload: dialogue, setup, .. } = one_shot;
        let timeout = setup.plan.connect_timeout;
        let deadline = net.now() + timeout;
        let sources = setup.sources.first().copied().into_iter().collect();
        let seeded = (Rng::new(0), SlotSource::for_one_shots(setup.plan.seed));
        let links = Links::new(net, Arc::clone(dialogue), Arc::clone(&setup.security), timeout, seeded);
        let links = links.with_sources(sources, 0).with_tap(Box::new(ears.clone()));
        OneShotConversation {
            one_shot: *one_shot,
            links,
            conn: ConnId::NONE,
            name,
            deadline,
            spoken: String::new(),
            established: None,
            reached: false,
            is_ready: false,
            requests: requests.to_vec(),
            reported: 0,
            submitted: 0,
            begun: 0,
            untouched: 0,
            context: SlotContext::default(),
            release_at: Nanos::MAX,
            ears: ears.clone(),
            ended: Vec::new(),
            failed_checks: None,
        }
    }

    fn run(&mut self, to: PeerAddress) -> Result<Vec<ExchangeEnd>, OneShotError> {
        let now = self.links.net().now();
        self.conn = self.links.dial(PoolId(0), (to, 0), now).map_err(|e| self.connect_error(e.0))?;
        self.converse()
    }

    /// Adds another request with the timeout of its response.
    fn add_request(&mut self, request: &'a Request, patience: Nanos) {
        self.requests.push(request);
        self.one_shot.timeout = patience;
        self.deadline = self.links.net().now() + self.one_shot.timeout;
        self.send_next();
    }

    /// Runs until all requests are complete.
    fn converse(&mut self) -> Result<Vec<ExchangeEnd>, OneShotError> {
        while !self.is_over() {
            let now = self.links.net().now();
            let deadline = self.deadline.min(self.one_shot.deadline);
            self.links.net().wait(deadline.min(now + ATTENTION).min(self.release_at));
            if self.one_shot.stop.requested() {
                return Err(no_answer(response::stopped()));
            }
            let now = self.links.net().now();
            if now >= deadline {
                return Err(self.timeout_error());
            }
            if now >= self.release_at {
                self.release_at = Nanos::MAX;
                self.links.release(self.conn, ExchangeId(self.submitted as u32 - 1));
            }
            match self.links.next().map_or(Ok(()), |arrived| self.handle(arrived)) {
                Ok(()) => {}
                Err(ConversationEnd::Before(errno)) => return Err(self.connect_error(errno)),
                Err(ConversationEnd::Trouble(trouble)) => return Err(trouble),
            }
        }
        self.reported += self.ended.len();
        Ok(std::mem::take(&mut self.ended))
    }

    /// Returns the number of completed requests.
    fn completed(&self) -> usize {
        self.reported + self.ended.len()
    }

    fn is_over(&self) -> bool {
        let failed = self.one_shot.until_failure && self.ended.last().is_some_and(|ended| ended.fault.is_some());
        self.is_ready && (failed || self.completed() >= self.requests.len())
    }

    /// Handles one event from the network.
    fn handle(&mut self, arrived: LinkEvent) -> Result<(), ConversationEnd> {
        match arrived {
            LinkEvent::Sent(_) => Ok(()),
            LinkEvent::Connected(conn) => {
                let now = self.links.net().now();
                let step = self.links.connected(conn, led(&self.one_shot, &self.one_shot.memory.borrow()), now)?;
                self.note_reached(step);
                Ok(())
            }
            LinkEvent::Read(_, _, read) => self.on_read(read),
            LinkEvent::TlsRead(conn, _, fed) => {
                let fed = fed.map_err(unreachable)?;
                match fed {
                    ChannelProgress::Established if self.links.in_tunnel(conn) => {
                        let now = self.links.net().now();
                        let step =
                            self.links.reached(conn, led(&self.one_shot, &self.one_shot.memory.borrow()), now)?;
                        self.note_reached(step);
                    }
                    ChannelProgress::Established => self.shaken_hands(conn),
                    ChannelProgress::More | ChannelProgress::PeerFinished => {}
                }
                let read = self.links.read_plain(conn);
                read.map_or(Ok(()), |read| self.on_read(read))?;
                // The peer sends no more, whether or not it closes the underlying connection.
                if fed == ChannelProgress::PeerFinished { self.on_closed(None, false) } else { Ok(()) }
            }
            LinkEvent::Closed(conn, Some(errno))
                if self.links.session(conn).is_none() && !self.links.in_tunnel(conn) =>
            {
                Err(ConversationEnd::Before(errno.0))
            }
            LinkEvent::Closed(conn, why) => {
                let cut = self.links.conn(conn).secure.is_some();
                self.on_closed(why, cut)
            }
        }
    }

    /// Records that the connection has reached the target, unless a proxy still has to open the tunnel.
    fn note_reached(&mut self, step: OpeningStep) {
        self.reached |= step != OpeningStep::Tunnelling;
        if step != OpeningStep::Tunnelling && !self.one_shot.origin.tls {
            self.start_session(EstablishedConnection {
                bound: self.one_shot.origin.bound,
                ..EstablishedConnection::default()
            });
        }
        self.step(step);
    }

    /// Starts the session on the established connection.
    fn start_session(&mut self, established: EstablishedConnection) {
        self.spoken = self.one_shot.workload.protocol_version(&established);
        self.established = Some(established);
    }

    fn shaken_hands(&mut self, conn: ConnId) {
        let settled = self.links.handshake(conn);
        let suite = format!("{} {}", settled.version, settled.suite);
        if self.links.session(conn).is_none() {
            let bound = self.one_shot.origin.bound;
            self.start_session(EstablishedConnection {
                bound,
                alpn: settled.alpn,
                tls: true,
                ..EstablishedConnection::default()
            });
        }
        let now = self.links.net().now();
        let step = self.links.tls_established(conn, led(&self.one_shot, &self.one_shot.memory.borrow()), now);
        self.step(step);
        self.spoken = [self.spoken.as_str(), suite.as_str()].join(" ").trim().to_owned();
    }

    fn step(&mut self, step: OpeningStep) {
        self.is_ready |= step == OpeningStep::Open;
        self.send_next();
    }

    /// Handles the result of parsing received bytes.
    fn on_read(&mut self, read: Result<(), ProtocolError>) -> Result<(), ConversationEnd> {
        let greets = !self.is_ready;
        self.links.flush();
        self.collect();
        if greets && read.is_ok() {
            let now = self.links.net().now();
            let step = self.links.handshake_read(self.conn, self.one_shot.origin, now)?;
            self.is_ready |= step == OpeningStep::Open;
        }
        match read {
            // A failed greeting also counts as complete, and without requests its error would not be reported
            // otherwise.
            Err(broken) if self.requests.is_empty() || !self.is_over() => Err(self.protocol_error(broken).into()),
            Err(broken) => {
                self.explain(broken);
                Ok(())
            }
            Ok(()) if self.is_over() => Ok(()),
            Ok(()) if self.untouched > UNTOUCHED_AT_MOST => Err(no_answer(response::refusing()).into()),
            Ok(()) if self.is_refusing() => self.on_closed(None, false),
            Ok(()) => {
                self.send_next();
                Ok(())
            }
        }
    }

    /// Returns `true` if the peer accepts no more requests although some were not sent, so that there is no need to
    /// wait for it to hang up.
    fn is_refusing(&self) -> bool {
        let session = self.links.session(self.conn);
        let over = session.is_some_and(|s| !s.is_opening() && s.room() == 0 && s.close_reason().is_some());
        over && self.submitted == self.completed()
    }

    /// Attaches a protocol error to the failed request if no other cause is known.
    fn explain(&mut self, broken: ProtocolError) {
        if let Some(ended) = self.ended.last_mut().filter(|ended| ended.fault == Some(FaultKind::BrokenProtocol))
            && ended.cause.is_none()
        {
            ended.cause = Some(broken.0.into());
        }
    }

    fn collect(&mut self) {
        let mut owes = false;
        for event in std::mem::take(&mut self.links.done().events) {
            match event {
                Event::Ended(ended) => {
                    self.failed_checks = match ended.fault {
                        None => Some(0),
                        Some(_) => self.links.done().take_failed_checks(ended.id),
                    };
                    self.ended.push(ended);
                }
                Event::StateUpdate(id, lesson) => {
                    let (dialogue, request) = (self.one_shot.workload, self.requests[id.0 as usize]);
                    let found =
                        dialogue.update_state(request, &self.context, lesson, &mut self.one_shot.memory.borrow_mut());
                    // Outside the load, only callers that show each exchange fetch the resources of a page.
                    if let (Some(pages), Some(found)) = (self.one_shot.pages, found) {
                        pages.borrow_mut().push(found);
                    }
                }
                // The peer did not process the request, so it is sent again within its timeout.
                Event::Refused(_) => (self.submitted, self.untouched) = (self.submitted - 1, self.untouched + 1),
                Event::Released(id) => self.ended.push(written(id)),
                Event::ReplyDue => owes = true,
                _ => {}
            }
        }
        self.links.done().clear_failed_checks();
        if owes {
            let now = self.links.net().now();
            self.links.write_replies(self.conn, now);
            self.links.flush();
        }
    }

    /// Sends the next request, once the previous one is complete and the session accepts one.
    fn send_next(&mut self) {
        while self.is_ready && self.submitted == self.completed() && self.submitted < self.requests.len() {
            let (unix_ns, run) = (unix_ns(), self.one_shot.setup.plan.seed);
            let fill = SlotContext { random: self.submitted as u64, unix_ns, run, ..SlotContext::default() };
            let id = ExchangeId(self.submitted as u32);
            let memory = self.one_shot.memory;
            let (request, memory) = (self.requests[self.submitted], memory.borrow());
            let filled = SlotContext { values: &memory.values, ..fill };
            let sent = match self.one_shot.workload.prepared().keeps_state {
                false => self.links.submit(self.conn, id, request, &filled),
                true => self.links.submit_with(self.conn, id, request, &filled, &memory),
            };
            let Ok(sent) = sent else { break };
            self.context = fill;
            self.submitted += 1;
            self.release_at = Nanos::MAX;
            let mut there = false;
            match sent {
                SubmitOutcome::AwaitingResponse | SubmitOutcome::OneWayHeldBack => {}
                SubmitOutcome::OneWay => self.ended.push(written(id)),
                SubmitOutcome::AwaitingContinue(at_most) => self.release_at = self.links.net().now() + at_most,
                SubmitOutcome::AlreadyComplete => {
                    self.links.report_early_answer(self.conn);
                    there = true;
                }
            }
            if self.submitted > self.begun {
                (self.begun, self.untouched) = (self.submitted, 0);
                self.deadline = self.links.net().now() + self.one_shot.timeout;
            }
            if there {
                drop(memory);
                self.collect();
            }
        }
        self.links.flush();
    }

    /// Handles the end of the connection, graceful or by an error. `cut` is set if TLS was not closed properly.
    fn on_closed(&mut self, why: Option<Errno>, cut: bool) -> Result<(), ConversationEnd> {
        let in_order = why.is_none();
        let Some(session) = self.links.session(self.conn) else {
            let in_tunnel = self.links.in_tunnel(self.conn);
            return Err(unreachable(if in_tunnel { CLOSED_IN_TUNNEL } else { CLOSED_IN_HANDSHAKE }).into());
        };
        // A truncated greeting also counts as complete, but did not succeed.
        let greeted = !session.is_opening();
        if in_order {
            self.links.closed(self.conn);
        }
        if cut {
            fail_truncated(&mut self.links.done().events, Box::default());
        }
        let goodbye = self.links.session(self.conn).and_then(|session| session.close_reason());
        self.collect();
        let nothing_came = self.ears.both()[1].total == 0;
        // The texts are those of a run, so that a failure is not described in two ways.
        Err(match (goodbye, why) {
            _ if greeted && self.is_over() => return Ok(()),
            (Some(words), _) => no_answer(words),
            // A TLS server may close the connection of a client that does not speak TLS without an alert.
            (None, None) if nothing_came && !self.one_shot.origin.tls => no_answer(response::closed_without_a_word()),
            (None, Some(errno)) => no_answer(response::lost(describe(errno.0))),
            (None, None) => no_answer(response::closed()),
        }
        .into())
    }
}

/// Returns the end of a one-way request.
fn written(id: ExchangeId) -> ExchangeEnd {
    ExchangeEnd { id, fault: None, code: 0, payload: 0, excerpt: None, follow_up: None, cause: None }
}
