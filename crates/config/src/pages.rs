//! Validation and groups of pages that steps of a flow load with their resources.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_plan::flow::{GROUPS, Step, is_page};
use brunt_plan::{Plan, PlanOptions};
use brunt_protocols::cache::CACHE;
use brunt_protocols::resources::{FROM, MAY_FAIL, RESOURCES};

use super::draft::RunDraft;
use super::origin::ValueOrigin;

/// Adds a group around each page of the plan.
///
/// # Errors
/// `resources` is set without a flow, without a number or on a request of a batch, or there are too many groups.
pub(super) fn add_page_groups(mut plan: Plan, draft: &RunDraft) -> Result<Plan, UsageError> {
    let asked = |name: &str| plan.options.contains_key(name) || plan.urls.iter().any(|u| u.options.contains_key(name));
    let wrong = |name: &str, trouble: Complaint| {
        let flag = format!("--{name}");
        Err(draft.option(name).next().map_or(&ValueOrigin::CommandLine, |said| &said.origin).wrong(&flag, trouble))
    };
    if asked(CACHE) && !plan.has_flows() {
        let trouble = complaint!(
            "is for users of a flow; write `flow` in a plan file, or leave it out",
            "用于流程的用户；请在计划文件中写 `flow`，或去掉"
        );
        return wrong(CACHE, trouble);
    }
    let Some(first) = [RESOURCES, FROM, MAY_FAIL].into_iter().find(|name| asked(name)) else { return Ok(plan) };
    if !plan.has_flows() {
        let trouble = complaint!(
            "only works in a flow; write the pages as steps of `flow` in a plan file, or leave it out",
            "只能用于流程；请在计划文件中把页面写成 `flow` 的步骤，或去掉"
        );
        return wrong(first, trouble);
    }
    if !asked(RESOURCES) {
        let trouble = complaint!(
            "needs `resources`, the number fetched at once; write `resources: 6` next to it, or leave it \
            out",
            "需要 `resources`，即同时下载的个数；请在旁边写 `resources: 6`，或去掉"
        );
        return wrong(first, trouble);
    }
    let (urls, options) = (plan.urls.clone(), plan.options.clone());
    let flows = plan.flow.iter_mut().chain(plan.scenarios.iter_mut().map(|scenario| &mut scenario.flow));
    let mut groups = 0;
    for flow in flows {
        *flow = std::mem::take(flow).with_pages(&urls, &options);
        groups += flow.groups().len();
        let mut in_batch = None;
        flow.visit_all_steps(&mut |step| {
            if let Step::Batch { urls: of_batch, .. } = step {
                let own = of_batch.iter().filter_map(|url| urls.get(*url as usize));
                in_batch =
                    in_batch.take().or_else(|| own.into_iter().find(|url| is_page(url, &PlanOptions::default())));
            }
        });
        if let Some(url) = in_batch {
            let trouble = complaint!(
                "cannot fetch the resources of `{}`, which is in a batch; make it a separate step",
                "无法下载 `{}` 的资源，它在批量请求中；请写成单独的步骤",
                url.url
            );
            return wrong(RESOURCES, trouble);
        }
    }
    if groups > GROUPS {
        let trouble = complaint!(
            "makes each page a group, and {groups} groups are more than {GROUPS}; give pages the same name, or use \
                it in fewer steps",
            "会把每个页面变为组，而 {groups} 个组超过 {GROUPS} 个；请给页面相同的名称，或减少使用它的步骤"
        );
        return wrong(RESOURCES, trouble);
    }
    Ok(plan)
}
