//! The cases: the server, its restrictions, the load, and the expected diagnosis.

use serde_json::Value;

/// Codes that are shown after the findings: those of unsettled runs, and a notice.
pub const SHOWN_CODES: [&str; 4] = ["settled_late", "two_regimes", "never_settled", "slow_lookup"];

/// The expected finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpectedFinding {
    /// The principal finding, by rule and proof.
    Principal(&'static str, &'static str),
    /// The principal finding, by rule, and a part of its claim.
    Claim(&'static str, &'static str),
    /// The absence of these rules.
    Not(&'static [&'static str]),
    /// A code among the reasons of the trust verdict.
    Settled(&'static str),
    /// A code among the notices.
    Notice(&'static str),
    /// An outcome without a limit.
    Outcome(&'static str),
    /// No limit, trusted, and exit code 0.
    Healthy,
}

impl ExpectedFinding {
    pub fn shown(self) -> String {
        match self {
            ExpectedFinding::Principal(rule, proof) => format!("{rule} {proof}"),
            ExpectedFinding::Claim(rule, part) => format!("{rule} {part}"),
            ExpectedFinding::Not(rules) => format!("not {}", rules.join(", ")),
            ExpectedFinding::Settled(word) | ExpectedFinding::Outcome(word) | ExpectedFinding::Notice(word) => {
                word.into()
            }
            ExpectedFinding::Healthy => "trusted, no limit".into(),
        }
    }

    pub fn is_of_the_generator(self) -> bool {
        matches!(self, ExpectedFinding::Principal("C1", _))
    }

    /// Returns `true` if a report matches; `found` is its line of findings.
    pub fn holds(self, report: &Value, found: &str) -> bool {
        match self {
            ExpectedFinding::Principal(rule, proof) => found.starts_with(&format!("{rule} {proof}")),
            ExpectedFinding::Claim(rule, part) => {
                let first = &report["diagnosis"]["findings"][0];
                first["rule"] == rule && first["claim"].as_str().is_some_and(|claim| claim.contains(part))
            }
            ExpectedFinding::Not(rules) => rules.iter().all(|rule| !found.contains(&format!("{rule} "))),
            ExpectedFinding::Settled(word) | ExpectedFinding::Notice(word) => found.contains(word),
            ExpectedFinding::Outcome(word) => found == word,
            ExpectedFinding::Healthy => {
                let clean = report["trust"]["verdict"] == "trusted" && report["exit"] == 0;
                clean && ["not_reached", "users", "unknown"].contains(&found)
            }
        }
    }
}

/// A bottleneck created on purpose, or a healthy server.
pub struct LabCase {
    pub name: &'static str,
    /// The server: arguments of `tests/servers/queueing.py`; `redis` and its options; `nginx` with its connections per
    /// worker, the directive that handles a request, and directives around the server block; `apache` with its workers; `mariadb` and its
    /// options, or `postgres` and its settings, without a password for their superusers; or `target`, built into
    /// brunt.
    pub kind: &'static str,
    /// Programs needed besides the server, of which any will do, and the Debian package that has one.
    pub needs: (&'static [&'static str], &'static str),
    /// Command that restricts the server, or starts another behind it.
    pub under: &'static [&'static str],
    /// Command that restricts brunt.
    pub own: &'static [&'static str],
    /// Shell commands that set up a network namespace for server and brunt; if empty, both run in
    /// that of the host.
    pub network: &'static str,
    /// Arguments of brunt, separated by spaces; `~` is a space within a word, `{port}` the port of
    /// the server, and `{log}` its error log.
    pub load: &'static str,
    pub expected: ExpectedFinding,
}

const fn case(name: &'static str, kind: &'static str, load: &'static str, expected: ExpectedFinding) -> LabCase {
    LabCase { name, kind, needs: (&[], ""), under: &[], own: &[], network: "", load, expected }
}

