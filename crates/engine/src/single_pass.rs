//! A single pass of one user through a flow: `--debug` (without pauses), and the steps performed once before and after
//! a run.

mod pages;

use std::sync::Arc;

use brunt_contract::{FaultKind, Origin, UserState, UserValues, Workload};
use brunt_measure::{Clock, Nanos};
use brunt_plan::flow::{Flow, OnFailure, SetupValue};
use brunt_scenario::{Action, Actions, BatchMember, ENDLESS, FlowProgram, Scenario, UserEvent, UserIndex, Wakeup};

use crate::api::CHECKED;
use crate::connections::origins_of;
use crate::conversation::Pages;
use crate::probe::{RequestPass, initial_state, probe_of};
use crate::used_values::{RequestValue, used_values};
use crate::{AfterFailure, OneShotFailure, ProbeFailure, ProbeResult, Setup, Stop};

pub use pages::{FetchedResource, SkippedResources};

/// The only user of the pass.
const USER: UserIndex = UserIndex(0);
/// Maximum number of requests, which ends an endless loop.
const MOST: usize = 200;

/// An event of a single pass.
pub enum PassEvent {
    /// A request was sent.
    Sent {
        /// Index of the request among those of the run.
        request: usize,
        /// The outcome.
        outcome: Result<Box<ProbeResult>, Box<ProbeFailure>>,
        /// Values captured from the response, by name.
        captured: Vec<(String, Vec<u8>)>,
        /// Values of the user that the request uses.
        used: Vec<RequestValue>,
    },
    /// A section that runs once for all users begins: `setup` or `teardown`.
    Section(&'static str),
    /// A resource of a page was fetched or found in the cache.
    Resource(Box<FetchedResource>),
    /// Resources of the page that were not fetched.
    LeftOut(SkippedResources),
    /// A pause of this length was skipped.
    Paused(Nanos),
    /// The pass was stopped after this number of requests.
    RequestLimit(usize),
    /// The pass was stopped in an endless loop that sends nothing.
    Endless,
}

/// Runs the flow of a plan once, preceded by `setup` and followed by `teardown`. Each request uses a new connection
/// unless users own the connection.
pub(crate) fn walk(
    workload: &Arc<dyn Workload>,
    (setup, stop): (&Setup, &Stop),
    flow: &Flow,
    on_event: &mut dyn FnMut(PassEvent),
) {
    let (memory, pages) = (initial_state(setup), Pages::default());
    let way = RequestPass::new(setup, stop, &memory).with_pages(&pages);
    let mut walk = SinglePass { workload, pass: way, stop, flow, seed: setup.plan.seed, sent: 0, fetched: None };
    let user = Flow { start: flow.start.clone(), end: flow.end.clone(), ..flow.with_steps(&flow.steps) };
    let around = setup.plan.setup_flow().unwrap_or(flow);
    for (part, steps) in
        [("setup", around.with_steps(&around.setup)), ("", user), ("teardown", around.with_steps(&around.teardown))]
    {
        if steps.steps.is_empty() {
            continue;
        }
        if !part.is_empty() {
            on_event(PassEvent::Section(part));
        }
        walk.fetched = part.is_empty().then_some(0);
        walk.run(&steps, Some(MOST), &mut |walked| {
            on_event(walked);
            Nanos::ZERO
        });
    }
    walk.pass.end();
}

/// Runs the `setup` of the plan's flow once; returns the captured values.
///
/// # Errors
/// The failed step and the cause.
pub(crate) fn set_up(
    workload: &Arc<dyn Workload>,
    setup: &Setup,
    stop: &Stop,
) -> Result<Vec<SetupValue>, OneShotFailure> {
    let Some(flow) = setup.plan.setup_flow().filter(|flow| !flow.setup.is_empty()) else { return Ok(Vec::new()) };
    let memory = once(workload, (setup, stop), &flow.with_steps(&flow.setup), Nanos::MAX, true)?;
    let known = (0..flow.variables.len() as u16).filter_map(|variable| {
        let value = memory.values.get(variable)?.to_vec();
        Some(SetupValue { variable, value, ends: memory.values.ends(variable).to_vec() })
    });
    Ok(known.collect())
}

/// Runs the `teardown` once, even if the run was interrupted; returns the first step that failed.
pub(crate) fn tear_down(
    workload: &Arc<dyn Workload>,
    setup: &Setup,
    stop: &Stop,
    within: Option<Nanos>,
) -> Option<AfterFailure> {
    let flow = setup.plan.setup_flow().filter(|flow| !flow.teardown.is_empty())?;
    // The stop that ended the run must not prevent the cleanup.
    let again = Stop::default();
    let stop = if stop.requested() { &again } else { stop };
    let until = within.map_or(Nanos::MAX, |within| Clock.now() + within);
    let failed = once(workload, (setup, stop), &flow.with_steps(&flow.teardown), until, false).err()?;
    Some(if stop.requested() { AfterFailure::Interrupted } else { AfterFailure::Failed(failed.why) })
}

/// Runs steps once, with their pauses; returns the captured values. A failed step ends the pass unless the flow
/// continues on failure.
fn once(
    workload: &Arc<dyn Workload>,
    (setup, stop): (&Setup, &Stop),
    steps: &Flow,
    until: Nanos,
    before: bool,
) -> Result<UserState, OneShotFailure> {
    let memory = initial_state(setup);
    let way = RequestPass::new(setup, stop, &memory).until(until);
    let mut walk = SinglePass { workload, pass: way, stop, flow: steps, seed: setup.plan.seed, sent: 0, fetched: None };
    let mut failed = None;
    walk.run(steps, None, &mut |walked| match walked {
        PassEvent::Sent { request, outcome: Err(failure), .. } => {
            if failed.is_none() && !continues_after_failure(steps, request as u32) {
                let name = setup.plan.urls.get(request).map(|url| url.name.as_deref().unwrap_or(&url.url).to_owned());
                let (name, why) = (name.unwrap_or_default(), failure.probe.cause.clone());
                let why = why.unwrap_or_else(|| brunt_cause::verbatim(""));
                let why = match &failure.probe.status[..] {
                    "" => brunt_cause::run::failed(name, why),
                    status => brunt_cause::run::failed_with(name, why, status),
                };
                failed = Some(OneShotFailure { why, unreachable: before && failure.unreachable });
            }
            Nanos::ZERO
        }
        // Nobody waits for the rest of a pass that has failed.
        PassEvent::Paused(pause) => {
            if failed.is_some() {
                Nanos::ZERO
            } else {
                pause
            }
        }
        PassEvent::Endless => {
            let why = brunt_cause::run::endless().into();
            failed.get_or_insert(OneShotFailure { why, unreachable: false });
            Nanos::ZERO
        }
        _ => Nanos::ZERO,
    });
    walk.pass.end();
    drop(walk);
    failed.map_or_else(|| Ok(memory.into_inner()), Err)
}

/// Returns `true` if the flow continues after a failure of this request.
fn continues_after_failure(steps: &Flow, request: u32) -> bool {
    let mut goes_on = false;
    steps.visit_steps(&mut |step| {
        goes_on |= step.requests().any(|sent| sent == (request, OnFailure::GoOn));
    });
    goes_on
}

/// One user's single pass.
struct SinglePass<'a> {
    workload: &'a Arc<dyn Workload>,
    pass: RequestPass<'a>,
    stop: &'a Stop,
    flow: &'a Flow,
    seed: u64,
    /// Number of requests so far.
    sent: usize,
    /// Number of page resources fetched so far; `None` if they are not fetched.
    fetched: Option<usize>,
}

