//! A check that the names in objectives exist in the run.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_engine::PreparedRun;
use brunt_plan::Plan;
use brunt_plan::scenarios::SpanName;
use brunt_report::Objective;

use brunt_config::nearest;

/// Maximum number of names listed if none is similar.
const LISTED: usize = 5;

/// Rejects objectives for names that do not occur in the run.
///
/// # Errors
/// Returns an error with the first such name, and with similar or existing ones.
pub fn check_objectives(plan: &Plan, prepared: &PreparedRun) -> Result<(), UsageError> {
    let scenarios = plan.scenarios.iter().map(|scenario| format!("scenario {}", scenario.name));
    let spans = plan.span_names();
    let mut names: Vec<String> = prepared.names().iter().cloned().chain(scenarios).chain(spans.clone()).collect();
    let checks: Vec<String> = prepared.check_names().iter().map(|check| format!("check {check}")).collect();
    let parsed = plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
    let of_check = |objective: &Objective| {
        let of = |name: &str| checks.iter().any(|check| check == name) && !names.iter().any(|known| known == name);
        objective.name().is_some_and(of) && !objective.is_of_failures()
    };
    if let Some(objective) = parsed.into_iter().find(of_check) {
        let name = objective.name().unwrap_or_default();
        let trouble = complaint!(
            "`{}`: for a check, only failures are counted; write failed{{{name}}}<1%",
            "`{}`：对检查只统计失败；请写 failed{{{name}}}<1%",
            objective.text
        );
        return Err(UsageError::new("--objective", trouble));
    }
    check_answered(plan)?;
    let active: Vec<String> = spans.iter().map(|span| format!("{span}{}", SpanName::ACTIVE)).collect();
    let parsed = plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
    let of_active = |objective: &Objective| objective.name().is_some_and(|name| active.iter().any(|one| one == name));
    if let Some(objective) = parsed.into_iter().find(|objective| of_active(objective) && !objective.is_of_time()) {
        let trouble = complaint!(
            "`{}`: only times differ without pauses; leave `{}` out of the name",
            "`{}`：去掉停顿只影响时间；请从名称中去掉 `{}`",
            objective.text,
            SpanName::ACTIVE.trim()
        );
        return Err(UsageError::new("--objective", trouble));
    }
    names.extend(checks);
    names.extend(active);
    let parsed = plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
    let Some((text, name)) = parsed.into_iter().find_map(|objective| {
        let name = objective.name()?.to_owned();
        (!names.contains(&name)).then_some((objective.text, name))
    }) else {
        return Ok(());
    };
    let known = names.iter().map(String::as_str);
    let right = match nearest(&name, known.clone()) {
        Some(near) => complaint!("write {{{near}}} if you meant that", "是否要写 {{{near}}}？"),
        None if names.is_empty() => complaint!("leave the name out", "请去掉名称"),
        None => {
            let listed = known.take(LISTED).collect::<Vec<_>>().join(", ");
            let more = if names.len() > LISTED { ", …" } else { "" };
            complaint!("use one of: {listed}{more}", "可用的有：{listed}{more}")
        }
    };
    let zh = right.zh();
    Err(UsageError::new(
        "--objective",
        complaint!(
            "`{text}`: this run has no request named `{name}`; {right}",
            "`{text}`：该压测没有名为 `{name}` 的请求；{zh}"
        ),
    ))
}

/// Options of protocols with which no request is answered.
const ONE_WAY: [&str; 2] = ["no-answer", "one-way"];

/// Rejects objectives on the latency of requests that are not answered. Where only some steps are, it is judged at the end.
fn check_answered(plan: &Plan) -> Result<(), UsageError> {
    let one_way = ONE_WAY.into_iter().find(|option| !plan.has_flows() && plan.options.contains_key(*option));
    let mut parsed = plan.objectives.iter().filter_map(|text| Objective::parse(text).ok());
    match (one_way, parsed.find(Objective::is_of_time)) {
        (Some(option), Some(objective)) => Err(UsageError::new(
            "--objective",
            complaint!(
                "`{}`: with --{option} no request is answered, so none has a latency; use an objective on failures or the \
                 rate, such as failed<1% or rate>=1000/s",
                "`{}`：使用 --{option} 时请求没有应答，也就没有延迟；请改用关于失败或速率的目标，例如 failed<1% 或 rate>=1000/s",
                objective.text
            ),
        )),
        _ => Ok(()),
    }
}
