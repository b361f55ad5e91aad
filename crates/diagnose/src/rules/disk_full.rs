//! W4: the disk was full, or too slow for what is written, as the log says.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "W4",
    origin: CounterOrigin::Generator,
    stage: PathStage::Dependency,
    title: text(
        "Disk full, or too slow",
        "磁盘已满或过慢",
    ),
    symptom: text(
        "writes fail or stall; needs --watch-log on the log of the service",
        "写入失败或停顿；需要用 --watch-log 指定服务的日志",
    ),
    remedy: text(
        "free space (logs of the load test itself are often what filled it), or add some",
        "释放空间（常常正是压测产生的日志占满了磁盘），或扩容",
    ),
    experiment: text(
        "with free space, the message should be gone",
        "腾出空间后，该消息应消失",
    ),
    caution: None,
    judge,
};

const FULL: Text = text("the disk of the service was full", "服务的磁盘已满");
const SLOW: Text = text("Redis waited for its disk (fsync of the append-only file)", "Redis 在等待磁盘（AOF 的 fsync）");
const FASTER: Text = text(
    "use a faster disk, keep other writers off it, or set no-appendfsync-on-rewrite; appendfsync no is a trade of durability",
    "换用更快的磁盘，避免其他程序同时写入，或设置 no-appendfsync-on-rewrite；appendfsync no 会牺牲持久性",
);
const QUIET: Text = text("with fewer writes, the message should be gone", "减少写入后，该消息应消失");

fn judge(case: &Case) -> Option<RuleVerdict> {
    let slow = || Some(watched_log::warned(case, SLOW, &["disk_slow"])?.remedy(FASTER).experiment(QUIET));
    watched_log::found(case, FULL, &["disk_full"]).or_else(slow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "disk_full");
        watched_log::assert_warns(&RULE, "disk_slow", "proved");
    }
}
