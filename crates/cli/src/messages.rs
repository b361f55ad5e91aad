//! Messages of the program itself, in both languages. Those of tables, summaries and findings are in the `report`
//! crate.

use brunt_report::text::{Text, text};

/// Announcement of a run with closed load.
pub const CLOSED: Text =
    text("{users} {users|user|users} for {length} on {url}", "{users} 个用户，{length}，地址 {url}");
/// Announcement of connections that are held.
pub const HOLD: Text = text(
    "{n} {n|connection|connections} to {url}, held for {time} once all are open",
    "到 {url} 的 {n} 个连接，全部建立后保持 {time}",
);
/// Announcement of a run with open load.
pub const OPEN: Text =
    text("{rate}/s ({arrivals}) for {length} on {url}", "{rate}/s（{arrivals}），{length}，地址 {url}");
/// How the arrivals of open load are spaced.
pub const POISSON: Text = text("poisson", "泊松到达");
/// Equal gaps between arrivals.
pub const CONSTANT: Text = text("constant", "匀速到达");
/// All arrivals of a second at once.
pub const BURST: Text = text("burst", "突发到达");
/// Announcement of concurrent scenarios.
pub const SCENARIOS: Text =
    text("{n} {n|scenario|scenarios} ({names}) for {length} on {url}", "{n} 个场景（{names}），{length}，地址 {url}");
/// Length of scenarios that end with their iterations.
pub const LENGTH_UNTIL_DONE: Text = text("as long as their iterations take", "直到迭代完成");
/// Length of a run that ends after a number of requests.
pub const LENGTH_REQUESTS: Text = text("{n} {n|request|requests}", "{n} 个请求");
/// Length of a run with a duration and a number of requests.
pub const LENGTH_BOTH: Text = text("{time} or {n} {n|request|requests}", "{time} 或 {n} 个请求");
/// Length of a flow that ends after a number of iterations.
pub const LENGTH_ITERATIONS: Text = text("{n} {n|iteration|iterations}", "{n} 次迭代");
/// Length of a flow with a duration and a number of iterations.
pub const LENGTH_BOTH_ITERATIONS: Text = text("{time} or {n} {n|iteration|iterations}", "{time} 或 {n} 次迭代");
/// The first URL and the number of further ones.
pub const AND_MORE: Text = text("{url} and {n} more", "{url} 及另外 {n} 个");
/// Several URLs, of which each request takes one.
pub const IN_RANDOM_ORDER: Text = text("{n} URLs in random order: {urls}", "{n} 个 URL（随机顺序）：{urls}");
/// Warm-up of a run that has one.
pub const WARMUP: Text = text(", after {time} of warm-up", "，预热 {time}");
/// Proxy of a run.
pub const THROUGH: Text = text(", through {proxy}", "，经由 {proxy}");
/// Proxy that was set by the environment.
pub const PROXY_OF_ENVIRONMENT: Text = text(
    "The environment sets {variables}: requests go through {proxy}, whose limits also apply (--noproxy '*' avoids \
        it).",
    "环境变量 {variables} 指定了代理：请求经由 {proxy}，代理本身也可能成为瓶颈（--noproxy '*' 可直连）。",
);
/// Number of workers.
pub const WORKERS: Text = text("; {n} {n|worker|workers}", "；{n} 个工作线程");
/// First answer without a success status.
pub const PROBE_STATUS: Text =
    text("The first response is {status}; expect the same under load.", "首次响应是 {status}，压测中很可能也是如此。");
/// First answer with the right status that fails another check.
pub const PROBE_CHECK: Text =
    text("The first response failed; expect the same under load.", "首次响应未通过检查，压测中很可能也是如此。");
/// Hint shown if a TLS server answered plain HTTP.
pub const PROBE_TLS: Text =
    text("If this port uses TLS, use https:// instead of http://.", "如果该端口使用 TLS，请把 http:// 改为 https://。");
