//! The options of tools that run scripts, and of tools for other protocols, with their equivalents in brunt.

use super::tools::{Equivalent, FOLLOWS, LoadTool, PlainWords, SHOWN, TOOL, TargetSchemes};

const NO_SCRIPTS: [&str; 2] = [
    "brunt runs no scripts: give the URL, or write the steps of a user as a flow (`brunt plan --example flow`)",
    "brunt 不运行脚本：请给出 URL，或把用户的步骤写成流程（`brunt plan --example flow`）",
];
const ONE_MACHINE: [&str; 2] = ["brunt runs on one machine", "brunt 只在一台机器上运行"];

pub const K6: LoadTool = LoadTool {
    name: "k6",
    programs: &["k6"],
    users: 1,
    requests: Some(1),
    always: FOLLOWS,
    unless: "--redirects",
    commands: &["run"],
    words: PlainWords::Script(NO_SCRIPTS),
    options: &[
        (&["-u", "--vus"], Equivalent::Users),
        (&["-i", "--iterations"], Equivalent::Requests),
        (&["-d", "--duration"], Equivalent::Time("-d")),
        (&["-s", "--stage"], Equivalent::Ramp),
        (&["--rps"], Equivalent::Rate),
        (&["--user-agent"], Equivalent::Header("User-Agent")),
        (&["--max-redirects"], Equivalent::Value("--redirects")),
        (&["--insecure-skip-tls-verify"], Equivalent::Words(&["-k"])),
        (&["--no-connection-reuse", "--no-vu-connection-reuse"], Equivalent::Keepalive(false)),
        (&["-q", "--quiet"], Equivalent::Words(&["--quiet"])),
        (&["-o", "--out", "--summary-export", "--summary-trend-stats"], Equivalent::NoteOf(SHOWN)),
        (&["--http-debug"], Equivalent::Note(["--debug shows one whole exchange", "--debug 显示一次完整的请求与响应"])),
        (
            &["-e", "--env", "--tag", "-c", "--config", "--batch"],
            Equivalent::NoteOf(["has no counterpart", "没有对应的选项"]),
        ),
        (&["--no-summary", "--no-usage-report", "--no-thresholds", "-v", "--verbose"], Equivalent::Nothing),
    ],
    ..TOOL
};

pub const LOCUST: LoadTool = LoadTool {
    name: "locust",
    programs: &["locust"],
    users: 1,
    always: FOLLOWS,
    words: PlainWords::Script(NO_SCRIPTS),
    options: &[
        (&["-f", "--locustfile"], Equivalent::NoteOf(NO_SCRIPTS)),
        (&["-u", "--users"], Equivalent::Users),
        (&["-r", "--spawn-rate"], Equivalent::PerSecond("--connect-rate")),
        (&["-t", "--run-time"], Equivalent::Time("-d")),
        (&["-H", "--host"], Equivalent::Url),
        (&["-s", "--stop-timeout"], Equivalent::Time("--drain")),
        (&["--csv", "--html", "--json"], Equivalent::NoteOf(SHOWN)),
        (&["--processes"], Equivalent::Value("--processes")),
        (&["--master", "--worker"], Equivalent::Note(ONE_MACHINE)),
        (
            &["--master-host", "--expect-workers", "-T", "--tags", "-L", "--loglevel"],
            Equivalent::NoteOf(["has no counterpart", "没有对应的选项"]),
        ),
        (&["--headless", "--only-summary", "--autostart", "--autoquit"], Equivalent::Nothing),
    ],
    ..TOOL
};

pub const JMETER: LoadTool = LoadTool {
    name: "jmeter",
    programs: &["jmeter", "jmeter.sh", "jmeter.bat"],
    words: PlainWords::Script(NO_SCRIPTS),
    options: &[
        (
            &["-t", "--testfile"],
            Equivalent::NoteOf([
                "brunt reads no JMX: give the URL, or the requests as curl commands with --curl-file FILE --as-flow",
                "brunt 不读取 JMX：请给出 URL，或用 --curl-file FILE --as-flow 给出 curl 命令",
            ]),
        ),
        (
            &["-J", "-G", "-D"],
            Equivalent::NoteOf(["threads are -c, and the duration is -d", "线程数是 -c，持续时间是 -d"]),
        ),
        (
            &["-l", "--logfile", "-o", "--reportoutputfolder", "-j"],
            Equivalent::NoteOf([
                "use -o report.html, .json, .csv, .md or .xml",
                "请用 -o report.html、.json、.csv、.md 或 .xml",
            ]),
        ),
        (&["-R", "--remotestart"], Equivalent::NoteOf(ONE_MACHINE)),
        (
            &["-H", "--proxyHost", "-P", "--proxyPort"],
            Equivalent::NoteOf(["use -x http://HOST:PORT", "请用 -x http://HOST:PORT"]),
        ),
        (&["-q", "--addprop", "-p", "--propfile"], Equivalent::NoteOf(["has no counterpart", "没有对应的选项"])),
        (&["-n", "--nongui", "-e", "--reportatendofloadtests", "-f", "-r"], Equivalent::Nothing),
    ],
    ..TOOL
};

