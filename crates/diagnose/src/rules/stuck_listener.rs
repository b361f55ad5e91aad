//! S8: connections stay in the accept queue because the service does not accept them.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S8",
    origin: CounterOrigin::Service,
    stage: PathStage::Service,
    title: text("Nothing accepts connections", "连接无人 accept"),
    symptom: text(
        "connects succeed, then nothing arrives; or, once the queue is full, connects take 1, 3, 7 s; the service is not busy",
        "建连成功后毫无响应；队列已满后建连耗时 1、3、7 秒；服务并不忙",
    ),
    remedy: text(
        "the service stops accepting at a limit of its own: raise it (maxconn of HAProxy, worker_connections of nginx, a \
            thread or worker pool), or check whether the acceptor waits for a lock or a file descriptor; accept until \
            EAGAIN if the listener is polled edge-triggered; a longer queue only lets more connections wait",
        "服务因自身的上限而停止 accept：提高该上限（HAProxy 的 maxconn、nginx 的 worker_connections、线程池或工作进程数），或检查 acceptor 是否在等锁、等文件描述符；若以边缘触发监听，accept 要循环到 EAGAIN；加长队列只会让更多连接等待",
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

const HAPROXY: Text = text(
    "; HAProxy had up to {now} of the {most} connections that its global maxconn allows",
    "；HAProxy 的连接数最高 {now}，其全局 maxconn 为 {most}",
);

/// Share of the machine's cores below which a service that does not accept is not busy with anything else, and below
/// which one thread of it (an acceptor) is not.
const IDLE: f64 = 0.5;
const IDLE_THREAD: f64 = 0.7;
/// Minimum number of readings between the first and the last, which may have been taken without load.
const READINGS: u32 = 2;
/// Minimum time in seconds that a connection waits in the queue, by Little's law.
const WAIT_S: f64 = 1.0;
/// Share of its maximum from which HAProxy's connections are used up.
const USED_UP: f64 = 0.98;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let StandingQueue { listener, least, most, limit } = standing(case)?;
    let cores = here.per_s("service.all.cpu")? / 1e9;
    let [least, most, limit] = [least, most, limit].map(whole);
    let claim = LocalizedSentence::new(CLAIM, [("listener", listener.to_owned()), ("least", least.clone())]);
    let facts = [("least", least), ("most", most), ("limit", limit), ("cores", format!("{cores:.2}"))];
    let evidence = LocalizedSentence::new(EVIDENCE, facts);
    let evidence = match case.reported_by("prometheus.").find_map(used_up) {
        Some(facts) => evidence.with_clause(HAPROXY, facts),
        None => evidence,
    };
    Some(proved(claim, evidence).repeated_with(ExperimentLoad::Users(1)))
}

/// An accept queue that was never empty.
pub(super) struct StandingQueue<'a> {
    pub listener: &'a str,
    least: f64,
    most: f64,
    limit: f64,
}

/// Returns the accept queue of the service that was never empty under load, although the service was not busy.
pub(super) fn standing(case: &Case) -> Option<StandingQueue<'_>> {
    let here = &case.counters;
    let (cores, (_, of)) = (here.per_s("service.all.cpu")? / 1e9, here.busy_cores()?);
    let threads = here.name_middles("service.", ".busiest.cpu").filter(|pid| *pid != "all");
    let busiest = threads.filter_map(|pid| here.per_s(&format!("service.{pid}.busiest.cpu"))).fold(0.0, f64::max) / 1e9;
    let is_busy = cores > IDLE * of || busiest > IDLE_THREAD;
    // A proxy that says so itself has reached its limit, whatever the services behind it do.
    let is_used_up = || case.reported_by("prometheus.").find_map(used_up).is_some();
    if !case.run.is_saturated() || (is_busy && !is_used_up()) {
        return None;
    }
    // A service that accepts all the time, one connection after the other, has a queue as well.
    let accepted_per_s = |queue: f64| (case.run.connect.count as f64 - queue).max(0.0) / case.run.window_s.max(1.0);
    // Responses to connections that came out of the queue took as long as it is.
    let turns_over = |queue: f64| {
        let wait_s = queue / accepted_per_s(queue).max(f64::MIN_POSITIVE);
        case.run.times.within(wait_s / 2.0, f64::INFINITY) as f64 >= queue
    };
    let stands = |queue: f64| queue >= WAIT_S * accepted_per_s(queue) && !turns_over(queue) || is_used_up();
    here.name_middles("listener.", ".limit").find_map(|listener| {
        let of = |what: &str| format!("listener.{listener}.{what}");
        let (_, readings) = here.mean_within(&of("queue"))?;
        let (least, most) = (here.min_within(&of("queue"))?, here.max(&of("queue"))?);
        let standing = StandingQueue { listener, least, most, limit: here.last(&of("limit"))? };
        Some(standing).filter(|_| readings >= READINGS && least >= 1.0 && stands(least))
    })
}

