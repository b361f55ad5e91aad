//! What the owner of an agent allows to be loaded from it: enforced by the process that sends the load, whatever the
//! coordinator asked for.

use std::net::IpAddr;
use std::str::FromStr;

use brunt_cause::{Complaint, complaint};
use brunt_measure::{Nanos, format_count, format_rate};
use serde::{Deserialize, Serialize};

use crate::{Change, Load, Plan, address};

/// Rate of arrivals to which a change is held that leaves none: one in thirty years, because 0 is no rate.
const LEAST_RATE: f64 = 1e-9;

/// The terms on which a machine is lent to runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnerTerms {
    /// Hosts and networks that may be loaded; empty allows every address that is not public.
    pub allow: Vec<AllowedTarget>,
    /// Maximum rate of requests, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<f64>,
    /// Maximum number of connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u64>,
}

/// A host or a network that may be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AllowedTarget {
    /// A host by its name, whatever it resolves to.
    Host(String),
    /// The addresses whose first `bits` bits are those of this one: `10.0.0.0/8`.
    Network {
        /// An address of the network.
        address: IpAddr,
        /// Length of the prefix.
        bits: u8,
    },
}

impl FromStr for AllowedTarget {
    type Err = Complaint;

    fn from_str(text: &str) -> Result<AllowedTarget, Complaint> {
        let wrong = || {
            complaint!(
                "write a host (api.test), an address (10.1.2.3) or a network (10.0.0.0/8), not `{text}`",
                "请写主机（api.test）、地址（10.1.2.3）或网段（10.0.0.0/8），而不是“{text}”"
            )
        };
        let (host, bits) = text.split_once('/').map_or((text, None), |(host, bits)| (host, Some(bits)));
        match (host.trim_matches(['[', ']']).parse::<IpAddr>(), bits) {
            (Ok(address), bits) => {
                let most = if address.is_ipv4() { 32 } else { 128 };
                let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
                if bits > most { Err(wrong()) } else { Ok(AllowedTarget::Network { address, bits }) }
            }
            (Err(_), None) if is_host_name(host) => Ok(AllowedTarget::Host(host.to_ascii_lowercase())),
            (Err(_), _) => Err(wrong()),
        }
    }
}

/// Maximum length of a host name in DNS.
const LONGEST_HOST: usize = 253;

/// Returns `true` for a host name; one whose last part is a number would be read as an address elsewhere.
fn is_host_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut chars = part.chars();
        !part.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let last_is_number = text.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    text.len() <= LONGEST_HOST && text.split('.').all(is_part) && !last_is_number
}

impl TryFrom<String> for AllowedTarget {
    type Error = String;
    fn try_from(text: String) -> Result<AllowedTarget, String> {
        text.parse().map_err(|why: Complaint| why.to_string())
    }
}

impl From<AllowedTarget> for String {
    fn from(target: AllowedTarget) -> String {
        match target {
            AllowedTarget::Host(host) => host,
            AllowedTarget::Network { address, bits } => format!("{address}/{bits}"),
        }
    }
}

impl AllowedTarget {
    fn covers(&self, host: Option<&str>, to: IpAddr) -> bool {
        match self {
            AllowedTarget::Host(name) => host.is_some_and(|host| name.eq_ignore_ascii_case(host)),
            AllowedTarget::Network { address, bits } => match (address, to.to_canonical()) {
                (IpAddr::V4(a), IpAddr::V4(b)) => share_prefix(a.to_bits().into(), b.to_bits().into(), 32, *bits),
                (IpAddr::V6(a), IpAddr::V6(b)) => share_prefix(a.to_bits(), b.to_bits(), 128, *bits),
                _ => false,
            },
        }
    }
}

/// Returns `true` if two addresses of `width` bits agree in the first `bits` of them.
fn share_prefix(a: u128, b: u128, width: u8, bits: u8) -> bool {
    let differing = a ^ b;
    bits == 0 || differing.checked_shr(u32::from(width - bits)).unwrap_or(0) == 0
}

