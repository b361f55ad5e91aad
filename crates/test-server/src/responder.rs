//! The target's responder: decides for each request how and when to answer. It does no I/O and reads no clock,
//! so that the simulation and the real server behave alike.
//!
//! There is one responder per worker. Workers share the [`SharedState`]: the queues of the stations
//! and the time of the first request; only requests that need it access it. Random draws come from
//! a stream that depends on the seed and the worker's number, in the order of the requests
//! received.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use brunt_contract::{BodyFraming, OutputBuffer, RequestPart, ServerRequest, ServerResponse};
use brunt_measure::{Nanos, Rng};
use brunt_protocols::grpc::server::{field, timeout_ns};

use crate::calls::CallAction;
use crate::framed;
use crate::path_spec::{AnswerBody, PathKind, PathSpec, WithheldAnswer};
use crate::protocol_session::{TargetProtocol, TargetSession};
use crate::queue_model::QueueModel;
use crate::stall::ServerStalls;
use crate::{Config, DelayDistribution};

/// Number of distinct paths cached; the cache is cleared above it.
const REMEMBERED: usize = 256;
/// Length above which a path is not cached.
const LONG: usize = 1024;

/// Limit on the stations of one target, and on their servers in total; a station is never removed, because its queue
/// must persist.
const MOST_STATIONS: usize = 1024;
const MOST_SERVERS: u64 = 1 << 20;

/// The method reported for a message on an upgraded connection.
pub(crate) const MESSAGE: &str = "MESSAGE";

/// The metadata key that holds the options of a call, written as an HTTP path and query.
const WISH: &str = "brunt-path";

/// The stations by number of servers and service time.
type Stations = HashMap<(u32, String), Arc<Mutex<QueueModel>>>;

/// The state shared by the workers of one target.
#[derive(Debug, Default)]
pub struct SharedState {
    seed: u64,
    stalls: ServerStalls,
    first: AtomicU64,
    stations: Mutex<Stations>,
}

impl SharedState {
    /// Creates an empty shared state.
    pub fn new(config: &Config) -> Arc<SharedState> {
        Arc::new(SharedState { seed: config.seed, stalls: ServerStalls::new(&config.stalls), ..SharedState::default() })
    }

    /// Returns the station with this many servers and this service time, creating it on first use; `None` if
    /// there are too many.
    pub fn station(&self, servers: u32, service: DelayDistribution) -> Option<Arc<Mutex<QueueModel>>> {
        let mut stations = self.stations.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (servers, service.to_string());
        if let Some(station) = stations.get(&name) {
            return Some(Arc::clone(station));
        }
        let all: u64 = stations.keys().map(|(servers, _)| u64::from(*servers)).sum();
        if stations.len() >= MOST_STATIONS || all + u64::from(servers) > MOST_SERVERS {
            return None;
        }
        let station = Arc::new(Mutex::new(QueueModel::new(servers, service, self.seed)));
        stations.insert(name, Arc::clone(&station));
        Some(station)
    }

    /// Returns the time of the first request, which is `now` if there was no earlier one.
    fn first(&self, now: Nanos) -> Nanos {
        let stamp = now.0.max(1);
        match self.first.compare_exchange(0, stamp, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Nanos(stamp),
            Err(first) => Nanos(first),
        }
    }
}

/// A parsed request, independent of its arrival time.
#[derive(Debug)]
pub struct ParsedRequest {
    /// Request id of the session.
    pub id: u32,
    /// Set for HEAD: no body may follow.
    pub head_only: bool,
    /// Parsed path.
    pub spec: Arc<PathSpec>,
    /// The request itself if it is to be echoed; for a call, its path, a piece of its body, or a
    /// message.
    pub echo: Option<Box<[u8]>>,
    /// Part of a gRPC call, unless `Whole`; only the first part sets the spec.
    pub extent: RequestPart,
    /// Deadline the client set for a call.
    pub timeout: Nanos,
}

