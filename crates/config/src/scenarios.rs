//! Validation of a run with scenarios, and the selection of a single one.

use brunt_cause::complaint;
use brunt_contract::{Protocol, UsageError};
use brunt_plan::{Plan, ScenarioPlan};
use brunt_report::Objective;

use super::destinations::has_urls;
use super::draft::{DraftScenario, RunDraft};
use super::load::needs_single_worker;
use super::pages;
use super::settings::*;
use super::suggestions::nearest;

/// Returns the names that objectives use for scenarios, iterations and groups.
fn objective_names(plan: &Plan) -> Vec<String> {
    let spans = plan.spans();
    let groups = spans.iter().filter_map(|span| span.group).map(str::to_owned);
    let scenarios = plan.scenarios.iter().map(|scenario| format!("scenario {}", scenario.name));
    scenarios.chain(groups).chain(spans.iter().map(|span| span.objective_name())).collect()
}

/// Adds the scenarios of the file to the plan, or only the selected one, with pages as groups.
///
/// # Errors
/// A setting is not allowed with scenarios or without them.
pub(super) fn apply(draft: &RunDraft, plan: Plan, protocol: &dyn Protocol) -> Result<Plan, UsageError> {
    let said = &draft.values;
    if draft.scenarios.is_empty() {
        said.refuse(&[SCENARIO.spec], complaint!("needs a plan file with scenarios", "需要含场景的计划文件"))?;
        return pages::add_page_groups(plan, draft);
    }
    if protocol.name() != "http" && protocol.name() != brunt_protocols::composite::NAME {
        let trouble = format!("have steps of {}, which flows of this build do not support", protocol.name());
        return Err(UsageError::new("scenarios", trouble));
    }
    let scenario = |written: &DraftScenario| ScenarioPlan {
        graceful_stop: written.graceful_stop.unwrap_or(plan.drain),
        max_connections: written.max_connections.unwrap_or(plan.max_connections),
        ..written.scenario.clone()
    };
    let scenarios: Vec<ScenarioPlan> = draft.scenarios.iter().map(scenario).collect();
    let load = brunt_plan::scenarios::total_load(&scenarios);
    // If workers shared a small limit, each would have a separate queue.
    let bounded = |written: &DraftScenario| {
        let bound = written.scenario.max_users.or(written.max_connections);
        bound.is_some_and(|bound| needs_single_worker(&written.scenario.load, bound))
    };
    let asked_workers = said.has(&WORKERS) || said.has(&PROCESSES);
    let workers = if !asked_workers && draft.scenarios.iter().any(bounded) { 1 } else { plan.workers };
    let plan = Plan { load, scenarios, common: draft.common.clone(), requests: None, workers, ..plan };
    let mut plan = pages::add_page_groups(plan, draft)?;
    if let Some(name) = said.text(&SCENARIO) {
        let names: Vec<String> = plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect();
        let all = objective_names(&plan);
        plan = plan.with_scenario(name).ok_or_else(|| {
            let known = names.iter().map(String::as_str);
            let right = nearest(name, known).map_or_else(|| format!("one of {}", names.join(", ")), str::to_owned);
            said.wrong(
                &SCENARIO,
                complaint!("there is no scenario `{name}`; use {right}", "没有场景 `{name}`；请用 {right}"),
            )
        })?;
        let known = objective_names(&plan);
        // Objectives for other scenarios do not apply.
        let others = |name: &str| all.iter().any(|one| one == name) && !known.iter().any(|one| one == name);
        plan.objectives.retain(|text| {
            Objective::parse(text).ok().and_then(|objective| objective.name().map(others)) != Some(true)
        });
    }
    if said.has(&DEBUG) && plan.scenarios.len() > 1 {
        let names: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        let trouble = format!("shows one scenario; choose it with --scenario: {}", names.join(", "));
        return Err(said.wrong(&DEBUG, trouble));
    }
    plan.duration = brunt_load::run_ends(&plan).map(|end| end - plan.warmup);
    Ok(plan)
}

/// Rejects flags for the values that each scenario sets.
///
/// # Errors
/// There is such a flag; the error names the first one.
pub(super) fn refuse_loads(draft: &RunDraft) -> Result<(), UsageError> {
    let said = &draft.values;
    if draft.scenarios.is_empty() {
        return Ok(());
    }
    if has_urls(said) {
        return Err(UsageError::new(
            "URL",
            complaint!(
                "cannot be combined with scenarios, which have URLs of their own; leave it out",
                "不能与场景同用，场景自带 URL；请去掉"
            ),
        ));
    }
    let of_each = [
        USERS.spec,
        RATE.spec,
        STAGE.spec,
        DURATION.spec,
        REQUESTS.spec,
        ITERATIONS.spec,
        ARRIVALS.spec,
        CONNECT_RATE.spec,
        THINK.spec,
        INTERVAL.spec,
        HOLD.spec,
        TOGETHER.spec,
        CLEAR_COOKIES.spec,
    ];
    said.refuse(&of_each, complaint!("is set in each scenario; move it there", "在每个场景中设定；请移到那里"))
}