/// Returns the connections of HAProxy, if it had all that it allows.
pub(super) fn used_up(haproxy: &CounterSummary) -> Option<[(&'static str, String); 2]> {
    let now = haproxy.max("prometheus.haproxy_process_current_connections")?;
    let most = haproxy.last("prometheus.haproxy_process_max_connections").filter(|most| *most > 0.0)?;
    (now >= USED_UP * most).then(|| [("now", whole(now)), ("most", whole(most))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, judged, run};

    /// Returns counters of ten seconds with this many connections in the queue at every reading within, and this much
    /// CPU time of the service.
    fn queue(within: f64, cpu: f64) -> CounterSummary {
        let mut counted = cores(cpu, &[("service.all.cpu", 0.0, cpu * 1e10)]);
        // The first and the last reading are without load.
        for at in 11..=20 {
            let queue = if at == 20 { 0.0 } else { within };
            let share = f64::from(at - 10);
            let told = [
                ("listener.[::]:80.limit", 128.0),
                ("listener.[::]:80.queue", if at == 11 { 0.0 } else { queue }),
                ("service.all.cpu", cpu * 1e10 + cpu * share * 1e9),
                ("cpu.count", 2.0),
            ];
            counted.add_reading(i64::from(at) * 1_000_000_000, told);
        }
        counted
    }

    #[test]
    fn a_queue_that_never_empties_while_the_service_sleeps() {
        assert_eq!(judged(&RULE, |_| (), queue(3.0, 0.01)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), queue(129.0, 0.4)), Some("proved"), "at its own limit of connections");
        assert_eq!(judged(&RULE, |_| (), queue(0.0, 0.01)), None);
        assert_eq!(judged(&RULE, |_| (), queue(3.0, 1.9)), None, "it works as fast as it can");
        assert_eq!(judged(&RULE, |run| run.is_open = true, queue(3.0, 0.01)), None, "the rate was kept");
        let connecting = |n: u64| move |run: &mut LoadResults| run.connect.count = n;
        assert_eq!(judged(&RULE, connecting(20), queue(19.0, 0.01)), Some("proved"), "one was accepted");
        assert_eq!(judged(&RULE, connecting(4_700), queue(19.0, 0.01)), None, "470 a second are accepted");
        let in_turn = |run: &mut LoadResults| {
            run.connect.count = 590;
            run.times = DurationCounts::new([(2.0, 490)]);
        };
        assert_eq!(judged(&RULE, in_turn, queue(100.0, 0.01)), None, "49 a second, after two seconds in the queue");
    }

    #[test]
    fn haproxy_at_its_maxconn_is_named() {
        let told = |now: f64| {
            crate::rules::made_up::counted(&[
                ("prometheus.haproxy_process_current_connections", 0.0, now),
                ("prometheus.haproxy_process_max_connections", 100.0, 100.0),
            ])
        };
        let evidence = |now| {
            let case = Case { run: run(), counters: queue(3.0, 0.01), reported: vec![told(now)], ..Case::default() };
            RULE.judge_host(&case).expect("a finding").evidence(Lang::En)
        };
        assert!(evidence(100.0).ends_with("100 of the 100 connections that its global maxconn allows"));
        assert!(!evidence(40.0).contains("maxconn"));
    }
}
