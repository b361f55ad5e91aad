//! One user who goes through a flow once, alone: what `--debug` shows, without its pauses; and what is done once before and after a run.

mod pages;

use std::sync::Arc;

use measure::{Clock, Nanos};
use plan::flow::{Flow, SetupValue, OnFailure};
use scenario::{Action, Actions, ENDLESS, BatchMember, UserEvent, FlowProgram, Scenario, UserIndex, Wakeup};
use wire::{Workload, FaultKind, UserState, Origin, UserValues};

use crate::api::CHECKED;
use crate::connections::origins_of;
use crate::conversation::Pages;
use crate::probe::{Way, beginning, probe_of};
use crate::used_values::{RequestValue, used_values};
use crate::{AfterFailure, OneShotFailure, ProbeFailure, ProbeResult, Setup, Stop};

pub use pages::{LeftOut, Resource};

/// Whoever goes is alone.
const USER: UserIndex = UserIndex(0);
/// A loop that never ends is left after so many requests.
const MOST: usize = 200;

/// One step of a user who goes through a flow.
pub enum Walked {
    /// It sent a request.
    Sent {
        /// Which, by its index among those of the run.
        request: usize,
        /// What came of it.
        outcome: Result<Box<ProbeResult>, Box<ProbeFailure>>,
        /// The values it took out of the response, by name.
        captured: Vec<(String, Vec<u8>)>,
        /// The values of its user that it was made of.
        used: Vec<RequestValue>,
    },
    /// What it does from here on is done once for all users: `setup` or `teardown`.
    Part(&'static str),
    /// It fetched what a page names, or had it.
    Resource(Box<Resource>),
    /// What of the page's resources it did not fetch.
    LeftOut(LeftOut),
    /// It would have paused for so long.
    Paused(Nanos),
    /// It was stopped after so many requests.
    TooFar(usize),
    /// It was stopped in a loop that sends nothing and does not end.
    Endless,
}

/// Goes through the flow of a plan once, each request on a connection of its own, unless it is on one that is the user's; what is done once
/// for all users comes before and after.
pub(crate) fn walk(
    dialogue: &Arc<dyn Workload>,
    (setup, stop): (&Setup, &Stop),
    flow: &Flow,
    told: &mut dyn FnMut(Walked),
) {
    let (memory, pages) = (beginning(setup), Pages::default());
    let way = Way::new(setup, stop, &memory).keeping(&pages);
    let mut walk = Walk { dialogue, way, stop, flow, seed: setup.plan.seed, sent: 0, fetched: None };
    let user = Flow { start: flow.start.clone(), end: flow.end.clone(), ..flow.with_steps(&flow.steps) };
    let around = setup.plan.setup_flow().unwrap_or(flow);
    for (part, steps) in [("setup", around.with_steps(&around.setup)), ("", user), ("teardown", around.with_steps(&around.teardown))] {
        if steps.steps.is_empty() {
            continue;
        }
        if !part.is_empty() {
            told(Walked::Part(part));
        }
        walk.fetched = part.is_empty().then_some(0);
        walk.through(&steps, Some(MOST), &mut |walked| {
            told(walked);
            Nanos::ZERO
        });
    }
    walk.way.end();
}

/// Goes once through the `setup` of the plan's flow; what it captured.
///
/// # Errors
/// Which step failed and why.
pub(crate) fn set_up(dialogue: &Arc<dyn Workload>, setup: &Setup, stop: &Stop) -> Result<Vec<SetupValue>, OneShotFailure> {
    let Some(flow) = setup.plan.setup_flow().filter(|flow| !flow.setup.is_empty()) else { return Ok(Vec::new()) };
    let memory = once(dialogue, (setup, stop), &flow.with_steps(&flow.setup), Nanos::MAX, true)?;
    let known = (0..flow.variables.len() as u16).filter_map(|variable| {
        let value = memory.values.get(variable)?.to_vec();
        Some(SetupValue { variable, value, ends: memory.values.ends(variable).to_vec() })
    });
    Ok(known.collect())
}

/// Goes once through its `teardown`, also where the run was interrupted; the first step that failed.
pub(crate) fn tear_down(
    dialogue: &Arc<dyn Workload>,
    setup: &Setup,
    stop: &Stop,
    within: Option<Nanos>,
) -> Option<AfterFailure> {
    let flow = setup.plan.setup_flow().filter(|flow| !flow.teardown.is_empty())?;
    // The stop that ended the run is no reason to leave what it made behind.
    let again = Stop::default();
    let stop = if stop.requested() { &again } else { stop };
    let until = within.map_or(Nanos::MAX, |within| Clock.now() + within);
    let failed = once(dialogue, (setup, stop), &flow.with_steps(&flow.teardown), until, false).err()?;
    Some(if stop.requested() { AfterFailure::Interrupted } else { AfterFailure::Failed(failed.why) })
}

/// Goes through steps once, with their pauses; what was kept by then. A step that fails and is not to go on ends it.
fn once(
    dialogue: &Arc<dyn Workload>,
    (setup, stop): (&Setup, &Stop),
    steps: &Flow,
    until: Nanos,
    before: bool,
) -> Result<UserState, OneShotFailure> {
    let memory = beginning(setup);
    let way = Way::new(setup, stop, &memory).until(until);
    let mut walk = Walk { dialogue, way, stop, flow: steps, seed: setup.plan.seed, sent: 0, fetched: None };
    let mut failed = None;
    walk.through(steps, None, &mut |walked| match walked {
        Walked::Sent { request, outcome: Err(failure), .. } => {
            if failed.is_none() && !goes_on(steps, request as u32) {
                let name = setup.plan.urls.get(request).map(|url| url.name.as_deref().unwrap_or(&url.url).to_owned());
                let (name, why) = (name.unwrap_or_default(), failure.probe.cause.clone());
                let why = why.unwrap_or_else(|| cause::verbatim(""));
                let why = match &failure.probe.status[..] {
                    "" => cause::run::failed(name, why),
                    status => cause::run::failed_with(name, why, status),
                };
                failed = Some(OneShotFailure { why, unreachable: before && failure.unreachable });
            }
            Nanos::ZERO
        }
        Walked::Paused(pause) => pause,
        Walked::Endless => {
            let why = cause::run::endless().into();
            failed.get_or_insert(OneShotFailure { why, unreachable: false });
            Nanos::ZERO
        }
        _ => Nanos::ZERO,
    });
    walk.way.end();
    drop(walk);
    failed.map_or_else(|| Ok(memory.into_inner()), Err)
}

/// True of a request after whose failure the next step follows.
fn goes_on(steps: &Flow, request: u32) -> bool {
    let mut goes_on = false;
    steps.visit_steps(&mut |step| {
        goes_on |= step.requests().any(|sent| sent == (request, OnFailure::GoOn));
    });
    goes_on
}

/// One user on its way.
struct Walk<'a> {
    dialogue: &'a Arc<dyn Workload>,
    way: Way<'a>,
    stop: &'a Stop,
    flow: &'a Flow,
    seed: u64,
    /// Requests so far.
    sent: usize,
    /// Resources of pages so far, where they are fetched.
    fetched: Option<usize>,
}

