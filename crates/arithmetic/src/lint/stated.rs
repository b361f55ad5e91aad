//! A run as the output of its tool states it, in terms that are the same for all tools.

use super::command::PastedCommand;
use super::quantities::PrintedNumber;

/// A load testing tool whose output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolName {
    /// ApacheBench.
    Ab,
    /// wrk.
    Wrk,
    /// wrk2: wrk with a rate.
    Wrk2,
    /// hey, once boom.
    Hey,
    /// oha, which prints what hey does.
    Oha,
    /// webbench.
    Webbench,
    /// go-stress-testing.
    GoStressTesting,
    /// k6.
    K6,
    /// Apache JMeter.
    JMeter,
    /// Locust.
    Locust,
}

impl ToolName {
    /// Returns the name of the tool as it writes it itself.
    pub fn name(self) -> &'static str {
        match self {
            ToolName::Ab => "ab",
            ToolName::Wrk => "wrk",
            ToolName::Wrk2 => "wrk2",
            ToolName::Hey => "hey",
            ToolName::Oha => "oha",
            ToolName::Webbench => "webbench",
            ToolName::GoStressTesting => "go-stress-testing",
            ToolName::K6 => "k6",
            ToolName::JMeter => "JMeter",
            ToolName::Locust => "Locust",
        }
    }
}

/// A percentile as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedPercentile {
    /// Share of the requests that took no longer, 0 to 1.
    pub q: f64,
    /// Time in seconds.
    pub time: PrintedNumber,
}

/// The figures of requests of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedPart {
    /// Name as printed.
    pub name: String,
    /// Number of requests.
    pub requests: u64,
    /// Percentiles.
    pub percentiles: Vec<StatedPercentile>,
}

/// A row of a table that counts since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CumulativeRow {
    /// Seconds since the start.
    pub at_s: f64,
    /// Users that have had an answer so far.
    pub users: u64,
    /// Successes since the start.
    pub succeeded: u64,
    /// Failures since the start.
    pub failed: u64,
    /// Requests per second, as printed.
    pub rate_per_s: f64,
    /// Mean time since the start, in seconds.
    pub mean_s: f64,
}

/// Who decides when the next request is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadKind {
    /// Users who send as soon as they have their answer.
    Closed,
    /// Users who may pause, or start and stop during the run.
    #[default]
    Loose,
    /// A schedule.
    Open,
}

/// What becomes of a connection after a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionReuse {
    /// It carries the next request.
    Kept,
    /// Each request opens a new one.
    Fresh,
    /// The output does not tell.
    #[default]
    Unknown,
}

/// A run as stated.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedRun {
    /// The tool.
    pub tool: ToolName,
    /// Number of its first line in the paste.
    pub line: usize,
    /// Its command, if that is in the paste as well.
    pub command: Option<PastedCommand>,
    /// What was loaded, as the output itself states it.
    pub target: Option<String>,
    /// Users, as the output itself states them.
    pub users: Option<u64>,
    /// Who decides when the next request is sent.
    pub load: LoadKind,
    /// What becomes of connections.
    pub reuse: ConnectionReuse,
    /// Duration in seconds.
    pub duration: Option<PrintedNumber>,
    /// Duration asked for, in seconds.
    pub asked_duration: Option<PrintedNumber>,
    /// Requests that ended, as the tool counts them.
    pub requests: Option<u64>,
    /// Requests whose times the latency figures are made of.
    pub timed: Option<u64>,
    /// Failed requests whose times are in the latency.
    pub failed_inside: u64,
    /// Those of them that only had a status other than 2xx, which a redirect has as well.
    pub other_status: u64,
    /// Failed requests whose times are left out of the latency.
    pub failed_outside: u64,
    /// Those of the latter that timed out.
    pub timed_out: u64,
    /// Responses that only differ in length from the first one (ab counts them as failed).
    pub other_length: u64,
    /// Connections that could not be made.
    pub unconnected: u64,
    /// Requests that were due and never sent.
    pub dropped: u64,
    /// Throughput per second.
    pub rate: Option<PrintedNumber>,
    /// The same per minute, where the tool prints that.
    pub per_minute: Option<PrintedNumber>,
    /// Mean, in seconds.
    pub mean: Option<PrintedNumber>,
    /// Mean of the successful requests alone, in seconds.
    pub mean_of_good: Option<PrintedNumber>,
    /// Standard deviation, in seconds.
    pub deviation: Option<PrintedNumber>,
    /// Shortest time, in seconds.
    pub min: Option<PrintedNumber>,
    /// Longest time, in seconds.
    pub max: Option<PrintedNumber>,
    /// Upper bound of the first bar of the histogram that has requests, in seconds.
    pub first_bar: Option<PrintedNumber>,
    /// Percentiles, the lowest first.
    pub percentiles: Vec<StatedPercentile>,
    /// Rate and time of whatever its users do one after the other: the request, unless the tool tells more.
    pub cycle: Option<(PrintedNumber, PrintedNumber)>,
    /// Figures by name.
    pub parts: Vec<StatedPart>,
    /// Rows that count since the start.
    pub rows: Vec<CumulativeRow>,
}

