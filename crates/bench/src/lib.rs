//! A run as a value: prepared once and measured any number of times, each time with a different load, without a screen.
//!
//! `brunt run` and `brunt demo` measure it once and show it. A search for the highest sustainable rate or a comparison
//! of two settings would measure it in a loop.

pub mod checks;
mod cores;
mod data_end;
mod elsewhere;
pub mod guard;
pub mod host;
pub mod journal;
mod objective_names;
pub mod proxy_route;
mod readings;
mod reference;
pub mod remote_probes;
mod resolver;
pub mod share;
mod target_queries;

use std::net::SocketAddr;
use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::{FaultKind, Protocol, UsageError};
use brunt_engine::{
    AfterFailure, Assignment, Briefing, Control, OneShotFailure, PreparedRun, ProbeFailure, Processes, Setup, Stop,
    Transcript,
};
use brunt_measure::{Nanos, sanitize};
use brunt_plan::flow::SetupValue;
use brunt_plan::{Bundle, Plan, Trial};
use brunt_protocols::file::gathering;
use brunt_record::{FirstResponse, GeneratorHost, Notice, RunEvent, RunListener, Subject};
use brunt_report::{Summary, SummaryBuilder};

use crate::elsewhere::{Elsewhere, ElsewherePlace};
use crate::guard::PublicAddressGuard;
use crate::journal::Journal;
use crate::proxy_route::ProxyRoute;
use crate::readings::CounterReadings;
use crate::reference::ReferenceClient;
use crate::resolver::SystemResolver;
use crate::share::RecordedShare;
use brunt_config::redact::Redaction;
use brunt_config::{CounterSources, Intent};

pub use elsewhere::{FleetRun, FleetRunner, WorkerPlaces};

/// Number of bytes of an exchange that the reason of a failure may quote.
const QUOTED: usize = 64 << 10;

/// A plan whose requests are encoded.
pub struct Bench {
    prepared: Arc<PreparedRun>,
    /// The setup for the plan as requested; each trial brings its own load.
    setup: Setup,
    /// The inputs of workers elsewhere; `None` if they are threads.
    elsewhere: Option<Elsewhere>,
    guard: Arc<PublicAddressGuard>,
    resolver: Arc<SystemResolver>,
    redaction: Redaction,
    /// The counters that are read during a measurement.
    watching: CounterSources,
    /// The failure if the target was already unreachable before the requests were prepared.
    refused: Option<Box<ProbeFailure>>,
    /// Number of iterations for which the data of each scenario suffices.
    rows: Vec<Option<u64>>,
    first: Option<FirstResponse>,
    /// Set unless the plan forbids any request before the load.
    asks_first: bool,
    /// Set once the `setup` of the flow is done.
    is_set_up: bool,
}

/// The first answer of a target.
pub struct FirstOutcome {
    /// The answer as recorded, with secrets masked.
    pub answer: FirstResponse,
    /// Set if a run would count it as a failure.
    pub fails: bool,
    /// Set if every request would fail in the same way ([`brunt_engine::ProbeFailure::refused`]).
    pub refused: bool,
}

/// The reason why no load can be sent.
pub struct NoLoadReason {
    /// The response recorded in place of a first answer; it contains the reason, with secrets
    /// masked.
    pub answer: FirstResponse,
    /// Set if the target cannot be reached at all.
    pub unreachable: bool,
}

