//! The target's responder: for each request heard, what to answer and when. No I/O and no clock, so that the simulation and
//! the real server think alike.
//!
//! One responder per worker. What workers share is the [`Shop`]: the stations' queues and the moment of the first request; it
//! is touched only by requests that need it. Draws come from a stream of the seed and the worker's number, in the order of
//! the requests heard.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use measure::{Nanos, Rng};
use protocols::grpc::server::{field, timeout_ns};
use wire::{ServerRequest, RequestPart, OutputBuffer, ServerResponse, BodyFraming};

use crate::calls::Say;
use crate::conversation::{Conversation, Spoken};
use crate::framed;
use crate::path_spec::{Body, Kind, PathSpec, Withheld};
use crate::stall::Stalls;
use crate::station::Station;
use crate::{Config, Delay};

/// So many distinct paths are remembered; above it the memory starts afresh.
const REMEMBERED: usize = 256;
/// A longer path is not remembered.
const LONG: usize = 1024;

/// Stations of one target, and the servers of all of them; a station is never forgotten, since its queue goes on.
const MOST_STATIONS: usize = 1024;
const MOST_SERVERS: u64 = 1 << 20;

/// The method of a message on a connection that was upgraded.
pub(crate) const MESSAGE: &str = "MESSAGE";

/// The metadata that says what is wished of a call, as a path and query of HTTP would.
const WISH: &str = "brunt-path";

/// Stations by their number of servers and service time.
type Stations = HashMap<(u32, String), Arc<Mutex<Station>>>;

/// What the workers of one target share.
#[derive(Debug, Default)]
pub struct Shop {
    seed: u64,
    stalls: Stalls,
    first: AtomicU64,
    stations: Mutex<Stations>,
}

impl Shop {
    /// A shop nobody entered yet.
    pub fn new(config: &Config) -> Arc<Shop> {
        Arc::new(Shop { seed: config.seed, stalls: Stalls::new(&config.stalls), ..Shop::default() })
    }

    /// The station of so many servers with this service time; made when first asked for. None: there are too many.
    pub fn station(&self, servers: u32, service: Delay) -> Option<Arc<Mutex<Station>>> {
        let mut stations = self.stations.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (servers, service.to_string());
        if let Some(station) = stations.get(&name) {
            return Some(Arc::clone(station));
        }
        let all: u64 = stations.keys().map(|(servers, _)| u64::from(*servers)).sum();
        if stations.len() >= MOST_STATIONS || all + u64::from(servers) > MOST_SERVERS {
            return None;
        }
        let station = Arc::new(Mutex::new(Station::new(servers, service, self.seed)));
        stations.insert(name, Arc::clone(&station));
        Some(station)
    }

    /// The moment of the first request, which is now where there was none before.
    fn first(&self, now: Nanos) -> Nanos {
        let stamp = now.0.max(1);
        match self.first.compare_exchange(0, stamp, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Nanos(stamp),
            Err(first) => Nanos(first),
        }
    }
}

/// A request, understood; its moment does not matter yet.
#[derive(Debug)]
pub struct Heard {
    /// The session's name of it.
    pub id: u32,
    /// HEAD: no body may follow.
    pub head_only: bool,
    /// What its path asks for.
    pub spec: Arc<PathSpec>,
    /// The request itself, where it is to be echoed. Of a call its path, a piece of its body, or a message.
    pub echo: Option<Box<[u8]>>,
    /// Other than `Whole`: a part of a gRPC call. Only that which begins it has an order of its own.
    pub extent: RequestPart,
    /// The time that a call is allowed.
    pub allowed: Nanos,
}

/// What will become of a request.
#[derive(Debug)]
pub struct Plan {
    /// When it arrived.
    pub arrived: Nanos,
    /// When it is to be answered; [`Nanos::MAX`]: never.
    pub at: Nanos,
    /// The request.
    pub heard: Heard,
    /// What is done instead of what was ordered: an error or a close by chance.
    pub instead: Option<Arc<PathSpec>>,
    /// Of a gRPC call: what is said of it now.
    pub say: Say,
}

