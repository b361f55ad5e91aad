use super::*;
use crate::fake_host::FakeHost;

/// A host as shown by Linux 6.18, reduced to what matters.
const FULL: [(&str, &str); 37] = [
    ("proc/stat", "cpu  3 0 1 9 7 1 2 3 0 0\ncpu0 3 0 1 9 7 1 2 3 0 0\nprocs_running 2\n"),
    (
        "proc/pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    ),
    (
        "proc/pressure/io",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=13\n",
    ),
    (
        "proc/pressure/memory",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=14\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=15\n",
    ),
    ("proc/net/softnet_stat", "0000000f 00000001 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0\n"),
    ("proc/net/snmp", "Tcp: MaxConn RetransSegs\nTcp: -1 3\nUdp: RcvbufErrors\nUdp: 4\n"),
    ("proc/net/netstat", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 5 6\nIpExt: InOctets\nIpExt: 7\n"),
    ("proc/net/sockstat", "sockets: used 16\nTCP: inuse 1 orphan 0 tw 9 alloc 1 mem 433\n"),
    ("proc/net/sockstat6", "TCP6: inuse 2\n"),
    ("proc/net/stat/nf_conntrack", "entries insert_failed drop early_drop\n00000001 00000002 00000003 00000004\n"),
    ("proc/sys/net/netfilter/nf_conntrack_count", "17\n"),
    ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
    ("proc/net/dev", "    lo: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n"),
    ("proc/meminfo", "MemTotal: 4 kB\nMemAvailable: 3 kB\nSwapFree: 0 kB\n"),
    ("proc/vmstat", "oom_kill 1\n"),
    ("proc/sys/fs/file-nr", "540\t0\t2466183\n"),
    ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    ("proc/sys/net/ipv4/ip_local_reserved_ports", "\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/ipv4/tcp_max_syn_backlog", "2048\n"),
    ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
    ("proc/sys/net/ipv4/tcp_max_tw_buckets", "131072\n"),
    ("proc/sys/net/ipv4/tcp_mem", "287901\t383869\t575802\n"),
    ("proc/sys/fs/nr_open", "1048576\n"),
    ("proc/sys/fs/file-max", "2466183\n"),
    ("proc/sys/net/ipv4/tcp_syncookies", "1\n"),
    ("proc/sys/net/core/netdev_max_backlog", "1000\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("proc/self/timerslack_ns", "50000\n"),
    ("proc/net/snmp6", "Ip6InReceives 31\nIcmp6InType1 1\nUdp6RcvbufErrors 32\nbroken\n"),
    ("proc/self/cgroup", "0::/box\n"),
    ("sys/fs/cgroup/box/cpu.max", "50000 100000\n"),
    ("sys/fs/cgroup/box/cpu.stat", "nr_periods 8\nnr_throttled 7\nthrottled_usec 6\n"),
    ("proc/self/stat", "7 (brunt) S 1 1 1 0 -1 0 9 0 0 0 5 0 0 0 20 0 1 0 5 100 3 1\n"),
    ("proc/self/limits", "Max open files            1024                 4096                 files\n"),
    ("proc/self/task/7/schedstat", "21 22 23\n"),
    ("proc/self/task/7/status", "Name:\tbrunt\nvoluntary_ctxt_switches:\t24\nnonvoluntary_ctxt_switches:\t25\n"),
];

#[test]
fn everything_of_a_host_has_its_name() {
    let fake = FakeHost::new(&FULL);
    fake.write("proc/self/fd/0", "");
    let mut host = HostReader::new(fake.source());
    let told = host.read_at(Nanos(9));
    assert_eq!((told.moment, &*told.unobservable), (Nanos(9), &[][..]));
    let names = [
        "Ip6.InReceives IpExt.InOctets Tcp.RetransSegs TcpExt.ListenDrops TcpExt.ListenOverflows Udp.RcvbufErrors",
        "Udp6.RcvbufErrors",
        "conntrack.count conntrack.drop conntrack.early_drop conntrack.insert_failed conntrack.max",
        "cpu.0.idle cpu.0.iowait cpu.0.irq cpu.0.softirq cpu.0.steal cpu.0.system cpu.0.user",
        "cpu.all.idle cpu.all.iowait cpu.all.irq cpu.all.softirq cpu.all.steal cpu.all.system cpu.all.user cpu.count",
        "files.max files.open load.running mem.available mem.swap_free mem.total",
        "net.lo.rx_bytes net.lo.rx_dropped net.lo.rx_errors net.lo.tx_bytes net.lo.tx_dropped",
        "psi.cpu.some psi.io.full psi.io.some psi.memory.full psi.memory.some",
        "self.cgroup.period_us self.cgroup.periods self.cgroup.quota_us self.cgroup.throttled self.cgroup.throttled_us",
        "self.fd_limit self.fds self.rss",
        "self.thread.brunt.cpu self.thread.brunt.involuntary self.thread.brunt.voluntary self.thread.brunt.wait",
        "setting.file_max setting.ip_local_port_range.high setting.ip_local_port_range.low setting.ip_local_reserved",
        "setting.netdev_max_backlog setting.nr_open setting.somaxconn setting.tcp_max_syn_backlog",
        "setting.tcp_max_tw_buckets setting.tcp_mem.high setting.tcp_mem.low setting.tcp_mem.pressure",
        "setting.tcp_syncookies setting.tcp_tw_reuse setting.timer_slack_ns",
        "sockstat.TCP.alloc sockstat.TCP.inuse sockstat.TCP.mem sockstat.TCP.orphan sockstat.TCP.tw sockstat.TCP6.inuse",
        "sockstat.sockets.used softnet.0.dropped softnet.0.processed softnet.0.squeezed softnet.all.dropped",
        "softnet.all.processed softnet.all.squeezed vm.oom_kill",
    ];
    let told_names: Vec<&str> = told.values.keys().map(|name| &**name).collect();
    assert_eq!(told_names, names.join(" ").split(' ').collect::<Vec<_>>());
    for (name, value) in [
        ("conntrack.early_drop", 4),
        ("psi.io.full", 13),
        ("self.thread.brunt.wait", 22),
        ("self.thread.brunt.involuntary", 25),
        ("self.cgroup.throttled_us", 6),
        ("sockstat.TCP.tw", 9),
        ("setting.tcp_mem.pressure", 383_869),
        ("setting.timer_slack_ns", 50_000),
        ("load.running", 2),
    ] {
        assert_eq!(told.get(name), Some(value), "{name}");
    }
    assert_eq!(told.label("setting.clocksource"), Some("tsc"));
    fake.write("proc/net/netstat", "TcpExt: ListenOverflows\nTcpExt: 50\n");
    let then = host.read_at(Nanos(10));
    let one_more = crate::delta(&told, &then).grown().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!((one_more, then.get("TcpExt.ListenDrops")), (vec!["TcpExt.ListenOverflows"], None));
}

#[test]
fn the_deepest_idle_state_that_is_allowed_is_told() {
    let fake = FakeHost::new(&FULL);
    assert_eq!(HostReader::new(fake.source()).read_at(Nanos(1)).get("setting.idle_exit_us"), None);
    for (file, text) in
        [("state0/latency", "0"), ("state1/latency", "33"), ("state2/latency", "400"), ("state2/disable", "1")]
    {
        fake.write(&format!("sys/devices/system/cpu/cpu0/cpuidle/{file}"), &format!("{text}\n"));
    }
    assert_eq!(HostReader::new(fake.source()).read_at(Nanos(1)).get("setting.idle_exit_us"), Some(33));
}

#[test]
fn without_a_file_its_counters_are_absent_and_named() {
    let fake = FakeHost::new(&FULL);
    fake.write("proc/self/fd/0", "");
    let whole = HostReader::new(fake.source()).read_at(Nanos(1));
    for (path, _) in FULL {
        let path = format!("/{path}");
        let source = CounterSource { denied: vec![Box::leak(path.clone().into_boxed_str())], ..fake.source() };
        let told = HostReader::new(source).read_at(Nanos(1));
        let lost = whole.values.len() + whole.labels.len() - told.values.len() - told.labels.len();
        // A missing quota or limit is a valid reading, not an unobservable one.
        let silent = ["cpu.max", "cpu.stat", "limits", "task/7/status"].iter().any(|end| path.ends_with(end));
        assert!(lost > 0 && (silent || told.unobservable.len() == 1), "{path}: {told:?}");
        // A thread whose status cannot be read has no name.
        let same = |name: &str| name.replace("self.thread.thread.", "self.thread.brunt.");
        assert!(told.values.iter().all(|(name, value)| whole.values[&*same(name)] == *value), "{path}: {told:?}");
    }
}

#[test]
fn texts_that_are_garbage_are_said_to_be_and_tell_nothing() {
    let garbage: Vec<(&str, &str)> = FULL.iter().map(|(path, _)| (*path, "\u{FFFD} ::\n-\t7:x\n\n")).collect();
    let fake = FakeHost::new(&garbage);
    let told = HostReader::new(fake.source()).read_at(Nanos(1));
    let known: Vec<&str> = told.values.keys().map(|name| &**name).collect();
    assert_eq!(known, Vec::<&str>::new());
    assert!(told.unobservable.contains(&"TcpExt: the kernel does not report it".to_owned()), "{:?}", told.unobservable);
}

#[test]
fn an_empty_host_tells_nothing_and_why() {
    let fake = FakeHost::new(&[]);
    let told = HostReader::new(fake.source()).read();
    assert_eq!((told.values.len(), told.labels.len()), (0, 0));
    assert_eq!(told.unobservable.len(), FILES.len() + SETTINGS.len() + "net, self, self.cgroup".split(',').count());
    assert!(told.unobservable.contains(&"psi.cpu: no such file".to_owned()));
}

#[test]
fn this_host_is_read() {
    let mut host = HostReader::new(CounterSource::here());
    let first = host.read();
    for name in
        ["cpu.all.user", "cpu.count", "mem.total", "Tcp.OutSegs", "TcpExt.ListenDrops", "setting.somaxconn", "self.rss"]
    {
        assert!(first.get(name).is_some(), "{name}: {:?}", first.unobservable);
    }
    let then = host.read();
    assert!(then.moment > first.moment && then.get("cpu.count") == first.get("cpu.count"));
}
