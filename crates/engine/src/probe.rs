//! Before and after the load: one counted answer, told to the user; and the requests a plan asks for once.

use std::cell::RefCell;
use std::sync::Arc;

use cause::{Cause, response};
use measure::{Clock, Nanos};
use plan::Plan;
use record::FirstResponse;
use wire::{ConnectionOwner, Workload, ExchangeEnd, FaultKind, FollowUp, ResourceSearch, UserState, Origin, Request, MAX_SHOWN_BYTES};

use crate::builder::known;
use crate::conversation::{Kept, OneShot, Pages, Transcribed, Trouble, no_answer};
use crate::{AfterFailure, OneShotFailure, ProbeFailure, ProbeResult, Setup, Stop, Transcript};

/// How long each answer before a run may take: it may fill a table.
const BEFORE: Nanos = Nanos::from_secs(600);
/// How long each answer after a run may take.
const AFTER: Nanos = Nanos::from_secs(60);

/// Sends once, alone, what a user sends first (`request`, who knows this by then); redirects that the dialogue follows are followed. Where
/// there is no such request a connection is opened.
pub(crate) fn probe(
    dialogue: &Arc<dyn Workload>,
    (setup, stop): (&Setup, &Stop),
    (request, memory): (Option<usize>, &RefCell<UserState>),
) -> Result<ProbeResult, Box<ProbeFailure>> {
    let way = Way::new(setup, stop, memory);
    let result = probing(dialogue, request, &way);
    way.end();
    result
}

/// The same of any request of the run, by a user who may have come a part of its way.
pub(crate) fn probe_of<'a>(
    dialogue: &'a Arc<dyn Workload>,
    request: usize,
    way: &Way<'a>,
) -> Result<ProbeResult, Box<ProbeFailure>> {
    probing(dialogue, Some(request), way)
}

fn probing<'a>(
    dialogue: &'a Arc<dyn Workload>,
    request: Option<usize>,
    way: &Way<'a>,
) -> Result<ProbeResult, Box<ProbeFailure>> {
    let began = Clock.now();
    let mut probe = FirstResponse::default();
    let mut transcript = Transcript::default();
    let outcome = follow(dialogue, request, way, &mut probe, &mut transcript);
    probe.took = Clock.now() - began;
    match outcome {
        Ok(()) => Ok(ProbeResult { probe, transcript }),
        Err(Trouble { why, unreachable, fault }) => {
            fails(&mut probe, why);
            Err(Box::new(ProbeFailure { probe, transcript, unreachable, fault }))
        }
    }
}

/// What a user keeps at its beginning: what `setup` captured.
pub(crate) fn beginning(setup: &Setup) -> RefCell<UserState> {
    RefCell::new(UserState::with_values(setup.plan.setup_flow().map(known).unwrap_or_default()))
}

/// The way of one user, from request to request.
pub(crate) struct Way<'a> {
    setup: &'a Setup,
    stop: &'a Stop,
    /// It goes no further than that.
    until: Nanos,
    /// What it keeps.
    pub memory: &'a RefCell<UserState>,
    /// What it comes to that is a page, where it looks into pages.
    pages: Option<&'a Pages>,
    /// Its own connections, by where they lead ([`Belongs`]).
    own: RefCell<Vec<(&'a Origin, Kept<'a>)>>,
}

impl<'a> Way<'a> {
    /// Its beginning.
    pub fn new(setup: &'a Setup, stop: &'a Stop, memory: &'a RefCell<UserState>) -> Way<'a> {
        Way { setup, stop, until: Nanos::MAX, memory, pages: None, own: RefCell::default() }
    }

    /// What is gone through.
    pub fn plan(&self) -> &Plan {
        &self.setup.plan
    }

    /// The same with an end.
    pub fn until(self, until: Nanos) -> Way<'a> {
        Way { until, ..self }
    }

