//! Requests as OpenTelemetry describes them: client spans with the attributes of its semantic conventions, and some
//! specific to brunt.

use brunt_record::{FirstResponse, RequestSpan, RunStarted};
use hyper::Uri;
use prost::Message;

use crate::databases::{PreparedQuery, prepared};
use crate::messages::{
    CLIENT, ERROR, ExportTraceServiceRequest, INTERNAL, KeyValue, OtlpEvent, OtlpSpan as Proto, ResourceSpans,
    ScopeSpans, Status, UNSET, number, text,
};
use crate::otlp::{otlp_resource, scope};

/// Distinguishes the span id of a connection's opening from that of its request.
const CONNECT: u64 = 0x636f_6e6e_6563_7421;

/// Properties of a run that its recorded spans do not contain.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanContext {
    /// Start of the window, nanoseconds since 1970.
    pub unix_ns: u64,
    protocol: String,
    open: bool,
    urls: Vec<String>,
    /// Prepared requests to databases and over plain connections, by request.
    prepared: Vec<Option<PreparedQuery>>,
    method: Option<String>,
    names: Vec<String>,
    scenarios: Vec<String>,
    /// Protocol, such as `HTTP/1.1`.
    spoken: String,
}

/// Number of URLs above which requests are described only by their names.
const URLS: usize = 10_000;

impl SpanContext {
    /// Takes the properties of the run from its head.
    pub fn started(&mut self, started: &RunStarted) {
        let plan = &started.plan;
        self.protocol.clone_from(&plan.protocol);
        self.open = plan.load.is_open();
        self.urls = plan.urls.iter().take(URLS).map(|url| url.url.clone()).collect();
        self.method = plan.options.get("method").and_then(|all| all.first()).cloned();
        self.names.clone_from(&started.names);
        self.prepared = prepared(started, URLS);
        self.scenarios = plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    }

    /// Takes the protocol of the target from its first answer.
    pub fn answered(&mut self, answer: &FirstResponse) {
        self.spoken = answer.spoken.split([',', ' ']).next().unwrap_or_default().to_owned();
    }

    /// Encodes one export.
    pub fn export(&self, spans: &[RequestSpan], resource: &[(String, String)]) -> Vec<u8> {
        let all = spans.iter().flat_map(|span| [Some(self.request(span)), self.connection(span)]).flatten();
        let scope = ScopeSpans { scope: Some(scope()), spans: all.collect() };
        let resource = ResourceSpans { resource: Some(otlp_resource(resource)), scope_spans: vec![scope] };
        ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec()
    }

    fn unix(&self, since_window: i64) -> u64 {
        self.unix_ns.saturating_add_signed(since_window)
    }

    /// Creates the span of a request, from its due time to its end.
    fn request(&self, span: &RequestSpan) -> Proto {
        let asked = self.asked(span);
        let event = |at, name: &str| OtlpEvent { time_unix_nano: self.unix(at), name: name.into() };
        let first_byte = span.first_byte_ns.map(|at| event(at, "first byte"));
        let (code, message) = match &span.failure {
            Some(failure) => (ERROR, format!("{} · {}", failure.kind, failure.phase)),
            None => (UNSET, String::new()),
        };
        Proto {
            trace_id: span.trace.to_be_bytes().to_vec(),
            span_id: span.span.to_be_bytes().to_vec(),
            flags: u32::from(span.sampled),
            kind: CLIENT,
            start_time_unix_nano: self.unix(span.scheduled_ns),
            end_time_unix_nano: self.unix(span.ended_ns),
            attributes: self.attributes(span, &asked),
            events: [Some(event(span.written_ns, "sent")), first_byte].into_iter().flatten().collect(),
            status: Some(Status { message, code }),
            name: asked.name,
            ..Proto::default()
        }
    }