/// What to do with the connection after an answer was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The answer is complete.
    Complete,
    /// The answer is begun; the blocks of the raw answer and its tail follow ([`Plan::put_block`]).
    Blocks(u64),
    /// A part of a call's answer is said; more follows, and of this part so many times more, each in its time.
    Said(u64),
    /// The answer is complete and in frames: the session knows whether the connection ends with it. Its status.
    Answered(u16),
    /// A call's answer is complete: as `Answered`, and how many messages were said with its end.
    Concluded(u16, u64),
    /// As `Answered`, and spoiled on purpose.
    Spoiled,
    /// The answer was spoiled on purpose: close the connection.
    Ruined,
    /// Nothing was answered but a refusal in the protocol's own terms.
    Refused,
    /// Nothing is answered: close the connection.
    Close,
    /// Nothing is answered: reset the connection.
    Reset,
    /// Nothing is answered, and nothing happens.
    Nothing,
}

/// Decides what is answered and when.
#[derive(Debug)]
pub struct Responder {
    shop: Arc<Shop>,
    rng: Rng,
    delay: Option<Delay>,
    error_rate: f64,
    close_rate: f64,
    failing: Arc<PathSpec>,
    closing: Arc<PathSpec>,
    latest: Arc<PathSpec>,
    /// The last call: its path, what was wished of it, and what came of that.
    latest_call: (Box<str>, Box<str>, Arc<PathSpec>),
    remembered: HashMap<Box<str>, Arc<PathSpec>>,
}

impl Responder {
    /// The responder of worker number `worker`.
    pub fn new(config: &Config, shop: &Arc<Shop>, worker: u32) -> Responder {
        let closing = PathSpec { withheld: Some(Withheld::Close), ..PathSpec::sentence("", Kind::Unknown, 500, "") };
        Responder {
            shop: Arc::clone(shop),
            rng: Rng::new(config.seed).fork(u64::from(worker)),
            delay: config.delay,
            error_rate: config.error_rate,
            close_rate: config.close_rate,
            failing: Arc::new(PathSpec::sentence("", Kind::Unknown, 500, "an error, because of the error rate")),
            closing: Arc::new(closing),
            latest: Arc::new(PathSpec::read("/", shop)),
            latest_call: (Box::default(), Box::default(), Arc::new(PathSpec::of_call("", "", shop))),
            remembered: HashMap::new(),
        }
    }

    /// A responder that shares nothing, for simulations with one server.
    pub fn alone(config: &Config) -> Responder {
        Responder::new(config, &Shop::new(config), 0)
    }

    /// A request arrived now: what will become of it?
    pub fn hear(&mut self, now: Nanos, ask: &ServerRequest<'_>) -> Plan {
        let heard = self.understand(ask);
        self.plan(now, heard)
    }

    /// The first half of [`Responder::hear`], for callers that may not read the clock while they hold the request.
    #[inline]
    pub fn understand(&mut self, ask: &ServerRequest<'_>) -> Heard {
        if ask.part != RequestPart::Whole {
            return self.understand_call(ask);
        }
        if *self.latest.path != *ask.path {
            self.latest = self.recall(ask.path);
        }
        let spec = Arc::clone(&self.latest);
        let echo = if ask.method == MESSAGE {
            Some(ask.body.into())
        } else {
            matches!(spec.body, Body::Echo).then(|| [ask.head, ask.body].concat().into())
        };
        Heard { id: ask.id, head_only: ask.method == "HEAD", spec, echo, extent: RequestPart::Whole, allowed: Nanos::MAX }
    }

    /// A part of a call. What is wished of it beside its path is metadata.
    fn understand_call(&mut self, ask: &ServerRequest<'_>) -> Heard {
        let mut allowed = Nanos::MAX;
        if ask.part == RequestPart::Head {
            let wished = field(ask.head, WISH).unwrap_or_default();
            let (path, wish, _) = &self.latest_call;
            if (&**path, &**wish) != (ask.path, wished) {
                let spec = PathSpec::of_call(ask.path, wished, &self.shop);
                self.latest_call = (ask.path.into(), wished.into(), Arc::new(spec));
            }
            allowed = timeout_ns(ask.head).map_or(Nanos::MAX, Nanos);
        }
        let spec = Arc::clone(&self.latest_call.2);
        let echo = Some(if ask.part == RequestPart::Head { ask.path.as_bytes() } else { ask.body }.into());
        Heard { id: ask.id, head_only: false, spec, echo, extent: ask.part, allowed }
    }

    fn recall(&mut self, path: &str) -> Arc<PathSpec> {
        if let Some(spec) = self.remembered.get(path) {
            return Arc::clone(spec);
        }
        if self.remembered.len() == REMEMBERED {
            self.remembered.clear();
        }
        let spec = Arc::new(PathSpec::read(path, &self.shop));
        if path.len() > LONG {
            return spec;
        }
        self.remembered.insert(path.into(), Arc::clone(&spec));
        spec
    }

