//! D5: queries scan whole tables of the database, where an index would find the rows.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D5",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("A missing index", "缺少索引"),
    symptom: text(
        "a few queries per second saturate the database's cores; needs --watch \
            mysql=mysql://USER:PASSWORD@HOST:PORT or postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE",
        "每秒查询不多，数据库 CPU 却已占满；需要 --watch mysql=mysql://USER:PASSWORD@HOST:PORT 或 postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    ),
    remedy: text(
        "EXPLAIN the statements of the run, and add an index on the condition columns of those showing type ALL (MySQL) \
            or Seq Scan (PostgreSQL)",
        "对压测的语句执行 EXPLAIN，为 type 是 ALL（MySQL）或含 Seq Scan（PostgreSQL）的语句在条件列上建立索引",
    ),
    experiment: text(
        "by primary key, the same number of rows should come back much faster, and the counter should stop rising",
        "按主键取同样多的行应快得多，且该计数不再增加",
    ),
    caution: Some(text(
        "statements that aggregate a whole table have to scan it: store the aggregates instead",
        "汇总整表的语句本来就要全表扫描：应改为保存汇总结果",
    )),
    judge,
};

const CLAIM: Text = text(
    "the database scans {each} rows per statement: an index is missing",
    "数据库每条语句要扫描 {each} 行：缺少索引",
);
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Handler_read_rnd_next +{rows} ({rate}/s) over {statements} SELECT, UPDATE and DELETE \
        statements (Com_select, Com_update, Com_delete)",
    "SHOW GLOBAL STATUS：{statements} 条 SELECT、UPDATE、DELETE（Com_select、Com_update、Com_delete）期间 Handler_read_rnd_next 增加 {rows}（{rate}/s）",
);
const OLDER: Text = text(
    "SHOW GLOBAL STATUS: Handler_read_rnd_next +{rows} ({rate}/s) over {statements} queries",
    "SHOW GLOBAL STATUS：{statements} 次查询期间 Handler_read_rnd_next 增加 {rows}（{rate}/s）",
);
const WALKED: Text = text(
    "the database scans {each} rows per transaction: an index is missing",
    "数据库每个事务要扫描 {each} 行：缺少索引",
);
const TABLES: Text = text(
    "pg_stat_user_tables: seq_tup_read +{rows} ({rate}/s) in {scans} sequential scans, over {transactions} \
        transactions (pg_stat_database)",
    "pg_stat_user_tables：pg_stat_database 的 {transactions} 个事务期间，{scans} 次顺序扫描使 seq_tup_read 增加 {rows}（{rate}/s）",
);

/// Minimum number of rows scanned per query; smaller tables are scanned on purpose.
const EACH: f64 = 1000.0;
/// Minimum rate of scanned rows (per second): a core scans some ten million.
const RATE: f64 = 500_000.0;

/// Minimum share of the statements that scan, if it is known: a few scans are another session's.
const SCANS: f64 = 0.05;

fn judge(case: &Case) -> Option<RuleVerdict> {
    if !case.run.is_saturated() {
        return None;
    }
    case.reported_by("mysql.").find_map(found).or_else(|| case.reported_by("postgres.").find_map(walked))
}

fn walked(postgres: &CounterSummary) -> Option<RuleVerdict> {
    const ROWS: &str = "postgres.tables.seq_tup_read";
    let (rows, rate) = (postgres.increase(ROWS)?, postgres.per_s(ROWS)?);
    let [committed, rolled_back] =
        ["commit", "rollback"].map(|end| postgres.increase(&format!("postgres.database.xact_{end}")));
    let transactions = (committed? + rolled_back?).max(1.0);
    let few = postgres.increase("postgres.tables.seq_scan").is_some_and(|scans| scans < SCANS * transactions);
    if rows < EACH * transactions || rate < RATE || few {
        return None;
    }
    let facts = [
        ("rows", whole(rows)),
        ("rate", whole(rate)),
        ("scans", whole(postgres.increase("postgres.tables.seq_scan").unwrap_or(0.0))),
        ("transactions", whole(transactions)),
    ];
    let claim = LocalizedSentence::new(WALKED, [("each", whole(rows / transactions))]);
    Some(proved(claim, LocalizedSentence::new(TABLES, facts)))
}

