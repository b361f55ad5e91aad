//! P9: a single worker process of nginx did all the work.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P9",
    origin: CounterOrigin::Service,
    stage: PathStage::Proxy,
    title: text("One nginx worker does all the work", "nginx 单个工作进程占满"),
    symptom: text("throughput is flat, with one nginx process at 100%", "吞吐量不再上升，而有一个 nginx 进程的 CPU 达 100 %"),
    remedy: text(
        "listen … reuseport gives each worker its own queue; if there are few long-lived connections, use more of them",
        "listen … reuseport 让每个工作进程有自己的队列；如果只有少量长连接，请增加连接数",
    ),
    experiment: text(
        "with more connections, or a new one per request, the work should spread",
        "增加连接数或每个请求都新建连接后，负载应分散",
    ),
    caution: Some(text(
        "accept_mutex has been off since nginx 1.11.3: turning it back on causes this",
        "accept_mutex 自 nginx 1.11.3 起默认关闭：重新打开会导致此问题",
    )),
    judge,
};

const CLAIM: Text = text(
    "one of nginx's {workers} worker processes was saturated, the others nearly idle",
    "nginx 的 {workers} 个工作进程中有一个占满，其余几乎空闲",
);
const EVIDENCE: Text = text(
    "/proc/{pid}/stat: {share} of a core; the next busiest {next}",
    "/proc/{pid}/stat：占用一个核的 {share}；其次为 {next}",
);

const FULL: f64 = 0.9;
const IDLE: f64 = 0.2;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let is_nginx = here.label("service.all.busiest.comm") == Some("nginx");
    let share = |pid: &str| here.per_s(&format!("service.{pid}.cpu")).map(|ns| ns / 1e9);
    let mut workers: Vec<(f64, &str)> = here
        .name_middles("service.", ".cpu")
        .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|pid| Some((share(pid)?, pid)))
        .collect();
    workers.sort_by(|a, b| b.0.total_cmp(&a.0));
    // One process is the master, so comparing two workers requires three processes.
    let [(most, pid), (next, _), _, ..] = workers[..] else { return None };
    if !is_nginx || !case.run.is_pressed() || case.run.mostly_fails() || most < FULL || next > IDLE {
        return None;
    }
    let shown = |share: f64| numbers::share(share.min(1.0));
    let claim = LocalizedSentence::new(CLAIM, [("workers", (workers.len() - 1).to_string())]);
    let evidence = LocalizedSentence::new(EVIDENCE, [("pid", pid.to_owned()), ("share", shown(most)), ("next", shown(next))]);
    Some(proved(claim, evidence).repeated_with(ExperimentLoad::NewConnections))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn one_worker_full_and_the_others_idle() {
        let nginx = |cpu: [f64; 3], name: &str| {
            let [a, b, c] = cpu.map(|share| share * 1e10);
            let mut counted =
                counted(&[("service.7.cpu", 0.0, a), ("service.8.cpu", 0.0, b), ("service.9.cpu", 0.0, c)]);
            counted.set_labels([("service.all.busiest.comm", name)]);
            counted
        };
        assert_eq!(judged(&RULE, |_| (), nginx([0.0, 0.97, 0.02], "nginx")), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), nginx([0.0, 0.97, 0.9], "nginx")), None, "both are full");
        assert_eq!(judged(&RULE, |_| (), nginx([0.0, 0.97, 0.02], "node")), None, "another rule's");
        assert_eq!(judged(&RULE, |run| run.has_pauses = true, nginx([0.0, 0.97, 0.02], "nginx")), None);
        let errors = |run: &mut LoadResults| run.failed_responses.count = 2 * run.service.count;
        assert_eq!(judged(&RULE, errors, nginx([0.0, 0.97, 0.02], "nginx")), None, "it is busy with errors");
    }
}
