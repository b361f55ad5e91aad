//! The probe before a run, and the requests that a plan sends once before and after it.

use std::cell::RefCell;
use std::sync::Arc;

use brunt_cause::{Cause, response};
use brunt_contract::{
    ConnectionOwner, ExchangeEnd, FaultKind, FollowUp, MAX_SHOWN_BYTES, Origin, Request, ResourceSearch, SlotContext,
    UserState, Workload,
};
use brunt_measure::{Clock, Nanos};
use brunt_plan::Plan;
use brunt_record::FirstResponse;

use crate::builder::initial_values;
use crate::conversation::{ConnectionTranscript, OneShot, OneShotError, OpenConversation, Pages, no_answer};
use crate::{AfterFailure, OneShotFailure, ProbeFailure, ProbeResult, Setup, Stop, Transcript};

/// Timeout of each response before a run. It is long, because such a request may fill a database table.
const BEFORE: Nanos = Nanos::from_secs(600);
/// Timeout of each response after a run.
const AFTER: Nanos = Nanos::from_secs(60);

/// Sends the first request of a user once, alone, with the values known at that point, and follows redirects as the
/// workload does. If there is no such request, or it is not `sent`, only opens a connection.
pub(crate) fn probe(
    workload: &Arc<dyn Workload>,
    (setup, stop): (&Setup, &Stop),
    (request, sent): (Option<usize>, bool),
    memory: &RefCell<UserState>,
) -> Result<ProbeResult, Box<ProbeFailure>> {
    let way = RequestPass::new(setup, stop, memory);
    let result = probing(workload, (request, sent), &way);
    way.end();
    result
}

/// Like [`probe()`], for any request of the run, sent by a user that may be in the middle of its flow.
pub(crate) fn probe_of<'a>(
    workload: &'a Arc<dyn Workload>,
    request: usize,
    way: &RequestPass<'a>,
) -> Result<ProbeResult, Box<ProbeFailure>> {
    probing(workload, (Some(request), true), way)
}

fn probing<'a>(
    workload: &'a Arc<dyn Workload>,
    request: (Option<usize>, bool),
    way: &RequestPass<'a>,
) -> Result<ProbeResult, Box<ProbeFailure>> {
    let began = Clock.now();
    let mut probe = FirstResponse::default();
    let mut transcript = Transcript::default();
    let outcome = follow(workload, request, way, &mut probe, &mut transcript);
    probe.took = Clock.now() - began;
    match outcome {
        Ok(()) => Ok(ProbeResult { probe, transcript }),
        Err(OneShotError { why, unreachable, fault, refused }) => {
            set_failure(&mut probe, why);
            Err(Box::new(ProbeFailure { probe, transcript, unreachable, fault, refused }))
        }
    }
}

/// Returns the initial state of a user: the values captured by `setup`.
pub(crate) fn initial_state(setup: &Setup) -> RefCell<UserState> {
    RefCell::new(UserState::with_values(setup.plan.setup_flow().map(initial_values).unwrap_or_default()))
}

/// One user's pass through a sequence of requests.
pub(crate) struct RequestPass<'a> {
    setup: &'a Setup,
    stop: &'a Stop,
    /// Deadline of the pass.
    until: Nanos,
    /// State of the user.
    pub memory: &'a RefCell<UserState>,
    /// Pages among the responses; `None` unless the user fetches resources.
    pages: Option<&'a Pages>,
    /// The user's own connections, by origin ([`ConnectionOwner`]).
    own: RefCell<Vec<(&'a Origin, OpenConversation<'a>)>>,
}

impl<'a> RequestPass<'a> {
    /// Starts a pass.
    pub fn new(setup: &'a Setup, stop: &'a Stop, memory: &'a RefCell<UserState>) -> RequestPass<'a> {
        RequestPass { setup, stop, until: Nanos::MAX, memory, pages: None, own: RefCell::default() }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.setup.plan
    }

    /// Sets the deadline.
    pub fn until(self, until: Nanos) -> RequestPass<'a> {
        RequestPass { until, ..self }
    }

