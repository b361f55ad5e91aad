//! Every sentence of the reports, in every language: one table.
//!
//! `{name}` is filled in by [`crate::text::Lang::fill`].

use crate::text::{Text, text};

// Headings of the live table and of lists.
pub(crate) const TIME: Text = text("time", "时间");
pub(crate) const USERS: Text = text("users", "用户");
pub(crate) const IN_FLIGHT: Text = text("in flight", "处理中");
pub(crate) const OK: Text = text("ok", "成功");
pub(crate) const FAILED: Text = text("failed", "失败");
pub(crate) const RATE: Text = text("req/s", "请求/秒");
pub(crate) const MAX: Text = text("max", "最大");
pub(crate) const MEAN: Text = text("mean", "平均");
pub(crate) const MEGABYTES: Text = text("MB/s", "MB/秒");
pub(crate) const STATUS: Text = text("status", "状态码");
pub(crate) const WARMUP: Text = text("warm-up: {n} {n|request|requests}", "预热：{n} 个请求");
pub(crate) const DRAIN: Text = text("drain", "收尾");

// Between the parts of a sentence.
pub(crate) const COMMA: Text = text(", ", "，");
pub(crate) const SEMICOLON: Text = text("; ", "；");
pub(crate) const COLON: Text = text(": ", "：");
pub(crate) const BRACKETS: Text = text(" ({inner})", "（{inner}）");

// The head of a summary.
pub(crate) const OPEN_LOAD: Text =
    text("open load, {rate} ({arrivals} arrivals)", "开放负载，{rate}（{arrivals}到达）");
pub(crate) const CLOSED_LOAD: Text = text("closed load, {users}", "封闭负载，{users}");
pub(crate) const USERS_N: Text = text("{n} {n|user|users}", "{n} 个用户");
pub(crate) const POISSON: Text = text("Poisson", "泊松");
pub(crate) const CONSTANT: Text = text("constant", "等间隔");
pub(crate) const BURST: Text = text("burst", "突发");
pub(crate) const FOR: Text = text("for {time}", "持续 {time}");
pub(crate) const REQUESTS_ASKED: Text = text("{n} {n|request|requests}", "{n} 个请求");
pub(crate) const AFTER_WARMUP: Text = text("after {time} of warm-up", "预热 {time} 之后");
pub(crate) const MACHINERY: Text =
    text("{workers} {workers|worker thread|worker threads}, {net}", "{workers} 个工作线程，{net}");
pub(crate) const MORE_URLS: Text = text("and {n} more {n|URL|URLs}", "另有 {n} 个 URL");
pub(crate) const PROBE: Text = text(
    "First answer: {status}, {bytes} in {took} from {address} ({spoken})",
    "首个应答：状态 {status}，正文 {bytes}，用时 {took}，来自 {address}（{spoken}）",
);
pub(crate) const PROBE_WITHOUT_STATUS: Text = text(
    "First answer: {bytes} in {took} from {address} ({spoken})",
    "首个应答：{bytes}，用时 {took}，来自 {address}（{spoken}）",
);
pub(crate) const PROBE_FAILED: Text = text("First request: {failure}", "首个请求：{failure}");

// The same as a table, in Markdown.
pub(crate) const RUN: Text = text("Run", "运行");
pub(crate) const TARGET: Text = text("Target", "目标地址");
pub(crate) const LOAD: Text = text("Load", "负载");
pub(crate) const BEGUN: Text = text("Begun", "开始于");
pub(crate) const TOOK: Text = text("Took", "用时");
pub(crate) const GENERATOR: Text = text("Generator", "发生器");
pub(crate) const MACHINE: Text = text(
    "brunt {version} on {host} ({kernel}, cores: {cores})",
    "brunt {version}，主机 {host}（{kernel}，核数 {cores}）",
);
pub(crate) const SHARE: Text = text("share", "占比");

// Figures.
pub(crate) const RESPONSE_HEADLINE: Text =
    text("Response time, from the intended start", "响应时间，从计划的发送时刻算起");