/// Message for exit code 30.
pub const UNREACHABLE: Text = text(
    "brunt: {url} cannot be reached: {failure}; nothing was sent.",
    "brunt: 无法连接 {url}，没有发送任何请求。\n  {failure}",
);
/// Remark of a probe whose connections were taken by peers that sent no request.
pub const PROBE_CLOSED_SILENT: Text = text(
    "brunt: {n} {n|connection|connections} that sent no request {n|was|were} closed, so that runs find room here.",
    "brunt: 已关闭 {n} 个没有发送请求的连接，以便压测程序能够连接。",
);
/// Message for exit code 30 if requests were sent before, such as those of `--before`.
pub const UNREACHABLE_AFTERWARDS: Text = text(
    "brunt: {url} cannot be reached: {failure}; no load was sent.",
    "brunt: 无法连接 {url}，没有发出负载。\n  {failure}",
);
/// Message for exit code 30 if the first response led to a place that cannot be reached.
pub const REDIRECT_UNREACHABLE: Text = text(
    "brunt: {url} redirects to a place that cannot be reached: {failure}; only this first request was sent.",
    "brunt: {url} 重定向到的地址无法连接，除首个请求外没有发送任何请求。\n  {failure}",
);
/// Message for exit code 30 if the first response shows that every request would fail.
pub const REFUSED: Text = text(
    "brunt: {url} responded, but every request would fail: {failure}; no load was sent. Correct the URL, or send it \
     anyway with --force.",
    "brunt: {url} 有响应，但所有请求都会失败，没有发出负载。\n  {failure}\n  请检查 URL；仍要压测可加 --force。",
);
/// Message for exit code 30 if the server was reached.
pub const BEFORE_FAILED: Text = text(
    "brunt: --before failed on {url}: {failure}; no load was sent.",
    "brunt: --before 在 {url} 上执行失败，没有发出负载。\n  {failure}",
);
/// Failure of a step of `setup`.
pub const SETUP_FAILED: Text =
    text("brunt: setup failed: {failure}; no load was sent.", "brunt: setup 执行失败，没有发出负载：{failure}。");
/// Failure of a step of `teardown` without load.
pub const TEARDOWN_FAILED: Text = text("brunt: teardown failed: {failure}.", "brunt: teardown 执行失败：{failure}。");
/// Keys available during a run.
pub const KEYS: Text = text(
    "Keys: + more load, - less, p pause and resume, q end the run",
    "按键：+ 加大负载，- 减小，p 暂停或恢复，q 结束压测",
);
/// Keys available while connections are held.
pub const KEYS_HELD: Text = text("Keys: q ends the run", "按键：q 结束压测");
/// Shown before a run whose metrics are served.
pub const PROMETHEUS: Text =
    text("Prometheus metrics at http://{address}/metrics", "Prometheus 指标：http://{address}/metrics");
/// Shown before a run whose metrics are sent to an OpenTelemetry collector.
pub const OTLP: Text = text("Sending metrics to {url} once a second", "每秒向 {url} 发送指标");
/// Shown before a run whose spans are sent to a collector.
pub const OTLP_SPANS: Text = text("Sending spans to {url}", "向 {url} 发送 span");
/// Shown before a run whose metrics and spans are sent to a collector.
pub const OTLP_BOTH: Text =
    text("Sending metrics to {url} once a second, and spans", "每秒向 {url} 发送指标，并发送 span");