    /// Creates the span of the connection opened for a request: name lookup, TCP, TLS and the protocol's handshake.
    fn connection(&self, span: &RequestSpan) -> Option<Proto> {
        (span.written_ns > span.started_ns).then(|| Proto {
            trace_id: span.trace.to_be_bytes().to_vec(),
            span_id: (span.span ^ CONNECT).max(1).to_be_bytes().to_vec(),
            parent_span_id: span.span.to_be_bytes().to_vec(),
            flags: u32::from(span.sampled),
            name: "connect".into(),
            kind: INTERNAL,
            start_time_unix_nano: self.unix(span.started_ns),
            end_time_unix_nano: self.unix(span.written_ns.min(span.ended_ns)),
            ..Proto::default()
        })
    }

    /// Returns the description of the request.
    fn asked(&self, span: &RequestSpan) -> RequestText {
        let named = self.names.get(usize::from(span.name)).cloned().unwrap_or_default();
        if let Some(Some(of)) = self.prepared.get(span.request as usize) {
            let name = of.span_name(&named);
            return RequestText { name, url: of.url.clone(), of: Some(of.clone()), ..RequestText::default() };
        }
        let url = self.urls.get(span.request as usize).cloned().unwrap_or_default();
        let uri = url.split('{').next().unwrap_or_default().parse::<Uri>().ok();
        let name = named;
        let rpc = ["grpc:", "grpcs:"].iter().any(|scheme| url.starts_with(scheme)) || self.protocol == "grpc";
        let path = uri.as_ref().map_or("/", Uri::path).to_owned();
        let said =
            name.split_once(' ').map(|(word, _)| word).filter(|word| word.bytes().all(|b| b.is_ascii_uppercase()));
        let method = said.map(str::to_owned).or_else(|| self.method.clone()).unwrap_or_else(|| "GET".into());
        let rpc_method = path.trim_start_matches('/').to_owned();
        let fallback = if rpc { rpc_method.clone() } else { method.clone() };
        let name = if name.is_empty() { fallback } else { name };
        RequestText { name, url, uri, rpc: rpc.then_some(rpc_method), method, of: None }
    }

    fn attributes(&self, span: &RequestSpan, asked: &RequestText) -> Vec<KeyValue> {
        let mut all = Vec::with_capacity(16);
        match (&asked.of, &asked.rpc) {
            (Some(of), _) => all = of.attributes(span),
            (None, Some(method)) => {
                all.extend([text("rpc.system.name", "grpc"), text("rpc.system", "grpc"), text("rpc.method", method)]);
                all.extend((!span.status.is_empty()).then(|| text("rpc.response.status_code", &span.status)));
            }
            (None, None) => {
                all.push(text("http.request.method", &asked.method));
                all.extend(span.status.parse().ok().map(|code| number("http.response.status_code", code)));
                // A URL with placeholders was never requested in this form.
                let kind = if asked.url.contains('{') { "url.template" } else { "url.full" };
                all.extend((!asked.url.is_empty()).then(|| text(kind, &asked.url)));
            }
        }
        if let Some(uri) = &asked.uri {
            let tls = matches!(uri.scheme_str(), Some("https" | "grpcs" | "wss"));
            let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
            all.extend(uri.host().map(|host| text("server.address", host.trim_matches(['[', ']']))));
            all.push(number("server.port", port.into()));
        }
        if let Some((name, version)) = self.spoken.split_once('/').filter(|_| asked.of.is_none()) {
            all.push(text("network.protocol.name", &name.to_lowercase()));
            all.push(text("network.protocol.version", version));
        }
        if let Some(failure) = &span.failure {
            let status = span.status.split_whitespace().next().filter(|_| failure.kind == "wrong_status");
            all.push(text("error.type", status.unwrap_or(&failure.kind)));
            all.extend(failure.errno.as_deref().map(|errno| text("brunt.errno", errno)));
        }
        self.own(span, &mut all);
        all
    }

