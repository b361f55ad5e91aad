//! D4: the data that queries read does not fit into the memory of the database: InnoDB's buffer pool, or the shared
//! buffers of PostgreSQL.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D4",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("A buffer pool that is too small", "缓冲池太小"),
    symptom: text(
        "queries for different rows are slower than repeated queries for the same rows; needs --watch \
            mysql=mysql://USER:PASSWORD@HOST:PORT, or postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE where \
            track_io_timing is on",
        "每次读不同行的查询比反复读相同行的慢；需要 --watch mysql=mysql://USER:PASSWORD@HOST:PORT，或 postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE（须开启 track_io_timing）",
    ),
    remedy: text(
        "raise innodb_buffer_pool_size until the data this run reads fits (no restart needed), or make queries read \
            less: an index, fewer columns, fewer rows",
        "调大 innodb_buffer_pool_size，直到放得下本次压测读取的数据（可在线修改），或让查询少读：加索引、少取列、少取行",
    ),
    experiment: text(
        "with requests for few enough rows to fit in the pool, Innodb_buffer_pool_reads should stay flat and latency fall",
        "只请求缓冲池放得下的少量行时，Innodb_buffer_pool_reads 应不再增加，延迟应下降",
    ),
    caution: Some(text(
        "every pool starts out empty: fill it before measuring (--warmup), and do not mix cold and warm results",
        "刚启动时缓冲池总是空的：测量前先预热（--warmup），冷、热两种结果不要混在一起",
    )),
    judge,
};

const CLAIM: Text = text(
    "{share} of the pages that queries read miss the buffer pool and come from disk: {reads} pages/s",
    "查询读取的页中有 {share} 不在缓冲池，要从磁盘读取：每秒 {reads} 页",
);
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Innodb_buffer_pool_reads +{missed} for Innodb_buffer_pool_read_requests +{asked}, while \
        the pool grew by {filled} pages",
    "SHOW GLOBAL STATUS：Innodb_buffer_pool_reads +{missed}，Innodb_buffer_pool_read_requests +{asked}，期间缓冲池多容纳 {filled} 页",
);

const WAITING: Text = text(
    "at any moment {waiting} of {in_flight} requests in flight wait for reads from disk: the pages are not in \
        shared_buffers",
    "任一时刻，{in_flight} 个在途请求中有 {waiting} 个在等待读取磁盘：所读的页不在 shared_buffers 中",
);
const READ: Text = text(
    "pg_stat_database: blks_read +{missed} ({share} of all blocks requested), blk_read_time +{time} in {span}",
    "pg_stat_database：blks_read +{missed}（占全部请求块的 {share}），{span} 内 blk_read_time +{time}",
);
const MORE: Text = text(
    "raise shared_buffers (needs a restart) or add memory until the data this run reads fits, or make queries read \
        less: an index, fewer columns, fewer rows",
    "调大 shared_buffers（需重启 PostgreSQL）或增加内存，直到放得下本次压测读取的数据，或让查询少读：加索引、少取列、少取行",
);
const STILL: Text = text(
    "with requests for few enough rows to fit, blk_read_time should stay flat and latency fall",
    "只请求内存放得下的少量行时，blk_read_time 应不再增加，延迟应下降",
);

/// Minimum share of the requests in flight that wait for files.
const PART: f64 = 0.4;
/// Minimum share of reads that miss, and minimum number of them per second.
const SHARE: f64 = 0.01;
const RATE: f64 = 100.0;
/// Share of busy cores above which the cores are the limit.
const CORES: f64 = 0.8;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let full = case.counters.busy_cores().is_some_and(|(busy, cores)| busy > CORES * cores);
    if full || !case.run.is_saturated() {
        return None;
    }
    let postgres = || case.reported_by("postgres.").find_map(|postgres| timed(postgres, case.run.in_flight));
    case.reported_by("mysql.").find_map(found).or_else(postgres)
}

/// Judges PostgreSQL. The system's cache serves many of its reads at almost no cost, so only the time spent reading is
/// evidence; PostgreSQL records it if `track_io_timing` is on.
fn timed(postgres: &CounterSummary, in_flight: f64) -> Option<RuleVerdict> {
    let database = |name: &str| format!("postgres.database.{name}");
    let (missed, hit) = (postgres.increase(&database("blks_read"))?, postgres.increase(&database("blks_hit"))?);
    // Milliseconds, summed over all sessions: an increase of one second per second means one session reading all the
    // time.
    let waiting = postgres.per_s(&database("blk_read_time"))? / 1e3;
    if missed < SHARE * (missed + hit) || waiting < PART * in_flight.max(1.0) {
        return None;
    }
    let claim = [("waiting", format!("{:.1}", waiting.min(in_flight))), ("in_flight", format!("{in_flight:.0}"))];
    let facts = [
        ("missed", whole(missed)),
        ("share", numbers::share(missed / (missed + hit))),
        ("time", numbers::seconds(waiting * postgres.span_s())),
        ("span", numbers::seconds(postgres.span_s())),
    ];
    let (claim, evidence) = (LocalizedSentence::new(WAITING, claim), LocalizedSentence::new(READ, facts));
    Some(proved(claim, evidence).remedy(MORE).experiment(STILL))
}