impl SinglePass<'_> {
    /// Runs steps once and reports each; `on_event` returns the duration of pauses.
    fn run(&mut self, steps: &Flow, most: Option<usize>, on_event: &mut dyn FnMut(PassEvent) -> Nanos) {
        let program = Arc::new(FlowProgram::of(steps).expect(CHECKED));
        let user = brunt_scenario::FlowScenario::new(Arc::clone(&program), self.seed);
        // No other iteration follows.
        let mut user = user.with_arrivals(true);
        let (mut now, mut acts) = (Clock.now(), Actions::new());
        let mut prepares = user.has_start_section(USER);
        let mut news = Some(UserEvent::Begin);
        while !self.stop.requested() {
            if let Some(news) = news.take() {
                user.wake(Wakeup::new(USER, news, now), &mut self.pass.memory.borrow_mut().values, &mut acts);
            }
            let Some(act) = acts.pop_front() else { return };
            news = match act {
                Action::Send(_) | Action::SendInBatch(..) if most == Some(self.sent) => {
                    on_event(PassEvent::RequestLimit(self.sent));
                    return;
                }
                Action::Send(request) => Some(self.request(request.at(), None, on_event)),
                Action::SendInBatch(request, batch) => Some(self.request(request.at(), Some(batch), on_event)),
                Action::Pause(pause) => {
                    let sleeps = on_event(PassEvent::Paused(pause));
                    now = now.saturating_add(pause);
                    self.sleep(sleeps);
                    Some(UserEvent::Resumed)
                }
                // Either the start section or the iteration is complete.
                Action::Done => {
                    Some(if std::mem::take(&mut prepares) { UserEvent::Begin } else { UserEvent::NoMoreVisits })
                }
                Action::Yielded(ENDLESS) => {
                    on_event(PassEvent::Endless);
                    return;
                }
                Action::Yielded(_) => Some(UserEvent::Resumed),
                Action::Close(which) => {
                    self.close_connections(&program.closes()[which]);
                    None
                }
                // A flow composes no requests.
                Action::Wait | Action::Report(_) | Action::Stop(_) | Action::Compose(_) => None,
                Action::Hold | Action::Leave => return,
            };
            if let Some(UserEvent::Ended { .. }) = news {
                now = now.max(Clock.now());
            }
        }
    }

    /// Sends a request and fetches the resources of its response if it is a page; returns the event for the user.
    fn request(
        &mut self,
        request: usize,
        batch: Option<BatchMember>,
        on_event: &mut dyn FnMut(PassEvent) -> Nanos,
    ) -> UserEvent {
        let fault = self.send(request, on_event);
        let of_page = self.fetch(request, batch.is_none(), &mut |walked| {
            on_event(walked);
        });
        let on_failure = batch.map(|batch| batch.on_failure).unwrap_or_default();
        UserEvent::Ended { code: 0, fault: fault.or(of_page), on_failure }
    }

    fn send(&mut self, request: usize, on_event: &mut dyn FnMut(PassEvent) -> Nanos) -> Option<FaultKind> {
        let before = self.pass.memory.borrow().values.clone();
        let outcome = probe_of(self.workload, request, &self.pass);
        self.sent += 1;
        let fault = fault(&outcome);
        let captured = captured(self.flow, &before, &self.pass.memory.borrow().values);
        let used = used_values(self.pass.plan(), request, &before);
        on_event(PassEvent::Sent { request, outcome: outcome.map(Box::new), captured, used });
        fault
    }

    /// Closes the user's own connections to these servers; all other connections serve a single request anyway.
    fn close_connections(&self, servers: &[String]) {
        let origins = origins_of(servers, self.pass.plan(), &**self.workload);
        let all = self.workload.origins();
        let meant = |origin: &Origin| {
            origins.as_ref().is_none_or(|origins| origins.iter().any(|at| all.get(at.at()) == Some(origin)))
        };
        self.pass.close_connections(&meant);
    }

    /// Sleeps until the pause is over or a stop is requested.
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

/// Returns the values that changed.
fn captured(flow: &Flow, before: &UserValues, after: &UserValues) -> Vec<(String, Vec<u8>)> {
    let changed = flow.variables.iter().enumerate().filter_map(|(at, name)| {
        let value = after.get(at as u16)?;
        (before.get(at as u16) != Some(value)).then(|| (name.clone(), value.to_vec()))
    });
    changed.collect()
}