/// Shown after a run whose metrics are served.
pub const LINGERS: Text = text(
    "Keeping the final metrics until Prometheus scrapes them, at most {time} (Ctrl-C to stop waiting) …",
    "最终指标保留到 Prometheus 抓取一次为止，最多 {time}（Ctrl-C 结束等待）…",
);
/// Shown if the final metrics were not scraped.
pub const NOT_FETCHED: Text = text("The final metrics were not scraped.", "最终指标没有被抓取。");
/// Shown if the first answer to `--before` is late.
pub const WAITING_BEFORE: Text = text("waiting for --before on {address} …", "正在等待 {address} 完成 --before …");
/// Shown if reading files and encoding requests takes long.
pub const WAITING_FOR_AGENTS: Text = text(
    "waiting for agents ({agents}), for up to {time} (--agents-wait) …",
    "正在等待施压机（{agents}），最多 {time}（--agents-wait）…",
);
pub const PREPARING: Text = text("preparing the requests …", "正在准备请求 …");
/// Shown if the first answer is late.
pub const WAITING: Text = text(
    "waiting for the first response from {address} (timeout {timeout}) …",
    "正在等待 {address} 的首次响应（超时 {timeout}）…",
);
/// Message for exit code 21 if the run was stopped before the load.
pub const STOPPED: Text = text(
    "brunt: interrupted before the first response; no load was sent.",
    "brunt: 在首次响应之前被中断，没有发出负载。",
);
/// Message for exit code 21 if the timeout came before the load.
pub const OUT_OF_TIME: Text = text(
    "brunt: stopped after {time} by --run-timeout, before the first response; no load was sent.",
    "brunt: 按 --run-timeout 的要求在 {time} 后停止，尚未收到首次响应，没有发出负载。",
);
/// Message for exit code 30 with `--debug`.
pub const NO_ANSWER: Text = text("brunt: no complete response: {failure}.", "brunt: 没有完整的响应。\n  {failure}");
/// Address in the first line of --debug.
pub const DEBUG_THROUGH: Text = text("the proxy {proxy}", "代理 {proxy}");
/// Heading of the bytes sent in --debug.
pub const DEBUG_SENT: Text = text("--- sent, {n} {n|byte|bytes}", "--- 已发送 {n} 字节");
/// Heading of the bytes received in --debug.
pub const DEBUG_RECEIVED: Text = text("--- received, {n} {n|byte|bytes}", "--- 已接收 {n} 字节");
/// End of a long answer in --debug.
pub const DEBUG_LEFT_OUT: Text = text("--- {n} more {n|byte|bytes} not shown", "--- 另有 {n} 字节未显示");
/// Verdict of --debug for a success.
pub const DEBUG_SUCCESS: Text =
    text("--- a run would count this exchange as a success", "--- 压测会把这次请求计为成功");
/// Verdict of --debug for a failure.
pub const DEBUG_FAILURE: Text =
    text("--- a run would count this exchange as failed: {why}", "--- 压测会把这次请求计为失败：{why}");
/// Passed check in --debug.
pub const DEBUG_PASSED: Text = text("--- check passed: {name}", "--- 检查通过：{name}");
/// Failed check in --debug.
pub const DEBUG_FAILED: Text = text("--- check failed: {name}", "--- 检查未通过：{name}");
/// Pause of a flow in --debug.
pub const DEBUG_PAUSE: Text = text("=== pause of {time}, skipped", "=== 停顿 {time}，已跳过");
/// Value used by a request of a flow in --debug.
pub const DEBUG_USED: Text = text("--- with {pair}", "--- 使用 {pair}");
pub const DEBUG_NOT_KNOWN: Text = text("(not known)", "（未知）");
/// Value captured from a response in --debug.
pub const DEBUG_CAPTURED: Text = text("--- captured {pair} ({n} {n|byte|bytes})", "--- 提取 {pair}（{n} 字节）");
/// Resource of a page in --debug.
pub const DEBUG_RESOURCE: Text =
    text("--- resource of {page}: {url}  {what}, {n} {n|byte|bytes}", "--- {page} 的资源：{url}  {what}，{n} 字节");
pub const DEBUG_RESOURCE_FAILED: Text =
    text("--- resource of {page}: {url}  failed: {what}", "--- {page} 的资源：{url}  失败：{what}");
pub const DEBUG_FROM_CACHE: Text = text("from the cache", "来自缓存");
/// Resources of a page that are not fetched in --debug.
pub const DEBUG_ELSEWHERE: Text = text(
    "--- {n} {n|resource|resources} on other hosts not fetched; name the hosts with --resources-from",
    "--- 未获取其他主机的 {n} 个资源；可用 --resources-from 指定这些主机",
);
pub const DEBUG_BEYOND: Text = text("--- {n} more {n|resource|resources} not fetched", "--- 另有 {n} 个资源未获取");
pub const DEBUG_CUT: Text =
    text("--- the page is too long: the rest was not searched for resources", "--- 页面过长：其余部分未查找资源");
