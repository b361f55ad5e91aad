//! The conclusion from all findings: one principal limit, or the reason why there is none.

use crate::case::Case;
use crate::limit_finding::{LimitFinding, PathStage, Proof};
use crate::load_results::{GeneratorDoubt, LoadResults};
use crate::load_seconds::{CurvePoint, Knee};
use crate::rules;

/// The outcome of a diagnosis: what limited the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosisOutcome {
    /// A limit: the first of the findings. With any other outcome, no finding is a limit.
    Limit,
    /// No limit: the requested load was sustained.
    NotReached,
    /// The number of users: hardly any user waited for the others.
    Users,
    /// The maximum number of users of a rate: iterations that came due while all users were busy were dropped.
    MaxUsers,
    /// The plan itself: users waited to send a step whose `at-most` rate was used up.
    AtMost,
    /// Unknown: no counter shows the limit.
    Unknown,
    /// The run is too short, has no requests to judge by, or its load was changed.
    NothingToJudge,
}

impl DiagnosisOutcome {
    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            DiagnosisOutcome::Limit => "limit",
            DiagnosisOutcome::NotReached => "not_reached",
            DiagnosisOutcome::Users => "users",
            DiagnosisOutcome::MaxUsers => "max_users",
            DiagnosisOutcome::AtMost => "at_most",
            DiagnosisOutcome::Unknown => "unknown",
            DiagnosisOutcome::NothingToJudge => "nothing_to_judge",
        }
    }
}

/// The load to try next if no limit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextLoad {
    /// Twice the load: everything asked for was answered.
    Double,
    /// A lower load: requests timed out or queued at this one.
    Lower,
    /// A single request: none succeeded.
    Single,
}

impl NextLoad {
    fn after(run: &LoadResults) -> NextLoad {
        match run.service.count {
            0 if run.succeeded_per_s <= 0.0 => NextLoad::Single,
            _ if run.failed_by("timeout") > 0 || run.is_overloaded || run.fell_behind => NextLoad::Lower,
            _ => NextLoad::Double,
        }
    }
}

/// The origin of the available counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CounterCoverage {
    /// No counters.
    Nothing,
    /// Counters of the machine that generated the load.
    Generator,
    /// Counters of the service as well.
    Service,
}

/// CPU time within the window, in cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreShares {
    /// CPU time of the service's processes.
    pub service: f64,
    /// CPU time of the generator's threads.
    pub generator: f64,
    /// CPU time of all processes.
    pub busy: f64,
    /// Number of cores.
    pub cores: f64,
}

impl CoreShares {
    fn of(case: &Case) -> Option<CoreShares> {
        if case.service_host.is_some() {
            return None;
        }
        let (busy, cores) = case.counters.busy_cores()?;
        let service = case.counters.per_s("service.all.cpu")? / 1e9;
        // Threads are timed exactly, but the machine only in ticks, so the total could be less than its parts.
        let generator = case.run.generator_cores;
        Some(CoreShares { service, generator, busy: busy.max(service + generator), cores })
    }
}

/// The findings, the principal one first, with the outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// Outcome of the diagnosis.
    pub outcome: DiagnosisOutcome,
    /// Findings: limits first, then proved before consistent, then in the order of the request path.
    pub findings: Vec<LimitFinding>,
    /// Origin of the available counters.
    pub coverage: CounterCoverage,
    /// Division of the cores, if the service ran on the generator's machine.
    pub core_shares: Option<CoreShares>,
    /// Cores used by the programs of the service, the busiest first; empty if they are unknown.
    pub programs: Vec<(String, f64)>,
    /// Step and rate, as in [`LoadResults::at_most`].
    pub at_most: Option<(String, f64)>,
    /// The load to try next if no limit is known.
    pub next_load: NextLoad,
    /// Load against throughput and latency, if the load was varied.
    pub curve: Vec<CurvePoint>,
    /// The point of the run from which more load gave no more throughput.
    pub knee: Option<Knee>,
    /// Set for open load, whose curve is one of rates; that of closed load is one of users.
    pub is_open: bool,
}