    /// The same, and it keeps the pages that it comes to here.
    pub fn keeping(self, pages: &'a Pages) -> Way<'a> {
        Way { pages: Some(pages), ..self }
    }

    /// The pages that it came to, each once.
    pub fn take_pages(&self) -> Vec<ResourceSearch> {
        self.pages.map(RefCell::take).unwrap_or_default()
    }

    /// Its own connections to such origins are closed.
    pub fn leave(&self, meant: &dyn Fn(&Origin) -> bool) {
        let (gone, stay) = self.own.take().into_iter().partition(|(origin, _)| meant(origin));
        *self.own.borrow_mut() = stay;
        let gone: Vec<(&Origin, Kept<'a>)> = gone;
        gone.into_iter().for_each(|(_, kept)| kept.end());
    }

    /// Its end: its own connections are closed.
    pub fn end(&self) {
        self.own.take().into_iter().for_each(|(_, kept)| kept.end());
    }

    /// How long the answer to a request may take, as in a run.
    fn patience(&self, request: usize) -> Nanos {
        let plan = &self.setup.plan;
        let own = plan.urls.get(request).filter(|_| plan.has_flows()).and_then(plan::WeightedUrl::timeout);
        own.unwrap_or(plan.timeout)
    }

    fn one_shot(&self, dialogue: &'a Arc<dyn Workload>, origin: &'a Origin, patience: Nanos) -> OneShot<'a> {
        let (setup, stop, memory, pages) = (self.setup, self.stop, self.memory, self.pages);
        OneShot { dialogue, setup, stop, origin, memory, patience, until: self.until, until_failure: true, pages }
    }

    /// Sends a request on its own connection, which the first one opens.
    fn on_own(
        &self,
        d: &'a Arc<dyn Workload>,
        (origin, request, patience): (&'a Origin, &'a Request, Nanos),
        transcribed: &mut Transcribed,
    ) -> Result<Vec<ExchangeEnd>, Trouble> {
        let mut own = self.own.borrow_mut();
        if let Some(at) = own.iter().position(|(known, _)| *known == origin) {
            let outcome = own[at].1.go_on((request, patience), transcribed);
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
    request: Option<usize>,
    way: &Way<'a>,
    probe: &mut FirstResponse,
    told: &mut Transcript,
) -> Result<(), Trouble> {
    let Some(request) = request.filter(|_| !d.prepared().holds_only) else {
        return exchange(d, way, (&d.origins()[0], None, way.setup.plan.timeout), probe, told).map(drop);
    };
    let patience = way.patience(request);
    let first = &d.requests()[request];
    let origin = &d.origins()[first.origin];
    // Only what users do in order goes on where it was.
    let belongs = if way.setup.plan.has_flows() { d.connection_owner(origin) } else { ConnectionOwner::Pool };
    let hop = match belongs {
        ConnectionOwner::Pool => exchange(d, way, (origin, Some(&first.request), patience), probe, told)?,
        ConnectionOwner::Iteration | ConnectionOwner::User => {
            probe.requests += 1;
            let mut transcribed = Transcribed::default();
            let outcome = way.on_own(d, (origin, &first.request, patience), &mut transcribed);
            write_down(&**d, transcribed, probe, told);
            outcome?.pop()
        }
    };
    hops(d, way, (hop, patience), probe, told)
}

/// Sends what an answer asked for, alone, and what answers to it ask for in turn.
pub(crate) fn follow_up(
    d: &Arc<dyn Workload>,
    next: &FollowUp,
    way: &Way<'_>,
    probe: &mut FirstResponse,
) -> Result<(), Trouble> {
    let began = Clock.now();
    let told = &mut Transcript::default();
    let patience = way.setup.plan.timeout;
    let hop = exchange(d, way, (&next.origin, Some(&next.request), patience), probe, told);
    let outcome = hop.and_then(|hop| hops(d, way, (hop, patience), probe, told));
    probe.took = Clock.now() - began;
    outcome
}

/// Follows an answer as far as it leads, and says how the last one ended.
fn hops(
    d: &Arc<dyn Workload>,
    way: &Way<'_>,
    (mut hop, patience): (Option<ExchangeEnd>, Nanos),
    probe: &mut FirstResponse,
    told: &mut Transcript,
) -> Result<(), Trouble> {
    while let Some(ended) = &mut hop {
        probe.status = if ended.code == 0 { String::new() } else { d.code_name(ended.code) };
        probe.payload = ended.payload;
        let Some(next) = ended.follow_up.take() else { break };
        hop = exchange(d, way, (&next.origin, Some(&next.request), patience), probe, told)?;
    }
    let Some((kind, why)) = hop.and_then(|ended| Some((ended.fault?, ended.cause))) else { return Ok(()) };
    let trouble = match (kind, why) {
        (_, None) => no_answer(cause::verbatim(kind.name())),
        (FaultKind::BrokenProtocol, Some(why)) => no_answer(response::broken(why)),
        (_, Some(why)) => no_answer(why),
    };
    Err(Trouble { fault: Some(kind), ..trouble })
}

fn exchange(
    d: &Arc<dyn Workload>,
    way: &Way<'_>,
    (origin, request, patience): (&Origin, Option<&Request>, Nanos),
    probe: &mut FirstResponse,
    told: &mut Transcript,
) -> Result<Option<ExchangeEnd>, Trouble> {
    let requests: Vec<&Request> = request.into_iter().collect();
    probe.requests += requests.len() as u64;
    let one_shot = OneShot {
        dialogue: d,
        setup: way.setup,
        stop: way.stop,
        origin,
        memory: way.memory,
        patience,
        until: way.until,
        until_failure: true,
        pages: way.pages,
    };
    let mut transcribed = Transcribed::default();
    let outcome = one_shot.run(&requests, &mut transcribed);
    write_down(&**d, transcribed, probe, told);
    Ok(outcome?.pop())
}

/// What went over one connection, behind what went over those before.
fn write_down(d: &dyn Workload, transcribed: Transcribed, probe: &mut FirstResponse, told: &mut Transcript) {
    let Transcribed { address, through, spoken, established, sent, received, failed_checks } = transcribed;
    told.failed_checks = failed_checks;
    (probe.address, probe.through, probe.spoken) = (address, through, spoken);
    let readable = established.and_then(|established| d.display_bytes(&established, &sent.head, &received.head));
    told.bytes[0] += sent.all;
    told.bytes[1] += received.all;
    told.left_out[0] += sent.all - sent.head.len() as u64;
    told.left_out[1] += received.all - received.head.len() as u64;
    let [sent, received] = readable.unwrap_or([sent.head, received.head]);
    append(&mut told.sent, sent);
    append(&mut told.received, received);
}

/// What a probe failed by.
pub(crate) fn fails(probe: &mut FirstResponse, why: Cause) {
    (probe.failure, probe.cause) = (Some(why.to_string()), Some(why));
}

/// However many hops there were, so much is shown of them.
fn append(told: &mut Vec<u8>, more: Vec<u8>) {
    // A body may end without a line break, and what follows it is another message.
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

/// Sends the requests that a plan asks for once before the run: the first that fails ends it.
///
/// # Errors
/// Which one failed and why.
pub(crate) fn before(d: &Arc<dyn Workload>, setup: &Setup, stop: &Stop) -> Result<(), OneShotFailure> {
    let one_shots = OneShots { setup, stop, patience: BEFORE, until: Nanos::MAX, until_failure: true };
    one_shots.run(d, &d.prepared().before).map_or(Ok(()), Err)
}

/// Sends the requests that a plan asks for once after the run, also where it was interrupted; the first that failed, in a
/// sentence.
pub(crate) fn after(d: &Arc<dyn Workload>, setup: &Setup, stop: &Stop, within: Option<Nanos>) -> Option<AfterFailure> {
    // The stop that ended the run is no reason to leave what it made behind.
    let stop = if stop.requested() { &Stop::default() } else { stop };
    let until = within.map_or(Nanos::MAX, |within| Clock.now() + within);
    let failed = OneShots { setup, stop, patience: AFTER, until, until_failure: false }.run(d, &d.prepared().after);
    failed.map(|failure| if stop.requested() { AfterFailure::Interrupted } else { AfterFailure::Failed(failure.why) })
}

/// Requests that are asked of every origin once.
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
            let one_shot =
                OneShot { dialogue: d, setup, stop, origin, memory, patience, until, until_failure, pages: None };
            match one_shot.run(&list, &mut Transcribed::default()) {
                Err(Trouble { why, unreachable, .. }) => return Some(OneShotFailure { why, unreachable }),
                Ok(ended) => {
                    let failed = ended.iter().zip(requests).find(|(ended, _)| ended.fault.is_some());
                    if let Some((ended, request)) = failed {
                        let why = cause::run::failed(d.display_request(request), told(&**d, ended));
                        return Some(OneShotFailure { why, unreachable: false });
                    }
                }
            }
        }
        None
    }
}

fn told(d: &dyn Workload, ended: &ExchangeEnd) -> String {
    let kind = ended.fault.map_or("", |kind| kind.name());
    let code = if ended.code == 0 { String::new() } else { format!(" {}", d.code_name(ended.code)) };
    let excerpt = ended.excerpt.as_deref().map(|bytes| format!(": {}", crate::readable(bytes).trim()));
    format!("{kind}{code}{}", excerpt.unwrap_or_default())
}
