//! What is said of whether to trust the figures, and how a run ended.

use crate::text::{Text, text};

pub(crate) const TRUST_HELD_FEWER: Text = text(
    "{held} of {asked} connections were held: the others could not be opened",
    "{asked} 个连接中只保持了 {held} 个：其余无法建立",
);
pub(crate) const TRUST_HELD_FEWER_LOST: Text = text(
    "{held} of {asked} connections were held at the same time: the others were opened and lost again",
    "{asked} 个连接中只同时保持了 {held} 个：其余建立后断开",
);
pub(crate) const TRUST_HELD_FEWER_BOTH: Text = text(
    "{held} of {asked} connections were held at the same time: some could not be opened, others were lost again",
    "{asked} 个连接中只同时保持了 {held} 个：部分无法建立，部分建立后断开",
);
pub(crate) const TRUST_HELD_FEWER_LATE: Text = text(
    "{held} of {asked} connections were held: the others were not open in time",
    "{asked} 个连接中只保持了 {held} 个：其余未能及时建立",
);
pub(crate) const TRUST_HELD_NONE_LASTED: Text =
    text("none of the {asked} connections lasted: they were opened and lost again", "{asked} 个连接全部在建立后断开");
pub(crate) const TRUST_HELD_NONE: Text =
    text("none of the {asked} connections could be opened", "{asked} 个连接全部未能建立");
pub(crate) const TRUST_LOST: Text =
    text("{lost} {lost|connection was|connections were} lost while being held", "保持期间断开了 {lost} 个连接");
pub(crate) const TRUST_PAIRING: Text = text(
    "{strays} unexpected {strays|response|responses} arrived, and responses are matched by order alone: some latencies may belong to other requests",
    "收到 {strays} 个多余的响应，而响应只按顺序匹配请求：部分延迟可能属于其他请求",
);
pub(crate) const TRUST_UNHEARD: Text = text(
    "messages did not arrive: {refused} ICMP port unreachable for {sent} one-way {sent|request|requests}",
    "消息没有送达：{sent} 个单向请求收到 {refused} 个 ICMP 端口不可达",
);
pub(crate) const TRUST_ACCOUNTING: Text = text("every request is accounted for", "每个请求都有归属");
pub(crate) const TRUST_ACCOUNTING_BROKEN: Text = text(
    "the counts do not add up: {due} scheduled, but {sum} succeeded, failed or unfinished. This is a bug in brunt; do not use these results",
    "计数不符：计划 {due}，而成功、失败与未结束之和为 {sum}。这是 brunt 的缺陷，请勿使用本次结果",
);
pub(crate) const TRUST_LITTLE: Text = text(
    "Little's law holds: off by at most {worst}, in the second at {at} ({judged} checked)",
    "符合利特尔法则：最大偏差 {worst}，在第 {at}（共检查 {judged} 秒）",
);
pub(crate) const TRUST_LITTLE_EXACT: Text =
    text("Little's law holds in every second ({judged} checked)", "每一秒都符合利特尔法则（共检查 {judged} 秒）");
pub(crate) const TRUST_LITTLE_BROKEN: Text = text(
    "Little's law: requests in flight and throughput × service time differ by {worst} in the second at {at}",
    "利特尔法则：在第 {at}，在途请求数与吞吐量×服务时间相差 {worst}",
);
pub(crate) const TRUST_LITTLE_NOT_JUDGED: Text =
    text("Little's law: too few requests in flight to check", "利特尔法则：在途请求太少，无法检查");
pub(crate) const TRUST_LOWER_BOUND: Text = text(
    "{quantiles} only a lower bound: {unfinished} {unfinished|request|requests} got no response in time, and their latency is unknown",
    "{quantiles} 只是下限：{unfinished} 个请求没有按时收到响应，其延迟未知",
);
pub(crate) const TRUST_NOTHING: Text =
    text("no request succeeded, so no latency can be reported", "没有请求成功，没有可用的延迟数据");
pub(crate) const TRUST_ONLY_ANSWERS: Text = text(
    "no request succeeded: every response was {codes}; if that is what you expect, use --expect-status {codes}",
    "没有请求成功：所有响应都是 {codes}；如果这符合预期，请用 --expect-status {codes}",
);
pub(crate) const TRUST_FEW: Text = text(
    "too few requests to support {objectives}: met so far; run longer or send more",
    "请求太少，不足以支持 {objectives}：目前达到；请延长压测时间或增加请求数",
);
pub(crate) const TRUST_NOTHING_BEGUN: Text =
    text("the run ended before its first request was scheduled", "第一个请求的计划时刻到来之前，压测已结束");
pub(crate) const TRUST_NOTHING_BUT_WARMUP: Text =
    text("the run ended during its warm-up, before anything was measured", "压测在预热期间就已结束，没有任何测量数据");
