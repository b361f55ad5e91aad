//! R3: a slow command blocked all other commands of Redis.

use super::*;
use super::redis_thread::busy;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "R3",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("A slow Redis command", "Redis 慢命令"),
    symptom: text(
        "even simple commands are slow at times; needs --watch redis=HOST:PORT",
        "连简单的命令有时也很慢；需要 --watch redis=HOST:PORT",
    ),
    remedy: text(
        "replace it with one that does not scan everything (SCAN for KEYS, ranges for whole lists and sets, UNLINK for \
            DEL of large keys), or keep the data it touches small",
        "改用不遍历全部数据的命令（SCAN 代替 KEYS，按范围读取列表和集合，UNLINK 代替对大键的 DEL），或控制其处理的数据量",
    ),
    experiment: text("without {command}, the other commands should be fast", "去掉 {command} 后，其他命令应很快"),
    caution: Some(text(
        "SLOWLOG only has calls slower than slowlog-log-slower-than (10 ms): a thousand 5 ms calls never show up",
        "SLOWLOG 只记录超过 slowlog-log-slower-than（10 ms）的调用：一千次 5 ms 的调用一次也不会出现",
    )),
    judge,
};

const CLAIM: Text = text(
    "one slow command is the limit: {command} took {each} per call, and {share} of the time of Redis' only thread",
    "瓶颈是一条慢命令：{command} 每次耗时 {each}，占用 Redis 唯一线程 {share} 的时间",
);
const EVIDENCE: Text = text(
    "INFO commandstats: {calls} {command} calls took {took} in the window; all other commands {others}",
    "INFO commandstats：统计窗口内 {command} 调用 {calls} 次，共 {took}；其他命令共 {others}",
);

/// Minimum duration of a blocking call, in microseconds: quick commands take 1 to 10.
const SLOW_US: f64 = 500.0;
/// Minimum share of the thread's time at which a command is the limit.
const PART: f64 = 0.5;

/// Statistics of a command in the window.
struct RedisCommandStats {
    name: String,
    calls: f64,
    took_us: f64,
}

fn judge(case: &Case) -> Option<RuleVerdict> {
    if !case.run.is_pressed() {
        return None;
    }
    case.reported_by("redis.").find_map(found)
}

fn found(redis: &CounterSummary) -> Option<RuleVerdict> {
    let mut commands: Vec<RedisCommandStats> = redis.name_middles("redis.cmdstat_", ".usec").filter_map(|n| took(redis, n)).collect();
    commands.sort_by(|a, b| b.took_us.total_cmp(&a.took_us));
    let all: f64 = commands.iter().map(|command| command.took_us).sum();
    let first = commands.first()?;
    let (each, of_thread) = (first.took_us / first.calls.max(1.0), first.took_us / 1e6 / redis.span_s());
    // A thread that is idle most of the time is not the limit, however long a call takes.
    if each < SLOW_US || of_thread < PART || first.took_us < 0.8 * all || busy(redis).is_some_and(|share| share < PART)
    {
        return None;
    }
    let name = first.name.to_uppercase();
    let us = |us: f64| numbers::seconds(us / 1e6);
    let claim = [("command", name.clone()), ("each", us(each)), ("share", numbers::share(of_thread.min(1.0)))];
    let evidence = [
        ("command", name.clone()),
        ("calls", numbers::count(first.calls as u64)),
        ("took", us(first.took_us)),
        ("others", us(all - first.took_us)),
    ];
    Some(proved(LocalizedSentence::new(CLAIM, claim), LocalizedSentence::new(EVIDENCE, evidence)).experiment_with([("command", name)]))
}

/// Returns the statistics of a command. If it was first called within the window, all its time counts.
fn took(redis: &CounterSummary, name: &str) -> Option<RedisCommandStats> {
    let counter = |part: &str| redis.increase_from_zero(&format!("redis.cmdstat_{name}.{part}"));
    Some(RedisCommandStats { name: name.to_owned(), calls: counter("calls")?, took_us: counter("usec")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    /// Returns counters of ten seconds in which KEYS and GET had these numbers of calls and microseconds.
    fn stats(keys: (f64, f64), get: (f64, f64)) -> CounterSummary {
        counted(&[
            ("redis.cmdstat_keys.calls", 1.0, 1.0 + keys.0),
            ("redis.cmdstat_keys.usec", 5.0, 5.0 + keys.1),
            ("redis.cmdstat_get.calls", 0.0, get.0),
            ("redis.cmdstat_get.usec", 0.0, get.1),
        ])
    }

    #[test]
    fn a_command_that_walks_everything() {
        assert_eq!(judged_told(&RULE, |_| (), stats((1800.0, 9e6), (9e4, 9e4))), Some("proved"));
        assert_eq!(judged_told(&RULE, |_| (), stats((1800.0, 9e5), (9e4, 9e4))), None, "the thread had time");
        assert_eq!(judged_told(&RULE, |_| (), stats((10.0, 1e3), (9e6, 9e6))), None, "many quick ones");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, stats((1800.0, 9e6), (0.0, 0.0))), None);
    }
}
