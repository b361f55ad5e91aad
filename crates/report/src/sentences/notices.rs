//! The sentences of notices.

use brunt_record::Subject;

use crate::text::{Text, text};

/// Returns the sentence of a notice. Facts without a placeholder are appended, in brackets.
pub(crate) fn notice(of: Subject) -> Text {
    match of {
        Subject::AgentBack => AGENT_BACK,
        Subject::AgentLate => AGENT_LATE,
        Subject::AgentLost => AGENT_LOST,
        Subject::AgentRefused => AGENT_REFUSED,
        Subject::AgentRemark => AGENT_REMARK,
        Subject::AgentChangedLate => AGENT_CHANGED_LATE,
        Subject::AgentCloses => AGENT_CLOSES,
        Subject::AgentTwice => AGENT_TWICE,
        Subject::AgentsAwaited => AGENTS_AWAITED,
        Subject::AgentsReplaced => AGENTS_REPLACED,
        Subject::CoordinatorDisk => COORDINATOR_DISK,
        Subject::TeardownLeftOut => TEARDOWN_LEFT_OUT,
        Subject::PublicRefused => PUBLIC_REFUSED,
        Subject::Curl => CURL,
        Subject::OnlyErrors => ONLY_ERRORS,
        Subject::OnlyRedirects => ONLY_REDIRECTS,
        Subject::NoLocation => NO_LOCATION,
        Subject::DatagramsByOrder => DATAGRAMS_BY_ORDER,
        Subject::MessagesByOrder => MESSAGES_BY_ORDER,
        Subject::DiskFull => DISK_FULL,
        Subject::NotKept => NOT_KEPT,
        Subject::NoticesLeftOut => NOTICES_LEFT_OUT,
        Subject::SecondsLost => SECONDS_LOST,
        Subject::AfterInterrupted => AFTER_INTERRUPTED,
        Subject::AfterFailed => AFTER_FAILED,
        Subject::WatchedLost => WATCHED_LOST,
        Subject::ServiceEnded => SERVICE_ENDED,
        Subject::ObjectiveStop => OBJECTIVE_STOP,
        Subject::TeardownFailed => TEARDOWN_FAILED,
        Subject::StepStop => STEP_STOP,
        Subject::RunTimeout => RUN_TIMEOUT,
        Subject::SlowLookup => SLOW_LOOKUP,
        Subject::AddressesChanged => ADDRESSES_CHANGED,
        Subject::UringStreamsOnly => URING_STREAMS_ONLY,
        Subject::UringUnavailable => URING_UNAVAILABLE,
        Subject::ConnectionLimit => CONNECTION_LIMIT,
        Subject::OtlpAway => OTLP_AWAY,
        Subject::OtlpIncomplete => OTLP_INCOMPLETE,
        Subject::OtlpSpansLost => OTLP_SPANS_LOST,
        Subject::OtlpSpansLeftOut => OTLP_SPANS_LEFT_OUT,
        Subject::ProbeLost => PROBE_LOST,
        Subject::ProcessLost => PROCESS_LOST,
        Subject::WorkerLost => WORKER_LOST,
        Subject::Proxy => PROXY,
        Subject::Insecure => INSECURE,
        Subject::NoKeepalive => NO_KEEPALIVE,
        Subject::DataEnd => DATA_END,
        Subject::DataEndIterations => DATA_END_ITERATIONS,
        Subject::DataEndScenario => DATA_END_SCENARIO,
        Subject::FewArrivals => FEW_ARRIVALS,
    }
}

const AGENT_BACK: Text = text(
    "Agent {agent} is connected again after {away}; what it measured in the meantime is in the results.",
    "施压机 {agent} 在 {away} 后重新连上；期间测得的数据已计入结果。",
);
const AGENT_LATE: Text = text(
    "Agent {agent} has reported nothing for {silent}: seconds are shown without its share until it does.",
    "施压机 {agent} 已有 {silent} 没有上报数据：在此之前，各秒的显示不含它承担的部分。",
);
const AGENT_LOST: Text = text(
    "Agent {agent} was lost ({why}). Its results end at {until}: what it sent later, if anything, is in none of these figures, and {share} of the load is missing from then on.",
    "施压机 {agent} 丢失（{why}）。其数据截至 {until}：此后若仍有发送，均不计入结果，并且此后缺少 {share} 的负载。",
);
const AGENT_REFUSED: Text =
    text("Agent {agent} took no part in the run: {why}.", "施压机 {agent} 没有参加本次压测：{why}。");
