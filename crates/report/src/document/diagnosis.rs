//! The diagnosis in the JSON report.

use brunt_diagnose::{Conclusion, CounterCoverage, LimitFinding};
use serde::Serialize;

use crate::text::Lang;

/// The diagnosis of what limited the run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Diagnosis {
    /// `limit` (the first of `findings`), `not_reached` (the requested load was sustained), `max_users` (iterations
    /// were dropped), `users` (hardly any queueing: more users would give more throughput), `at_most` (a step was sent
    /// at its `at-most`), `unknown`, or `nothing_to_judge`.
    outcome: &'static str,
    /// Available counters: `nothing`, `generator` (the load generator's machine) or `service` (also those of
    /// the service).
    observed: &'static str,
    /// CPU use by the service and the load generator, if both ran on the load generator's machine; otherwise
    /// null.
    shared: Option<SharedCpuReport>,
    /// All findings, the main limit first; if `outcome` is not `limit`, none of them limited the run.
    findings: Vec<LimitReport>,
}

/// CPU time within the window, in cores.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SharedCpuReport {
    /// CPU time of the service's processes.
    service_cores: f64,
    /// CPU time of the generator's threads.
    generator_cores: f64,
    /// CPU time of the service by program, the busiest first; empty in older records.
    programs: Vec<ProgramReport>,
    /// CPU time of all processes.
    busy_cores: f64,
    /// Number of cores.
    cores: f64,
}

/// CPU time of a program: of all processes of the service with the same name.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ProgramReport {
    /// Name of the program.
    name: String,
    /// CPU time within the window, in cores.
    cores: f64,
}

/// A limit or a fault.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LimitReport {
    /// Identifier of the rule that found it, such as `N2`.
    rule: &'static str,
    /// Stage on the request's path: `generator`, `client_kernel`, `network`, `proxy`, `server_kernel`,
    /// `service`, `dependency`.
    stage: &'static str,
    /// `proved` by a counter, or `consistent` with the data.
    proof: &'static str,
    /// The machine whose counters show it, if not the load generator's; otherwise null.
    host: Option<String>,
    /// The finding in words.
    claim: String,
    /// Counters that show it, and how much they changed.
    evidence: String,
    /// Recommended change.
    remedy: String,
    /// Experiment that would refute it.
    experiment: String,
}

fn programs(conclusion: &Conclusion) -> Vec<ProgramReport> {
    conclusion.programs.iter().map(|(name, cores)| ProgramReport { name: name.clone(), cores: *cores }).collect()
}

impl Diagnosis {
    pub fn of(conclusion: &Conclusion) -> Diagnosis {
        let lang = Lang::En;
        let limit = |found: &LimitFinding| LimitReport {
            rule: found.rule,
            stage: found.stage.name(),
            proof: found.proof.name(),
            host: found.host.clone(),
            claim: found.claim(lang),
            evidence: found.evidence(lang),
            remedy: found.remedy(lang),
            experiment: found.experiment(lang),
        };
        let observed = match conclusion.coverage {
            CounterCoverage::Nothing => "nothing",
            CounterCoverage::Generator => "generator",
            CounterCoverage::Service => "service",
        };
        let shared = conclusion.core_shares.map(|shared| SharedCpuReport {
            service_cores: shared.service,
            generator_cores: shared.generator,
            programs: programs(conclusion),
            busy_cores: shared.busy,
            cores: shared.cores,
        });
        let findings = conclusion.findings.iter().map(limit).collect();
        Diagnosis { outcome: conclusion.outcome.name(), observed, shared, findings }
    }
}
