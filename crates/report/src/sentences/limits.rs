//! The sentences on the limits of a run.

use brunt_i18n::text::{Text, text};

pub(crate) const LIMIT: Text = text("What limited the run", "瓶颈");
pub(crate) const PROVED: Text = text("proved, {rule}", "已证实，{rule}");
pub(crate) const CONSISTENT: Text = text("consistent with the data, {rule}", "与观测相符，{rule}");
pub(crate) const EVIDENCE: Text = text("evidence", "依据");
pub(crate) const REMEDY: Text = text("fix", "改进");
pub(crate) const EXPERIMENT: Text = text("verify", "验证");
pub(crate) const ALSO: Text = text("also", "另外");
pub(crate) const NOT_REACHED: Text =
    text("no bottleneck found; brunt delivered the full load", "未发现瓶颈，已达到设定负载");
pub(crate) const USERS: Text = text(
    "the number of users: the mean response time is hardly longer than the shortest, so nothing was queueing, and \
        more users (-c) would give more throughput",
    "用户数：平均响应时间与最短响应时间相差无几，没有请求在排队；增加用户（-c）即可提高吞吐量",
);
pub(crate) const MAX_USERS: Text = text(
    "max-users: no user was free for iterations that were due, and they were dropped; a higher max-users shows whether the service keeps up with the rate",
    "max-users：迭代到了开始时间却没有空闲用户，只能放弃；提高 max-users 可看出服务能否跟上该速率",
);
pub(crate) const AT_MOST: Text = text(
    "the plan: step `{step}` used up its `at-most` of {rate}/s; more users would only wait for their turn",
    "测试计划：步骤 `{step}` 的 `at-most`（{rate}/s）已经用满；增加用户只会让更多用户排队等待",
);
pub(crate) const UNKNOWN_HERE: Text =
    text("no counter of this machine or of the service shows the limit", "本机与服务的计数器均未显示瓶颈");
pub(crate) const UNKNOWN_ELSEWHERE: Text = text(
    "cannot be determined from here: the counters of the service's machine are not observable (run `brunt probe` there)",
    "从本机无法判断：看不到服务所在机器的计数器（在该机器上运行 `brunt probe` 即可）",
);
pub(crate) const PROGRAMS: Text = text("; of the service: {programs}", "；服务中：{programs}");
pub(crate) const BETWEEN_PROGRAMS: Text = text(", ", "、");
pub(crate) const DOUBLE: Text =
    text("; doubling the load would show whether there is room for more", "；将负载翻倍可看出吞吐量是否还能上升");
pub(crate) const LOWER: Text = text(
    "; begin with a lower load and raise it (--stage): that shows from which load on requests queue or time out",
    "；请从较低的负载开始逐步加压（--stage），看从多大的负载起请求开始排队或超时",
);
pub(crate) const SINGLE: Text =
    text("; no request succeeded: look at a single one with --debug", "；没有请求成功：用 --debug 查看单个请求");
pub(crate) const CURVE: Text = text("load → throughput (p50, p99): {points}", "负载 → 吞吐量（p50，p99）：{points}");
pub(crate) const SEMICOLON: Text = text("; ", "；");
pub(crate) const NO_RESPONSE: Text = text("no response", "无响应");
pub(crate) const SHARED: Text = text(
    "service and generator share this machine: the service used {service} of its {cores} cores, brunt {generator}, others {others}",
    "服务与发压端共用本机：{cores} 个核中，服务用了 {service}，brunt 用了 {generator}，其他程序用了 {others}",
);