pub(crate) const SERVICE_HEADLINE: Text = text("Service time at {users}", "{users}时的服务时间");
pub(crate) const RANKED: Text = text("{n} {n|request|requests}", "{n} 个请求");
pub(crate) const RANKED_UNFINISHED: Text = text(
    "{n} {n|request|requests}, {unfinished} of them without an answer",
    "{n} 个请求，其中 {unfinished} 个没有应答",
);
pub(crate) const FAILED_APART: Text =
    text("; {failed} failed are not in these figures", "；另有 {failed} 个失败，不计入这些数字");
pub(crate) const NO_LATENCY: Text =
    text("Not one request finished: there is no latency to show.", "没有一个请求完成：没有可显示的延迟。");
pub(crate) const NOTHING_BEGUN: Text =
    text("The run ended before its first request was due.", "运行在第一个请求应发之前就结束了。");
pub(crate) const NOTHING_DUE: Text = text(
    "No request was due: run longer (-d), or at a higher rate.",
    "没有应发的请求：请延长运行时间（-d），或提高速率。",
);
pub(crate) const NO_QUANTILES: Text = text(
    "Too few requests for quantiles: p50 is shown from {needed} on.",
    "请求太少，不显示分位数：p50 至少需要 {needed} 个。",
);
pub(crate) const INTERVAL: Text = text("95 % interval", "95 % 置信区间");
pub(crate) const NO_INTERVALS: Text = text(
    "No intervals: only a run of at least 5 s tells how much its requests resemble their neighbours.",
    "不显示置信区间：运行至少 5 秒，才看得出相邻请求有多相似。",
);
pub(crate) const TOO_FEW: Text =
    text("{names}: not shown below {needed} {needed|request|requests}", "{names}：不足 {needed} 个请求时不显示");
pub(crate) const LOWER_BOUND_NOTE: Text =
    text("≥ means: at least so much; requests without an answer decide it", "≥ 表示至少这么多：由没有应答的请求决定");
pub(crate) const HIDDEN: Text = text(
    "Users wait for their answers, so a stall of 1 s would have hidden about {n} {n|request|requests} from these figures.",
    "用户等到应答才发下一个请求，因此 1 秒的停顿会让约 {n} 个请求从这些数字中消失。",
);
pub(crate) const HIDDEN_OPEN: Text = text(
    "For the waiting a visitor would feel, use a rate: -r {n}/s.",
    "若要得到访问者感受到的等待，请指定速率：-r {n}/s。",
);
pub(crate) const THROUGHPUT: Text = text("Throughput", "吞吐量");
pub(crate) const THROUGHPUT_LINE: Text =
    text("{rate} answered within the window of {window}", "{rate}，窗口 {window} 内完成的应答");
pub(crate) const ASKED_RATE: Text = text("scheduled {due}/s, sent {sent} of {n}", "计划 {due}/s，已发送 {sent}/{n}");
pub(crate) const DISTRIBUTION: Text = text("Latency distribution", "延迟分布");
pub(crate) const WITHOUT_ANSWER: Text = text("no answer", "无应答");
pub(crate) const WHERE_TIME: Text = text("Where the time went", "时间花在哪里");
pub(crate) const GEN_LATE: Text = text("generator late", "发生器迟到");
pub(crate) const WAIT_CONN: Text = text("wait for connection", "等待连接");
pub(crate) const CONNECT: Text = text("connect", "建立连接");
pub(crate) const TLS: Text = text("TLS", "TLS");
pub(crate) const FIRST_BYTE: Text = text("first byte", "首字节");
pub(crate) const TRANSFER: Text = text("transfer", "传输");
pub(crate) const SERVICE: Text = text("service", "服务时间");
pub(crate) const FAILURES_TIME: Text = text("failures", "失败请求");
pub(crate) const TIMES: Text = text("count", "次数");

// Counts.
pub(crate) const REQUESTS: Text = text("Requests", "请求");
pub(crate) const ACCOUNT: Text = text(
    "{due} scheduled = {finished} succeeded + {failed} failed + {censored} unfinished",
    "计划 {due} = 成功 {finished} + 失败 {failed} + 未结束 {censored}",
);
pub(crate) const ACCOUNT_BROKEN: Text = text(
    "{due} scheduled ≠ {finished} succeeded + {failed} failed + {censored} unfinished",
    "计划 {due} ≠ 成功 {finished} + 失败 {failed} + 未结束 {censored}",
);
pub(crate) const APART: Text =
    text("counted apart: {warmup} in the warm-up, {probe} before the run", "另计：预热 {warmup}，运行前 {probe}");