pub const GHZ: LoadTool = LoadTool {
    name: "ghz",
    programs: &["ghz"],
    users: 50,
    requests: Some(200),
    target: Some(TargetSchemes { plain: "grpc", tls: "grpcs", is_tls: true, host: "HOST", port: "PORT" }),
    options: &[
        (&["-c", "--concurrency"], Equivalent::Users),
        (&["-n", "--total"], Equivalent::Requests),
        (&["-r", "--rps"], Equivalent::Rate),
        (&["-z", "--duration", "-x", "--max-duration"], Equivalent::Time("-d")),
        (&["-t", "--timeout"], Equivalent::Time("-t")),
        (&["--connections"], Equivalent::SharedConnections),
        (&["--proto"], Equivalent::Value("--proto")),
        (&["--call"], Equivalent::Call),
        (&["-d", "--data"], Equivalent::Value("--data")),
        (&["-D", "--data-file"], Equivalent::Value("--data-file")),
        (&["--insecure"], Equivalent::Plain),
        (&["--skipTLS"], Equivalent::Words(&["-k"])),
        (&["--cacert"], Equivalent::Value("--cacert")),
        (&["--cert"], Equivalent::Value("--cert")),
        (&["--key"], Equivalent::Value("--key")),
        (&["--cpus"], Equivalent::Threads),
        (&["--connect-timeout"], Equivalent::Time("--connect-timeout")),
        (
            &["-m", "--metadata"],
            Equivalent::NoteOf(["use -H 'NAME: VALUE' for each entry", "每一项请用 -H 'NAME: VALUE'"]),
        ),
        (&["-i", "--import-paths"], Equivalent::Value("--import-path")),
        (&["--protoset", "--config", "--name", "--tags"], Equivalent::NoteOf(["has no counterpart", "没有对应的选项"])),
        (&["-O", "--format", "-o", "--output"], Equivalent::NoteOf(SHOWN)),
        (&["--async"], Equivalent::Nothing),
    ],
    ..TOOL
};

pub const REDIS_BENCHMARK: LoadTool = LoadTool {
    name: "redis-benchmark",
    programs: &["redis-benchmark", "valkey-benchmark"],
    users: 50,
    requests: Some(100_000),
    words: PlainWords::Command,
    target: Some(TargetSchemes { plain: "redis", tls: "rediss", is_tls: false, host: "127.0.0.1", port: "6379" }),
    options: &[
        (&["-h"], Equivalent::Host),
        (&["-p"], Equivalent::Port),
        (&["-s"], Equivalent::Value("--unix-socket")),
        (&["-c"], Equivalent::Users),
        (&["-n"], Equivalent::Requests),
        (&["-P"], Equivalent::Value("--pipeline")),
        (&["-t"], Equivalent::RedisTests),
        (&["-d"], Equivalent::RedisSize),
        (&["-r"], Equivalent::RedisKeys),
        (&["--threads"], Equivalent::Threads),
        (&["--tls"], Equivalent::Tls),
        (&["--insecure"], Equivalent::Words(&["-k"])),
        (&["--cacert"], Equivalent::Value("--cacert")),
        (&["--cert"], Equivalent::Value("--cert")),
        (&["--key"], Equivalent::Value("--key")),
        (&["-3"], Equivalent::Words(&["--resp", "3"])),
        (&["-u"], Equivalent::Url),
        (
            &["-a", "--user"],
            Equivalent::NoteOf(["write redis://USER:PASSWORD@HOST:PORT", "请写 redis://USER:PASSWORD@HOST:PORT"]),
        ),
        (&["-q"], Equivalent::Words(&["--quiet"])),
        (&["-k"], Equivalent::NoteOf(["has no counterpart", "没有对应的选项"])),
        (
            &["--dbnum", "--cluster", "--precision", "--seed"],
            Equivalent::NoteOf(["has no counterpart", "没有对应的选项"]),
        ),
        (&["--csv"], Equivalent::Note(SHOWN)),
        (&["-e", "-l", "-I", "--enable-tracking"], Equivalent::Nothing),
    ],
    ..TOOL
};
