//! The options of wrk, ab, hey, h2load and go-stress-testing, and their equivalents in brunt.

/// A load generator.
pub struct Tool {
    /// The common name.
    pub name: &'static str,
    /// Names of its program.
    pub programs: &'static [&'static str],
    /// Default number of users.
    pub users: u64,
    /// Default number of requests.
    pub requests: Option<u64>,
    /// Default duration, unless a number of requests ends the run.
    pub time: &'static str,
    /// Set if the number of requests is per user.
    pub requests_of_each: bool,
    /// Set if the rate is per user.
    pub rate_of_each: bool,
    /// Set if connections are kept alive by default.
    pub keepalive: bool,
    /// Options of brunt that are always added.
    pub always: &'static [&'static str],
    /// Set if long options begin with a single dash, as in Go.
    go: bool,
    options: &'static [(&'static [&'static str], Becomes)],
}

/// The equivalent of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Becomes {
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
    /// A header line; with this name if the value is only that of the header.
    Header(&'static str),
    /// Fixed words, without a value.
    Words(&'static [&'static str]),
    /// Fixed words, and a flag with the same value.
    With(&'static [&'static str], &'static str),
    /// The URL.
    Url,
    /// Keep-alive on or off; without a value.
    Keepalive(bool),
    /// No equivalent needed, because brunt always does this; without a value.
    Nothing,
    /// Unsupported, with a reason; without a value.
    Note(&'static str),
    /// Unsupported, with a reason; with a value.
    NoteOf(&'static str),
}

impl Becomes {
    /// Returns whether a value follows.
    pub fn takes(self) -> bool {
        !matches!(self, Becomes::Words(_) | Becomes::Keepalive(_) | Becomes::Nothing | Becomes::Note(_))
    }
}

impl Tool {
    /// Returns the equivalent of an option.
    pub fn find(&self, name: &str) -> Option<Becomes> {
        let name = if self.go { name.replacen("--", "-", 1) } else { name.to_owned() };
        self.options.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, becomes)| *becomes)
    }

    /// Parses a word as an option, and its value if it is part of the word.
    pub fn option(&self, word: &str) -> Option<(Becomes, Option<String>)> {
        if let Some(becomes) = self.find(word) {
            return Some((becomes, None));
        }
        if let Some((name, value)) = word.split_once('=')
            && let Some(becomes) = self.find(name).filter(|becomes| becomes.takes() || self.go)
        {
            return Some((becomes, Some(value.to_owned())));
        }
        // An option with its value, `-c100`.
        let short = word.get(..2).filter(|short| !self.go && !short.starts_with("--"))?;
        let becomes = self.find(short).filter(|becomes| becomes.takes())?;
        Some((becomes, Some(word[2..].to_owned())))
    }
}

const NO_PROXY: Becomes = Becomes::NoteOf("use -x PROXY");
const SHOWN: &str = "brunt writes one report: -o report.json, .csv, .md or .xml";

/// All tools; the first one takes precedence for an ambiguous line.
pub const TOOLS: [&Tool; 5] = [&WRK, &HEY, &AB, &H2LOAD, &GO_STRESS];

const WRK: Tool = Tool {
    name: "wrk",
    programs: &["wrk", "wrk2"],
    users: 10,
    requests: None,
    time: "10s",
    requests_of_each: false,
    rate_of_each: false,
    keepalive: true,
    always: &[],
    go: false,
    options: &[
        (&["-c", "--connections"], Becomes::Users),
        (&["-d", "--duration"], Becomes::Time("-d")),
        (&["-t", "--threads"], Becomes::Value("-w")),
        (&["-R", "--rate"], Becomes::Rate),
        (&["-H", "--header"], Becomes::Header("")),
        (&["--timeout"], Becomes::Time("-t")),
        (&["-L", "-U", "--latency", "--u_latency"], Becomes::Nothing),
        (
            &["-s", "--script"],
            Becomes::NoteOf("brunt runs no scripts; -H, --data and slots such as {counter} vary requests"),
        ),
    ],
};

const AB: Tool = Tool {
    name: "ab",
    programs: &["ab"],
    users: 1,
    requests: Some(1),
    time: "10s",
    requests_of_each: false,
    rate_of_each: false,
    keepalive: false,
    always: &[],
    go: false,
    options: &[
        (&["-n"], Becomes::Requests),
        (&["-c"], Becomes::Users),
        (&["-t"], Becomes::Time("-d")),
        (&["-s"], Becomes::Time("-t")),
        (&["-k"], Becomes::Keepalive(true)),
        (&["-p"], Becomes::Value("--data-file")),
        (&["-u"], Becomes::With(&["-X", "PUT"], "--data-file")),
        (&["-T"], Becomes::Header("Content-Type")),
        (&["-H"], Becomes::Header("")),
        (&["-C"], Becomes::Value("--cookie")),
        (&["-A"], Becomes::Value("--user")),
        (&["-m"], Becomes::Value("-X")),
        (&["-i"], Becomes::Words(&["-X", "HEAD"])),
        (&["-B"], Becomes::Value("--source")),
        (&["-E"], Becomes::NoteOf("write --cert FILE --key FILE")),
        (&["-X"], NO_PROXY),
        (&["-P"], NO_PROXY),
        (&["-e", "-g"], Becomes::NoteOf(SHOWN)),
        (&["-w"], Becomes::Note(SHOWN)),
        (&["-v"], Becomes::NoteOf("--debug shows one whole exchange")),
        (&["-Z", "-f", "-b", "-x", "-y", "-z"], Becomes::NoteOf("has no counterpart")),
        (&["-r", "-q", "-l", "-d", "-S", "-I"], Becomes::Nothing),
    ],
};

