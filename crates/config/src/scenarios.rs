//! Validation of a run with scenarios, and the selection of a single one.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{CHECK_NAMES, Protocol, RequestedUrl, UsageError};
use brunt_plan::scenarios::SpanName;
use brunt_plan::{Plan, ScenarioPlan, WeightedUrl};
use brunt_report::Objective;

use super::destinations::has_urls;
use super::draft::{DraftScenario, RunDraft};
use super::load::needs_single_worker;
use super::pages;
use super::settings::*;
use super::suggestions::nearest;

/// Returns `true` if a plan has a scenario, an iteration, a group, a check or a request that objectives call by this name.
fn has_name(plan: &Plan, name: &str) -> bool {
    let spans = plan.span_names();
    let of_span = name.strip_suffix(SpanName::ACTIVE).unwrap_or(name);
    let is_scenario = |scenario: &ScenarioPlan| name.strip_prefix("scenario ") == Some(&*scenario.name);
    spans.iter().any(|span| span == name || span == of_span)
        || plan.scenarios.iter().any(is_scenario)
        || plan.urls.iter().any(|url| is_of_request(url, name))
}

/// Returns `true` if a request, or a check of its responses, has this name. A request without a name is called by its path,
/// with its method before it.
fn is_of_request(url: &WeightedUrl, name: &str) -> bool {
    let checks = url.options.get(CHECK_NAMES).into_iter().flatten();
    // A check's name follows its option and number.
    let mut checks = checks.filter_map(|text| text.splitn(3, ' ').nth(2));
    if name.strip_prefix("check ").is_some_and(|check| checks.any(|known| known == check)) {
        return true;
    }
    let requested = RequestedUrl { url: url.url.clone(), weight: url.weight };
    match &url.name {
        Some(known) => known == name,
        None => name.rsplit(' ').next() == Some(requested.path()),
    }
}

/// Removes the objectives that concern only scenarios left out of the plan; returns a remark on each.
fn remove_objectives(plan: &mut Plan, whole: &Plan) -> Vec<Complaint> {
    let names: Vec<Option<String>> =
        plan.objectives.iter().map(|text| Objective::parse(text).ok()?.name().map(str::to_owned)).collect();
    let is_other = |name: &String| has_name(whole, name) && !has_name(plan, name);
    let others: Vec<bool> = names.iter().map(|name| name.as_ref().is_some_and(is_other)).collect();
    let (judged, left_out): (Vec<_>, Vec<_>) =
        std::mem::take(&mut plan.objectives).into_iter().zip(others).partition(|(_, other)| !other);
    plan.objectives = judged.into_iter().map(|(text, _)| text).collect();
    let remark = |(text, _): (String, bool)| {
        complaint!(
            "the objective `{text}` is about another scenario and is not judged",
            "目标 `{text}` 针对另一个场景，不予判定"
        )
    };
    left_out.into_iter().map(remark).collect()
}

/// Adds the scenarios of the file to the plan, or only the selected one, with pages as groups. Also returns remarks on
/// what does not apply to the selected one.
///
/// # Errors
/// A setting is not allowed with scenarios or without them.
pub(super) fn apply(
    draft: &RunDraft,
    plan: Plan,
    protocol: &dyn Protocol,
) -> Result<(Plan, Vec<Complaint>), UsageError> {
    let said = &draft.values;
    if draft.scenarios.is_empty() {
        said.refuse(&[SCENARIO.spec], complaint!("needs a plan file with scenarios", "需要含场景的计划文件"))?;
        return Ok((pages::add_page_groups(plan, draft)?, Vec::new()));
    }
    if protocol.name() != "http" && protocol.name() != brunt_protocols::composite::NAME {
        let trouble = complaint!(
            "have steps of {}, which flows of this build do not support",
            "含有 {} 的步骤，而本版本的流程不支持",
            protocol.name()
        );
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
    let (mut plan, mut remarks) = (pages::add_page_groups(plan, draft)?, Vec::new());
    if let Some(name) = said.text(&SCENARIO) {
        let whole = plan.clone();
        plan = plan.with_scenario(name).ok_or_else(|| said.wrong(&SCENARIO, unknown_scenario(&whole, name)))?;
        remarks = remove_objectives(&mut plan, &whole);
    }
    if said.has(&DEBUG) && plan.scenarios.len() > 1 {
        let names: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        let trouble = complaint!(
            "shows one scenario; choose it with --scenario: {}",
            "只显示一个场景；请用 --scenario 选择：{}",
            names.join(", ")
        );
        return Err(said.wrong(&DEBUG, trouble));
    }
    plan.duration = brunt_load::run_ends(&plan).map(|end| end - plan.warmup);
    Ok((plan, remarks))
}

fn unknown_scenario(plan: &Plan, name: &str) -> Complaint {
    let names: Vec<&str> = plan.scenarios.iter().map(|scenario| &*scenario.name).collect();
    let near = nearest(name, names.iter().copied());
    let (right, zh) = match near {
        Some(near) => (near.to_owned(), near.to_owned()),
        None => (format!("one of {}", names.join(", ")), format!("{} 之一", names.join("、"))),
    };
    complaint!("there is no scenario `{name}`; use {right}", "没有场景 `{name}`；请用 {zh}")
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
