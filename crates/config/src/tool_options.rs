//! Options of other tools that users type by habit, and their equivalents in brunt.

use brunt_cause::Complaint;
use brunt_report::Lang;
use brunt_report::text::Text;

use super::parsers;
use super::setting::message;

/// An option of another tool.
struct ToolOption {
    names: &'static [&'static str],
    /// The equivalent; `{}` is replaced with the given value.
    ours: Text,
    /// The value to show if no suitable one was given.
    example: &'static str,
    fits: ValueKind,
}

/// The kind of value that is accepted; other values are replaced with the example.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Number,
    /// A number of seconds, or a time with its unit.
    Time,
    Text,
    /// An objective, perhaps without a unit or in the words of k6.
    Objective,
    /// A number, which is none of ours: anything else is text.
    NoNumber,
    /// Takes no value.
    Nothing,
}

const fn habit(
    names: &'static [&'static str],
    ours: &'static str,
    example: &'static str,
    fits: ValueKind,
) -> ToolOption {
    ToolOption { names, ours: message(ours, ours), example, fits }
}

impl ToolOption {
    /// Adds the equivalent in Chinese, where it has words.
    const fn zh(self, zh: &'static str) -> ToolOption {
        ToolOption { ours: message(self.ours.en, zh), ..self }
    }
}

const HABITS: &[ToolOption] = &[
    habit(&["--https", "--ssl", "--tls"], "https:// before the host", "", ValueKind::Nothing).zh("在主机前写 https://"),
    habit(&["-R", "--rps", "--qps"], "-r {}/s", "1000", ValueKind::Number),
    habit(&["-q"], "-r {}/s for a rate, or --quiet for no console output", "1000", ValueKind::Number)
        .zh("-r {}/s 设定速率，或 --quiet 不在终端输出"),
    habit(&["-z", "--run-time", "--time", "--timelimit"], "-d {}", "10s", ValueKind::Time),
    habit(&["--vus", "--concurrency", "--clients"], "-c {}", "10", ValueKind::Number),
    habit(
        &["-C", "--connections"],
        "-c {} (users, one connection each), or with -r --max-connections {}",
        "N",
        ValueKind::Number,
    )
    .zh("-c {}（用户数，各有一个连接），或在用 -r 时 --max-connections {}"),
    habit(&["--spawn-rate", "--hatch-rate"], "--connect-rate {}/s", "100", ValueKind::Number),
    habit(
        &["--ramp-up", "--rampup", "--ramp-up-time"],
        "--stage {}:0..USERS, and --stage TIME:USERS to stay there",
        "10s",
        ValueKind::Time,
    )
    .zh("--stage {}:0..USERS，再加 --stage TIME:USERS 保持该负载"),
    habit(
        &["--pipelining"],
        "leave it out: brunt waits for a response before the next request of a connection",
        "",
        ValueKind::Nothing,
    )
    .zh("去掉它：brunt 在同一连接上收到响应后才发送下一个请求"),
    habit(&["--http3", "-http3", "--h3", "--quic"], "--http 2: brunt does not support HTTP/3", "", ValueKind::Nothing)
        .zh("--http 2：brunt 不支持 HTTP/3"),
    habit(&["-i", "--num-requests"], "-n {}", "1000", ValueKind::Number),
    habit(
        &["--threads", "--cpus", "-cpus"],
        "leave it out: brunt has a worker for each core; -w sets fewer",
        "",
        ValueKind::Nothing,
    )
    .zh("去掉它：brunt 默认每个核一个工作线程；要更少请用 -w"),
    habit(&["--host", "-host"], "-H 'Host: {}'", "NAME", ValueKind::Text),
    habit(&["--body", "--data-binary", "--data-ascii"], "--data {}", "TEXT", ValueKind::Text),
    habit(&["-data"], "--data {}", "TEXT", ValueKind::Text),
    habit(&["-D", "-p", "--postfile", "--body-file"], "--data-file {}", "FILE", ValueKind::NoNumber),
    habit(&["-F"], "--form {}", "NAME=VALUE", ValueKind::Text),
    habit(&["-m", "--request"], "-X {}", "POST", ValueKind::Text),
    habit(&["-I", "--head"], "-X HEAD", "", ValueKind::Nothing),
    habit(&["-T", "--content-type"], "-H 'Content-Type: {}'", "application/json", ValueKind::Text),
    habit(&["-A", "--user-agent"], "-H 'User-Agent: {}'", "NAME", ValueKind::Text),
    habit(&["-a", "--auth", "--basic-auth"], "--user {}", "NAME:PASSWORD", ValueKind::Text),
    habit(&["-b", "--cookies"], "--cookie {}", "NAME=VALUE", ValueKind::Text),
    habit(&["--token", "--oauth2-bearer"], "--bearer {}", "TOKEN", ValueKind::Text),
    habit(&["--follow", "--follow-redirects", "--max-redirs"], "-L, or --redirects N", "", ValueKind::Nothing)
        .zh("-L，或 --redirects N"),
    habit(&["--disable-keepalive", "-disable-keepalive", "--no-keep-alive"], "--no-keepalive", "", ValueKind::Nothing),
    habit(
        &["--disable-redirects", "-disable-redirects"],
        "leave it out: no redirect is followed without -L",
        "",
        ValueKind::Nothing,
    )
    .zh("去掉它：没有 -L 就不会跟随重定向"),
    habit(
        &["--disable-compression", "-disable-compression", "--compressed"],
        "-H 'Accept-Encoding: gzip' to request compressed responses; without it none are requested",
        "",
        ValueKind::Nothing,
    )
    .zh("-H 'Accept-Encoding: gzip' 请求压缩的响应；不写则不请求压缩"),
    habit(&["-h2", "-http2"], "--http 2", "", ValueKind::Nothing),
    habit(&["-debug"], "--debug", "", ValueKind::Nothing),
    habit(&["-j", "--out-json"], "--format json", "", ValueKind::Nothing),
    habit(
        &["--out", "--summary-export", "--csv", "-l"],
        "-o {} (json, csv, md or xml)",
        "report.json",
        ValueKind::Text,
    )
    .zh("-o {}（json、csv、md 或 xml）"),
    habit(&["--html"], "-o report.html, or --format json for other tools", "", ValueKind::Nothing)
        .zh("-o report.html，供其他工具使用则用 --format json"),
    habit(&["--threshold", "--thresholds", "--slo"], "--objective {}", "'p99<250ms'", ValueKind::Objective),
    habit(
        &["--percentiles", "--latency", "--print-latencies"],
        "leave it out: percentiles and the distribution are always shown",
        "",
        ValueKind::Nothing,
    )
    .zh("去掉它：百分位数总会显示"),
    habit(
        &["-s", "--script"],
        "requests as options, slots such as {counter}, or a plan file: brunt runs no scripts",
        "",
        ValueKind::Nothing,
    )
    .zh("选项、占位符（例如 {counter}）或计划文件：brunt 不运行脚本"),
    habit(&["--socks5"], "-x socks5://{}", "PROXY:1080", ValueKind::Text),
    habit(&["--socks5-hostname"], "-x socks5h://{}", "PROXY:1080", ValueKind::Text),
    habit(&["--silent", "--no-tui", "--headless"], "--quiet", "", ValueKind::Nothing),
    habit(&["--max-time"], "-t {}", "10s", ValueKind::Time),
    habit(&["--code", "-code", "--status"], "--expect-status {}", "200", ValueKind::Text),
];

