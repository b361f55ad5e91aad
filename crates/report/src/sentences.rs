//! All sentences of the reports, in every language.
//!
//! `{name}` is filled in by `brunt_i18n::Lang::fill`.

use brunt_record::{Kind, Phase};

use crate::text::{Text, text};

pub(crate) mod brief;
mod exit;
pub(crate) mod limits;
mod notices;

pub(crate) use exit::*;
pub(crate) use notices::notice;

// Headings of the live table and of lists.
pub(crate) const TIME: Text = text("time", "时间");
pub(crate) const USERS: Text = text("users", "用户");
pub(crate) const IN_FLIGHT: Text = text("in flight", "在途");
pub(crate) const OK: Text = text("ok", "成功");
pub(crate) const FAILED: Text = text("failed", "失败");
pub(crate) const RATE: Text = text("ok/s", "成功/秒");
pub(crate) const MIN: Text = text("min", "最小");
pub(crate) const MAX: Text = text("max", "最大");
pub(crate) const MEAN: Text = text("mean", "平均");
pub(crate) const DEVIATION: Text = text("stdev", "标准差");
pub(crate) const MEGABYTES: Text = text("MB/s in", "接收MB/秒");
pub(crate) const STATUS: Text = text("status", "状态码");
pub(crate) const WARMUP: Text = text("warm-up: {n} {n|request|requests}", "预热：{n} 个请求");
/// Short form for narrow columns.
pub(crate) const WARMUP_SHORT: Text = text("warm", "预热");
pub(crate) const DRAIN: Text = text("drain", "收尾");

// Separators between the parts of a sentence.
pub(crate) const COMMA: Text = text(", ", "，");
pub(crate) const SEMICOLON: Text = text("; ", "；");
pub(crate) const COLON: Text = text(": ", "：");
pub(crate) const BRACKETS: Text = text(" ({inner})", "（{inner}）");

// The head of a summary.
pub(crate) const OPEN_LOAD: Text =
    text("open load, {rate} ({arrivals} arrivals)", "固定速率（开环），{rate}（{arrivals}到达）");
pub(crate) const CLOSED_LOAD: Text = text("closed load, {users}", "固定并发（闭环），{users}");
pub(crate) const USERS_N: Text = text("{n} {n|user|users}", "{n} 个用户");
pub(crate) const POISSON: Text = text("Poisson", "泊松");
pub(crate) const CONSTANT: Text = text("constant", "匀速");
pub(crate) const BURST: Text = text("burst", "突发");
pub(crate) const FOR: Text = text("for {time}", "持续 {time}");
pub(crate) const ITERATIONS_ASKED: Text = text("{n} {n|iteration|iterations}", "{n} 次迭代");
pub(crate) const ITERATIONS_EACH: Text = text("{n} {n|iteration|iterations} each", "每个用户 {n} 次迭代");
pub(crate) const AFTER: Text = text("after {time}", "{time} 后开始");
pub(crate) const OF_ITERATIONS: Text = text("of iterations", "迭代");
pub(crate) const REQUESTS_ASKED: Text = text("{n} {n|request|requests}", "{n} 个请求");
pub(crate) const AFTER_WARMUP: Text = text("after {time} of warm-up", "预热 {time} 之后");
pub(crate) const MACHINERY: Text =
    text("{workers} {workers|worker thread|worker threads}, {net}", "{workers} 个工作线程，{net}");
pub(crate) const MORE_URLS: Text = text("and {n} more {n|URL|URLs}", "及另外 {n} 个 URL");
pub(crate) const MORE_IN_RANDOM_ORDER: Text =
    text("and {n} more {n|URL|URLs}, in random order", "及另外 {n} 个 URL（随机顺序）");