const AGENT_REMARK: Text = text("Agent {agent}: {remark}.", "施压机 {agent}：{remark}。");
const AGENT_CHANGED_LATE: Text = text(
    "A change of the load reached agent {agent} {late} late; until then it sent as before.",
    "负载的变更晚 {late} 才到达施压机 {agent}；在此之前它仍按原来的负载发送。",
);
const AGENT_CLOSES: Text = text(
    "Agent {agent} has no load left and closes its connections; it is waited for.",
    "施压机 {agent} 的负载已结束，正在关闭连接；等待其完成。",
);
const AGENT_TWICE: Text = text(
    "Another machine joined with the token of agent {agent} during the run: a stop or a change may have reached only that one. \
     Each machine needs a token of its own (`brunt fleet add NAME`).",
    "压测期间，另一台机器使用了施压机 {agent} 的令牌：停止或变更负载的指令可能只到达了那台机器。每台机器需要各自的令牌（`brunt fleet add NAME`）。",
);
const AGENTS_AWAITED: Text = text(
    "No agent was left. What {agents} measured and could not hand in, `brunt run --resume {run}` collects once they are \
     there again; the report of the whole run is then made anew.",
    "已没有在线的施压机。{agents} 测得而未能上交的数据，待其重新上线后可用 `brunt run --resume {run}` 收集，并重新生成整次压测的报告。",
);
const AGENTS_REPLACED: Text =
    text("The share of {agents} went to {to} at {at}.", "自 {at} 起，{agents} 承担的部分改由 {to} 承担。");
const COORDINATOR_DISK: Text = text(
    "This machine could not keep what the agents hand in ({why}): the figures end before the load did. The agents keep \
     them; make room, then go on with `brunt run --resume {run}`.",
    "本机无法保存施压机提交的数据（{why}）：数据在负载结束之前就中断了。施压机仍保留这些数据；请腾出空间，然后用 `brunt run --resume {run}` 继续。",
);
const TEARDOWN_LEFT_OUT: Text = text(
    "The steps of teardown and --after were not run: a run that goes on knows its plan without its secrets.",
    "teardown 和 --after 的步骤没有执行：继续的压测只知道不含机密的计划。",
);
const PUBLIC_REFUSED: Text = text(
    "{hosts}: redirects lead to this public address, which was not confirmed; nothing was sent there. --yes \
        allows it.",
    "{hosts}：重定向指向该公网地址，未经确认，因此没有向其发送任何请求；如需允许请加 --yes。",
);
const CURL: Text = text("Unlike the curl command: {difference}.", "与 curl 命令的不同之处：{difference}。");
const ONLY_ERRORS: Text = text(
    "Every request failed at the start of the run ({count}): {kind}.",
    "压测开始后请求全部失败（{count} 个）：{kind}。",
);
const ONLY_REDIRECTS: Text = text(
    "Every response was a redirect ({status}) and none was followed: follow them with --redirects N (or -L), or use the URL they lead to.",
    "所有响应都是重定向（{status}），且都没有跟随：请用 --redirects N（或 -L）跟随，或直接使用重定向后的地址。",
);
const NO_LOCATION: Text = text(
    "Every response was a redirect ({status}) without a Location, so there was nothing to follow: check the URL.",
    "所有响应都是重定向（{status}），但没有 Location，无法跟随：请检查 URL。",
);
const DATAGRAMS_BY_ORDER: Text = text(
    "{strays} unexpected {strays|datagram|datagrams} arrived. Without --match, responses are matched only \
        by order, so a duplicate may have been taken for another response: use --match to name a field that \
        request and response share.",
    "收到 {strays} 个多余的数据报。未用 --match 时，响应只按顺序匹配请求，重复的响应可能被当作其他请求的响应：请用 --match 指定请求与响应共有的字段。",
);
const MESSAGES_BY_ORDER: Text = text(
    "{strays} unsolicited {strays|message|messages} arrived. Responses were matched by order, so some may be mismatched: --match-field NAME matches them by a JSON field, and --push counts server pushes separately.",
    "收到 {strays} 条没有对应请求的消息。响应按顺序匹配，可能有误：可用 --match-field NAME 按 JSON 字段匹配，用 --push 单独统计服务器推送。",
);
const DISK_FULL: Text = text(
    "Recording to {file} stopped ({error}); the file has everything up to that point.",
    "记录 {file} 无法继续写入（{error}）；此前的内容都已保存。",
);
const NOTICES_LEFT_OUT: Text =
    text("… and {n} more {n|remark|remarks}, which {n|is|are} not listed.", "……另有 {n} 条说明未列出。");
