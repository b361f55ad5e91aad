//! A run of scenarios: what goes with them and what does not, one of them alone, and their schema.

use plan::{Plan, Scenario};
use report::Objective;
use serde_json::json;
use wire::{Complaint, Protocol};

use super::given::Given;
use super::intent::in_one_queue;
use super::keys::nearest;
use super::matched::Matched;
use super::pages;
use super::scenario_file::Written;

/// What objectives call the scenarios of a plan, their iterations and groups.
fn called(plan: &Plan) -> Vec<String> {
    let spans = plan.spans();
    let groups = spans.iter().filter_map(|span| span.group).map(str::to_owned);
    let scenarios = plan.scenarios.iter().map(|scenario| format!("scenario {}", scenario.name));
    scenarios.chain(groups).chain(spans.iter().map(|span| span.called())).collect()
}

/// The plan with the scenarios of its file, or with the one that is asked for alone, and with its pages as groups.
///
/// # Errors
/// What does not go with them, or only with them.
pub(super) fn of_run(
    flags: &Matched<'_>,
    given: &Given,
    plan: Plan,
    protocol: &dyn Protocol,
) -> Result<Plan, Complaint> {
    let asked = flags.text("scenario");
    if given.scenarios.is_empty() {
        return match asked {
            Some(_) => Err(Complaint::new("--scenario", "needs a plan file with scenarios")),
            None => pages::of_run(plan),
        };
    }
    if protocol.name() != "http" && protocol.name() != protocols::mixed::NAME {
        let trouble = format!("have steps of {}, which flows of this build do not support", protocol.name());
        return Err(Complaint::new("scenarios", trouble));
    }
    let scenario = |written: &Written| Scenario {
        graceful_stop: written.graceful_stop.unwrap_or(plan.drain),
        max_connections: written.max_connections.unwrap_or(plan.max_connections),
        ..written.scenario.clone()
    };
    let scenarios: Vec<Scenario> = given.scenarios.iter().map(scenario).collect();
    let load = plan::scenarios::together(&scenarios);
    // Shares of a small bound would be queues of their own.
    let bounded = |written: &Written| {
        let bound = written.scenario.max_users.or(written.max_connections);
        bound.is_some_and(|bound| in_one_queue(&written.scenario.load, bound))
    };
    let asked_workers = flags.given("workers") || flags.given("processes");
    let workers = if !asked_workers && given.scenarios.iter().any(bounded) { 1 } else { plan.workers };
    let plan = Plan { load, scenarios, common: given.common.clone(), requests: None, workers, ..plan };
    let mut plan = pages::of_run(plan)?;
    if let Some(name) = asked {
        let names: Vec<String> = plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect();
        let all = called(&plan);
        plan = plan.only(name).ok_or_else(|| {
            let known = names.iter().map(String::as_str);
            let right = nearest(name, known).map_or_else(|| format!("one of {}", names.join(", ")), str::to_owned);
            Complaint::new("--scenario", format!("there is no scenario `{name}`; write {right}"))
        })?;
        let known = called(&plan);
        // What must hold of the others is for a run that has them.
        let others = |name: &str| all.iter().any(|one| one == name) && !known.iter().any(|one| one == name);
        plan.objectives.retain(|text| {
            Objective::parse(text).ok().and_then(|objective| objective.name().map(others)) != Some(true)
        });
    }
    if flags.switch("debug") && plan.scenarios.len() > 1 {
        let names: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        let trouble = format!("shows one scenario; choose it with --scenario: {}", names.join(", "));
        return Err(Complaint::new("--debug", trouble));
    }
    plan.duration = load::run_ends(&plan).map(|end| end - plan.warmup);
    Ok(plan)
}

/// Flags for what is set in each scenario.
///
/// # Errors
/// The first of them.
pub(super) fn refuse_loads(flags: &Matched<'_>, given: &Given) -> Result<(), Complaint> {
    if given.scenarios.is_empty() {
        return Ok(());
    }
    let on_line = flags.texts("target").into_iter().any(|text| !super::urls::is_plan(text));
    if on_line || flags.given("url") || flags.given("urls") {
        return Err(Complaint::new("URL", "does not go with scenarios, which have URLs of their own; leave it out"));
    }
    let of_each = [
        ("users", "-c"),
        ("rate", "-r"),
        ("stage", "--stage"),
        ("duration", "-d"),
        ("requests", "-n"),
        ("iterations", "--iterations"),
        ("arrivals", "--arrivals"),
        ("connect-rate", "--connect-rate"),
        ("think", "--think"),
        ("interval", "--interval"),
        ("hold", "--hold"),
    ];
    let switches = [("together", "--together"), ("clear-cookies", "--clear-cookies")];
    let given = of_each.into_iter().find(|(name, _)| flags.given(name));
    match given.or(switches.into_iter().find(|(name, _)| flags.switch(name))) {
        Some((_, place)) => Err(Complaint::new(place, "is set in each scenario; move it there")),
        None => Ok(()),
    }
}

/// The schema of `scenarios`, for editors.
pub(super) fn schema() -> serde_json::Value {
    let number = json!({"type": ["integer", "string"]});
    let time = json!({"type": "string", "examples": ["10s", "500ms", "1m30s"]});
    let rate = json!({"type": ["string", "number"], "examples": ["500/s", "300/min"]});
    let with = |schema: &serde_json::Value, description: &str| {
        let mut schema = schema.clone();
        schema["description"] = json!(description);
        schema
    };
    let text = json!({"type": "string"});
    let properties = json!({
        "name": with(&text, "Name of the scenario, where scenarios are a list"),
        "users": with(&number, "Number of users, each running one iteration after another"),
        "rate": with(&rate, "Iterations started per second, however fast the server responds"),
        "stages": {"type": "array", "items": text, "description": "Stages of load: 30s:10..50 for users, 1m:20/s \
            for a rate"},
        "arrivals": {"enum": ["poisson", "constant", "burst"], "description": "How the iterations of a rate are \
            spaced"},
        "duration": with(&time, "How long it starts iterations"),
        "start-time": with(&time, "How long after the start of the run it starts"),
        "start": {"anyOf": [{"$ref": "#/properties/flow"}, {"type": "string"}],
            "description": "Steps each user does before its first iteration"},
        "end": {"$ref": "#/properties/flow", "description": "Steps each user does after its last iteration"},
        "iterations": with(&number, "Iterations of all users together"),
        "iterations-per-user": with(&number, "Iterations of each user, which then ends"),
        "graceful-stop": with(&time, "How long iterations in progress at its end may go on"),
        "spawn-rate": with(&rate, "Users started per second"),
        "max-users": with(&number, "Most iterations in progress of a rate; those due beyond it are dropped and \
            counted"),
        "max-connections": with(&number, "Most connections of a rate"),
        "think": with(&time, "Pause after each request of `urls`"),
        "clear-cookies": {"type": "boolean", "description": "Users start each iteration without cookies"},
        "flow": {"$ref": "#/properties/flow"},
        "urls": {"$ref": "#/properties/urls"},
        "url": {"$ref": "#/properties/url"},
    });
    let one = json!({"type": "object", "properties": properties, "additionalProperties": false});
    json!({
        "description": "Several kinds of users side by side, each with its own load and flow",
        "anyOf": [{"type": "object", "additionalProperties": one}, {"type": "array", "items": one}],
    })
}
