//! The load of a run from its flags: users or a rate, how long, in which stages; and what does not go together.

use measure::Nanos;
use plan::stages::Level;
use plan::{Arrivals, Load, Stage, quantity, stages};
use wire::Complaint;

use super::matched::Matched;

/// Most users a run may ask for.
pub(super) const MOST_USERS: u64 = plan::Change::MOST_USERS as u64;

/// How long a level holds where only `-n` ends the run: longer than any run.
pub(super) const UNTIL_DONE: Nanos = Nanos::from_secs(100 * 86_400);

/// When requests are sent and when that ends.
#[derive(Debug, PartialEq)]
pub struct Asked {
    /// The load.
    pub load: Load,
    /// Stop after so many requests.
    pub requests: Option<u64>,
    /// Stop after so long.
    pub duration: Option<Nanos>,
    /// Connections that a rate goes over, where the protocol keeps `-c` of them.
    pub connections: Option<u32>,
}

/// Reads `-c -n -d -r --arrivals --stage --think --together --hold`. `fixed`: the protocol keeps `-c` connections, so that a
/// rate may stand beside it. `several`: each scenario of the plan has a load of its own, and what is said of rates is about theirs.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(flags: &Matched<'_>, fixed: bool, several: bool) -> Result<Asked, Complaint> {
    let requests = flags.parsed("requests", "-n", |text| quantity::count(text, "requests"))?;
    let iterations = flags.parsed("iterations", "--iterations", |text| quantity::count(text, "iterations"))?;
    let requests = iterations.or(requests);
    let duration = flags.time("duration", "-d")?;
    let staged = staged(flags)?;
    if let (Some(_), Some(given)) = (&staged, flags.text("duration")) {
        let trouble = format!("{given} does not go with --stage, whose times add up; leave one of them out");
        return Err(Complaint::new("-d", trouble));
    }
    let duration = match (&staged, duration, requests) {
        (Some((stages, _)), _, _) => Some(stages.iter().fold(Nanos::ZERO, |sum, s| sum.saturating_add(s.lasts))),
        (None, None, None) if flags.given("hold") => None,
        (None, None, None) => Some(Nanos::from_secs(10)),
        (None, given, _) => given,
    };
    let constant = |level: f64| vec![Stage { lasts: duration.unwrap_or(UNTIL_DONE), from: level, to: level }];
    let rate = flags.parsed("rate", "-r", rate)?;
    let load = match (staged, rate) {
        (Some((stages, Level::Rate)), _) => open(flags, stages, fixed)?,
        (Some((stages, Level::Users)), _) => closed(flags, stages, several)?,
        (None, Some(rate)) => open(flags, constant(rate), fixed)?,
        (None, None) => closed(flags, constant(f64::from(users(flags, requests)?)), several)?,
    };
    let connections = match load.is_open() && fixed {
        true => Some(users(flags, None)?),
        false => None,
    };
    Ok(Asked { load, requests, duration, connections })
}

fn rate(text: &str) -> Result<f64, String> {
    match text.strip_prefix('-').map(quantity::rate) {
        Some(Ok(_)) => Err(format!("`{text}` must be above zero; write a rate such as 100/s")),
        _ => quantity::rate(text),
    }
}

fn staged(flags: &Matched<'_>) -> Result<Option<(Vec<Stage>, Level)>, Complaint> {
    let texts = flags.texts("stage");
    if texts.is_empty() {
        return Ok(None);
    }
    for (name, place) in [("users", "-c"), ("rate", "-r")] {
        if let Some(given) = flags.text(name) {
            let trouble = format!("{given} does not go with --stage, which has its own levels; leave one of them out");
            return Err(Complaint::new(place, trouble));
        }
    }
    stages::parse_all(texts).map(Some).map_err(|trouble| Complaint::new("--stage", trouble))
}

fn users(flags: &Matched<'_>, requests: Option<u64>) -> Result<u32, Complaint> {
    let given = flags.parsed("users", "-c", |text| quantity::bounded_count(text, "users", MOST_USERS))?;
    match (given, requests) {
        (Some(users), Some(requests)) if requests < u64::from(users) => Err(Complaint::new(
            "-n",
            format!("{requests} requests are too few for {users} users; write -n {users} or more, or -c {requests}"),
        )),
        (Some(users), _) => Ok(users),
        (None, requests) => Ok(requests.map_or(10, |n| n.min(10) as u32)),
    }
}

fn open(flags: &Matched<'_>, stages: Vec<Stage>, fixed: bool) -> Result<Load, Complaint> {
    if let Some(users) = flags.text("users").filter(|_| !fixed) {
        let trouble = format!(
            "{users} users do not go with a rate (-r); leave one of them out, or limit the connections with \
                --max-connections {users}"
        );
        return Err(Complaint::new("-c", trouble));
    }
    let closed_only = [
        ("--think", flags.given("think")),
        ("--interval", flags.given("interval")),
        ("--together", flags.switch("together")),
        ("--hold", flags.given("hold")),
    ];
    if let Some((place, _)) = closed_only.iter().find(|(_, given)| *given) {
        return Err(Complaint::new(
            *place,
            "needs users and does not go with a rate; leave it out, or write -c 10 instead of the rate",
        ));
    }
    let words = [("poisson", Arrivals::Poisson), ("constant", Arrivals::Constant), ("burst", Arrivals::Burst)];
    Ok(Load::Open { stages, arrivals: flags.word("arrivals", &words)?.unwrap_or_default() })
}

fn closed(flags: &Matched<'_>, stages: Vec<Stage>, several: bool) -> Result<Load, Complaint> {
    if flags.given("arrivals") {
        return Err(Complaint::new("--arrivals", "needs a rate; add one, such as -r 100/s"));
    }
    if flags.given("max-connections") && !several {
        let trouble = "needs a rate, as users have a connection each; add one, such as -r 100/s, or use -c";
        return Err(Complaint::new("--max-connections", trouble));
    }
    if flags.given("slack") && !several {
        let trouble = "needs a rate; add one, such as -r 100/s";
        return Err(Complaint::new("--slack", trouble));
    }
    let together = flags.switch("together");
    if together && stages.iter().any(|s| s.from != s.to) {
        let trouble = "starts all users at once, and --stage changes their number; leave one of them out";
        return Err(Complaint::new("--together", trouble));
    }
    let think = flags.parsed("think", "--think", quantity::duration_range)?;
    let interval = flags.parsed("interval", "--interval", quantity::duration_range)?;
    if think.is_some() && interval.is_some() {
        return Err(Complaint::new("--interval", "is the same as --think; leave one of them out"));
    }
    let think = think.or(interval);
    if flags.given("hold") && (flags.given("duration") || flags.given("requests") || flags.given("stage")) {
        let trouble = "holds the connections once all messages are sent, and does not go with -d, -n or --stage; \
            leave one of them out";
        return Err(Complaint::new("--hold", trouble));
    }
    Ok(Load::Closed { stages, think, together })
}
