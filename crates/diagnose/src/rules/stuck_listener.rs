//! S8: connections stay in the accept queue because the service does not accept them.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S8",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("Nothing accepts connections", "连接无人 accept"),
    symptom: text("connects succeed, then nothing arrives, and the service is idle", "建连成功后毫无响应，服务空闲"),
    remedy: text(
        "accept until EAGAIN if the listener is polled edge-triggered; check whether the acceptor waits for a lock, a \
            file descriptor or a full thread pool",
        "若以边缘触发监听，accept 要循环到 EAGAIN；检查 acceptor 是否在等锁、等文件描述符或等已满的线程池",
    ),
    experiment: text(
        "with one user, the queue should be empty",
        "只有一个用户时队列应为空",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service does not accept connections from the queue of {listener}: every reading found at least {least} in it",
    "服务没有从 {listener} 的 accept 队列取走连接：每次查看都至少有 {least} 个在等",
);
const EVIDENCE: Text = text(
    "queue length: {least} to {most} of {limit}; the service used {cores} cores",
    "队列长度：{least} 至 {most}，上限 {limit}；服务占用 {cores} 个核",
);

/// Number of cores below which a service is considered idle.
const IDLE: f64 = 0.3;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let cores = here.per_s("service.all.cpu")? / 1e9;
    let (listener, least, most, limit) = here.name_middles("listener.", ".limit").find_map(|listener| {
        let of = |what: &str| format!("listener.{listener}.{what}");
        let (least, most) = (here.min(&of("queue"))?, here.max(&of("queue"))?);
        Some((listener, least, most, here.last(&of("limit"))?)).filter(|_| least >= 1.0)
    })?;
    if cores > IDLE || !case.run.is_saturated() {
        return None;
    }
    let [least, most, limit] = [least, most, limit].map(whole);
    let claim = LocalizedSentence::new(CLAIM, [("listener", listener.to_owned()), ("least", least.clone())]);
    let facts = [("least", least), ("most", most), ("limit", limit), ("cores", format!("{cores:.2}"))];
    Some(proved(claim, LocalizedSentence::new(EVIDENCE, facts)).repeated_with(ExperimentLoad::Users(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn a_queue_that_never_empties_while_the_service_sleeps() {
        let queue = |least: f64, cpu: f64| {
            counted(&[
                ("listener.[::]:80.limit", 128.0, 128.0),
                ("listener.[::]:80.queue", least, 20.0),
                ("service.all.cpu", 0.0, cpu * 1e10),
            ])
        };
        assert_eq!(judged(&RULE, |_| (), queue(3.0, 0.01)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), queue(0.0, 0.01)), None);
        assert_eq!(judged(&RULE, |_| (), queue(3.0, 0.9)), None, "it works as fast as it can");
    }
}
