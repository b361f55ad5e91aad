//! A check that the names in objectives exist in the run.

use brunt_contract::UsageError;
use brunt_engine::PreparedRun;
use brunt_plan::Plan;
use brunt_report::Objective;

use brunt_config::nearest;

/// Maximum number of names listed if none is similar.
const LISTED: usize = 5;

/// Rejects objectives for names that do not occur in the run.
///
/// # Errors
/// Returns an error with the first such name, and with similar or existing ones.
pub fn check_objectives(plan: &Plan, prepared: &PreparedRun) -> Result<(), UsageError> {
    let spans = plan.spans();
    let scenarios = plan.scenarios.iter().map(|scenario| format!("scenario {}", scenario.name));
    // A group of only one scenario may be named without the scenario.
    let alone = |group: &&str| spans.iter().filter(|span| span.group == Some(*group)).count() == 1;
    let groups = spans.iter().filter_map(|span| span.group).filter(alone).map(str::to_owned);
    let spans = spans.iter().map(|span| span.objective_name());
    let mut names: Vec<String> = prepared.names().iter().cloned().chain(scenarios).chain(spans).collect();
    names.extend(groups);
    let checks: Vec<String> = prepared.check_names().iter().map(|check| format!("check {check}")).collect();
    let parsed = plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
    let of_check = |objective: &Objective| {
        let of = |name: &str| checks.iter().any(|check| check == name) && !names.iter().any(|known| known == name);
        objective.name().is_some_and(of) && !objective.is_of_failures()
    };
    if let Some(objective) = parsed.into_iter().find(of_check) {
        let name = objective.name().unwrap_or_default();
        let trouble =
            format!("`{}`: for a check, only failures are counted; write failed{{{name}}}<1%", objective.text);
        return Err(UsageError::new("--objective", trouble));
    }
    names.extend(checks);
    let parsed = plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
    let Some((text, name)) = parsed.into_iter().find_map(|objective| {
        let name = objective.name()?.to_owned();
        (!names.contains(&name)).then_some((objective.text, name))
    }) else {
        return Ok(());
    };
    let known = names.iter().map(String::as_str);
    let right = match nearest(&name, known.clone()) {
        Some(near) => format!("write {{{near}}} if you meant that"),
        None if names.is_empty() => "leave the name out".to_owned(),
        None => {
            let listed = known.take(LISTED).collect::<Vec<_>>().join(", ");
            let more = if names.len() > LISTED { ", …" } else { "" };
            format!("use one of: {listed}{more}")
        }
    };
    Err(UsageError::new("--objective", format!("`{text}`: this run has no request named `{name}`; {right}")))
}
