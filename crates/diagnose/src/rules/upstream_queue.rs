//! P10: the queue of connections to the service behind the proxy was full.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P10",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text(
        "The upstream's queue is full",
        "上游的连接队列已满",
    ),
    symptom: text(
        "502 at once, above some load, from a proxy in front of a service on a Unix socket (php-fpm, gunicorn, puma), while its workers are all busy; needs --watch-log on the proxy's error log",
        "代理经 Unix 套接字转发给后端（php-fpm、gunicorn、puma）时，负载超过某个值后立即返回 502，而后端的工作进程都在忙；需要用 --watch-log 指定代理的错误日志",
    ),
    remedy: text(
        "the service takes requests more slowly than they come: give it more workers if it has cores or waits for something (pm.max_children), or make each request cheaper; a longer queue (listen.backlog, and net.core.somaxconn with it) only bridges bursts",
        "请求到达的速度超过了后端的处理速度：若后端 CPU 有余量或在等待别的资源，增加其工作进程（pm.max_children），或降低单个请求的开销；加长队列（listen.backlog，并同时提高 net.core.somaxconn）只能应付突发",
    ),
    experiment: text(
        "at half the rate of the requests that succeeded ({half}), the message should be gone",
        "速率降到成功速率的一半（{half}）时，该消息应消失",
    ),
    caution: Some(text(
        "the cores may be busy with 502s: that is what a full queue costs, not the limit",
        "CPU 可能被 502 占满：这是队列已满的结果，不是瓶颈",
    )),
    judge,
};

const CLAIM: Text = text(
    "the service behind the proxy had all its workers busy and its queue of connections full: the proxy refused the rest",
    "代理后面的服务工作进程全忙，连接队列也已满：代理拒绝了其余请求",
);

const BURSTS: Text = text(
    "arrivals came in bursts: a queue that holds one (listen.backlog of the service, and net.core.somaxconn with it) \
        bridges them; if the service is also busy between bursts, it needs more workers or cheaper requests",
    "请求成批到达：能容纳一批请求的队列（后端的 listen.backlog，并同时提高 net.core.somaxconn）即可应付；若两批之间后端仍然繁忙，则需增加工作进程或降低单个请求的开销",
);
const EVENLY: Text = text(
    "at the same rate with --arrivals constant, the message should be gone if only the bursts are in the way",
    "以相同速率、--arrivals constant 重跑：若只是成批到达所致，该消息应消失",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    if case.run.arrives_in_bursts {
        return Some(watched_log::found(case, CLAIM, &["upstream_queue_full"])?.remedy(BURSTS).experiment(EVENLY));
    }
    let half = case.run.rate_for(case.run.succeeded_per_s / 2.0);
    let found = watched_log::found(case, CLAIM, &["upstream_queue_full"])?;
    Some(found.experiment_with([("half", half.clone())]).repeated_with(ExperimentLoad::Rate(half)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, counted, run};

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "upstream_queue_full");
    }

    #[test]
    fn cores_busy_with_errors_are_not_the_limit() {
        let run = LoadResults {
            failures: vec![FailureCount { count: 99_700, ..FailureCount::default() }],
            failed_responses: DurationStats { count: 99_700, ..DurationStats::default() },
            service: DurationStats { count: 300, ..run().service },
            ..run()
        };
        let log = counted(&[("log.upstream_queue_full", 0.0, 99_700.0)]);
        let here = cores(2.0, &[("service.all.cpu", 0.0, 1.2e10)]);
        let conclusion = crate::conclude(&Case { run, counters: here, reported: vec![log], ..Case::default() });
        let rules: Vec<_> = conclusion.findings.iter().map(|found| found.rule).collect();
        assert_eq!(rules, ["P10"]);
    }

    #[test]
    fn bursts_need_a_queue_that_holds_them() {
        let log = counted(&[("log.upstream_queue_full", 0.0, 90.0)]);
        let mut case = Case { run: run(), reported: vec![log], ..Case::default() };
        case.run.failures = vec![FailureCount { count: 90, ..FailureCount::default() }];
        let remedy = |case: &Case| RULE.judge_host(case).expect("a finding").remedy(Lang::En);
        assert!(remedy(&case).contains("more workers") && remedy(&case).contains("only bridges bursts"));
        case.run.arrives_in_bursts = true;
        assert!(remedy(&case).starts_with("arrivals came in bursts"), "{}", remedy(&case));
    }
}
