//! A run, from its plan to its last event: starts the workers, receives their reports, and joins them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::channel;

use brunt_contract::{CHECK_NAMES, Checks, OrderedResponses, Origin, Protocol, ProtocolConfig, UsageError, Workload};
use brunt_measure::{Clock, Nanos};
use brunt_plan::flow::{SetupValue, Step};
use brunt_plan::{Load, Plan, ScenarioPlan};
use brunt_record::{Notice, RunEvent, RunStarted, Subject};

use crate::backend::{self, Backend};
use crate::barrier::Barrier;
use crate::collector::Collector;
use crate::first_request::first_request;
use crate::named_checks::NamedChecks;
use crate::stragglers::AwaitedWorkers;
use crate::tables::DescriptorTables;
use crate::threads::{self, WorkerThreads};
use crate::{
    AfterFailure, Assignment, OneShotFailure, PassEvent, ProbeFailure, ProbeResult, Setup, Stop, Transcript, probe,
    processes, single_pass,
};

/// Delay between the decision to start and the start, in which workers create their networks.
const LEAD: Nanos = Nanos::from_millis(20);

/// Returns the options without check names and without timeouts and limits of steps, which do not concern protocols.
pub(crate) fn without_names(config: &ProtocolConfig) -> Cow<'_, ProtocolConfig> {
    let ours = [CHECK_NAMES, brunt_plan::flow::TIMEOUT, brunt_plan::flow::AT_MOST];
    if !config.url_options.iter().any(|own| ours.iter().any(|name| own.contains_key(*name))) {
        return Cow::Borrowed(config);
    }
    let mut asked = config.clone();
    asked.url_options.iter_mut().for_each(|own| own.retain(|name, _| !ours.contains(&name.as_str())));
    Cow::Owned(asked)
}

/// A run that is ready to start: everything that its protocol can encode in advance is encoded.
pub struct PreparedRun {
    workload: Arc<dyn Workload>,
    fixed: bool,
    checks: Option<Arc<NamedChecks>>,
}

impl PreparedRun {
    /// Encodes everything that can be encoded before the run.
    ///
    /// # Errors
    /// A usage error that names the option.
    pub fn of(protocol: &dyn Protocol, config: &ProtocolConfig) -> Result<Arc<PreparedRun>, UsageError> {
        let checks = Checks::read(config, |url| protocol.checks(url))?;
        let dialogue = protocol.prepare(&without_names(config))?;
        let checks = checks.and_then(|checks| NamedChecks::of(checks, &*dialogue)).map(Arc::new);
        Ok(Arc::new(PreparedRun { workload: dialogue, fixed: protocol.fixed_connections(), checks }))
    }

    /// Prepares the next inquiry that the target must answer before requests can be prepared, given the results so far
    /// in `config.learnt`. [`PreparedRun::probe`] sends it, and [`PreparedRun::inquiry_result`] then returns the
    /// result. `None` if there are no further inquiries.
    ///
    /// # Errors
    /// A usage error that names the option.
    pub fn inquiry(protocol: &dyn Protocol, config: &ProtocolConfig) -> Result<Option<Arc<PreparedRun>>, UsageError> {
        let inquiry = protocol.inquiry(&without_names(config))?;
        Ok(inquiry.map(|dialogue| Arc::new(PreparedRun { workload: dialogue, fixed: false, checks: None })))
    }

    /// Returns the origins of the requests.
    pub fn origins(&self) -> &[Origin] {
        self.workload.origins()
    }

    /// Returns `true` if captured values say where some requests lead.
    pub fn follows_links(&self) -> bool {
        self.workload.prepared().follows_links
    }

    /// Returns the most messages that a request to each URL sends; one that is not in it sends one.
    pub fn messages_per_request(&self) -> &[u64] {
        &self.workload.prepared().messages_per_request
    }

    /// Returns `true` if nothing is sent: connections are only opened and held.
    pub fn silent(&self) -> bool {
        self.workload.prepared().holds_only
    }

    /// Returns the number of planned connections and the capacity of the descriptor tables; `None` unless the number
    /// exceeds the capacity.
    pub fn too_many(&self, plan: &Plan) -> Option<(u64, u64)> {
        let connections = connections(plan, &*self.workload);
        DescriptorTables::capacity_exceeded(connections).map(|most| (connections, most))
    }

    /// Returns the exchanges that a user can have in flight at once, and those that share a connection.
    pub(crate) fn exchanges_per_user_and_connection(&self) -> (u32, u32) {
        let prepared = self.workload.prepared();
        (prepared.exchanges_per_user.max(1), prepared.exchanges_per_connection.max(1))
    }