    /// The second half of [`Responder::hear`].
    #[inline]
    pub fn plan(&mut self, now: Nanos, heard: Heard) -> Plan {
        let spec = &heard.spec;
        if spec.kind.is_watching() {
            return Plan { arrived: now, at: now, heard, instead: None, say: Say::Whole };
        }
        let instead = self.chance();
        let hangs = instead.is_none() && spec.withheld == Some(Withheld::Hang);
        let at = self.due(now, spec);
        Plan { arrived: now, at: if hangs { Nanos::MAX } else { at }, heard, instead, say: Say::Whole }
    }

    /// What is done instead of what was ordered, by chance.
    #[inline]
    pub(crate) fn chance(&mut self) -> Option<Arc<PathSpec>> {
        if self.rng_happens(self.close_rate) {
            Some(Arc::clone(&self.closing))
        } else if self.rng_happens(self.error_rate) {
            Some(Arc::clone(&self.failing))
        } else {
            None
        }
    }

    /// True where answers need not wait for anything.
    pub(crate) fn is_prompt(&self, spec: &PathSpec) -> bool {
        spec.delay.or(self.delay).is_none() && spec.station.is_none() && self.shop.stalls.is_empty()
    }

    fn rng_happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.rng.f64() < share
    }

    /// Through stall, station, delay and stall again.
    pub(crate) fn due(&mut self, now: Nanos, spec: &PathSpec) -> Nanos {
        let shop = &*self.shop;
        let stalled = !shop.stalls.is_empty();
        let first = if stalled { shop.first(now) } else { now };
        let mut at = if stalled { shop.stalls.resume(first, now) } else { now };
        if let Some(station) = &spec.station {
            at = station.lock().unwrap_or_else(PoisonError::into_inner).take(at, first, &shop.stalls);
        }
        if let Some(delay) = spec.delay.or(self.delay) {
            at = at.saturating_add(delay.draw(&mut self.rng));
        }
        if stalled { shop.stalls.resume(first, at) } else { at }
    }
}

impl Plan {
    /// What is really done.
    #[inline]
    pub fn spec(&self) -> &PathSpec {
        self.instead.as_ref().unwrap_or(&self.heard.spec)
    }

    /// Puts the answer, or its beginning, and says what follows. Answers of one connection must be put in the order of
    /// their requests. `stats` is the body of `/-/stats`.
    pub fn answer(&self, session: &mut dyn Conversation, stats: &dyn Fn() -> String, out: &mut OutputBuffer) -> Next {
        if session.spoken() != Spoken::Http1 {
            return framed::answer(self, session, stats, out);
        }
        let spec = self.spec();
        match spec.withheld {
            Some(Withheld::Hang) => return Next::Nothing,
            Some(Withheld::Reset) => return Next::Reset,
            Some(Withheld::Close) => return Next::Close,
            None => {}
        }
        let text;
        let body = match &spec.body {
            Body::Raw(raw) => {
                self.settle(session);
                return match raw.begin(self.heard.head_only, out) {
                    0 => Next::Complete,
                    left => Next::Blocks(left),
                };
            }
            Body::Echo => self.heard.echo.as_deref().unwrap_or_default(),
            Body::Stats => {
                text = stats();
                text.as_bytes()
            }
            Body::Text(_) | Body::Filler(_) => spec.known_body(),
        };
        let (headers, shape, close) = (&*spec.headers, spec.shape, spec.close);
        session.respond(self.heard.id, &ServerResponse { status: spec.status, headers, body, framing: shape, close }, out);
        Next::Complete
    }

    /// Tells the session that this request is answered, by bytes that are not its own.
    fn settle(&self, session: &mut dyn Conversation) {
        let close = self.spec().close;
        let reply = ServerResponse { status: 204, headers: b"", body: b"", framing: BodyFraming::Length, close };
        session.respond(self.heard.id, &reply, &mut OutputBuffer::default());
    }

    /// Puts one of the blocks that [`Next::Blocks`] spoke of; `left` counts them down to 1.
    pub fn put_block(&self, left: u64, out: &mut OutputBuffer) {
        if let Body::Raw(raw) = &self.spec().body {
            raw.put_block(left, out);
        }
    }
}
