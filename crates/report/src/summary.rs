//! A run, summed up and judged: the input of every format.

use std::ops::{Deref, DerefMut};

use brunt_diagnose::Conclusion;
use brunt_record::{Notice, ReadFault, ReplaySource, RunEvent, RunListener, Subject};

use crate::agents::{self, AgentBuilder, AgentSummary, LabelSummary};
use crate::connection_limit::ConnectionLimitWait;
use crate::exit::Exit;
use crate::few_arrivals;
use crate::finding::Finding;
use crate::limits::CounterCollector;
use crate::load_stretches::{LoadStretch, LoadStretches};
use crate::objectives::{self, JudgedObjective, StretchObjectives};
use crate::rules::missing::{self, MissingStretch};
use crate::rules::{self, Evidence, JudgedPart, TrustRule};
use crate::sums::{RunSums, SumsBuilder};
use crate::trust::Trust;

/// A run, summed up and judged.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Sums of the run.
    pub sums: RunSums,
    /// Verdict on whether the results can be trusted.
    pub trust: Trust,
    /// Diagnosis of the limits of the run.
    pub limits: Conclusion,
    /// Judged objectives of the plan.
    pub objectives: Vec<JudgedObjective>,
    /// Exit code.
    pub exit: Exit,
    /// Figures by stretches of the load; empty if the load never changed.
    pub stretches: Vec<LoadStretch>,
    /// Outages in the order of time: beginning and end in nanoseconds since the start of the window.
    pub outages: Vec<(i64, i64)>,
    /// Agents of a run of many machines, in the order of the record; empty for a run of one.
    pub agents: Vec<AgentSummary>,
    /// The agents summed up by label.
    pub labels: Vec<LabelSummary>,
    /// Stretches in which a share of the run is missing because agents were lost.
    pub missing: Vec<MissingStretch>,
}

impl Deref for Summary {
    type Target = RunSums;
    fn deref(&self) -> &RunSums {
        &self.sums
    }
}

impl DerefMut for Summary {
    fn deref_mut(&mut self) -> &mut RunSums {
        &mut self.sums
    }
}

/// A live run, summed up and judged so far.
#[derive(Clone, Debug)]
pub struct InterimSummary {
    /// Sums so far; the window ends with the last second seen.
    pub sums: RunSums,
    /// Verdict on whether the results can be trusted.
    pub trust: Trust,
    /// Judged objectives of the plan.
    pub objectives: Vec<JudgedObjective>,
}

/// The collector of a run's events; [`SummaryBuilder::finish`] judges them. It can be used live, in parallel with the
/// record.
pub struct SummaryBuilder {
    sums: SumsBuilder,
    counting: CounterCollector,
    windows: StretchObjectives,
    stretches: LoadStretches,
    rules: Vec<Box<dyn TrustRule>>,
    agents: Vec<AgentBuilder>,
    missing: Vec<MissingStretch>,
    /// Name of the coordinator's machine in a run of many: its counters are not those of a generator.
    coordinator: String,
}

impl Default for SummaryBuilder {
    fn default() -> SummaryBuilder {
        SummaryBuilder {
            sums: SumsBuilder::default(),
            counting: CounterCollector::default(),
            windows: StretchObjectives::default(),
            stretches: LoadStretches::default(),
            rules: rules::of(JudgedPart::Run),
            agents: Vec::new(),
            missing: Vec::new(),
            coordinator: String::new(),
        }
    }
}

impl RunListener for SummaryBuilder {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.add(event);
        Ok(())
    }
}

impl SummaryBuilder {
    /// Handles the next event.
    pub fn add(&mut self, event: &RunEvent) {
        match event {
            RunEvent::OfAgent(told) => {
                if let Some(agent) = self.agents.get_mut(usize::from(told.agent)) {
                    agent.add(told);
                }
                return;
            }
            RunEvent::Started(started) if !started.agents.is_empty() => {
                self.agents = AgentBuilder::all(started);
                self.rules = rules::of(JudgedPart::Whole);
                self.coordinator = started.host().map(|host| host.name.clone()).unwrap_or_default();
            }
            RunEvent::Second(second) => missing::add_stretch(&mut self.missing, second),
            RunEvent::Notice(notice) if notice.subject() == Some(Subject::AgentLost) => {
                let name = notice.facts.get("agent").map_or("", |name| name);
                self.agents.iter_mut().for_each(|agent| agent.give_up(name));
            }
            _ => {}
        }
        self.sums.add(event);
        self.windows.add(event);
        self.stretches.see(event);
        match event {
            // Rules take counters for those of the machine that generates the load.
            RunEvent::Counters(sample) if !self.agents.is_empty() => {
                if sample.host != self.coordinator {
                    self.counting.see(event);
                }
            }
            _ => {
                self.counting.see(event);
                self.rules.iter_mut().for_each(|rule| rule.see(event));
            }
        }
    }