pub(crate) const PROBE: Text = text(
    "First response: {status}, {bytes} in {took} from {address} ({spoken})",
    "首次响应：状态码 {status}，正文 {bytes}，用时 {took}，来自 {address}（{spoken}）",
);
pub(crate) const PROBE_WITHOUT_STATUS: Text = text(
    "First response: {bytes} in {took} from {address} ({spoken})",
    "首次响应：{bytes}，用时 {took}，来自 {address}（{spoken}）",
);
pub(crate) const PROBE_CONNECTED: Text = text(
    "Connected to {address} ({spoken}) in {took}; no request was sent before the load",
    "已连接 {address}（{spoken}），用时 {took}；加压前没有发送请求",
);
pub(crate) const OF_PROXY: Text = text(", the proxy {proxy}", "，即代理 {proxy}");
pub(crate) const COUNTED_ON: Text = text(
    "Counters of {host} ({kernel}, cores: {cores}) from its probe at {probe}; clocks aligned within {within}",
    "{host}（{kernel}，核数 {cores}）的计数器来自探针 {probe}；时钟比对误差不超过 {within}",
);
pub(crate) const PROBE_FAILED: Text = text("First request: {failure}", "首个请求：{failure}");

// The head as a table, in Markdown.
pub(crate) const RUN: Text = text("Run", "压测");
pub(crate) const TARGET: Text = text("Target", "地址");
pub(crate) const LOAD: Text = text("Load", "负载");
pub(crate) const BEGUN: Text = text("Started", "开始时间");
pub(crate) const TOOK: Text = text("Took", "用时");
pub(crate) const GENERATOR: Text = text("Generator", "发压端");
pub(crate) const MACHINE: Text = text(
    "brunt {version} on {host} ({kernel}, cores: {cores})",
    "brunt {version}，主机 {host}（{kernel}，核数 {cores}）",
);
pub(crate) const PROBES: Text = text("Probes", "探针");
pub(crate) const SHARE: Text = text("share", "占比");

// Figures.
pub(crate) const RESPONSE_HEADLINE: Text =
    text("Response time, from the intended start", "响应时间（从计划发送时刻算起）");
pub(crate) const SERVICE_HEADLINE: Text = text("Service time at {users}", "{users}时的服务时间");
pub(crate) const RANKED: Text = text("{n} {n|request|requests}", "{n} 个请求");
pub(crate) const RANKED_UNFINISHED: Text = text(
    "{n} {n|request|requests}, {unfinished} of them without a response",
    "{n} 个请求，其中 {unfinished} 个没有响应",
);
pub(crate) const FAILED_APART: Text = text("; {failed} failed, not included", "；另有 {failed} 个失败，未计入");
pub(crate) const NO_LATENCY: Text =
    text("No request succeeded, so there is no latency to report.", "没有请求成功，因此没有延迟数据。");
pub(crate) const NOTHING_BEGUN: Text =
    text("The run ended before its first request was scheduled.", "压测在第一个请求的计划时刻之前就已结束。");
pub(crate) const NOTHING_BUT_WARMUP: Text = text(
    "The run ended during its warm-up, before anything was measured.",
    "压测在预热期间就已结束，没有任何测量数据。",
);
pub(crate) const NOTHING_DUE: Text = text(
    "No request was scheduled: run longer (-d), or at a higher rate.",
    "计划中没有请求：请延长压测时间（-d）或提高速率。",
);
pub(crate) const NO_QUANTILES: Text = text(
    "Too few requests for percentiles: p50 needs at least {needed}.",
    "请求太少，无法给出百分位数：p50 至少需要 {needed} 个。",
);
pub(crate) const INTERVAL: Text = text("95 % interval", "95 % 置信区间");
pub(crate) const NO_INTERVALS: Text = text(
    "No confidence intervals: they need a run of at least 5 s, to estimate how much consecutive requests are \
        correlated.",
    "没有置信区间：压测至少要有 5 秒，才能估计相邻请求的相关程度。",
);
pub(crate) const TOO_FEW: Text =
    text("{names} needs at least {needed} {needed|request|requests}", "{names} 至少需要 {needed} 个请求");
pub(crate) const LOWER_BOUND_NOTE: Text =
    text("≥ means at least: the value depends on requests without a response", "≥ 表示下限：数值取决于没有响应的请求");
pub(crate) const HIDDEN: Text = text(
    "Coordinated omission: a 1 s stall would hide about {n} {n|request|requests}, because users wait for responses.",
    "协同遗漏：用户等到响应才发下一个请求，服务停顿 1 秒会漏记约 {n} 个请求。",
);
pub(crate) const HIDDEN_OPEN: Text =
    text("To measure latency including queueing, use -r {n}/s.", "若要测量包含排队的延迟，请用 -r {n}/s。");
