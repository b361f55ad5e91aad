//! A single connection outside the load, which sends a few requests one after the other and keeps the beginning of its
//! transcript. It serves the probe and the requests before and after a run. The connection goes through the same life
//! cycle as those of a run ([`Links`]).

mod heard;
mod kept;
mod naming;
mod troubles;

use std::cell::RefCell;
use std::sync::Arc;

use cause::{Cause, connecting, response};
use measure::Nanos;
use measure::random::Rng;
use net::Epoll;
use wire::{
    ProtocolError, Workload, ExchangeEnd, Errno, EstablishedConnection, Event, ExchangeId, FaultKind, ChannelProgress, SlotContext, ResourceSearch, UserState, Network,
    Origin, PeerAddress, Request, SubmitOutcome,
};

use self::heard::Ears;
pub(crate) use self::heard::Transcribed;
use self::kept::Begun;
pub(crate) use self::kept::Kept;
use self::kept::led;
pub(crate) use self::kept::unix_ns;
use self::naming::{describe, place_name};
use crate::connections::fail_truncated;
use crate::filling::FillSource;
use crate::ids::{ConnId, PoolId};
use crate::links::{LinkEvent, CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL, OpeningError, Links, OpeningStep};
use crate::{Setup, Stop, lookup};

/// Maximum number of retries of a request the peer did not process, as in a run.
const UNTOUCHED_AT_MOST: u32 = 8;
/// Maximum interval between checks of the stop flag.
const ATTENTION: Nanos = Nanos::from_millis(50);

/// A failure to obtain a response.
pub(crate) struct Trouble {
    pub why: Cause,
    /// Set if the target cannot be reached at all.
    pub unreachable: bool,
    /// The kind of failure a run would count, if there was a response.
    pub fault: Option<FaultKind>,
}

pub(crate) fn unreachable(why: impl Into<Cause>) -> Trouble {
    Trouble { why: why.into(), unreachable: true, fault: None }
}

pub(crate) fn no_answer(why: impl Into<Cause>) -> Trouble {
    Trouble { why: why.into(), unreachable: false, fault: None }
}

/// The parameters of a one-shot conversation.
pub(crate) struct OneShot<'a> {
    pub dialogue: &'a Arc<dyn Workload>,
    pub setup: &'a Setup,
    pub stop: &'a Stop,
    pub origin: &'a Origin,
    /// The state of the user it sends for.
    pub memory: &'a RefCell<UserState>,
    /// Timeout of each response.
    pub patience: Nanos,
    /// Deadline of the whole conversation.
    pub until: Nanos,
    /// Set if nothing more is sent after a failed request.
    pub until_failure: bool,
    /// Collected page resources, where the user fetches them.
    pub pages: Option<&'a Pages>,
}

/// Responses that are pages and have not been searched for resources.
pub(crate) type Pages = RefCell<Vec<ResourceSearch>>;

impl Clone for OneShot<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for OneShot<'_> {}

