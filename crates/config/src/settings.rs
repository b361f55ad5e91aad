//! The settings of a run, in the order of the help. A single table defines the command-line options, the keys of plan
//! files with their schema, and the parsers.

use std::net::SocketAddr;

use brunt_cause::Complaint;
use brunt_measure::Nanos;
use brunt_plan::{AgentSelection, Arrivals, LossPolicy, NetKind, TrustPolicy, quantity};
use brunt_report::Lang;
use brunt_report::formats::ReportFormat;
use brunt_report::text::Text;

use super::parsers::{self, MOST_WORKERS};
use super::setting::{SettingSpec, TypedSetting, many, message, one, switch, text};

macro_rules! settings {
    ($($heading:literal $zh:literal { $($name:ident: $type:ty = $made:expr;)* })*) => {
        $($(pub const $name: TypedSetting<$type> = $made;)*)*

        /// All settings with options, under the headings of the help.
        pub const HEADINGS: &[(Text, &[SettingSpec])] = &[$((message($heading, $zh), &[$($name.spec),*])),*];
    };
}

fn selection(text: &str) -> Result<AgentSelection, Complaint> {
    text.parse()
}

fn policy(text: &str) -> Result<LossPolicy, Complaint> {
    text.parse()
}

/// URLs and plan files, which are positional arguments.
pub const TARGET: TypedSetting<String> = many(
    "target",
    "URL",
    text,
    "Where to send requests (http:// if no scheme is given; several URLs share the load), or a plan file",
    "压测地址（省略协议即为 http://；多个 URL 分担负载），或计划文件",
);

