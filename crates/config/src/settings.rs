//! The settings of a run, in the order of the help. A single table defines the command-line options, the keys of plan
//! files with their schema, and the parsers.

use std::net::SocketAddr;

use brunt_measure::Nanos;
use brunt_plan::{Arrivals, NetKind, TrustPolicy, quantity};
use brunt_report::Lang;
use brunt_report::formats::ReportFormat;

use super::parsers::{self, MOST_WORKERS};
use super::setting::{SettingSpec, TypedSetting, many, one, switch, text};

macro_rules! settings {
    ($($heading:literal { $($name:ident: $type:ty = $made:expr;)* })*) => {
        $($(pub const $name: TypedSetting<$type> = $made;)*)*

        /// All settings with options, under the headings of the help.
        pub const HEADINGS: &[(&str, &[SettingSpec])] = &[$(($heading, &[$($name.spec),*])),*];
    };
}

/// URLs and plan files, which are positional arguments.
pub const TARGET: TypedSetting<String> = many(
    "target",
    "URL",
    text,
    "Where to send requests (http:// if no scheme is given; several URLs share the load), or a plan file",
);

settings! {
    "Load" {
        USERS: u32 = one("users", "N", parsers::users, "Concurrent users, each sending requests back to back [default: 10]").short('c');
        REQUESTS: u64 = one("requests", "N", |text| quantity::count(text, "requests"), "Stop after N requests").short('n');
        ITERATIONS: u64 =
            one("iterations", "N", |text| quantity::count(text, "iterations"), "Stop after N iterations of the plan's flow");
        SCENARIO: String = one("scenario", "NAME", text, "Run only this scenario of the plan").command_line_only();
        CLEAR_COOKIES: () =
            switch("clear-cookies", "Start each iteration of a flow without cookies: same user, new visitor");
        DURATION: Nanos =
            one("duration", "TIME", quantity::positive_duration, "Stop after TIME [default: 10s, without -n and --stage]").short('d');
        RATE: f64 =
            one("rate", "RATE", parsers::rate, "Send at this rate, however fast the server responds: 5000/s, 300/min").short('r');
        ARRIVALS: Arrivals = one(
            "arrivals", "HOW", parsers::arrivals,
            "With -r: poisson (independent visitors), constant or burst [default: poisson]",
        );
        STAGE: String = many(
            "stage", "TIME:LEVEL", text,
            "A stage of load, repeatable: 30s:1000/s, 2m:1000/s..5000/s; bare numbers are users",
        ).alias("stages");
        THINK: (Nanos, Nanos) = one(
            "think", "A..B", quantity::duration_range,
            "Think time of users between response and next request: 1s, 100ms..2s",
        );
        INTERVAL: (Nanos, Nanos) =
            one("interval", "TIME", quantity::duration_range, "Same as --think, for messages on a connection");
        HOLD: Nanos = one(
            "hold", "TIME", quantity::positive_duration,
            "Send each message once, then hold all connections open for TIME",
        );
        PING: Nanos = one(
            "ping", "TIME", quantity::positive_duration,
            "Send a heartbeat on every connection every TIME (WebSocket, HTTP/2, gRPC, Redis, MySQL, PostgreSQL)",
        ).alias("heartbeat");
        CONNECT_RATE: f64 =
            one("connect-rate", "RATE", quantity::rate, "Start users at this rate: 5000/s [default: as fast as they connect]");
        TOGETHER: () = switch("together", "Start all users at the same moment, once every connection is open");
        WARMUP: Nanos =
            one("warmup", "TIME", quantity::duration, "Warm up for TIME, excluded from results [default: 0s]");
        DRAIN: Nanos = one(
            "drain", "TIME", quantity::duration,
            "Wait up to TIME for requests in flight after the run [default: --timeout, at most 5s]",
        );
        SEED: u64 = one("seed", "N", parsers::seed, "Seed for all random choices, to repeat a run");
    }
    "Connection" {
        URL: String = many("url", "URL", text, "Another URL, repeatable").short('u').command_line_only();
        URLS: String = one(
            "urls", "FILE", text,
            "Read URLs from FILE: one per line, optionally followed by its weight; # starts a comment",
        ).alias("urls-file").command_line_only();
        CURL: String = many(
            "curl", "COMMAND", text,
            "Send what this curl command would send: --curl 'curl -d a=b http://localhost/'",
        );
        CURL_FILE: String =
            one("curl-file", "FILE", text, "Send what the curl commands in FILE would send, each with equal weight");
        AS_FLOW: () =
            switch("as-flow", "Each user sends the curl commands in order, over and over, and keeps cookies");
        TIMEOUT: Nanos = one("timeout", "TIME", quantity::positive_duration, "Fail a request after TIME [default: 10s]").short('t');
        CONNECT_TIMEOUT: Nanos = one(
            "connect-timeout", "TIME", quantity::positive_duration,
            "Fail a connection attempt after TIME [default: 5s]",
        );
        DNS_REFRESH: Nanos = one(
            "dns-refresh", "TIME", quantity::positive_duration,
            "Look names up again every TIME; new connections use the new addresses [default: only after failed connects]",
        );
        RUN_TIMEOUT: Nanos = one(
            "run-timeout", "TIME", quantity::positive_duration,
            "Stop the whole run after TIME, whatever it is doing",
        );
        SLACK: Nanos =
            one("slack", "TIME", quantity::duration, "With -r: send requests up to TIME late, in batches [default: 0s]");
        MAX_CONNECTIONS: u32 = one(
            "max-connections", "N", parsers::connections,
            "With -r: at most N connections, all on one worker up to 20,000/s [default: 1000, or 3/4 of the descriptor limit]",
        );
        UNIX_SOCKET: String = one("unix-socket", "PATH", text, "Connect to this Unix socket");
        CONNECT_TO: String = many(
            "connect-to", "HOST:PORT:HOST:PORT", parsers::connect_to,
            "Connect to another host and port, as in curl; the second host or port may be a range a-b",
        );
        PROXY: String = one(
            "proxy", "URL", text,
            "Use this proxy: http://, socks5:// or socks5h://[NAME:PASSWORD@]HOST:PORT [default: http_proxy, \
                https_proxy, all_proxy, not for this machine]",
        ).short('x');
        PROXY_USER: String =
            one("proxy-user", "NAME:PASSWORD", text, "Credentials for the proxy; @FILE reads them from a file").short('U');
        NOPROXY: String = one(
            "noproxy", "LIST", text,
            "Hosts reached without a proxy: example.com,10.0.0.0/8, or * [default: no_proxy]",
        );
        SOURCE: Vec<String> =
            many("source", "IP", parsers::sources, "Connect from these addresses in turn: a list and ranges a-b").alias("sources");
    }
    "TLS" {
        INSECURE: () = switch("insecure", "Accept any certificate").short('k');
        CACERT: String = one("cacert", "FILE", text, "Trust the CA certificates in FILE (PEM) instead of the built-in public CAs");
        CERT: String = one("cert", "FILE", text, "Client certificate chain (PEM), with its private key in the same file or in --key");
        KEY: String = one("key", "FILE", text, "Private key of --cert (PEM)");
        TLS_1_2: () = switch("tlsv1.2", "Offer TLS 1.2 and above (the default)");
        TLS_1_3: () = switch("tlsv1.3", "Offer TLS 1.3 only");
        TLS_MAX: String = one("tls-max", "VERSION", text, "Offer nothing above this version: 1.2 or 1.3");
        NO_RESUME: () =
            switch("no-resume", "No TLS session resumption: a full handshake for every connection");
    }
    "Output" {
        OBJECTIVE: String = many(
            "objective", "RULE", parsers::objective,
            "A requirement: 'p99<50ms', 'failed<0.1%', 'rate>=1000/s', 'failed<5% for 10s stop'; exit 10 if missed",
        ).alias("objectives");
        TRUST: TrustPolicy = one(
            "trust", "POLICY", parsers::trust,
            "What untrusted figures do: judge (exit 20 unless all objectives are decided), warn (no exit 20), or \
                strict (exit 20 for any caution) [default: judge]",
        );
        NAME: String = one(
            "name", "NAME", parsers::request_name,
            "Name of the request in the report; in a plan, `name:` next to its URL",
        );
        RECORD: String = one("record", "FILE", text, "Write the events of the run to FILE as they happen");
        FORMAT: &'static dyn ReportFormat = one(
            "format", "FORMAT", parsers::format,
            "text, json, csv, markdown (md), junit or html [default: by the file name of -o, else text]",
        );
        OUTPUT: String =
            many("output", "FILE", text, "Write the report to FILE; several write several, each by its name").short('o');
        LANG: Lang = one("lang", "LANG", parsers::language, "en or zh [default: from the locale]");
        PROMETHEUS: SocketAddr = one(
            "prometheus", "ADDRESS", parsers::served_at,
            "Serve live metrics to Prometheus at http://ADDRESS/metrics: 9464 (this machine only), 0.0.0.0:9464",
        );
        LINGER: Nanos = one(
            "linger", "TIME", quantity::duration,
            "With --prometheus: keep the final metrics until they are scraped once, at most TIME [default: 20s]",
        );
        TRACE: f64 = one(
            "trace", "SHARE", parsers::traces,
            "Send a W3C traceparent with each request (each iteration is one trace), SHARE of them sampled: 1%",
        );
        OTLP: String = one(
            "otlp", "URL", text,
            "Send live metrics to an OpenTelemetry collector once a second, and spans with --trace: \
                http://127.0.0.1:4318, grpc://127.0.0.1:4317, or env for OTEL_EXPORTER_OTLP_ENDPOINT",
        );
        QUIET: () = switch("quiet", "No console output except what --format prints; -o is still written");
        NO_COLOR: () = switch("no-color", "No colours");
        DEBUG: () = switch(
            "debug", "Send one request, or go through a flow once, show everything sent and received, then exit",
        ).command_line_only();
        KEEP_SECRETS: () = switch("keep-secrets", "Do not mask credentials in output and records").command_line_only();
        YES: () = switch("yes", "Do not ask before load-testing a public address").command_line_only();
        FORCE: () = switch(
            "force", "Send the load even if the first response shows that every request would fail",
        ).command_line_only();
    }
    "Generator" {
        WORKERS: u32 = one(
            "workers", "N", parsers::workers,
            "Worker threads [default: the cores available to brunt; with --max-connections 1]",
        ).short('w');
        PIN: () = switch("pin", "Pin each worker to a core");
        PRECISE: () =
            switch("precise", "Workers poll instead of sleeping: each takes a whole core and never wakes up late");
        PROCESSES: u32 = one(
            "processes", "N", |text| quantity::bounded_count(text, "processes", MOST_WORKERS),
            "Run the workers in N separate processes, reported as one run",
        );
        NET: NetKind = one("net", "NETWORK", parsers::net, "epoll or uring [default: epoll]");
    }
    "Counters" {
        WATCH_PID: u32 = one(
            "watch-pid", "PID", parsers::pid,
            "Treat this process and its children as the service [default: the process listening on the target's address]",
        );
        WATCH_PORT: u16 = one(
            "watch-port", "PORT", parsers::port,
            "Treat the process listening on this port of this machine as the service",
        );
        WATCH: (String, String) = many(
            "watch", "KIND=WHERE", parsers::watched,
            "Query a service for its own counters once a second: redis=HOST:PORT, \
                mysql=mysql://USER:PASSWORD@HOST:PORT, postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, \
                nginx=URL of stub_status, prometheus=URL",
        );
        PROBE: String = many(
            "probe", "HOST:PORT", parsers::probe,
            "Also read the counters of the host under test, where `brunt probe` runs; repeatable",
        );
        PROBE_TOKEN: String = one("probe-token", "TOKEN", text, "Token for the probes [default: $BRUNT_PROBE_TOKEN]");
        PROBE_CACERT: String = one(
            "probe-cacert", "FILE", text,
            "Trust probes with this certificate, or signed by this CA (PEM) [default: public CAs; none on this machine]",
        );
        WATCH_LOG: String = many(
            "watch-log", "FILE", text,
            "Follow this log of a service, such as nginx's error log, for messages that name a limit",
        );
        REFERENCE: f64 = one(
            "reference", "RATE", parsers::reference,
            "Send requests at this rate from a reference client alongside the load, timed and counted separately: 20/s",
        );
    }
}

/// The settings common to all commands that render a record.
pub const DOCUMENT: [SettingSpec; 3] = [FORMAT.spec, OUTPUT.spec, LANG.spec];

/// Returns all settings of a run.
pub fn all() -> impl Iterator<Item = &'static SettingSpec> {
    HEADINGS.iter().flat_map(|(_, specs)| *specs)
}