/// Limits the command to 30 % of a core (control groups v1 or v2); the lab removes the group.
const THROTTLED: &[&str] = &[
    "bash",
    "-c",
    "set -e; if [ -d /sys/fs/cgroup/cpu ]; then g=/sys/fs/cgroup/cpu/brunt-lab-$$; mkdir $g; echo 30000 > $g/cpu.cfs_quota_us\n\
     else g=/sys/fs/cgroup/brunt-lab-$$; mkdir $g; echo '30000 100000' > $g/cpu.max; fi\n\
     echo $$ > $g/cgroup.procs; exec \"$@\"",
    "-",
];
/// Limits the command to 1,000 reads per second from the disk of the working directory, as cloud disks do, and to
/// 160 MB of memory, page cache included.
const SLOW_DISK: &[&str] = &[
    "bash",
    "-c",
    "set -e; d=$(lsblk -rnso TYPE,MAJ:MIN $(df --output=source . | tail -1) | awk '$1==\"disk\"{print $2;exit}')\n\
     if [ -d /sys/fs/cgroup/blkio ]; then g=/sys/fs/cgroup/blkio/brunt-lab-$$; mkdir $g; echo $d 1000 > $g/blkio.throttle.read_iops_device\n\
     m=/sys/fs/cgroup/memory/brunt-lab-$$; mkdir $m; echo 160M > $m/memory.limit_in_bytes; echo $$ > $m/cgroup.procs\n\
     else g=/sys/fs/cgroup/brunt-lab-$$; mkdir $g; echo $d riops=1000 > $g/io.max; echo 160M > $g/memory.max; fi\n\
     echo $$ > $g/cgroup.procs; exec \"$@\"",
    "-",
];
/// Stops the command for 300 ms of each second.
const STOPPED: &[&str] = &[
    "bash",
    "-c",
    "\"$@\" & p=$!; while sleep 0.7 && kill -STOP $p 2>/dev/null; do sleep 0.3; kill -CONT $p; done; wait $p",
    "-",
];
/// Makes the command share its core with two busy loops, and gives it a lower priority.
const STARVED: &[&str] = &[
    "bash",
    "-c",
    "for n in 1 2; do taskset -c 1 sh -c 'while :; do :; done' & h=\"$h $!\"; done; taskset -c 1 nice -n 19 \"$@\"; r=$?; kill $h; exit $r",
    "-",
];
/// Makes the command share its core with a busy control group of nine times its weight, as a busy neighbour takes a core
/// from a virtual machine.
const BESIDE_A_BUSY_GROUP: &[&str] = &[
    "bash",
    "-c",
    "set -e; if [ -d /sys/fs/cgroup/cpu ]; then r=/sys/fs/cgroup/cpu w=cpu.shares; else r=/sys/fs/cgroup w=cpu.weight; fi\n\
     g=$r/brunt-lab-$$ o=$r/brunt-lab-own-$$; mkdir $g $o; [ $w = cpu.shares ] && echo 9216 > $g/$w || echo 900 > $g/$w\n\
     taskset -c 1 sh -c 'echo $$ > '$g'/cgroup.procs; while :; do :; done' & h=$!\n\
     echo $$ > $o/cgroup.procs; set +e; taskset -c 1 \"$@\"; e=$?; kill $h; wait $h 2>/dev/null\n\
     echo $$ > $r/cgroup.procs; sleep 0.1; rmdir $g $o; exit $e",
    "-",
];

/// Starts a server behind the command (arguments of `tests/servers/queueing.py`), which ends with it.
macro_rules! behind {
    ($server:literal) => {
        &[
            "bash",
            "-c",
            concat!(
                "exec 3< <(exec python3 ",
                env!("CARGO_MANIFEST_DIR"),
                "/../tests/servers/queueing.py ",
                $server,
                " </dev/null 2>/dev/null); u=$!; me=$$; read -r -u 3\n\
                 ( while kill -0 $me 2>/dev/null; do sleep 0.1; done; kill $u ) </dev/null >/dev/null 2>&1 &\n\
                 exec \"$@\" 3<&-"
            ),
            "-",
        ]
    };
}
/// Starts PHP's process manager with two workers behind the command; a request takes 50 ms.
const PHP_BEHIND: &[&str] = &[
    "bash",
    "-c",
    "set -e; d=/tmp/brunt-lab-fpm; rm -rf $d; mkdir -p $d; chmod 755 $d; echo '<?php usleep(50000); echo 1;' > $d/i.php\n\
     printf '[global]\\nerror_log=%s/log\\ndaemonize=no\\n[www]\\nlisten=%s/s\\nlisten.mode=0777\\nlisten.backlog=8\\n\
     user=nobody\\npm=dynamic\\npm.max_children=2\\npm.start_servers=1\\npm.min_spare_servers=1\\npm.max_spare_servers=1\\n' \
     $d $d > $d/conf; touch $d/log; f=$(command -v php-fpm || ls /usr/sbin/php-fpm* | head -1)\n\
     $f -F -y $d/conf </dev/null >/dev/null 2>&1 & u=$!; me=$$\n\
     ( while kill -0 $me 2>/dev/null; do sleep 0.1; done; kill $u ) </dev/null >/dev/null 2>&1 & sleep 1; exec \"$@\"",
    "-",
];
/// Ends the command after 5 s.
const DIES: &[&str] = &["bash", "-c", "( sleep 5; kill -KILL $$ ) & exec \"$@\"", "-"];
/// Stops the command once, from 5 s on for 4 s.
const FROZEN: &[&str] = &["bash", "-c", "( sleep 5; kill -STOP $$; sleep 4; kill -CONT $$ ) & exec \"$@\"", "-"];
/// Stops the command for 16 % of the time.
const JITTERY: &[&str] = &[
    "bash",
    "-c",
    "( while sleep 1.3 && kill -STOP $$ 2>/dev/null; do sleep 0.25; kill -CONT $$; done ) & exec \"$@\"",
    "-",
];