/// Returns a hint for an option of another tool, with the given value: `use -r 5/s`. The number of users is that of the
/// line, if it has one.
pub fn hint(name: &str, value: Option<&str>, users: Option<&str>) -> Option<Complaint> {
    let habit = HABITS.iter().find(|habit| habit.names.contains(&name))?;
    let [en, zh] = [Lang::En, Lang::Zh].map(|lang| habit.with(value, lang).replace("USERS", users.unwrap_or("USERS")));
    let (use_en, use_zh) = if en.starts_with("leave it out") { ("", "") } else { ("use ", "请用 ") };
    Some(Complaint::new(format!("{use_en}{en}"), format!("{use_zh}{zh}")))
}

/// Returns an objective in brunt's words: `p(95)<200` of k6 is in milliseconds. `None` if it is none.
fn objective(value: &str) -> Option<String> {
    let bare = value.rsplit_once(':').map_or(value, |(_, rule)| rule).trim();
    let plain: String = bare.chars().filter(|c| !"() ".contains(*c)).collect();
    [plain.clone(), format!("{plain}ms")].into_iter().find(|rule| parsers::objective(rule).is_ok())
}

/// Returns all long names of other tools.
pub fn long_names() -> impl Iterator<Item = &'static str> {
    HABITS.iter().flat_map(|habit| habit.names).copied().filter(|name| name.starts_with("--"))
}

/// Finds a long option written with a single dash, as in Go: `-disable-keepalive` would otherwise be parsed as `-d`
/// with a value. `own` are the long names of brunt.
pub fn one_dash<'a>(line: &'a [String], own: &[&str]) -> Option<&'a str> {
    let habits = || HABITS.iter().flat_map(|habit| habit.names).copied();
    let is_long = |name: &str| {
        let twice = || ["-", name].concat();
        let bare = name.trim_start_matches('-');
        bare.len() > 2 && (own.contains(&bare) || habits().any(|known| known == name || known == twice()))
    };
    let mut before = "";
    line.iter().find_map(|word| {
        // A value may look like an option.
        let value = before.len() == 2 && before.starts_with('-') || before.starts_with("--") && !before.contains('=');
        before = word;
        let name = word.split('=').next().unwrap_or_default();
        (!value && name.starts_with('-') && !name.starts_with("--") && is_long(name)).then_some(name)
    })
}

impl ToolOption {
    fn with(&self, value: Option<&str>, lang: Lang) -> String {
        let value =
            value.filter(|value| self.fits.holds(value)).map_or(self.example.to_owned(), |value| match self.fits {
                ValueKind::Objective => objective(value).map_or(self.example.to_owned(), |rule| format!("'{rule}'")),
                ValueKind::Number => value.trim_end_matches("/s").to_owned(),
                ValueKind::Time if value.bytes().all(|b| b.is_ascii_digit()) => format!("{value}s"),
                ValueKind::Text | ValueKind::NoNumber
                    if value.contains([' ', '\'', '"', '<', '>', '&', '{']) && !self.ours.en.contains('\'') =>
                {
                    format!("'{}'", value.replace('\'', "'\\''"))
                }
                _ => value.to_owned(),
            });
        lang.of(self.ours).replace("{}", &value)
    }
}

impl ValueKind {
    fn holds(self, value: &str) -> bool {
        match self {
            ValueKind::Number => value.trim_end_matches("/s").parse::<f64>().is_ok_and(|n| n > 0.0),
            ValueKind::Time => value.starts_with(|c: char| c.is_ascii_digit()),
            ValueKind::Text | ValueKind::Objective => !value.is_empty() && !value.contains("://"),
            ValueKind::NoNumber => value.parse::<f64>().is_err() && ValueKind::Text.holds(value),
            ValueKind::Nothing => false,
        }
    }
}
