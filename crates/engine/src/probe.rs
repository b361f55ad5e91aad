//! One request before the run: the address found, what is spoken, and one counted answer.

use measure::{Clock, Nanos};
use net::Epoll;
use record::Probe;
use wire::{
    Arrival, ConnId, Dial, Dialogue, Done, Ended, Established, Event, ExchangeId, Fed, Network, Origin, Out, Place,
    Session,
};

use crate::collector::errno_name;
use crate::{ProbeFailure, ProbeResult, Setup, Stop};

/// A stop asked for from outside is seen at least so often.
const ATTENTION: Nanos = Nanos::from_millis(50);

/// What went over the wire, before TLS.
#[derive(Debug, Default)]
struct Transcript {
    sent: Vec<u8>,
    received: Vec<u8>,
}

struct Trouble {
    why: String,
    unreachable: bool,
}

fn unreachable(why: impl Into<String>) -> Trouble {
    Trouble { why: why.into(), unreachable: true }
}

fn no_answer(why: impl Into<String>) -> Trouble {
    Trouble { why: why.into(), unreachable: false }
}

/// Sends the first request of a run once, alone; redirects that the dialogue follows are followed.
pub(crate) fn probe<D: Dialogue>(dialogue: &D, setup: &Setup, stop: &Stop) -> Result<ProbeResult, Box<ProbeFailure>> {
    let began = Clock.now();
    let mut probe = Probe::default();
    let mut script = Transcript::default();
    let outcome = follow(dialogue, &Way { setup, stop }, &mut probe, &mut script);
    probe.took = Clock.now() - began;
    let Transcript { sent, received } = script;
    match outcome {
        Ok(()) => Ok(ProbeResult { probe, sent, received }),
        Err(Trouble { why, unreachable }) => {
            probe.failure = Some(why);
            Err(Box::new(ProbeFailure { probe, sent, received, unreachable }))
        }
    }
}

fn follow<D: Dialogue>(d: &D, way: &Way<'_>, probe: &mut Probe, script: &mut Transcript) -> Result<(), Trouble> {
    let first = &d.requests()[0];
    let mut hop = exchange(d, way, &d.origins()[first.origin], &first.request, probe, script)?;
    loop {
        probe.status = if hop.code == 0 { String::new() } else { d.code_name(hop.code) };
        probe.payload = hop.payload;
        let Some(next) = hop.follow.take() else { break };
        hop = exchange(d, way, &next.origin, &next.request, probe, script)?;
    }
    match hop.fault {
        Some(kind) => Err(no_answer(kind.name())),
        None => Ok(()),
    }
}

fn exchange<D: Dialogue>(
    d: &D,
    way: &Way<'_>,
    origin: &Origin,
    request: &D::Request,
    probe: &mut Probe,
    script: &mut Transcript,
) -> Result<Ended<D::Request>, Trouble> {
    probe.spoken.clear();
    let places = way.setup.resolver.resolve(origin).map_err(unreachable)?;
    let mut last = unreachable(format!("{} has no address", origin.host));
    for to in places {
        probe.address = match &to {
            Place::Tcp(addr) => addr.to_string(),
            Place::Unix(path) => path.display().to_string(),
        };
        let mut net = Epoll::new().map_err(|e| unreachable(format!("epoll: {e}")))?;
        let line = Line { net: &mut net, way, origin };
        match line.talk(d, &to, request, probe, script) {
            Err(trouble) if trouble.unreachable => last = trouble,
            settled => return settled,
        }
    }
    Err(last)
}

struct Way<'a> {
    setup: &'a Setup,
    stop: &'a Stop,
}

struct Line<'a> {
    net: &'a mut Epoll,
    way: &'a Way<'a>,
    origin: &'a Origin,
}

