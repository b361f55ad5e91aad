//! D2: requests wait for the same rows of the database: the lock is passed from one to the next, regardless of the
//! number of users.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D2",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Locked rows", "行锁"),
    symptom: text(
        "writes/s are flat from a few users on while the database has idle cores; needs --watch \
            mysql=mysql://USER:PASSWORD@HOST:PORT or postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE",
        "用户很少时每秒写入数就不再上升，而数据库 CPU 空闲；需要 --watch mysql=mysql://USER:PASSWORD@HOST:PORT 或 postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    ),
    remedy: text(
        "hold the lock for less time: shorten the transaction, lock the contended row last, combine several changes \
            into one, or split the row into several that are summed on read",
        "缩短持锁时间：缩短事务，最后再锁热点行，合并多次修改，或将该行拆成多行、读取时求和",
    ),
    experiment: text(
        "the same requests over many rows (a random key instead of one) should be much faster",
        "同样的请求分散到许多行（用随机键代替固定的键）应快得多",
    ),
    caution: Some(text(
        "an UPDATE or DELETE without an index on its condition locks every row it scans (D5)",
        "条件列没有索引的 UPDATE 或 DELETE 会锁住扫描到的每一行（D5）",
    )),
    judge,
};

const CLAIM: Text = text(
    "requests wait for row locks in the database: {waiting} of {in_flight} in flight at any moment",
    "请求在数据库中等待行锁：任一时刻，{in_flight} 个在途请求中有 {waiting} 个在等待",
);
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Innodb_row_lock_waits +{waits} over {questions} queries, Innodb_row_lock_time +{waited}",
    "SHOW GLOBAL STATUS：{questions} 次查询期间 Innodb_row_lock_waits 增加 {waits}，Innodb_row_lock_time 增加 {waited}",
);

const HELD: Text = text(
    "requests wait for row locks in the database that are not released: {waiting} sessions waited at any moment",
    "请求在数据库中等待一直未释放的行锁：任一时刻都有 {waiting} 个会话在等待",
);
const HELD_EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS, read {readings} times: Innodb_row_lock_current_waits was above 0 in {positive}, {waiting} on \
        average, at most {most}; Innodb_row_lock_time +{waited} counts only waits that ended",
    "SHOW GLOBAL STATUS 读取 {readings} 次：Innodb_row_lock_current_waits 有 {positive} 次大于 0，平均 {waiting}，最多 {most}；Innodb_row_lock_time 增加 {waited}，只计入已结束的等待",
);
const RELEASE: Text = text(
    "find the session that holds the lock (sys.innodb_lock_waits; in MariaDB information_schema.INNODB_TRX: an old \
        transaction that is idle), and end or shorten its transaction",
    "查出持有锁的会话（sys.innodb_lock_waits；MariaDB 看 information_schema.INNODB_TRX 中长时间空闲的事务），结束或缩短其事务",
);
const OTHER_ROWS: Text = text(
    "once that transaction has ended, the same load should not wait",
    "该事务结束后，同样的负载不应再等待",
);

const SAMPLED: Text = text(
    "pg_stat_activity, read {readings} times: on average {waiting} of {active} active sessions waited for a row \
        (Lock: transactionid, tuple), at most {most}; idle in transaction: at most {idle}",
    "pg_stat_activity 读取 {readings} 次：平均 {active} 个活动会话中有 {waiting} 个在等待行锁（Lock：transactionid、tuple），最多 {most} 个；idle in transaction 最多 {idle} 个",
);

const GAVE_UP: Text =
    text("transactions gave up waiting for row locks, and failed", "事务等待行锁超时而失败");
const DEADLOCKED: Text =
    text("transactions waited for each other's row locks: the database aborted one of each pair", "事务互相等待对方的行锁：数据库中止了其中一方");
const IN_ORDER: Text = text(
    "take the locks in the same order everywhere (sort the keys), keep transactions short, and retry those aborted",
    "各处按相同顺序加锁（如先对键排序），缩短事务，并重试被中止的事务",
);

/// Minimum share of queries that waited; fewer waits may be accidental.
const WAITS: f64 = 0.01;
/// Minimum share of the requests in flight that wait.
const PART: f64 = 0.5;
/// The same minimum for readings once a second, some of which are taken at the ends of a run with fewer requests in
/// flight.
const PART_SEEN: f64 = 0.4;
/// Minimum share of the readings in which somebody waits for a lock that is not released.
const OFTEN: f64 = 0.5;
/// Minimum number of readings between the first and the last: a single moment is not a pattern.
const READINGS: u32 = 2;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let deadlocked = || Some(watched_log::found(case, DEADLOCKED, &["deadlock"])?.remedy(IN_ORDER));
    let logged = || watched_log::found(case, GAVE_UP, &["lock_timeout"]).or_else(deadlocked);
    let run = &case.run;
    let held = || case.reported_by("mysql.").find_map(|mysql| held(mysql, held_up(run)));
    if !run.is_saturated() {
        let suffers = !run.failures.is_empty() || run.fell_behind || run.unfinished > 0;
        return held().filter(|_| suffers).or_else(logged);
    }
    let in_flight = case.run.in_flight;
    let postgres = || case.reported_by("postgres.").find_map(|postgres| seen(postgres, in_flight));
    case.reported_by("mysql.").find_map(|mysql| found(mysql, in_flight)).or_else(held).or_else(postgres).or_else(logged)
}