impl<'a> OneShot<'a> {
    /// Sends the requests one after the other on a connection to the first address that accepts one; without requests,
    /// the connection is opened and its handshake done. Returns the outcome of each, in order.
    pub fn run(&self, requests: &[&'a Request], transcribed: &mut Transcribed) -> Result<Vec<ExchangeEnd>, Trouble> {
        let (outcome, kept) = self.begin(requests, transcribed)?;
        kept.end_heard(transcribed);
        Ok(outcome)
    }

    /// Like [`OneShot::run`], and returns the conversation so that it can continue.
    pub fn begin(&self, requests: &[&'a Request], transcribed: &mut Transcribed) -> Result<Begun<'a>, Trouble> {
        let found = lookup::find(&self.setup.resolver, self.origin, self.stop);
        let places = found.ok_or_else(|| no_answer(response::stopped()))?.map_err(unreachable)?;
        let mut last = unreachable(connecting::no_address(&self.origin.host));
        for to in places {
            match self.talk(to, requests, transcribed) {
                Err(trouble) if trouble.unreachable => last = trouble,
                settled => return settled,
            }
        }
        Err(last)
    }

    fn talk(&self, to: PeerAddress, requests: &[&'a Request], transcribed: &mut Transcribed) -> Result<Begun<'a>, Trouble> {
        let net = Epoll::new().map_err(|e| unreachable(connecting::epoll(e.to_string())))?;
        let ears = Ears::default();
        let (address, proxy) = (place_name(&to), self.setup.security.proxy(self.origin));
        let through = |proxy: &String| cause::proxy::at(proxy, &address).into();
        let name = proxy.as_ref().map_or_else(|| (&address).into(), through);
        let talk = Conversation::new(self, net, requests, name, &ears);
        let mut kept = Kept { talk, address, through: proxy };
        let outcome = kept.talk.run(to);
        kept.write_down(transcribed);
        outcome.map(|ended| (ended, kept))
    }
}

/// An early end of a conversation.
enum Gone {
    /// The connection was never established.
    Before(i32),
    Trouble(Trouble),
}

impl From<Trouble> for Gone {
    fn from(trouble: Trouble) -> Gone {
        Gone::Trouble(trouble)
    }
}

impl From<OpeningError> for Gone {
    fn from(cut: OpeningError) -> Gone {
        let why = cut.why.unwrap_or_else(|| cause::verbatim(""));
        Gone::Trouble(match cut.kind {
            FaultKind::Tls | FaultKind::Proxy => unreachable(why),
            _ => no_answer(why),
        })
    }
}

/// A conversation in progress on its only connection.
struct Conversation<'a> {
    one_shot: OneShot<'a>,
    links: Links<Epoll>,
    conn: ConnId,
    /// The peer, for messages.
    name: cause::CauseArgument,
    /// Deadline of the current step.
    deadline: Nanos,
    spoken: String,
    established: Option<EstablishedConnection>,
    /// Set if the connection has reached the target, past any proxy.
    reached: bool,
    /// Set if the connection accepts requests.
    stands: bool,
    requests: Vec<&'a Request>,
    /// Number of completed requests whose outcome was reported.
    told: usize,
    /// Number of submitted requests, without those the peer did not process.
    asked: usize,
    /// Number of requests whose timeout is running.
    begun: usize,
    /// Number of times the peer did not process the current request.
    untouched: u32,
    /// Slot values of the current request.
    fill: SlotContext<'static>,
    /// Moment to send a withheld body even without a response (`Expect: 100-continue`).
    release_at: Nanos,
    ears: Ears,
    ended: Vec<ExchangeEnd>,
    /// Failed checks of the last response as bits; None if none was evaluated.
    failed_checks: Option<u32>,
}

impl<'a> Conversation<'a> {
    fn new(one_shot: &OneShot<'a>, mut net: Epoll, requests: &[&'a Request], name: cause::CauseArgument, ears: &Ears) -> Self {
        let OneShot { dialogue, setup, .. } = one_shot;
        let timeout = setup.plan.connect_timeout;
        let deadline = net.now() + timeout;
        let sources = setup.sources.first().copied().into_iter().collect();
        let seeded = (Rng::new(0), FillSource::of_one_shots(setup.plan.seed));
        let links = Links::new(net, Arc::clone(dialogue), Arc::clone(&setup.security), timeout, seeded);
        let links = links.with_sources(sources, 0).with_tap(Box::new(ears.clone()));
        Conversation {
            one_shot: *one_shot,
            links,
            conn: ConnId::NONE,
            name,
            deadline,
            spoken: String::new(),
            established: None,
            reached: false,
            stands: false,
            requests: requests.to_vec(),
            told: 0,
            asked: 0,
            begun: 0,
            untouched: 0,
            fill: SlotContext::default(),
            release_at: Nanos::MAX,
            ears: ears.clone(),
            ended: Vec::new(),
            failed_checks: None,
        }
    }

    fn run(&mut self, to: PeerAddress) -> Result<Vec<ExchangeEnd>, Trouble> {
        let now = self.links.net().now();
        self.conn = self.links.dial(PoolId(0), to, now).map_err(|e| self.not_there(e.0))?;
        self.converse()
    }

    /// Adds another request with the timeout of its response.
    fn adds(&mut self, request: &'a Request, patience: Nanos) {
        self.requests.push(request);
        self.one_shot.patience = patience;
        self.deadline = self.links.net().now() + self.one_shot.patience;
        self.go_on();
    }

    /// Runs until all requests are complete.
    fn converse(&mut self) -> Result<Vec<ExchangeEnd>, Trouble> {
        while !self.is_over() {
            let now = self.links.net().now();
            let deadline = self.deadline.min(self.one_shot.until);
            self.links.net().wait(deadline.min(now + ATTENTION).min(self.release_at));
            if self.one_shot.stop.requested() {
                return Err(no_answer(response::stopped()));
            }
            let now = self.links.net().now();
            if now >= deadline {
                return Err(self.too_late());
            }
            if now >= self.release_at {
                self.release_at = Nanos::MAX;
                self.links.release(self.conn, ExchangeId(self.asked as u32 - 1));
            }
            match self.links.next().map_or(Ok(()), |arrived| self.take_in(arrived)) {
                Ok(()) => {}
                Err(Gone::Before(errno)) => return Err(self.not_there(errno)),
                Err(Gone::Trouble(trouble)) => return Err(trouble),
            }
        }
        self.told += self.ended.len();
        Ok(std::mem::take(&mut self.ended))
    }

    /// Returns the number of completed requests.
    fn over(&self) -> usize {
        self.told + self.ended.len()
    }

    fn is_over(&self) -> bool {
        let failed = self.one_shot.until_failure && self.ended.last().is_some_and(|ended| ended.fault.is_some());
        self.stands && (failed || self.over() >= self.requests.len())
    }

    /// Handles one arrival from the network.
    fn take_in(&mut self, arrived: LinkEvent) -> Result<(), Gone> {
        match arrived {
            LinkEvent::Sent(_) => Ok(()),
            LinkEvent::Connected(conn) => {
                let now = self.links.net().now();
                let step = self.links.connected(conn, led(&self.one_shot, &self.one_shot.memory.borrow()), now)?;
                self.has_reached(step);
                Ok(())
            }
            LinkEvent::Read(_, _, read) => self.hear(read),
            LinkEvent::TlsRead(conn, _, fed) => {
                let fed = fed.map_err(unreachable)?;
                match fed {
                    ChannelProgress::Established if self.links.in_tunnel(conn) => {
                        let now = self.links.net().now();
                        let step =
                            self.links.reached(conn, led(&self.one_shot, &self.one_shot.memory.borrow()), now)?;
                        self.has_reached(step);
                    }
                    ChannelProgress::Established => self.shaken_hands(conn),
                    ChannelProgress::More | ChannelProgress::PeerFinished => {}
                }
                let read = self.links.read_plain(conn);
                read.map_or(Ok(()), |read| self.hear(read))?;
                // The peer sends no more, whether or not it closes the underlying connection.
                if fed == ChannelProgress::PeerFinished { self.closed(None, false) } else { Ok(()) }
            }
            LinkEvent::Closed(conn, Some(errno)) if self.links.session(conn).is_none() && !self.links.in_tunnel(conn) => {
                Err(Gone::Before(errno.0))
            }
            LinkEvent::Closed(conn, why) => {
                let cut = self.links.conn(conn).secure.is_some();
                self.closed(why, cut)
            }
        }
    }

    /// Notes that the connection has reached the target, unless a proxy still has to open the tunnel.
    fn has_reached(&mut self, step: OpeningStep) {
        self.reached |= step != OpeningStep::Tunnelling;
        if step != OpeningStep::Tunnelling && !self.one_shot.origin.tls {
            self.converses(EstablishedConnection { bound: self.one_shot.origin.bound, ..EstablishedConnection::default() });
        }
        self.step(step);
    }

    /// Starts the session on the established connection.
    fn converses(&mut self, established: EstablishedConnection) {
        self.spoken = self.one_shot.dialogue.protocol_version(&established);
        self.established = Some(established);
    }

    fn shaken_hands(&mut self, conn: ConnId) {
        let settled = self.links.handshake(conn);
        let suite = format!("{} {}", settled.version, settled.suite);
        if self.links.session(conn).is_none() {
            let bound = self.one_shot.origin.bound;
            self.converses(EstablishedConnection { bound, alpn: settled.alpn, tls: true, ..EstablishedConnection::default() });
        }
        let now = self.links.net().now();
        let step = self.links.tls_established(conn, led(&self.one_shot, &self.one_shot.memory.borrow()), now);
        self.step(step);
        self.spoken = [self.spoken.as_str(), suite.as_str()].join(" ").trim().to_owned();
    }

    fn step(&mut self, step: OpeningStep) {
        self.stands |= step == OpeningStep::Open;
        self.go_on();
    }

    /// Handles the result of reading the arrived bytes.
    fn hear(&mut self, read: Result<(), ProtocolError>) -> Result<(), Gone> {
        let greets = !self.stands;
        self.links.flush();
        self.collect();
        if greets && read.is_ok() {
            let now = self.links.net().now();
            let step = self.links.handshake_read(self.conn, self.one_shot.origin, now)?;
            self.stands |= step == OpeningStep::Open;
        }
        match read {
            // A failed greeting also counts as complete, and without requests no other error would be reported.
            Err(broken) if self.requests.is_empty() || !self.is_over() => Err(self.broken(broken).into()),
            Err(broken) => {
                self.explain(broken);
                Ok(())
            }
            Ok(()) if self.is_over() => Ok(()),
            Ok(()) if self.untouched > UNTOUCHED_AT_MOST => Err(no_answer(response::refusing()).into()),
            Ok(()) if self.takes_no_more() => self.closed(None, false),
            Ok(()) => {
                self.go_on();
                Ok(())
            }
        }
    }

    /// Returns `true` if the peer accepts no more requests before all were sent; there is no need to wait for it to
    /// hang up.
    fn takes_no_more(&self) -> bool {
        let session = self.links.session(self.conn);
        let over = session.is_some_and(|s| !s.is_opening() && s.room() == 0 && s.close_reason().is_some());
        over && self.asked == self.over()
    }

    /// Attaches a protocol error to the failed request where no other cause is known.
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
                    let (dialogue, request) = (self.one_shot.dialogue, self.requests[id.0 as usize]);
                    let found = dialogue.update_state(request, &self.fill, lesson, &mut self.one_shot.memory.borrow_mut());
                    // Only callers that show each exchange fetch the resources of a page outside the load.
                    if let (Some(pages), Some(found)) = (self.one_shot.pages, found) {
                        pages.borrow_mut().push(found);
                    }
                }
                // The peer did not process the request: it is sent again within its timeout.
                Event::Refused(_) => (self.asked, self.untouched) = (self.asked - 1, self.untouched + 1),
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
    fn go_on(&mut self) {
        while self.stands && self.asked == self.over() && self.asked < self.requests.len() {
            let (unix_ns, run) = (unix_ns(), self.one_shot.setup.plan.seed);
            let fill = SlotContext { random: self.asked as u64, unix_ns, run, ..SlotContext::default() };
            let id = ExchangeId(self.asked as u32);
            let memory = self.one_shot.memory;
            let (request, memory) = (self.requests[self.asked], memory.borrow());
            let filled = SlotContext { values: &memory.values, ..fill };
            let sent = match self.one_shot.dialogue.prepared().keeps_state {
                false => self.links.submit(self.conn, id, request, &filled),
                true => self.links.submit_with(self.conn, id, request, &filled, &memory),
            };
            let Ok(sent) = sent else { break };
            self.fill = fill;
            self.asked += 1;
            self.release_at = Nanos::MAX;
            let mut there = false;
            match sent {
                SubmitOutcome::AwaitingResponse => {}
                SubmitOutcome::OneWay => {
                    let (fault, excerpt, follow) = (None, None, None);
                    self.ended.push(ExchangeEnd { id, fault, code: 0, payload: 0, excerpt, follow_up: follow, cause: None });
                }
                SubmitOutcome::AwaitingContinue(at_most) => self.release_at = self.links.net().now() + at_most,
                SubmitOutcome::AlreadyComplete => {
                    self.links.report_early_answer(self.conn);
                    there = true;
                }
            }
            if self.asked > self.begun {
                (self.begun, self.untouched) = (self.asked, 0);
                self.deadline = self.links.net().now() + self.one_shot.patience;
            }
            if there {
                drop(memory);
                self.collect();
            }
        }
        self.links.flush();
    }

    /// Handles the end of the connection, orderly or by an error. `cut` is set if TLS was not closed properly.
    fn closed(&mut self, why: Option<Errno>, cut: bool) -> Result<(), Gone> {
        let in_order = why.is_none();
        let Some(session) = self.links.session(self.conn) else {
            let in_tunnel = self.links.in_tunnel(self.conn);
            return Err(unreachable(if in_tunnel { CLOSED_IN_TUNNEL } else { CLOSED_IN_HANDSHAKE }).into());
        };
        // A greeting that is cut off also counts as complete, but did not succeed.
        let greeted = !session.is_opening();
        if in_order {
            self.links.closed(self.conn);
        }
        if cut {
            fail_truncated(&mut self.links.done().events, Box::default());
        }
        let goodbye = self.links.session(self.conn).and_then(|session| session.close_reason());
        self.collect();
        let nothing_came = self.ears.both()[1].all == 0;
        // The same texts as in a run, so that one failure is not described in two ways.
        Err(match (goodbye, why) {
            _ if greeted && self.is_over() => return Ok(()),
            (Some(words), _) => no_answer(words),
            // A TLS server may close on a client that does not speak TLS, without an alert.
            (None, None) if nothing_came && !self.one_shot.origin.tls => no_answer(response::closed_without_a_word()),
            (None, Some(errno)) => no_answer(response::lost(describe(errno.0))),
            (None, None) => no_answer(response::closed()),
        }
        .into())
    }
}
