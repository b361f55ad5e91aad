//! One connection, outside the load: a few requests one after the other, with the beginning of what went over it kept. The
//! probe is one, and so are the requests before and after a run.

use std::time::{SystemTime, UNIX_EPOCH};

use measure::Nanos;
use net::Epoll;
use wire::{
    Arrival, Broken, ConnId, Dial, Dialogue, Done, Ended, Errno, Established, Event, ExchangeId, FaultKind, Fed, Fill,
    Network, Origin, Out, Place, SHOWN, SecureChannel, Sent, Session, bracketed,
};

use crate::collector::errno_name;
use crate::connect::fail_cut;
use crate::greeting::{CLOSED_IN_HANDSHAKE, CLOSED_IN_TUNNEL};
use crate::{Setup, Stop, lookup};

/// A server of TLS may close on whoever does not speak it without telling why.
const CLOSED_WITHOUT_A_WORD: &str =
    "the connection was closed without an answer; if TLS is spoken on this port, write the scheme that says so";

const STOPPED: &str = "the run was stopped before the first answer";
/// A peer that does not touch a request is asked again so often, as in a run.
const UNTOUCHED_AT_MOST: u32 = 8;
const TURNED_AWAY: &str = "the target turned it away again and again";
/// A stop asked for from outside is seen at least so often.
const ATTENTION: Nanos = Nanos::from_millis(50);

/// What went over the wire, before TLS, and where to.
#[derive(Debug, Default)]
pub(crate) struct Transcribed {
    /// The address connected to.
    pub address: String,
    /// The proxy that it is the address of.
    pub through: Option<String>,
    /// What was spoken.
    pub spoken: String,
    /// What was known of the last connection that stood.
    pub established: Option<Established>,
    pub sent: Heard,
    pub received: Heard,
}

/// What one end said: its beginning, which is there to be shown, and how much it was. A peer may talking for ever.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub head: Vec<u8>,
    pub all: u64,
}

impl Heard {
    fn take(&mut self, bytes: &[u8]) {
        let room = SHOWN - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.all += bytes.len() as u64;
    }
}

/// Why there is no answer.
pub(crate) struct Trouble {
    pub why: String,
    /// Nobody can be talked to at all.
    pub unreachable: bool,
    /// What a run would count the answer as, where there is one.
    pub fault: Option<FaultKind>,
}

pub(crate) fn unreachable(why: impl Into<String>) -> Trouble {
    Trouble { why: why.into(), unreachable: true, fault: None }
}

pub(crate) fn no_answer(why: impl Into<String>) -> Trouble {
    Trouble { why: why.into(), unreachable: false, fault: None }
}

/// What a one-shot conversation works with.
pub(crate) struct OneShot<'a, D: Dialogue> {
    pub dialogue: &'a D,
    pub setup: &'a Setup,
    pub stop: &'a Stop,
    pub origin: &'a Origin,
    /// How long each answer may take.
    pub patience: Nanos,
    /// When all of it must be over.
    pub until: Nanos,
    /// Nothing more is sent after a request that failed.
    pub until_failure: bool,
}