pub(crate) const TRUST_NOTHING_DUE: Text = text(
    "no request was scheduled; run longer (-d), or at a higher rate",
    "计划中没有请求；请延长压测时间（-d）或提高速率",
);
pub(crate) const TRUST_FAILURES: Text =
    text("{share} of the requests failed: the latency is that of the others", "{share} 的请求失败：延迟只反映其余请求");
pub(crate) const TRUST_FAILURES_ADVICE: Text = text(
    "; set --objective 'failed<0.1%' to make this an exit code",
    "；用 --objective 'failed<0.1%' 可让退出码反映这一点",
);
pub(crate) const TRUST_OUTAGE: Text =
    text("from {from} to {to} no request succeeded", "从 {from} 到 {to} 没有请求成功");
pub(crate) const TRUST_OUTAGE_ONE_MORE: Text = text(", and once more at another time", "，另有一次同样的中断");
pub(crate) const TRUST_OUTAGE_MORE: Text = text(", and {n} more times", "，另有 {n} 次同样的中断");
pub(crate) const TRUST_STUCK: Text = text(
    "users were stuck: {share} of the time spent waiting went to requests that never completed, and those users sent nothing else meanwhile",
    "有用户被卡住：{share} 的等待时间花在始终没有完成的请求上，这些用户在此期间没有发送其他请求",
);
pub(crate) const TRUST_HEARTBEATS: Text = text(
    "none of {sent} {sent|heartbeat|heartbeats} was answered: nothing shows that the connections were alive",
    "发送了 {sent} 次心跳，均无应答：无法确认连接是否存活",
);
pub(crate) const TRUST_KEPT_OUT: Text = text(
    "users were kept out: they spent {share} of their time without a usable connection (refused, or dropped before a response), so the load was lower than asked for",
    "有用户被拒之门外：用户有 {share} 的时间没有可用的连接，实际负载低于所要求的负载",
);
pub(crate) const TRUST_LOCAL: Text = text(
    "{failed} {failed|request|requests} failed on this machine, which ran out of local ports or file descriptors: the load was lower than asked for",
    "{failed} 个请求因本机端口或文件描述符耗尽而失败：实际负载低于要求",
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
    "brunt itself was held up: it did not read for up to {longest}, so often that {quantile} ({figure}) is partly of its own making; give it cores of its own, or a lower load",
    "发压端自身有停顿：最长 {longest} 没有读取响应，次数多到影响 {quantile}（{figure}）；请为它预留 CPU 核，或降低负载",
);
pub(crate) const TRUST_STARVED: Text = text(
    "brunt itself had to wait for a CPU core: p99 {delay} of a p99 of {figure}; give it cores of its own, or a higher priority",
    "发压端自身在等待 CPU：p99 {delay}，而测得的 p99 为 {figure}；请为它预留 CPU 核或提高其优先级",
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
    text("the run was interrupted: results cover the time until then", "压测被中断：结果只包含中断之前的部分");
pub(crate) const TRUST_PARTIAL: Text = text(
    "a part of the run was lost: results cover what it had reported until then",
    "压测有一部分丢失：结果只包含丢失前已上报的部分",
);
pub(crate) const TRUST_ABORTED: Text = text("the run could not go on", "压测无法继续");
pub(crate) const TRUST_CUT_OFF: Text = text(
    "the record ends before the run did: results cover what it holds",
    "记录在压测结束前中断：结果只包含已记录的部分",
);
pub(crate) const EXIT_OK: Text = text("all objectives met, results trusted", "指标全部达到，结果可信");
pub(crate) const EXIT_TRUSTED: Text = text("results trusted", "结果可信");
pub(crate) const EXIT_WITH_CAUTION: Text = text("use results with caution", "结果须谨慎使用");
pub(crate) const EXIT_CAUTION: Text =
    text("all objectives met, use results with caution", "指标全部达到，结果须谨慎使用");
pub(crate) const EXIT_FAILED: Text = text(
    "; {n} {n|request|requests} failed, and no objective covers failures",
    "；有 {n} 个请求失败，而指标未涉及失败",
);
pub(crate) const EXIT_MISSED: Text = text("an objective was missed", "有指标未达到");
pub(crate) const EXIT_NOT_TRUSTED: Text = text("not trusted", "不可信");
pub(crate) const EXIT_INTERRUPTED: Text = text("interrupted", "被中断");
pub(crate) const EXIT_PARTIAL: Text = text("a part of the run was lost", "压测有一部分丢失");
pub(crate) const EXIT_NOT_WRITTEN: Text = text("an output file could not be written", "输出文件未能写入");
pub(crate) const EXIT_UNREACHABLE: Text = text("the target cannot be reached", "无法连接目标主机");
pub(crate) const EXIT_BUG: Text = text("a bug in brunt", "brunt 的缺陷");