pub(crate) const STEERED: Text = text("changed during the run to {levels}", "运行中调整为 {levels}");
pub(crate) const CHANGED: Text = text("load changed", "负载变更");
pub(crate) const CHANGED_LEVEL: Text = text("{level} from {at} on", "自 {at} 起为 {level}");
pub(crate) const CHANGED_USERS: Text = text("{n} {n|user|users}", "{n} 个用户");
pub(crate) const CHANGED_PAUSE: Text = text("paused from {at} on", "自 {at} 起暂停");
pub(crate) const CHANGED_DRAIN: Text = text("drained from {at} on", "自 {at} 起排空");
pub(crate) const CHANGED_RESUME: Text = text("resumed at {at}", "{at} 恢复");
pub(crate) const THROUGHPUT: Text = text("Throughput", "吞吐量");
pub(crate) const THROUGHPUT_LINE: Text =
    text("{rate} succeeded, over a window of {window}", "成功 {rate}，统计窗口 {window}");
pub(crate) const THROUGHPUT_PAUSED: Text = text(", {paused} of it paused", "，其中暂停 {paused}");
pub(crate) const ASKED_RATE: Text = text("scheduled {due}/s, sent {sent} of {n}", "计划 {due}/s，已发送 {sent}/{n}");
pub(crate) const HEADROOM: Text = text(
    "headroom: brunt can send up to about {most}/s of small requests here (brunt calibrate), {times} times this rate",
    "余量：本机 brunt 最多约可发送 {most}/s 个小请求（brunt calibrate），为本次的 {times} 倍",
);
pub(crate) const HEADROOM_HERE: Text = text(
    "headroom: brunt can send at least {most}/s here, {times} times this rate: at a higher rate, a request takes no \
        more CPU time than in this run",
    "余量：本机 brunt 至少可发送 {most}/s，为本次的 {times} 倍：速率更高时，每个请求的 CPU 用量不会超过本次压测",
);
pub(crate) const DISTRIBUTION: Text = text("Latency distribution", "延迟分布");
pub(crate) const WITHOUT_ANSWER: Text = text("no response", "无响应");
pub(crate) const WHERE_TIME: Text = text("Where the time went", "耗时分解");
pub(crate) const GEN_LATE: Text = text("generator late", "发压端发送延迟");
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
pub(crate) const APART: Text = text(
    "excluded: {warmup} warm-up, {probe} pre-flight {probe|request|requests}",
    "未计入：预热 {warmup} 个，压测前探测 {probe} 个",
);
pub(crate) const STATUS_CODES: Text = text("Status codes", "状态码");
pub(crate) const FAILURES: Text = text("Failures", "失败");
pub(crate) const SENT: Text = text("sent", "发送");
pub(crate) const ON_REUSED: Text = text(
    "on a reused connection: the server may have closed it as idle just as the request was sent",
    "发生在复用的连接上：请求发出时，服务器可能恰好关闭了空闲连接",
);
pub(crate) const RECEIVED: Text = text("received", "收到");
/// Label of a line of the body of a response.
pub(crate) const BODY: Text = text("body", "正文");
/// Label of the user's values in a request.
pub(crate) const VALUES: Text = text("values", "变量");
pub(crate) const NOT_KNOWN: Text = text("(not known)", "（未知）");
pub(crate) const CONNECTIONS: Text = text("Connections", "连接");
pub(crate) const CONNECTIONS_LINE: Text = text(
    "{opened} opened, {failed} failed, {reused} {reused|request|requests} on reused connections",
    "新建 {opened}，失败 {failed}，{reused} 个请求复用连接",
);
pub(crate) const HANDSHAKES: Text =
    text("TLS handshakes {n}, {resumed} resumed", "TLS 握手 {n}，其中会话复用 {resumed}");
pub(crate) const BYTES_LINE: Text = text(
    "{sent} sent, {received} received ({rate}/s), of which {payload} payload",
    "发送 {sent}，接收 {received}（{rate}/s），其中正文 {payload}",
);
pub(crate) const NOT_OPENED_BY: Text = text(
    "{n} could not be opened, but no request failed because of that: {why}",
    "{n} 个未能建立，但没有请求因此失败：{why}",
);
pub(crate) const LOST_BY: Text = text("{n} lost: {why}", "断开 {n} 个：{why}");
pub(crate) const REFUSED: Text =
    text("{n} ICMP port unreachable {n|message|messages} from the target", "收到目标主机的 {n} 条 ICMP 端口不可达消息");
