//! D3: each commit waits until its log records are on disk.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "D3",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("Commits wait for the disk", "提交等待磁盘"),
    symptom: text(
        "a write takes a multiple of the disk's fsync time; needs --watch mysql=… and the database on a monitored \
            machine",
        "写入耗时是磁盘 fsync 耗时的整数倍；需要 --watch mysql=…，并监控数据库所在机器",
    ),
    remedy: text(
        "change more rows per transaction, let commits batch up (group commit needs concurrent writers), or use a disk \
            with faster fsync; innodb_flush_log_at_trx_commit=2 and sync_binlog=0 lose the last second in a power cut, \
            so say so if you use them",
        "让每个事务修改更多行，使提交得以合并（组提交需要并发写入），或换用 fsync 更快的磁盘；innodb_flush_log_at_trx_commit=2 与 sync_binlog=0 断电时会丢失最后一秒的数据，使用时须注明",
    ),
    experiment: text(
        "with ten times the rows per transaction, nearly ten times as many rows should be written",
        "每个事务的行数增至十倍后，写入的行数应接近原来的十倍",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "commits wait for the disk: the database syncs its log {fsyncs} times/s, for {writes} commits/s",
    "提交在等待磁盘：数据库每秒同步日志 {fsyncs} 次，每秒提交 {writes} 次",
);
const EVIDENCE: Text = text(
    "SHOW GLOBAL STATUS: Innodb_os_log_fsyncs +{all}; PSI io some for {io} of the time, {busy} of {cores} cores busy",
    "SHOW GLOBAL STATUS：Innodb_os_log_fsyncs +{all}；PSI io some 为 {io}，{cores} 个核中 {busy} 个繁忙",
);

/// Minimum share of time in which a task waited for a disk, and maximum share of busy cores.
const WAITED: f64 = 0.25;
const CORES: f64 = 0.8;
/// The kernel counts pressure in microseconds.
const MICROS: f64 = 1e6;
/// Minimum number of log syncs per second, and per write.
const FSYNCS: f64 = 20.0;
const EACH: f64 = 0.02;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let (busy, cores) = here.busy_cores()?;
    let waited = here.per_s("psi.io.some")? / MICROS;
    if !case.run.is_saturated() || waited < WAITED || busy > CORES * cores {
        return None;
    }
    let (fsyncs, all, writes) = case.reported_by("mysql.").find_map(synchronized)?;
    let claim = LocalizedSentence::new(CLAIM, [("fsyncs", numbers::rate(fsyncs)), ("writes", numbers::rate(writes))]);
    let facts = [
        ("all", whole(all)),
        ("io", numbers::share(waited.min(1.0))),
        ("busy", format!("{busy:.2}")),
        ("cores", format!("{cores:.0}")),
    ];
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

/// Returns log syncs per second, log syncs in total, and writes per second; `None` if there are few syncs per write.
fn synchronized(mysql: &CounterSummary) -> Option<(f64, f64, f64)> {
    let (fsyncs, all) = (mysql.per_s("mysql.Innodb_os_log_fsyncs")?, mysql.increase("mysql.Innodb_os_log_fsyncs")?);
    let rate = |name: &str| mysql.per_s(&format!("mysql.{name}")).unwrap_or(0.0);
    let writes =
        rate("Com_commit") + rate("Com_insert") + rate("Com_update") + rate("Com_delete") + rate("Com_replace");
    (fsyncs >= FSYNCS && writes > 0.0 && fsyncs >= EACH * writes).then_some((fsyncs, all, writes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, counted, run};

    #[test]
    fn commits_that_wait_for_the_log() {
        let found = |fsyncs: f64, io: f64, busy: f64| {
            let here = cores(busy, &[("psi.io.some", 0.0, io * 10.0 * MICROS)]);
            let mysql = [("mysql.Innodb_os_log_fsyncs", 0.0, fsyncs * 10.0), ("mysql.Com_update", 0.0, 9_000.0)];
            RULE.judge_host(&Case { run: run(), counters: here, reported: vec![counted(&mysql)], ..Case::default() }).map(|found| found.proof)
        };
        assert_eq!(found(300.0, 0.9, 0.5), Some(Proof::Consistent));
        assert_eq!(found(1.0, 0.9, 0.5), None, "something else writes");
        assert_eq!(found(300.0, 0.05, 0.5), None, "the disk is quick");
        assert_eq!(found(300.0, 0.9, 1.9), None, "the cores are full");
    }
}
