//! Options of other tools that users type by habit, and their equivalents here.

/// An option of another tool.
struct Habit {
    names: &'static [&'static str],
    /// The equivalent; `{}` is replaced by the given value.
    ours: &'static str,
    /// The value if none was given, or an unsuitable one.
    example: &'static str,
    fits: Fits,
}

/// The condition for keeping a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fits {
    Number,
    /// A number of seconds, or a time with its unit.
    Time,
    Text,
    /// Takes no value.
    Nothing,
}

const fn habit(names: &'static [&'static str], ours: &'static str, example: &'static str, fits: Fits) -> Habit {
    Habit { names, ours, example, fits }
}

const HABITS: &[Habit] = &[
    habit(&["--https", "--ssl", "--tls"], "https:// before the host", "", Fits::Nothing),
    habit(&["-R", "--rps", "--qps"], "-r {}/s", "1000", Fits::Number),
    habit(&["-q"], "-r {}/s for a rate, or --quiet for no console output", "1000", Fits::Number),
    habit(&["-z", "--run-time", "--time", "--timelimit"], "-d {}", "10s", Fits::Time),
    habit(&["--vus", "--concurrency", "--clients"], "-c {}", "10", Fits::Number),
    habit(
        &["-C", "--connections"],
        "-c {} (users, one connection each), or with -r --max-connections {}",
        "N",
        Fits::Number,
    ),
    habit(&["--spawn-rate", "--hatch-rate", "--ramp-up"], "--connect-rate {}/s", "100", Fits::Number),
    habit(&["-i", "--num-requests"], "-n {}", "1000", Fits::Number),
    habit(&["--threads", "--cpus", "-cpus"], "-w {}", "2", Fits::Number),
    habit(&["--host", "-host"], "-H 'Host: {}'", "NAME", Fits::Text),
    habit(&["--body", "--data-binary", "--data-ascii"], "--data {}", "TEXT", Fits::Text),
    habit(&["-data"], "--data {}", "TEXT", Fits::Text),
    habit(&["-D", "-p", "--postfile", "--body-file"], "--data-file {}", "FILE", Fits::Text),
    habit(&["-F"], "--form {}", "NAME=VALUE", Fits::Text),
    habit(&["-m", "--request"], "-X {}", "POST", Fits::Text),
    habit(&["-I", "--head"], "-X HEAD", "", Fits::Nothing),
    habit(&["-T", "--content-type"], "-H 'Content-Type: {}'", "application/json", Fits::Text),
    habit(&["-A", "--user-agent"], "-H 'User-Agent: {}'", "NAME", Fits::Text),
    habit(&["-a", "--auth", "--basic-auth"], "--user {}", "NAME:PASSWORD", Fits::Text),
    habit(&["-b", "--cookies"], "--cookie {}", "NAME=VALUE", Fits::Text),
    habit(&["--token", "--oauth2-bearer"], "--bearer {}", "TOKEN", Fits::Text),
    habit(&["--follow", "--follow-redirects", "--max-redirs"], "-L, or --redirects N", "", Fits::Nothing),
    habit(&["--disable-keepalive", "-disable-keepalive", "--no-keep-alive"], "--no-keepalive", "", Fits::Nothing),
    habit(
        &["--disable-redirects", "-disable-redirects"],
        "leave it out: no redirect is followed without -L",
        "",
        Fits::Nothing,
    ),
    habit(
        &["--disable-compression", "-disable-compression", "--compressed"],
        "-H 'Accept-Encoding: gzip' to request compressed responses; without it none are requested",
        "",
        Fits::Nothing,
    ),
    habit(&["-h2", "-http2"], "--http 2", "", Fits::Nothing),
    habit(&["-v", "--verbose", "-debug"], "--debug", "", Fits::Nothing),
    habit(&["-j", "--out-json"], "--format json", "", Fits::Nothing),
    habit(&["--out", "--summary-export", "--csv", "-l"], "-o {} (json, csv, md or xml)", "report.json", Fits::Text),
    habit(&["--html"], "-o report.html, or --format json for other tools", "", Fits::Nothing),
    habit(&["--threshold", "--thresholds", "--slo"], "--objective {}", "'p99<250ms'", Fits::Text),
    habit(
        &["--percentiles", "--latency", "--print-latencies"],
        "leave it out: percentiles and the distribution are always shown",
        "",
        Fits::Nothing,
    ),
    habit(
        &["-s", "--script"],
        "requests as options, slots such as {counter}, or a plan file: brunt runs no scripts",
        "",
        Fits::Nothing,
    ),
    habit(&["--socks5"], "-x socks5://{}", "PROXY:1080", Fits::Text),
    habit(&["--socks5-hostname"], "-x socks5h://{}", "PROXY:1080", Fits::Text),
    habit(&["--silent", "--no-tui", "--headless"], "--quiet", "", Fits::Nothing),
    habit(&["--max-time"], "-t {}", "10s", Fits::Time),
    habit(&["--code", "-code", "--status"], "--expect-status {}", "200", Fits::Text),
];

/// Returns a hint for an option of another tool: `write -r 5/s`, with the value that was given.
pub fn of(name: &str, value: Option<&str>) -> Option<String> {
    let ours = HABITS.iter().find(|habit| habit.names.contains(&name))?.with(value);
    Some(if ours.starts_with("leave it out") { ours } else { format!("write {ours}") })
}

/// Returns all long names of other tools.
pub fn long_names() -> impl Iterator<Item = &'static str> {
    HABITS.iter().flat_map(|habit| habit.names).copied().filter(|name| name.starts_with("--"))
}

/// Finds a long option with a single dash, as in Go: `-disable-keepalive`. It would be parsed as `-d` with a value
/// otherwise.
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

impl Habit {
    fn with(&self, value: Option<&str>) -> String {
        let value =
            value.filter(|value| self.fits.holds(value)).map_or(self.example.to_owned(), |value| match self.fits {
                Fits::Number => value.trim_end_matches("/s").to_owned(),
                Fits::Time if value.bytes().all(|b| b.is_ascii_digit()) => format!("{value}s"),
                Fits::Text if value.contains([' ', '\'', '"', '<', '>', '&', '{']) && !self.ours.contains('\'') => {
                    format!("'{}'", value.replace('\'', "'\\''"))
                }
                _ => value.to_owned(),
            });
        self.ours.replace("{}", &value)
    }
}

impl Fits {
    fn holds(self, value: &str) -> bool {
        match self {
            Fits::Number => value.trim_end_matches("/s").parse::<f64>().is_ok_and(|n| n > 0.0),
            Fits::Time => value.starts_with(|c: char| c.is_ascii_digit()),
            Fits::Text => !value.is_empty() && !value.contains("://"),
            Fits::Nothing => false,
        }
    }
}
