//! The options of wrk, ab, hey, h2load and go-stress-testing, and their equivalents in brunt.

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
    /// Options of brunt that are always added.
    pub always: &'static [&'static str],
    /// Set if long options may begin with a single dash, as in Go.
    go: bool,
    options: &'static [(&'static [&'static str], Equivalent)],
}

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
    /// Unsupported, for the given reason; takes no value.
    Note(&'static str),
    /// Unsupported, for the given reason; takes a value.
    NoteOf(&'static str),
}

impl Equivalent {
    /// Returns `true` if the option takes a value.
    pub fn takes(self) -> bool {
        !matches!(self, Equivalent::Words(_) | Equivalent::Keepalive(_) | Equivalent::Nothing | Equivalent::Note(_))
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

const NO_PROXY: Equivalent = Equivalent::NoteOf("use -x PROXY");
const SHOWN: &str = "brunt writes one report: -o report.json, .csv, .md or .xml";

/// All tools; for an ambiguous line, the first one takes precedence.
pub const TOOLS: [&LoadTool; 5] = [&WRK, &HEY, &AB, &H2LOAD, &GO_STRESS];

const WRK: LoadTool = LoadTool {
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
        (&["-c", "--connections"], Equivalent::Users),
        (&["-d", "--duration"], Equivalent::Time("-d")),
        (&["-t", "--threads"], Equivalent::Value("-w")),
        (&["-R", "--rate"], Equivalent::Rate),
        (&["-H", "--header"], Equivalent::Header("")),
        (&["--timeout"], Equivalent::Time("-t")),
        (&["-L", "-U", "--latency", "--u_latency"], Equivalent::Nothing),
        (
            &["-s", "--script"],
            Equivalent::NoteOf("brunt runs no scripts; -H, --data and slots such as {counter} vary requests"),
        ),
    ],
};

const AB: LoadTool = LoadTool {
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
        (&["-n"], Equivalent::Requests),
        (&["-c"], Equivalent::Users),
        (&["-t"], Equivalent::Time("-d")),
        (&["-s"], Equivalent::Time("-t")),
        (&["-k"], Equivalent::Keepalive(true)),
        (&["-p"], Equivalent::Value("--data-file")),
        (&["-u"], Equivalent::With(&["-X", "PUT"], "--data-file")),
        (&["-T"], Equivalent::Header("Content-Type")),
        (&["-H"], Equivalent::Header("")),
        (&["-C"], Equivalent::Value("--cookie")),
        (&["-A"], Equivalent::Value("--user")),
        (&["-m"], Equivalent::Value("-X")),
        (&["-i"], Equivalent::Words(&["-X", "HEAD"])),
        (&["-B"], Equivalent::Value("--source")),
        (&["-E"], Equivalent::NoteOf("use --cert FILE --key FILE")),
        (&["-X"], NO_PROXY),
        (&["-P"], NO_PROXY),
        (&["-e", "-g"], Equivalent::NoteOf(SHOWN)),
        (&["-w"], Equivalent::Note(SHOWN)),
        (&["-v"], Equivalent::NoteOf("--debug shows one whole exchange")),
        (&["-Z", "-f", "-b", "-x", "-y", "-z"], Equivalent::NoteOf("has no counterpart")),
        (&["-r", "-q", "-l", "-d", "-S", "-I"], Equivalent::Nothing),
    ],
};

const HEY: LoadTool = LoadTool {
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
        (&["-n"], Equivalent::Requests),
        (&["-c"], Equivalent::Users),
        (&["-z"], Equivalent::Time("-d")),
        (&["-q"], Equivalent::RateOfEach),
        (&["-t"], Equivalent::Time("-t")),
        (&["-m"], Equivalent::Value("-X")),
        (&["-H"], Equivalent::Header("")),
        (&["-A"], Equivalent::Header("Accept")),
        (&["-T"], Equivalent::Header("Content-Type")),
        (&["-U"], Equivalent::Header("User-Agent")),
        (&["-host"], Equivalent::Header("Host")),
        (&["-d"], Equivalent::Value("--data-raw")),
        (&["-D"], Equivalent::Value("--data-file")),
        (&["-a"], Equivalent::Value("--user")),
        (&["-cpus"], Equivalent::Value("-w")),
        (&["-h2"], Equivalent::Words(&["--http", "2"])),
        (&["-disable-keepalive"], Equivalent::Keepalive(false)),
        (&["-disable-redirects", "-disable-compression"], Equivalent::Nothing),
        (&["-o"], Equivalent::NoteOf(SHOWN)),
        (&["-x"], NO_PROXY),
    ],
};

const H2LOAD: LoadTool = LoadTool {
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
        (&["-n", "--requests"], Equivalent::Requests),
        (&["-c", "--clients"], Equivalent::Users),
        (&["-t", "--threads"], Equivalent::Value("-w")),
        (&["-m", "--max-concurrent-streams"], Equivalent::Streams),
        (&["-D", "--duration"], Equivalent::Time("-d")),
        (&["--rps"], Equivalent::RateOfEach),
        (&["-H", "--header"], Equivalent::Header("")),
        (&["-d", "--data"], Equivalent::Value("--data-file")),
        (&["-i", "--input-file"], Equivalent::Value("--urls")),
        (&["--warm-up-time"], Equivalent::Time("--warmup")),
        (&["-r", "--rate"], Equivalent::Value("--connect-rate")),
        (&["--h1"], Equivalent::Words(&["--http", "1.1"])),
        (&["-p", "--no-tls-proto", "--npn-list", "--alpn-list"], Equivalent::NoteOf("use --http 1.1 or --http 2")),
        (&["-N", "-T", "-w", "-W", "-B", "-f"], Equivalent::NoteOf("has no counterpart")),
        (&["-v", "--verbose"], Equivalent::Note("--debug shows one whole exchange")),
    ],
};

const GO_STRESS: LoadTool = LoadTool {
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
        (&["-c"], Equivalent::Users),
        (&["-n"], Equivalent::Requests),
        (&["-u"], Equivalent::Url),
        (&["-k"], Equivalent::Keepalive(true)),
        (&["-H"], Equivalent::Header("")),
        (&["-data"], Equivalent::Value("--data-raw")),
        (&["-code"], Equivalent::Value("--expect-status")),
        (&["-p"], Equivalent::Value("--curl-file")),
        (&["-cpuNumber"], Equivalent::Value("-w")),
        (&["-http2"], Equivalent::Words(&["--http", "2"])),
        (&["-redirect"], Equivalent::Words(&["-L"])),
        (&["-d"], Equivalent::NoteOf("--debug shows one whole exchange")),
        (&["-m"], Equivalent::NoteOf("users have one connection each; with -r, use --max-connections N")),
        (&["-v"], Equivalent::NoteOf("checks are --expect-status, --expect-body and --expect-json '$.code == 200'")),
    ],
};