impl OwnerTerms {
    /// Returns `true` if an address may be loaded; `host` is the name that this machine resolved to it, `None` if the plan
    /// said where the name leads.
    pub fn allows(&self, host: Option<&str>, to: IpAddr) -> bool {
        match &self.allow[..] {
            [] => !address::is_public(to),
            allow => allow.iter().any(|target| target.covers(host, to)),
        }
    }

    /// Checks that a plan loads no socket of the machine itself, which can be said before any request is prepared.
    ///
    /// # Errors
    /// It does.
    pub fn check_socket(&self, plan: &Plan) -> Result<(), Complaint> {
        match plan.unix_socket {
            None => Ok(()),
            Some(_) => Err(complaint!(
                "no Unix socket is loaded from it: those of its machine are its owner's; leave --unix-socket out",
                "不能从它对 Unix 套接字施压：其机器上的套接字属于机主；请去掉 --unix-socket"
            )),
        }
    }

    /// Checks a share of a plan against the terms.
    ///
    /// # Errors
    /// The owner does not allow it.
    pub fn check(&self, share: &PlanShare<'_>) -> Result<(), Complaint> {
        self.check_socket(share.plan)?;
        self.check_rate(share)?;
        self.check_connections(share.connections)
    }

    fn check_rate(&self, share: &PlanShare<'_>) -> Result<(), Complaint> {
        let Some(ceiling) = self.max_rate else { return Ok(()) };
        let most = format_rate(ceiling);
        if share.loads().any(|load| !load.is_open()) {
            return Err(complaint!(
                "its owner allows requests at {most} (--max-rate), and a load of users has no rate that could be held to; \
                 use -r",
                "机主只允许 {most} 的请求速率（--max-rate），而按用户数的负载没有可以遵守的速率；请用 -r"
            ));
        }
        let Some(sent) = share.rate() else {
            return Err(complaint!(
                "its owner allows requests at {most} (--max-rate), and responses decide how much an iteration of this plan sends \
                 (loops over their values, resources of pages, --reply); leave those out",
                "机主只允许 {most} 的请求速率（--max-rate），而该计划每次迭代的发送量由响应决定（按响应值的循环、页面资源、--reply）；请去掉这些"
            ));
        };
        let rate = sent.at(share.loads().map(Load::peak).sum());
        // A rate that is no number is not within it, either.
        if rate <= ceiling {
            return Ok(());
        }
        let (rate, each) = (format_rate(rate), format_count(sent.each));
        Err(complaint!(
            "its owner allows requests at {most} (--max-rate), and its share is {rate} (an iteration sends up to {each}, \
             counting redirects and messages; heartbeats count, too); ask for less, or use more agents",
            "机主只允许 {most} 的请求速率（--max-rate），而它的份额是 {rate}（每次迭代最多 {each} 个，含重定向和消息；心跳也计入）；请降低速率，或增加施压机"
        ))
    }

    /// Checks the most connections that a share can have at once; `None` if nothing bounds them.
    fn check_connections(&self, share: Option<u64>) -> Result<(), Complaint> {
        let Some(ceiling) = self.max_connections else { return Ok(()) };
        let most = format_count(ceiling);
        match share.map(|share| (share, format_count(share))) {
            Some((share, _)) if share <= ceiling => Ok(()),
            Some((_, share)) => Err(complaint!(
                "its owner allows {most} connections (--max-connections), and its share is {share} (each user has its own to \
                 every server); ask for less, or use more agents",
                "机主只允许 {most} 个连接（--max-connections），而它的份额是 {share}（每个用户与每个服务器各有连接）；请减少连接，或增加施压机"
            )),
            None => Err(complaint!(
                "its owner allows {most} connections (--max-connections), and redirects or links can lead users to any number of \
                 servers; leave those out (-L), or use -r with --max-connections",
                "机主只允许 {most} 个连接（--max-connections），而重定向或链接可能把用户带到任意多个服务器；请去掉它们（-L），或使用 -r 和 --max-connections"
            )),
        }
    }

