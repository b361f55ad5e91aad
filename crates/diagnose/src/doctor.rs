//! Checks of a machine before a run: its capabilities, the limits that the run would reach and when, and the commands
//! that raise them.
//!
//! The checks compute the use of ports, TIME_WAIT and queues; a change is advised only if a number of this run requires
//! it.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, LocalizedSentence, numbers};

mod service;

pub use service::{examine_service, service_abilities};

/// Time for which a closed connection keeps its port, in seconds (`TCP_TIMEWAIT_LEN`).
const TIME_WAIT_S: f64 = 60.0;
/// Time after which loopback reuses such ports, in seconds (`tcp_tw_reuse` is 2, or 1 if it is on everywhere).
const REUSED_S: f64 = 1.0;
/// Maximum share of a table that may be in use.
const FULL: f64 = 0.8;

/// The resources that a run will need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRequirements {
    /// Maximum number of connections at a time.
    pub connections: u64,
    /// Peak arrivals per second of open load.
    pub rate_per_s: Option<f64>,
    /// Set if every request opens its own connection.
    pub is_one_shot: bool,
    /// Duration in seconds, if known.
    pub lasts_s: Option<f64>,
    /// Number of source addresses.
    pub sources: u64,
    /// Number of destinations (address and port).
    pub destinations: u64,
    /// Set if the target is on this machine.
    pub is_local: bool,
    /// Maximum rate of small requests from this machine, if it was calibrated for this protocol.
    pub most_per_s: Option<f64>,
}

/// Severity of a piece of advice for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The run is not affected.
    Fine,
    /// The run is possible, but its results may be affected.
    Caution,
    /// The run cannot proceed as planned.
    Blocker,
}

/// A single result of the checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Severity of the problem for the run.
    pub prospect: Severity,
    text: LocalizedSentence,
    change: Option<LocalizedSentence>,
}

impl Advice {
    fn new(prospect: Severity, said: impl Into<LocalizedSentence>) -> Advice {
        Advice { prospect, text: said.into(), change: None }
    }

    fn change(self, change: impl Into<LocalizedSentence>) -> Advice {
        Advice { change: Some(change.into()), ..self }
    }

    /// Returns the text, without a full stop.
    pub fn sentence(&self, lang: Lang) -> String {
        self.text.render(lang)
    }

    /// Returns the command or change that would remedy the problem; `None` if there is none.
    pub fn command(&self, lang: Lang) -> Option<String> {
        self.change.as_ref().map(|change| change.render(lang))
    }
}

/// A function that returns a counter or a setting of the machine by name.
pub type CounterLookup<'a> = &'a dyn Fn(&str) -> Option<f64>;

const CORES: Text = text("{cores} cores", "{cores} 个核");
const QUOTA: Text = text(", of which the CPU quota (cgroup) allows {quota}", "，CPU 配额（cgroup）只允许 {quota} 个");
const DESCRIPTORS: Text = text("{limit} file descriptors per process", "每个进程 {limit} 个文件描述符");
const PORTS: Text = text(
    "{ports} local ports: the most connections from one address to one target, or {short}/s if each request opens \
        its own",
    "{ports} 个本地端口：即每个源地址到每个目标的最大连接数，或每秒 {short} 个短连接",
);
const LISTEN: Text = text("accept queues of up to {most} (somaxconn)", "accept 队列最长 {most}（somaxconn）");

const IDLE: Text = text(
    "an idle core takes up to {exit} to wake up (cpuidle); under an open load, workers wake up that much earlier \
        and poll (see --precise)",
    "空闲的核最多需要 {exit} 才能唤醒（cpuidle）；固定速率（开环）下，工作线程会提前唤醒并轮询（见 --precise）",
);

/// Describes the capabilities of the machine, independently of the run.
pub fn abilities(read: CounterLookup<'_>) -> Vec<LocalizedSentence> {
    let whole = |n: f64| numbers::count(n as u64);
    let mut all = Vec::new();
    if let Some(cores) = read("cpu.count") {
        let said = LocalizedSentence::new(CORES, [("cores", whole(cores))]);
        all.push(match quota(read).filter(|quota| *quota < cores) {
            Some(quota) => said.with_clause(QUOTA, [("quota", format!("{quota:.2}"))]),
            None => said,
        });
    }
    if let Some(limit) = read("self.fd_limit") {
        all.push(LocalizedSentence::new(DESCRIPTORS, [("limit", whole(limit))]));
    }
    if let Some(ports) = ports(read) {
        all.push(LocalizedSentence::new(PORTS, [("ports", whole(ports)), ("short", whole(ports / TIME_WAIT_S))]));
    }
    if let Some(most) = read("setting.somaxconn") {
        all.push(LocalizedSentence::new(LISTEN, [("most", whole(most))]));
    }
    if let Some(exit) = read("setting.idle_exit_us") {
        all.push(LocalizedSentence::new(IDLE, [("exit", numbers::seconds(exit / 1e6))]));
    }
    all
}