impl Conclusion {
    /// Returns the conclusion on a run of many agents, with what was found on their machines. Such a finding says more
    /// than the same one on the sum of all; whether workers are loaded unevenly is a question for each machine. `observed` is
    /// the origin of the counters of agents.
    pub fn with_agents(mut self, of_agents: Vec<LimitFinding>, observed: CounterCoverage) -> Conclusion {
        self.coverage = self.coverage.max(observed.min(CounterCoverage::Generator));
        let is_replaced = |found: &LimitFinding| of_agents.iter().any(|known| known.rule == found.rule);
        self.findings.retain(|found| found.rule != rules::UNEVEN_WORKERS && !is_replaced(found));
        self.findings.extend(of_agents);
        order(&mut self.findings);
        match (self.findings.iter().any(|found| found.is_limit), self.outcome) {
            (true, _) => self.outcome = DiagnosisOutcome::Limit,
            (false, DiagnosisOutcome::Limit) => self.outcome = DiagnosisOutcome::Unknown,
            (false, _) => {}
        }
        self
    }

    /// Returns the principal limit.
    pub fn principal(&self) -> Option<&LimitFinding> {
        self.findings.first().filter(|found| found.is_limit)
    }
}

/// Minimum length of a window, in seconds; a shorter one is not judged.
const LEAST_S: f64 = 1.0;

/// Applies every rule to a case.
pub fn conclude(case: &Case) -> Conclusion {
    let run = &case.run;
    let there = case.on_service_host();
    let seen = match there.as_ref().unwrap_or(case).counters.increase("service.all.cpu") {
        Some(_) => CounterCoverage::Service,
        // Without `/proc`, a few counters are read from elsewhere, which show no limit.
        None if case.counters.is_empty() || case.counters.last("cpu.count").is_none() => CounterCoverage::Nothing,
        None => CounterCoverage::Generator,
    };
    let mut found: Vec<LimitFinding> = rules::rules().filter_map(|rule| rule.find(case, there.as_ref())).collect();
    if let Some(doubt) = run.generator_doubt.filter(|_| run.is_distorted()) {
        // Latencies of a disturbed generator show nothing about the service. Counters, logs and queues still do: what
        // they prove is the limit, and the disturbance only widened some figures, unless a worker was full.
        let holds = |f: &LimitFinding| f.proof == Proof::Proved || rules::BEYOND_DELAYS.contains(&f.rule);
        found.retain(|f| f.stage == PathStage::Generator || holds(f));
        let is_disturbance = |f: &LimitFinding| f.rule == rules::GENERATOR && doubt != GeneratorDoubt::Busy;
        if found.iter().any(|f| f.is_limit && holds(f) && f.stage != PathStage::Generator) {
            found.iter_mut().filter(|f| is_disturbance(f)).for_each(|f| f.is_limit = false);
        }
    }
    order(&mut found);
    let outcome = if found.iter().any(|f| f.is_limit) {
        DiagnosisOutcome::Limit
    } else if run.window_s < LEAST_S || run.scheduled == 0 || run.load_changed {
        DiagnosisOutcome::NothingToJudge
    } else if run.failures.is_empty() && !run.is_open && run.users_hardly_wait() {
        DiagnosisOutcome::Users
    } else if run.dropped_iterations {
        DiagnosisOutcome::MaxUsers
    } else if run.failures.is_empty() && run.at_most.is_some() {
        DiagnosisOutcome::AtMost
    } else if run.is_saturated() || run.fell_behind || !run.failures.is_empty() {
        DiagnosisOutcome::Unknown
    } else {
        DiagnosisOutcome::NotReached
    };
    Conclusion {
        outcome,
        findings: found,
        coverage: seen,
        core_shares: CoreShares::of(case),
        programs: case.counters.program_cores("service.program"),
        at_most: run.at_most.clone(),
        next_load: NextLoad::after(run),
        curve: run.curve.clone(),
        knee: run.knee().filter(|_| !run.is_distorted()),
        is_open: run.is_open,
    }
}

