//! D1: the database refused connections because its limit was reached.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D1",
    origin: CounterOrigin::Generator,
    stage: PathStage::ServerKernel,
    title: text("Database out of connections", "数据库连接数已满"),
    symptom: text(
        "connections fail with `too many connections` (MySQL error 1040, PostgreSQL 53300); --watch mysql=… or postgres=… shows its counters",
        "连接失败并提示 too many connections（MySQL 错误 1040、PostgreSQL 53300）；--watch mysql=… 或 postgres=… 可显示相关计数器",
    ),
    remedy: text(
        "limit the applications' pools so that together they stay below max_connections; only a running query needs a \
            connection, a queued one does not. More connections than the cores can serve cost memory and add no \
            throughput",
        "限制各应用的连接池，使总数低于 max_connections；正在执行的查询才需要连接，等待的不需要。连接数超出 CPU 所能处理的部分只占内存，不增加吞吐量",
    ),
    experiment: text("with fewer than {max} connections, none should be refused", "连接数少于 {max} 时，不应再有连接被拒绝"),
    caution: None,
    judge,
};

const CLAIM: Text =
    text("the database refused connections: it allows {max}", "数据库拒绝了连接：最多接受 {max} 个连接");
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Connection_errors_max_connections +{refused}; Threads_connected up to {connected}, \
        max_connections {max}",
    "SHOW GLOBAL STATUS：Connection_errors_max_connections 增加 {refused}；Threads_connected 最高 {connected}，max_connections 为 {max}",
);

/// Evidence from the errors that a database sends to clients, if it is not watched.
const FULL: Text =
    text("the database refused connections: it had reached its limit", "数据库拒绝了连接：连接数已达上限");
const SAID: Text = text(
    "connections refused with `too many connections` (MySQL 1040, PostgreSQL 53300): {refused}",
    "因 too many connections（MySQL 1040、PostgreSQL 53300）被拒绝的连接：{refused}",
);
const FEWER: Text = text(
    "with fewer connections (-c, --max-connections), none should be refused",
    "减少连接数（-c、--max-connections）后，不应再有连接被拒绝",
);
const FEWER_POOLED: Text = text(
    "with pools that together stay below max_connections, none should be refused",
    "各连接池总数低于 max_connections 时，不应再有连接被拒绝",
);
/// PostgreSQL does not count refused connections: refusals are counted from the errors that clients received, and
/// sessions from `pg_stat_activity`.
const TOLD: Text = text(
    "connections refused with error 53300: {refused}; pg_stat_activity showed up to {clients} client sessions; \
        max_connections is {max}, {reserved} of them reserved",
    "因错误 53300 被拒绝的连接：{refused}；pg_stat_activity 中客户端会话最多 {clients} 个，max_connections 为 {max}，其中保留 {reserved} 个",
);
const USED_UP: Text = text(
    "the database was at its connection limit ({max}) while requests failed",
    "请求失败期间，数据库的连接数达到上限（{max}）",
);
const SESSIONS: Text = text(
    "pg_stat_activity showed up to {clients} client sessions; max_connections is {max}, {reserved} of them reserved",
    "pg_stat_activity 中客户端会话最多 {clients} 个；max_connections 为 {max}，其中保留 {reserved} 个",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    // The refused clients may not have been those of this run.
    if case.run.failures.is_empty() && case.run.refused_by_database == 0 {
        return None;
    }
    let refused = case.run.refused_by_database;
    let postgres = || case.reported_by("postgres.").find_map(|postgres| full(postgres, refused));
    case.reported_by("mysql.").find_map(counted).or_else(postgres).or_else(|| said(refused)).or_else(|| logged(case))
}

/// Judges the counters of a watched PostgreSQL together with the errors that it sent. If the errors went to a service
/// in front of it, the evidence is only consistent.
fn full(postgres: &CounterSummary, refused: u64) -> Option<RuleVerdict> {
    let max = postgres.last("postgres.setting.max_connections")?;
    let kept = ["superuser_reserved_connections", "reserved_connections"];
    let reserved = kept.iter().filter_map(|name| postgres.last(&format!("postgres.setting.{name}"))).sum::<f64>();
    let clients = postgres.max("postgres.activity.clients")?;
    let facts = [
        ("refused", numbers::count(refused)),
        ("clients", whole(clients)),
        ("max", whole(max)),
        ("reserved", whole(reserved)),
    ];
    let (proof, claim, evidence) = match refused {
        0 if clients < max - reserved => return None,
        0 => (Proof::Consistent, USED_UP, SESSIONS),
        _ => (Proof::Proved, CLAIM, TOLD),
    };
    let max = [("max", whole(max))];
    Some(RuleVerdict::new(proof, LocalizedSentence::new(claim, max.clone()), LocalizedSentence::new(evidence, facts)).experiment_with(max))
}

