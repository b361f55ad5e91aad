//! The texts of logs that name a limit, one line a text.
//!
//! They are taken from the sources of the programs that write them. A text matches a line that contains it; `*` stands
//! for any part of a line (a path, a number, a name). If a line contains several texts, only the first one counts, so a
//! text comes before those that are part of it. What a counter means, and what to change, is said by the rule of
//! `brunt_diagnose` that reads it.

use std::borrow::Cow;

/// The texts, each with the program that writes it and the counter that its lines increment.
#[rustfmt::skip]
pub(super) const TEXTS: &[(&str, &str, &str)] = &[
    // nginx: src/event/ngx_event_connect.c, src/http/ngx_http_upstream.c, modules/ngx_http_limit_*_module.c.
    ("nginx", "worker_connections are not enough", "worker_connections"),
    ("nginx", "(11: Resource temporarily unavailable) while connecting to upstream", "upstream_queue_full"),
    ("nginx", "(111: Connection refused) while connecting to upstream", "upstream_refused"),
    ("nginx", "(2: No such file or directory) while connecting to upstream", "upstream_missing"),
    ("nginx", "(13: Permission denied) while connecting to upstream", "upstream_denied"),
    ("nginx", "(113: No route to host) while connecting to upstream", "upstream_unreachable"),
    ("nginx", "(113: Host is unreachable) while connecting to upstream", "upstream_unreachable"),
    ("nginx", "(101: Network is unreachable) while connecting to upstream", "upstream_unreachable"),
    ("nginx", "(104: Connection reset by peer) while connecting to upstream", "upstream_reset"),
    ("nginx", "(104: Connection reset by peer) while reading response header from upstream", "upstream_reset"),
    ("nginx", "(104: Connection reset by peer) while reading upstream", "upstream_reset"),
    ("nginx", "(104: Connection reset by peer) while sending request to upstream", "upstream_reset"),
    ("nginx", "(32: Broken pipe) while sending request to upstream", "upstream_reset"),
    ("nginx", "upstream timed out (110: Connection timed out) while connecting", "upstream_connect_timeout"),
    ("nginx", "upstream timed out (110: Operation timed out) while connecting", "upstream_connect_timeout"),
    ("nginx", "upstream timed out", "upstream_timeout"),
    ("nginx", "(110: Connection timed out) while connecting to upstream", "upstream_connect_timeout"),
    ("nginx", "no live upstreams", "no_live_upstreams"),
    ("nginx", "upstream prematurely closed", "upstream_closed"),
    ("nginx", "limiting requests", "limiting_requests"),
    ("nginx", "limiting connections", "limiting_connections"),
    ("nginx", "\" 499 ", "client_closed"),
    // Apache httpd: modules/proxy/proxy_util.c, mod_proxy_http.c, server/mpm/*.
    ("Apache", "server reached MaxRequestWorkers setting", "workers_busy"),
    ("Apache", "server is within MinSpareThreads of MaxRequestWorkers", "workers_busy"),
    ("Apache", "scoreboard is full, not at MaxRequestWorkers", "workers_busy"),
    ("Apache", "(11)Resource temporarily unavailable: * attempt to connect to Unix domain socket", "upstream_queue_full"),
    ("Apache", "(111)Connection refused: * attempt to connect to", "upstream_refused"),
    ("Apache", "(2)No such file or directory: * attempt to connect to Unix domain socket", "upstream_missing"),
    ("Apache", "(13)Permission denied: * attempt to connect to", "upstream_denied"),
    ("Apache", "(113)No route to host: * attempt to connect to", "upstream_unreachable"),
    ("Apache", "(110)Connection timed out: * attempt to connect to", "upstream_connect_timeout"),
    ("Apache", "(70007)The timeout specified has expired: * attempt to connect to", "upstream_connect_timeout"),
    ("Apache", "(70007)The timeout specified has expired: * error reading status line from remote server", "upstream_timeout"),
    ("Apache", "(70007)The timeout specified has expired: * Error dispatching request to", "upstream_timeout"),
    ("Apache", "(104)Connection reset by peer: * error reading status line from remote server", "upstream_reset"),
    ("Apache", "(104)Connection reset by peer: * Error dispatching request to", "upstream_reset"),
    ("Apache", "error reading status line from remote server", "upstream_closed"),
    // php-fpm: sapi/fpm/fpm/fpm_process_ctl.c.
    ("php-fpm", "server reached pm.max_children setting", "workers_busy"),
    ("php-fpm", "server reached max_children setting", "workers_busy"),
    ("php-fpm", "seems busy (you may need to increase pm.start_servers", "workers_starting"),
    // HAProxy: src/proto_tcp.c, src/session.c, src/server.c; and states in its HTTP log (doc/configuration.txt, 8.5).
    ("HAProxy", "has no server available!", "no_live_upstreams"),
    ("HAProxy", "reached process FD limit", "too_many_open_files"),
    ("HAProxy", "reached system FD limit", "too_many_open_files"),
    ("HAProxy", "for backend *: no free ports", "no_ports"),
    ("HAProxy", " 503 * sQ-", "proxy_limit"),
    ("HAProxy", " 503 * SC-", "upstream_refused"),
    ("HAProxy", " 503 * sC-", "upstream_connect_timeout"),
    ("HAProxy", " 504 * sH-", "upstream_timeout"),
    ("HAProxy", " 502 * SH-", "upstream_closed"),
    // Envoy: source/common/router/router.cc; %RESPONSE_CODE_DETAILS% and the body of the response.
    ("Envoy", "upstream_reset_before_response_started{overflow", "proxy_limit"),
    ("Envoy", "reset reason: overflow", "proxy_limit"),
    ("Envoy", "upstream_reset_before_response_started{connection_failure", "upstream_refused"),
    ("Envoy", "upstream_reset_before_response_started{remote_connection_failure", "upstream_refused"),
    ("Envoy", "upstream_reset_before_response_started{connection_termination", "upstream_closed"),
    ("Envoy", "upstream_reset_before_response_started{remote_reset", "upstream_reset"),
    ("Envoy", "upstream_reset_before_response_started{connection_timeout", "upstream_connect_timeout"),
    ("Envoy", "upstream_response_timeout", "upstream_timeout"),
    ("Envoy", "no_healthy_upstream", "no_live_upstreams"),
    ("Envoy", "no healthy upstream", "no_live_upstreams"),
    // PostgreSQL: src/backend/storage/ipc/procarray.c, utils/init/postinit.c, tcop/postgres.c, lmgr/deadlock.c.
    ("PostgreSQL", "too many clients already", "too_many_connections"),
    ("PostgreSQL", "remaining connection slots are reserved", "too_many_connections"),
    ("PostgreSQL", "too many connections for ", "too_many_connections"),
    ("PostgreSQL", "canceling statement due to lock timeout", "lock_timeout"),
    ("PostgreSQL", "deadlock detected", "deadlock"),
    ("PostgreSQL", "could not fork new process for connection", "no_threads"),
    ("PgBouncer", "query_wait_timeout", "pool_exhausted"),
    ("PgBouncer", "no more connections allowed (max_client_conn)", "too_many_connections"),
    // MySQL and MariaDB: share/errmsg-utf8.txt, sql/share/messages_to_clients.txt.
    ("MySQL", "Too many connections", "too_many_connections"),
    ("MySQL", "has more than 'max_user_connections' active connections", "too_many_connections"),
    ("MySQL", "has exceeded the 'max_user_connections' resource", "too_many_connections"),
    ("MySQL", "Lock wait timeout exceeded", "lock_timeout"),
    ("MySQL", "Deadlock found when trying to get lock", "deadlock"),
    ("MySQL", "Can't create a new thread (errno", "no_threads"),
    ("MySQL", "Can't create thread to handle new connection", "no_threads"),
    ("MySQL", "Disk is full writing", "disk_full"),
    // Redis: src/server.c, src/networking.c, src/aof.c.
    ("Redis", "OOM command not allowed when used memory", "redis_memory"),
    ("Redis", "max number of clients reached", "redis_clients"),
    ("Redis", "max number of clients + cluster connections reached", "redis_clients"),
    ("Redis", "Asynchronous AOF fsync is taking too long", "disk_slow"),
    // JVM (os.hpp, Throwable), HikariCP, Tomcat (JDBC pool, connectors), Commons DBCP.
    ("JVM", "unable to create native thread", "no_threads"),
    ("JVM", "unable to create new native thread", "no_threads"),
    ("JVM", "java.lang.OutOfMemoryError", "out_of_memory"),
    ("HikariCP", "Connection is not available, request timed out after", "pool_exhausted"),
    ("Tomcat", "Pool empty. Unable to fetch a connection in", "pool_exhausted"),
    ("Tomcat", "Maximum number of threads (* created for connector", "workers_busy"),
    ("DBCP", "Cannot get a connection, pool error", "pool_exhausted"),
    ("DBCP", "Cannot get a connection, pool exhausted", "pool_exhausted"),
    ("Netty", "Pending acquire queue has reached its maximum size", "pool_exhausted"),
    // Node.js and its pools (generic-pool, tarn under knex, node-postgres), Python's SQLAlchemy.
    ("Node.js", "JavaScript heap out of memory", "out_of_memory"),
    ("Node.js", "EMFILE: too many open files", "too_many_open_files"),
    ("Node.js", "EMFILE", "too_many_open_files"),
    ("Node.js", "EADDRNOTAVAIL", "no_ports"),
    ("Node.js", "ResourceRequest timed out", "pool_exhausted"),
    ("Node.js", "Timeout acquiring a connection. The pool is", "pool_exhausted"),
    ("Node.js", "timeout exceeded when trying to connect", "pool_exhausted"),
    ("SQLAlchemy", "QueuePool limit of size", "pool_exhausted"),
    // Go: src/runtime/malloc.go, os_linux.go; errors of the net package are those of the system.
    ("Go", "runtime: out of memory: cannot allocate", "out_of_memory"),
    ("Go", "runtime: failed to create new OS thread", "no_threads"),
    ("Go", "cannot assign requested address", "no_ports"),
    ("Go", "too many open files", "too_many_open_files"),
    // The kernel (mm/oom_kill.c, net/ipv4, net/netfilter, kernel/cgroup/pids.c) and systemd.
    ("kernel", "TCP: out of memory -- consider tuning tcp_mem", "tcp_memory"),
    ("kernel", "table full, dropping packet", "conntrack_full"),
    ("kernel", "ossible SYN flooding on port", "syn_flood"),
    ("kernel", "time wait bucket table overflow", "time_wait_full"),
    ("kernel", "fork rejected by pids controller", "no_threads"),
    ("kernel", "Memory cgroup out of memory", "out_of_memory"),
    ("kernel", "Out of memory: Kill", "out_of_memory"),
    ("systemd", "has been killed by the OOM killer", "out_of_memory"),
    ("systemd", "Failed with result 'oom-kill'", "out_of_memory"),
    // strerror, in any program.
    ("any", "Too many open files", "too_many_open_files"),
    ("any", "Cannot assign requested address", "no_ports"),
    ("any", "Address not available", "no_ports"),
    ("any", "No space left on device", "disk_full"),
    ("any", "annot allocate memory", "out_of_memory"),
];