const NOT_KEPT: Text = text(
    "This run was not saved for `brunt report` ({error}).",
    "本次压测未保存，之后无法用 `brunt report` 查看（{error}）。",
);
const SECONDS_LOST: Text = text(
    "The per-second data of this run could not be kept ({error}): reports have its totals, and per-second data up to \
        then.",
    "本次压测的逐秒数据未能保存（{error}）：报告只包含总计和此前各秒的数据。",
);
const AFTER_INTERRUPTED: Text = text(
    "--after was interrupted: part of it was not sent, or got no response.",
    "--after 被中断：未能全部发出并收到响应。",
);
const AFTER_FAILED: Text = text("--after failed: {why}.", "--after 执行失败：{why}。");
const WATCHED_LOST: Text = text(
    "{service} (watched) gave no reply in {missed} of {readings} readings, first {at} s into the run: \
        {why}; its counters are missing there.",
    "受监控的 {service} 在 {readings} 次读取中有 {missed} 次没有响应，首次出现在压测开始后 {at} 秒：{why}；这些时刻缺少其计数器数据。",
);
const SERVICE_ENDED: Text = text(
    "The process watched with --watch-pid ended {at} s into the run; there are no counters for it from then on.",
    "--watch-pid 监控的进程在压测开始后 {at} 秒退出；此后没有其计数器数据。",
);
const OBJECTIVE_STOP: Text = text(
    "The run was stopped because an objective was missed: {objective}. Results cover the time up to then.",
    "有目标（SLO）未通过，压测已停止：{objective}。结果只包含停止之前的部分。",
);
const TEARDOWN_FAILED: Text = text("teardown failed: {why}.", "teardown 执行失败：{why}。");
const STEP_STOP: Text = text(
    "The run was stopped by a failed step with on-failure: stop-run: {step}. Results cover the time up to \
        then.",
    "设有 on-failure: stop-run 的步骤失败，压测已停止：{step}。结果只包含停止之前的部分。",
);
const RUN_TIMEOUT: Text =
    text("The run was stopped after {time} by --run-timeout.", "按 --run-timeout 的要求，压测在 {time} 后停止。");
const SLOW_LOOKUP: Text = text(
    "Looking up {name} took {took}. brunt does that once before the load; a client or service that resolves \
        the name for each connection waits that long: check the name servers in /etc/resolv.conf.",
    "解析域名 {name} 耗时 {took}。brunt 只在压测前解析一次；每次建连都解析的客户端或服务则每次都要等这么久：请检查 /etc/resolv.conf 中的 DNS 服务器。",
);
const ADDRESSES_CHANGED: Text = text(
    "The addresses of {name} changed during the run: {before} before, {after} now. Open connections stayed with \
        the old ones; brunt looks a name up once before the load and again only after failed connects, or \
        every TIME with --dns-refresh TIME.",
    "压测期间 {name} 的地址发生了变化：之前为 {before}，现在为 {after}。已打开的连接仍使用旧地址；brunt 只在压测前解析一次域名，此后仅在建连失败后重新解析，用 --dns-refresh TIME 可定期重新解析。",
);
const URING_STREAMS_ONLY: Text =
    text("io_uring does not support UDP here; this run uses epoll.", "io_uring 不支持 UDP，本次压测改用 epoll。");