/// Line about a plan that `plan --check` accepts.
pub const CAN_BE_RUN: Text = text("can be run: {said}", "可以运行：{said}");
/// Line about a difference from a curl command.
pub const REMARK_ON_CURL: Text = text("curl {remark}", "curl {remark}");
/// Line about something odd in a flow.
pub const REMARK_ON_FLOW: Text = text("flow: {remark}", "流程：{remark}");
/// Line about something odd in a data file.
pub const REMARK_ON_DATA: Text = text("data: {remark}", "数据：{remark}");
/// Comment on a plan that is shown with blanks for its secrets.
pub const PLAN_BLANKS: Text = text(
    "Secrets are left out. To run this plan, set the environment variables {names}, or write the values in their places.",
    "敏感信息已隐去。运行此计划前，请设置环境变量 {names}，或在相应位置填入实际值。",
);
/// Message of `--debug` for a flow in a long loop.
pub const DEBUG_TOO_FAR: Text = text(
    "=== stopped after {n} requests; its loop condition may never change",
    "=== 已在 {n} 个请求后停止；循环条件可能永远不变",
);
/// Message of `--debug` for a flow with an endless loop that sends nothing.
pub const DEBUG_ENDLESS: Text = text(
    "=== stopped: a loop sends nothing and never ends; check its `while` condition",
    "=== 已停止：有一个循环不发送任何请求且不会结束；请检查其 `while` 条件",
);
/// Question before load on a public address.
pub const PUBLIC_ASK: Text = text(
    "{host} ({address}) is a public address, and {load} is real load. Are you allowed to load-test it? [y/N] ",
    "{host}（{address}）是公网地址，本次压测为 {load}。您有权压测该地址吗？[y/N] ",
);
/// Refusal of a public address if no confirmation can be requested.
pub const PUBLIC_REFUSED: Text = text(
    "{host} ({address}) is a public address and {load} may harm it; add --yes if you are allowed to load-test it, or use \
     one user, a pause (--think) or at most 1000/s",
    "{host}（{address}）是公网地址，{load} 可能对其造成损害；如果您有权压测该地址，请加 --yes；否则请只用一个用户、加停顿（--think）或不超过 1000/s",
);
/// Shown if the question was answered with no.
pub const PUBLIC_DECLINED: Text = text("not confirmed; nothing was sent", "未确认；没有发送任何请求");
/// Load named in the question.
pub const USERS: Text = text("{n} {n|user|users}", "{n} 个用户");
/// First line of the demo.
pub const DEMO_BEGIN: Text = text(
    "The built-in target runs as process {pid} at {url}. It takes 100 ms per response; {length} at {rate}:",
    "内置被测服务运行在进程 {pid}，地址 {url}，每个响应耗时 100 毫秒。现在以 {rate} 压测 {length}：",
);
/// Result of `brunt calibrate`.
pub const CALIBRATION: Text = text(
    "Small requests over HTTP/1.1 to the built-in target, on the same cores:\n  \
     full speed    {rate}/s with {users} {users|user|users} and {workers} worker {workers|thread|threads}\n  \
     CPU           {cpu} of brunt per request: a core sends at most {most}/s\n  \
     min latency   p50 {p50}, p99 {p99} with one user",
    "以 HTTP/1.1 小请求压测内置被测服务（共用同一组 CPU）：\n  \
     全速          {rate}/s（{users} 个用户，{workers} 个工作线程）\n  \
     CPU           brunt 每个请求占用 {cpu}，单核最多发送 {most}/s\n  \
     最低延迟      p50 {p50}，p99 {p99}（单个用户）",
);
/// Location of a saved calibration.
pub const CALIBRATION_KEPT: Text = text(
    "\nSaved to {file}; HTTP/1.1 runs without TLS now show their headroom.",
    "\n已保存到 {file}；此后不带 TLS 的 HTTP/1.1 压测会报告余量。",
);
/// Shown if the machine was too busy to calibrate.
pub const CALIBRATION_DISTURBED: Text = text(
    "\nNot saved, because this machine was busy with other work: {why}. Calibrate again when it is idle.",
    "\n未保存，因为本机正忙于其他工作：{why}。请在空闲时重新校准。",
);
/// Shown if the calibration could not be saved.
pub const CALIBRATION_NOT_KEPT: Text = text("\nNot saved: {why}.", "\n未能保存：{why}。");
/// Suggestions after the demo.
pub const DEMO_NEXT: Text = text(
    "Try next:\n  brunt http://localhost:8080/                          ten users, ten seconds, on your own server\n  \
     brunt -r 200/s -d 30s --objective 'p99<50ms' URL      a rate and an objective: exit 10 if missed\n  \
     brunt report --format json -o demo.json               this run again, as JSON",
    "接下来可以试试：\n  brunt http://localhost:8080/                          十个用户、十秒，压测您自己的服务\n  \
     brunt -r 200/s -d 30s --objective 'p99<50ms' URL      固定速率与目标（SLO）：未通过时退出码为 10\n  \
     brunt report --format json -o demo.json               把本次压测输出为 JSON",
);
/// Heading of the stall that the demo measures in two ways.
pub const DEMO_STALL: Text = text(
    "The same server, which now stops for 1 s of a run of 3 s, measured in two ways:",
    "同一个服务在 3 秒的压测中停顿 1 秒，用两种方式测量：",
);
/// The stall as users see it who wait for each response.
pub const DEMO_STALL_USERS: Text = text(
    "  {load}      p99 {p99}: each user waits once and sends nothing meanwhile ({n} requests)",
    "  {load}      p99 {p99}：每个用户只等待一次，其间不再发送请求（共 {n} 个请求）",
);
/// The stall as requests see it that are due at a rate.
pub const DEMO_STALL_RATE: Text = text(
    "  {load}   p99 {p99}: requests stay due, and their waiting counts ({n} requests)",
    "  {load}   p99 {p99}：请求照常到来，等待时间全部计入（共 {n} 个请求）",
);
/// Shown after a demo on a machine that was too busy.
pub const DEMO_WORKED: Text = text(
    "The demo itself worked (exit code 0): a run that is not trusted would exit with 20.",
    "演示本身运行成功（退出码 0）：不可信的压测退出码为 20。",
);
/// First line that the target prints; brunt reads the address from its last word.
pub const LISTENING: Text = text("listening on {address}", "监听地址 {address}");
/// Shown if there is no past run.
/// Which agents make the runs.
pub const ON_AGENTS: Text = text("Agents: {names}", "施压机：{names}");
/// How to go on with an experiment that was interrupted.
pub const GO_ON: Text =
    text("Go on with the same command line and --resume {file}", "用相同的命令行加上 --resume {file} 可以继续");
