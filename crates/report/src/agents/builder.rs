//! The collector of the events of one agent.

use std::sync::Arc;

use brunt_diagnose::{CounterSummary, LimitFinding, PathStage, Proof};
use brunt_measure::Nanos;
use brunt_plan::{Load, Plan};
use brunt_record::{AgentEvent, End, Kind, OpenRequests, RunEvent, RunPart, RunStarted, Second, WindowStart};

use super::{AgentMoments, AgentSummary, FleetFigures};
use crate::failure_kind::FailureKind as _;
use crate::limits::CounterCollector;
use crate::rules::{self, Evidence, JudgedPart, TrustRule};
use crate::sums::SumsBuilder;
use crate::trust::Trust;

/// The collector of the events of one agent, which judges them like those of a run of its own, as far as they concern its
/// machine.
pub(crate) struct AgentBuilder {
    head: brunt_record::AgentHead,
    share: f64,
    sums: SumsBuilder,
    counting: CounterCollector,
    rules: Vec<Box<dyn TrustRule>>,
    /// Start of its window, and the maximum error of that on the coordinator's clock.
    began: Option<(WindowStart, Nanos)>,
    moments: AgentMoments,
    open: OpenRequests,
    /// End of the last second that it told of.
    reached: i64,
    is_given_up: bool,
    is_open: bool,
}

impl AgentBuilder {
    /// Creates the collectors of all agents of a run.
    pub fn all(started: &RunStarted) -> Vec<AgentBuilder> {
        let mut common = started.clone();
        let agents = std::mem::take(&mut common.agents);
        (common.names, common.checks) = (Vec::new(), Vec::new());
        agents.into_iter().map(|head| AgentBuilder::new(head, &common)).collect()
    }

    fn new(head: brunt_record::AgentHead, common: &RunStarted) -> AgentBuilder {
        let share = f64::from(head.workers.count()) / f64::from(common.workers.max(1));
        let started = RunStarted {
            plan: share_of(&common.plan, share),
            hosts: vec![head.host.clone()],
            workers: head.workers.count(),
            brunt: head.brunt.clone(),
            ..common.clone()
        };
        let event = RunEvent::Started(Box::new(started.clone()));
        let mut rules = rules::of(JudgedPart::Agent);
        rules.iter_mut().for_each(|rule| rule.see(&event));
        let mut counting = CounterCollector::default();
        counting.see(&event);
        let sums = SumsBuilder::of_agent(started);
        AgentBuilder {
            head,
            share,
            sums,
            counting,
            rules,
            began: None,
            moments: AgentMoments::default(),
            open: OpenRequests::default(),
            reached: 0,
            is_given_up: false,
            is_open: common.plan.load.is_open(),
        }
    }

    /// Handles the next event of the agent.
    pub fn add(&mut self, told: &AgentEvent) {
        let event = &*told.event;
        self.sums.add(event);
        self.counting.see(event);
        self.rules.iter_mut().for_each(|rule| rule.see(event));
        match event {
            RunEvent::Began(began) => {
                let within = told.clock_within_ns.unwrap_or(self.head.clock_within_ns);
                self.began = Some((*began, Nanos(within)));
            }
            RunEvent::Second(second) => {
                self.moments.add(second);
                self.open.add_second(second);
                self.reached = second.to_ns;
            }
            _ => {}
        }
    }

    /// Notes that the coordinator gave up an agent, if it is this one: what it left open is then unfinished in the whole.
    pub fn give_up(&mut self, lost: &str) {
        self.is_given_up |= self.head.name == lost;
    }

    /// Returns what it left open when it was given up, as it was counted in the whole: in a second of no length.
    fn left_open(&self) -> Option<Box<Second>> {
        if !self.is_given_up || !self.open.is_any() {
            return None;
        }
        let (from_ns, part) = (self.reached, self.open.part);
        let mut second = Second { from_ns, to_ns: from_ns, part, ..Second::default() };
        self.open.count_unfinished(&mut second, self.is_open);
        Some(Box::new(second.slim()))
    }

    /// Sums up and judges; also returns the counters of the machine if the service under load runs there.
    pub fn finish(mut self) -> (AgentSummary, Option<CounterSummary>) {
        let left_open = self.left_open();
        left_open.iter().for_each(|second| self.sums.add_second(second));
        let sums = self.sums.finish();
        let evidence = Evidence { sums: &sums, objectives: &[] };
        let trust = Trust { findings: self.rules.iter().flat_map(|rule| rule.findings(&evidence)).collect() };
        let (conclusion, nearby) = self.counting.conclude_agent(&sums, &trust);
        let observed = conclusion.coverage;
        let limits = conclusion.findings.into_iter().filter(is_of_machine).collect();
        // One that its owner took back told of an end of its own.
        let end = if self.is_given_up { End::CutOff } else { sums.end };
        let (notices, verdict) = (sums.notices.clone(), trust.verdict());
        let figures = Arc::new(FleetFigures::of(sums, verdict));
        let AgentBuilder { head, share, began, moments, .. } = self;
        (
            AgentSummary { head, share, figures, trust, limits, notices, began, end, left_open, moments, observed },
            nearby,
        )
    }
}

impl AgentMoments {
    fn add(&mut self, second: &Second) {
        let own = |failure: &brunt_record::Failure| failure.is(Kind::NoPorts) || failure.is(Kind::NoDescriptors);
        if second.failures.iter().any(own) {
            self.local_limit.get_or_insert(second.from_ns);
        }
        if rules::generator::is_full(second) {
            self.full.get_or_insert(second.from_ns);
        }
        if second.generator.throttled > 0 {
            self.throttled.get_or_insert(second.from_ns);
        }
        let delay = rules::band::longest_delay(second);
        if second.part != RunPart::Warmup && self.longest_delay.is_none_or(|(longest, _)| delay > longest) {
            self.longest_delay = Some((delay, second.from_ns));
        }
    }
}

/// Returns `true` for limits of the agent's own machine and network. That the connections of the plan are all in use is a
/// matter of the whole.
fn is_of_machine(found: &LimitFinding) -> bool {
    match found.stage {
        PathStage::Generator | PathStage::ClientKernel => found.rule != brunt_diagnose::OWN_CONNECTIONS,
        PathStage::Network => found.proof == Proof::Proved && found.host.is_none(),
        _ => false,
    }
}

/// Returns the plan with the share of its load and its connections.
fn share_of(plan: &Plan, share: f64) -> Plan {
    let mut part = plan.clone();
    let (Load::Closed { stages, .. } | Load::Open { stages, .. }) = &mut part.load;
    stages.iter_mut().for_each(|stage| (stage.from, stage.to) = (stage.from * share, stage.to * share));
    part.max_connections = (f64::from(plan.max_connections) * share).ceil() as u32;
    part
}