const HEY: Tool = Tool {
    name: "hey",
    programs: &["hey", "hey_linux_amd64"],
    users: 50,
    requests: Some(200),
    time: "10s",
    requests_of_each: false,
    rate_of_each: true,
    keepalive: true,
    always: &[],
    go: true,
    options: &[
        (&["-n"], Becomes::Requests),
        (&["-c"], Becomes::Users),
        (&["-z"], Becomes::Time("-d")),
        (&["-q"], Becomes::RateOfEach),
        (&["-t"], Becomes::Time("-t")),
        (&["-m"], Becomes::Value("-X")),
        (&["-H"], Becomes::Header("")),
        (&["-A"], Becomes::Header("Accept")),
        (&["-T"], Becomes::Header("Content-Type")),
        (&["-U"], Becomes::Header("User-Agent")),
        (&["-host"], Becomes::Header("Host")),
        (&["-d"], Becomes::Value("--data-raw")),
        (&["-D"], Becomes::Value("--data-file")),
        (&["-a"], Becomes::Value("--user")),
        (&["-cpus"], Becomes::Value("-w")),
        (&["-h2"], Becomes::Words(&["--http", "2"])),
        (&["-disable-keepalive"], Becomes::Keepalive(false)),
        (&["-disable-redirects", "-disable-compression"], Becomes::Nothing),
        (&["-o"], Becomes::NoteOf(SHOWN)),
        (&["-x"], NO_PROXY),
    ],
};

const H2LOAD: Tool = Tool {
    name: "h2load",
    programs: &["h2load"],
    users: 1,
    requests: Some(1),
    time: "10s",
    requests_of_each: false,
    rate_of_each: true,
    keepalive: true,
    always: &["--http", "2"],
    go: false,
    options: &[
        (&["-n", "--requests"], Becomes::Requests),
        (&["-c", "--clients"], Becomes::Users),
        (&["-t", "--threads"], Becomes::Value("-w")),
        (&["-m", "--max-concurrent-streams"], Becomes::Streams),
        (&["-D", "--duration"], Becomes::Time("-d")),
        (&["--rps"], Becomes::RateOfEach),
        (&["-H", "--header"], Becomes::Header("")),
        (&["-d", "--data"], Becomes::Value("--data-file")),
        (&["-i", "--input-file"], Becomes::Value("--urls")),
        (&["--warm-up-time"], Becomes::Time("--warmup")),
        (&["-r", "--rate"], Becomes::Value("--connect-rate")),
        (&["--h1"], Becomes::Words(&["--http", "1.1"])),
        (&["-p", "--no-tls-proto", "--npn-list", "--alpn-list"], Becomes::NoteOf("write --http 1.1 or --http 2")),
        (&["-N", "-T", "-w", "-W", "-B", "-f"], Becomes::NoteOf("has no counterpart")),
        (&["-v", "--verbose"], Becomes::Note("--debug shows one whole exchange")),
    ],
};

const GO_STRESS: Tool = Tool {
    name: "go-stress-testing",
    programs: &["go-stress-testing", "go-stress-testing-linux", "go-stress-testing-mac", "go-stress-testing-win.exe"],
    users: 1,
    requests: Some(1),
    time: "10s",
    requests_of_each: true,
    rate_of_each: false,
    keepalive: false,
    always: &[],
    go: true,
    options: &[
        (&["-c"], Becomes::Users),
        (&["-n"], Becomes::Requests),
        (&["-u"], Becomes::Url),
        (&["-k"], Becomes::Keepalive(true)),
        (&["-H"], Becomes::Header("")),
        (&["-data"], Becomes::Value("--data-raw")),
        (&["-code"], Becomes::Value("--expect-status")),
        (&["-p"], Becomes::Value("--curl-file")),
        (&["-cpuNumber"], Becomes::Value("-w")),
        (&["-http2"], Becomes::Words(&["--http", "2"])),
        (&["-redirect"], Becomes::Words(&["-L"])),
        (&["-d"], Becomes::NoteOf("--debug shows one whole exchange")),
        (&["-m"], Becomes::NoteOf("users have one connection each; with -r, write --max-connections N")),
        (&["-v"], Becomes::NoteOf("checks are --expect-status, --expect-body and --expect-json '$.code == 200'")),
    ],
};