impl StatedRun {
    /// Creates a run of which nothing is stated.
    pub fn new(tool: ToolName, line: usize) -> StatedRun {
        StatedRun {
            tool,
            line,
            command: None,
            target: None,
            users: None,
            load: LoadKind::default(),
            reuse: ConnectionReuse::default(),
            duration: None,
            asked_duration: None,
            requests: None,
            timed: None,
            failed_inside: 0,
            other_status: 0,
            failed_outside: 0,
            timed_out: 0,
            other_length: 0,
            unconnected: 0,
            dropped: 0,
            rate: None,
            per_minute: None,
            mean: None,
            mean_of_good: None,
            deviation: None,
            min: None,
            max: None,
            first_bar: None,
            percentiles: Vec::new(),
            cycle: None,
            parts: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Returns the users: those of the output, or else those of its command.
    pub fn users(&self) -> Option<u64> {
        self.users.or_else(|| self.command.as_ref()?.users)
    }

    /// Returns the printed percentile at `q`.
    pub fn percentile(&self, q: f64) -> Option<PrintedNumber> {
        self.percentiles.iter().find(|percentile| (percentile.q - q).abs() < 1e-9).map(|percentile| percentile.time)
    }

    /// Returns the time limit of a request in seconds: that of its command, or else the tool's default, if it has one.
    pub fn timeout_s(&self) -> Option<f64> {
        let default = match self.tool {
            // `SOCKET_TIMEOUT_MS`.
            ToolName::Wrk | ToolName::Wrk2 => Some(2.0),
            // The default of `-t`.
            ToolName::Hey => Some(20.0),
            _ => None,
        };
        self.command.as_ref().and_then(|command| command.timeout_s).or(default)
    }

    /// Returns `true` if its users wait until their next request is due, as far as the command tells.
    pub fn is_paced(&self) -> bool {
        self.command.as_ref().is_some_and(|command| command.rate_per_s.is_some())
    }

    /// Returns the rate and the time to which Little's law applies.
    pub fn cycle(&self) -> Option<(PrintedNumber, PrintedNumber)> {
        self.cycle.or_else(|| self.rate.zip(self.mean))
    }

    /// Returns the command of brunt that would measure the same, with these options in front of the URL.
    pub fn brunt(&self, options: &str) -> String {
        let url = self.command.as_ref().and_then(|command| command.url.as_deref()).unwrap_or("URL");
        let fresh = if self.reuse == ConnectionReuse::Fresh { " --no-keepalive" } else { "" };
        format!("brunt {options}{fresh} {url}")
    }

    /// Returns that command with the same users in closed load, for at least ten seconds.
    pub fn brunt_with_users(&self) -> String {
        self.brunt(&format!("-c {} -d 30s", self.users().unwrap_or(10)))
    }

    /// Returns that command with the same kind of load.
    pub fn brunt_again(&self) -> String {
        if self.load == LoadKind::Open { self.brunt_with_rate() } else { self.brunt_with_users() }
    }

    /// Returns that command with the same rate in open load.
    pub fn brunt_with_rate(&self) -> String {
        let rate = self.rate.map_or(100.0, |rate| rate.value);
        let shown = if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") };
        self.brunt(&format!("-r {shown}/s -d 1m"))
    }
}
