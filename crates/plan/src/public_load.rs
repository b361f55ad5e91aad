//! How much load a public address takes without confirmation.
//!
//! Users who wait for each response send as fast as the server responds. Their rate is known only if they pause, so that
//! several users without pauses need confirmation however few they are.

use crate::address::is_public;
use crate::{Change, Load, Plan};

/// Maximum rate, and maximum number of requests in flight of users who pause.
const RATE: f64 = 1000.0;
const IN_FLIGHT: f64 = 50.0;
/// Maximum number of requests of a run that needs no confirmation however fast they follow each other.
const REQUESTS: u64 = 1000;

/// Returns `true` if all requests of a plan lead to this machine or a private network, as far as its text tells: to
/// literal addresses or `localhost`, directly.
pub fn is_private(plan: &Plan) -> bool {
    let is_direct = plan.proxies.is_none() && plan.connect_to.is_empty();
    is_direct && plan.urls.iter().all(|url| host(&url.url).is_some_and(is_private_host))
}

/// Returns the host of a URL, without port and user.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(host, _)| host),
        None => place.split(':').next(),
    }
}

fn is_private_host(host: &str) -> bool {
    let bare = host.split('%').next().unwrap_or_default();
    host.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|address| !is_public(address))
}

/// Returns `true` if the load of a plan needs confirmation on a public address.
pub fn is_heavy(plan: &Plan) -> bool {
    if plan.scenarios.is_empty() {
        return is_heavy_at(plan, plan.load.peak());
    }
    let arrivals = plan.scenarios.iter().filter(|one| one.load.is_open()).map(|one| one.load.peak()).sum::<f64>();
    let users = plan.scenarios.iter().filter(|one| !one.load.is_open());
    let pauses = users.clone().all(|one| one.flow.has_pauses());
    arrivals > RATE || are_heavy(users.map(|one| one.load.peak()).sum(), pauses, None)
}

/// Returns `true` if a change makes the load one that needs confirmation on a public address.
pub fn is_heavy_after(plan: &Plan, change: Change) -> bool {
    match change {
        Change::Rate(level) => is_heavy_at(plan, level),
        Change::Users(users) => is_heavy_at(plan, f64::from(users)),
        Change::Pause | Change::Resume | Change::Drain => false,
    }
}

/// Returns `true` if the load needs confirmation at this level: arrivals per second, or users.
fn is_heavy_at(plan: &Plan, level: f64) -> bool {
    let think = match &plan.load {
        Load::Open { .. } => return level > RATE,
        Load::Closed { think, .. } => *think,
    };
    let in_flight = level * pipeline(plan);
    if plan.hold.is_some() {
        return in_flight > IN_FLIGHT;
    }
    // Iterations of a flow may have any number of requests.
    let is_short = plan.flow.is_none() && plan.requests.is_some_and(|requests| requests <= REQUESTS);
    let pauses = is_short || plan.flow.as_ref().is_some_and(|flow| flow.has_pauses());
    are_heavy(in_flight, pauses, think.map(|(least, _)| least.as_secs_f64()))
}

/// Returns the number of requests that each user keeps in flight.
fn pipeline(plan: &Plan) -> f64 {
    let asked = plan.options.get("pipeline").and_then(|values| values.last()?.parse::<f64>().ok());
    asked.unwrap_or(1.0).max(1.0)
}

/// Returns `true` if users need confirmation, by their requests in flight and by whether they pause: at all, or for at
/// least `think_s` after each response.
fn are_heavy(in_flight: f64, pauses: bool, think_s: Option<f64>) -> bool {
    match think_s.filter(|least| *least > 0.0) {
        _ if in_flight > IN_FLIGHT => true,
        Some(least) => in_flight / least > RATE,
        None => !pauses && in_flight > 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_addresses_of_this_machine_and_of_private_networks_are_nobody_elses() {
        for (url, private) in [
            ("http://127.0.0.1:8080/", true),
            ("http://user:secret@LOCALHOST/x?y=@8.8.8.8", true),
            ("grpc://[::1]:50051/p.S/M", true),
            ("http://[fe80::1%eth0]/", true),
            ("redis://10.1.2.3", true),
            ("http://8.8.8.8/", false),
            ("http://127.0.0.1@8.8.8.8/", false),
            ("http://localhost.example/", false),
            ("http://{env HOST}/", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(host(url).is_some_and(is_private_host), private, "{url}");
        }
    }
}