/// Sorts findings, the principal one first.
fn order(found: &mut [LimitFinding]) {
    // The capacity is what was seen; a rule that knows why comes first.
    let is_consequence = |f: &LimitFinding| rules::CONSEQUENCES.contains(&f.rule);
    found.sort_by_key(|f| (!f.is_limit, f.rule == rules::CAPACITY, f.proof, is_consequence(f), f.stage));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::ServiceHost;
    use crate::load_results::{DurationStats, FailureCount};
    use crate::rules::made_up::{cores, counted, run};

    fn concluded(run: LoadResults, here: crate::CounterSummary) -> (DiagnosisOutcome, Vec<&'static str>) {
        let conclusion = conclude(&Case { run, counters: here, ..Case::default() });
        (conclusion.outcome, conclusion.findings.iter().map(|f| f.rule).collect())
    }

    #[test]
    fn a_healthy_run_has_no_limit() {
        let calm =
            cores(0.4, &[("service.all.cpu", 0.0, 2e9), ("Tcp.OutSegs", 0.0, 1e5), ("Tcp.RetransSegs", 0.0, 2.0)]);
        let open = LoadResults { is_open: true, ..run() };
        assert_eq!(concluded(open, calm.clone()), (DiagnosisOutcome::NotReached, vec![]));
        let dropping = LoadResults { is_open: true, dropped_iterations: true, ..run() };
        assert_eq!(concluded(dropping, calm.clone()), (DiagnosisOutcome::MaxUsers, vec![]));
        assert_eq!(
            concluded(LoadResults { has_pauses: true, ..run() }, calm.clone()),
            (DiagnosisOutcome::NotReached, vec![])
        );
        let changed = LoadResults { is_open: true, load_changed: true, ..run() };
        assert_eq!(
            concluded(changed, calm.clone()),
            (DiagnosisOutcome::NothingToJudge, vec![]),
            "nobody knows which of its loads was kept"
        );
        assert_eq!(concluded(run(), calm), (DiagnosisOutcome::Unknown, vec![]), "users without pauses press always");
        let few = DurationStats { min: 0.005, mean: 0.0053, ..run().service };
        assert_eq!(concluded(LoadResults { service: few, ..run() }, counted(&[])), (DiagnosisOutcome::Users, vec![]));
        let turns = LoadResults { has_pauses: true, at_most: Some(("pay".into(), 20.0)), service: few, ..run() };
        assert_eq!(
            concluded(turns, counted(&[])),
            (DiagnosisOutcome::AtMost, vec![]),
            "more users would wait for the same turns"
        );
        assert_eq!(concluded(LoadResults::default(), counted(&[])), (DiagnosisOutcome::NothingToJudge, vec![]));
    }

    #[test]
    fn a_full_pool_stands_behind_the_database_that_fills_it() {
        let log = counted(&[("log.workers_busy", 0.0, 9.0)]);
        let refusing = counted(&[("mysql.Connection_errors_max_connections", 0.0, 90.0)]);
        let failures = vec![FailureCount { kind: "wrong_status".into(), phase: "first_byte".into(), count: 90 }];
        let case = Case { run: LoadResults { failures, ..run() }, reported: vec![log, refusing], ..Case::default() };
        let rules: Vec<&str> = conclude(&case).findings.iter().map(|found| found.rule).collect();
        let at = |rule| rules.iter().position(|found| *found == rule);
        assert!(at("D1").is_some() && at("W1").is_some(), "{rules:?}");
        assert!(at("D1") < at("W1"), "{rules:?}");
    }

    #[test]
    fn what_is_proved_comes_first_and_then_the_earliest() {
        let here = cores(
            1.99,
            &[
                ("service.all.cpu", 0.0, 1.8e10),
                ("TcpExt.TCPMemoryPressures", 0.0, 1.0),
                ("softnet.all.dropped", 0.0, 9.0),
            ],
        );
        let status = [("200".to_owned(), 10), ("503".to_owned(), 10)].into();
        let both = LoadResults { status, failures: vec![FailureCount::default()], ..run() };
        assert_eq!(concluded(both, here).1, ["N6", "N7", "S1", "P7"]);
    }

    #[test]
    fn a_service_elsewhere_is_judged_by_the_counters_of_its_machine() {
        let full = cores(1.99, &[("service.all.cpu", 0.0, 1.9e10)]);
        let calm = cores(0.4, &[("self.rss", 1.0, 1.0)]);
        let busy_here = LoadResults { generator_cores: 0.4, ..run() };
        let judged = |here: &crate::CounterSummary, there: &crate::CounterSummary| {
            let elsewhere = Some(ServiceHost { host: "db1".into(), counters: there.clone(), shares_kernel: false });
            conclude(&Case {
                run: busy_here.clone(),
                counters: here.clone(),
                service_host: elsewhere,
                ..Case::default()
            })
        };
        let conclusion = judged(&calm, &full);
        let rules: Vec<_> = conclusion.findings.iter().map(|f| (f.rule, f.host.as_deref())).collect();
        assert_eq!(
            (rules, conclusion.coverage, conclusion.core_shares),
            (vec![("S1", Some("db1"))], CounterCoverage::Service, None)
        );
        let said = conclusion.findings[0].evidence(brunt_i18n::Lang::En);
        assert!(said.ends_with("(counted on db1)"), "{said}");
        let conclusion = judged(&full, &calm);
        assert_eq!(
            (conclusion.findings.len(), conclusion.coverage),
            (0, CounterCoverage::Generator),
            "what is full here is not the service"
        );
        let lost = LoadResults { service: DurationStats { longest: 0.3, ..run().service }, ..run() };
        let dropped = counted(&[("softnet.all.dropped", 0.0, 9.0)]);
        for (here, there, host) in [(&dropped, &calm, None), (&calm, &dropped, Some("db1"))] {
            let elsewhere = Some(ServiceHost { host: "db1".into(), counters: there.clone(), shares_kernel: false });
            let conclusion = conclude(&Case {
                run: lost.clone(),
                counters: here.clone(),
                service_host: elsewhere,
                ..Case::default()
            });
            let found: Vec<_> = conclusion.findings.iter().map(|f| (f.rule, f.host.as_deref())).collect();
            assert_eq!(found, [("N7", host)]);
        }
    }

    #[test]
    fn an_unwell_generator_hides_nothing_that_is_proved() {
        let here = || cores(1.99, &[("service.all.cpu", 0.0, 1.8e10), ("softnet.all.dropped", 0.0, 9.0)]);
        let slow = DurationStats { longest: 0.3, ..run().service };
        let status = || [("200".to_owned(), 10), ("503".to_owned(), 10)].into();
        let unwell = |doubt| LoadResults { generator_doubt: Some(doubt), service: slow, status: status(), ..run() };
        // What the latency looks like is not said; codes of responses (503: a limiter?) are.
        assert_eq!(
            concluded(unwell(GeneratorDoubt::Busy), here()).1,
            ["C1", "N7", "S1", "P7"],
            "a full worker is a limit"
        );
        let (outcome, rules) = concluded(unwell(GeneratorDoubt::Absent), here());
        assert_eq!((outcome, rules), (DiagnosisOutcome::Limit, vec!["N7", "S1", "P7", "C1"]), "a pause is none");
        let little = LoadResults { away_s: 0.1, workers: 2, ..unwell(GeneratorDoubt::Absent) };
        assert_eq!(concluded(little, here()).1, ["N7", "S1", "P7", "C1"], "it changed no figure by a tenth");
        let alone = LoadResults { generator_doubt: Some(GeneratorDoubt::Absent), ..run() };
        assert_eq!(concluded(alone, cores(0.4, &[])), (DiagnosisOutcome::Limit, vec!["C1"]), "nothing else is proved");
    }
}
