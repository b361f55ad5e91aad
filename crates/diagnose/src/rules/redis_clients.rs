//! R2: Redis refused connections because its client limit was reached.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "R2",
    origin: CounterOrigin::Generator,
    stage: PathStage::ServerKernel,
    title: text("Redis out of client connections", "Redis 客户端连接数已满"),
    symptom: text(
        "connections fail with `max number of clients reached`; needs --watch redis=HOST:PORT",
        "连接失败并提示 max number of clients reached；需要 --watch redis=HOST:PORT",
    ),
    remedy: text(
        "use a connection pool in the application; then raise maxclients, and Redis' file descriptor limit with it",
        "在应用中用连接池共享连接，再提高 maxclients 以及 Redis 可打开的文件描述符数",
    ),
    experiment: text("with fewer than {max} users, none should be refused", "用户数少于 {max} 时，不应再有连接被拒绝"),
    caution: None,
    judge,
};

const CLAIM: Text =
    text("Redis refused connections: it allows {max} clients", "Redis 拒绝了连接：它最多接受 {max} 个客户端");
const LOGGED: Text = text("Redis refused connections: its client limit was reached", "Redis 拒绝了连接：客户端连接数已达上限");
const FEWER: Text =
    text("with fewer users than maxclients, none should be refused", "用户数少于 maxclients 时，不应再有连接被拒绝");
const EVIDENCE: Text = text(
    "INFO stats: rejected_connections +{rejected}; up to {clients} of {max} clients connected",
    "INFO stats：rejected_connections 增加 {rejected}；最多有 {clients}/{max} 个客户端连接",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let logged = || Some(watched_log::found(case, LOGGED, &["redis_clients"])?.experiment(FEWER));
    let told = case.reported_by("redis.").find_map(|redis| {
        let meanwhile = watched_log::coincides(&case.run, redis.rose_within("redis.rejected_connections"));
        let refused = |rejected: &f64| *rejected > 0.0 && watched_log::explains(&case.run, *rejected) && meanwhile;
        let rejected = redis.increase("redis.rejected_connections").filter(refused)?;
        let max = redis.last("redis.maxclients");
        let clients = redis.max("redis.connected_clients").unwrap_or(0.0);
        let max = max.map_or_else(|| "maxclients".to_owned(), whole);
        let facts = [("rejected", whole(rejected)), ("clients", whole(clients)), ("max", max.clone())];
        let claim = LocalizedSentence::new(CLAIM, [("max", max.clone())]);
        Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)).experiment_with([("max", max)]))
    });
    told.or_else(logged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    fn redis(rejected: f64) -> CounterSummary {
        counted(&[
            ("redis.rejected_connections", 3.0, 3.0 + rejected),
            ("redis.maxclients", 10.0, 10.0),
            ("redis.connected_clients", 1.0, 10.0),
        ])
    }

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "redis_clients");
    }

    #[test]
    fn clients_that_were_turned_away() {
        let failed = |run: &mut crate::LoadResults| {
            run.failures = vec![FailureCount { count: 300, ..FailureCount::default() }];
        };
        assert_eq!(judged_told(&RULE, failed, redis(2.0)), None, "two cannot be the cause of 300 failures");
        assert_eq!(judged_told(&RULE, failed, redis(7.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, failed, redis(0.0)), None, "those of yesterday");
        assert_eq!(judged_told(&RULE, |_| (), redis(7.0)), None, "none of ours");
        let failed_at = |at: usize| {
            move |run: &mut crate::LoadResults| {
                failed(run);
                let second = |n: usize| crate::SecondFigures { from_s: n as f64, length_s: 1.0, ..Default::default() };
                run.seconds = (0..10).map(second).collect();
                run.seconds[at].failed = 300;
            }
        };
        let mut early = crate::CounterSummary::default();
        for (at, rejected) in [0.0, 0.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0].into_iter().enumerate() {
            early.add_reading(at as i64 * 1_000_000_000, [("redis.rejected_connections", rejected)]);
        }
        assert_eq!(judged_told(&RULE, failed_at(1), early.clone()), Some("proved"));
        assert_eq!(judged_told(&RULE, failed_at(8), early), None, "another client's, six seconds before");
    }
}
