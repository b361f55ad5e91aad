//! The steps before the first load: the announcement of the run, the confirmation for public addresses, and the first
//! answer.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::net::IpAddr;

use brunt_contract::{Origin, UsageError};
use brunt_plan::{Arrivals, Load, Plan, public_load};
use brunt_report::{Lang, numbers};

use crate::messages;
use brunt_bench::guard::PublicAddressGuard;
use brunt_bench::proxy_route;

/// Maximum number of URLs that an announcement lists.
const LISTED: usize = 3;

/// Returns the announcement of a run with this many workers, in one line.
pub fn announcement(plan: &Plan, workers: u32, lang: Lang) -> String {
    let url = targets(plan, lang);
    let length = length(plan, lang);
    let level = level(plan);
    let names = || plan.scenarios.iter().map(|scenario| &*scenario.name).collect::<Vec<_>>().join(", ");
    let mut line = match (&plan.load, plan.hold) {
        _ if !plan.scenarios.is_empty() => {
            let n = plan.scenarios.len().to_string();
            lang.fill(messages::SCENARIOS, &[("n", &n), ("names", &names()), ("length", &length), ("url", &url)])
        }
        (Load::Closed { .. }, Some(hold)) => {
            lang.fill(messages::HOLD, &[("n", &level), ("time", &span(hold)), ("url", &url)])
        }
        (Load::Closed { .. }, None) => {
            lang.fill(messages::CLOSED, &[("users", &level), ("length", &length), ("url", &url)])
        }
        (Load::Open { arrivals, .. }, _) => {
            let arrivals = match arrivals {
                Arrivals::Poisson => messages::POISSON,
                Arrivals::Constant => messages::CONSTANT,
                Arrivals::Burst => messages::BURST,
            };
            let facts = [("rate", level.as_str()), ("arrivals", lang.of(arrivals)), ("length", &length), ("url", &url)];
            lang.fill(messages::OPEN, &facts)
        }
    };
    if plan.warmup.0 > 0 {
        line += &lang.fill(messages::WARMUP, &[("time", &span(plan.warmup))]);
    }
    if !plan.proxies.is_none() {
        line += &lang.fill(messages::THROUGH, &[("proxy", &proxy_route::shown_proxies(plan))]);
    }
    line + &lang.fill(messages::WORKERS, &[("n", &workers.to_string())])
}

/// Returns where the requests of a plan go. A flow has a first URL; several URLs without a flow are drawn at random.
fn targets(plan: &Plan, lang: Lang) -> String {
    let first = plan.urls.first().map_or("", |url| url.url.as_str());
    match plan.count_urls() {
        0 | 1 => first.to_owned(),
        count if plan.has_flows() => lang.fill(messages::AND_MORE, &[("url", first), ("n", &(count - 1).to_string())]),
        count => {
            let mut listed: Vec<&str> = plan.urls.iter().take(LISTED).map(|url| url.url.as_str()).collect();
            listed.extend((count > LISTED).then_some("…"));
            lang.fill(messages::IN_RANDOM_ORDER, &[("n", &count.to_string()), ("urls", &listed.join(", "))])
        }
    }
}

/// Returns a note about proxies set by the environment.
pub fn proxies(plan: &Plan, lang: Lang) -> Option<String> {
    let variables = plan.proxies.variables.join(", ");
    let facts = [("variables", variables.as_str()), ("proxy", &proxy_route::shown_proxies(plan))];
    (!variables.is_empty()).then(|| lang.fill(messages::PROXY_OF_ENVIRONMENT, &facts))
}

fn length(plan: &Plan, lang: Lang) -> String {
    let n = plan.requests.map(numbers::count).unwrap_or_default();
    let (both, alone) = match plan.flow {
        Some(_) => (messages::LENGTH_BOTH_ITERATIONS, messages::LENGTH_ITERATIONS),
        None => (messages::LENGTH_BOTH, messages::LENGTH_REQUESTS),
    };
    match (plan.duration, plan.requests) {
        (None, None) => lang.of(messages::LENGTH_UNTIL_DONE).to_owned(),
        (Some(time), None) => span(time),
        (Some(time), Some(_)) => lang.fill(both, &[("time", &span(time)), ("n", &n)]),
        (None, _) => lang.fill(alone, &[("n", &n)]),
    }
}

/// Returns the level of the load, or the levels of its stages.
fn level(plan: &Plan) -> String {
    let number = |level: f64| match plan.load {
        Load::Closed { .. } => numbers::count(level as u64),
        Load::Open { .. } => numbers::rate(level),
    };
    let mut path: Vec<String> = plan.load.stages().iter().flat_map(|s| [number(s.from), number(s.to)]).collect();
    path.dedup();
    path.join("→")
}