impl Bench {
    /// Checks and encodes everything possible before anything is sent. If there are very many URLs,
    /// only the first ones stay in the intent.
    ///
    /// # Errors
    /// Returns an error that names the wrong option.
    pub fn prepare(
        intent: &mut Intent,
        protocol: &dyn Protocol,
        host: &GeneratorHost,
        places: WorkerPlaces,
    ) -> Result<Bench, UsageError> {
        intent.shown = intent.shown.clone().listed();
        let place = match (places.fleet, intent.processes) {
            (Some(_), None) if intent.plan.reference.is_some() => {
                let trouble = complaint!(
                    "cannot be used with --agents: the reference client would reach the service from this machine, another way than the load; leave it out",
                    "不能与 --agents 同用：参照客户端会从本机访问服务，与负载的路径不同；请去掉"
                );
                return Err(UsageError::new("--reference", trouble));
            }
            (Some(fleet), None) => {
                use_all_workers(intent, &*fleet);
                Some((ElsewherePlace::Fleet(fleet), "--agents"))
            }
            (Some(_), Some(_)) => {
                let trouble = complaint!(
                    "cannot be used with --agents: each agent uses all its cores; leave it out",
                    "不能与 --agents 同用：每台施压机都会用上自己的所有核；请去掉"
                );
                return Err(UsageError::new("--processes", trouble));
            }
            (None, Some(number)) => Some((ElsewherePlace::Processes(number, places.launcher), "--processes")),
            (None, None) => None,
        };
        // Workers elsewhere need the whole plan.
        let whole = place.map(|(place, option)| (place, option, intent.plan.clone()));
        let mut prepare = || Bench::from_plan(&mut intent.plan, protocol, host, |_| ());
        let (bench, bundle) = if whole.is_some() { gathering(prepare) } else { (prepare(), Bundle::default()) };
        let mut bench = bench?;
        if let Some((_, option, _)) = &whole {
            bundle.check().map_err(|trouble| UsageError::new(*option, trouble))?;
        }
        intent.plan.requests = bench.setup.plan.requests;
        intent.shown.requests = intent.plan.requests;
        [&mut intent.plan, &mut intent.shown]
            .into_iter()
            .for_each(|plan| data_end::limit_iterations(plan, &bench.rows));
        bench.setup.shown = intent.shown.clone();
        bench.setup.command = intent.command.clone();
        bench.redaction = intent.redaction.clone();
        bench.watching = intent.watching.clone();
        bench.asks_first = intent.preflight;
        readings::check(&bench.watching, &intent.plan)?;
        bench.elsewhere = whole.map(|(place, _, plan)| Elsewhere { place, plan, bundle });
        Ok(bench)
    }

    /// Like [`Bench::prepare`], for a plan that is not shown. `restrict` gets the guard of addresses before anything is
    /// sent to the target.
    ///
    /// # Errors
    /// See [`Bench::prepare`].
    pub fn from_plan(
        plan: &mut Plan,
        protocol: &dyn Protocol,
        host: &GeneratorHost,
        restrict: impl FnOnce(&PublicAddressGuard),
    ) -> Result<Bench, UsageError> {
        let urls = plan.take_urls();
        let plan = &*plan;
        let mut asked = checks::protocol_options(plan, urls)?;
        checks::heartbeats(plan, protocol, &asked)?;
        let resolver = Arc::new(SystemResolver::new(plan).map_err(|t| UsageError::new("--connect-to", t))?);
        let guard = PublicAddressGuard::of_system(&resolver);
        restrict(&guard);
        let (proxies, tls) = (Arc::clone(&asked.proxies), checks::security(plan)?);
        let through = Arc::new(ProxyRoute::new(plan, proxies, Arc::clone(&guard), tls)?);
        let mut setup = Setup {
            plan: Arc::new(plan.clone()),
            shown: plan.clone(),
            command: Vec::new(),
            host: host.clone(),
            resolver: Arc::clone(&through) as Arc<dyn brunt_engine::Resolver>,
            security: through,
            sources: checks::local_sources(plan)?,
            processes: None,
            control: Default::default(),
            read_late: None,
            scenario: None,
        };
        let (prepared, refused) = target_queries::prepare(protocol, &mut asked, &setup)?;
        if refused.is_none() {
            objective_names::check_objectives(plan, &prepared)?;
        }
        proxy_route::check(plan, prepared.origins())?;
        let requests = check_measurable(plan, &prepared)?;
        let rows = match refused {
            None => data_end::iterations(plan, protocol, &asked, &prepared)?,
            Some(_) => Vec::new(),
        };
        for plan in [Arc::make_mut(&mut setup.plan), &mut setup.shown] {
            plan.requests = requests;
            data_end::limit_iterations(plan, &rows);
        }
        let redaction = Redaction::default();
        let watching = CounterSources::default();
        Ok(Bench {
            prepared,
            setup,
            elsewhere: None,
            guard,
            resolver,
            redaction,
            watching,
            refused,
            rows,
            first: None,
            asks_first: true,
            is_set_up: false,
        })
    }

    /// Returns the setup, with secrets masked.
    pub fn shown(&self) -> &Setup {
        &self.setup
    }

    /// Returns the prepared requests.
    pub fn prepared(&self) -> &PreparedRun {
        &self.prepared
    }