    /// Collects the pages among the responses in `pages`.
    pub fn with_pages(self, pages: &'a Pages) -> RequestPass<'a> {
        RequestPass { pages: Some(pages), ..self }
    }

    /// Takes the pages collected since the last call.
    pub fn take_pages(&self) -> Vec<ResourceSearch> {
        self.pages.map(RefCell::take).unwrap_or_default()
    }

    /// Closes the user's own connections to origins for which `meant` returns `true`.
    pub fn close_connections(&self, meant: &dyn Fn(&Origin) -> bool) {
        let (gone, stay) = self.own.take().into_iter().partition(|(origin, _)| meant(origin));
        *self.own.borrow_mut() = stay;
        let gone: Vec<(&Origin, OpenConversation<'a>)> = gone;
        gone.into_iter().for_each(|(_, kept)| kept.end());
    }

    /// Ends the pass and closes the user's own connections.
    pub fn end(&self) {
        self.own.take().into_iter().for_each(|(_, kept)| kept.end());
    }

    /// Returns the timeout of a response, as in a run.
    fn timeout(&self, request: usize) -> Nanos {
        let plan = &self.setup.plan;
        let own = plan.urls.get(request).filter(|_| plan.has_flows()).and_then(brunt_plan::WeightedUrl::timeout);
        own.unwrap_or(plan.timeout)
    }

    fn one_shot(&self, workload: &'a Arc<dyn Workload>, origin: &'a Origin, patience: Nanos) -> OneShot<'a> {
        let (setup, stop, memory, pages) = (self.setup, self.stop, self.memory, self.pages);
        OneShot {
            workload,
            setup,
            stop,
            origin,
            memory,
            timeout: patience,
            deadline: self.until,
            until_failure: true,
            pages,
        }
    }

    /// Sends a request on the user's own connection, which is opened by the first request.
    fn on_own(
        &self,
        d: &'a Arc<dyn Workload>,
        (origin, request, patience): (&'a Origin, &'a Request, Nanos),
        transcribed: &mut ConnectionTranscript,
    ) -> Result<Vec<ExchangeEnd>, OneShotError> {
        let mut own = self.own.borrow_mut();
        if let Some(at) = own.iter().position(|(known, _)| *known == origin) {
            let outcome = own[at].1.send((request, patience), transcribed);
            if outcome.is_err() {
                own.remove(at);
            }
            return outcome;
        }
        let (ended, kept) = self.one_shot(d, origin, patience).begin(&[request], transcribed)?;
        own.push((origin, kept));
        Ok(ended)
    }
}

fn follow<'a>(
    d: &'a Arc<dyn Workload>,
    (request, sent): (Option<usize>, bool),
    way: &RequestPass<'a>,
    probe: &mut FirstResponse,
    transcript: &mut Transcript,
) -> Result<(), OneShotError> {
    let Some(request) = request.filter(|_| sent && !d.prepared().holds_only) else {
        let origin = request.map_or(0, |request| d.requests()[request].origin);
        return exchange(d, way, (&d.origins()[origin], None, way.setup.plan.timeout), probe, transcript).map(drop);
    };
    let patience = way.timeout(request);
    let first = &d.requests()[request];
    if d.prepared().follows_links {
        let addressed = {
            let memory = way.memory.borrow();
            d.addressed(&first.request, &SlotContext { values: &memory.values, ..SlotContext::default() })
        };
        if let Some(addressed) = addressed {
            let bad = |why| OneShotError { fault: Some(FaultKind::BadValue), ..no_answer(why) };
            let next = addressed.map_err(bad)?;
            let hop = exchange(d, way, (&next.origin, Some(&next.request), patience), probe, transcript)?;
            return hops(d, way, (hop, patience), probe, transcript);
        }
    }
    let origin = &d.origins()[first.origin];
    // Only a user of a flow continues on the same connection.
    let belongs = if way.setup.plan.has_flows() { d.connection_owner(origin) } else { ConnectionOwner::Pool };
    let hop = match belongs {
        ConnectionOwner::Pool => exchange(d, way, (origin, Some(&first.request), patience), probe, transcript)?,
        ConnectionOwner::Iteration | ConnectionOwner::User => {
            probe.requests += 1;
            let mut transcribed = ConnectionTranscript::default();
            let outcome = way.on_own(d, (origin, &first.request, patience), &mut transcribed);
            append_transcript(&**d, transcribed, probe, transcript);
            outcome?.pop()
        }
    };
    hops(d, way, (hop, patience), probe, transcript)
}