pub(crate) const STATUS_CODES: Text = text("Status codes", "状态码");
pub(crate) const FAILURES: Text = text("Failures", "失败");
pub(crate) const SENT: Text = text("sent", "发送");
pub(crate) const ON_REUSED: Text = text(
    "on a reused connection: the server may have closed it as idle just when the request was sent",
    "发生在复用的连接上：服务器可能恰在请求发出时把它当作空闲连接关闭",
);
pub(crate) const RECEIVED: Text = text("received", "收到");
pub(crate) const CONNECTIONS: Text = text("Connections", "连接");
pub(crate) const CONNECTIONS_LINE: Text = text(
    "{opened} opened, {failed} failed, {reused} {reused|request|requests} on one used before",
    "新建 {opened}，失败 {failed}，{reused} 个请求复用已有连接",
);
pub(crate) const HANDSHAKES: Text = text("TLS handshakes {n}, {resumed} resumed", "TLS 握手 {n}，其中恢复 {resumed}");
pub(crate) const BYTES_LINE: Text = text(
    "{sent} sent, {received} received ({rate}/s), {payload} of it payload",
    "发送 {sent}，收到 {received}（{rate}/s），其中正文 {payload}",
);
pub(crate) const NOT_OPENED_BY: Text =
    text("{n} could not be opened, failing no request: {why}", "{n} 个未能建立（没有请求因此失败）：{why}");
pub(crate) const LOST_BY: Text = text("{n} lost: {why}", "丢失 {n}：{why}");
pub(crate) const REFUSED: Text = text(
    "{n} {n|time|times} the target's machine said that nobody listens at that port (ICMP)",
    "目标主机 {n} 次表示该端口无人监听（ICMP）",
);
pub(crate) const UNSOLICITED: Text = text("{n} {n|message|messages} nobody asked for", "{n} 条未请求的消息");
pub(crate) const MESSAGES: Text = text("{n} {n|message|messages} in streams", "流中消息 {n} 条");
pub(crate) const LATE: Text = text(
    "{n} of the failed {n|was|were} answered after the timeout; status codes are those of answers in time",
    "失败的请求中有 {n} 个在超时之后才收到应答；状态码只统计按时的应答",
);
pub(crate) const ONE_WAY: Text = text(
    "{n} of the succeeded {n|is|are} one-way: over when written, without a latency",
    "成功的请求中有 {n} 个是单向的：写出即结束，没有延迟",
);
pub(crate) const RESENT: Text = text(
    "{n} {n|was|were} sent once more, because the target said that it had not touched {n|it|them}",
    "{n} 个请求因目标声明未处理而重新发送",
);
pub(crate) const STANDING: Text = text(
    "{n} stood at the same time, {lost} lost, {rate} opened a second",
    "同时保持 {n} 个，丢失 {lost}，每秒新建 {rate}",
);
pub(crate) const HEARTBEATS: Text = text(
    "Heartbeats {sent} = {answered} answered + {missed} missed + {open} on their way",
    "心跳 {sent} = 应答 {answered} + 缺失 {missed} + 途中 {open}",
);
pub(crate) const HELD: Text = text("{n} {n|connection|connections} held", "保持了 {n} 个连接");
pub(crate) const LIVE: Text = text("live", "在线");
pub(crate) const OPENED_RATE: Text = text("opened/s", "新建/秒");
pub(crate) const PING_P50: Text = text("ping p50", "心跳 p50");
pub(crate) const PING_P99: Text = text("ping p99", "心跳 p99");
pub(crate) const GREETING: Text = text("greeting", "协议握手");
pub(crate) const MESSAGE_GAP: Text = text("between messages", "消息间隔");
pub(crate) const HEARTBEAT: Text = text("heartbeat", "心跳");
pub(crate) const NO_LATENCY_ONE_WAY: Text = text("One-way requests have no latency.", "单向请求没有延迟。");
pub(crate) const TRUST_HELD_FEWER: Text = text(
    "{held} of {asked} connections stood: the others could not be opened",
    "{asked} 个连接中只保持了 {held} 个：其余无法建立",
);
pub(crate) const TRUST_HELD_FEWER_LOST: Text = text(
    "{held} of {asked} connections stood at the same time: the others were opened, and lost again",
    "{asked} 个连接中只同时保持了 {held} 个：其余建立后又丢失",
);
pub(crate) const TRUST_HELD_FEWER_BOTH: Text = text(
    "{held} of {asked} connections stood at the same time: some could not be opened, others were lost again",
    "{asked} 个连接中只同时保持了 {held} 个：有些无法建立，有些建立后又丢失",
);
pub(crate) const TRUST_HELD_FEWER_LATE: Text = text(
    "{held} of {asked} connections stood: the others did not come to stand in time",
    "{asked} 个连接中只保持了 {held} 个：其余未能及时建立",
);
pub(crate) const TRUST_HELD_NONE_LASTED: Text = text(
    "not one of the {asked} connections asked for lasted: they were opened, and lost again",
    "要求的 {asked} 个连接没有一个保持住：建立后又都丢失",
);
pub(crate) const TRUST_HELD_NONE: Text =
    text("not one of the {asked} connections asked for stood", "要求的 {asked} 个连接一个也没有建立");