    /// Returns the guard of public addresses.
    pub fn guard(&self) -> &PublicAddressGuard {
        &self.guard
    }

    /// Runs a share of the run, on behalf of another process.
    pub fn take_share(&self, assignment: Assignment) {
        Arc::clone(&self.prepared).take_share(&self.setup, assignment);
    }

    /// Sends the requests that precede the load in the plan.
    ///
    /// # Errors
    /// Returns the reason why no load may be sent.
    pub fn before(&self, stop: &Stop) -> Result<(), Box<NoLoadReason>> {
        if self.refused.is_some() {
            return Ok(());
        }
        self.prepared.before(&self.setup, stop).map_err(|why| self.no_load(why))
    }

    /// Runs the `setup` of the flow, only once even if called again; from then on all users have the values it
    /// captured.
    ///
    /// # Errors
    /// Returns the reason why no load may be sent.
    pub fn set_up(&mut self, stop: &Stop) -> Result<(), Box<NoLoadReason>> {
        let flow = self.setup.plan.setup_flow();
        if self.refused.is_some() || self.is_set_up || flow.is_none_or(|flow| flow.setup.is_empty()) {
            return Ok(());
        }
        let known = self.prepared.set_up(&self.setup, stop).map_err(|why| self.no_load(why))?;
        if stop.requested() {
            return Ok(());
        }
        self.is_set_up = true;
        self.learn_secrets(&known);
        let own = std::iter::once(Arc::make_mut(&mut self.setup.plan));
        let apart = self.elsewhere.iter_mut().map(|apart| &mut apart.plan);
        own.chain(apart).filter_map(Plan::setup_flow_mut).for_each(|flow| flow.known.clone_from(&known));
        Ok(())
    }

    /// Adds the secrets among the values captured by `setup` to those that are masked.
    fn learn_secrets(&mut self, known: &[SetupValue]) {
        let variables = self.setup.plan.variables();
        for value in known {
            let name = variables.get(usize::from(value.variable)).map_or("", String::as_str);
            let mut from = 0;
            for end in value.ends.iter().map(|end| *end as usize).chain([value.value.len()]) {
                let element = value.value.get(from..end).unwrap_or_default();
                self.redaction.learn(name, &sanitize::bytes(element));
                from = end;
            }
        }
    }

    /// Returns the masking of the secrets that are known by now.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Returns `true` if the last run could not begin because an agent was not there, or made another run.
    pub fn lacks_agents(&self) -> bool {
        matches!(&self.elsewhere, Some(Elsewhere { place: ElsewherePlace::Fleet(fleet), .. }) if fleet.lacks_agents())
    }

    /// Runs the `teardown`; returns a notice if it failed.
    pub fn tear_down(&self, stop: &Stop, within: Option<Nanos>) -> Option<Notice> {
        Some(match self.prepared.tear_down(&self.setup, stop, within)? {
            AfterFailure::Interrupted => Notice::new(Subject::AfterInterrupted, []),
            AfterFailure::Failed(why) => Notice::new(Subject::TeardownFailed, []).with_cause("why", why),
        })
    }

    /// Returns `true` once a `setup` is done, which a `teardown` may have to undo.
    pub fn is_set_up(&self) -> bool {
        self.is_set_up
    }

    /// Checks that the owners of the machines that make the runs, if others do, allow what the plan asks of them.
    ///
    /// # Errors
    /// Returns an error that names the machine and what its owner allows.
    pub fn check_owners(&self) -> Result<(), UsageError> {
        match self.elsewhere.as_ref().map(|elsewhere| &elsewhere.place) {
            Some(ElsewherePlace::Fleet(fleet)) => fleet.check(&self.prepared, &self.setup.plan),
            _ => Ok(()),
        }
    }

    fn no_load(&self, why: OneShotFailure) -> Box<NoLoadReason> {
        let mut found = FirstResponse { url: self.first_url(), ..FirstResponse::default() };
        (found.failure, found.cause) = (Some(why.why.to_string()), Some(why.why));
        self.redaction.probe(&mut found);
        Box::new(NoLoadReason { answer: found, unreachable: why.unreachable })
    }