/// The planned answer to a request.
#[derive(Debug)]
pub struct AnswerPlan {
    /// Arrival time.
    pub arrived: Nanos,
    /// Time of the answer; [`Nanos::MAX`] if it is never sent.
    pub due: Nanos,
    /// The request.
    pub request: ParsedRequest,
    /// Answer given instead of the requested one: an error or a close drawn at random.
    pub instead: Option<Arc<PathSpec>>,
    /// Part of a gRPC call's answer to send now.
    pub action: CallAction,
}

/// The next step on a connection after an answer was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The answer is complete.
    Complete,
    /// The answer is begun; the blocks of the raw answer and its tail follow ([`AnswerPlan::put_block`]).
    Blocks(u64),
    /// A part of a call's answer is written, and more follows: this part is repeated this many more
    /// times, each at its own time.
    PartWritten(u64),
    /// The answer is complete and framed: the session knows whether the connection ends with it.
    /// The value is its status.
    Answered(u16),
    /// A call's answer is complete: like `Answered`, with the number of messages sent with its end.
    CallAnswered(u16, u64),
    /// Like `Answered`, but the answer was spoiled on purpose.
    Spoiled,
    /// The answer was spoiled on purpose: close the connection.
    SpoiledClose,
    /// Only a refusal was sent, in the form of the protocol.
    Refused,
    /// No answer: close the connection.
    Close,
    /// No answer: reset the connection.
    Reset,
    /// No answer and no further action.
    Nothing,
}

/// The logic that decides how and when requests are answered.
#[derive(Debug)]
pub struct Responder {
    shop: Arc<SharedState>,
    rng: Rng,
    delay: Option<DelayDistribution>,
    error_rate: f64,
    close_rate: f64,
    failing: Arc<PathSpec>,
    closing: Arc<PathSpec>,
    latest: Arc<PathSpec>,
    /// The last call: its path, its options, and the spec parsed from them.
    latest_call: (Box<str>, Box<str>, Arc<PathSpec>),
    remembered: HashMap<Box<str>, Arc<PathSpec>>,
}

impl Responder {
    /// Creates the responder of worker number `worker`.
    pub fn new(config: &Config, shop: &Arc<SharedState>, worker: u32) -> Responder {
        let closing =
            PathSpec { withheld: Some(WithheldAnswer::Close), ..PathSpec::sentence("", PathKind::Unknown, 500, "") };
        Responder {
            shop: Arc::clone(shop),
            rng: Rng::new(config.seed).fork(u64::from(worker)),
            delay: config.delay,
            error_rate: config.error_rate,
            close_rate: config.close_rate,
            failing: Arc::new(PathSpec::sentence("", PathKind::Unknown, 500, "an error, because of the error rate")),
            closing: Arc::new(closing),
            latest: Arc::new(PathSpec::read("/", shop)),
            latest_call: (Box::default(), Box::default(), Arc::new(PathSpec::of_call("", "", shop))),
            remembered: HashMap::new(),
        }
    }

    /// Creates a responder that shares no state, for simulations with one server.
    pub fn alone(config: &Config) -> Responder {
        Responder::new(config, &SharedState::new(config), 0)
    }

    /// Plans the answer to a request that arrived now.
    pub fn respond(&mut self, now: Nanos, ask: &ServerRequest<'_>) -> AnswerPlan {
        let heard = self.parse(ask);
        self.plan(now, heard)
    }

    /// Parses a request: the first half of [`Responder::respond`], for callers that must not read
    /// the clock while they borrow the request.
    #[inline]
    pub fn parse(&mut self, ask: &ServerRequest<'_>) -> ParsedRequest {
        if ask.part != RequestPart::Whole {
            return self.parse_call(ask);
        }
        if *self.latest.path != *ask.path {
            self.latest = self.recall(ask.path);
        }
        let spec = Arc::clone(&self.latest);
        let echo = if ask.method == MESSAGE {
            Some(ask.body.into())
        } else {
            matches!(spec.body, AnswerBody::Echo).then(|| [ask.head, ask.body].concat().into())
        };
        ParsedRequest {
            id: ask.id,
            head_only: ask.method == "HEAD",
            spec,
            echo,
            extent: RequestPart::Whole,
            timeout: Nanos::MAX,
        }
    }

