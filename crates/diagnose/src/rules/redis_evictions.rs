//! R4: Redis evicts keys to stay within its memory limit: requests do not find all that was written.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "R4",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Redis evicts keys", "Redis 淘汰键"),
    symptom: text(
        "misses after a while, and latency changes with them; needs --watch redis=HOST:PORT",
        "一段时间后缓存开始未命中，延迟随之变化；需要 --watch redis=HOST:PORT",
    ),
    remedy: text(
        "raise maxmemory, let keys expire sooner, or store fewer; results with hits and with misses are results of two \
            different services",
        "提高 maxmemory，缩短键的过期时间或减少键数；命中时与未命中时的结果相当于两个不同服务的结果",
    ),
    experiment: text(
        "with a smaller set of keys, evicted_keys should stop rising, and latency behind the cache fall",
        "缩小键的范围后，evicted_keys 应不再上升，缓存后面的服务延迟应下降",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "Redis is out of memory and evicts keys: {evicted} during the run",
    "Redis 内存已满，正在淘汰键：压测期间淘汰 {evicted} 个",
);
const REFUSED: Text =
    text("Redis refused writes: its memory limit was reached", "Redis 拒绝了写入：已达到内存上限");
const REFUSED_EVIDENCE: Text = text(
    "INFO errorstats: errorstat_OOM +{refused}; used_memory {used} MB of maxmemory {max} MB, maxmemory_policy {policy}",
    "INFO errorstats：errorstat_OOM 增加 {refused}；used_memory {used} MB，maxmemory {max} MB，maxmemory_policy 为 {policy}",
);
const EVICT: Text = text(
    "raise maxmemory, let keys expire, or choose a maxmemory-policy that evicts (noeviction refuses writes)",
    "提高 maxmemory，为键设置过期时间，或选用会淘汰键的 maxmemory-policy（noeviction 会拒绝写入）",
);
const FEWER: Text = text("with fewer keys, no write should be refused", "减少键数后，不应再有写入被拒绝");
const EVIDENCE: Text = text(
    "INFO stats: evicted_keys +{evicted}; used_memory {used} MB of maxmemory {max} MB",
    "INFO stats：evicted_keys 增加 {evicted}；used_memory {used} MB，maxmemory {max} MB",
);

/// Number of evictions, as a share of the requests, above which the results are affected.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let requests = case.run.answered_per_s() * case.run.window_s;
    let refused = || {
        let counted = || case.reported_by("redis.").find_map(|redis| refused(redis, &case.run));
        let found = counted().or_else(|| watched_log::found(case, REFUSED, &["redis_memory"]))?;
        Some(found.remedy(EVICT).experiment(FEWER))
    };
    case.reported_by("redis.").find_map(|redis| found(redis, requests)).or_else(refused)
}

/// Returns the finding that Redis refused writes of this run, whose requests failed.
fn refused(redis: &CounterSummary, run: &LoadResults) -> Option<RuleVerdict> {
    // Redis counts errors from the first of their kind on.
    let refused = redis.increase_from_zero("redis.errorstat_OOM.count").filter(|refused| *refused > 0.0)?;
    let failed: u64 = run.failures.iter().map(|failure| failure.count).sum();
    if failed == 0 || refused < SHARE * failed as f64 {
        return None;
    }
    let facts = [
        ("refused", whole(refused)),
        ("used", megabytes(redis, "redis.used_memory")),
        ("max", megabytes(redis, "redis.maxmemory")),
        ("policy", redis.label("redis.maxmemory_policy").unwrap_or("?").to_owned()),
    ];
    Some(proved(REFUSED, LocalizedSentence::new(REFUSED_EVIDENCE, facts)))
}

fn megabytes(redis: &CounterSummary, name: &str) -> String {
    redis.last(name).map_or_else(|| "?".to_owned(), |bytes| format!("{:.1}", bytes / 1e6))
}

fn found(redis: &CounterSummary, requests: f64) -> Option<RuleVerdict> {
    let evicted = redis.increase("redis.evicted_keys").filter(|evicted| *evicted > 0.0 && *evicted >= SHARE * requests)?;
    let evicted = whole(evicted);
    let facts =
        [("evicted", evicted.clone()), ("used", megabytes(redis, "redis.used_memory")), ("max", megabytes(redis, "redis.maxmemory"))];
    let claim = LocalizedSentence::new(CLAIM, [("evicted", evicted)]);
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "redis_memory");
    }

    #[test]
    fn keys_that_were_evicted() {
        let redis = |evicted: f64| {
            counted(&[
                ("redis.evicted_keys", 5.0, 5.0 + evicted),
                ("redis.used_memory", 1e6, 2e6),
                ("redis.maxmemory", 2e6, 2e6),
            ])
        };
        assert_eq!(judged_told(&RULE, |_| (), redis(5_000.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, |_| (), redis(0.0)), None, "those of yesterday");
        assert_eq!(judged_told(&RULE, |_| (), redis(10.0)), None, "10 of 10,000 requests");
    }

    #[test]
    fn writes_that_were_refused() {
        let mut redis = CounterSummary::default();
        for (at, refused) in [(0, None), (5, Some(300.0)), (10, Some(900.0))] {
            let told = [("redis.maxmemory", 2e6)].into_iter().chain(refused.map(|n| ("redis.errorstat_OOM.count", n)));
            redis.add_reading(at * 1_000_000_000, told);
        }
        redis.set_labels([("redis.maxmemory_policy", "noeviction")]);
        let failed = |n| move |run: &mut LoadResults| run.failures = vec![FailureCount { count: n, ..FailureCount::default() }];
        assert_eq!(judged_told(&RULE, failed(900), redis.clone()), Some("proved"), "without a log");
        assert_eq!(judged_told(&RULE, failed(500_000), redis.clone()), None, "most failed of something else");
        assert_eq!(judged_told(&RULE, |_| (), redis), None, "none of ours failed");
    }
}