pub(crate) const WORDS: Text = text("The server said: {words}", "服务器返回：{words}");
pub(crate) const UNSOLICITED: Text = text("{n} unsolicited {n|message|messages}", "没有对应请求的消息 {n} 条");
pub(crate) const OPENING_MESSAGES: Text = text(
    "{n} opening {n|message|messages} on new connections, not counted as requests",
    "新连接的开场消息 {n} 条，不计入请求",
);
pub(crate) const REPLIES: Text = text(
    "{n} {n|reply|replies} to messages from the target, not counted as requests",
    "对目标消息的自动回复 {n} 条，不计入请求",
);
pub(crate) const MESSAGES: Text = text("{n} {n|message|messages} in streams", "流中消息 {n} 条");
pub(crate) const LATE: Text = text(
    "{n} of the failed requests got a response after the timeout; status codes count only responses in time",
    "失败的请求中有 {n} 个超时后才收到响应；状态码只统计未超时的响应",
);
pub(crate) const ONE_WAY: Text = text(
    "{n} of the successes {n|is|are} one-way: complete when written, without a latency",
    "成功的请求中有 {n} 个是单向的：写出即完成，没有延迟数据",
);
pub(crate) const RESENT: Text = text(
    "{n} {n|was|were} sent again, because the target reported {n|it|them} as not processed",
    "目标表示有 {n} 个请求未处理，已重新发送",
);
pub(crate) const DECLINED: Text = text(
    "{n} {n|body was|bodies were} not sent, because a response came instead of 100 Continue",
    "{n} 个请求的正文未发送：服务器没有返回 100 Continue，而是直接给出了响应",
);
pub(crate) const RELEASED: Text = text(
    "{n} {n|body was|bodies were} sent without 100 Continue, which did not arrive in time; the wait is part of the \
        latency",
    "{n} 个请求没有等到 100 Continue，超时后仍发送了正文；等待时间计入延迟",
);
pub(crate) const STANDING: Text = text(
    "{n} open at the same time, {lost} lost, {rate} opened per second",
    "同时保持 {n} 个，断开 {lost}，每秒新建 {rate}",
);
pub(crate) const HEARTBEATS: Text = text(
    "Heartbeats {sent} = {answered} answered + {missed} missed + {open} in flight",
    "心跳 {sent} = 有响应 {answered} + 无响应 {missed} + 在途 {open}",
);
pub(crate) const HELD: Text = text("{n} {n|connection|connections} held", "保持了 {n} 个连接");
pub(crate) const HELD_LOST: Text =
    text("{n} {n|connection|connections} held at the same time, {lost} lost", "同时保持 {n} 个连接，断开 {lost} 个");
pub(crate) const LIVE: Text = text("live", "在线");
pub(crate) const OPENED_RATE: Text = text("opened/s", "新建/秒");
pub(crate) const PING_P50: Text = text("ping p50", "心跳 p50");
pub(crate) const PING_P99: Text = text("ping p99", "心跳 p99");
pub(crate) const GREETING: Text = text("greeting", "协议握手");
pub(crate) const MESSAGE_GAP: Text = text("between messages", "消息间隔");
pub(crate) const HEARTBEAT: Text = text("heartbeat", "心跳");
pub(crate) const NO_LATENCY_ONE_WAY: Text = text("One-way requests have no latency.", "单向请求没有延迟数据。");