    /// Returns the summary of a live run, judged as if it ended now; requests in flight count neither as lost nor as
    /// unfinished.
    pub fn so_far(&self) -> InterimSummary {
        let mut sums = self.sums.so_far();
        let objectives = objectives::judged(&sums, &self.windows);
        let censored = sums.totals.censored;
        sums.totals.censored = censored.saturating_add(sums.totals.open());
        let trust = self.trust(&sums, &objectives);
        sums.totals.censored = censored;
        InterimSummary { sums, trust, objectives }
    }

    fn trust(&self, sums: &RunSums, objectives: &[JudgedObjective]) -> Trust {
        let evidence = Evidence { sums, objectives };
        Trust { findings: self.rules.iter().flat_map(|rule| rule.findings(&evidence)).collect() }
    }

    /// Sums up and judges.
    pub fn finish(mut self) -> Summary {
        let mut sums = std::mem::take(&mut self.sums).finish();
        let limited = ConnectionLimitWait::of(&sums).map(|limited| limited.notice());
        sums.notices.extend(limited);
        let objectives = objectives::judged(&sums, &self.windows);
        sums.notices.extend(few_arrivals::notice(&sums, &objectives));
        let mut trust = self.trust(&sums, &objectives);
        let (agents, counters): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.agents).into_iter().map(AgentBuilder::finish).unzip();
        agents::verdict::add_to_trust(&mut trust, &agents);
        let exit = Exit::of(&sums, &trust, &objectives);
        let limits = match agents::service_nearby(&agents, counters) {
            _ if agents.is_empty() => self.counting.conclude(&sums, &trust),
            nearby => {
                let limits = self.counting.conclude_whole(&sums, &trust, nearby);
                agents::verdict::add_to_limits(limits, &agents)
            }
        };
        let evidence = Evidence { sums: &sums, objectives: &objectives };
        let outages = self.rules.iter().flat_map(|rule| rule.outages(&evidence)).collect();
        let stretches = self.stretches.finish();
        let labels = agents::by_label(&agents);
        Summary { sums, trust, limits, objectives, exit, stretches, outages, agents, labels, missing: self.missing }
    }
}

/// The headroom of brunt: how much more load it could generate than a run required.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    /// Maximum requests per second, or a lower bound of it.
    pub most_per_s: f64,
    /// Ratio of `most_per_s` to the requests completed per second, including failures.
    pub times: f64,
    /// Set if `most_per_s` is a lower bound, computed from the CPU time per request of this run; otherwise it is the
    /// maximum that `brunt calibrate` found.
    pub is_at_least: bool,
}

impl Summary {
    /// Sums up the events of a run.
    pub fn from_events(events: impl IntoIterator<Item = RunEvent>) -> Summary {
        let mut summing = SummaryBuilder::default();
        events.into_iter().for_each(|event| summing.add(&event));
        summing.finish()
    }

    /// Sums up a record or a spool.
    ///
    /// # Errors
    ///
    /// Returns one sentence if it cannot be read.
    pub fn from_past(past: &dyn ReplaySource) -> Result<Summary, ReadFault> {
        let mut summing = SummaryBuilder::default();
        for event in past.replay()? {
            summing.add(&event?);
        }
        Ok(summing.finish())
    }

    /// Returns why the figures are in doubt for a reason that has no size, which no band can express. That every request
    /// failed is no such reason: it is what the service did.
    pub fn doubt_without_size(&self) -> Option<&Finding> {
        let is_result = |found: &Finding| found.is_of_failures() && self.totals.due > 0;
        self.trust.against().find(|found| !found.is_of_band() && !is_result(found))
    }

    /// Returns the headroom, if brunt was calibrated and the run is comparable with the calibration: HTTP/1.1
    /// without TLS.
    ///
    /// The calibration measures small requests of users on persistent connections. A request of this run may cost more
    /// (because of a connection per request, a large response or a busy machine). It also costs more at a low rate than
    /// at a high one, because of wake-ups, whose number does not grow with the rate: what follows from the cost of this
    /// run is a lower bound and no maximum.
    pub fn headroom(&self) -> Option<Headroom> {
        let started = self.started.as_ref()?;
        let (plan, host) = (&started.plan, started.host()?);
        let is_http1 =
            plan.protocol == "http" && !plan.options.get("http").is_some_and(|http| http.contains(&"2".into()));
        let in_clear = plan.urls.iter().all(|url| !url.url.starts_with("https:"));
        let most = host.calibration.as_ref()?.at_most_per_s(started.workers, host.cores);
        let totals = &self.totals;
        let here = self.per_s(totals.finished_in_window + totals.failed);
        let used = totals.generator.share(totals.generator.cpu - totals.generator.polling).filter(|used| *used > 0.0);
        let own = used.map(|used| here * f64::from(started.workers.max(1)).min(host.cores) / used);
        let (most, is_at_least) = own.filter(|own| *own < most).map_or((most, false), |own| (own, true));
        let judged = is_http1 && in_clear && started.hosts.len() == 1 && here > 0.0 && most > 0.0;
        judged.then(|| Headroom { most_per_s: most, times: most / here, is_at_least })
    }

    /// Returns `true` if an objective concerns the failures of all requests.
    pub fn failures_are_judged(&self) -> bool {
        objectives::any_of_failures(&self.objectives)
    }
}
