//! What the API says of a fleet, from what the process says.

use std::collections::HashMap;

use brunt_plan::OwnerTerms;
use brunt_record::GeneratorHost;
use serde::Deserialize;
use serde_json::{Value, json};

use super::TranslatedSentence;

/// A line of `brunt fleet --json --watch`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FleetLine {
    agents: Vec<AgentLine>,
    /// Names of the agents that may come.
    expected: Vec<String>,
    unfinished_runs: Vec<String>,
    /// What agents join (`host:7447`).
    join: Option<String>,
}

/// An agent that is there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct AgentLine {
    name: String,
    /// What it says of itself, if it answers.
    description: Option<SelfDescription>,
    /// Difference of its wall clock, ahead of this one, and shortest round trip (nanoseconds).
    wall_ahead_ns: i64,
    round_trip: u64,
    capacity_per_s: Option<f64>,
    /// Number of agents of this name.
    #[serde(default)]
    times: u32,
    #[serde(default)]
    remarks: Vec<TranslatedSentence>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct SelfDescription {
    #[serde(default)]
    labels: Vec<String>,
    brunt: String,
    host: GeneratorHost,
    #[serde(default)]
    terms: OwnerTerms,
    state: StateWord,
    busy_cores: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateWord {
    Idle,
    /// A run of this name in the fleet.
    Runs(String),
}

/// Returns a fleet as JSON. `runs` has the runs of the library that are in progress, by the names of their agents.
pub fn shown(line: &FleetLine, runs: &HashMap<String, String>, lang: &str) -> Value {
    let agents: Vec<Value> = line.agents.iter().map(|agent| shown_agent(agent, runs, lang)).collect();
    let is_there = |name: &String| line.agents.iter().any(|agent| agent.name == *name);
    let absent: Vec<&String> = line.expected.iter().filter(|name| !is_there(name)).collect();
    json!({ "agents": agents, "absent": absent, "unfinished_runs": line.unfinished_runs, "join": line.join })
}

fn shown_agent(agent: &AgentLine, runs: &HashMap<String, String>, lang: &str) -> Value {
    let remarks: Vec<&str> = agent.remarks.iter().map(|remark| remark.of(lang)).collect();
    let Some(found) = &agent.description else {
        return json!({ "name": agent.name, "state": "silent", "times": agent.times, "labels": [], "remarks": remarks });
    };
    let (state, fleet_run) = match &found.state {
        StateWord::Idle => ("idle", None),
        StateWord::Runs(run) => ("runs", Some(run)),
    };
    json!({
        "name": agent.name,
        "labels": found.labels,
        "state": state,
        "times": agent.times,
        "fleet_run": fleet_run,
        // One that just ended may still be in the library as in progress.
        "run": fleet_run.and_then(|_| runs.get(&agent.name)),
        "cores": found.host.cores,
        "busy_cores": found.busy_cores,
        "memory_bytes": found.host.memory,
        "descriptors": found.host.descriptors,
        "kernel": found.host.kernel,
        "capacity_per_s": agent.capacity_per_s,
        "terms": found.terms,
        "brunt": found.brunt,
        "round_trip_us": agent.round_trip as f64 / 1e3,
        "clock_ahead_ms": agent.wall_ahead_ns as f64 / 1e6,
        "remarks": remarks,
    })
}