/// What others take of a machine at the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurrentLoad {
    /// Number of cores.
    pub cores: f64,
    /// CPU time of other processes, in cores.
    pub others: f64,
    /// Share of the cores' time that the hypervisor gave to other machines.
    pub stolen: f64,
    /// Time by which a thread wakes up late (p99), in seconds.
    pub late_s: f64,
}

const NOW: Text = text(
    "now other processes use {others} of {cores} cores, and the hypervisor takes {stolen}: latencies above {above} can \
        be trusted here",
    "目前其他进程占用 {cores} 个核中的 {others} 个，宿主机占用 {stolen}：{above} 以上的延迟可信",
);
/// Ratio of a latency to the delays of the machine above which the delays are immaterial (`docs/measurement.md` 2.5).
const IMMATERIAL: f64 = 10.0;
/// CPU time of others, in cores, and stolen share above which a machine counts as disturbed.
const DISTURBED: (f64, f64) = (0.2, 0.02);

impl CurrentLoad {
    /// Returns `true` if others take so much that a run should be announced with it.
    pub fn is_disturbed(&self) -> bool {
        self.others > DISTURBED.0 || self.stolen > DISTURBED.1
    }

    /// Returns the shortest latency in seconds that delays of this machine change by less than a tenth, rounded up to
    /// 1, 2 or 5.
    fn trusted_s(&self) -> f64 {
        let exact = (self.late_s * IMMATERIAL).max(1e-6);
        let unit = 10f64.powf(exact.log10().floor());
        [1.0, 2.0, 5.0, 10.0].map(|step| step * unit).into_iter().find(|step| *step >= exact * 0.999).unwrap_or(exact)
    }

    /// Returns a sentence on what others take, and which latencies can be trusted under that.
    pub fn sentence(&self) -> LocalizedSentence {
        let facts = [
            ("others", format!("{:.1}", self.others)),
            ("cores", numbers::count(self.cores as u64)),
            ("stolen", numbers::share(self.stolen)),
            ("above", numbers::seconds(self.trusted_s())),
        ];
        LocalizedSentence::new(NOW, facts)
    }
}

fn quota(read: CounterLookup<'_>) -> Option<f64> {
    Some(read("self.cgroup.quota_us")? / read("self.cgroup.period_us").filter(|period| *period > 0.0)?)
}

/// Returns the number of local ports that are not reserved; `None` if unknown.
fn ports(read: CounterLookup<'_>) -> Option<f64> {
    let range = read("setting.ip_local_port_range.high")? - read("setting.ip_local_port_range.low")? + 1.0;
    Some((range - read("setting.ip_local_reserved").unwrap_or(0.0)).max(0.0))
}

