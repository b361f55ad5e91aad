//! The plug-in for TCP, TLS and UDP with declared framing: schemes, options, and everything a run will send.

use std::sync::Arc;

use wire::{
    About, Asked, ByOrder, Complaint, Dialogue, Established, Fill, Memory, Names, Origin, Prepared, Protocol, Session,
    Weighted,
};

use super::options;
use super::request::{DATAGRAM_BOUND, Request, SCOPE};
use super::rules::{Rules, value_of};
use super::session::RawSession;
use values::before_after;
use values::template::{Notation, Template};

/// Bytes over TCP, TLS and UDP with the framing declared by options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw;

impl Protocol for Raw {
    fn about(&self) -> About<'_> {
        About {
            checks: &["expect-bytes", "expect-regex", "expect-field"],
            ..About::new("raw", &["tcp", "tls", "udp"], options::OPTIONS, &[])
        }
    }

    fn heartbeats(&self, _asked: &Asked) -> Result<(), String> {
        Err("tcp://, tls:// and udp:// have no standard heartbeat; leave it out".into())
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        let places = asked.urls.iter().map(|url| origin(&url.url)).collect::<Result<Vec<_>, _>>()?;
        let datagrams = places.iter().any(|place| place.datagrams);
        if places.iter().any(|place| place.datagrams != datagrams) {
            return Err(Complaint::new("URL", "udp:// and tcp:// responses end differently; use one of them per run"));
        }
        let mut rules = options::rules(asked, datagrams)?;
        let (mut origins, mut requests, mut names) = (Vec::<Origin>::new(), Vec::new(), Names::default());
        for (index, (url, place)) in asked.urls.iter().zip(places).enumerate() {
            let origin = origins.iter().position(|other| *other == place).unwrap_or_else(|| {
                origins.push(place);
                origins.len() - 1
            });
            for template in options::templates(asked)? {
                let request = Request { template, unchecked: false };
                names.add(asked.name(index).unwrap_or(&url.url));
                requests.push(Weighted::new(request, origin, url.weight));
            }
        }
        requests.iter().try_for_each(|weighted| check(&weighted.request, &rules))?;
        let (before, after) = before_after::compiled(asked, |text, place| {
            let template = Template::parse_in(text, place, Notation::Escaped, SCOPE)?;
            let request = Request { template, unchecked: true };
            check(&request, &rules).map(|()| request)
        })?;
        let all = requests.iter().map(|weighted| &*weighted.request).chain(before.iter().chain(&after));
        let counts = all.into_iter().any(|request| request.template.is_numbered());
        rules.beside = rules.beside.counting(counts);
        let handles = |requests: Vec<Request>| requests.into_iter().map(wire::Request::shared).collect();
        let by_order = rules.datagrams && !rules.one_way && rules.matched.is_none();
        let prepared = Prepared {
            before: handles(before),
            after: handles(after),
            has_slots: true,
            counts_messages: true,
            one_exchange_per_connection: rules.one_shot,
            exchanges_per_connection: rules.pipeline as u32,
            exchanges_per_user: rules.pipeline as u32,
            by_order: by_order.then_some(ByOrder::Datagrams),
            requests_at_most: requests.iter().filter_map(|weighted| weighted.request.template.end()).min(),
            ..Prepared::new(requests, origins, names)
        };
        Ok(Arc::new(RawDialogue { prepared, rules: Arc::new(rules) }))
    }
}

/// Checks a request as it will be sent.
fn check(request: &Request, rules: &Rules) -> Result<(), Complaint> {
    let length = request.bytes(&Fill::default()).len();
    if length == 0 {
        return Err(Complaint::new("--send", "is empty; write what to send"));
    }
    if rules.datagrams && length > DATAGRAM_BOUND {
        let trouble = format!(
            "has {length} bytes, and a datagram holds at most {DATAGRAM_BOUND}; send fewer, or \
            use tcp://"
        );
        return Err(Complaint::new("--send", trouble));
    }
    match &rules.matched {
        Some((field, _)) if length < field.end() => Err(Complaint::new(
            "--match",
            format!("ends at byte {} of a request of {length}; write its position in the request", field.end()),
        )),
        _ => Ok(()),
    }
}

/// Parses the origin of a URL.
fn origin(text: &str) -> Result<Origin, Complaint> {
    let wrong = |trouble: String| Complaint::new("URL", trouble);
    let (scheme, rest) = text.split_once("://").unwrap_or(("tcp", text));
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) {
        return Err(wrong(format!("`{text}` has more than host and port; write {scheme}://HOST:PORT")));
    }
    let parts = rest.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.ends_with(':'));
    let port = parts.and_then(|(_, port)| port.parse().ok()).filter(|port| *port != 0);
    let (Some((host, _)), Some(port)) = (parts, port) else {
        return Err(wrong(format!("`{text}` has no port; write {scheme}://HOST:PORT")));
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok(Origin { datagrams: scheme == "udp", ..Origin::tcp(host, port, scheme == "tls") })
}

/// The workload of a run with declared framing.
#[derive(Debug)]
pub struct RawDialogue {
    prepared: Prepared,
    rules: Arc<Rules>,
}

impl Dialogue for RawDialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    fn says_no_trace(&self, _request: &wire::Request) -> bool {
        true
    }

    fn sent_with(&self, request: &wire::Request, fill: &Fill, _memory: Option<&Memory>) -> Vec<u8> {
        request.of::<Request>().bytes(fill)
    }

    fn session(&self, _origin: &Origin, established: &Established) -> Box<dyn Session> {
        Box::new(RawSession::new(Arc::clone(&self.rules), &established.fill))
    }

    fn spoken(&self, established: &Established) -> String {
        match (self.rules.datagrams, established.tls) {
            (true, _) => "UDP".into(),
            (false, true) => "TLS".into(),
            (false, false) => "TCP".into(),
        }
    }

    fn code_name(&self, code: u32) -> String {
        value_of(code)
    }
}