/// Sends a single request caused by a response, and then those caused by its own responses.
pub(crate) fn follow_up(
    d: &Arc<dyn Workload>,
    next: &FollowUp,
    way: &RequestPass<'_>,
    probe: &mut FirstResponse,
) -> Result<(), OneShotError> {
    let began = Clock.now();
    let told = &mut Transcript::default();
    let patience = way.setup.plan.timeout;
    let hop = exchange(d, way, (&next.origin, Some(&next.request), patience), probe, told);
    let outcome = hop.and_then(|hop| hops(d, way, (hop, patience), probe, told));
    probe.took = Clock.now() - began;
    outcome
}

/// Follows a response through all redirects; returns the outcome of the last hop.
fn hops(
    d: &Arc<dyn Workload>,
    way: &RequestPass<'_>,
    (mut hop, patience): (Option<ExchangeEnd>, Nanos),
    probe: &mut FirstResponse,
    transcript: &mut Transcript,
) -> Result<(), OneShotError> {
    while let Some(ended) = &mut hop {
        probe.status = if ended.code == 0 { String::new() } else { d.code_name(ended.code) };
        probe.payload = ended.payload;
        let Some(next) = ended.follow_up.take() else { break };
        hop = exchange(d, way, (&next.origin, Some(&next.request), patience), probe, transcript)?;
    }
    // A response without a code or a byte of payload was not even the beginning of one.
    let nothing = hop.as_ref().is_some_and(|ended| ended.code == 0 && ended.payload == 0);
    let Some((kind, why)) = hop.and_then(|ended| Some((ended.fault?, ended.cause))) else { return Ok(()) };
    let trouble = match (kind, why) {
        (_, None) => no_answer(brunt_cause::verbatim(kind.name())),
        (FaultKind::BrokenProtocol, Some(why)) => no_answer(response::broken(why)),
        (_, Some(why)) => no_answer(why),
    };
    Err(OneShotError { fault: Some(kind), refused: nothing && kind == FaultKind::BrokenProtocol, ..trouble })
}

fn exchange(
    d: &Arc<dyn Workload>,
    way: &RequestPass<'_>,
    (origin, request, patience): (&Origin, Option<&Request>, Nanos),
    probe: &mut FirstResponse,
    transcript: &mut Transcript,
) -> Result<Option<ExchangeEnd>, OneShotError> {
    let requests: Vec<&Request> = request.into_iter().collect();
    probe.requests += requests.len() as u64;
    let one_shot = OneShot {
        workload: d,
        setup: way.setup,
        stop: way.stop,
        origin,
        memory: way.memory,
        timeout: patience,
        deadline: way.until,
        until_failure: true,
        pages: way.pages,
    };
    let mut transcribed = ConnectionTranscript::default();
    let outcome = one_shot.run(&requests, &mut transcribed);
    append_transcript(&**d, transcribed, probe, transcript);
    Ok(outcome?.pop())
}

/// Appends the transcript of one connection to the previous transcripts.
fn append_transcript(
    d: &dyn Workload,
    transcribed: ConnectionTranscript,
    probe: &mut FirstResponse,
    transcript: &mut Transcript,
) {
    let ConnectionTranscript { address, through, spoken, established, sent, received, failed_checks } = transcribed;
    transcript.failed_checks = failed_checks;
    (probe.address, probe.through, probe.spoken) = (address, through, spoken);
    let readable = established.and_then(|established| d.display_bytes(&established, &sent.head, &received.head));
    transcript.bytes[0] += sent.total;
    transcript.bytes[1] += received.total;
    transcript.left_out[0] += sent.total - sent.head.len() as u64;
    transcript.left_out[1] += received.total - received.head.len() as u64;
    let [sent, received] = readable.unwrap_or([sent.head, received.head]);
    append(&mut transcript.sent, sent);
    append(&mut transcript.received, received);
}