pub(crate) const TRUST_LOST: Text = text(
    "{lost} {lost|connection was|connections were} lost while they were to be held",
    "保持期间丢失了 {lost} 个连接",
);

pub(crate) const TRUST_PAIRING: Text = text(
    "{strays} more {strays|answer|answers} came than were asked for, and whose each was is known by order alone: some latencies may be another request's",
    "收到的应答比请求多 {strays} 个，而配对只凭顺序：部分延迟可能属于别的请求",
);
pub(crate) const TRUST_UNHEARD: Text = text(
    "what was sent did not arrive: {refused} {refused|refusal|refusals} (ICMP port unreachable) came back for {sent} {sent|request|requests} that nobody answers",
    "发送的内容没有送达：{sent} 个单向请求收到 {refused} 次拒绝（ICMP 端口不可达）",
);

// Judgement.
pub(crate) const OBJECTIVES: Text = text("Objectives", "目标");
pub(crate) const MET: Text = text("met", "达到");
pub(crate) const MISSED: Text = text("missed", "未达到");
pub(crate) const WITHIN: Text = text("{n} of {due} scheduled requests held it", "计划的 {due} 个请求中 {n} 个符合");
pub(crate) const FEW: Text =
    text("too few requests to show the quantile; judged by counting", "请求太少，不显示该分位数；按计数判断");
pub(crate) const TRUST: Text = text("Trust", "可信度");
pub(crate) const TRUSTED: Text = text("TRUSTED", "可信");
pub(crate) const CAUTION: Text = text("WITH CAUTION", "谨慎使用");
pub(crate) const NOT_TRUSTED: Text = text("NOT TRUSTED", "不可信");
pub(crate) const TRUST_ACCOUNTING: Text = text("every request is accounted for", "每个请求都有去向");
pub(crate) const TRUST_ACCOUNTING_BROKEN: Text = text(
    "the counts do not add up: {due} scheduled, but {sum} succeeded, failed or unfinished. This is a bug in brunt; no figure of this run stands",
    "计数不符：计划 {due}，而成功、失败与未结束之和为 {sum}。这是 brunt 的缺陷，本次运行的数字都不成立",
);
pub(crate) const TRUST_LITTLE: Text = text(
    "Little's law holds: off by {worst} at worst, in the second at {at} ({judged} judged)",
    "符合利特尔法则：最差偏差 {worst}，在第 {at}（共判断 {judged} 秒）",
);
pub(crate) const TRUST_LITTLE_EXACT: Text =
    text("Little's law holds in every second ({judged} judged)", "每一秒都符合利特尔法则（共判断 {judged} 秒）");
pub(crate) const TRUST_LITTLE_BROKEN: Text = text(
    "Little's law: requests in flight and throughput × service time differ by {worst} in the second at {at}",
    "利特尔法则：在第 {at}，处理中的请求数与吞吐量×服务时间相差 {worst}",
);
pub(crate) const TRUST_LITTLE_NOT_JUDGED: Text =
    text("Little's law: too little in flight to be checked", "利特尔法则：处理中的请求太少，无法检查");
