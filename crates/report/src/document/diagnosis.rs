//! The diagnosis in the JSON report.

use brunt_diagnose::{Conclusion, CounterCoverage, CurvePoint, Knee, LimitFinding};
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
    /// The point from which more load gave no more throughput; absent if the load was level or was sustained.
    #[serde(skip_serializing_if = "Option::is_none")]
    knee: Option<KneeReport>,
    /// Load against throughput and latency, in the order of time; absent if the load was level.
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Vec<CurveReport>>,
}

/// The knee of a run whose load rose.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct KneeReport {
    /// Number of the second of the window, counted from 1.
    second: usize,
    /// Load in that second: requests scheduled per second (open load) or users (closed load).
    load: f64,
    /// Highest load after it.
    most_load: f64,
    /// Successes per second from there on.
    throughput_per_s: f64,
    /// Requests in flight or waiting before the knee, and their highest number after it.
    queued: [f64; 2],
}

/// A point of the curve: a stretch of the window.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CurveReport {
    /// Start, in seconds since the start of the window.
    from_s: f64,
    /// End, in the same format.
    to_s: f64,
    /// Load: requests scheduled per second (open load) or users (closed load).
    load: f64,
    /// Successes per second.
    throughput_per_s: f64,
    /// Median of the headline latency; null if withheld, or if so many requests did not finish.
    p50_us: Option<f64>,
    /// p99 of the headline latency, likewise.
    p99_us: Option<f64>,
    /// Requests in flight or waiting at the end.
    queued: f64,
}

impl KneeReport {
    fn of(knee: &Knee) -> KneeReport {
        KneeReport {
            second: knee.second,
            load: knee.load,
            most_load: knee.most_load,
            throughput_per_s: knee.succeeded_per_s,
            queued: knee.backlog,
        }
    }
}

impl CurveReport {
    fn of(point: &CurvePoint) -> CurveReport {
        let us = |time: Option<f64>| time.filter(|time| time.is_finite()).map(|time| time * 1e6);
        CurveReport {
            from_s: point.from_s,
            to_s: point.to_s,
            load: point.load,
            throughput_per_s: point.succeeded_per_s,
            p50_us: us(point.p50_s),
            p99_us: us(point.p99_s),
            queued: point.backlog,
        }
    }
}

/// CPU time within the window, in cores.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SharedCpuReport {
    /// CPU time of the service's processes.
    service_cores: f64,
    /// CPU time of the generator's threads: of all agents on the machine, of which one may have been lost.
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
pub(super) struct LimitReport {
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

impl LimitReport {
    pub fn of(found: &LimitFinding) -> LimitReport {
        let lang = Lang::En;
        LimitReport {
            rule: found.rule,
            stage: found.stage.name(),
            proof: found.proof.name(),
            host: found.host.clone(),
            claim: found.claim(lang),
            evidence: found.evidence(lang),
            remedy: found.remedy(lang),
            experiment: found.experiment(lang),
        }
    }
}

fn programs(conclusion: &Conclusion) -> Vec<ProgramReport> {
    conclusion.programs.iter().map(|(name, cores)| ProgramReport { name: name.clone(), cores: *cores }).collect()
}

impl Diagnosis {
    pub fn of(conclusion: &Conclusion) -> Diagnosis {
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
        let findings = conclusion.findings.iter().map(LimitReport::of).collect();
        Diagnosis {
            outcome: conclusion.outcome.name(),
            observed,
            shared,
            findings,
            knee: conclusion.knee.as_ref().map(KneeReport::of),
            curve: Some(conclusion.curve.iter().map(CurveReport::of).collect()).filter(|all: &Vec<_>| !all.is_empty()),
        }
    }
}
