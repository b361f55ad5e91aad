//! W2: the service ran out of memory, as its log or that of the kernel says.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "W2",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text(
        "Out of memory",
        "内存耗尽",
    ),
    symptom: text(
        "requests fail, or the process is replaced, after a while under load; needs --watch-log on the log of the service or of the kernel",
        "加压一段时间后请求失败或进程被重启；需要用 --watch-log 指定服务或内核的日志",
    ),
    remedy: text(
        "find what holds the memory (a heap dump, a profile) and how much each request in flight needs; then raise the limit (-Xmx, --max-old-space-size, GOMEMLIMIT, MemoryMax=, the container's) or admit fewer at a time",
        "查明内存被什么占用（堆转储、内存剖析）以及每个在途请求需要多少；再提高上限（-Xmx、--max-old-space-size、GOMEMLIMIT、MemoryMax=、容器的上限），或减少同时处理的请求",
    ),
    experiment: text(
        "at half the load for as long, the message should be gone; if it only comes later, memory leaks",
        "负载减半、时长不变时，该消息应消失；若只是推迟出现，则是内存泄漏",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service, or a process on its machine, ran out of memory",
    "服务或其所在机器上的进程内存耗尽",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::warned(case, CLAIM, &["out_of_memory"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_warns(&RULE, "out_of_memory", "proved");
    }
}