    /// Returns the number of workers: the planned number, or more if the connections need more descriptor tables.
    pub fn workers(&self, plan: &Plan) -> u32 {
        self.tables(plan).workers
    }

    /// Returns the names of the requests.
    pub fn names(&self) -> &[String] {
        self.workload.names().list()
    }

    /// Returns the names of the checks.
    pub fn check_names(&self) -> &[String] {
        self.checks.as_ref().map_or(&[], |checks| checks.names())
    }

    /// Returns [`brunt_contract::PreparedWorkload::by_order`].
    pub fn by_order(&self) -> Option<OrderedResponses> {
        self.workload.prepared().by_order
    }

    /// Returns [`brunt_contract::PreparedWorkload::max_requests`].
    pub fn requests_at_most(&self) -> Option<u64> {
        self.workload.prepared().max_requests
    }

    /// Sends the first request once, alone, and returns the response. A stop request cancels it.
    ///
    /// # Errors
    /// The reason why there is no response.
    pub fn probe(&self, setup: &Setup, stop: &Stop) -> Result<ProbeResult, Box<ProbeFailure>> {
        self.probe_with(setup, stop, |_| true)
    }

    /// Like [`PreparedRun::probe`] before a run, which must not notice it: a request that creates something, or takes a
    /// row that the run takes only once, is left out, and only its connection is opened. So is every request unless
    /// `asks`.
    ///
    /// # Errors
    /// The reason why there is no response, or no connection.
    pub fn preflight(&self, setup: &Setup, stop: &Stop, asks: bool) -> Result<ProbeResult, Box<ProbeFailure>> {
        let may_precede = |request| self.workload.may_precede_run(&self.workload.requests()[request].request);
        self.probe_with(setup, stop, |request| asks && may_precede(request))
    }

    fn probe_with(
        &self,
        setup: &Setup,
        stop: &Stop,
        is_sent: impl Fn(usize) -> bool,
    ) -> Result<ProbeResult, Box<ProbeFailure>> {
        let memory = probe::initial_state(setup);
        let request = first_request(&setup.plan, &mut memory.borrow_mut().values);
        let sent = request.is_some_and(is_sent);
        let mut outcome = probe::probe(&self.workload, (setup, stop), (request, sent), &memory);
        let (Ok((answer, told)) | Err((answer, told))) = outcome
            .as_mut()
            .map(|sent| (&mut sent.probe, &mut sent.transcript))
            .map_err(|failed| (&mut failed.probe, &mut failed.transcript));
        let url = request.filter(|_| setup.plan.has_flows()).and_then(|request| setup.plan.urls.get(request));
        answer.url = url.map(|url| url.url.clone()).unwrap_or_default();
        self.name_checks(request.unwrap_or(0), Ok(told));
        outcome
    }

    /// Runs the `setup` of the plan's flow once; returns the captured values, for all users.
    ///
    /// # Errors
    /// The failed step and the cause; the run must not begin.
    pub fn set_up(&self, setup: &Setup, stop: &Stop) -> Result<Vec<SetupValue>, OneShotFailure> {
        single_pass::set_up(&self.workload, setup, stop)
    }

    /// Runs the `teardown` once, under the same rules as [`PreparedRun::after`].
    pub fn tear_down(&self, setup: &Setup, stop: &Stop, within: Option<Nanos>) -> Option<AfterFailure> {
        single_pass::tear_down(&self.workload, setup, stop, within)
    }

    /// Runs the plan's first flow once, alone and without pauses, if there is one.
    pub fn run_single_pass(&self, setup: &Setup, stop: &Stop, on_event: &mut dyn FnMut(PassEvent)) {
        if let Some((_, flow)) = setup.plan.flows().next() {
            single_pass::walk(&self.workload, (setup, stop), flow, &mut |mut walked| {
                if let PassEvent::Sent { request, outcome, .. } = &mut walked {
                    let transcript = outcome.as_mut().map(|sent| &mut sent.transcript);
                    self.name_checks(*request, transcript.map_err(|failed| &mut failed.transcript));
                }
                on_event(walked);
            });
        }
    }

    /// Returns the result of an inquiry once its probe has succeeded.
    pub fn inquiry_result(&self) -> Option<Vec<u8>> {
        self.workload.take_inquiry_response()
    }

    /// Sends the requests that precede the run.
    ///
    /// # Errors
    /// The failed request and the cause; the run must not begin.
    pub fn before(&self, setup: &Setup, stop: &Stop) -> Result<(), OneShotFailure> {
        probe::before(&self.workload, setup, stop)
    }

