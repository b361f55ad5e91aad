//! What happens before the first load: what will be done, whom it may harm, and one counted answer.

use std::io::{BufRead, IsTerminal, Write};
use std::net::IpAddr;

use engine::{PreparedRun, Resolver};
use plan::{Arrivals, Load, Plan, address};
use report::{Lang, show};
use wire::{Complaint, Place};

use crate::messages;

/// Loads above these on a public address are asked about.
const POLITE_USERS: f64 = 50.0;
const POLITE_RATE: f64 = 1000.0;

/// What a run will do, in a line.
pub fn intro(plan: &Plan, lang: Lang) -> String {
    let first = plan.urls.first().map_or("", |url| url.url.as_str());
    let more = (plan.urls.len().saturating_sub(1)).to_string();
    let url = match plan.urls.len() {
        0 | 1 => first.to_string(),
        _ => lang.fill(messages::AND_MORE, &[("url", first), ("n", &more)]),
    };
    let length = length(plan, lang);
    let level = level(plan);
    let mut line = match (&plan.load, plan.hold) {
        (Load::Closed { .. }, Some(hold)) => {
            lang.fill(messages::HOLD, &[("n", &level), ("time", &span(hold)), ("url", &url)])
        }
        (Load::Closed { .. }, None) => {
            lang.fill(messages::CLOSED, &[("users", &level), ("length", &length), ("url", &url)])
        }
        (Load::Open { arrivals, .. }, _) => {
            let arrivals = match arrivals {
                Arrivals::Poisson => "poisson",
                Arrivals::Constant => "constant",
                Arrivals::Burst => "burst",
            };
            let facts = [("rate", level.as_str()), ("arrivals", arrivals), ("length", &length), ("url", &url)];
            lang.fill(messages::OPEN, &facts)
        }
    };
    if plan.warmup.0 > 0 {
        line += &lang.fill(messages::WARMUP, &[("time", &span(plan.warmup))]);
    }
    let message = if workers(plan) == 1 { messages::ONE_WORKER } else { messages::WORKERS };
    line + &lang.fill(message, &[("n", &workers(plan).to_string())])
}

/// A worker without a user or a connection would have nothing to do.
fn workers(plan: &Plan) -> u32 {
    let most = match &plan.load {
        Load::Closed { .. } => plan.load.peak() as u32,
        Load::Open { .. } => plan.max_connections,
    };
    plan.workers.clamp(1, most.max(1))
}

fn length(plan: &Plan, lang: Lang) -> String {
    let requests = plan.requests.map(show::count).unwrap_or_default();
    match (plan.duration, plan.requests) {
        (Some(time), None) => span(time),
        (Some(time), Some(_)) => lang.fill(messages::LENGTH_BOTH, &[("time", &span(time)), ("n", &requests)]),
        (None, _) => lang.fill(messages::LENGTH_REQUESTS, &[("n", &requests)]),
    }
}

/// The level of the load, or its way through the stages.
fn level(plan: &Plan) -> String {
    let number = |level: f64| match plan.load {
        Load::Closed { .. } => show::count(level as u64),
        Load::Open { .. } => show::rate(level),
    };
    let mut path: Vec<String> = plan.load.stages().iter().flat_map(|s| [number(s.from), number(s.to)]).collect();
    path.dedup();
    path.join("→")
}

/// A planned time: `10 s`, `90 s`, `2 min`, `1.5 s`. Unlike a measured one it has no digits that say nothing.
pub fn span(time: measure::Nanos) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 120.0 && s % 60.0 == 0.0 => format!("{} min", s / 60.0),
        s if s >= 1.0 => format!("{s} s"),
        s => format!("{} ms", s * 1e3),
    }
}

/// Asks, or refuses, where the load is heavy and one of the origins is on a public address.
///
/// # Errors
/// Why the run may not begin: nobody could be asked, the answer was no (exit 64), or a name was not found (exit 30).
pub fn may_load(plan: &Plan, prepared: &dyn PreparedRun, resolver: &dyn Resolver, lang: Lang) -> Result<(), Complaint> {
    let polite = if plan.load.is_open() { POLITE_RATE } else { POLITE_USERS };
    if plan.load.peak() <= polite {
        return Ok(());
    }
    let Some((host, address)) = public_origin(prepared, resolver) else { return Ok(()) };
    let level = show::count(plan.load.peak() as u64);
    let load = match plan.load {
        Load::Closed { .. } => lang.fill(messages::USERS, &[("n", &level)]),
        Load::Open { .. } => format!("{level}/s"),
    };
    let address = address.to_string();
    let facts = [("host", host.as_str()), ("address", &address), ("load", &load)];
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Complaint::new("--yes", lang.fill(messages::PUBLIC_REFUSED, &facts)));
    }
    eprint!("{}", lang.fill(messages::PUBLIC_ASK, &facts));
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "是" => Ok(()),
        _ => Err(Complaint::new("--yes", lang.of(messages::PUBLIC_DECLINED))),
    }
}

/// The first origin on a public address. A name that is not found is left to the probe.
fn public_origin(prepared: &dyn PreparedRun, resolver: &dyn Resolver) -> Option<(String, IpAddr)> {
    prepared.origins().iter().find_map(|origin| {
        let places = resolver.resolve(origin).unwrap_or_default();
        places.into_iter().find_map(|place| match place {
            Place::Tcp(to) | Place::Udp(to) if address::is_public(to.ip()) => Some((origin.host.clone(), to.ip())),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{ProbeFailure, ProbeResult, Setup, Stop};
    use measure::Nanos;
    use record::RunEvent;
    use std::sync::Arc;
    use wire::Origin;

    struct Known(Vec<Origin>);
    impl PreparedRun for Known {
        fn origins(&self) -> &[Origin] {
            &self.0
        }
        fn probe(&self, _: &Setup, _: &Stop) -> Result<ProbeResult, Box<ProbeFailure>> {
            unreachable!("nothing is sent before the question")
        }
        fn before(&self, _: &Setup, _: &Stop) -> Result<(), String> {
            unreachable!("nothing is sent before the question")
        }
        fn after(&self, _: &Setup) -> Option<String> {
            None
        }
        fn take_share(self: Arc<Self>, _: &Setup, _: &engine::Task, _: engine::Lines, _: engine::Answers) {}
        fn run(self: Arc<Self>, _: &Setup, _: &Stop, _: &mut dyn FnMut(RunEvent)) {}
    }

    struct Table;
    impl Resolver for Table {
        fn resolve(&self, origin: &Origin) -> Result<Vec<Place>, String> {
            let ip: IpAddr = origin.host.parse().map_err(|_| "not found".to_string())?;
            Ok(vec![Place::Tcp((ip, origin.port).into())])
        }
    }

    #[test]
    fn a_public_address_is_found_among_the_origins() {
        let origins =
            |hosts: &[&str]| Known(hosts.iter().map(|host| Origin::tcp(host.to_string(), 80, false)).collect());
        let found = |hosts: &[&str]| public_origin(&origins(hosts), &Table).map(|(host, _)| host);
        assert_eq!(found(&["127.0.0.1", "10.0.0.1", "nowhere"]), None);
        assert_eq!(found(&["127.0.0.1", "8.8.8.8"]).as_deref(), Some("8.8.8.8"));
    }

    #[test]
    fn planned_times() {
        let table =
            [(10_000, "10 s"), (90_000, "90 s"), (120_000, "2 min"), (1_500, "1.5 s"), (250, "250 ms"), (0, "0 ms")];
        for (ms, text) in table {
            assert_eq!(span(Nanos::from_millis(ms)), text);
        }
    }
}