    /// Bounds a change of the load so that a share, which passed the check, stays within the ceilings. `users` are the most
    /// users of the run for the connections that are allowed.
    #[must_use]
    pub fn hold(&self, change: Change, share: &PlanShare<'_>, users: Option<u32>) -> Change {
        match (change, self.max_rate, users) {
            (Change::Rate(rate), Some(most), _) => {
                let within = share.rate().map_or(0.0, |sent| sent.arrivals_within(most));
                // A change applies to each of the loads.
                Change::Rate(rate.min((within / share.loads().count() as f64).max(LEAST_RATE)))
            }
            (Change::Users(asked), _, Some(most)) => Change::Users(asked.min(most)),
            _ => change,
        }
    }
}

/// A share of a plan, as far as its owner's ceilings look at it.
#[derive(Clone, Copy, Debug)]
pub struct PlanShare<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The workers of the share, and those of the run.
    pub workers: (u32, u32),
    /// The most messages that a request to each URL sends, as prepared.
    pub messages: &'a [u64],
    /// The most connections of the share; `None` if nothing bounds them.
    pub connections: Option<u64>,
}

impl<'a> PlanShare<'a> {
    fn loads(&self) -> impl Iterator<Item = &'a Load> + use<'a> {
        let plan = self.plan;
        plan.scenarios.iter().map(|scenario| &scenario.load).chain(plan.scenarios.is_empty().then_some(&plan.load))
    }

    /// Returns what the share sends; `None` if responses decide how much that is.
    fn rate(&self) -> Option<ShareRate> {
        let (workers, of) = self.workers;
        let beats = |every: Nanos| self.connections.map_or(f64::INFINITY, |all| all as f64 * 1e9 / every.0 as f64);
        Some(ShareRate {
            part: f64::from(workers) / f64::from(of.max(1)),
            each: self.plan.requests_per_iteration(self.messages)?,
            beats: self.plan.heartbeat.map_or(0.0, beats),
        })
    }
}

/// The most requests a second of a share: its part of the arrivals, and heartbeats.
struct ShareRate {
    part: f64,
    /// The most requests of an iteration.
    each: u64,
    /// Heartbeats of its connections, per second.
    beats: f64,
}

impl ShareRate {
    /// Returns the rate of requests while the run has this rate of arrivals.
    fn at(&self, arrivals: f64) -> f64 {
        self.part * arrivals * self.each as f64 + self.beats
    }