impl Walk<'_> {
    /// Goes through steps once, telling each; pauses last as long as `told` says.
    fn through(&mut self, steps: &Flow, most: Option<usize>, told: &mut dyn FnMut(Walked) -> Nanos) {
        let program = Arc::new(FlowProgram::of(steps).expect(CHECKED));
        let mut user = scenario::FlowScenario::new(Arc::clone(&program), self.seed);
        let (mut now, mut acts) = (Clock.now(), Actions::new());
        let mut prepares = user.has_start_section(USER);
        let mut news = Some(UserEvent::Begin);
        while !self.stop.requested() {
            if let Some(news) = news.take() {
                user.wake(Wakeup::new(USER, news, now), &mut self.way.memory.borrow_mut().values, &mut acts);
            }
            let Some(act) = acts.pop_front() else { return };
            news = match act {
                Action::Send(_) | Action::SendInBatch(..) if most == Some(self.sent) => {
                    told(Walked::TooFar(self.sent));
                    return;
                }
                Action::Send(request) => Some(self.asks(request.at(), None, told)),
                Action::SendInBatch(request, batch) => Some(self.asks(request.at(), Some(batch), told)),
                Action::Pause(pause) => {
                    let sleeps = told(Walked::Paused(pause));
                    now = now.saturating_add(pause);
                    self.sleep(sleeps);
                    Some(UserEvent::Resumed)
                }
                // What comes before the first iteration is over, or the iteration is.
                Action::Done => Some(if std::mem::take(&mut prepares) { UserEvent::Begin } else { UserEvent::NoMoreVisits }),
                Action::Yielded(ENDLESS) => {
                    told(Walked::Endless);
                    return;
                }
                Action::Yielded(_) => Some(UserEvent::Resumed),
                Action::Close(which) => {
                    self.goes_away(&program.closes()[which]);
                    None
                }
                // A flow composes nothing.
                Action::Wait | Action::Report(_) | Action::Stop(_) | Action::Compose(_) => None,
                Action::Hold | Action::Leave => return,
            };
            if let Some(UserEvent::Ended { .. }) = news {
                now = now.max(Clock.now());
            }
        }
    }

    /// Sends a request, and fetches what its response names where it is a page; how its user hears of it.
    fn asks(&mut self, request: usize, batch: Option<BatchMember>, told: &mut dyn FnMut(Walked) -> Nanos) -> UserEvent {
        let fault = self.send(request, told);
        let of_page = self.fetch(request, batch.is_none(), &mut |walked| {
            told(walked);
        });
        let on_failure = batch.map(|batch| batch.on_failure).unwrap_or_default();
        UserEvent::Ended { code: 0, fault: fault.or(of_page), on_failure }
    }

    fn send(&mut self, request: usize, told: &mut dyn FnMut(Walked) -> Nanos) -> Option<FaultKind> {
        let before = self.way.memory.borrow().values.clone();
        let outcome = probe_of(self.dialogue, request, &self.way);
        self.sent += 1;
        let fault = fault(&outcome);
        let captured = captured(self.flow, &before, &self.way.memory.borrow().values);
        let used = used_values(self.way.plan(), request, &before);
        told(Walked::Sent { request, outcome: outcome.map(Box::new), captured, used });
        fault
    }

    /// Its own connections to these servers are closed; all others are of one request each.
    fn goes_away(&self, servers: &[String]) {
        let origins = origins_of(servers, self.way.plan(), &**self.dialogue);
        let all = self.dialogue.origins();
        let meant = |origin: &Origin| {
            origins.as_ref().is_none_or(|origins| origins.iter().any(|at| all.get(at.at()) == Some(origin)))
        };
        self.way.leave(&meant);
    }

    /// Sleeps, and wakes early where a stop is asked for.
    fn sleep(&self, pause: Nanos) {
        let until = Clock.now().saturating_add(pause);
        while !self.stop.requested() && Clock.now() < until {
            let left = (until - Clock.now()).min(Nanos::from_millis(50));
            std::thread::sleep(std::time::Duration::from_nanos(left.0));
        }
    }
}

fn fault(outcome: &Result<ProbeResult, Box<ProbeFailure>>) -> Option<FaultKind> {
    outcome.as_ref().err().map(|failure| failure.fault.unwrap_or(FaultKind::Closed))
}

/// The values that are others than before.
fn captured(flow: &Flow, before: &UserValues, after: &UserValues) -> Vec<(String, Vec<u8>)> {
    let changed = flow.variables.iter().enumerate().filter_map(|(at, name)| {
        let value = after.get(at as u16)?;
        (before.get(at as u16) != Some(value)).then(|| (name.clone(), value.to_vec()))
    });
    changed.collect()
}