impl Line<'_> {
    fn talk<D: Dialogue>(
        self,
        d: &D,
        to: &Place,
        request: &D::Request,
        probe: &mut Probe,
        script: &mut Transcript,
    ) -> Result<Ended<D::Request>, Trouble> {
        let plan = &self.way.setup.plan;
        let source = self.way.setup.sources.first().copied();
        let dial = Dial { to: to.clone(), source, nodelay: true };
        let refused = |errno: i32| unreachable(format!("{} does not answer: {}", probe_name(to), describe(errno)));
        let conn = self.net.connect(&dial).map_err(|e| refused(e.0))?;
        let mut deadline = self.net.now() + plan.connect_timeout;
        let mut secure = None;
        let mut session: Option<D::Session> = None;
        let (mut out, mut plain, mut done) = (Out::default(), Vec::new(), Done::default());
        loop {
            let now = self.net.now();
            self.net.wait(deadline.min(now + ATTENTION));
            if self.way.stop.requested() {
                return Err(no_answer("the run was stopped before the first answer"));
            }
            if self.net.now() >= deadline {
                let why = format!(
                    "{} did not answer within {}",
                    probe_name(to),
                    measure::format_duration(span(&session, plan))
                );
                return Err(Trouble { why, unreachable: session.is_none() });
            }
            let mut established = None;
            match self.net.next() {
                None => continue,
                Some(Arrival::Connected(_)) if self.origin.tls => {
                    let mut channel = self.way.setup.security.client(self.origin, d.alpn()).map_err(unreachable)?;
                    channel.start(&mut out);
                    secure = Some(channel);
                    self.net.send(conn, &mut out);
                }
                Some(Arrival::Connected(_)) => established = Some(Established::default()),
                Some(Arrival::Received(_, bytes)) => {
                    let mut fed = Fed::More;
                    match &mut secure {
                        None => plain.extend_from_slice(bytes),
                        Some(channel) => {
                            fed = channel.feed(bytes, &mut plain, &mut out).map_err(unreachable)?;
                            self.net.send(conn, &mut out);
                        }
                    }
                    if fed == Fed::Established {
                        let settled = secure.as_ref().and_then(|s| s.handshake()).unwrap_or_default();
                        probe.spoken = format!("{} {}", settled.version, settled.suite);
                        established = Some(Established { alpn: settled.alpn, tls: true });
                    }
                }
                Some(Arrival::Closed(_, Some(errno))) if session.is_none() => return Err(refused(errno.0)),
                Some(Arrival::Closed(_, why)) => {
                    let Some(session) = session.as_mut() else {
                        return Err(unreachable("the connection was closed during the TLS handshake"));
                    };
                    if why.is_none() {
                        session.closed(&mut done);
                    }
                    let cut = || no_answer("the connection was closed before the answer was complete");
                    return ended(&mut done).ok_or_else(cut);
                }
                Some(Arrival::Accepted(..)) => {}
            }
            if let Some(established) = established {
                deadline = self.net.now() + plan.timeout;
                let spoken = d.spoken(&established);
                probe.spoken = [spoken.as_str(), probe.spoken.as_str()].join(" ").trim().to_owned();
                probe.requests += 1;
                let mut begun = d.session(&established);
                begun.open(&mut out);
                let _ = begun.submit(ExchangeId(0), request, &mut out);
                session = Some(begun);
                send(self.net, conn, &mut secure, &mut out, script);
            }
            if let (Some(session), false) = (session.as_mut(), plain.is_empty()) {
                script.received.extend_from_slice(&plain);
                let read = session.receive(&plain, &mut out, &mut done);
                plain.clear();
                if let Some(ended) = ended(&mut done) {
                    return Ok(ended);
                }
                read.map_err(|broken| no_answer(format!("the answer is broken: {}", broken.0)))?;
                send(self.net, conn, &mut secure, &mut out, script);
            }
        }
    }
}

fn send(
    net: &mut Epoll,
    conn: ConnId,
    secure: &mut Option<Box<dyn wire::SecureChannel>>,
    out: &mut Out,
    script: &mut Transcript,
) {
    script.sent.extend_from_slice(out.bytes());
    script.sent.extend_from_slice(out.tail().map_or(&[], |t| t));
    let mut cipher = Out::default();
    match secure {
        Some(channel) if !out.is_empty() => {
            channel.seal(out, &mut cipher);
            out.clear();
            net.send(conn, &mut cipher);
        }
        _ => net.send(conn, out),
    }
}

fn ended<R>(done: &mut Done<R>) -> Option<Ended<R>> {
    done.events.drain(..).find_map(|event| match event {
        Event::Ended(ended) => Some(ended),
        _ => None,
    })
}

fn span<S>(session: &Option<S>, plan: &plan::Plan) -> Nanos {
    if session.is_some() { plan.timeout } else { plan.connect_timeout }
}

fn probe_name(to: &Place) -> String {
    match to {
        Place::Tcp(addr) => addr.to_string(),
        Place::Unix(path) => path.display().to_string(),
    }
}

fn describe(errno: i32) -> String {
    let words = std::io::Error::from_raw_os_error(errno).to_string();
    format!("{} ({})", words.split(" (os error").next().unwrap_or_default(), errno_name(errno))
}