    /// Returns the highest rate of arrivals of the run at which the share stays within this rate of requests.
    fn arrivals_within(&self, most: f64) -> f64 {
        (most - self.beats).max(0.0) / self.part / self.each as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(allow: &[&str]) -> OwnerTerms {
        OwnerTerms { allow: allow.iter().map(|text| text.parse().unwrap()).collect(), ..OwnerTerms::default() }
    }

    #[test]
    fn by_default_no_public_address_is_loaded_and_otherwise_what_is_listed() {
        let refused = |allow: &[&str], host: &str, to: &str| !terms(allow).allows(Some(host), to.parse().unwrap());
        for (allow, host, to, expected) in [
            (&[][..], "a.test", "10.1.2.3", false),
            (&[], "a.test", "8.8.8.8", true),
            (&[], "localhost", "::1", false),
            (&["10.0.0.0/8"], "a.test", "10.1.2.3", false),
            (&["10.0.0.0/8"], "a.test", "11.1.2.3", true),
            (&["10.0.0.0/8"], "a.test", "127.0.0.1", true),
            (&["10.0.0.0/8"], "a.test", "::ffff:10.1.2.3", false),
            (&["A.test"], "a.test", "8.8.8.8", false),
            (&["b.test", "9.9.9.9"], "a.test", "9.9.9.9", false),
            (&["0.0.0.0/0"], "a.test", "8.8.8.8", false),
            (&["0.0.0.0/0"], "a.test", "::1", true),
            (&["fd00::/8"], "a.test", "fd12::1", false),
        ] {
            assert_eq!(refused(allow, host, to), expected, "{allow:?} {host} {to}");
        }
        let to = "9.9.9.9".parse().unwrap();
        assert!(!terms(&["a.test"]).allows(None, to), "the plan says what the name means");
        assert!(terms(&["9.9.9.9"]).allows(None, to));
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0",
            "a b",
            "10.0.0.0/x",
            "::/129",
            "http://a.test",
            "a..b",
            "a.test/8",
            "1.2.3.4.5",
            &"a".repeat(254),
        ] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text}");
        }
        for text in ["10.0.0.0/8", "api.test", "::1/128"] {
            assert_eq!(String::from(text.parse::<AllowedTarget>().unwrap()), text);
        }
    }

    fn plan(load: &str, more: &str) -> Plan {
        let common = r#""warmup": 0, "drain": 0, "timeout": 1, "connect_timeout": 1, "max_connections": 10, "workers": 1, "pin": false,
            "requests": null, "duration": null, "net": "auto", "sources": [], "connect_to": [], "objectives": [], "seed": 1,
            "tls": {"insecure": false, "cacert": null, "cert": null, "key": null, "resume": true}"#;
        let protocol = if more.contains("\"protocol\"") { "" } else { r#""protocol": "http", "# };
        let urls = r#""urls": [{"url": "http://a.test/"}]"#;
        serde_json::from_str(&format!("{{{protocol}{urls}, {common}, {load}, {more}}}")).unwrap()
    }

    #[test]
    fn a_ceiling_of_the_rate_counts_all_requests_of_an_iteration() {
        let rate =
            r#""load": {"model": "open", "arrivals": "poisson", "stages": [{"lasts": 1, "from": 50, "to": 50}]}"#;
        let plain = r#""options": {}, "unix_socket": null"#;
        let flow = |steps: &str| format!(r#"{plain}, "flow": {{"steps": [{steps}]}}"#);
        let request = r#"{"request": {"url": 0}}"#;
        let repeat = |times: &str| flow(&format!(r#"{{"repeat": {{"times": {times}, "steps": [{request}]}}}}"#));
        let messages = |protocol: &str, options: &str| {
            format!(r#""protocol": "{protocol}", "options": {{{options}}}, "unix_socket": null"#)
        };
        let within = OwnerTerms { max_rate: Some(100.0), ..OwnerTerms::default() };
        let connections = Some(10);
        for (more, share, said) in [
            (plain.to_owned(), (1, 1), None),
            (flow(&[request; 2].join(",")), (1, 1), None),
            (repeat("40"), (1, 1), Some("its share is 2,000/s")),
            (repeat("40"), (1, 20), None),
            (repeat(r#""n""#), (1, 1), Some("decide")),
            (r#""options": {"redirects": ["10"]}, "unix_socket": null"#.to_owned(), (1, 1), Some("up to 11")),
            (r#""options": {"resources": ["6"]}, "unix_socket": null"#.to_owned(), (1, 1), Some("decide")),
            (format!(r#"{plain}, "heartbeat": 1"#), (1, 1), Some("its share")),
            (messages("grpc", r#""data": ["{}", "{}"]"#), (1, 1), None),
            (messages("grpc", r#""data": ["{}", "{}", "{}"]"#), (1, 1), None),
            (messages("grpc", r#""data-file": ["calls"]"#), (1, 1), None),
            (messages("http", r#""data": ["a", "b", "c"], "data-file": ["body"]"#), (1, 1), None),
            (messages("websocket", r#""data": ["a", "b", "c"], "data-file": ["lines"]"#), (1, 1), None),
            (messages("websocket", r#""on-connect": ["hello", "again"]"#), (1, 1), Some("up to 3")),
            (messages("websocket", r#""reply": ["ping=>pong"]"#), (1, 1), Some("decide")),
            (r#""options": {}, "unix_socket": "/run/docker.sock""#.to_owned(), (1, 1), Some("Unix")),
        ] {
            let share = PlanShare { plan: &plan(rate, &more), workers: share, messages: &[], connections };
            let checked = within.check(&share).map_err(|why| why.to_string());
            match said {
                None => assert_eq!(checked, Ok(()), "{more}"),
                Some(said) => assert!(checked.as_ref().is_err_and(|why| why.contains(said)), "{more}: {checked:?}"),
            }
        }
        let stream = plan(rate, &messages("grpc", ""));
        for (sent, said) in [(2, None), (3, Some("its share is 150/s"))] {
            let refused =
                within.check(&PlanShare { plan: &stream, workers: (1, 1), messages: &[sent], connections }).err();
            assert_eq!(refused.is_some(), said.is_some(), "{sent} messages");
            assert!(said.is_none_or(|said| refused.is_some_and(|why| why.contains(said))), "{sent} messages");
        }
        // Each step counts the messages of its own call.
        let both = flow(&[request, r#"{"request": {"url": 1}}"#].join(","));
        let mut calls = plan(rate, &both);
        let first = calls.urls[0].clone();
        calls.urls = vec![first.clone(), first].into();
        assert_eq!(calls.requests_per_iteration(&[5, 1]), Some(6));
        assert_eq!(calls.requests_per_iteration(&[3, 0]), Some(3), "a step that only ends a stream sends nothing");
        assert_eq!(
            within.check_rate(&PlanShare {
                plan: &plan(rate, plain),
                workers: (1, 1),
                messages: &[],
                connections: None
            }),
            Ok(())
        );
    }

    #[test]
    fn a_change_of_the_load_is_held_to_what_the_check_takes() {
        let within = OwnerTerms { max_rate: Some(100.0), ..OwnerTerms::default() };
        let plain = r#""options": {}, "unix_socket": null"#;
        let repeat = format!(
            r#"{plain}, "flow": {{"steps": [{{"repeat": {{"times": 40, "steps": [{{"request": {{"url": 0}}}}]}}}}]}}"#
        );
        let beats = format!(r#"{plain}, "heartbeat": 500000000"#);
        let planned = |rate: f64, more: &str| {
            plan(
                &format!(
                    r#""load": {{"model": "open", "arrivals": "poisson", "stages": [{{"lasts": 1, "from": {rate}, "to": {rate}}}]}}"#
                ),
                more,
            )
        };
        for (more, connections, expected) in
            [(plain, 10, 200.0), (&*repeat, 10, 5.0), (&*beats, 10, 160.0), (&*beats, 49, 4.0)]
        {
            let of = |plan: &Plan, check: &dyn Fn(&PlanShare<'_>)| {
                check(&PlanShare { plan, workers: (1, 2), messages: &[], connections: Some(connections) });
            };
            of(&planned(1.0, more), &|share| {
                assert_eq!(within.hold(Change::Rate(9000.0), share, None), Change::Rate(expected), "{more}");
                assert_eq!(within.hold(Change::Rate(expected / 2.0), share, None), Change::Rate(expected / 2.0));
                assert_eq!(within.hold(Change::Users(9), share, Some(4)), Change::Users(4));
                assert_eq!(within.hold(Change::Pause, share, Some(4)), Change::Pause);
            });
            of(&planned(expected, more), &|share| assert_eq!(within.check(share), Ok(()), "{more}"));
            of(&planned(expected + 1.0, more), &|share| assert!(within.check(share).is_err(), "{more}"));
        }
        // Nothing is left beside the heartbeats; the rate stays one.
        let full = planned(1.0, &beats);
        let share = PlanShare { plan: &full, workers: (1, 2), messages: &[], connections: Some(50) };
        let Change::Rate(rest) = within.hold(Change::Rate(9000.0), &share, None) else { panic!("no rate") };
        assert!(rest > 0.0 && rest <= LEAST_RATE, "{rest}");
        assert!(within.check(&PlanShare { connections: None, ..share }).is_err(), "heartbeats that nothing bounds");
    }
}