    /// Adds the attributes specific to brunt.
    fn own(&self, span: &RequestSpan, all: &mut Vec<KeyValue>) {
        let why = match span {
            RequestSpan { failure: Some(_), .. } => "failed",
            RequestSpan { slow: true, .. } => "slow",
            _ => "sampled",
        };
        all.push(text("brunt.kept", why));
        all.push(text("brunt.load", if self.open { "open" } else { "closed" }));
        let micros = |from: i64, to: i64| to.saturating_sub(from).max(0) / 1000;
        all.push(number("brunt.waited_us", micros(span.scheduled_ns, span.started_ns)));
        all.push(number(
            "brunt.latency_us",
            micros(if self.open { span.scheduled_ns } else { span.started_ns }, span.ended_ns),
        ));
        all.extend(self.names.get(usize::from(span.name)).map(|name| text("brunt.step", name)));
        all.extend(self.scenarios.get(usize::from(span.scenario)).map(|name| text("brunt.scenario", name)));
    }
}

/// The text form of a request.
#[derive(Default)]
struct RequestText {
    name: String,
    url: String,
    uri: Option<Uri>,
    method: String,
    /// gRPC method: `package.Service/Method`.
    rpc: Option<String>,
    /// Request to a database or over a plain connection.
    of: Option<PreparedQuery>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::AnyKind;

    fn context(url: &str, name: &str) -> SpanContext {
        let names = vec![name.to_owned()];
        SpanContext {
            unix_ns: 1_000_000,
            open: true,
            urls: vec![url.into()],
            names,
            spoken: "HTTP/2".into(),
            ..SpanContext::default()
        }
    }

    fn span() -> RequestSpan {
        let (scheduled_ns, started_ns, written_ns, ended_ns) = (-500_000, 1_000_000, 3_000_000, 9_000_000);
        RequestSpan {
            trace: 5,
            span: 7,
            sampled: true,
            scheduled_ns,
            started_ns,
            written_ns,
            ended_ns,
            status: "503".into(),
            ..RequestSpan::default()
        }
    }