settings! {
    "Load" "负载" {
        USERS: u32 = one("users", "N", parsers::users, "Concurrent users, each sending requests back to back [default: 10]", "并发用户数，每个用户收到响应后立即发送下一个请求 [默认：10]").short('c');
        REQUESTS: u64 = one("requests", "N", |text| quantity::count(text, "requests"), "Stop after N requests", "发送 N 个请求后停止").short('n');
        ITERATIONS: u64 =
            one("iterations", "N", |text| quantity::count(text, "iterations"), "Stop after N iterations of the plan's flow", "计划中的流程迭代 N 次后停止");
        SCENARIO: String = one("scenario", "NAME", text, "Run only this scenario of the plan", "只运行计划中的这个场景").command_line_only();
        CLEAR_COOKIES: () =
            switch("clear-cookies", "Start each iteration of a flow without cookies: same user, new visitor", "流程的每次迭代都不带 Cookie 开始：同一用户，新的访客");
        DURATION: Nanos =
            one("duration", "TIME", quantity::positive_duration, "Stop after TIME [default: 10s, without -n and --stage]", "持续 TIME 后停止 [默认：10s，未用 -n 和 --stage 时]").short('d');
        RATE: f64 =
            one("rate", "RATE", parsers::rate, "Send at this rate, however fast the server responds: 5000/s, 300/min", "按此速率发送，与服务响应快慢无关：5000/s，300/min").short('r');
        ARRIVALS: Arrivals = one(
            "arrivals", "HOW", parsers::arrivals,
            "With -r: poisson (independent visitors), constant or burst [default: poisson]", "配合 -r：poisson（相互独立的访客）、constant（匀速）或 burst（突发） [默认：poisson]",
        );
        STAGE: String = many(
            "stage", "TIME:LEVEL", text,
            "A stage of load, repeatable: 30s:1000/s, 2m:1000/s..5000/s; bare numbers are users", "负载的一个阶段，可重复：30s:1000/s，2m:1000/s..5000/s；不带单位的数字表示用户数",
        ).alias("stages");
        THINK: (Nanos, Nanos) = one(
            "think", "A..B", quantity::duration_range,
            "Think time of users between response and next request: 1s, 100ms..2s", "用户收到响应后到下一个请求之间的停顿：1s，100ms..2s",
        );
        INTERVAL: (Nanos, Nanos) =
            one("interval", "TIME", quantity::duration_range, "Same as --think, for messages on a connection", "同 --think，用于连接上的消息");
        HOLD: Nanos = one(
            "hold", "TIME", quantity::positive_duration,
            "Send each message once, then hold all connections open for TIME", "每条消息发送一次，然后让所有连接保持打开 TIME",
        );
        PING: Nanos = one(
            "ping", "TIME", quantity::positive_duration,
            "Send a heartbeat on every connection every TIME (WebSocket, HTTP/2, gRPC, Redis, MySQL, PostgreSQL)", "每隔 TIME 在每个连接上发送一次心跳（WebSocket、HTTP/2、gRPC、Redis、MySQL、PostgreSQL）",
        ).alias("heartbeat");
        CONNECT_RATE: f64 =
            one("connect-rate", "RATE", quantity::rate, "Start users at this rate: 5000/s [default: as fast as they connect]", "按此速率启动用户：5000/s [默认：连接多快就多快]");
        TOGETHER: () = switch("together", "Start all users at the same moment, once every connection is open", "所有连接都打开后，让全部用户在同一时刻开始");
        WARMUP: Nanos =
            one("warmup", "TIME", quantity::duration, "Warm up for TIME, excluded from results [default: 0s]", "预热 TIME，不计入结果 [默认：0s]");
        DRAIN: Nanos = one(
            "drain", "TIME", quantity::duration,
            "Wait up to TIME for requests in flight after the run [default: --timeout, at most 5s]", "压测结束后，最多等待在途请求 TIME [默认：--timeout，至多 5s]",
        );
        SEED: u64 = one("seed", "N", parsers::seed, "Seed for all random choices, to repeat a run", "所有随机选择的种子，用于重复一次压测");
    }
    "Connection" "连接" {
        URL: String = many("url", "URL", text, "Another URL, repeatable", "另一个 URL，可重复").short('u').command_line_only();
        URLS: String = one(
            "urls", "FILE", text,
            "Read URLs from FILE: one per line, optionally followed by its weight; # starts a comment", "从 FILE 读取 URL：每行一个，后面可跟权重；# 表示注释",
        ).alias("urls-file").command_line_only();
        CURL: String = many(
            "curl", "COMMAND", text,
            "Send what this curl command would send: --curl 'curl -d a=b http://localhost/'", "发送该 curl 命令所发的请求：--curl 'curl -d a=b http://localhost/'",
        );
        CURL_FILE: String =
            one("curl-file", "FILE", text, "Send what the curl commands in FILE would send, each with equal weight", "发送 FILE 中各条 curl 命令所发的请求，权重相同");
        AS_FLOW: () =
            switch("as-flow", "Each user sends the curl commands in order, over and over, and keeps cookies", "每个用户依次循环发送这些 curl 命令，并保留 Cookie");
        TIMEOUT: Nanos = one("timeout", "TIME", quantity::positive_duration, "Fail a request after TIME [default: 10s]", "请求超过 TIME 即为失败 [默认：10s]").short('t');
        CONNECT_TIMEOUT: Nanos = one(
            "connect-timeout", "TIME", quantity::positive_duration,
            "Fail a connection attempt after TIME [default: 5s]", "建立连接超过 TIME 即为失败 [默认：5s]",
        );
        DNS_REFRESH: Nanos = one(
            "dns-refresh", "TIME", quantity::positive_duration,
            "Look names up again every TIME; new connections use the new addresses [default: only after failed connects]", "每隔 TIME 重新解析域名；新连接使用新地址 [默认：仅在建连失败后]",
        );
        RUN_TIMEOUT: Nanos = one(
            "run-timeout", "TIME", quantity::positive_duration,
            "Stop the whole run after TIME, whatever it is doing", "无论进行到哪一步，TIME 后停止整个压测",
        );
        SLACK: Nanos =
            one("slack", "TIME", quantity::duration, "With -r: send requests up to TIME late, in batches [default: 0s]", "配合 -r：允许请求最多晚发 TIME，成批发送 [默认：0s]");
        MAX_CONNECTIONS: u32 = one(
            "max-connections", "N", parsers::connections,
            "With -r: at most N connections, all on one worker up to 20,000/s [default: 1000, or 3/4 of the descriptor limit]", "配合 -r：最多 N 个连接，20,000/s 以内都在一个工作线程上 [默认：1000，或描述符上限的 3/4]",
        );
        UNIX_SOCKET: String = one("unix-socket", "PATH", text, "Connect to this Unix socket", "连接到这个 Unix 套接字");
        CONNECT_TO: String = many(
            "connect-to", "HOST:PORT:HOST:PORT", parsers::connect_to,
            "Connect to another host and port, as in curl; the second host or port may be a range a-b", "连接到另一个主机和端口，同 curl；第二个主机或端口可以是范围 a-b",
        );
        PROXY: String = one(
            "proxy", "URL", text,
            "Use this proxy: http://, socks5:// or socks5h://[NAME:PASSWORD@]HOST:PORT [default: http_proxy, \
                https_proxy, all_proxy, not for this machine]", "使用该代理：http://、socks5:// 或 socks5h://[NAME:PASSWORD@]HOST:PORT [默认：http_proxy、https_proxy、all_proxy，本机除外]",
        ).short('x');
        PROXY_USER: String =
            one("proxy-user", "NAME:PASSWORD", text, "Credentials for the proxy; @FILE reads them from a file", "代理的用户名和密码；@FILE 表示从文件读取").short('U');
        NOPROXY: String = one(
            "noproxy", "LIST", text,
            "Hosts reached without a proxy: example.com,10.0.0.0/8, or * [default: no_proxy]", "不经代理访问的主机：example.com,10.0.0.0/8，或 * [默认：no_proxy]",
        );
        SOURCE: Vec<String> =
            many("source", "IP", parsers::sources, "Connect from these addresses in turn: a list and ranges a-b", "轮流使用这些源地址建立连接：列表，或范围 a-b").alias("sources");
    }
    "TLS" "TLS" {
        INSECURE: () = switch("insecure", "Accept any certificate", "接受任何证书").short('k');
        CACERT: String = one("cacert", "FILE", text, "Trust the CA certificates in FILE (PEM) instead of the built-in public CAs", "信任 FILE（PEM）中的 CA 证书，代替内置的公共 CA");
        CERT: String = one("cert", "FILE", text, "Client certificate chain (PEM), with its private key in the same file or in --key", "客户端证书链（PEM），私钥在同一文件中或由 --key 给出");
        KEY: String = one("key", "FILE", text, "Private key of --cert (PEM)", "--cert 的私钥（PEM）");
        TLS_1_2: () = switch("tlsv1.2", "Offer TLS 1.2 and above (the default)", "使用 TLS 1.2 及以上（默认）");
        TLS_1_3: () = switch("tlsv1.3", "Offer TLS 1.3 only", "只使用 TLS 1.3");
        TLS_MAX: String = one("tls-max", "VERSION", text, "Offer nothing above this version: 1.2 or 1.3", "不使用高于此版本的 TLS：1.2 或 1.3");
        NO_RESUME: () =
            switch("no-resume", "No TLS session resumption: a full handshake for every connection", "不复用 TLS 会话：每个连接都完整握手");
    }
    "Output" "输出" {
        OBJECTIVE: String = many(
            "objective", "RULE", parsers::objective,
            "A requirement: 'p99<50ms', 'failed<0.1%', 'rate>=1000/s', 'failed<5% for 10s stop'; exit 10 if missed", "目标（SLO）：'p99<50ms'、'failed<0.1%'、'rate>=1000/s'、'failed<5% for 10s stop'；未通过时退出码为 10",
        ).alias("objectives");
        TRUST: TrustPolicy = one(
            "trust", "POLICY", parsers::trust,
            "What untrusted figures do: judge (exit 20 unless all objectives are decided), warn (no exit 20), or \
                strict (exit 20 for any caution) [default: judge]", "数据不可信时：judge（除非所有目标都能判断，否则退出码为 20）、warn（不以 20 退出）或 strict（有任何疑点即以 20 退出） [默认：judge]",
        );
        NAME: String = one(
            "name", "NAME", parsers::request_name,
            "Name of the request in the report; in a plan, `name:` next to its URL", "请求在报告中的名称；在计划中写在 URL 旁的 `name:`",
        );
        RECORD: String = one("record", "FILE", text, "Write the events of the run to FILE as they happen", "把压测过程的事件实时写入 FILE");
        FORMAT: &'static dyn ReportFormat = one(
            "format", "FORMAT", parsers::format,
            "text, json, csv, markdown (md), junit or html [default: by the file name of -o, else text]", "text、json、csv、markdown（md）、junit 或 html [默认：由 -o 的文件名决定，否则为 text]",
        );
        OUTPUT: String =
            many("output", "FILE", text, "Write the report to FILE (-: standard output); several write several, each by its name", "把报告写入 FILE（- 为标准输出）；可给出多个，格式各由文件名决定").short('o');
        LANG: Lang = one("lang", "LANG", parsers::language, "en or zh [default: from the locale]", "en 或 zh [默认：由系统语言决定]");
        PROMETHEUS: SocketAddr = one(
            "prometheus", "ADDRESS", parsers::served_at,
            "Serve live metrics to Prometheus at http://ADDRESS/metrics: 9464 (this machine only), 0.0.0.0:9464", "在 http://ADDRESS/metrics 向 Prometheus 提供实时指标：9464（仅本机），0.0.0.0:9464",
        );
        LINGER: Nanos = one(
            "linger", "TIME", quantity::duration,
            "With --prometheus: keep the final metrics until they are scraped once, at most TIME [default: 20s]", "配合 --prometheus：保留最终指标直到被抓取一次，至多 TIME [默认：20s]",
        );
        TRACE: f64 = one(
            "trace", "SHARE", parsers::traces,
            "Send a W3C traceparent with each request (each iteration is one trace), SHARE of them sampled: 1%", "每个请求带上 W3C traceparent（每次迭代为一条 trace），按 SHARE 采样：1%",
        );
        OTLP: String = one(
            "otlp", "URL", text,
            "Send live metrics to an OpenTelemetry collector once a second, and spans with --trace: \
                http://127.0.0.1:4318, grpc://127.0.0.1:4317, or env for OTEL_EXPORTER_OTLP_ENDPOINT", "每秒向 OpenTelemetry collector 发送实时指标，配合 --trace 还发送 span：http://127.0.0.1:4318，grpc://127.0.0.1:4317，或 env 表示 OTEL_EXPORTER_OTLP_ENDPOINT",
        );
        QUIET: () = switch("quiet", "No console output except what --format prints; -o is still written", "除 --format 的内容外不在终端输出；仍会写 -o");
        VERBOSE: () = switch(
            "verbose", "Show the whole summary instead of one that fits on a screen; reports in files are always whole", "显示完整的汇总，而不是一屏以内的简要汇总；写入文件的报告始终是完整的",
        ).short('v');
        NO_COLOR: () = switch("no-color", "No colours", "不使用颜色");
        DEBUG: () = switch(
            "debug", "Send one request, or go through a flow once, show everything sent and received, then exit", "只发送一个请求（或走完一遍流程），显示收发的全部内容，然后退出",
        ).command_line_only();
        KEEP_SECRETS: () = switch("keep-secrets", "Do not mask credentials in output and records", "输出和记录中不隐去凭证").command_line_only();
        YES: () = switch("yes", "Do not ask before load-testing a public address", "压测公网地址前不再询问").command_line_only();
        NO_PREFLIGHT: () = switch(
            "no-preflight",
            "Send no request before the load, only connect, as if it might change something or use up a row of data",
            "压测前只建立连接，不发送请求，如同该请求可能改动数据或用掉一行数据",
        );
        FORCE: () = switch(
            "force", "Send the load even if the first response shows that every request would fail", "即使首次响应表明所有请求都会失败，也照常压测",
        ).command_line_only();
    }
    "Generator" "发压端" {
        WORKERS: u32 = one(
            "workers", "N", parsers::workers,
            "Worker threads [default: the cores available to brunt; with --max-connections 1]", "工作线程数 [默认：brunt 可用的核数；用 --max-connections 时为 1]",
        ).short('w');
        PIN: () = switch("pin", "Pin each worker to a core", "把每个工作线程绑定到一个核");
        PRECISE: () =
            switch("precise", "Workers poll instead of sleeping: each takes a whole core and never wakes up late", "工作线程轮询而不休眠：各占满一个核，不会唤醒过晚");
        PROCESSES: u32 = one(
            "processes", "N", |text| quantity::bounded_count(text, "processes", MOST_WORKERS),
            "Run the workers in N separate processes, reported as one run", "把工作线程分到 N 个进程中运行，报告合为一次压测",
        );
        NET: NetKind = one("net", "NETWORK", parsers::net, "epoll or uring [default: epoll]", "epoll 或 uring [默认：epoll]");
    }
    "Machines" "多机" {
        AGENTS: AgentSelection = one(
            "agents", "WHICH", selection,
            "Run on these agents of a fleet (see brunt fleet): 4, all, label=eu, eu=2,asia=1, or names", "在机群的这些施压机上运行（见 brunt fleet）：4、all、label=eu、eu=2,asia=1 或名称",
        ).command_line_only();
        FLEET: String = one(
            "fleet", "DIR|nats://HOST", text,
            "The fleet they are of [default: $XDG_CONFIG_HOME/brunt/fleet]", "它们所属的机群 [默认：$XDG_CONFIG_HOME/brunt/fleet]",
        ).command_line_only();
        AGENTS_WAIT: Nanos = one(
            "agents-wait", "TIME", quantity::positive_duration,
            "Wait this long for them to come [default: 10s]", "等待它们上线的时间 [默认：10s]",
        ).command_line_only();
        ON_LOST: LossPolicy = one(
            "on-lost", "POLICY", policy,
            "If one is lost: go-on, redistribute its load, or abort [default: go-on]", "有施压机丢失时：go-on（其余继续）、redistribute（由其余接手）或 abort（停止） [默认：go-on]",
        ).command_line_only();
        LOST_AFTER: Nanos = one(
            "lost-after", "TIME", quantity::positive_duration,
            "One that reports nothing for TIME counts as lost; 5s or more with redistribute [default: 90s]", "TIME 内没有报告的施压机视为丢失；使用 redistribute 时至少 5s [默认：90s]",
        ).command_line_only();
        ORPHAN_TIMEOUT: Nanos = one(
            "orphan-timeout", "TIME", quantity::positive_duration,
            "One that hears nothing from here for TIME stops by itself [default: 120s]", "TIME 内没有收到协调端消息的施压机自行停止 [默认：120s]",
        ).command_line_only();
    }
    "Counters" "计数器" {
        WATCH_PID: u32 = one(
            "watch-pid", "PID", parsers::pid,
            "Treat this process and its children as the service [default: the process listening on the target's address]", "把该进程及其子进程当作被测服务 [默认：监听目标地址的进程]",
        );
        WATCH_PORT: u16 = one(
            "watch-port", "PORT", parsers::port,
            "Treat the process listening on this port of this machine as the service", "把监听本机该端口的进程当作被测服务",
        );
        WATCH: (String, String) = many(
            "watch", "KIND=WHERE", parsers::watched,
            "Query a service for its own counters once a second: redis=HOST:PORT, \
                mysql=mysql://USER:PASSWORD@HOST:PORT, postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, \
                nginx=URL of stub_status, prometheus=URL", "每秒向服务查询其自身的计数器：redis=HOST:PORT，mysql=mysql://USER:PASSWORD@HOST:PORT，postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE，nginx=stub_status 的 URL，prometheus=URL",
        );
        PROBE: String = many(
            "probe", "HOST:PORT", parsers::probe,
            "Also read the counters of the host under test, where `brunt probe` runs; repeatable", "同时读取被测主机（运行着 `brunt probe`）的计数器；可重复",
        );
        PROBE_TOKEN: String = one("probe-token", "TOKEN", text, "Token for the probes [default: $BRUNT_PROBE_TOKEN]", "探针的令牌 [默认：$BRUNT_PROBE_TOKEN]");
        PROBE_CACERT: String = one(
            "probe-cacert", "FILE", text,
            "Trust probes with this certificate, or signed by this CA (PEM) [default: public CAs; none on this machine]", "信任使用此证书或由此 CA 签名（PEM）的探针 [默认：公共 CA；本机无需]",
        );
        WATCH_LOG: String = many(
            "watch-log", "FILE", text,
            "Follow this log of a service, such as nginx's error log, for messages that name a limit", "跟踪服务的这个日志（例如 nginx 的 error log），查找指明瓶颈的消息",
        );
        REFERENCE: f64 = one(
            "reference", "RATE", parsers::reference,
            "Send requests at this rate from a reference client alongside the load, timed and counted separately: 20/s", "在负载之外，由参照客户端按此速率发送请求，单独计时和计数：20/s",
        );
    }
}

/// The settings common to all commands that render a record.
pub const DOCUMENT: [SettingSpec; 3] = [FORMAT.spec, OUTPUT.spec, LANG.spec];

/// The settings of the console output of these commands.
pub const CONSOLE: [SettingSpec; 3] = [VERBOSE.spec, QUIET.spec, NO_COLOR.spec];

/// Returns all settings of a run.
pub fn all() -> impl Iterator<Item = &'static SettingSpec> {
    HEADINGS.iter().flat_map(|(_, specs)| *specs)
}