    /// Sends the requests that follow the run; returns the first failure, as a sentence. They take at most `within` in
    /// total. A new stop request cancels them; the stop that ended the run does not.
    pub fn after(&self, setup: &Setup, stop: &Stop, within: Option<Nanos>) -> Option<AfterFailure> {
        probe::after(&self.workload, setup, stop, within)
    }

    /// Runs the plan to its end. Events are passed to `sink` on the calling thread as they occur, at least one per
    /// second.
    pub fn run(&self, setup: &Setup, stop: &Stop, sink: &mut dyn FnMut(RunEvent)) {
        let plan = &setup.plan;
        let tables = self.tables(plan);
        self.report_start(setup, tables.workers, sink);
        let ((report, told), awaited) = (channel(), AwaitedWorkers::default());
        std::thread::scope(|scope| {
            match &setup.processes {
                None => {
                    let threads = self.threads(setup, stop, tables, 0..tables.workers);
                    threads.start(scope, &report, stop);
                }
                Some(processes) => {
                    let workers = tables.workers;
                    processes::start(scope, processes, workers, &report, (stop, &setup.control), &awaited);
                }
            }
            drop(report);
            let code_name = |code| self.workload.code_name(code);
            self.collector((setup, tables.workers), &code_name, sink).with_awaited(&awaited).listen(&told, plan.warmup);
        });
    }

    /// Reports the head of the record of a run, or of a share of one, by this many workers.
    pub fn report_start(&self, setup: &Setup, workers: u32, sink: &mut dyn FnMut(RunEvent)) {
        let plan = &setup.plan;
        let (backend, missed) = self.backend(plan);
        let mut started = started(setup, backend.name(), workers);
        started.silent = Some(self.workload.prepared().holds_only);
        started.names = self.workload.names().list().to_vec();
        started.around = names_outside_load(plan, &*self.workload);
        started.checks = self.check_names().to_vec();
        sink(RunEvent::Started(Box::new(started)));
        if let Some(missed) = missed {
            sink(RunEvent::Notice(Notice::new(missed, [])));
        }
    }

    fn collector<'a>(
        &self,
        (setup, workers): (&Setup, u32),
        code_name: &'a dyn Fn(u32) -> String,
        sink: &'a mut dyn FnMut(RunEvent),
    ) -> Collector<'a> {
        Collector::new(workers as usize, setup.plan.load.is_open(), code_name, sink)
            .by_name(self.workload.names().list().len())
            .with_control(&setup.control)
    }

    /// Runs the workers assigned to this process, for a run coordinated by another one.
    pub fn take_share(&self, setup: &Setup, assignment: Assignment) {
        let task = assignment.task;
        let mut threads = self.share_threads(setup, task);
        processes::serve(assignment, task.to - task.from, &setup.control, |report, stop, barriers, start| {
            (threads.barriers, threads.start) = (barriers, start);
            std::thread::scope(|scope| threads.start(scope, &report, stop));
        });
    }

    /// Like [`PreparedRun::take_share`], for a share with a record of its own: its messages are merged here, and the events go
    /// to `sink`, which writes them to [`Assignment::output`].
    pub fn record_share(&self, setup: &Setup, assignment: Assignment, sink: &mut dyn FnMut(RunEvent)) {
        let task = assignment.task;
        let workers = task.to - task.from;
        let mut threads = self.share_threads(setup, task);
        self.report_start(setup, workers, sink);
        let work = |report, stop: &Stop, barriers, start| {
            (threads.barriers, threads.start) = (barriers, start);
            std::thread::scope(|scope| threads.start(scope, &report, stop));
        };
        processes::serve_with(assignment, workers, &setup.control, work, |told, _| {
            let code_name = |code| self.workload.code_name(code);
            let collector = self.collector((setup, workers), &code_name, sink).numbered_from(task.from);
            collector.listen(&told, setup.plan.warmup);
        });
    }

    fn share_threads<'a>(&self, setup: &'a Setup, task: processes::Task) -> WorkerThreads<'a> {
        let tables = DescriptorTables { workers: task.of, ..self.tables(&setup.plan) };
        self.threads(setup, &Stop::default(), tables, task.from..task.to)
    }

    /// Adds the results of the named checks to a transcript.
    fn name_checks(&self, request: usize, told: Result<&mut Transcript, &mut Transcript>) {
        let (Ok(told) | Err(told)) = told;
        if let (Some(checks), Some(failed)) = (&self.checks, told.failed_checks) {
            told.checks = checks.results(request, failed);
        }
    }

    fn tables(&self, plan: &Plan) -> DescriptorTables {
        DescriptorTables::for_run(connections(plan, &*self.workload), worker_count(plan))
    }

    /// Returns the backend and, if it is not the requested one, the subject of a notice.
    fn backend(&self, plan: &Plan) -> (Backend, Option<Subject>) {
        let datagrams = self.workload.origins().iter().any(|origin| origin.datagrams);
        let backend = backend::choose(plan.net, datagrams);
        let missed = plan.net == brunt_plan::NetKind::Uring && backend != Backend::Uring;
        (backend, missed.then_some(if datagrams { Subject::UringStreamsOnly } else { Subject::UringUnavailable }))
    }

    fn threads<'a>(
        &self,
        setup: &'a Setup,
        stop: &Stop,
        tables: DescriptorTables,
        workers: Range<u32>,
    ) -> WorkerThreads<'a> {
        let pools = threads::pools(self.workload.origins(), setup, stop);
        let sources = threads::sources(setup, &pools, connections(&setup.plan, &*self.workload));
        let barriers = [Barrier::for_workers(workers.len() as u32), Barrier::for_workers(workers.len() as u32)];
        WorkerThreads {
            workload: Arc::clone(&self.workload),
            setup,
            fixed: self.fixed || setup.plan.hold.is_some(),
            backend: self.backend(&setup.plan).0,
            tables,
            workers,
            start: Clock.now() + LEAD,
            barriers,
            pools: Arc::new(pools),
            sources,
            checks: self.checks.clone(),
        }
    }
}

