//! Checks of the service's machine before a run for limits that the run would reach there.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{LocalizedSentence, numbers};

use super::{Advice, CounterLookup, RunRequirements, Severity, TIME_WAIT_S, listen_queue, tracked};

/// Returns the problems that a run would have on the service's machine, worst first; checks without counters are
/// skipped. Besides counters, looks up `listener.limit`, the queue limit of the only possible listener, and
/// `service.room`, the number of descriptors that all processes of the service can still open.
pub fn examine_service(read: CounterLookup<'_>, planned: &RunRequirements) -> Vec<Advice> {
    let checks: [fn(CounterLookup<'_>, &RunRequirements) -> Option<Advice>; 4] =
        [descriptors, listen_queue, tracked, time_wait];
    let mut all: Vec<Advice> = checks.iter().filter_map(|check| check(read, planned)).collect();
    all.sort_by_key(|advice| std::cmp::Reverse(advice.prospect));
    all
}

const CORES: Text = text("{cores} cores", "{cores} 个核");
const QUEUE: Text = text("accept queue of {limit}", "accept 队列长度 {limit}");
const ROOM: Text = text(
    "{room} file descriptors left for the service ({processes} {processes|process|processes})",
    "服务还可打开 {room} 个文件描述符（{processes} 个进程）",
);

/// Describes the known capabilities of the service's machine.
pub fn service_abilities(read: CounterLookup<'_>) -> Vec<LocalizedSentence> {
    let whole = |n: f64| numbers::count(n as u64);
    let cores = read("cpu.count").map(|cores| LocalizedSentence::new(CORES, [("cores", whole(cores))]));
    let queue = read("listener.limit").map(|limit| LocalizedSentence::new(QUEUE, [("limit", whole(limit))]));
    let room = || {
        let facts = [("room", whole(read("service.room")?)), ("processes", whole(read("service.all.processes")?))];
        Some(LocalizedSentence::new(ROOM, facts))
    };
    [cores, queue, room()].into_iter().flatten().collect()
}

const FEW: Text = text(
    "the service can open {room} more file descriptors, and this run opens up to {connections} connections",
    "服务最多还能打开 {room} 个文件描述符，而本次压测最多有 {connections} 个连接",
);
const RAISE: Text = text(
    "set LimitNOFILE= in its unit, ulimit -n, or nginx's worker_rlimit_nofile to more than {wanted}",
    "把服务单元的 LimitNOFILE=、ulimit -n 或 nginx 的 worker_rlimit_nofile 提高到 {wanted} 以上",
);

/// Checks descriptors: the service needs one per connection, in addition to those that it opens itself.
fn descriptors(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    let room = read("service.room")?;
    (planned.connections as f64 > room).then(|| {
        let facts = [("room", numbers::count(room as u64)), ("connections", numbers::count(planned.connections))];
        let wanted = [("wanted", numbers::count(planned.connections))];
        // A service may give its threads separate descriptor tables, so the run need not fail.
        Advice::new(Severity::Caution, LocalizedSentence::new(FEW, facts)).change(LocalizedSentence::new(RAISE, wanted))
    })
}

const LEFT: Text = text(
    "connections used once and closed by the service leave up to {more} in TIME_WAIT, and its table holds {max}",
    "只用一次并由服务关闭的连接最多留下 {more} 个 TIME_WAIT，而 TIME_WAIT 表只能容纳 {max} 个",
);
const LARGER: Text =
    text("sysctl -w net.ipv4.tcp_max_tw_buckets={wanted}", "sysctl -w net.ipv4.tcp_max_tw_buckets={wanted}");

fn time_wait(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    let rate = planned.rate_per_s.filter(|_| planned.is_one_shot)?;
    let max = read("setting.tcp_max_tw_buckets").filter(|max| *max > 0.0)?;
    let more = rate * planned.lasts_s.unwrap_or(TIME_WAIT_S).min(TIME_WAIT_S);
    (more > max).then(|| {
        let facts = [("more", numbers::count(more as u64)), ("max", numbers::count(max as u64))];
        let wanted = [("wanted", format!("{:.0}", (more * 1.25).ceil()))];
        Advice::new(Severity::Caution, LocalizedSentence::new(LEFT, facts))
            .change(LocalizedSentence::new(LARGER, wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::tests::{filled, run};
    use brunt_i18n::Lang;

    fn host(name: &str) -> Option<f64> {
        Some(match name {
            "cpu.count" => 4.0,
            "listener.limit" => 128.0,
            "setting.somaxconn" => 128.0,
            "setting.tcp_max_tw_buckets" => 65_536.0,
            "service.room" => 900.0,
            "service.all.processes" => 1.0,
            "conntrack.count" => 10.0,
            "conntrack.max" => 10_000.0,
            _ => return None,
        })
    }

    fn said(planned: &RunRequirements) -> Vec<(Severity, String)> {
        let all = examine_service(&host, planned);
        filled(&all);
        all.iter()
            .map(|advice| (advice.prospect, advice.sentence(Lang::En) + &advice.command(Lang::En).unwrap()))
            .collect()
    }

    #[test]
    fn a_run_that_fits_asks_for_nothing_there() {
        assert_eq!(said(&run()), []);
        let rate = RunRequirements { rate_per_s: Some(1000.0), is_one_shot: true, lasts_s: Some(5.0), ..run() };
        assert_eq!(said(&rate), [], "5,000 connections and no more");
        assert_eq!(
            examine_service(&|_| None, &RunRequirements { connections: 1_000_000, ..run() }),
            [],
            "nothing was told"
        );
        assert_eq!(service_abilities(&|_| None).len(), 0);
        let able: Vec<String> = service_abilities(&host).iter().map(|said| said.render(Lang::En)).collect();
        assert_eq!(able, ["4 cores", "accept queue of 128", "900 file descriptors left for the service (1 process)"]);
    }

    #[test]
    fn each_table_that_the_run_would_fill_is_told_with_its_number() {
        let queue = said(&RunRequirements { connections: 500, ..run() });
        assert_eq!((queue.len(), queue[0].0), (1, Severity::Caution), "{queue:?}");
        assert!(queue[0].1.contains("holds 128") && queue[0].1.contains("somaxconn"), "{queue:?}");
        let many = said(&RunRequirements { connections: 1_000, ..run() });
        assert!(many[0].1.starts_with("the service can open 900 more file descriptors"), "{many:?}");
        let short = said(&RunRequirements { rate_per_s: Some(2_000.0), is_one_shot: true, ..run() });
        assert!(short.iter().any(|(_, said)| said.contains("leave up to 120,000 in TIME_WAIT")), "{short:?}");
        assert!(short.iter().any(|(_, said)| said.contains("connection tracking is on")), "{short:?}");
    }
}
