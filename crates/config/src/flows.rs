//! Validation of a run with a flow.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_plan::Plan;
use brunt_plan::flow::{Flow, OnFailure, REQUESTS, Step, each};

use super::destinations::has_urls;
use super::draft::{DraftUrl, RunDraft};
use super::origin::ValueOrigin;
use super::settings::{self, CLEAR_COOKIES, HOLD, INTERVAL, ITERATIONS, THINK};

/// Adds to a draft a flow that sends its requests in order, with users that keep cookies.
///
/// # Errors
/// There are no requests, or more than a flow may have.
pub(super) fn into_flow(mut draft: RunDraft) -> Result<RunDraft, UsageError> {
    let trouble = match draft.urls.len() {
        0 => complaint!("needs curl commands; add --curl-file FILE", "需要 curl 命令；请加 --curl-file FILE"),
        more if more > REQUESTS => {
            complaint!(
                "makes a flow of {more} requests, and at most {REQUESTS} are allowed; use fewer",
                "会形成含 {more} 个请求的流程，而最多允许 {REQUESTS} 个；请减少"
            )
        }
        _ => Complaint::default(),
    };
    if !trouble.is_empty() {
        return Err(UsageError::new("--as-flow", trouble));
    }
    let urls: Vec<_> = draft.urls.iter().map(DraftUrl::weighted).collect();
    let step = |url| Step::Request { url, on_failure: OnFailure::default() };
    let steps = (0..urls.len() as u32).map(step).collect();
    draft.flow = Some(Flow { steps, ..Flow::default() }.with_variables(&urls));
    if !draft.values.contains("cookie-jar") {
        draft.values.push("cookie-jar", "", ValueOrigin::Curl("--as-flow".into()));
    }
    draft.notes.retain(|note| !note.without_cookies);
    Ok(draft)
}

/// Checks for settings that are not allowed with a flow or without one.
///
/// # Errors
/// A setting is not allowed; the error names the first one.
pub(super) fn validate(draft: &RunDraft, protocol: &dyn Protocol) -> Result<Option<Flow>, UsageError> {
    let said = &draft.values;
    let Some(flow) = &draft.flow else {
        if draft.scenarios.is_empty() {
            said.refuse(
                &[ITERATIONS.spec],
                complaint!("needs a flow; for requests, use -n", "需要流程；请求数请用 -n"),
            )?;
            said.refuse(&[CLEAR_COOKIES.spec], complaint!("needs a flow; leave it out", "需要流程；请去掉"))?;
        }
        return Ok(None);
    };
    if protocol.name() != "http" && protocol.name() != brunt_protocols::composite::NAME {
        let trouble = complaint!(
            "has steps of {}, which flows of this build do not support",
            "含有 {} 的步骤，而本版本的流程不支持",
            protocol.name()
        );
        return Err(UsageError::new("flow", trouble));
    }
    if has_urls(said) {
        return Err(UsageError::new(
            "URL",
            complaint!(
                "cannot be combined with a flow, whose steps have their own URLs; leave it out",
                "不能与流程同用，其步骤自带 URL；请去掉"
            ),
        ));
    }
    if said.has(&CLEAR_COOKIES) && !said.contains("cookie-jar") {
        return Err(said.wrong(
            &CLEAR_COOKIES,
            complaint!(
                "has no cookies to clear; add `cookie-jar: true`",
                "没有可清除的 Cookie；请加上 `cookie-jar: true`"
            ),
        ));
    }
    for (setting, trouble) in [
        (
            settings::REQUESTS.spec,
            complaint!("counts requests; with a flow, use --iterations", "按请求计数；有流程时请用 --iterations"),
        ),
        (
            THINK.spec,
            complaint!(
                "is the pause between requests; in a flow, add `pause` steps",
                "是请求之间的停顿；流程中请加 `pause` 步骤"
            ),
        ),
        (
            INTERVAL.spec,
            complaint!(
                "is the time from one request to the next; in a flow, use `pace`",
                "是两个请求之间的间隔；流程中请用 `pace`"
            ),
        ),
        (HOLD.spec, complaint!("cannot be combined with a flow; leave it out", "不能与流程同用；请去掉")),
    ] {
        said.refuse(&[setting], trouble)?;
    }
    Ok(Some(Flow { clear_cookies: said.has(&CLEAR_COOKIES), ..flow.clone() }))
}

/// Checks that the flow is compatible with the load of its plan.
///
/// # Errors
/// A section of the flow is not compatible; the error names it.
pub(super) fn check_load(plan: &Plan) -> Result<(), UsageError> {
    let Some(flow) = plan.flow.as_ref().filter(|_| plan.load.is_open()) else { return Ok(()) };
    for (name, section, [place, zh]) in
        [("start", &flow.start, ["first", "开头"]), ("end", &flow.end, ["last", "末尾"])]
    {
        let mut any = false;
        each(section, &mut |_| any = true);
        if any {
            let trouble = complaint!(
                "runs once per user, and with a rate each iteration is a new user; put it {place} in `flow`",
                "对每个用户执行一次，而按速率时每次迭代都是新用户；请放在 `flow` 的{zh}"
            );
            return Err(UsageError::new(name, trouble));
        }
    }
    Ok(())
}
