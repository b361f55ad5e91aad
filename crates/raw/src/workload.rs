//! The plug-in for TCP, TLS and UDP with declared framing: its schemes, its options, and the prepared messages of a
//! run.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{
    EstablishedConnection, OrderedResponses, Origin, PreparedWorkload, Protocol, ProtocolConfig, ProtocolDescription,
    RequestNames, Session, SlotContext, UsageError, UserState, WeightedRequest, Workload,
};

use super::options;
use super::request::{DATAGRAM_BOUND, RawRequest, SCOPE};
use super::rules::{RawRules, value_of};
use super::session::RawSession;
use brunt_values::before_after;
use brunt_values::template::{Notation, Template};

/// Bytes over TCP, TLS and UDP with the framing declared by options.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawProtocol;

impl Protocol for RawProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: &["expect-bytes", "expect-regex", "expect-field"],
            ..ProtocolDescription::new("raw", &["tcp", "tls", "udp"], options::OPTIONS, &[])
        }
    }

    fn check_heartbeats(&self, _asked: &ProtocolConfig) -> Result<(), Complaint> {
        Err(complaint!(
            "tcp://, tls:// and udp:// have no standard heartbeat; leave it out",
            "tcp://、tls:// 和 udp:// 没有标准的心跳；请去掉"
        ))
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let places = config.urls.iter().map(|url| origin(&url.url)).collect::<Result<Vec<_>, _>>()?;
        let datagrams = places.iter().any(|place| place.datagrams);
        if places.iter().any(|place| place.datagrams != datagrams) {
            return Err(UsageError::new(
                "URL",
                complaint!(
                    "udp:// and tcp:// responses end differently; use one of them per run",
                    "udp:// 与 tcp:// 响应的结束方式不同；一次压测只能用其中之一"
                ),
            ));
        }
        let mut rules = options::rules(config, datagrams)?;
        let (mut origins, mut requests, mut names) = (Vec::<Origin>::new(), Vec::new(), RequestNames::default());
        for (index, (url, place)) in config.urls.iter().zip(places).enumerate() {
            let origin = origins.iter().position(|other| *other == place).unwrap_or_else(|| {
                origins.push(place);
                origins.len() - 1
            });
            for template in options::templates(config)? {
                let request = RawRequest { template, unchecked: false };
                names.add(config.name(index).unwrap_or(&url.url));
                requests.push(WeightedRequest::new(request, origin, url.weight));
            }
        }
        requests.iter().try_for_each(|weighted| check(&weighted.request, &rules))?;
        let (before, after) = before_after::compile_lists(config, |text, place| {
            let template = Template::parse_scoped(text, place, Notation::Escaped, SCOPE)?;
            let request = RawRequest { template, unchecked: true };
            check(&request, &rules).map(|()| request)
        })?;
        let all = requests.iter().map(|weighted| &*weighted.request).chain(before.iter().chain(&after));
        let counts = all.into_iter().any(|request| request.template.is_numbered());
        rules.side_messages = rules.side_messages.with_numbered_requests(counts);
        let handles = |requests: Vec<RawRequest>| requests.into_iter().map(brunt_contract::Request::shared).collect();
        let by_order = rules.datagrams && !rules.one_way && rules.matched.is_none();
        let prepared = PreparedWorkload {
            before: handles(before),
            after: handles(after),
            has_slots: true,
            counts_messages: true,
            one_exchange_per_connection: rules.one_shot,
            exchanges_per_connection: rules.pipeline as u32,
            exchanges_per_user: rules.pipeline as u32,
            by_order: by_order.then_some(OrderedResponses::Datagrams),
            max_requests: requests.iter().filter_map(|weighted| weighted.request.template.data_end()).min(),
            ..PreparedWorkload::new(requests, origins, names)
        };
        Ok(Arc::new(RawWorkload { prepared, rules: Arc::new(rules) }))
    }
}

/// Checks the bytes of a request, as sent with default slot values.
fn check(request: &RawRequest, rules: &RawRules) -> Result<(), UsageError> {
    if request.template.holds_variable() {
        // The length is not known before the run.
        return Ok(());
    }
    let length = request.bytes(&SlotContext::default()).len();
    if length == 0 {
        return Err(UsageError::new("--send", complaint!("is empty; write what to send", "为空；请写要发送的内容")));
    }
    if rules.datagrams && length > DATAGRAM_BOUND {
        let trouble = complaint!(
            "has {length} bytes, and a datagram holds at most {DATAGRAM_BOUND}; send fewer, or \
            use tcp://",
            "有 {length} 字节，而一个数据报最多 {DATAGRAM_BOUND} 字节；请减少内容，或用 tcp://"
        );
        return Err(UsageError::new("--send", trouble));
    }
    match &rules.matched {
        Some((field, _)) if length < field.end() => Err(UsageError::new(
            "--match",
            complaint!(
                "ends at byte {} of a request of {length}; write its position in the request",
                "在第 {} 字节处结束，而请求只有 {length} 字节；请写其在请求中的位置",
                field.end()
            ),
        )),
        _ => Ok(()),
    }
}

/// Parses the origin of a URL.
fn origin(text: &str) -> Result<Origin, UsageError> {
    let wrong = |trouble: Complaint| UsageError::new("URL", trouble);
    let (scheme, rest) = text.split_once("://").unwrap_or(("tcp", text));
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) {
        return Err(wrong(complaint!(
            "`{text}` has more than host and port; use {scheme}://HOST:PORT",
            "`{text}` 除主机和端口外还有其他内容；请用 {scheme}://HOST:PORT"
        )));
    }
    let parts = rest.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.ends_with(':'));
    let port = parts.and_then(|(_, port)| port.parse().ok()).filter(|port| *port != 0);
    let (Some((host, _)), Some(port)) = (parts, port) else {
        return Err(wrong(complaint!(
            "`{text}` has no port; use {scheme}://HOST:PORT",
            "`{text}` 缺少端口；请用 {scheme}://HOST:PORT"
        )));
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok(Origin { datagrams: scheme == "udp", ..Origin::tcp(host, port, scheme == "tls") })
}

/// The workload of a run with declared framing.
#[derive(Debug)]
pub struct RawWorkload {
    prepared: PreparedWorkload,
    rules: Arc<RawRules>,
}

impl Workload for RawWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }

    fn carries_no_trace(&self, _request: &brunt_contract::Request) -> bool {
        true
    }

    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        _memory: Option<&UserState>,
    ) -> Vec<u8> {
        request.downcast::<RawRequest>().bytes(context)
    }

    fn session(&self, _origin: &Origin, established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(RawSession::new(Arc::clone(&self.rules), &established.context))
    }

    fn protocol_version(&self, established: &EstablishedConnection) -> String {
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