pub(crate) const TRUST_LOWER_BOUND: Text = text(
    "{quantiles} only a lower bound: {unfinished} {unfinished|request|requests} got no answer in time, and how long they would have taken nobody knows",
    "{quantiles}只是下限：{unfinished} 个请求没有按时得到应答，没人知道它们会用多久",
);
pub(crate) const TRUST_NOTHING: Text =
    text("not one request finished: there is no latency to speak of", "没有一个请求完成：谈不上延迟");
pub(crate) const TRUST_NOTHING_BEGUN: Text =
    text("the run ended before its first request was due", "运行在第一个请求应发之前就结束了");
pub(crate) const TRUST_NOTHING_DUE: Text = text(
    "no request was due: there is nothing to judge; run longer (-d), or at a higher rate",
    "没有应发的请求，无从判断：请延长运行时间（-d），或提高速率",
);
pub(crate) const TRUST_FAILURES: Text =
    text("{share} of the requests failed: the latency is that of the others", "{share} 的请求失败：延迟只反映其余请求");
pub(crate) const TRUST_FAILURES_ADVICE: Text = text(
    "; set --objective 'failed<0.1%' to make this an exit code",
    "；用 --objective 'failed<0.1%' 可让退出码反映这一点",
);
pub(crate) const TRUST_OUTAGE: Text =
    text("from {from} to {to} not one request succeeded", "从 {from} 到 {to} 没有一个请求成功");
pub(crate) const TRUST_OUTAGE_ONE_MORE: Text = text(", and once more at another time", "，另有一次同样的中断");
pub(crate) const TRUST_OUTAGE_MORE: Text = text(", and {n} more times", "，另有 {n} 次同样的中断");
pub(crate) const TRUST_STUCK: Text = text(
    "users were stuck: {share} of the time spent waiting went to requests that never completed, and those users sent nothing else meanwhile",
    "有用户被卡住：{share} 的等待时间花在始终没有完成的请求上，期间这些用户没有发送其他请求",
);
pub(crate) const TRUST_LOCAL: Text = text(
    "{failed} {failed|request|requests} failed on this machine, for want of local ports or file descriptors: the load was not the one asked for",
    "{failed} 个请求因本机端口或文件描述符不足而失败：实际负载不是所要求的负载",
);
pub(crate) const TRUST_SPLIT_LIMIT: Text = text(
    "arrivals waited for one of {limit} connections, which {workers} workers share out: one waits while another worker's connection is free, and with other workers the wait would be another; -w 1 makes it one queue",
    "请求在等待 {limit} 个连接之一，而这些连接分给了 {workers} 个工作线程：一个线程的请求在等，另一个线程的连接却空着，换一个线程数等待就会不同；用 -w 1 可成为单一队列",
);
pub(crate) const TRUST_BUSY: Text = text(
    "brunt itself was at its limit: its busiest worker used {share} of a core, and was full for {full}; responses waited to be read",
    "发压端自身已到极限：最忙的工作线程占用一个核的 {share}，满载 {full}；响应排队等待读取",
);
pub(crate) const TRUST_BUSY_CLOSED: Text = text(", and throughput is a lower bound", "，吞吐量只是下限");
pub(crate) const TRUST_BUSY_ADVICE: Text = text(
    "; use more workers (-w) or machines, a lower load, or fewer checks of responses (--expect-…)",
    "；请增加工作线程（-w）或机器、降低负载，或减少对响应的检查（--expect-…）",
);
pub(crate) const TRUST_ABSENT: Text = text(
    "brunt itself was paused: {lost} of the window was lost in pauses of 10 ms or more, the longest {longest}; responses that came meanwhile were read late",
    "发压端自身被暂停：窗口的 {lost} 损失在 10 毫秒以上的停顿中，最长 {longest}；期间到达的响应被延迟读取",
);
pub(crate) const TRUST_READ_LATE: Text = text(
    "brunt itself was held up: it did not read for up to {longest}, so often that {quantile} ({figure}) is partly its own doing; give it cores of its own, or a lower load",
    "发压端自身被耽搁：最长 {longest} 没有读取响应，频繁到影响 {quantile}（{figure}）；请为它预留 CPU 核，或降低负载",
);
pub(crate) const TRUST_STARVED: Text = text(
    "brunt itself had to wait for a CPU core: p99 {delay} of a p99 of {figure}; give it cores of its own, or a higher priority",
    "发压端自身在等待 CPU：p99 {delay}，而所报 p99 为 {figure}；请为它预留 CPU 核或提高其优先级",
);
pub(crate) const TRUST_THROTTLED: Text = text(
    "brunt itself was throttled: its CPU quota (cgroup) was used up in {throttled} of {periods} periods; raise the quota or lower the load",
    "发压端自身被限流：{periods} 个周期中有 {throttled} 个用尽 CPU 配额（cgroup）；请提高配额或降低负载",
);
pub(crate) const TRUST_LATE: Text = text(
    "brunt sent requests late: {quantile} {late} of a response {quantile} of {response}",
    "发压端发送延迟：{quantile} 为 {late}，而响应 {quantile} 为 {response}",
);
pub(crate) const TRUST_LATE_MEAN: Text = text(
    "brunt sent requests late: {late} on average, of a mean response time of {response}",
    "发压端发送延迟：平均 {late}，而平均响应时间为 {response}",
);
pub(crate) const TRUST_INTERRUPTED: Text =
    text("the run was interrupted: the figures hold what was measured until then", "运行被中断：数字只含中断前的测量");