// Judgement.
pub(crate) const OBJECTIVES: Text = text("Objectives", "目标（SLO）");
pub(crate) const BAND: Text = text("{least} to {most}", "{least} 到 {most}");
pub(crate) const BAND_NOTE: Text = text(
    "A figure with two ends lies between them: without the delays that may be brunt's own, and as measured.",
    "有两端的数据介于两者之间：前者不含可能由 brunt 自身造成的延迟，后者为测得的值。",
);
pub(crate) const SECOND_NOTE: Text = text(
    "~ marks seconds in which more than 30 % of the figure may be brunt's own delay",
    "~ 表示该秒的数据有 30 % 以上可能由 brunt 自身的延迟造成",
);
pub(crate) const SHARE_NOTE: Text = text(
    "{share} before the status codes means that only agents with {share} of the load are in the row: the others have not \
        reported it yet, or were lost",
    "状态码之前的 {share} 表示该行只含承担 {share} 负载的施压机：其余施压机尚未上报，或已丢失",
);
pub(crate) const SPAN_NOTE: Text = text(
    "Latencies cover as many of the last seconds as p99 needs: 299 requests",
    "延迟数据涵盖最近若干秒：p99 至少需要 299 个请求",
);
pub(crate) const SUCCEEDED_SO_FAR: Text = text("{n} ok", "成功 {n}");
pub(crate) const FAILED_SO_FAR: Text = text("{n} failed", "失败 {n}");
pub(crate) const RATE_SO_FAR: Text = text("{rate} ok/s", "成功 {rate}/秒");
pub(crate) const UNDECIDED: Text = text("cannot tell", "无法判断");
pub(crate) const MET: Text = text("met", "通过");
pub(crate) const MISSED: Text = text("missed", "未通过");
pub(crate) const NONE_DUE: Text = text("no such request was scheduled", "没有这样的请求");
pub(crate) const FAILED_MISS: Text = text("{n} failed {n|request|requests} did not", "{n} 个失败的请求计为未达标");
pub(crate) const WITHIN: Text = text("{n} of {due} met it", "{due} 个中有 {n} 个达标");
pub(crate) const FEW: Text =
    text("too few requests to show the percentile; checked by counting", "请求太少，不显示该百分位数，改按计数判断");
pub(crate) const TRUST: Text = text("Trust", "可信度");
pub(crate) const TRUSTED: Text = text("TRUSTED", "可信");
pub(crate) const CAUTION: Text = text("WITH CAUTION", "谨慎使用");
pub(crate) const TOO_SHORT: Text = text("TOO SHORT TO JUDGE", "太短，无法判断");
pub(crate) const NOT_TRUSTED: Text = text("NOT TRUSTED", "不可信");
pub(crate) const OVERLOAD: Text = text(
    "the server is overloaded: it sustained about {sustained}/s of the {scheduled}/s scheduled, and the queue grew \
        by {growth}/s. Latency is mostly time in that queue: a lower rate shows the server's own.",
    "服务过载：计划 {scheduled}/s，实际只能维持约 {sustained}/s；队列每秒增长 {growth}。测得的延迟主要是排队时间：降低速率才能看到服务本身的延迟。",
);
pub(crate) const TOO_FEW_CONNECTIONS: Text = text(
    "the connections of this run carried about {sustained}/s of the {scheduled}/s scheduled; the rest waited in brunt. \
        Latency is mostly that wait: --max-connections allows more.",
    "本次压测的连接数只能承载约 {sustained}/s，而计划为 {scheduled}/s；其余请求在 brunt 内等待连接。测得的延迟主要是这段等待：可调大 --max-connections。",
);
pub(crate) const OVERLOAD_TIMED_OUT: Text = text(
    "the server is overloaded: it sustained about {sustained}/s of the {scheduled}/s scheduled; the rest queued \
        until it timed out.",
    "服务过载：计划 {scheduled}/s，实际只能维持约 {sustained}/s；其余请求排队直至超时。",
);
pub(crate) const FAILED_RESPONSES: Text = text("failed responses", "失败的响应");
pub(crate) const ONLY_FAILED_RESPONSES: Text =
    text("No request succeeded; latency of the {n} failed responses:", "没有请求成功；{n} 个失败响应的延迟：");
pub(crate) const POISSON_EXPECTED: Text =
    text("; Poisson arrivals: {n} ± {off} expected", "；泊松到达：预期 {n} ± {off}");