const URING_UNAVAILABLE: Text = text(
    "io_uring is not available here (container runtimes often forbid it); this run uses epoll.",
    "当前环境无法使用 io_uring（容器运行时常会禁用它），本次压测改用 epoll。",
);
const CONNECTION_LIMIT: Text = text(
    "{waited} of {scheduled} requests found no free connection and waited at the limit of {limit} \
        (--max-connections): {wait} of a mean response time of {response}.",
    "{scheduled} 个请求中有 {waited} 个没有空闲连接可用，因达到 {limit} 个连接的上限（--max-connections）而等待：平均响应时间 {response} 中，等待占 {wait}。",
);
const OTLP_AWAY: Text = text(
    "{missed} of {exports} {exports|export|exports} to {url} failed: {why}. Each export has all totals so \
        far, so the next one that arrives makes up for it.",
    "发往 {url} 的 {exports} 次导出中有 {missed} 次失败：{why}。每次导出都含截至当时的全部指标，下一次成功即可补齐。",
);
const OTLP_INCOMPLETE: Text = text(
    "The final metrics did not reach {url}: {why}. {missed} of {exports} {exports|export|exports} failed; what \
        arrived there does not cover the whole run.",
    "最终指标未能送达 {url}：{why}。{exports} 次导出中有 {missed} 次失败；对方收到的数据不完整。",
);
const OTLP_SPANS_LOST: Text = text(
    "{lost} of {spans} {spans|span|spans} did not reach {url}: {why}.",
    "{spans} 个 span 中有 {lost} 个未能送达 {url}：{why}。",
);
const OTLP_SPANS_LEFT_OUT: Text = text(
    "{left_out} sampled or failed requests got no span from brunt: the limits are 256 sampled \
        and 64 failed per worker and second. A smaller --trace leaves out fewer.",
    "另有 {left_out} 个被采样或失败的请求没有生成 span：每个工作线程每秒最多记录 256 个被采样的请求和 64 个失败的请求。减小 --trace 可减少遗漏。",
);
const PROBE_LOST: Text = text(
    "The probe of {host} was lost ({why}): its counters are missing from then on.",
    "与 {host} 上的探针失去连接（{why}）：此后该主机的计数器无法读取。",
);
const PROCESS_LOST: Text = text(
    "{processes} of the run's processes ended early ({how}). {processes|Its|Their} results end at {until}; {requests} {requests|request|requests} then in flight {requests|counts|count} as unfinished; what came later is unknown.",
    "本次压测有 {processes} 个进程提前结束（{how}）。其数据截至 {until}；当时在途的 {requests} 个请求计为未结束，此后的情况未知。",
);
const WORKER_LOST: Text = text(
    "A worker thread was lost ({why}): its requests are missing.",
    "有工作线程异常终止（{why}）：结果中缺少它的请求。",
);
const PROXY: Text = text(
    "Connections went through {proxy}: its limits and latency are part of these results.",
    "连接经由 {proxy}：结果中包含代理自身的限制与耗时。",
);
const INSECURE: Text = text("Certificates were not verified.", "未校验证书。");
const NO_KEEPALIVE: Text =
    text("Keep-alive is off: every request opened a new connection.", "未使用长连接：每个请求都新建连接。");
const DATA_END: Text = text(
    "Each row of the data file is used once: the run ends after {requests} {requests|request|requests}.",
    "数据文件每行只用一次：本次压测在 {requests} 个请求后结束。",
);
const DATA_END_ITERATIONS: Text = text(
    "Each row of the data file is used once: the run ends after {iterations} {iterations|iteration|iterations}.",
    "数据文件每行只用一次：本次压测在 {iterations} 次迭代后结束。",
);
const DATA_END_SCENARIO: Text = text(
    "Each row of a data file is used once. Scenarios that end when their rows run out, and after how many iterations: {scenarios}.",
    "数据文件每行只用一次：以下场景在括号内的迭代次数后结束：{scenarios}。",
);
const FEW_ARRIVALS: Text = text(
    "{objective} was missed by the draw of the arrivals alone: at random moments, {arrived}/s came of the {planned}/s \
        planned, however the service did. Use --arrivals constant, or a lower limit.",
    "{objective} 未通过只因到达的随机波动：计划 {planned}/s，实际到达 {arrived}/s，与服务的表现无关。请用 --arrivals constant，或降低下限。",
);