pub(crate) const TRUST_PARTIAL: Text = text(
    "a part of the run was lost on the way: the figures hold what it had told until then",
    "运行有一部分中途丢失：数字只含丢失前已上报的测量",
);
pub(crate) const TRUST_ABORTED: Text = text("the run could not go on", "运行无法继续");
pub(crate) const TRUST_CUT_OFF: Text = text(
    "the record stops before the end of the run: the figures hold what it has",
    "记录在运行结束前中断：数字只含已记录的部分",
);
pub(crate) const EXIT: Text = text("Exit code {code}: {meaning}", "退出码 {code}：{meaning}");
pub(crate) const EXIT_OK: Text = text("no objective missed, figures trusted", "没有目标未达到，数字可信");
pub(crate) const EXIT_CAUTION: Text =
    text("no objective missed, figures to be used with caution", "没有目标未达到，数字须谨慎使用");
pub(crate) const EXIT_FAILED: Text = text(
    "; {n} {n|request|requests} failed, and no objective asks about that",
    "；有 {n} 个请求失败，而没有目标对此作出要求",
);
pub(crate) const EXIT_MISSED: Text = text("an objective was missed", "有目标未达到");
pub(crate) const EXIT_NOT_TRUSTED: Text = text("not trusted", "不可信");
pub(crate) const EXIT_INTERRUPTED: Text = text("interrupted", "被中断");
pub(crate) const EXIT_PARTIAL: Text = text("a part of the run was lost", "运行有一部分丢失");
pub(crate) const EXIT_NOT_WRITTEN: Text = text("a report that was asked for was not written", "所要求的报告未能写入");
pub(crate) const EXIT_UNREACHABLE: Text = text("the target cannot be reached", "无法到达目标");
pub(crate) const EXIT_BUG: Text = text("a bug in brunt", "brunt 的缺陷");

/// What to do about a kind of failure whose remedy is on this machine.
pub(crate) const ADVICE: &[(&str, Text)] = &[
    (
        "no_ports",
        text(
            "this machine ran out of local ports: keep connections alive, or add source addresses with --source",
            "本机端口耗尽：请保持连接，或用 --source 增加源地址",
        ),
    ),
    (
        "no_descriptors",
        text(
            "this process ran out of file descriptors: raise the limit with ulimit -n",
            "文件描述符耗尽：用 ulimit -n 提高上限",
        ),
    ),
];