fn found(mysql: &CounterSummary) -> Option<RuleVerdict> {
    let pool = |name: &str| format!("mysql.Innodb_buffer_pool_{name}");
    let (missed, asked) = (mysql.increase(&pool("reads"))?, mysql.increase(&pool("read_requests"))?);
    // A pool that is still cold keeps the missed pages: only misses that replaced other pages show that the pool is too
    // small.
    mysql.last(&pool("pages_data"))?;
    let filled = mysql.increase(&pool("pages_data")).unwrap_or(0.0);
    let replaced = (missed - filled).max(0.0);
    mysql.per_s(&pool("reads"))?;
    let rate = replaced / mysql.span_s();
    if replaced < SHARE * asked || rate < RATE {
        return None;
    }
    let claim = [("share", numbers::share((replaced / asked.max(missed)).min(1.0))), ("reads", whole(rate))];
    let facts = [("missed", whole(missed)), ("asked", whole(asked)), ("filled", whole(filled))];
    let (claim, evidence) = (LocalizedSentence::new(CLAIM, claim), LocalizedSentence::new(EVIDENCE, facts));
    Some(consistent(claim, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, counted, judged_told, run};

    /// Returns counters of ten seconds with this many misses among this many reads, and this many more pages in the
    /// pool.
    fn pool(missed: f64, asked: f64, filled: f64) -> CounterSummary {
        counted(&[
            ("mysql.Innodb_buffer_pool_reads", 7.0, 7.0 + missed),
            ("mysql.Innodb_buffer_pool_read_requests", 90.0, 90.0 + asked),
            ("mysql.Innodb_buffer_pool_pages_data", 300.0, 300.0 + filled),
        ])
    }

    #[test]
    fn reads_that_miss_a_full_pool() {
        assert_eq!(judged_told(&RULE, |_| (), pool(20_000.0, 200_000.0, 3.0)), Some("consistent"));
        assert_eq!(judged_told(&RULE, |_| (), pool(1_500.0, 200_000.0, 3.0)), None, "less than one of a hundred");
        assert_eq!(judged_told(&RULE, |_| (), pool(300.0, 900.0, 3.0)), None, "too few to matter");
        assert_eq!(judged_told(&RULE, |_| (), pool(20_000.0, 200_000.0, 19_500.0)), None, "a cold pool");
        assert_eq!(judged_told(&RULE, |run| run.is_open = true, pool(20_000.0, 200_000.0, 3.0)), None, "rate kept");
    }

    /// Returns counters of PostgreSQL: blocks read, blocks hit, and milliseconds spent reading.
    fn blocks(read: f64, hit: f64, ms: f64) -> CounterSummary {
        counted(&[
            ("postgres.database.blks_read", 7.0, 7.0 + read),
            ("postgres.database.blks_hit", 90.0, 90.0 + hit),
            ("postgres.database.blk_read_time", 1.5, 1.5 + ms),
        ])
    }

    #[test]
    fn blocks_of_postgres_that_are_waited_for() {
        let ten = |run: &mut crate::LoadResults| run.in_flight = 10.0;
        assert_eq!(judged_told(&RULE, ten, blocks(20_000.0, 200_000.0, 60_000.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, ten, blocks(20_000.0, 200_000.0, 0.0)), None, "track_io_timing is off");
        assert_eq!(judged_told(&RULE, ten, blocks(20_000.0, 200_000.0, 900.0)), None, "the system's cache had them");
        assert_eq!(judged_told(&RULE, ten, blocks(900.0, 200_000.0, 60_000.0)), None, "less than one of a hundred");
        let open = |run: &mut crate::LoadResults| (run.in_flight, run.is_open) = (10.0, true);
        assert_eq!(judged_told(&RULE, open, blocks(20_000.0, 200_000.0, 60_000.0)), None, "rate kept");
    }

    #[test]
    fn cores_that_are_full_are_what_is_waited_for() {
        let found = |busy: f64| {
            let told = vec![pool(20_000.0, 200_000.0, 3.0)];
            RULE.judge_host(&Case { run: run(), counters: cores(busy, &[]), reported: told, ..Case::default() }).is_some()
        };
        assert!(found(0.6));
        assert!(!found(1.9));
    }
}