impl<D: Dialogue> OneShot<'_, D> {
    /// Sends the requests one after the other on a connection to the first address that takes one; with none, the
    /// connection is opened and greeted. How each ended, in order.
    pub fn run(
        &self,
        requests: &[&D::Request],
        transcribed: &mut Transcribed,
    ) -> Result<Vec<Ended<D::Request>>, Trouble> {
        let found = lookup::find(&self.setup.resolver, self.origin, self.stop);
        let places = found.ok_or_else(|| no_answer(STOPPED))?.map_err(unreachable)?;
        let mut last = unreachable(format!("{} has no address", self.origin.host));
        for to in places {
            match self.talking(&to, requests, transcribed) {
                Err(trouble) if trouble.unreachable => last = trouble,
                settled => return settled,
            }
        }
        Err(last)
    }

    fn talking(
        &self,
        to: &Place,
        requests: &[&D::Request],
        transcribed: &mut Transcribed,
    ) -> Result<Vec<Ended<D::Request>>, Trouble> {
        let proxy = self.setup.security.proxy(self.origin);
        let address = place_name(to);
        let name = proxy.as_ref().map_or_else(|| address.clone(), |proxy| format!("the proxy {proxy} ({address})"));
        let refused = |errno: i32| unreachable(format!("{name} does not answer: {}", describe(errno)));
        let mut net = Epoll::new().map_err(|e| unreachable(format!("epoll: {e}")))?;
        let dial = Dial { to: to.clone(), source: self.setup.sources.first().copied(), once: false };
        let conn = net.connect(&dial).map_err(|e| refused(e.0))?;
        let deadline = net.now() + self.setup.plan.connect_timeout;
        (transcribed.address, transcribed.through, transcribed.spoken) = (address, proxy, String::new());
        let mut talking = Conversation {
            one_shot: self,
            net,
            conn,
            deadline,
            secure: None,
            in_tunnel: false,
            session: None,
            asked: 0,
            begun: 0,
            untouched: 0,
            requests,
            transcribed,
            out: Out::default(),
            plain: Vec::new(),
            done: Done::default(),
            ended: Vec::new(),
        };
        while !talking.is_over() {
            let now = talking.net.now();
            let deadline = talking.deadline.min(self.until);
            talking.net.wait(deadline.min(now + ATTENTION));
            if self.stop.requested() {
                return Err(no_answer(STOPPED));
            }
            if talking.net.now() >= deadline {
                return Err(talking.too_late(&name));
            }
            match talking.step() {
                Ok(()) => {}
                Err(Gone::Before(errno)) => return Err(refused(errno)),
                Err(Gone::Trouble(trouble)) => return Err(trouble),
            }
        }
        if let Some(session) = &mut talking.session {
            session.finish(&mut talking.out);
            talking.send();
        }
        Ok(talking.ended)
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

/// A conversation under way.
struct Conversation<'a, 'b, D: Dialogue> {
    one_shot: &'a OneShot<'b, D>,
    net: Epoll,
    conn: ConnId,
    deadline: Nanos,
    secure: Option<Box<dyn SecureChannel>>,
    /// It is no TLS, but what is said to a proxy.
    in_tunnel: bool,
    session: Option<D::Session>,
    requests: &'a [&'a D::Request],
    /// Requests submitted, those that the peer did not touch taken away again.
    asked: usize,
    /// Requests whose time has begun.
    begun: usize,
    /// How often the peer did not touch one.
    untouched: u32,
    transcribed: &'a mut Transcribed,
    out: Out,
    plain: Vec<u8>,
    done: Done<D::Request>,
    ended: Vec<Ended<D::Request>>,
}

impl<D: Dialogue> Conversation<'_, '_, D> {
    fn is_over(&self) -> bool {
        let greeted = self.session.as_ref().is_some_and(|s| !s.opening());
        let failed = self.one_shot.until_failure && self.ended.last().is_some_and(|ended| ended.fault.is_some());
        greeted && (failed || self.ended.len() >= self.requests.len())
    }

    /// One thing that happened.
    fn step(&mut self) -> Result<(), Gone> {
        match self.net.next() {
            None | Some(Arrival::Accepted(..) | Arrival::Sent(_)) => return Ok(()),
            Some(Arrival::Connected(_)) => self.connected()?,
            Some(Arrival::Received(_, bytes)) => {
                let mut fed = Fed::More;
                match &mut self.secure {
                    None => self.plain.extend_from_slice(bytes),
                    Some(channel) => {
                        fed = channel.feed(bytes, &mut self.plain, &mut self.out).map_err(unreachable)?;
                        self.net.send(self.conn, &mut self.out);
                    }
                }
                if fed == Fed::Established {
                    self.established()?;
                }
                if fed == Fed::Ended {
                    // The peer will say no more, whether it closes the connection beneath or not.
                    self.receive()?;
                    return self.closed(None, false);
                }
            }
            Some(Arrival::Closed(_, Some(errno))) if self.session.is_none() && !self.in_tunnel => {
                return Err(Gone::Before(errno.0));
            }
            Some(Arrival::Closed(_, why)) => {
                return self.closed(why, self.secure.is_some());
            }
        }
        self.receive()
    }

