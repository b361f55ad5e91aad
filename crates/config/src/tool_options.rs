//! Options of other tools that users type by habit, and their equivalents in brunt.

/// An option of another tool.
struct ToolOption {
    names: &'static [&'static str],
    /// The equivalent; `{}` is replaced with the given value.
    ours: &'static str,
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
    /// Takes no value.
    Nothing,
}

const fn habit(
    names: &'static [&'static str],
    ours: &'static str,
    example: &'static str,
    fits: ValueKind,
) -> ToolOption {
    ToolOption { names, ours, example, fits }
}

const HABITS: &[ToolOption] = &[
    habit(&["--https", "--ssl", "--tls"], "https:// before the host", "", ValueKind::Nothing),
    habit(&["-R", "--rps", "--qps"], "-r {}/s", "1000", ValueKind::Number),
    habit(&["-q"], "-r {}/s for a rate, or --quiet for no console output", "1000", ValueKind::Number),
    habit(&["-z", "--run-time", "--time", "--timelimit"], "-d {}", "10s", ValueKind::Time),
    habit(&["--vus", "--concurrency", "--clients"], "-c {}", "10", ValueKind::Number),
    habit(
        &["-C", "--connections"],
        "-c {} (users, one connection each), or with -r --max-connections {}",
        "N",
        ValueKind::Number,
    ),
    habit(&["--spawn-rate", "--hatch-rate", "--ramp-up"], "--connect-rate {}/s", "100", ValueKind::Number),
    habit(&["-i", "--num-requests"], "-n {}", "1000", ValueKind::Number),
    habit(&["--threads", "--cpus", "-cpus"], "-w {}", "2", ValueKind::Number),
    habit(&["--host", "-host"], "-H 'Host: {}'", "NAME", ValueKind::Text),
    habit(&["--body", "--data-binary", "--data-ascii"], "--data {}", "TEXT", ValueKind::Text),
    habit(&["-data"], "--data {}", "TEXT", ValueKind::Text),
    habit(&["-D", "-p", "--postfile", "--body-file"], "--data-file {}", "FILE", ValueKind::Text),
    habit(&["-F"], "--form {}", "NAME=VALUE", ValueKind::Text),
    habit(&["-m", "--request"], "-X {}", "POST", ValueKind::Text),
    habit(&["-I", "--head"], "-X HEAD", "", ValueKind::Nothing),
    habit(&["-T", "--content-type"], "-H 'Content-Type: {}'", "application/json", ValueKind::Text),
    habit(&["-A", "--user-agent"], "-H 'User-Agent: {}'", "NAME", ValueKind::Text),
    habit(&["-a", "--auth", "--basic-auth"], "--user {}", "NAME:PASSWORD", ValueKind::Text),
    habit(&["-b", "--cookies"], "--cookie {}", "NAME=VALUE", ValueKind::Text),
    habit(&["--token", "--oauth2-bearer"], "--bearer {}", "TOKEN", ValueKind::Text),
    habit(&["--follow", "--follow-redirects", "--max-redirs"], "-L, or --redirects N", "", ValueKind::Nothing),
    habit(&["--disable-keepalive", "-disable-keepalive", "--no-keep-alive"], "--no-keepalive", "", ValueKind::Nothing),
    habit(
        &["--disable-redirects", "-disable-redirects"],
        "leave it out: no redirect is followed without -L",
        "",
        ValueKind::Nothing,
    ),
    habit(
        &["--disable-compression", "-disable-compression", "--compressed"],
        "-H 'Accept-Encoding: gzip' to request compressed responses; without it none are requested",
        "",
        ValueKind::Nothing,
    ),
    habit(&["-h2", "-http2"], "--http 2", "", ValueKind::Nothing),
    habit(&["-v", "--verbose", "-debug"], "--debug", "", ValueKind::Nothing),
    habit(&["-j", "--out-json"], "--format json", "", ValueKind::Nothing),
    habit(
        &["--out", "--summary-export", "--csv", "-l"],
        "-o {} (json, csv, md or xml)",
        "report.json",
        ValueKind::Text,
    ),
    habit(&["--html"], "-o report.html, or --format json for other tools", "", ValueKind::Nothing),
    habit(&["--threshold", "--thresholds", "--slo"], "--objective {}", "'p99<250ms'", ValueKind::Text),
    habit(
        &["--percentiles", "--latency", "--print-latencies"],
        "leave it out: percentiles and the distribution are always shown",
        "",
        ValueKind::Nothing,
    ),
    habit(
        &["-s", "--script"],
        "requests as options, slots such as {counter}, or a plan file: brunt runs no scripts",
        "",
        ValueKind::Nothing,
    ),
    habit(&["--socks5"], "-x socks5://{}", "PROXY:1080", ValueKind::Text),
    habit(&["--socks5-hostname"], "-x socks5h://{}", "PROXY:1080", ValueKind::Text),
    habit(&["--silent", "--no-tui", "--headless"], "--quiet", "", ValueKind::Nothing),
    habit(&["--max-time"], "-t {}", "10s", ValueKind::Time),
    habit(&["--code", "-code", "--status"], "--expect-status {}", "200", ValueKind::Text),
];

/// Returns a hint for an option of another tool, with the given value: `use -r 5/s`.
pub fn hint(name: &str, value: Option<&str>) -> Option<String> {
    let ours = HABITS.iter().find(|habit| habit.names.contains(&name))?.with(value);
    Some(if ours.starts_with("leave it out") { ours } else { format!("use {ours}") })
}

/// Returns all long names of other tools.
pub fn long_names() -> impl Iterator<Item = &'static str> {
    HABITS.iter().flat_map(|habit| habit.names).copied().filter(|name| name.starts_with("--"))
}

/// Finds a long option written with a single dash, as in Go: `-disable-keepalive` would otherwise be parsed as `-d`
/// with a value.
pub fn one_dash(line: &[String]) -> Option<&'static str> {
    let known = HABITS.iter().flat_map(|habit| habit.names).copied();
    let long = known.filter(|name| name.len() > 2 && !name.starts_with("--")).collect::<Vec<_>>();
    let mut before = "";
    line.iter().find_map(|word| {
        // A value may look like an option.
        let value = before.len() == 2 && before.starts_with('-') || before.starts_with("--") && !before.contains('=');
        before = word;
        long.iter().find(|name| !value && **name == word.split('=').next().unwrap_or_default()).copied()
    })
}

impl ToolOption {
    fn with(&self, value: Option<&str>) -> String {
        let value =
            value.filter(|value| self.fits.holds(value)).map_or(self.example.to_owned(), |value| match self.fits {
                ValueKind::Number => value.trim_end_matches("/s").to_owned(),
                ValueKind::Time if value.bytes().all(|b| b.is_ascii_digit()) => format!("{value}s"),
                ValueKind::Text
                    if value.contains([' ', '\'', '"', '<', '>', '&', '{']) && !self.ours.contains('\'') =>
                {
                    format!("'{}'", value.replace('\'', "'\\''"))
                }
                _ => value.to_owned(),
            });
        self.ours.replace("{}", &value)
    }
}

impl ValueKind {
    fn holds(self, value: &str) -> bool {
        match self {
            ValueKind::Number => value.trim_end_matches("/s").parse::<f64>().is_ok_and(|n| n > 0.0),
            ValueKind::Time => value.starts_with(|c: char| c.is_ascii_digit()),
            ValueKind::Text => !value.is_empty() && !value.contains("://"),
            ValueKind::Nothing => false,
        }
    }
}