/// Time in seconds from which a response may have waited for a lock that is kept.
const LONG: f64 = 1.0;

/// Returns the number of requests that may have waited for a lock that is kept: those that timed out, took or failed
/// after a second or more, or did not end.
fn held_up(run: &LoadResults) -> f64 {
    let failed_late = run.failed_responses.count as f64 * run.failed_responses.second_or_more;
    failed_late + (run.failed_by("timeout") + run.unfinished + run.times.within(LONG, f64::INFINITY)) as f64
}

/// Judges the waits of this moment: those for a lock that is never released are in no sum. At least as many requests of
/// the run were held up, or others wait.
fn held(mysql: &CounterSummary, held_up: f64) -> Option<RuleVerdict> {
    const CURRENT: &str = "mysql.Innodb_row_lock_current_waits";
    let (waiting, readings) = mysql.mean_within(CURRENT)?;
    let (positive, _) = mysql.positive_within(CURRENT)?;
    let ended = mysql.per_s("mysql.Innodb_row_lock_time").unwrap_or(0.0) / 1e3;
    let often = f64::from(positive) > OFTEN * f64::from(readings);
    if readings < READINGS || !often || waiting < 1.0 || ended >= PART * waiting || held_up < PART * waiting {
        return None;
    }
    let facts = [
        ("readings", numbers::count(readings.into())),
        ("positive", numbers::count(positive.into())),
        ("waiting", format!("{waiting:.1}")),
        ("most", whole(mysql.max(CURRENT).unwrap_or(0.0))),
        ("waited", numbers::seconds(ended * mysql.span_s())),
    ];
    let claim = LocalizedSentence::new(HELD, [("waiting", format!("{waiting:.0}"))]);
    Some(proved(claim, LocalizedSentence::new(HELD_EVIDENCE, facts)).remedy(RELEASE).experiment(OTHER_ROWS))
}

fn claim(waiting: f64, in_flight: f64) -> LocalizedSentence {
    let facts = [("waiting", format!("{:.0}", waiting.min(in_flight))), ("in_flight", format!("{in_flight:.0}"))];
    LocalizedSentence::new(CLAIM, facts)
}

/// Judges PostgreSQL, which does not sum up waits: each reading shows the sessions that wait at that moment.
fn seen(postgres: &CounterSummary, in_flight: f64) -> Option<RuleVerdict> {
    let (waiting, readings) = postgres.mean_within("postgres.activity.waiting_row")?;
    let (active, _) = postgres.mean_within("postgres.activity.active")?;
    let most = postgres.max("postgres.activity.waiting_row")?;
    if readings < READINGS || waiting < 1.0 || waiting < PART_SEEN * in_flight || waiting < PART * active {
        return None;
    }
    let idle = postgres.max("postgres.activity.idle_in_transaction").unwrap_or(0.0);
    let facts = [
        ("readings", numbers::count(readings.into())),
        ("waiting", format!("{waiting:.1}")),
        ("active", format!("{active:.1}")),
        ("most", format!("{most:.0}")),
        ("idle", format!("{idle:.0}")),
    ];
    let evidence = LocalizedSentence::new(SAMPLED, facts);
    Some(proved(claim(waiting, in_flight), evidence))
}

