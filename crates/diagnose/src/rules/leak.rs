//! S7: the service opens descriptors for its requests and does not close them.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S7",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("A leak", "资源泄漏"),
    symptom: text("a service gets slower or dies after some hours", "服务运行数小时后变慢或崩溃"),
    remedy: text(
        "close everything a request opens (files, sockets to other services) on every code path, errors included",
        "在每条代码路径上（包括出错时）关闭请求所打开的文件与套接字",
    ),
    experiment: text(
        "an hour at a low rate should show the same steady rise",
        "以低速率压测一小时，应看到同样的持续上升",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service leaks file descriptors: process {pid} opened {rise} that its connections do not explain",
    "服务泄漏文件描述符：进程 {pid} 多打开了 {rise} 个，且与连接数无关",
);
const EVIDENCE: Text = text(
    "/proc/{pid}/fd: +{fds} in {span} s, while its connection count changed by {connections}",
    "/proc/{pid}/fd：{span} 秒内 +{fds}，而其连接数变化为 {connections}",
);
const LEFT: Text =
    text("; at this pace it hits its limit of {limit} after {time}", "；照此速度，{time} 后达到上限 {limit}");

/// Minimum number of additional descriptors.
const LEAST: f64 = 100.0;
/// Minimum share of the requests that leave a descriptor open.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    let connections = here.last("service.connections")? - here.min("service.connections")?;
    let succeeded = run.succeeded_per_s * run.window_s;
    let (pid, fds) = here
        .name_middles("service.", ".fds")
        // Counters of a single process, not the sum of all.
        .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|pid| Some((pid, here.increase(&format!("service.{pid}.fds"))?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let ours = if run.is_open { run.opened.min(u64::from(run.connections)) } else { u64::from(run.users) };
    let rise = fds - connections.max(ours as f64);
    if rise < LEAST || rise < SHARE * succeeded {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("pid", pid.to_owned()), ("rise", whole(rise))]);
    let facts = [
        ("pid", pid.to_owned()),
        ("fds", whole(fds)),
        ("span", format!("{:.0}", here.span_s())),
        ("connections", whole(connections)),
    ];
    let mut evidence = LocalizedSentence::new(EVIDENCE, facts);
    let limit = here.last(&format!("service.{pid}.fd_limit"));
    if let (Some(limit), Some(open)) = (limit, here.last(&format!("service.{pid}.fds"))) {
        let time = numbers::seconds((limit - open).max(0.0) / (fds / here.span_s()));
        evidence = evidence.with_clause(LEFT, [("limit", whole(limit)), ("time", time)]);
    }
    Some(consistent(claim, evidence).repeated_with(ExperimentLoad::RateFor("10/s".into(), "1h")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn descriptors_that_no_connection_explains() {
        let of = |fds: f64, connections: f64| {
            counted(&[
                ("service.7.fds", 10.0, 10.0 + fds),
                ("service.7.fd_limit", 20_000.0, 20_000.0),
                ("service.connections", 50.0, 50.0 + connections),
            ])
        };
        assert_eq!(judged(&RULE, |_| (), of(5_000.0, 0.0)), Some("consistent"));
        assert_eq!(judged(&RULE, |_| (), of(5_000.0, 5_000.0)), None, "each is a connection");
        assert_eq!(judged(&RULE, |_| (), of(60.0, 0.0)), None);
        let (users, arrivals) = (
            |run: &mut LoadResults| run.connections = 1000,
            |opened: u64| {
                move |run: &mut LoadResults| (run.is_open, run.connections, run.opened, run.users) = (true, 1000, opened, 0)
            },
        );
        assert_eq!(judged(&RULE, users, of(900.0, 0.0)), Some("consistent"), "the bound is that of open load");
        assert_eq!(judged(&RULE, arrivals(20), of(900.0, 0.0)), Some("consistent"), "few were opened");
        assert_eq!(judged(&RULE, arrivals(5_000), of(900.0, 0.0)), None, "they may be ours");
        let all = counted(&[("service.all.fds", 10.0, 5_010.0), ("service.connections", 50.0, 50.0)]);
        assert_eq!(judged(&RULE, |_| (), all), None, "no process of them leaks alone");
    }
}