/// Formats a planned time: `10 s`, `90 s`, `2 min`, `1.5 s`. Unlike a measured time, it is not rounded.
pub fn span(time: brunt_measure::Nanos) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 120.0 && s % 60.0 == 0.0 => format!("{} min", s / 60.0),
        s if s >= 1.0 => format!("{s} s"),
        s => format!("{} ms", s * 1e3),
    }
}

/// Returns the level of the load: users times the requests that each keeps in flight, or requests
/// per second.
fn level_of(plan: &Plan) -> f64 {
    let pipeline = plan.options.get("pipeline").and_then(|values| values.last()?.parse::<f64>().ok());
    plan.load.peak() * pipeline.filter(|_| !plan.load.is_open()).unwrap_or(1.0).max(1.0)
}

/// Asks for confirmation, or refuses, if the load is heavy and some of the origins are on public
/// addresses. From then on, load on any other public address is refused; this also applies to light
/// load if the plan has captured links, which may lead anywhere.
///
/// # Errors
/// Returns an error (exit code 64) if the run must not begin, because no confirmation could be
/// requested or the answer was no.
pub fn confirm_targets(
    plan: &Plan,
    (origins, has_links): (&[Origin], bool),
    guard: &PublicAddressGuard,
    lang: Lang,
) -> Result<(), UsageError> {
    if !public_load::is_heavy(plan) && !has_links {
        return Ok(());
    }
    let public = |origin: &Origin| guard.public_address(origin).map(|address| (origin.host.clone(), address));
    let hosts: BTreeMap<String, IpAddr> = origins.iter().filter_map(public).collect();
    if public_load::is_heavy(plan) {
        confirm(plan, &hosts, lang)?;
    }
    guard.restrict_to(hosts.into_keys().collect());
    Ok(())
}

/// Returns `true` if the load may not be raised to one that needs confirmation: it needed none so far, and some of the
/// origins are on public addresses.
pub fn is_limited(plan: &Plan, origins: &[Origin], guard: &PublicAddressGuard) -> bool {
    !public_load::is_heavy(plan) && origins.iter().any(|origin| guard.public_address(origin).is_some())
}

/// Asks about public hosts to which the first answer redirected and that are not confirmed yet; returns `true` if there
/// were any and the user confirmed them.
///
/// # Errors
/// See [`confirm_targets`].
pub fn confirm_redirects(plan: &Plan, guard: &PublicAddressGuard, lang: Lang) -> Result<bool, UsageError> {
    let hosts = guard.take_refused();
    confirm(plan, &hosts, lang)?;
    let led = !hosts.is_empty();
    guard.allow(hosts.into_keys());
    Ok(led)
}