fn found(mysql: &CounterSummary, in_flight: f64) -> Option<RuleVerdict> {
    let (waits, questions) = (mysql.increase("mysql.Innodb_row_lock_waits")?, mysql.increase("mysql.Questions")?);
    // Milliseconds, summed over all waiting sessions: an increase of one second per second means one session waiting
    // all the time.
    let waiting = mysql.per_s("mysql.Innodb_row_lock_time")? / 1e3;
    if waits < WAITS * questions || waiting < 1.0 || waiting < PART * in_flight {
        return None;
    }
    let facts = [
        ("waits", whole(waits)),
        ("questions", whole(questions)),
        ("waited", numbers::seconds(waiting * mysql.span_s())),
    ];
    Some(proved(claim(waiting, in_flight), LocalizedSentence::new(EVIDENCE, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told};

    /// Returns counters of ten seconds with this many waits among 20,000 queries, and this many milliseconds of
    /// waiting.
    fn locks(waits: f64, ms: f64) -> CounterSummary {
        counted(&[
            ("mysql.Innodb_row_lock_waits", 5.0, 5.0 + waits),
            ("mysql.Innodb_row_lock_time", 70.0, 70.0 + ms),
            ("mysql.Questions", 100.0, 20_100.0),
        ])
    }

    /// Returns counters from readings of sessions (active, waiting for a row), one per second, the first before the
    /// load.
    fn sessions(readings: &[(f64, f64)]) -> CounterSummary {
        let mut counted = CounterSummary::default();
        for (at, (active, waiting)) in readings.iter().enumerate() {
            let told = [("postgres.activity.active", *active), ("postgres.activity.waiting_row", *waiting)];
            counted.add_reading(at as i64 * 1_000_000_000, told);
        }
        counted
    }

    #[test]
    fn one_row_that_all_want_in_postgres() {
        let all = sessions(&[(0.0, 0.0), (50.0, 48.0), (50.0, 49.0), (50.0, 47.0), (3.0, 0.0)]);
        assert_eq!(judged_told(&RULE, |_| (), all.clone()), Some("proved"));
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, all), None, "the rate was kept");
        let few = sessions(&[(0.0, 0.0), (50.0, 9.0), (50.0, 8.0), (50.0, 9.0), (0.0, 0.0)]);
        assert_eq!(judged_told(&RULE, |_| (), few), None, "the rest is elsewhere");
        let once = sessions(&[(0.0, 0.0), (9.0, 0.0), (50.0, 49.0), (9.0, 0.0), (9.0, 1.0), (0.0, 0.0)]);
        assert_eq!(judged_told(&RULE, |_| (), once), None, "one moment");
        let short = sessions(&[(0.0, 0.0), (50.0, 49.0), (50.0, 49.0)]);
        assert_eq!(judged_told(&RULE, |_| (), short), None, "one reading within");
        let crowd = sessions(&[(100.0, 25.0); 6]);
        assert_eq!(judged_told(&RULE, |_| (), crowd), None, "most of what is active does not wait");
        let hidden = counted(&[("postgres.activity.clients", 51.0, 51.0)]);
        assert_eq!(judged_told(&RULE, |_| (), hidden), None, "not observable");
    }

    #[test]
    fn its_lines_in_the_log() {
        ["lock_timeout", "deadlock"].iter().for_each(|name| watched_log::assert_finds(&RULE, name));
    }

    #[test]
    fn a_lock_that_another_session_keeps() {
        let waits = |readings: &[f64], ended_ms: f64| {
            let mut counted = CounterSummary::default();
            for (at, waiting) in readings.iter().enumerate() {
                let of_time = ended_ms * at as f64 / (readings.len() - 1) as f64;
                let told = [("mysql.Innodb_row_lock_current_waits", *waiting), ("mysql.Innodb_row_lock_time", of_time)];
                counted.add_reading(at as i64 * 1_000_000_000, told);
            }
            counted
        };
        let kept = waits(&[0.0, 8.0, 10.0, 10.0, 10.0, 0.0], 0.0);
        assert_eq!(judged_told(&RULE, |run| run.unfinished = 10, kept.clone()), Some("proved"));
        let slow = |run: &mut LoadResults| run.times = DurationCounts::new([(0.002, 20_000), (4.0, 10)]);
        assert_eq!(judged_told(&RULE, slow, kept.clone()), Some("proved"), "it was released in the end");
        let quick = |run: &mut LoadResults| run.times = DurationCounts::new([(0.002, 720_000)]);
        assert_eq!(judged_told(&RULE, quick, kept.clone()), None, "others wait: no request of this run did");
        let refused = |run: &mut LoadResults| {
            quick(run);
            run.failures = vec![FailureCount { kind: "reset".into(), count: 40, ..FailureCount::default() }];
        };
        assert_eq!(judged_told(&RULE, refused, kept.clone()), None, "failures of another kind");
        let timed_out = |run: &mut LoadResults| {
            run.is_open = true;
            run.failures = vec![FailureCount { kind: "timeout".into(), count: 10, ..FailureCount::default() }];
        };
        assert_eq!(judged_told(&RULE, timed_out, kept.clone()), Some("proved"), "whatever the load model");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, kept), None, "the rate was kept, and nothing failed");
        assert_eq!(judged_told(&RULE, |_| (), waits(&[0.0, 0.0, 9.0, 0.0, 0.0, 0.0], 0.0)), None, "one moment");
        assert_eq!(judged_told(&RULE, |_| (), waits(&[0.0, 8.0, 8.0, 8.0, 0.0], 32_000.0)), None, "waits end in turn");
    }

    #[test]
    fn one_row_that_all_want() {
        assert_eq!(judged_told(&RULE, |_| (), locks(19_000.0, 450_000.0)), Some("proved"), "45 of 50 wait");
        assert_eq!(judged_told(&RULE, |_| (), locks(19_000.0, 90_000.0)), None, "9 of 50: the rest is elsewhere");
        assert_eq!(judged_told(&RULE, |_| (), locks(10.0, 450_000.0)), None, "somebody else's, waiting for long");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, locks(19_000.0, 450_000.0)), None, "the rate was kept");
        assert_eq!(judged_told(&RULE, |run| run.in_flight = 0.5, locks(500.0, 4_000.0)), None, "hardly anybody");
    }
}