/// Judges the log of the database, or of a service that it refused.
fn logged(case: &Case) -> Option<RuleVerdict> {
    Some(watched_log::found(case, FULL, &["too_many_connections"])?.experiment(FEWER_POOLED))
}

fn said(refused: u64) -> Option<RuleVerdict> {
    let evidence = LocalizedSentence::new(SAID, [("refused", numbers::count(refused))]);
    let found = proved(FULL, evidence);
    (refused > 0).then(|| found.experiment(FEWER))
}

fn counted(mysql: &CounterSummary) -> Option<RuleVerdict> {
    let refused = mysql.increase("mysql.Connection_errors_max_connections").filter(|refused| *refused > 0.0)?;
    let max = mysql.last("mysql.variable.max_connections").map_or_else(|| "max_connections".to_owned(), whole);
    let connected = mysql.max("mysql.Threads_connected").unwrap_or(0.0);
    let facts = [("refused", whole(refused)), ("connected", whole(connected)), ("max", max.clone())];
    let claim = LocalizedSentence::new(CLAIM, [("max", max.clone())]);
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)).experiment_with([("max", max)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, judged_told};

    fn mysql(refused: f64) -> CounterSummary {
        counted(&[
            ("mysql.Connection_errors_max_connections", 3.0, 3.0 + refused),
            ("mysql.variable.max_connections", 10.0, 10.0),
            ("mysql.Threads_connected", 1.0, 11.0),
        ])
    }

    /// Returns counters with a limit of a hundred connections, three of them reserved, and up to this many sessions.
    fn postgres(clients: f64) -> CounterSummary {
        counted(&[
            ("postgres.setting.max_connections", 100.0, 100.0),
            ("postgres.setting.superuser_reserved_connections", 3.0, 3.0),
            ("postgres.activity.clients", 2.0, clients),
        ])
    }

    #[test]
    fn postgres_says_it_to_those_it_turns_away() {
        let failed = |run: &mut crate::LoadResults| run.failures = vec![FailureCount::default()];
        assert_eq!(
            judged_told(&RULE, |run| run.refused_by_database = 7, postgres(90.0)),
            Some("proved"),
            "between two readings"
        );
        assert_eq!(
            judged_told(&RULE, failed, postgres(97.0)),
            Some("consistent"),
            "it said so to a service in front of it"
        );
        assert_eq!(judged_told(&RULE, failed, postgres(96.0)), None, "there was room");
        assert_eq!(judged_told(&RULE, |_| (), postgres(97.0)), None, "full, and nobody failed");
        let unseen = counted(&[("postgres.setting.max_connections", 100.0, 100.0)]);
        assert_eq!(judged_told(&RULE, failed, unseen.clone()), None, "sessions that are not observable");
        assert_eq!(judged_told(&RULE, |run| run.refused_by_database = 7, unseen), Some("proved"), "its own word is enough");
    }

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "too_many_connections");
    }

    #[test]
    fn connections_that_were_turned_away() {
        let failed = |run: &mut crate::LoadResults| run.failures = vec![FailureCount::default()];
        assert_eq!(judged_told(&RULE, failed, mysql(7.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, failed, mysql(0.0)), None, "those of yesterday");
        assert_eq!(judged_told(&RULE, |_| (), mysql(7.0)), None, "none of ours");
        // With a rate, requests wait, and none fails because of it.
        assert_eq!(judged_told(&RULE, |run| run.refused_by_database = 7, mysql(7.0)), Some("proved"));
        assert_eq!(judged(&RULE, |run| run.refused_by_database = 7, counted(&[])), Some("proved"), "it says so itself");
        assert_eq!(judged(&RULE, failed, counted(&[])), None);
    }
}