/// Returns the problems that a run would have, the worst first.
pub fn examine(read: CounterLookup<'_>, planned: &RunRequirements) -> Vec<Advice> {
    let checks: [fn(CounterLookup<'_>, &RunRequirements) -> Option<Advice>; 6] =
        [generator, ports_of_open_connections, used_ports, tracked, accept_queue, shared];
    let mut all: Vec<Advice> = checks.iter().filter_map(|check| check(read, planned)).collect();
    all.sort_by_key(|advice| std::cmp::Reverse(advice.prospect));
    all
}

const TOO_MUCH: Text = text(
    "{rate}/s is more than brunt can send from this machine: about {most}/s of small requests at most (brunt \
        calibrate)",
    "{rate}/s 超出 brunt 在本机的能力：最多约 {most}/s 个小请求（brunt calibrate）",
);
const MORE_MACHINES: Text = text("give brunt more cores, or lower the rate", "给 brunt 更多的核，或降低速率");

fn generator(_: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    let (rate, most) = (planned.rate_per_s?, planned.most_per_s?);
    (rate > most).then(|| {
        let facts = [("rate", numbers::rate(rate)), ("most", numbers::rate(most))];
        Advice::new(Severity::Blocker, LocalizedSentence::new(TOO_MUCH, facts)).change(MORE_MACHINES)
    })
}

const NO_PORTS: Text = text(
    "{connections} connections to {destinations} {destinations|address|addresses} each need a local port, and there \
        are {ports} per address",
    "到 {destinations} 个地址的 {connections} 个连接各占一个本地端口，而每个地址只有 {ports} 个",
);
const WIDEN: Text = text(
    "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\", or more source addresses (--source), or more ports on \
        the target",
    "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"，或用 --source 增加源地址，或使用目标的更多端口",
);

fn ports_of_open_connections(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    let ports = ports(read)?;
    let pairs = (planned.sources.max(1) * planned.destinations.max(1)) as f64;
    (!planned.is_one_shot && planned.connections as f64 > ports * pairs).then(|| {
        let facts = [
            ("connections", numbers::count(planned.connections)),
            ("destinations", numbers::count(planned.destinations.max(1))),
            ("ports", numbers::count((ports * planned.sources.max(1) as f64) as u64)),
        ];
        Advice::new(Severity::Blocker, LocalizedSentence::new(NO_PORTS, facts)).change(WIDEN)
    })
}

const PORTS_END: Text = text(
    "{ports} ports and {wait} s of TIME_WAIT: at {rate} new connections per second, ports run out after {time}",
    "{ports} 个端口，TIME_WAIT {wait} 秒：每秒新建 {rate} 个连接，端口将在 {time} 后耗尽",
);
const PORTS_BOUND: Text = text(
    "each request opens a connection: more than {most} per second for over {wait} s will use up all {ports} ports",
    "每个请求都新建连接：每秒超过 {most} 个且持续 {wait} 秒以上，将耗尽 {ports} 个端口",
);
const KEEP: Text = text(
    "drop --no-keepalive to reuse connections; otherwise sysctl -w net.ipv4.tcp_tw_reuse=1 on this machine, or more \
        source addresses (--source)",
    "去掉 --no-keepalive 以复用连接；否则在本机执行 sysctl -w net.ipv4.tcp_tw_reuse=1，或用 --source 增加源地址",
);

fn used_ports(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    let pairs = (planned.sources.max(1) * planned.destinations.max(1)) as f64;
    let ports = ports(read).filter(|_| planned.is_one_shot)? * pairs;
    let reuse = read("setting.tcp_tw_reuse").unwrap_or(0.0);
    let wait = if reuse == 1.0 || (reuse == 2.0 && planned.is_local) { REUSED_S } else { TIME_WAIT_S };
    let most = ports / wait;
    let shown = |n: f64| numbers::count(n as u64);
    let facts = |more: (&'static str, String), time: String| {
        [("ports", shown(ports)), ("wait", shown(wait)), more, ("time", time)]
    };
    let lasts = planned.lasts_s.unwrap_or(f64::INFINITY);
    match planned.rate_per_s {
        Some(rate) if rate > most && ports / rate < lasts.min(wait) => {
            let facts = facts(("rate", numbers::rate(rate)), numbers::seconds(ports / rate));
            Some(Advice::new(Severity::Blocker, LocalizedSentence::new(PORTS_END, facts)).change(KEEP))
        }
        Some(_) => None,
        None if lasts > wait && wait > REUSED_S => {
            let facts = facts(("most", shown(most)), String::new());
            Some(Advice::new(Severity::Caution, LocalizedSentence::new(PORTS_BOUND, facts)).change(KEEP))
        }
        None => None,
    }
}

const TRACKED: Text = text(
    "connection tracking is on: {count} of {max} entries are in use, and this run needs up to {more}",
    "启用了连接跟踪：{max} 条中已用 {count} 条，本次压测最多还需 {more} 条",
);
const RAISE_TRACKED: Text =
    text("sysctl -w net.netfilter.nf_conntrack_max={wanted}", "sysctl -w net.netfilter.nf_conntrack_max={wanted}");

fn tracked(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    // The module may be loaded without any rule that uses it; its table is then empty.
    let count = read("conntrack.count").filter(|count| *count > 0.0)?;
    let max = read("conntrack.max").filter(|max| *max > 0.0)?;
    // Closed connections stay in the table for two minutes (nf_conntrack_tcp_timeout_time_wait).
    let closed =
        planned.rate_per_s.filter(|_| planned.is_one_shot).unwrap_or(0.0) * planned.lasts_s.unwrap_or(120.0).min(120.0);
    let more = planned.connections as f64 + closed;
    (count + more > FULL * max).then(|| {
        let whole = |n: f64| numbers::count(n as u64);
        let facts = [("count", whole(count)), ("max", whole(max)), ("more", whole(more))];
        let prospect = if count + more > max { Severity::Blocker } else { Severity::Caution };
        let wanted = ((count + more) / FULL * 1.25).ceil() as u64;
        Advice::new(prospect, LocalizedSentence::new(TRACKED, facts))
            .change(LocalizedSentence::new(RAISE_TRACKED, [("wanted", wanted.to_string())]))
    })
}

const QUEUE: Text = text(
    "the target's accept queue holds {limit}: {connections} connections opened at once may overflow it, and a \
        dropped one is retried only after a second",
    "目标的 accept 队列长度只有 {limit}：同时新建的 {connections} 个连接可能使其溢出，被丢弃的连接要等 1 秒才会重试",
);
const LONGER: Text = text(
    "raise the backlog in the service's listen(), or open connections more slowly (--connect-rate)",
    "加大服务 listen() 的 backlog；或用 --connect-rate 放慢建连",
);

const LONGER_BOTH: Text = text(
    "sysctl -w net.core.somaxconn={wanted} where the service runs, with the same backlog in its listen(), or open \
        connections more slowly (--connect-rate)",
    "在服务所在机器执行 sysctl -w net.core.somaxconn={wanted}，并同样加大其 listen() 的 backlog；或用 --connect-rate 放慢建连",
);

fn accept_queue(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    listen_queue(read, planned).filter(|_| planned.is_local)
}

/// Checks the accept queue of the listener, on whichever machine it is.
fn listen_queue(read: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    let limit = read("listener.limit")?;
    (planned.connections as f64 > limit).then(|| {
        let facts = [("limit", numbers::count(limit as u64)), ("connections", numbers::count(planned.connections))];
        // The kernel limits the backlog to its maximum, so a longer backlog alone does not help.
        let is_cut = read("setting.somaxconn").is_some_and(|most| (planned.connections as f64) > most);
        let change = match is_cut {
            true => LocalizedSentence::new(LONGER_BOTH, [("wanted", planned.connections.to_string())]),
            false => LONGER.into(),
        };
        Advice::new(Severity::Caution, LocalizedSentence::new(QUEUE, facts)).change(change)
    })
}

const SHARED: Text = text(
    "the target runs on this machine and shares its cores: results will reflect both",
    "目标就在本机，与发压端共用 CPU：结果同时受两者影响",
);
const APART: Text = text(
    "pin each to its own cores (taskset), or better, run brunt on another machine",
    "用 taskset 为两者分配各自的核；最好在另一台机器上运行 brunt",
);

fn shared(_: CounterLookup<'_>, planned: &RunRequirements) -> Option<Advice> {
    planned.is_local.then(|| Advice::new(Severity::Caution, SHARED).change(APART))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_of_others_says_which_latencies_can_be_trusted() {
        let load = |others, late_s| CurrentLoad { cores: 2.0, others, stolen: 0.15, late_s };
        assert_eq!(
            load(1.2, 0.0004).sentence().render(Lang::En),
            "now other processes use 1.2 of 2 cores, and the hypervisor takes 15.0 %: latencies above 5.00 ms can be \
                trusted here"
        );
        let above = |late_s: f64| load(0.0, late_s).trusted_s();
        let rounded = [0.00009, 0.0001, 0.00011, 0.0049].map(|late_s| (above(late_s) * 1e6).round() as u64);
        assert_eq!(rounded, [1_000, 1_000, 2_000, 50_000]);
        assert!(!CurrentLoad { stolen: 0.0, ..load(0.1, 0.1) }.is_disturbed());
    }

    fn host(name: &str) -> Option<f64> {
        Some(match name {
            "cpu.count" => 4.0,
            "self.fd_limit" => 20_000.0,
            "self.cgroup.quota_us" => 200_000.0,
            "self.cgroup.period_us" => 100_000.0,
            "setting.ip_local_port_range.low" => 32_768.0,
            "setting.ip_local_port_range.high" => 60_999.0,
            "setting.tcp_tw_reuse" => 2.0,
            "setting.somaxconn" => 4096.0,
            _ => return None,
        })
    }

    /// Returns a run of a hundred users for ten minutes.
    pub(super) fn run() -> RunRequirements {
        RunRequirements {
            connections: 100,
            lasts_s: Some(600.0),
            sources: 1,
            destinations: 1,
            ..RunRequirements::default()
        }
    }

    /// Checks that all placeholders of the texts are filled, in both languages.
    pub(super) fn filled(all: &[Advice]) {
        for (advice, lang) in all.iter().flat_map(|advice| [(advice, Lang::En), (advice, Lang::Zh)]) {
            let whole = advice.sentence(lang) + &advice.command(lang).unwrap_or_default();
            assert!(!whole.contains(['{', '}']), "{whole}");
        }
    }

    fn said(planned: &RunRequirements) -> Vec<(Severity, String)> {
        let all = examine(&host, planned);
        filled(&all);
        all.iter().map(|advice| (advice.prospect, advice.sentence(Lang::En))).collect()
    }

    #[test]
    fn abilities_are_told_with_their_numbers() {
        let all: Vec<String> = abilities(&host).iter().map(|said| said.render(Lang::En)).collect();
        assert_eq!(all[0], "4 cores, of which the CPU quota (cgroup) allows 2.00");
        assert!(all[2].starts_with("28,232 local ports") && all[2].contains("470/s"), "{}", all[2]);
        assert_eq!(abilities(&|_| None).len(), 0, "what cannot be read is not told");
    }

    #[test]
    fn a_run_that_fits_has_nothing_against_it() {
        assert_eq!(said(&run()), []);
        assert_eq!(
            said(&RunRequirements { rate_per_s: Some(400.0), is_one_shot: true, ..run() }),
            [],
            "fewer than 470 a second"
        );
    }

    /// 2,000 new connections a second.
    #[test]
    fn ports_that_end_are_foretold_with_the_moment() {
        let short = RunRequirements { rate_per_s: Some(2000.0), is_one_shot: true, ..run() };
        let all = said(&short);
        assert_eq!(all[0].0, Severity::Blocker);
        assert!(all[0].1.ends_with("at 2,000 new connections per second, ports run out after 14.1 s"), "{all:?}");
        assert_eq!(said(&RunRequirements { lasts_s: Some(10.0), ..short.clone() }), [], "it ends before");
        assert_eq!(
            said(&RunRequirements { sources: 8, ..short.clone() }),
            [],
            "eight addresses have eight times as many"
        );
        let local = said(&RunRequirements { is_local: true, ..short });
        assert!(local.iter().all(|(prospect, _)| *prospect == Severity::Caution), "loopback reuses them: {local:?}");
        let users = said(&RunRequirements { is_one_shot: true, ..run() });
        assert_eq!(users[0].0, Severity::Caution, "{users:?}");
    }

    #[test]
    fn a_rate_beyond_what_brunt_sends() {
        let of = |rate| RunRequirements { rate_per_s: Some(rate), most_per_s: Some(200_000.0), ..run() };
        assert_eq!(said(&of(150_000.0)), []);
        let all = said(&of(1e6));
        assert!(all[0].0 == Severity::Blocker && all[0].1.starts_with("1,000,000/s is more than"), "{all:?}");
        assert_eq!(said(&RunRequirements { most_per_s: None, ..of(1e6) }), [], "nobody knows");
    }

    #[test]
    fn connections_need_ports() {
        let many = RunRequirements { connections: 50_000, ..run() };
        let all = said(&many);
        assert_eq!((all.len(), all[0].0), (1, Severity::Blocker), "{all:?}");
        assert_eq!(said(&RunRequirements { destinations: 2, ..many }), []);
    }

    #[test]
    fn tables_of_tracked_connections_and_short_queues() {
        let with = |name: &str| match name {
            "conntrack.count" => Some(100.0),
            "conntrack.max" => Some(1000.0),
            "listener.limit" => Some(5.0),
            _ => None,
        };
        let of = |planned: &RunRequirements| {
            examine(&with, planned).iter().map(|advice| advice.prospect).collect::<Vec<_>>()
        };
        assert_eq!(of(&run()), []);
        assert_eq!(of(&RunRequirements { connections: 750, ..run() }), [Severity::Caution]);
        assert_eq!(of(&RunRequirements { connections: 950, ..run() }), [Severity::Blocker]);
        let empty = |name: &str| if name == "conntrack.count" { Some(0.0) } else { with(name) };
        assert_eq!(examine(&empty, &RunRequirements { connections: 950, ..run() }), [], "nothing is tracked");
        assert_eq!(of(&RunRequirements { is_local: true, ..run() }), [Severity::Caution; 2]);
    }
}