/// Returns the requested number of workers, but at most the number of users or connections.
pub fn worker_count(plan: &Plan) -> u32 {
    let most_of = |load: &Load, max_connections: u32| match load {
        Load::Closed { .. } => load.peak().round() as u32,
        Load::Open { .. } => max_connections,
    };
    let most = match &plan.scenarios[..] {
        [] => most_of(&plan.load, plan.max_connections),
        // A worker with no user of a scenario would drop all arrivals of that scenario that are assigned to it.
        all => {
            let users = |s: &ScenarioPlan| most_of(&s.load, s.max_connections);
            let sum = all.iter().map(users).fold(0, u32::saturating_add);
            all.iter().filter_map(|s| s.max_users).fold(sum, u32::min)
        }
    };
    plan.workers.clamp(1, most.max(1))
}

/// Returns the name indices of requests sent only before and after the load.
fn names_outside_load(plan: &Plan, workload: &dyn Workload) -> Vec<u16> {
    let Some(around) = plan.setup_flow() else { return Vec::new() };
    let (names, mut all, mut of_users) = (workload.names(), BTreeSet::new(), BTreeSet::new());
    let add =
        |to: &mut BTreeSet<u16>, step: &Step| to.extend(step.urls().iter().map(|url| names.index_of(*url as usize)));
    plan.flows().for_each(|(_, flow)| flow.visit_steps(&mut |step| add(&mut of_users, step)));
    around.visit_all_steps(&mut |step| add(&mut all, step));
    all.difference(&of_users).copied().collect()
}

/// Returns the maximum number of simultaneous connections of the run.
fn connections(plan: &Plan, workload: &dyn Workload) -> u64 {
    let of = |load: &Load, max_connections: u32| match load {
        Load::Closed { .. } => {
            let each = plan
                .flows()
                .map(|(_, flow)| flow.max_in_flight())
                .max()
                .unwrap_or(1)
                .max(workload.prepared().exchanges_per_user);
            let in_flight = load.peak().round() as u64 * u64::from(each.max(1));
            in_flight.div_ceil(u64::from(workload.prepared().exchanges_per_connection.max(1)))
        }
        Load::Open { .. } => u64::from(max_connections),
    };
    match &plan.scenarios[..] {
        [] => of(&plan.load, plan.max_connections),
        all => all.iter().map(|scenario| of(&scenario.load, scenario.max_connections)).sum(),
    }
}

fn started(setup: &Setup, net: &str, workers: u32) -> RunStarted {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    RunStarted {
        schema: brunt_record::SCHEMA.into(),
        brunt: env!("CARGO_PKG_VERSION").into(),
        unix_ms: since_1970.as_millis() as u64,
        command: setup.command.clone(),
        plan: setup.shown.clone(),
        hosts: hosts(setup),
        net: net.into(),
        workers,
        silent: None,
        names: Vec::new(),
        around: Vec::new(),
        checks: Vec::new(),
        agents: Vec::new(),
    }
}

/// Returns the generator hosts of a run, this one first.
fn hosts(setup: &Setup) -> Vec<brunt_record::GeneratorHost> {
    let others = setup.processes.iter().flat_map(|processes| processes.launcher.hosts());
    std::iter::once(setup.host.clone()).chain(others).collect()
}