fn confirm(plan: &Plan, hosts: &BTreeMap<String, IpAddr>, lang: Lang) -> Result<(), UsageError> {
    let Some((host, address)) = hosts.first_key_value() else { return Ok(()) };
    let level = numbers::count(level_of(plan) as u64);
    let load = match plan.load {
        Load::Closed { .. } => lang.fill(messages::USERS, &[("n", &level)]),
        Load::Open { .. } => format!("{level}/s"),
    };
    let address = match hosts.len() {
        1 => address.to_string(),
        n => lang.fill(messages::AND_MORE, &[("url", &address.to_string()), ("n", &(n - 1).to_string())]),
    };
    let facts = [("host", host.as_str()), ("address", &address), ("load", &load)];
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(UsageError::new("--yes", lang.fill(messages::PUBLIC_REFUSED, &facts)));
    }
    eprint!("{}", lang.fill(messages::PUBLIC_ASK, &facts));
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "是" => Ok(()),
        _ => Err(UsageError::new("--yes", lang.of(messages::PUBLIC_DECLINED))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_config::{Command, Defaults, read};
    use brunt_contract::PeerAddress;
    use brunt_engine::Resolver;
    use brunt_measure::Nanos;
    use brunt_plan::Change;
    use std::sync::Arc;

    struct IpLiteralResolver;
    impl Resolver for IpLiteralResolver {
        fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, brunt_cause::Cause> {
            let ip: IpAddr = origin.host.parse().map_err(|_| brunt_cause::verbatim("not found"))?;
            Ok(vec![PeerAddress::Tcp((ip, origin.port).into())])
        }
    }

    fn plan(line: &str) -> Plan {
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
        let protocols = brunt_protocols::all();
        match read(&words, &protocols, &defaults) {
            Ok(Command::Run(intent)) => intent.plan,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn load_is_heavy_by_what_is_in_flight() {
        for (line, heavy) in [
            ("-c 1 http://h", false),
            ("-c 2 http://h", true),
            ("-c 2 -n 1000 http://h", false),
            ("-c 2 -n 1001 http://h", true),
            ("-c 51 -n 1000 http://h", true),
            ("-c 50 --think 50ms http://h", false),
            ("-c 50 --think 49ms http://h", true),
            ("-c 51 --think 1s http://h", true),
            ("-r 1000/s http://h", false),
            ("-r 1001/s http://h", true),
            ("-c 1 --pipeline 2 redis://h", true),
        ] {
            assert_eq!(public_load::is_heavy(&plan(line)), heavy, "{line}");
        }
    }

    #[test]
    fn a_load_that_was_not_confirmed_is_not_raised_on_a_public_address() {
        let guard = PublicAddressGuard::new(Arc::new(IpLiteralResolver));
        let to = |host: &str| [Origin::tcp(host.to_owned(), 80, false)];
        let slow = plan("-r 10/s http://h");
        assert!(is_limited(&slow, &to("8.8.8.8"), &guard) && !is_limited(&slow, &to("127.0.0.1"), &guard));
        assert!(!is_limited(&plan("-r 1001/s http://h"), &to("8.8.8.8"), &guard), "it was confirmed");
        assert!(
            public_load::is_heavy_after(&slow, Change::Rate(1001.0))
                && !public_load::is_heavy_after(&slow, Change::Rate(1000.0))
        );
        assert!(
            public_load::is_heavy_after(&plan("-c 1 http://h"), Change::Users(2))
                && !public_load::is_heavy_after(&slow, Change::Resume)
        );
    }

    #[test]
    fn heavy_load_on_public_addresses_is_refused_where_nobody_can_be_asked() {
        let origins = |hosts: &[&str]| -> Vec<Origin> {
            hosts.iter().map(|host| Origin::tcp(host.to_string(), 80, false)).collect()
        };
        let guard = || PublicAddressGuard::new(Arc::new(IpLiteralResolver));
        let (heavy, light) = (plan("-c 51 http://h"), plan("-c 1 http://h"));
        assert_eq!(confirm_targets(&light, (&origins(&["8.8.8.8"]), false), &guard(), Lang::En), Ok(()));
        let restricted = guard();
        assert_eq!(confirm_targets(&light, (&origins(&["8.8.8.8"]), true), &restricted, Lang::En), Ok(()));
        assert_eq!(restricted.allowed(), Some(vec!["8.8.8.8".to_owned()]), "links lead nowhere else");
        assert_eq!(
            confirm_targets(&heavy, (&origins(&["127.0.0.1", "10.0.0.1", "nowhere"]), false), &guard(), Lang::En),
            Ok(())
        );
        let said = confirm_targets(&heavy, (&origins(&["127.0.0.1", "8.8.8.8"]), false), &guard(), Lang::En)
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("--yes: 8.8.8.8 (8.8.8.8) is a public address and 51 users may harm it"), "{said}");
    }

    #[test]
    fn a_redirect_to_a_public_address_is_asked_about_like_a_given_one() {
        let (heavy, guard) = (plan("-c 51 http://h"), PublicAddressGuard::new(Arc::new(IpLiteralResolver)));
        confirm_targets(&heavy, (&[Origin::tcp("127.0.0.1", 80, false)], false), &guard, Lang::En).unwrap();
        assert_eq!(confirm_redirects(&heavy, &guard, Lang::En), Ok(false));
        // A redirect in the first answer leads to this.
        assert!(guard.resolve(&Origin::tcp("8.8.8.8", 80, false)).is_err());
        let said = confirm_redirects(&heavy, &guard, Lang::En).unwrap_err().to_string();
        assert!(said.starts_with("--yes: 8.8.8.8 (8.8.8.8) is a public address"), "{said}");
    }

    #[test]
    fn a_flow_is_announced_by_its_iterations() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.yaml").display().to_string();
        let said = |text: &str| {
            std::fs::write(&file, text).expect("written");
            announcement(&plan(&file), 1, Lang::En)
        };
        assert!(
            said("users: 2\niterations: 1000\nflow: [http://h/]\n").starts_with("2 users for 1,000 iterations on ")
        );
        assert!(said("users: 2\nrequests: 1000\nurls: [http://h/]\n").starts_with("2 users for 1,000 requests on "));
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
