//! One connection, outside the load: a few requests one after the other, with the beginning of what went over it kept. The
//! probe is one, and so are the requests before and after a run. Its connection lives as those of a run do ([`Links`]).

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

/// A peer that does not touch a request is asked again so often, as in a run.
const UNTOUCHED_AT_MOST: u32 = 8;
/// A stop asked for from outside is seen at least so often.
const ATTENTION: Nanos = Nanos::from_millis(50);

/// Why there is no answer.
pub(crate) struct Trouble {
    pub why: Cause,
    /// Nobody can be talked to at all.
    pub unreachable: bool,
    /// What a run would count the answer as, where there is one.
    pub fault: Option<FaultKind>,
}

pub(crate) fn unreachable(why: impl Into<Cause>) -> Trouble {
    Trouble { why: why.into(), unreachable: true, fault: None }
}

pub(crate) fn no_answer(why: impl Into<Cause>) -> Trouble {
    Trouble { why: why.into(), unreachable: false, fault: None }
}

/// What a one-shot conversation works with.
pub(crate) struct OneShot<'a> {
    pub dialogue: &'a Arc<dyn Workload>,
    pub setup: &'a Setup,
    pub stop: &'a Stop,
    pub origin: &'a Origin,
    /// What whoever says it keeps of responses.
    pub memory: &'a RefCell<UserState>,
    /// How long each answer may take.
    pub patience: Nanos,
    /// When all of it must be over.
    pub until: Nanos,
    /// Nothing more is sent after a request that failed.
    pub until_failure: bool,
    /// What finds what its answers name beside, for whom that is fetched.
    pub pages: Option<&'a Pages>,
}

/// Answers that are pages, and have not been looked into.
pub(crate) type Pages = RefCell<Vec<ResourceSearch>>;

impl Clone for OneShot<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for OneShot<'_> {}

impl<'a> OneShot<'a> {
    /// Sends the requests one after the other on a connection to the first address that takes one; with none, the
    /// connection is opened and greeted. How each ended, in order.
    pub fn run(&self, requests: &[&'a Request], transcribed: &mut Transcribed) -> Result<Vec<ExchangeEnd>, Trouble> {
        let (outcome, kept) = self.begin(requests, transcribed)?;
        kept.end_heard(transcribed);
        Ok(outcome)
    }

    /// The same, and its conversation may go on.
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

/// Why a conversation ended early.
enum Gone {
    /// The connection never stood.
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

/// A conversation under way, on the only connection there is.
struct Conversation<'a> {
    one_shot: OneShot<'a>,
    links: Links<Epoll>,
    conn: ConnId,
    /// Where it leads, in words.
    name: cause::CauseArgument,
    /// When what is under way must be over.
    deadline: Nanos,
    spoken: String,
    established: Option<EstablishedConnection>,
    /// The connection leads to the target, past any proxy.
    reached: bool,
    /// The connection takes requests.
    stands: bool,
    requests: Vec<&'a Request>,
    /// Of those, how many are over, and what came of them was told.
    told: usize,
    /// Requests submitted, those that the peer did not touch taken away again.
    asked: usize,
    /// Requests whose time has begun.
    begun: usize,
    /// How often the peer did not touch one.
    untouched: u32,
    /// What that was filled with.
    fill: SlotContext<'static>,
    /// When a part of the request under way has been withheld for long enough.
    release_at: Nanos,
    ears: Ears,
    ended: Vec<ExchangeEnd>,
    /// Which checks of the last response failed, by bit; None where none was looked at.
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

    /// Another request is to be sent, whose answer may take so long.
    fn adds(&mut self, request: &'a Request, patience: Nanos) {
        self.requests.push(request);
        self.one_shot.patience = patience;
        self.deadline = self.links.net().now() + self.one_shot.patience;
        self.go_on();
    }

    /// Until all requests are over.
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

    /// How many requests are over.
    fn over(&self) -> usize {
        self.told + self.ended.len()
    }

    fn is_over(&self) -> bool {
        let failed = self.one_shot.until_failure && self.ended.last().is_some_and(|ended| ended.fault.is_some());
        self.stands && (failed || self.over() >= self.requests.len())
    }

    /// One thing that happened.
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
                // The peer will say no more, whether it closes the connection beneath or not.
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

    /// The connection leads to the target, unless a proxy is still asked for the way.
    fn has_reached(&mut self, step: OpeningStep) {
        self.reached |= step != OpeningStep::Tunnelling;
        if step != OpeningStep::Tunnelling && !self.one_shot.origin.tls {
            self.converses(EstablishedConnection { bound: self.one_shot.origin.bound, ..EstablishedConnection::default() });
        }
        self.step(step);
    }

    /// The conversation begins on what is known of its connection.
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

    /// What arrived has been read.
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
            // A greeting that is broken is over as well, and with nothing to say nobody else would tell.
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

    /// The peer said that it takes nothing more before everything was asked: nobody waits for it to hang up as well.
    fn takes_no_more(&self) -> bool {
        let session = self.links.session(self.conn);
        let over = session.is_some_and(|s| !s.is_opening() && s.room() == 0 && s.close_reason().is_some());
        over && self.asked == self.over()
    }

    /// What is wrong with the conversation is why the request failed, where nothing else was said of it.
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
                    // Beside a load, only who shows each exchange fetches what a page names.
                    if let (Some(pages), Some(found)) = (self.one_shot.pages, found) {
                        pages.borrow_mut().push(found);
                    }
                }
                // Nobody took the request: it is asked once more, in the time it has.
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

    /// The next request, once the one before is over and the session takes one.
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

    /// The connection ended, in order or by an error; `cut`: without TLS's own word for the end.
    fn closed(&mut self, why: Option<Errno>, cut: bool) -> Result<(), Gone> {
        let in_order = why.is_none();
        let Some(session) = self.links.session(self.conn) else {
            let in_tunnel = self.links.in_tunnel(self.conn);
            return Err(unreachable(if in_tunnel { CLOSED_IN_TUNNEL } else { CLOSED_IN_HANDSHAKE }).into());
        };
        // A greeting that is cut off is over as well, but not done.
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
        // The words of the load, so that one failure is not told in two ways.
        Err(match (goodbye, why) {
            _ if greeted && self.is_over() => return Ok(()),
            (Some(words), _) => no_answer(words),
            // A server of TLS may close on whoever does not speak it without telling why.
            (None, None) if nothing_came && !self.one_shot.origin.tls => no_answer(response::closed_without_a_word()),
            (None, Some(errno)) => no_answer(response::lost(describe(errno.0))),
            (None, None) => no_answer(response::closed()),
        }
        .into())
    }
}