    /// Parses a part of a call. Its options, apart from the path, are in the metadata.
    fn parse_call(&mut self, ask: &ServerRequest<'_>) -> ParsedRequest {
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
        ParsedRequest { id: ask.id, head_only: false, spec, echo, extent: ask.part, timeout: allowed }
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

    /// Plans the answer to a parsed request: the second half of [`Responder::respond`].
    #[inline]
    pub fn plan(&mut self, now: Nanos, heard: ParsedRequest) -> AnswerPlan {
        let spec = &heard.spec;
        if spec.kind.is_monitoring() {
            return AnswerPlan { arrived: now, due: now, request: heard, instead: None, action: CallAction::Whole };
        }
        let instead = self.draw_fault();
        let hangs = instead.is_none() && spec.withheld == Some(WithheldAnswer::Hang);
        let at = self.due(now, spec);
        AnswerPlan {
            arrived: now,
            due: if hangs { Nanos::MAX } else { at },
            request: heard,
            instead,
            action: CallAction::Whole,
        }
    }

    /// Decides at random whether a fault replaces the requested answer; returns the fault.
    #[inline]
    pub(crate) fn draw_fault(&mut self) -> Option<Arc<PathSpec>> {
        if self.rng_happens(self.close_rate) {
            Some(Arc::clone(&self.closing))
        } else if self.rng_happens(self.error_rate) {
            Some(Arc::clone(&self.failing))
        } else {
            None
        }
    }

    /// Returns `true` if answers need not wait.
    pub(crate) fn is_prompt(&self, spec: &PathSpec) -> bool {
        spec.delay.or(self.delay).is_none() && spec.station.is_none() && self.shop.stalls.is_empty()
    }

    fn rng_happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.rng.f64() < share
    }

    /// Computes the due time: after a stall, the station, the delay and another stall, in this order.
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

impl AnswerPlan {
    /// Returns the spec that is actually answered.
    #[inline]
    pub fn spec(&self) -> &PathSpec {
        self.instead.as_ref().unwrap_or(&self.request.spec)
    }

    /// Writes the answer, or its beginning, and returns the next step. Answers of one connection must be
    /// written in the order of their requests. `stats` is the body of `/-/stats`.
    pub fn answer(
        &self,
        session: &mut dyn TargetSession,
        stats: &dyn Fn() -> String,
        out: &mut OutputBuffer,
    ) -> NextStep {
        if session.protocol() != TargetProtocol::Http1 {
            return framed::answer(self, session, stats, out);
        }
        let spec = self.spec();
        match spec.withheld {
            Some(WithheldAnswer::Hang) => return NextStep::Nothing,
            Some(WithheldAnswer::Reset) => return NextStep::Reset,
            Some(WithheldAnswer::Close) => return NextStep::Close,
            None => {}
        }
        let text;
        let body = match &spec.body {
            AnswerBody::Raw(raw) => {
                self.settle(session);
                return match raw.begin(self.request.head_only, out) {
                    0 => NextStep::Complete,
                    left => NextStep::Blocks(left),
                };
            }
            AnswerBody::Echo => self.request.echo.as_deref().unwrap_or_default(),
            AnswerBody::Stats => {
                text = stats();
                text.as_bytes()
            }
            AnswerBody::Text(_) | AnswerBody::Filler(_) => spec.known_body(),
        };
        let (headers, shape, close) = (&*spec.headers, spec.shape, spec.close);
        session.respond(
            self.request.id,
            &ServerResponse { status: spec.status, headers, body, framing: shape, close },
            out,
        );
        NextStep::Complete
    }

    /// Notifies the session that this request was answered by bytes it did not write.
    fn settle(&self, session: &mut dyn TargetSession) {
        let close = self.spec().close;
        let reply = ServerResponse { status: 204, headers: b"", body: b"", framing: BodyFraming::Length, close };
        session.respond(self.request.id, &reply, &mut OutputBuffer::default());
    }

    /// Writes one of the blocks announced by [`NextStep::Blocks`]; `left` counts them down to 1.
    pub fn put_block(&self, left: u64, out: &mut OutputBuffer) {
        if let AnswerBody::Raw(raw) = &self.spec().body {
            raw.put_block(left, out);
        }
    }
}