    /// Sends the first request once, unless the run would notice; its answer is the first answer of all following
    /// measurements.
    ///
    /// # Errors
    /// Returns the reason why no load may be sent, such as an unreachable target.
    pub fn first_answer(&mut self, stop: &Stop) -> Result<FirstOutcome, Box<NoLoadReason>> {
        let outcome = match &self.refused {
            Some(failure) => Err(failure.clone()),
            None => self.prepared.preflight(&self.setup, stop, self.asks_first),
        };
        let unreachable = outcome.as_ref().is_err_and(|failure| failure.unreachable);
        let refused = outcome.as_ref().is_err_and(|failure| failure.refused);
        let (mut answer, Transcript { sent, received, .. }) =
            outcome.map_or_else(|failure| (failure.probe, failure.transcript), |found| (found.probe, found.transcript));
        if answer.url.is_empty() {
            answer.url = self.first_url();
        }
        // The reason of a failure may quote the secrets of the exchange.
        let quoted = if answer.failure.is_some() { QUOTED } else { 0 };
        let [mut sent, mut received] = [sent, received].map(|bytes| sanitize::bytes(&bytes[..bytes.len().min(quoted)]));
        self.redaction.probed_exchange(&mut answer, [&mut sent, &mut received], []);
        if unreachable {
            return Err(Box::new(NoLoadReason { answer, unreachable }));
        }
        // An answer that does not count as a success is still an answer: the run may be meant to provoke it.
        let fails = !answer.status.is_empty() && answer.failure.is_some();
        answer.failure.take_if(|failure| failure == FaultKind::WrongStatus.name());
        self.first = Some(answer.clone());
        Ok(FirstOutcome { answer, fails, refused })
    }

    /// Returns the first URL, as written.
    fn first_url(&self) -> String {
        self.setup.plan.urls.first().map(|url| url.url.clone()).unwrap_or_default()
    }