/// Notices by their code. A fact that no placeholder takes is put behind, in brackets.
pub(crate) const NOTICES: &[(&str, Text)] = &[
    (
        "public_refused",
        text(
            "{hosts}: a public address that redirects led to and that nobody was asked about; nothing was sent there. --yes \
             allows it.",
            "{hosts}：重定向指向该公网地址，未经确认，没有向其发送任何请求；--yes 可允许。",
        ),
    ),
    ("curl", text("Unlike the curl command: {difference}.", "与 curl 命令的不同之处：{difference}。")),
    (
        "only_errors",
        text(
            "At the start of the run every request failed ({count}): {kind}.",
            "运行开始时所有请求都失败（{count} 个）：{kind}。",
        ),
    ),
    (
        "only_redirects",
        text(
            "Every answer was a redirect ({status}) and none was followed: --redirects N follows them, or give the URL they lead to.",
            "所有应答都是重定向（{status}）且未跟随：用 --redirects N 跟随，或直接给出目标 URL。",
        ),
    ),
    (
        "datagrams_by_order",
        text(
            "{strays} {strays|datagram|datagrams} came that nobody waited for. Without --match answers belong to requests by their order alone, so a doubled one may have been taken for another's: name a field that request and answer share with --match.",
            "收到 {strays} 个无人等待的数据报。没有 --match 时应答只按顺序与请求配对，重复的应答可能被当作别的请求的应答：请用 --match 指定请求与应答共有的字段。",
        ),
    ),
    (
        "messages_by_order",
        text(
            "{strays} {strays|message|messages} came that nobody had asked for. Answers were paired with messages by their order, so some may be paired wrongly: --match-field NAME pairs them by a JSON field, and --push counts what the server sends by itself apart.",
            "收到 {strays} 条未请求的消息。应答按顺序与消息配对，因此可能有误配：用 --match-field NAME 按 JSON 字段配对，用 --push 单独计服务器主动推送的消息。",
        ),
    ),
    (
        "disk_full",
        text(
            "The record {file} could not be written further ({error}); it holds everything up to then.",
            "记录 {file} 无法继续写入（{error}）；此前的内容都已保存。",
        ),
    ),
    (
        "not_kept",
        text(
            "This run is not kept for `brunt report` ({error}).",
            "本次运行未保存，`brunt report` 无法再显示（{error}）。",
        ),
    ),
    ("after_failed", text("What was to be sent after the run failed: {why}.", "运行后要发送的请求失败：{why}。")),
    (
        "run_timeout",
        text(
            "The run was stopped after {time}, as --run-timeout asked.",
            "按 --run-timeout 的要求，运行在 {time} 后停止。",
        ),
    ),
    (
        "uring_streams_only",
        text(
            "Datagrams do not travel on io_uring here: epoll carries this run.",
            "数据报不经由 io_uring：本次运行改用 epoll。",
        ),
    ),
    (
        "uring_unavailable",
        text(
            "io_uring is not to be had here (container runtimes often forbid it): epoll carries this run.",
            "此处无法使用 io_uring（容器运行时常禁用它）：本次运行改用 epoll。",
        ),
    ),
    (
        "connection_limit",
        text(
            "{waited} of {scheduled} requests found no connection free and waited at the limit of {limit} (--max-connections): {wait} of a mean response of {response}.",
            "{scheduled} 个请求中有 {waited} 个没有空闲连接可用，在 {limit} 个连接的上限（--max-connections）处等待：平均响应 {response} 中占 {wait}。",
        ),
    ),
    (
        "process_lost",
        text(
            "{processes} of the run's processes ended early ({how}). {processes|Its|Their} figures reach to {until}; {requests} {requests|request|requests} then open {requests|counts|count} as unfinished, and what came later is not known.",
            "本次运行有 {processes} 个进程提前结束（{how}）。其数字截至 {until}；当时未完成的 {requests} 个请求计为未结束，此后的情况无从得知。",
        ),
    ),
    (
        "worker_lost",
        text(
            "A worker thread was lost ({why}): its requests are missing. This is a bug in brunt.",
            "有工作线程丢失（{why}）：缺少它的请求。这是 brunt 的缺陷。",
        ),
    ),
    ("insecure", text("Certificates were not checked.", "未检查证书。")),
    (
        "no_keepalive",
        text("Keep-alive is off: every request opened its own connection.", "未保持连接：每个请求都新建连接。"),
    ),
];
