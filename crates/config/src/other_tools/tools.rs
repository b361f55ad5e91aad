//! Load generators: their defaults, their options, and the equivalents of these in brunt.

use super::{http_tools, script_tools};

/// A load generator.
pub struct LoadTool {
    /// The common name.
    pub name: &'static str,
    /// Names of its program.
    pub programs: &'static [&'static str],
    /// Default number of users.
    pub users: u64,
    /// Default number of requests.
    pub requests: Option<u64>,
    /// Default duration of a run without a number of requests.
    pub time: &'static str,
    /// Set if the number of requests is per user.
    pub requests_of_each: bool,
    /// Set if the rate is per user.
    pub rate_of_each: bool,
    /// Set if connections are kept alive by default.
    pub keepalive: bool,
    /// Options of brunt that are always added, unless the first of them, or `unless`, is there already.
    pub always: &'static [&'static str],
    /// An option of brunt that replaces `always`.
    pub unless: &'static str,
    /// Default rate; with it the tool has no users.
    pub rate: Option<&'static str>,
    /// Words before the options, such as the `attack` of vegeta.
    pub commands: &'static [&'static str],
    /// The meaning of words that are no options.
    pub words: PlainWords,
    /// Schemes of its targets, which the tool leaves out; `None` for URLs.
    pub target: Option<TargetSchemes>,
    /// Set if long options may begin with a single dash, as in Go.
    pub go: bool,
    pub options: &'static [(&'static [&'static str], Equivalent)],
}

/// The meaning of words that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainWords {
    /// A URL, or an address without a scheme.
    Url,
    /// A script or a plan, which brunt does not read, for the given reason.
    Script([&'static str; 2]),
    /// A command of Redis.
    Command,
}

/// Schemes of targets that are given as host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSchemes {
    /// Scheme without TLS.
    pub plain: &'static str,
    /// Scheme with TLS.
    pub tls: &'static str,
    /// Set if TLS is the default.
    pub is_tls: bool,
    /// Default host and port.
    pub host: &'static str,
    pub port: &'static str,
}

/// What most tools have in common.
pub const TOOL: LoadTool = LoadTool {
    name: "",
    programs: &[],
    users: 10,
    requests: None,
    time: "10s",
    requests_of_each: false,
    rate_of_each: false,
    keepalive: true,
    always: &[],
    unless: "",
    rate: None,
    commands: &[],
    words: PlainWords::Url,
    target: None,
    go: false,
    options: &[],
};

/// The equivalent of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equivalent {
    /// Number of users, or of connections.
    Users,
    /// Number of requests.
    Requests,
    /// Requests per second in total.
    Rate,
    /// Requests per second per user.
    RateOfEach,
    /// Streams per connection.
    Streams,
    /// A flag with a time; bare seconds are accepted.
    Time(&'static str),
    /// A flag with the same value.
    Value(&'static str),
    /// A header line, or the value of the header with this name if the name is not empty.
    Header(&'static str),
    /// Fixed words; takes no value.
    Words(&'static [&'static str]),
    /// Fixed words, followed by a flag with the same value.
    With(&'static [&'static str], &'static str),
    /// The URL.
    Url,
    /// Keep-alive on or off; takes no value.
    Keepalive(bool),
    /// Needs no equivalent, because brunt always does this; takes no value.
    Nothing,
    /// Number of threads, which brunt chooses itself.
    Threads,
    /// Requests per second in total, or per another time: `500/1m`; 0 for as many as possible.
    RateOver,
    /// A flag with a rate, given as a number per second.
    PerSecond(&'static str),
    /// A flag with a value that needs a prefix.
    Prefixed(&'static str, &'static str),
    /// A body, or the name of a file after `@`.
    Body,
    /// A stage that ramps to a number of users: `30s:10`.
    Ramp,
    /// A time with an upper-case unit, in minutes without one.
    SiegeTime,
    /// Maximum pause between requests, in seconds.
    Delay,
    /// Host, port, method and TLS of a target that is no URL; the last two take no value.
    Host,
    Port,
    Call,
    Plain,
    Tls,
    /// Number of connections that the users share.
    SharedConnections,
    /// Names of Redis commands, the size of their data, and the number of their keys.
    RedisTests,
    RedisSize,
    RedisKeys,
    /// Unsupported, for the given reason; takes no value.
    Note([&'static str; 2]),
    /// Unsupported, for the given reason; takes a value.
    NoteOf([&'static str; 2]),
}

impl Equivalent {
    /// Returns `true` if the option takes a value.
    pub fn takes(self) -> bool {
        !matches!(
            self,
            Equivalent::Words(_)
                | Equivalent::Keepalive(_)
                | Equivalent::Nothing
                | Equivalent::Note(_)
                | Equivalent::Plain
                | Equivalent::Tls
        )
    }
}

impl LoadTool {
    /// Returns the equivalent of an option.
    pub fn find(&self, name: &str) -> Option<Equivalent> {
        let name = if self.go { name.replacen("--", "-", 1) } else { name.to_owned() };
        self.options.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, becomes)| *becomes)
    }

    /// Parses a word as an option, with its value if the word contains it.
    pub fn option(&self, word: &str) -> Option<(Equivalent, Option<String>)> {
        if let Some(becomes) = self.find(word) {
            return Some((becomes, None));
        }
        if let Some((name, value)) = word.split_once('=')
            && let Some(becomes) = self.find(name).filter(|becomes| becomes.takes() || self.go)
        {
            return Some((becomes, Some(value.to_owned())));
        }
        // A short option with its value, `-c100`.
        let short = word.get(..2).filter(|short| !self.go && !short.starts_with("--"))?;
        let becomes = self.find(short).filter(|becomes| becomes.takes())?;
        Some((becomes, Some(word[2..].to_owned())))
    }
}

/// The options of a tool that follows redirects unless it is told not to.
pub const FOLLOWS: &[&str] = &["-L"];
pub const NO_REDIRECTS: Equivalent = Equivalent::Words(&["--redirects", "0"]);
pub const NO_PROXY: Equivalent = Equivalent::NoteOf(["use -x PROXY", "请用 -x PROXY"]);
pub const SHOWN: [&str; 2] = [
    "brunt writes one report: -o report.json, .csv, .md or .xml",
    "brunt 只写一份报告：-o report.json、.csv、.md 或 .xml",
];

/// All tools; for an ambiguous line, the first one takes precedence.
pub const TOOLS: [&LoadTool; 16] = [
    &http_tools::WRK,
    &http_tools::HEY,
    &http_tools::AB,
    &http_tools::H2LOAD,
    &http_tools::GO_STRESS,
    &http_tools::OHA,
    &http_tools::BOMBARDIER,
    &http_tools::AUTOCANNON,
    &http_tools::PLOW,
    &http_tools::SIEGE,
    &http_tools::VEGETA,
    &script_tools::K6,
    &script_tools::LOCUST,
    &script_tools::JMETER,
    &script_tools::GHZ,
    &script_tools::REDIS_BENCHMARK,
];