/// A network whose name server is 127.0.0.1, as in every network of the lab.
const OWN_NAMES: &str = "true";
/// Enables connection tracking by a rule that matches on the state.
const TRACKED: &str = "nft add table ip t && nft add chain ip t c \"{ type filter hook output priority 0; }\" && nft add rule ip t c ct state new accept";
/// Runs the command while this machine tracks at most 100 connections. The limit is the host's; a background process
/// that outlives the command restores it.
const FEW_TRACKED: &[&str] = &[
    "bash",
    "-c",
    "exec 9< /proc/$PPID/ns/net; f=/proc/sys/net/netfilter/nf_conntrack_max\n\
     host() { nsenter --net=/proc/self/fd/9 sh -c \"$1\"; }; old=$(host \"cat $f\"); me=$$\n\
     ( trap '' INT TERM HUP; while kill -0 $me 2>/dev/null; do sleep 0.1; done; host \"echo $old > $f\" ) >/dev/null 2>&1 &\n\
     host \"echo 100 > $f\"; exec \"$@\"",
    "-",
];

pub const ALL: &[LabCase] = &[
    case(
        "accept queue of 5",
        "backlog 5 20",
        "-c 60 -d 5s -t 3s --no-keepalive",
        ExpectedFinding::Principal("N2", "proved"),
    ),
    case(
        "twin: accept queue of 1000",
        "backlog 1000 2",
        "-c 20 -d 4s --no-keepalive",
        // A single thread accepts and serves connections one at a time.
        ExpectedFinding::Principal("S3", "consistent"),
    ),
    case("pool of 8", "pool 8 20", "-c 50 -d 5s", ExpectedFinding::Principal("S4", "consistent")),
    case("twin: as many users as places", "pool 50 20", "-c 50 -d 4s", ExpectedFinding::Not(&["S4", "S3"])),
    // Users who begin at once connect first, so the shortest response takes longer than the lock is held.
    case("one lock of 2 ms", "pool 1 2", "-c 20 -d 5s", ExpectedFinding::Claim("S3", "each takes 2.")),
    case("one lock of 5 ms", "pool 1 5", "-c 50 -d 5s", ExpectedFinding::Claim("S3", "each takes 5.")),
    case("pool of 8 for 5 ms", "pool 8 5", "-c 50 -d 5s", ExpectedFinding::Claim("S4", "a pool of 8,")),
    case("one lock of 20 ms", "pool 1 20", "-c 20 -d 5s", ExpectedFinding::Principal("S3", "consistent")),
    case("twin: exponential work, all at once", "varied 20", "-c 50 -d 4s", ExpectedFinding::Not(&["S4", "S3"])),
    case(
        "a service that reads slowly",
        "reads 200000",
        "-c 4 -d 6s --data {random~1000000}",
        ExpectedFinding::Principal("N8", "proved"),
    ),
    case(
        "twin: one that reads at once and answers late",
        "takes 100",
        "-c 4 -d 4s --data {random~40000}",
        ExpectedFinding::Not(&["N8"]),
    ),
    case("one thread that computes", "burn 4", "-c 20 -d 5s", ExpectedFinding::Principal("S2", "proved")),
    case(
        "twin: the same thread, paused users",
        "burn 4",
        "-c 4 -d 4s --think 100ms",
        ExpectedFinding::Not(&["S2", "S1"]),
    ),
    LabCase {
        under: &["prlimit", "--nofile=64", "--"],
        ..case(
            "service with 64 descriptors",
            "pool 1000 5",
            "-c 100 -d 4s -t 2s",
            ExpectedFinding::Principal("S10", "proved"),
        )
    },
    LabCase {
        under: THROTTLED,
        ..case("a service with 30 % of a core", "burn 4", "-c 20 -d 5s", ExpectedFinding::Principal("S5", "proved"))
    },
    LabCase {
        own: THROTTLED,
        ..case("brunt with 30 % of a core", "whole", "-c 50 -d 4s", ExpectedFinding::Principal("C1", "proved"))
    },
    LabCase {
        own: STOPPED,
        ..case(
            "brunt stopped 300 ms a second",
            "varied 5",
            "-r 200/s -d 5s",
            ExpectedFinding::Principal("C1", "proved"),
        )
    },
    LabCase {
        own: STARVED,
        ..case("brunt on a core of others", "varied 5", "-c 20 -d 5s", ExpectedFinding::Principal("C1", "proved"))
    },
    LabCase {
        own: BESIDE_A_BUSY_GROUP,
        ..case("brunt beside a busy group", "varied 2", "-c 20 -d 5s", ExpectedFinding::Principal("C1", "proved"))
    },
    LabCase {
        network: "echo 40000 40999 > /proc/sys/net/ipv4/ip_local_port_range",
        ..case(
            "1,000 ports",
            "nginx 4000 return~200",
            "-c 1100 -d 5s --connect-rate 400/s --think 1s --source 127.0.0.1",
            ExpectedFinding::Principal("C5", "proved"),
        )
    },
    LabCase {
        network: "echo 40000 41999 > /proc/sys/net/ipv4/ip_local_port_range",
        ..case(
            "twin: 2,000 ports",
            "nginx 4000 return~200",
            "-c 1100 -d 5s --connect-rate 400/s --think 1s --source 127.0.0.1",
            ExpectedFinding::Not(&["C5"]),
        )
    },
    case("a warm-up of 8 s", "warming 10 8", "-c 10 -d 32s", ExpectedFinding::Settled("settled_late")),
    case("a leak of descriptors", "leak", "-r 300/s -d 5s", ExpectedFinding::Principal("S7", "consistent")),
    case("twin: as many requests, none leaks", "pool 1000 5", "-r 300/s -d 4s", ExpectedFinding::Not(&["S7"])),
    case("twice as slow from the middle on", "slower 10 12", "-c 10 -d 24s", ExpectedFinding::Settled("two_regimes")),
    LabCase {
        under: JITTERY,
        ..case(
            "twice as slow from the middle on, with stops",
            "slower 10 12",
            "-c 10 -d 24s",
            ExpectedFinding::Settled("two_regimes"),
        )
    },
    case(
        "an outage behind a queue",
        "halts 2 100 4 4",
        "-r 10/s -d 14s -t 15s",
        ExpectedFinding::Principal("S11", "consistent"),
    ),
    case("twin: that queue, no outage", "halts 2 100 0 0", "-r 10/s -d 8s -t 15s", ExpectedFinding::Not(&["S11"])),
    LabCase {
        under: FROZEN,
        ..case(
            "Redis stopped for 4 s, and watched",
            "redis",
            "-r 50/s -d 12s -t 15s --command GET~a --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
            ExpectedFinding::Principal("S11", "proved"),
        )
    },
    LabCase {
        under: DIES,
        ..case(
            "held connections of a server that dies",
            "target",
            "-c 50 --hold 8s ws://127.0.0.1:{port}/ws/echo",
            ExpectedFinding::Principal("N11", "proved"),
        )
    },
    case(
        "twin: one that lives",
        "target",
        "-c 50 --hold 4s ws://127.0.0.1:{port}/ws/echo",
        ExpectedFinding::Outcome("nothing_to_judge"),
    ),
    case(
        "a ramp beyond the knee",
        "pool 1 4",
        "--stage 8s:20/s..600/s -t 2s",
        ExpectedFinding::Principal("S12", "consistent"),
    ),
    case("users beyond the knee", "pool 4 20", "--stage 10s:1..40", ExpectedFinding::Principal("S12", "consistent")),
    case(
        "twin: a ramp below it",
        "pool 1000 4",
        "--stage 8s:20/s..300/s -t 2s",
        ExpectedFinding::Outcome("not_reached"),
    ),
    case(
        "a third that is never answered",
        "timeouts 30 3",
        "-r 30/s -d 8s -t 1s",
        ExpectedFinding::Principal("S13", "consistent"),
    ),
    case(
        "twin: a third that times out in a queue",
        "pool 1 50",
        "-r 30/s -d 10s -t 1s",
        ExpectedFinding::Principal("S12", "consistent"),
    ),
    LabCase {
        own: &["nice", "-n", "19"],
        ..case(
            "healthy, lowest priority",
            "pool 1000 10",
            "-c 5 -d 3s",
            ExpectedFinding::Not(&["S2", "S3", "S4", "N1", "N2"]),
        )
    },
    case("head and body apart, with Nagle", "nagle", "-c 4 -d 4s", ExpectedFinding::Principal("L3", "consistent")),
    case("twin: head and body at once", "whole", "-c 4 -d 4s", ExpectedFinding::Not(&["L3"])),
    case("a stall every 3 s", "stalls 400 3", "-r 100/s -d 20s", ExpectedFinding::Principal("S6", "consistent")),
    case("twin: slow at any time", "varied 60", "-r 100/s -d 20s", ExpectedFinding::Not(&["S6"])),
    case("a timeout of 5 s", "timeouts 5 50", "-r 100/s -d 9s -t 8s", ExpectedFinding::Principal("L4", "consistent")),
    LabCase {
        network: OWN_NAMES,
        ..case(
            "a name server that loses questions",
            "asks 50",
            "-r 40/s -d 12s -t 8s",
            ExpectedFinding::Principal("L4", "consistent"),
        )
    },
    LabCase {
        network: OWN_NAMES,
        ..case("twin: one that loses none", "asks 1000000", "-r 40/s -d 5s -t 8s", ExpectedFinding::Not(&["L4"]))
    },
    LabCase {
        network: OWN_NAMES,
        ..case(
            "a name server that takes 5 s",
            "named 4900",
            "-c 4 -d 2s http://shop.test:{port}/",
            ExpectedFinding::Notice("slow_lookup"),
        )
    },
    LabCase {
        network: OWN_NAMES,
        ..case(
            "twin: one that answers at once",
            "named 0",
            "-r 50/s -d 3s http://shop.test:{port}/",
            ExpectedFinding::Outcome("not_reached"),
        )
    },
    case("twin: users, not a pool", "pool 100 20", "-c 10 -d 4s", ExpectedFinding::Outcome("users")),
    case(
        "Redis with 20 clients",
        "redis --maxclients 20",
        "-c 60 -d 3s --think 5ms --command GET~a --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
        ExpectedFinding::Principal("R2", "proved"),
    ),
    case(
        "Redis out of memory",
        "redis --maxmemory 3mb --maxmemory-policy allkeys-lru",
        "-c 4 -d 3s --command SET~key:{counter}~{random~100} --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
        ExpectedFinding::Principal("R4", "proved"),
    ),
    case(
        "twin: Redis with memory",
        "redis",
        "-c 4 -d 3s --command SET~key:{counter}~{random~100} --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
        ExpectedFinding::Not(&["R4", "R2"]),
    ),
    case(
        "KEYS among 100,000 keys",
        "redis --enable-debug-command yes",
        "-c 4 -d 3s --before DEBUG~POPULATE~100000 --command GET~a --command KEYS~zz* --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
        ExpectedFinding::Principal("R3", "proved"),
    ),
    case(
        "twin: only quick commands",
        "redis --enable-debug-command yes",
        "-c 4 -d 3s --before DEBUG~POPULATE~100000 --command GET~a --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
        ExpectedFinding::Not(&["R2", "R3"]),
    ),
    case(
        "the one thread of Redis",
        "redis",
        "-c 8 -d 3s --command EVAL~\"for~i=1,8000~do~end\"~0 --watch redis=127.0.0.1:{port} redis://127.0.0.1:{port}",
        ExpectedFinding::Principal("R1", "proved"),
    ),
    case(
        "nginx with 64 worker_connections",
        "nginx 64 return~200",
        "-c 120 -d 3s --watch-log {log} http://127.0.0.1:{port}/",
        ExpectedFinding::Principal("P1", "proved"),
    ),
    case(
        "twin: nginx with 1024",
        "nginx 1024 return~200",
        "-c 120 -d 3s --think 50ms --watch-log {log} http://127.0.0.1:{port}/",
        ExpectedFinding::Not(&["P1", "P2", "P5"]),
    ),
    case(
        "a proxy without its service",
        "nginx 1024 proxy_pass~http://127.0.0.1:1",
        "-c 8 -d 3s --watch-log {log} http://127.0.0.1:{port}/",
        ExpectedFinding::Principal("P5", "proved"),
    ),
    LabCase {
        under: behind!("/tmp/brunt-lab-full.sock backlog 5 20"),
        ..case(
            "upstream socket full",
            "nginx 1024 proxy_pass~http://unix:/tmp/brunt-lab-full.sock",
            "-c 60 -d 4s --watch-log {log} http://127.0.0.1:{port}/",
            ExpectedFinding::Principal("P10", "proved"),
        )
    },
    LabCase {
        under: behind!("/tmp/brunt-lab-room.sock backlog 128 20"),
        ..case(
            "twin: room in the upstream socket",
            "nginx 1024 proxy_pass~http://unix:/tmp/brunt-lab-room.sock",
            "-c 60 -d 4s --watch-log {log} http://127.0.0.1:{port}/",
            ExpectedFinding::Not(&["P5", "P10", "W6"]),
        )
    },
    LabCase {
        under: behind!("9778 resets"),
        ..case(
            "upstream reset",
            "nginx 1024 proxy_pass~http://127.0.0.1:9778",
            "-c 8 -d 3s --watch-log {log} http://127.0.0.1:{port}/",
            ExpectedFinding::Principal("P5", "proved"),
        )
    },
    LabCase {
        needs: (&["php-fpm", "php-fpm8.2", "php-fpm8.3", "php-fpm8.4"], "php-fpm"),
        under: PHP_BEHIND,
        ..case(
            "workers exhausted (php-fpm)",
            "nginx 1024 fastcgi_pass~unix:/tmp/brunt-lab-fpm/s;~fastcgi_param~SCRIPT_FILENAME~/tmp/brunt-lab-fpm/i.php;~fastcgi_param~REQUEST_METHOD~GET",
            "-c 6 -d 5s --watch-log /tmp/brunt-lab-fpm/log http://127.0.0.1:{port}/",
            ExpectedFinding::Principal("W1", "proved"),
        )
    },
    case(
        "workers exhausted (Apache)",
        "apache 4",
        "-c 40 -d 5s -t 2s --watch-log {log} http://127.0.0.1:{port}/index.html",
        ExpectedFinding::Principal("W1", "proved"),
    ),
    case(
        "twin: Apache with workers to spare",
        "apache 64",
        "-c 8 -d 5s --watch-log {log} http://127.0.0.1:{port}/index.html",
        ExpectedFinding::Not(&["W1"]),
    ),
    case(
        "one of two addresses dead",
        "target",
        "-c 8 -d 3s --connect-to m.test:{port}:127.0.0.1-127.0.0.2:{port} http://m.test:{port}/",
        ExpectedFinding::Principal("N11", "proved"),
    ),
    case(
        "twin: one address twice",
        "target",
        "-c 8 -d 3s --connect-to m.test:{port}:127.0.0.1-127.0.0.1:{port} http://m.test:{port}/",
        ExpectedFinding::Not(&["N11"]),
    ),
    LabCase {
        network: "echo 40000 40499 > /proc/sys/net/ipv4/ip_local_port_range",
        ..case(
            "a proxy that keeps no connection",
            "nginx 1024 proxy_pass~http://127.0.0.1:9777;~proxy_http_version~1.1;~proxy_set_header~Connection~'' server~{~listen~127.0.0.1:9777;~location~/~{~return~200;~}~}",
            "-c 4 -d 4s --watch-log {log} http://127.0.0.1:{port}/",
            ExpectedFinding::Principal("P3", "proved"),
        )
    },
    LabCase {
        network: "echo 40000 40499 > /proc/sys/net/ipv4/ip_local_port_range",
        ..case(
            "twin: a proxy that keeps them",
            "nginx 1024 proxy_pass~http://up;~proxy_http_version~1.1;~proxy_set_header~Connection~'' upstream~up~{~server~127.0.0.1:9777;~keepalive~16;~}~server~{~listen~127.0.0.1:9777;~location~/~{~return~200;~}~}",
            "-c 4 -d 4s --watch-log {log} http://127.0.0.1:{port}/",
            ExpectedFinding::Not(&["P3", "P5"]),
        )
    },
    case(
        "nginx with limit_req of 50/s",
        "nginx 1024 limit_req~zone=all;~empty_gif limit_req_zone~$server_port~zone=all:1m~rate=50r/s;~limit_req_status~429;",
        "-r 300/s -d 4s",
        ExpectedFinding::Principal("P7", "proved"),
    ),
    case(
        "twin: limit_req beyond the rate",
        "nginx 1024 limit_req~zone=all~burst=100;~empty_gif limit_req_zone~$server_port~zone=all:1m~rate=900r/s;~limit_req_status~429;",
        "-r 300/s -d 4s",
        ExpectedFinding::Not(&["P7"]),
    ),
    LabCase {
        network: "ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 100mbit burst 32kb latency 400ms",
        ..case(
            "a link of 100 Mb/s",
            "target",
            "-c 8 -d 5s http://127.0.0.1:{port}/bytes/100000",
            ExpectedFinding::Principal("C7", "consistent"),
        )
    },
    LabCase {
        network: "ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 100mbit burst 32kb latency 400ms",
        ..case(
            "twin: that link, a slow service",
            "target",
            "-c 8 -d 5s http://127.0.0.1:{port}/delay/50ms",
            ExpectedFinding::Not(&["C7", "N1", "S3"]),
        )
    },
    LabCase {
        network: "ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 100mbit burst 32kb latency 3ms",
        ..case(
            "a short queue before that link",
            "target",
            "-c 8 -d 5s http://127.0.0.1:{port}/bytes/100000",
            ExpectedFinding::Principal("N1", "proved"),
        )
    },
    LabCase {
        network: TRACKED,
        own: FEW_TRACKED,
        ..case(
            "a table of 100 tracked connections",
            "nginx 4000 return~200",
            "-c 150 -d 5s --connect-timeout 2s --think 100ms",
            ExpectedFinding::Principal("N5", "proved"),
        )
    },
    LabCase {
        network: TRACKED,
        ..case(
            "twin: a table as it comes",
            "nginx 4000 return~200",
            "-c 150 -d 5s --connect-timeout 2s --think 100ms",
            ExpectedFinding::Not(&["N5"]),
        )
    },
    case(
        "MariaDB with max_connections 10",
        "mariadb --max-connections=10",
        "-c 40 -d 4s --think 5ms --sql SELECT~1 --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
        ExpectedFinding::Principal("D1", "proved"),
    ),
    case(
        "twin: MariaDB with 100",
        "mariadb --max-connections=100",
        "-c 40 -d 4s --think 5ms --sql SELECT~1 --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
        ExpectedFinding::Not(&["D1", "D2", "D4", "D5"]),
    ),
    case(
        "one hot row",
        "mariadb",
        "-c 20 -d 5s --before CREATE~TABLE~r~(id~INT~PRIMARY~KEY,~n~INT)~AS~SELECT~seq~AS~id,~0~AS~n~FROM~seq_1_to_50000 --sql UPDATE~r~SET~n~=~n~+~1~+~SLEEP(0.005)~WHERE~id~=~7 --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
        ExpectedFinding::Principal("D2", "proved"),
    ),
    case(
        "twin: random rows",
        "mariadb",
        "-c 20 -d 5s --before CREATE~TABLE~r~(id~INT~PRIMARY~KEY,~n~INT)~AS~SELECT~seq~AS~id,~0~AS~n~FROM~seq_1_to_50000 --sql UPDATE~r~SET~n~=~n~+~1~+~SLEEP(0.005)~WHERE~id~=~{random~1..50000} --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
        ExpectedFinding::Not(&["D1", "D2", "D4", "D5", "S3"]),
    ),
    case(
        "a missing index",
        "mariadb",
        "-c 4 -d 5s --before CREATE~TABLE~s~AS~SELECT~seq~AS~id,~0~AS~n~FROM~seq_1_to_20000 --sql SELECT~n~FROM~s~WHERE~id~=~{random~1..20000} --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
        ExpectedFinding::Principal("D5", "proved"),
    ),
    case(
        "twin: with it",
        "mariadb",
        "-c 4 -d 5s --before CREATE~TABLE~s~(id~INT~PRIMARY~KEY)~AS~SELECT~seq~AS~id,~0~AS~n~FROM~seq_1_to_20000 --sql SELECT~n~FROM~s~WHERE~id~=~{random~1..20000} --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
        ExpectedFinding::Not(&["D5", "D2"]),
    ),
    LabCase {
        under: SLOW_DISK,
        ..case(
            "a buffer pool of 8 MB",
            "mariadb --innodb-buffer-pool-size=8M --innodb-flush-method=O_DIRECT",
            "-c 8 -d 6s --before CREATE~TABLE~b~(id~INT~PRIMARY~KEY,~t~CHAR(250)~CHARACTER~SET~latin1)~AS~SELECT~seq~AS~id,~'x'~AS~t~FROM~seq_1_to_400000 --sql SELECT~t~FROM~b~WHERE~id~=~{random~1..400000} --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
            ExpectedFinding::Principal("D4", "consistent"),
        )
    },
    LabCase {
        under: SLOW_DISK,
        ..case(
            "twin: that pool, the same rows each time",
            "mariadb --innodb-buffer-pool-size=8M --innodb-flush-method=O_DIRECT",
            "-c 8 -d 6s --before CREATE~TABLE~b~(id~INT~PRIMARY~KEY,~t~CHAR(250)~CHARACTER~SET~latin1)~AS~SELECT~seq~AS~id,~'x'~AS~t~FROM~seq_1_to_400000 --sql SELECT~t~FROM~b~WHERE~id~=~{random~1..4000} --watch mysql=mysql://root@127.0.0.1:{port} mysql://root@127.0.0.1:{port}/mysql",
            ExpectedFinding::Not(&["D4", "D5"]),
        )
    },
    LabCase {
        under: SLOW_DISK,
        ..case(
            "shared buffers of 1 MB",
            "postgres shared_buffers=1MB track_io_timing=on fsync=off",
            "-c 8 -d 6s --before CREATE~TABLE~b~AS~SELECT~n~AS~id,~repeat('x',500)~AS~t~FROM~generate_series(1,600000)~AS~n --before CREATE~UNIQUE~INDEX~i~ON~b(id) --before CHECKPOINT --sql SELECT~t~FROM~b~WHERE~id~=~{random~1..600000} --watch postgres=postgres://postgres@127.0.0.1:{port}/postgres postgres://postgres@127.0.0.1:{port}/postgres",
            ExpectedFinding::Principal("D4", "proved"),
        )
    },
    LabCase {
        under: SLOW_DISK,
        ..case(
            "twin: those buffers, the same rows each time",
            "postgres shared_buffers=1MB track_io_timing=on fsync=off",
            "-c 8 -d 6s --before CREATE~TABLE~b~AS~SELECT~n~AS~id,~repeat('x',500)~AS~t~FROM~generate_series(1,600000)~AS~n --before CREATE~UNIQUE~INDEX~i~ON~b(id) --before CHECKPOINT --sql SELECT~t~FROM~b~WHERE~id~=~{random~1..4000} --watch postgres=postgres://postgres@127.0.0.1:{port}/postgres postgres://postgres@127.0.0.1:{port}/postgres",
            ExpectedFinding::Not(&["D4", "D5"]),
        )
    },
    case(
        "PostgreSQL with max_connections 10",
        "postgres max_connections=10",
        "-c 40 -d 4s --think 5ms --sql SELECT~1 --watch postgres=postgres://postgres@127.0.0.1:{port}/postgres postgres://postgres@127.0.0.1:{port}/postgres",
        ExpectedFinding::Principal("D1", "proved"),
    ),
    case(
        "one hot row of PostgreSQL",
        "postgres",
        "-c 20 -d 5s --before CREATE~TABLE~r~AS~SELECT~n~AS~id,~0~AS~n~FROM~generate_series(1,50000)~AS~n --before CREATE~UNIQUE~INDEX~i~ON~r(id) --sql UPDATE~r~SET~n~=~n~+~1~WHERE~id~=~7~RETURNING~pg_sleep(0.005) --watch postgres=postgres://postgres@127.0.0.1:{port}/postgres postgres://postgres@127.0.0.1:{port}/postgres",
        ExpectedFinding::Principal("D2", "proved"),
    ),
    case(
        "twin: random rows of PostgreSQL",
        "postgres",
        "-c 20 -d 5s --before CREATE~TABLE~r~AS~SELECT~n~AS~id,~0~AS~n~FROM~generate_series(1,50000)~AS~n --before CREATE~UNIQUE~INDEX~i~ON~r(id) --sql UPDATE~r~SET~n~=~n~+~1~WHERE~id~=~{random~1..50000}~RETURNING~pg_sleep(0.005) --watch postgres=postgres://postgres@127.0.0.1:{port}/postgres postgres://postgres@127.0.0.1:{port}/postgres",
        ExpectedFinding::Not(&["D1", "D2", "D4", "D5", "S3"]),
    ),
    case(
        "a missing index of PostgreSQL",
        "postgres",
        "-c 4 -d 5s --before CREATE~TABLE~s~AS~SELECT~n~AS~id,~0~AS~n~FROM~generate_series(1,20000)~AS~n --sql SELECT~n~FROM~s~WHERE~id~=~{random~1..20000} --watch postgres=postgres://postgres@127.0.0.1:{port}/postgres postgres://postgres@127.0.0.1:{port}/postgres",
        ExpectedFinding::Principal("D5", "proved"),
    ),
    case("healthy, closed", "varied 5", "-c 4 -d 5s", ExpectedFinding::Healthy),
    case(
        "healthy, closed, with a reference client",
        "varied 5",
        "-c 4 -d 6s --reference 20/s",
        ExpectedFinding::Healthy,
    ),
    case("healthy, open and slow", "varied 5", "-r 20/s -d 5s", ExpectedFinding::Healthy),
    case("healthy, open and faster", "varied 5", "-r 300/s -d 5s", ExpectedFinding::Healthy),
];
