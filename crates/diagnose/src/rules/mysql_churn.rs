//! D6: connections to the database are short-lived, and each creates a thread there.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D6",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Database connections not reused", "数据库连接频繁重建"),
    symptom: text(
        "connecting takes much of the time; needs --watch mysql=mysql://USER:PASSWORD@HOST:PORT",
        "建连占用大量时间；需要 --watch mysql=mysql://USER:PASSWORD@HOST:PORT",
    ),
    remedy: text(
        "use a connection pool; until then a larger thread_cache_size avoids creating threads",
        "使用连接池保持连接；在此之前可加大 thread_cache_size 以复用线程",
    ),
    experiment: text(
        "with persistent connections, throughput should rise and Threads_created stay flat",
        "使用长连接后，吞吐量应上升，Threads_created 应不再增加",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the application keeps reconnecting to the database: {connections} connections for {questions} queries, and \
        {threads} threads created for them",
    "数据库连接频繁建立和断开：{questions} 次查询使用了 {connections} 个连接，并为其创建 {threads} 个线程",
);
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Connections +{connections}, Threads_created +{threads}, Questions +{questions}",
    "SHOW GLOBAL STATUS：Connections 增加 {connections}，Threads_created 增加 {threads}，Questions 增加 {questions}",
);

/// Maximum number of queries per connection that counts as churn.
const QUESTIONS: f64 = 20.0;
/// Share of connections that created a thread above which the thread cache is too small.
const THREADS: f64 = 0.05;
/// Minimum number of connections.
const LEAST: f64 = 100.0;

fn judge(case: &Case) -> Option<RuleVerdict> {
    if !case.run.is_saturated() {
        return None;
    }
    case.reported_by("mysql.").find_map(found)
}

fn found(mysql: &CounterSummary) -> Option<RuleVerdict> {
    let rise = |name: &str| mysql.increase(&format!("mysql.{name}"));
    let (connections, threads, questions) = (rise("Connections")?, rise("Threads_created")?, rise("Questions")?);
    if connections < LEAST || questions > QUESTIONS * connections || threads < THREADS * connections {
        return None;
    }
    let facts = || [("connections", whole(connections)), ("threads", whole(threads)), ("questions", whole(questions))];
    let (claim, evidence) = (LocalizedSentence::new(CLAIM, facts()), LocalizedSentence::new(EVIDENCE, facts()));
    Some(consistent(claim, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    #[test]
    fn a_connection_for_each_question() {
        let mysql = |connections: f64, threads: f64| {
            counted(&[
                ("mysql.Connections", 7.0, 7.0 + connections),
                ("mysql.Threads_created", 3.0, 3.0 + threads),
                ("mysql.Questions", 100.0, 10_100.0),
            ])
        };
        assert_eq!(judged_told(&RULE, |_| (), mysql(5_000.0, 4_000.0)), Some("consistent"));
        assert_eq!(judged_told(&RULE, |_| (), mysql(50.0, 50.0)), None, "the connections of a pool");
        assert_eq!(judged_told(&RULE, |_| (), mysql(5_000.0, 40.0)), None, "the cache of threads holds");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, mysql(5_000.0, 4_000.0)), None, "the rate was kept");
    }
}