    fn begin_tls(&mut self, alpn: &[&'static [u8]]) -> Result<(), Trouble> {
        let mut channel = self.one_shot.setup.security.client(self.one_shot.origin, alpn).map_err(unreachable)?;
        channel.start(&mut self.out);
        self.net.send(self.conn, &mut self.out);
        self.secure = Some(channel);
        Ok(())
    }

    /// The connection stands: to the target, or to a proxy that is told where to connect.
    fn connected(&mut self) -> Result<(), Trouble> {
        match self.one_shot.setup.security.tunnel(self.one_shot.origin).map_err(unreachable)? {
            None => self.reached(),
            Some(mut tunnel) => {
                tunnel.start(&mut self.out);
                self.net.send(self.conn, &mut self.out);
                (self.secure, self.in_tunnel) = (Some(tunnel), true);
                Ok(())
            }
        }
    }

    /// The connection leads to the target.
    fn reached(&mut self) -> Result<(), Trouble> {
        if self.one_shot.origin.tls {
            return self.begin_tls(self.one_shot.dialogue.alpn());
        }
        self.begin(Established::default());
        Ok(())
    }

    fn established(&mut self) -> Result<(), Trouble> {
        if std::mem::take(&mut self.in_tunnel) {
            self.secure = None;
            return self.reached();
        }
        let settled = self.secure.as_ref().and_then(|s| s.handshake()).unwrap_or_default();
        let suite = format!("{} {}", settled.version, settled.suite);
        match &mut self.session {
            Some(session) => {
                session.secured(&mut self.out);
                self.send();
            }
            None => self.begin(Established { alpn: settled.alpn, tls: true, ..Established::default() }),
        }
        self.transcribed.spoken = [self.transcribed.spoken.as_str(), suite.as_str()].join(" ").trim().to_owned();
        Ok(())
    }

    fn begin(&mut self, established: Established) {
        self.transcribed.spoken = self.one_shot.dialogue.spoken(&established);
        let mut session = self.one_shot.dialogue.session(self.one_shot.origin, &established);
        session.open(&mut self.out);
        self.session = Some(session);
        self.transcribed.established = Some(established);
        self.go_on();
    }

    /// What arrived is read.
    fn receive(&mut self) -> Result<(), Gone> {
        let Some(session) = self.session.as_mut().filter(|_| !self.plain.is_empty()) else { return Ok(()) };
        self.transcribed.received.take(&self.plain);
        let read = session.receive(&self.plain, &mut self.out, &mut self.done);
        self.plain.clear();
        if session.secures_now() && self.secure.is_none() {
            self.send();
            self.begin_tls(&[])?;
            return Ok(());
        }
        self.collect();
        match read {
            // A greeting that is broken is over as well, and with nothing to say nobody else would report.
            Err(broken) if self.requests.is_empty() || !self.is_over() => {
                return Err(self.broken(broken).into());
            }
            Err(broken) => self.explain(broken),
            Ok(()) if self.is_over() => {}
            Ok(()) if self.untouched > UNTOUCHED_AT_MOST => return Err(no_answer(TURNED_AWAY).into()),
            Ok(()) if self.takes_no_more() => return self.closed(None, false),
            Ok(()) => self.go_on(),
        }
        Ok(())
    }

    /// The peer said that it takes nothing more before everything was asked: nobody waits for it to hang up as well.
    fn takes_no_more(&self) -> bool {
        let over = self.session.as_ref().is_some_and(|s| !s.opening() && s.room() == 0 && !s.goodbye().is_empty());
        over && self.asked == self.ended.len()
    }

    /// Why a conversation ended in which the peer does not do as the protocol says, or refuses, as it may.
    fn broken(&self, broken: Broken) -> Trouble {
        match self.session.as_ref().map_or(FaultKind::BrokenProtocol, Session::refusal) {
            FaultKind::BrokenProtocol => no_answer(format!("the answer is broken: {}", broken.0)),
            kind => Trouble { fault: Some(kind), ..no_answer(broken.0) },
        }
    }

    /// What is wrong with the conversation is why the request failed, where nothing else was said of it.
    fn explain(&mut self, broken: Broken) {
        if let Some(ended) = self.ended.last_mut().filter(|ended| ended.fault == Some(FaultKind::BrokenProtocol))
            && ended.why.is_empty()
        {
            ended.why = broken.0.into();
        }
    }

    fn collect(&mut self) {
        for event in self.done.events.drain(..) {
            match event {
                Event::Ended(ended) => self.ended.push(ended),
                // Nobody took the request: it is asked once more, in the time it has.
                Event::Refused(_) => (self.asked, self.untouched) = (self.asked - 1, self.untouched + 1),
                _ => {}
            }
        }
    }

    /// The next request, once the one before is over and the session takes one.
    fn go_on(&mut self) {
        if let Some(session) = self.session.as_mut().filter(|s| !s.opening()) {
            while self.asked == self.ended.len() && self.asked < self.requests.len() {
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let (unix_ns, run) = (since_1970.as_nanos() as u64, self.one_shot.setup.plan.seed);
                let fill = Fill { random: self.asked as u64, unix_ns, run, ..Fill::default() };
                let id = ExchangeId(self.asked as u32);
                let Ok(sent) = session.submit(id, self.requests[self.asked], &fill, &mut self.out) else { break };
                self.asked += 1;
                if sent == Sent::OneWay {
                    let (fault, excerpt, follow) = (None, None, None);
                    self.ended.push(Ended { id, fault, code: 0, payload: 0, excerpt, follow, why: "".into() });
                }
                if self.asked > self.begun {
                    (self.begun, self.untouched) = (self.asked, 0);
                    self.deadline = self.net.now() + self.one_shot.patience;
                }
            }
        }
        self.send();
    }

    /// The connection ended, in order or by an error; `cut`: without TLS's own word for the end.
    fn closed(&mut self, why: Option<Errno>, cut: bool) -> Result<(), Gone> {
        let in_order = why.is_none();
        let Some(session) = self.session.as_mut() else {
            return Err(unreachable(if self.in_tunnel { CLOSED_IN_TUNNEL } else { CLOSED_IN_HANDSHAKE }).into());
        };
        // A greeting that is cut off is over as well, but not done.
        let greeted = !session.opening();
        if in_order {
            session.closed(&mut self.done);
        }
        if cut {
            fail_cut(&mut self.done.events, Box::default());
        }
        let goodbye = session.goodbye();
        self.collect();
        // The words of the load, so that one failure is not told in two ways.
        let lost =
            why.map(|errno| format!("the connection was lost before the response was complete: {}", describe(errno.0)));
        Err(no_answer(match goodbye {
            _ if greeted && self.is_over() => return Ok(()),
            "" if self.transcribed.received.all == 0 && in_order && !self.one_shot.origin.tls => CLOSED_WITHOUT_A_WORD,
            "" => lost.as_deref().unwrap_or("the connection was closed before the response was complete"),
            words => words,
        })
        .into())
    }

    fn send(&mut self) {
        self.transcribed.sent.take(self.out.bytes());
        self.transcribed.sent.take(self.out.tail().map_or(&[], |t| t));
        let mut cipher = Out::default();
        match &mut self.secure {
            Some(channel) if !self.out.is_empty() => {
                channel.seal(&self.out, &mut cipher);
                self.out.clear();
                self.net.send(self.conn, &mut cipher);
            }
            _ => self.net.send(self.conn, &mut self.out),
        }
    }

    fn too_late(&self, name: &str) -> Trouble {
        let plan = &self.one_shot.setup.plan;
        let span = if self.begun > 0 { self.one_shot.patience } else { plan.connect_timeout };
        let origin = self.one_shot.origin;
        let beyond = self.transcribed.through.as_ref().filter(|_| self.session.is_some());
        let beyond = beyond.map(|proxy| format!("{}:{} behind {proxy}", bracketed(&origin.host), origin.port));
        let name = beyond.as_deref().unwrap_or(name);
        let why = match self.one_shot.until < self.deadline {
            true => format!("{name} did not answer in the time that --run-timeout left"),
            false => format!("{name} did not answer within {}", measure::format_duration(span)),
        };
        Trouble { why, unreachable: self.session.is_none(), fault: None }
    }
}

/// A place in words.
fn place_name(to: &Place) -> String {
    match to {
        Place::Tcp(addr) | Place::Udp(addr) => addr.to_string(),
        Place::Unix(path) => path.display().to_string(),
    }
}

fn describe(errno: i32) -> String {
    let words = std::io::Error::from_raw_os_error(errno).to_string();
    format!("{} ({})", words.split(" (os error").next().unwrap_or_default(), errno_name(errno))
}
