//! W1: all workers of the service were busy, as its log says.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "W1",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text(
        "All workers busy",
        "工作进程已用尽",
    ),
    symptom: text(
        "above some number of users, throughput is flat and the rest queue or get 502 and 503, with idle cores; needs --watch-log on the log of php-fpm, Apache or Tomcat",
        "用户数超过某个值后吞吐量不再上升，其余请求排队或得到 502、503，CPU 却有空闲；需要用 --watch-log 指定 php-fpm、Apache 或 Tomcat 的日志",
    ),
    remedy: text(
        "size the workers by Little's law (requests/s wanted × seconds per request), within memory: pm.max_children (php-fpm), MaxRequestWorkers with ServerLimit (Apache), maxThreads (Tomcat); if the cores are busy, make requests cheaper instead",
        "按利特尔法则设定工作进程数（期望的每秒请求数 × 单个请求的秒数），并以内存为限：pm.max_children（php-fpm）、MaxRequestWorkers 与 ServerLimit（Apache）、maxThreads（Tomcat）；若 CPU 已满，则应降低单个请求的开销",
    ),
    experiment: text(
        "with fewer users than workers, the message should be gone; with twice the workers and idle cores, throughput should rise",
        "用户数少于工作进程数时，该消息应消失；CPU 有空闲时工作进程翻倍，吞吐量应上升",
    ),
    caution: Some(text(
        "each worker may hold a connection to the database: its max_connections must allow all of them",
        "每个工作进程可能占用一个数据库连接：数据库的 max_connections 须能容纳全部",
    )),
    judge,
};

const CLAIM: Text = text(
    "all workers of the service were busy, and more were not allowed",
    "服务的工作进程已全部占用，且已达上限",
);
const TOUCHED: Text = text(
    "all workers of the service were busy at one moment, but requests hardly waited",
    "服务的工作进程曾一度全部占用，但请求几乎没有等待",
);
const STARTING: Text = text(
    "php-fpm was starting workers while requests waited: too few were idle",
    "php-fpm 边启动工作进程边让请求等待：空闲的进程太少",
);
const MORE_IDLE: Text = text(
    "raise pm.start_servers and pm.min_spare_servers, or use pm = static; measure after a warm-up (--warmup)",
    "提高 pm.start_servers 与 pm.min_spare_servers，或改用 pm = static；并在预热（--warmup）之后再测",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    let starting = || {
        let found = watched_log::warned(case, STARTING, &["workers_starting"])?;
        Some(RuleVerdict { proof: Proof::Consistent, ..found }.remedy(MORE_IDLE))
    };
    let busy = watched_log::warned(case, CLAIM, &["workers_busy"]).map(|found| match waits(&case.run) {
        true => found,
        false => RuleVerdict { claim: TOUCHED.into(), proof: Proof::Consistent, ..found }.limiting(false),
    });
    busy.or_else(starting)
}

/// Minimum ratio of the mean response time to the shortest one if requests waited for a worker.
const QUEUED: f64 = 1.5;

/// Returns `true` if the figures of the run show that requests waited for workers, or failed for want of them: the
/// message alone says only that all were busy at one moment.
fn waits(run: &LoadResults) -> bool {
    !run.failures.is_empty() || run.is_overloaded || run.service.mean > QUEUED * run.service.min
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_that_is_written_once_is_enough() {
        watched_log::assert_warns(&RULE, "workers_busy", "proved");
        watched_log::assert_warns(&RULE, "workers_starting", "consistent");
    }

    #[test]
    fn a_maximum_that_was_merely_touched_is_no_limit() {
        let log = crate::rules::made_up::counted(&[("log.workers_busy", 0.0, 1.0)]);
        let mut case = Case { run: crate::rules::made_up::run(), reported: vec![log], ..Case::default() };
        (case.run.service.min, case.run.service.mean) = (0.05, 0.06);
        let found = RULE.judge_host(&case).expect("it is told");
        assert!(!found.is_limit && found.claim(Lang::En).contains("hardly waited"), "{}", found.claim(Lang::En));
    }
}
