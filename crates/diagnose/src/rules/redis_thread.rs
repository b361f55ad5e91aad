//! R1: the single thread of Redis that runs commands was saturated.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "R1",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Redis' main thread saturated", "Redis 主线程占满"),
    symptom: text(
        "commands/s are flat whatever the number of users; needs --watch redis=HOST:PORT",
        "无论用户多少，每秒命令数都不再上升；需要 --watch redis=HOST:PORT",
    ),
    remedy: text(
        "send several commands at once (pipelining, MGET), make each do less, turn on io-threads, or spread keys over \
            several instances",
        "一次发送多条命令（pipeline、MGET），减少每条命令的工作量，启用 io-threads，或把键分布到多个实例",
    ),
    experiment: text(
        "more users should not raise throughput, but a pipeline of 10 commands per request should",
        "增加用户数后吞吐量不应上升；而每个请求用 10 条命令的 pipeline 时应当上升",
    ),
    caution: Some(text(
        "more cores do not help a single thread; one slow command (R3) fills it just like many quick ones",
        "更多的核帮不了单线程；一条慢命令（R3）和大量快命令一样会占满它",
    )),
    judge,
};

const CLAIM: Text = text(
    "Redis is the limit: its main thread, which runs all commands, was busy {share} of the time",
    "瓶颈是 Redis：执行所有命令的主线程有 {share} 的时间在忙",
);
const EVIDENCE: Text = text(
    "INFO cpu: the main thread used {share} of a core; {commands} commands/s",
    "INFO cpu：主线程占用一个核的 {share}；每秒 {commands} 条命令",
);

/// Share of a core at which the thread is saturated.
const FULL: f64 = 0.9;
/// Share of a core above which it was not one thread: counters are read some milliseconds apart.
const ONE: f64 = 1.05;

fn judge(case: &Case) -> Option<RuleVerdict> {
    if !case.run.is_pressed() {
        return None;
    }
    let (share, redis) = case.reported_by("redis.").filter_map(|redis| Some((busy(redis)?, redis))).next()?;
    if !(FULL..=ONE).contains(&share) {
        return None;
    }
    let commands = redis.per_s("redis.total_commands_processed").unwrap_or(0.0);
    let share = numbers::share(share.min(1.0));
    let facts = [("share", share.clone()), ("commands", whole(commands))];
    let claim = LocalizedSentence::new(CLAIM, [("share", share)]);
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

/// Returns the share of a core that the main thread used, or that the whole process used (before version 6.0.9).
pub(super) fn busy(redis: &CounterSummary) -> Option<f64> {
    let both = |suffix: &str| {
        let parts = ["user", "sys"].map(|part| redis.per_s(&format!("redis.used_cpu_{part}{suffix}")));
        Some(parts[0]? + parts[1]?)
    };
    both("_main_thread").or_else(|| both(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    fn cpu(main: f64, all: f64) -> CounterSummary {
        counted(&[
            ("redis.used_cpu_user_main_thread", 3.0, 3.0 + main * 4.0),
            ("redis.used_cpu_sys_main_thread", 1.0, 1.0 + main * 6.0),
            ("redis.used_cpu_user", 3.0, 3.0 + all * 4.0),
            ("redis.used_cpu_sys", 1.0, 1.0 + all * 6.0),
            ("redis.total_commands_processed", 0.0, 1e6),
        ])
    }

    #[test]
    fn a_full_main_thread_under_pressure() {
        assert_eq!(judged_told(&RULE, |_| (), cpu(0.97, 0.97)), Some("proved"));
        assert_eq!(judged_told(&RULE, |_| (), cpu(0.5, 0.5)), None);
        assert_eq!(judged_told(&RULE, |_| (), cpu(0.6, 1.9)), None, "its io-threads work as well");
        assert_eq!(judged_told(&RULE, |_| (), cpu(1.4, 1.4)), None, "no thread uses more than a core");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, cpu(0.97, 0.97)), None, "the rate was kept");
        assert_eq!(judged_told(&RULE, |_| (), counted(&[("redis.maxclients", 5.0, 5.0)])), None);
    }
}