    /// Runs a trial; the listeners receive the events as they happen, with secrets masked.
    ///
    /// # Errors
    /// Returns an error if the load does not fit these requests.
    pub fn measure(
        &self,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<Summary, UsageError> {
        let mut summing = SummaryBuilder::default();
        let mut journal = Journal::new(self.redaction.clone());
        journal.add_listener(&mut summing);
        listeners.iter_mut().for_each(|listener| journal.add_listener(&mut **listener));
        self.run(trial, (stop, &Control::default()), &mut |event| journal.process(event))?;
        Ok(summing.finish())
    }

    /// Like [`Bench::measure`], with the unmasked events of the engine, for a caller that masks and summarizes them.
    ///
    /// # Errors
    /// See [`Bench::measure`].
    pub fn run(
        &self,
        trial: &Trial,
        (stop, control): (&Stop, &Control),
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<(), UsageError> {
        let setup = Setup { control: control.clone(), ..self.setup_of(trial)? };
        let mut first = self.first.clone();
        let mut observed = CounterReadings::begin(&setup.host.name, &self.watching, &self.setup.plan, self.address())?;
        let mut client = None;
        let mut pass = |event| {
            let started = matches!(event, RunEvent::Started(_));
            if started {
                client = ReferenceClient::begin(&self.prepared, &setup);
            }
            match &mut client {
                Some(client) => client.pass(event, &mut |event| observed.pass(event, sink)),
                None => observed.pass(event, sink),
            }
            if let Some(first) = first.take_if(|_| started) {
                sink(RunEvent::FirstResponse(first));
            }
        };
        match self.elsewhere.as_ref().map(|elsewhere| &elsewhere.place) {
            Some(ElsewherePlace::Fleet(fleet)) => {
                let (prepared, setup, redaction) = (&self.prepared, &setup, &self.redaction);
                let (first, briefing) = (self.first.as_ref(), self.briefing_of(trial));
                fleet.run(&FleetRun { prepared, setup, first, briefing, stop, control, redaction }, &mut pass)
            }
            _ => {
                self.prepared.run(&setup, stop, &mut pass);
                Ok(())
            }
        }
    }

    /// Returns what workers elsewhere are told of a trial; those of a fleet make records of their own.
    fn briefing_of(&self, trial: &Trial) -> Briefing {
        let Some(Elsewhere { place, plan, bundle }) = &self.elsewhere else { return Briefing::default() };
        let recorded = matches!(place, ElsewherePlace::Fleet(_)).then(|| RecordedShare {
            shown: trial.apply_to(&self.setup.shown),
            command: self.setup.command.clone(),
            redaction: self.redaction.clone(),
            address: self.address(),
        });
        share::briefing(trial.apply_to(plan), bundle.clone(), self.guard.allowed(), recorded)
    }

    /// Returns the address under load; `None` behind a proxy.
    fn address(&self) -> Option<SocketAddr> {
        let first = self.first.as_ref().filter(|first| first.through.is_none())?;
        first.address.parse().ok()
    }

    fn setup_of(&self, trial: &Trial) -> Result<Setup, UsageError> {
        let mut plan = trial.apply_to(&self.setup.plan);
        plan.requests = check_measurable(&plan, &self.prepared)?;
        let shown = Plan { requests: plan.requests, ..trial.apply_to(&self.setup.shown) };
        let processes = match self.elsewhere.as_ref().map(|elsewhere| &elsewhere.place) {
            Some(ElsewherePlace::Processes(number, launcher)) => {
                let (launcher, briefing) = (Arc::clone(launcher), Arc::new(self.briefing_of(trial)));
                Some(Processes { number: *number, launcher, briefing })
            }
            _ => None,
        };
        Ok(Setup { plan: Arc::new(plan), shown, processes, ..self.setup.clone() })
    }

    /// Sends the requests that follow the load in the plan, all of them within `within`; returns a
    /// notice if one failed.
    pub fn after(&self, stop: &Stop, within: Option<Nanos>) -> Option<Notice> {
        Some(match self.prepared.after(&self.setup, stop, within)? {
            AfterFailure::Interrupted => Notice::new(Subject::AfterInterrupted, []),
            AfterFailure::Failed(why) => Notice::new(Subject::AfterFailed, []).with_cause("why", why),
        })
    }

    /// Returns the notices that are known before the run, such as checks that the user disabled, or
    /// data that ends the run early.
    pub fn remarks(&self) -> Vec<Notice> {
        let (plan, prepared) = (&self.setup.plan, &self.prepared);
        let tls = prepared.origins().iter().any(|origin| origin.tls);
        let off = [
            (Subject::Insecure, plan.tls.insecure && tls),
            (Subject::NoKeepalive, plan.options.contains_key("no-keepalive")),
        ];
        let ends = data_end::notices(plan, prepared, &self.rows);
        let through = (!plan.proxies.is_none())
            .then(|| Notice::new(Subject::Proxy, [("proxy", proxy_route::shown_proxies(plan))]));
        off.into_iter()
            .filter(|(_, off)| *off)
            .map(|(subject, _)| Notice::new(subject, []))
            .chain(ends)
            .chain(through)
            .collect()
    }

    /// Returns a notice about the unconfirmed public addresses to which redirects led.
    pub fn refused_hosts(&self) -> Option<Notice> {
        let hosts: Vec<String> = self.guard.take_refused().into_keys().collect();
        (!hosts.is_empty()).then(|| Notice::new(Subject::PublicRefused, [("hosts", hosts.join(", "))]))
    }

    /// Returns a notice about a name whose addresses changed during the run.
    pub fn changed_addresses(&self) -> Option<Notice> {
        let changed = self.resolver.changed_name()?;
        let facts = [("name", changed.name), ("before", changed.before), ("after", changed.after)];
        Some(Notice::new(Subject::AddressesChanged, facts))
    }

    /// Returns a notice about a slow name lookup.
    pub fn slow_lookup(&self) -> Option<Notice> {
        let (name, took) = self.resolver.slowest_lookup()?;
        let took = brunt_report::numbers::seconds(took.as_secs_f64());
        Some(Notice::new(Subject::SlowLookup, [("name", name), ("took", took)]))
    }
}

/// Makes a run of other machines use all their cores, unless a number of workers is asked for.
fn use_all_workers(intent: &mut Intent, fleet: &dyn FleetRunner) {
    if !intent.asks_for_workers() {
        [&mut intent.plan, &mut intent.shown].into_iter().for_each(|plan| plan.workers = fleet.workers());
    }
}

/// Checks that these requests can be sent as the plan says; returns the number of requests after which the run ends.
fn check_measurable(plan: &Plan, prepared: &PreparedRun) -> Result<Option<u64>, UsageError> {
    checks::check_messages(plan, prepared)?;
    checks::reference(plan, prepared)?;
    let requests = data_end::requests(plan, prepared)?;
    checks::descriptors(plan, prepared)?;
    Ok(requests)
}

#[cfg(test)]
mod tests;