    fn exported(context: &SpanContext, span: RequestSpan) -> Vec<Proto> {
        let bytes = context.export(&[span], &[("service.name".into(), "brunt".into())]);
        let export = ExportTraceServiceRequest::decode(&*bytes).expect("an export");
        export.resource_spans.into_iter().flat_map(|all| all.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// Returns an attribute as text.
    fn of(span: &Proto, key: &str) -> Option<String> {
        let value = span.attributes.iter().find(|pair| pair.key == key)?.value.clone()?.value?;
        Some(match value {
            AnyKind::Text(text) => text,
            AnyKind::Int(number) => number.to_string(),
        })
    }

    #[test]
    fn a_request_is_a_span_from_when_it_was_due_and_its_connection_one_within() {
        let failure =
            brunt_record::Failure { kind: "wrong_status".into(), phase: "first_byte".into(), ..Default::default() };
        let all =
            exported(&context("https://h/a?b={counter}", "POST /a"), RequestSpan { failure: Some(failure), ..span() });
        let [request, connection] = &all[..] else { panic!("{all:?}") };
        assert_eq!((request.start_time_unix_nano, request.end_time_unix_nano), (500_000, 10_000_000));
        assert_eq!((&*request.name, request.kind, request.flags), ("POST /a", CLIENT, 1));
        assert_eq!((&*request.events[0].name, request.events[0].time_unix_nano), ("sent", 4_000_000));
        let told = ["http.request.method", "url.template", "http.response.status_code", "error.type", "server.port"];
        let told = told.map(|key| of(request, key).unwrap_or_default());
        assert_eq!(told, ["POST", "https://h/a?b={counter}", "503", "503", "443"]);
        let own = ["brunt.kept", "brunt.waited_us", "brunt.latency_us", "network.protocol.version"]
            .map(|key| of(request, key));
        assert_eq!(own, ["failed", "1500", "9500", "2"].map(|value| Some(value.to_owned())));
        assert_eq!((&connection.parent_span_id, &connection.trace_id), (&request.span_id, &request.trace_id));
        assert_ne!(connection.span_id, request.span_id);
        assert_eq!((connection.start_time_unix_nano, connection.end_time_unix_nano), (2_000_000, 4_000_000));
    }

    #[test]
    fn spans_are_encoded_as_opentelemetry_encodes_them() {
        let failure =
            brunt_record::Failure { kind: "wrong_status".into(), phase: "first_byte".into(), ..Default::default() };
        let failed = RequestSpan { failure: Some(failure), first_byte_ns: Some(8_000_000), ..span() };
        let context = context("https://h/a?b={counter}", "POST /a");
        let export =
            context.export(&[failed, RequestSpan { span: 9, sampled: false, ..span() }], &[("a".into(), "b".into())]);
        crate::tests::same_as(include_bytes!("golden/spans.bin"), &export);
    }

    #[test]
    fn a_statement_is_described_as_one_of_its_database_and_what_was_sent_plainly_by_its_place() {
        let failure =
            brunt_record::Failure { kind: "wrong_status".into(), phase: "first_byte".into(), ..Default::default() };
        let of_request = |url: &str, option: &str, asked: &[&str], (name, span): (&str, RequestSpan)| {
            let head = include_str!("../../record/src/version-1.jsonl").lines().next().expect("a head");
            let mut started: RunStarted = serde_json::from_str(head).expect("a head");
            let urls = started.plan.urls.make_mut();
            urls.truncate(1);
            urls[0].url = url.into();
            urls[0].options.clear();
            started.plan.options = [(option.to_owned(), asked.iter().map(|one| (*one).to_owned()).collect())].into();
            started.names = vec![name.into()];
            let mut context = SpanContext::default();
            context.started(&started);
            let told = exported(&context, span).remove(0);
            let known = ["db.system.name", "db.namespace", "db.operation.name", "db.query.text", "server.port"];
            let known = known.map(|key| of(&told, key).unwrap_or_default());
            (told.name.clone(), known, ["error.type", "db.response.status_code"].map(|key| of(&told, key)), told)
        };
        let failed =
            RequestSpan { request: 1, status: "1062 duplicate entry".into(), failure: Some(failure), ..span() };
        let sql = ["3x SELECT 1", "INSERT INTO t VALUES ({counter})"];
        let (name, known, error, told) = of_request("mysql://***@h/shop", "sql", &sql, (sql[1], failed));
        assert_eq!((&*name, known), ("INSERT t", ["mysql", "shop", "INSERT", sql[1], "3306"].map(str::to_owned)));
        assert_eq!(error, [Some("1062".to_owned()), Some("1062".to_owned())]);
        assert_eq!((of(&told, "http.request.method"), of(&told, "url.full")), (None, None));
        let (name, known, error, _) = of_request("redis://h:1", "command", &[], ("PING", span()));
        assert_eq!((&*name, known), ("PING", ["redis", "", "PING", "PING", "1"].map(str::to_owned)));
        assert_eq!(error, [None, None]);
        let (name, known, _, told) = of_request("udp://h:7", "send", &["x"], ("udp://h:7", span()));
        assert_eq!((&*name, known), ("udp://h:7", ["", "", "", "", "7"].map(str::to_owned)));
        assert_eq!(of(&told, "network.transport").as_deref(), Some("udp"));
    }

    #[test]
    fn a_call_of_grpc_is_described_as_one_and_what_is_not_known_is_left_out() {
        let told = exported(
            &context("grpc://h:50051/shop.Cart/Add", ""),
            RequestSpan { status: "UNAVAILABLE".into(), ..span() },
        );
        assert_eq!(of(&told[0], "rpc.method").as_deref(), Some("shop.Cart/Add"));
        assert_eq!(of(&told[0], "rpc.response.status_code").as_deref(), Some("UNAVAILABLE"));
        assert_eq!((of(&told[0], "http.request.method"), of(&told[0], "error.type")), (None, None));
        let hop = exported(
            &context("http://h/", "GET /"),
            RequestSpan { request: u32::MAX, written_ns: 1_000_000, ..span() },
        );
        assert_eq!((hop.len(), of(&hop[0], "url.full")), (1, None));
    }
}