fn found(mysql: &CounterSummary) -> Option<RuleVerdict> {
    let rows = mysql.increase("mysql.Handler_read_rnd_next")?;
    let rate = mysql.per_s("mysql.Handler_read_rnd_next")?;
    let searches: Vec<f64> =
        ["select", "update", "delete"].iter().filter_map(|word| mysql.increase(&format!("mysql.Com_{word}"))).collect();
    // Queries of any kind (SET, COMMIT, a ping) read no rows; only records without the others count by them.
    let (statements, evidence) = match searches.is_empty() {
        false => (searches.iter().sum::<f64>(), EVIDENCE),
        true => (mysql.increase("mysql.Questions")?, OLDER),
    };
    let statements = statements.max(1.0);
    // Only SELECT counts its scans; the rows that UPDATE and DELETE look for may be as many.
    let [selects, scans] = ["mysql.Com_select", "mysql.Select_scan"].map(|name| mysql.increase(name));
    let mostly_selects = selects.is_some_and(|selects| selects >= statements / 2.0);
    let few = scans.is_some_and(|scans| mostly_selects && scans < SCANS * statements);
    if rows < EACH * statements || rate < RATE || few {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("each", whole(rows / statements))]);
    let facts = [("rows", whole(rows)), ("rate", whole(rate)), ("statements", whole(statements))];
    Some(proved(claim, LocalizedSentence::new(evidence, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    /// Returns counters of ten seconds with this many queries and scanned rows.
    fn walked(questions: f64, rows: f64) -> CounterSummary {
        counted(&[("mysql.Questions", 9.0, 9.0 + questions), ("mysql.Handler_read_rnd_next", 80.0, 80.0 + rows)])
    }

    #[test]
    fn tables_that_are_walked_over() {
        assert_eq!(judged_told(&RULE, |_| (), walked(1000.0, 1e8)), Some("proved"));
        assert_eq!(judged_told(&RULE, |_| (), walked(1e5, 1e7)), None, "a hundred rows each");
        assert_eq!(judged_told(&RULE, |_| (), walked(20.0, 40_000.0)), None, "what asking for counters takes");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, walked(1000.0, 1e8)), None, "the rate was kept");
    }

    #[test]
    fn only_statements_that_search_are_counted() {
        let among = |selects: f64| {
            counted(&[
                ("mysql.Questions", 0.0, 50_000.0),
                ("mysql.Com_select", 0.0, selects),
                ("mysql.Com_update", 0.0, 10.0),
                ("mysql.Com_delete", 0.0, 0.0),
                ("mysql.Handler_read_rnd_next", 0.0, 1e7),
            ])
        };
        assert_eq!(judged_told(&RULE, |_| (), among(900.0)), Some("proved"), "most queries are BEGIN and COMMIT");
        assert_eq!(judged_told(&RULE, |_| (), among(20_000.0)), None, "500 rows each");
        let scans = |of: f64| {
            counted(&[
                ("mysql.Questions", 0.0, 5_000.0),
                ("mysql.Com_select", 0.0, 5_000.0),
                ("mysql.Select_scan", 0.0, of),
                ("mysql.Handler_read_rnd_next", 0.0, 1e8),
            ])
        };
        assert_eq!(judged_told(&RULE, |_| (), scans(4_900.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, |_| (), scans(20.0)), None, "twenty scans of another session");
    }

    /// Returns counters of PostgreSQL with this many transactions and scanned rows.
    fn scanned(transactions: f64, rows: f64) -> CounterSummary {
        counted(&[
            ("postgres.database.xact_commit", 9.0, 9.0 + transactions),
            ("postgres.database.xact_rollback", 1.0, 1.0),
            ("postgres.tables.seq_scan", 3.0, 3.0 + transactions),
            ("postgres.tables.seq_tup_read", 80.0, 80.0 + rows),
        ])
    }

    #[test]
    fn tables_of_postgres_that_are_walked_over() {
        assert_eq!(judged_told(&RULE, |_| (), scanned(1000.0, 1e8)), Some("proved"));
        assert_eq!(judged_told(&RULE, |_| (), scanned(1e5, 1e7)), None, "a hundred rows each");
        assert_eq!(judged_told(&RULE, |_| (), scanned(40.0, 100_000.0)), None, "a little work beside");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, scanned(1000.0, 1e8)), None, "the rate was kept");
        let dropped = counted(&[("postgres.tables.seq_tup_read", 1e8, 5.0)]);
        assert_eq!(judged_told(&RULE, |_| (), dropped), None, "a table that is gone took its counts along");
    }
}