/// Shown once a baseline is written.
pub const NEW_BASELINE: Text =
    text("{n} {n|run|runs} written to {file} as the baseline.", "已将 {n} 次运行写入 {file}，作为基线。");
/// Shown if runs are no baseline.
pub const NO_NEW_BASELINE: Text = text(
    "{file} is not written: not all runs were made, or one is in doubt.",
    "未写入 {file}：运行未全部完成，或其中有存疑的运行。",
);
/// Shown if an experiment cannot be kept.
pub const EXPERIMENT_NOT_KEPT: Text = text(
    "This experiment is not kept ({error}); --record FILE would.",
    "本次实验未能保存（{error}）；可用 --record FILE 指定文件。",
);
pub const NO_PAST: Text = text(
    "no run has been saved yet; name a FILE written by --record, or run `brunt URL` first",
    "还没有保存的压测；请指定 --record 生成的 FILE，或先运行 `brunt URL`",
);
/// Shown if a record could not be written completely.
pub const RECORD_INCOMPLETE: Text = text(
    "brunt: --record {file} is not complete: it could not be written to the end of the run.",
    "brunt: --record {file} 不完整：未能写到压测结束。",
);
/// Shown if standard output could not be written.
pub const OUTPUT_NOT_WRITTEN: Text =
    text("brunt: standard output could not be written: {error}.", "brunt: 标准输出未能写入：{error}。");
/// Shown if the record of an experiment could not be written to its end.
pub const RECORD_NOT_WRITTEN: Text = text(
    "brunt: {file} holds only the runs before this error: {error}.",
    "brunt: {file} 只包含此错误之前的运行：{error}。",
);
/// Shown if an experiment ends with another exit code than its result has, because that could not be written.
pub const OTHER_EXIT_CODE: Text =
    text("Not everything could be written: exit code {code}.", "未能全部写入：退出码 {code}。");
pub const NOT_WRITTEN: Text =
    text("brunt: -o {file} was not written: {error}.", "brunt: -o {file} 未能写入：{error}。");