/// What nginx writes of limits that it only tries out: nothing is rejected.
const TRIED_OUT: &str = ", dry run";

/// Returns the index of the first text that a line contains.
pub(super) fn find(line: &str) -> Option<usize> {
    if line.contains(TRIED_OUT) {
        return None;
    }
    let line = without_request(line);
    TEXTS.iter().position(|(_, text, _)| contains(&line, text))
}

/// Returns a line without the quoted request that access logs repeat: its URL may say anything.
fn without_request(line: &str) -> Cow<'_, str> {
    let ends = line.find(" HTTP/").and_then(|at| Some((at, at + line[at..].find('"')?)));
    match ends.and_then(|(at, end)| Some((line[..at].rfind('"')? + 1, end))) {
        Some((from, end)) => Cow::Owned([&line[..from], &line[end..]].concat()),
        None => Cow::Borrowed(line),
    }
}

/// Returns `true` if a line contains the parts of a text, in order.
fn contains(line: &str, text: &str) -> bool {
    let mut rest = line;
    text.split('*').all(|part| {
        let found = rest.find(part);
        rest = found.map_or("", |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as the programs write them, with the counter that each increments.
    const LINES: &[(&str, &str)] = &[
        (
            "2026/01/01 10:00:00 [error] 7#7: *1 connect() to unix:/run/php/fpm.sock failed (11: Resource temporarily \
             unavailable) while connecting to upstream, client: 127.0.0.1, server: , request: \"GET / HTTP/1.1\"",
            "upstream_queue_full",
        ),
        (
            "[error] 7#7: *1 connect() to unix:/run/x.sock failed (2: No such file or directory) while connecting to \
             upstream",
            "upstream_missing",
        ),
        ("*5 connect() failed (113: No route to host) while connecting to upstream", "upstream_unreachable"),
        (
            "*5 recv() failed (104: Connection reset by peer) while reading response header from upstream, client: ::1",
            "upstream_reset",
        ),
        (
            "*9 readv() failed (104: Connection reset by peer) while reading upstream, client: 127.0.0.1",
            "upstream_reset",
        ),
        ("*9 writev() failed (32: Broken pipe) while sending request to upstream", "upstream_reset"),
        (
            "*3 upstream timed out (110: Connection timed out) while reading response header from upstream",
            "upstream_timeout",
        ),
        ("*3 upstream timed out (110: Connection timed out) while connecting to upstream", "upstream_connect_timeout"),
        ("*3 upstream prematurely closed FastCGI stdout while reading response header", "upstream_closed"),
        ("accept4() failed (24: Too many open files)", "too_many_open_files"),
        ("*4 connect() to 127.0.0.1:81 failed (99: Cannot assign requested address) while connecting", "no_ports"),
        (
            "[26-Jul-2026 09:50:00] WARNING: [pool www] server reached pm.max_children setting (5), consider",
            "workers_busy",
        ),
        (
            "[mpm_event:error] [pid 1:tid 2] AH00484: server reached MaxRequestWorkers setting, consider raising the \
             MaxRequestWorkers setting",
            "workers_busy",
        ),
        (
            "[proxy:error] [pid 5] (111)Connection refused: AH00957: HTTP: attempt to connect to 127.0.0.1:8981 \
             (localhost) failed",
            "upstream_refused",
        ),
        (
            "[proxy_http:error] (70007)The timeout specified has expired: [client ::1] AH01102: error reading status \
             line from remote server 127.0.0.1:80",
            "upstream_timeout",
        ),
        (
            "haproxy[9]: 127.0.0.1:3 [01/Jan/2026:10:00:00.0] in be/<NOSRV> 0/5000/-1/-1/5000 503 217 - - sQ-- 9/9/8/0/0 \
             0/8 \"GET / HTTP/1.1\"",
            "proxy_limit",
        ),
        ("\"GET / HTTP/1.1\" 503 UO upstream_reset_before_response_started{overflow} - 0 81", "proxy_limit"),
        ("FATAL:  sorry, too many clients already", "too_many_connections"),
        (
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "too_many_connections",
        ),
        ("ERROR 1040 (HY000): Too many connections", "too_many_connections"),
        ("ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction", "lock_timeout"),
        ("ReplyError: OOM command not allowed when used memory > 'maxmemory'.", "redis_memory"),
        ("ERR max number of clients reached", "redis_clients"),
        ("java.lang.OutOfMemoryError: Java heap space", "out_of_memory"),
        ("java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory", "no_threads"),
        ("HikariPool-1 - Connection is not available, request timed out after 30000ms.", "pool_exhausted"),
        ("INFO: Maximum number of threads (200) created for connector with address null and port 80", "workers_busy"),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "out_of_memory"),
        ("Error: EMFILE: too many open files, open '/x'", "too_many_open_files"),
        (
            "http: Accept error: accept tcp [::]:80: accept4: too many open files; retrying in 5ms",
            "too_many_open_files",
        ),
        ("dial tcp 127.0.0.1:81: connect: cannot assign requested address", "no_ports"),
        ("nf_conntrack: nf_conntrack: table full, dropping packet", "conntrack_full"),
        ("TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:8080. Sending cookies.", "syn_flood"),
        ("possible SYN flooding on port 80. Sending cookies.", "syn_flood"),
        ("Memory cgroup out of memory: Killed process 412 (python) total-vm:4kB", "out_of_memory"),
        ("Out of memory: Killed process 1234 (java) total-vm:8kB", "out_of_memory"),
        ("app.service: Failed with result 'oom-kill'.", "out_of_memory"),
        ("127.0.0.1 - - [01/Jan/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 499 0 \"-\" \"-\"", "client_closed"),
    ];

    #[test]
    fn lines_of_the_programs_count_as_what_they_say() {
        for (line, counter) in LINES {
            assert_eq!(find(line).map(|at| TEXTS[at].2), Some(*counter), "{line}");
        }
    }

    #[test]
    fn lines_without_a_limit_count_as_none() {
        for line in [
            "127.0.0.1 - - [01/Jan/2026:10:00:00 +0000] \"GET /499 HTTP/1.1\" 200 503 \"-\" \"-\"",
            "2026/01/01 10:00:00 [notice] 1#1: start worker processes",
            "*2 writev() failed (32: Broken pipe) while sending to client, client: 127.0.0.1, upstream: \"http://127.0.0.1\"",
            "client 127.0.0.1 closed keepalive connection (104: Connection reset by peer)",
            "connect() failed (11: Resource temporarily unavailable)",
            "127.0.0.1 - - [01/Jan/2026:10:00:00 +0000] \"GET /kb?q=java.lang.OutOfMemoryError HTTP/1.1\" 200 2",
            "[warn] 7#7: *1 limiting requests, dry run, excess: 0.5 by zone \"a\", client: 127.0.0.1",
            "",
        ] {
            assert_eq!(find(line).map(|at| TEXTS[at]), None, "{line}");
        }
    }

    #[test]
    fn each_limit_is_judged_by_a_rule() {
        use brunt_diagnose::{Case, CounterSummary, DurationStats, FailureCount, LoadResults, conclude};
        for (_, text, limit) in TEXTS {
            let mut log = CounterSummary::default();
            let name = format!("log.{limit}");
            (0..3).for_each(|at| log.add_reading(at * 1_000_000_000, [(&*name, 10.0 * at as f64), ("log.lines", 0.0)]));
            // A run in which these lines could be about any of its failures.
            let run = LoadResults {
                window_s: 3.0,
                scheduled: 100,
                status: [("503".to_owned(), 20)].into(),
                failures: vec![FailureCount { kind: "timeout".into(), phase: "connect".into(), count: 20 }],
                connect: DurationStats { second_or_more: 0.1, ..DurationStats::default() },
                ..LoadResults::default()
            };
            let case = |reported| Case { run: run.clone(), reported, ..Case::default() };
            let rules =
                |reported| conclude(&case(reported)).findings.iter().map(|f| (f.rule, f.proof)).collect::<Vec<_>>();
            let (with, without) = (rules(vec![log]), rules(Vec::new()));
            assert_ne!(with, without, "{text}: {limit}");
        }
    }

    #[test]
    fn each_text_can_be_reached() {
        for (n, (_, text, _)) in TEXTS.iter().enumerate() {
            assert_eq!(find(&text.replace('*', "7")), Some(n), "{text}");
        }
    }
}
