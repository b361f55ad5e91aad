//! W5: the service's own pool of connections was exhausted, as its log says.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "W5",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text(
        "The application's connection pool",
        "应用的连接池",
    ),
    symptom: text(
        "requests fail after a round number of seconds with a message about a pool (HikariCP, DBCP, knex, SQLAlchemy); needs --watch-log on the log of the service",
        "请求在整数秒后失败，消息中提到连接池（HikariCP、DBCP、knex、SQLAlchemy）；需要用 --watch-log 指定服务的日志",
    ),
    remedy: text(
        "hold connections for less time (no calls to others within a transaction, no leaks), then size the pool by Little's law: queries/s × seconds each holds a connection; all pools together must fit into the database's max_connections",
        "缩短占用连接的时间（事务中不调用外部服务，不泄漏连接），再按利特尔法则设定池的大小：每秒查询数 × 单次占用连接的秒数；所有池的总和不得超过数据库的 max_connections",
    ),
    experiment: text(
        "with fewer users than the pool has connections, the message should be gone",
        "用户数少于池中连接数时，该消息应消失",
    ),
    caution: Some(text(
        "a larger pool does not help if the database is what is slow",
        "若慢的是数据库，加大连接池没有用",
    )),
    judge,
};

const CLAIM: Text = text(
    "the service had no free connection in its pool within the time it waits for one",
    "服务在等待时限内没有从连接池得到空闲连接",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::found(case, CLAIM, &["pool_exhausted"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "pool_exhausted");
    }
}