pub(crate) const RESOURCES_ELSEWHERE: Text = text(
    "{n} page {n|resource|resources} on other hosts {n|was|were} not fetched (--resources-from HOST fetches \
        {n|it|them})",
    "页面引用的 {n} 个资源属于其他主机，未获取（--resources-from HOST 可获取）",
);
pub(crate) const RESOURCES_BEYOND: Text = text(
    "{n} page {n|resource|resources} {n|was|were} not fetched: the limits are 1,000 per page and URLs of 8 KiB",
    "页面引用的 {n} 个资源未获取：每页最多 1,000 个，URL 最长 8 KiB",
);
pub(crate) const PAGES_CUT: Text = text(
    "{n} {n|page was|pages were} only partly searched for resources: the first 1 MB, or less if memory is short",
    "{n} 个页面只在开头部分（1 MB 或内存允许的范围内）查找了资源",
);
pub(crate) const FROM_CACHE: Text = text(
    "{n} {n|response|responses} came from users' caches (from cache): not requests, and in no other count",
    "{n} 个响应取自用户缓存（from cache）：不是请求，不计入其他任何计数",
);
pub(crate) const NOT_MODIFIED: Text = text(
    "{n} of the successes {n|is a 304|are 304s}: the cached response was still valid",
    "成功的请求中有 {n} 个为 304：用户缓存中的响应仍然有效",
);
pub(crate) const CACHE_BYTES: Text = text("caches saved {size} of response bodies", "缓存节省的响应正文传输量：{size}");
pub(crate) const NOT_CACHED: Text = text(
    "{n} {n|response was|responses were} not cached: larger than 1 MB, or over the limit of 16 MB per user and 256 \
        MB in all; browsers would request {n|it|them} less often",
    "{n} 个响应未放入缓存：超过 1 MB，或超出每用户 16 MB、全部用户 256 MB 的上限；换作浏览器，请求会更少",
);
pub(crate) const HOPS: Text = text(
    "and {n} {n|hop|hops} of redirects: each is part of the request that was redirected, and in no other count",
    "另有重定向的 {n} 跳：每一跳都属于被重定向的那个请求，不计入其他任何数目",
);
pub(crate) const ALL_RESUMED: Text = text(
    ": cheaper than a new visitor's full handshake (--no-resume forces full ones)",
    "：比新访客的完整握手开销小（--no-resume 可强制完整握手）",
);
/// Returns a kind of failure in Chinese; in English, it is the identifier used in documents.
pub(crate) fn kind_zh(of: Kind) -> &'static str {
    match of {
        Kind::Resolve => "域名解析",
        Kind::Refused => "连接被拒绝",
        Kind::Unreachable => "不可达",
        Kind::NoPorts => "本机端口耗尽",
        Kind::NoDescriptors => "文件描述符耗尽",
        Kind::Reset => "连接被重置",
        Kind::Closed => "连接被关闭",
        Kind::Timeout => "超时",
        Kind::Tls => "TLS",
        Kind::BrokenProtocol => "协议错误",
        Kind::WrongStatus => "状态码不符",
        Kind::WrongBody => "正文不符",
        Kind::TooManyRedirects => "重定向过多",
        Kind::Io => "系统错误",
        Kind::WrongHeader => "响应头不符",
        Kind::Proxy => "代理",
        Kind::Unchecked => "未能检查",
        Kind::BadValue => "值不可用",
    }
}

/// Returns a phase in Chinese; in English, it is the identifier used in documents.
pub(crate) fn phase_zh(of: Phase) -> &'static str {
    match of {
        Phase::Resolve => "域名解析",
        Phase::Wait => "等待连接",
        Phase::Connect => "建立连接",
        Phase::Tls => "TLS",
        Phase::Greeting => "协议握手",
        Phase::FirstByte => "首字节",
        Phase::Transfer => "传输",
        Phase::Hold => "保持",
    }
}

pub(crate) const EXIT: Text = text("Exit code {code}: {meaning}", "退出码 {code}：{meaning}");

/// Advice for kinds of failure that can be remedied on this machine.
pub(crate) const ADVICE: &[(Kind, Text)] = &[
    (
        Kind::NoPorts,
        text(
            "this machine ran out of local ports: use keep-alive, or add source addresses with --source",
            "本机端口耗尽：请使用长连接，或用 --source 增加源地址",
        ),
    ),
    (
        Kind::NoDescriptors,
        text(
            "this process ran out of file descriptors: raise the limit with ulimit -n",
            "文件描述符耗尽：用 ulimit -n 提高上限",
        ),
    ),
    (
        Kind::Unchecked,
        text(
            "a limit of brunt was reached: use fewer connections, smaller responses, or simpler checks and captures",
            "达到 brunt 自身的上限：请减少连接数，使用更小的响应，或简化检查与捕获",
        ),
    ),
];