/// Sets the failure of a probe.
pub(crate) fn set_failure(probe: &mut FirstResponse, why: Cause) {
    (probe.failure, probe.cause) = (Some(why.to_string()), Some(why));
}

/// Appends to a transcript, up to the display limit for all hops together.
fn append(told: &mut Vec<u8>, more: Vec<u8>) {
    // A body may end without a line break before the next message.
    if !more.is_empty() && told.last().is_some_and(|last| *last != b'\n') && told.len() < MAX_SHOWN_BYTES {
        told.push(b'\n');
    }
    if told.len() + more.len() <= MAX_SHOWN_BYTES {
        told.extend(more);
        return;
    }
    let room = MAX_SHOWN_BYTES.saturating_sub(told.len()).min(more.len());
    told.extend_from_slice(&more[..room]);
    if room > 0 {
        told.extend_from_slice("…".as_bytes());
    }
}

/// Sends the requests of a plan that precede the run, up to the first failure.
///
/// # Errors
/// The failed request and the cause.
pub(crate) fn before(d: &Arc<dyn Workload>, setup: &Setup, stop: &Stop) -> Result<(), OneShotFailure> {
    let one_shots = OneShots { setup, stop, patience: BEFORE, until: Nanos::MAX, until_failure: true };
    one_shots.run(d, &d.prepared().before).map_or(Ok(()), Err)
}

/// Sends the requests of a plan that follow the run, even if it was interrupted. Returns the first failure, as a
/// sentence.
pub(crate) fn after(d: &Arc<dyn Workload>, setup: &Setup, stop: &Stop, within: Option<Nanos>) -> Option<AfterFailure> {
    // The stop that ended the run must not prevent the cleanup.
    let stop = if stop.requested() { &Stop::default() } else { stop };
    let until = within.map_or(Nanos::MAX, |within| Clock.now() + within);
    let failed = OneShots { setup, stop, patience: AFTER, until, until_failure: false }.run(d, &d.prepared().after);
    failed.map(|failure| if stop.requested() { AfterFailure::Interrupted } else { AfterFailure::Failed(failure.why) })
}

/// Requests that are sent once to every origin.
struct OneShots<'a> {
    setup: &'a Setup,
    stop: &'a Stop,
    patience: Nanos,
    until: Nanos,
    until_failure: bool,
}

impl OneShots<'_> {
    fn run(&self, d: &Arc<dyn Workload>, requests: &[Arc<Request>]) -> Option<OneShotFailure> {
        if requests.is_empty() {
            return None;
        }
        let list: Vec<&Request> = requests.iter().map(|request| &**request).collect();
        let &OneShots { setup, stop, patience, until, until_failure } = self;
        let memory = &RefCell::default();
        for origin in d.origins() {
            let one_shot = OneShot {
                workload: d,
                setup,
                stop,
                origin,
                memory,
                timeout: patience,
                deadline: until,
                until_failure,
                pages: None,
            };
            match one_shot.run(&list, &mut ConnectionTranscript::default()) {
                Err(OneShotError { why, unreachable, .. }) => return Some(OneShotFailure { why, unreachable }),
                Ok(ended) => {
                    let failed = ended.iter().zip(requests).find(|(ended, _)| ended.fault.is_some());
                    if let Some((ended, request)) = failed {
                        let why = brunt_cause::run::failed(d.display_request(request), failure_text(&**d, ended));
                        return Some(OneShotFailure { why, unreachable: false });
                    }
                }
            }
        }
        None
    }
}

fn failure_text(d: &dyn Workload, ended: &ExchangeEnd) -> String {
    let kind = ended.fault.map_or("", |kind| kind.name());
    let code = if ended.code == 0 { String::new() } else { format!(" {}", d.code_name(ended.code)) };
    let excerpt = ended.excerpt.as_deref().map(|bytes| format!(": {}", crate::readable(bytes).trim()));
    format!("{kind}{code}{}", excerpt.unwrap_or_default())
}
