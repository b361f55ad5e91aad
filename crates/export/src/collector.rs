//! An OpenTelemetry collector, reached by OTLP over HTTP or gRPC: its address and its settings.

use brunt_cause::{Complaint, complaint};
use std::time::Duration;

use brunt_contract::{Proxy, ProxyKind};
use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};

use crate::grpc::OtlpGrpcClient;
use crate::http::{HttpClient, ServerAddress, tls_config};

/// Default timeout of a whole export: a collector that stalls loses an export, but never delays the run.
const PATIENCE: Duration = Duration::from_secs(5);
/// Port of OTLP over HTTP.
const PORT: u16 = 4318;
/// Port of OTLP over gRPC.
const GRPC_PORT: u16 = 4317;

/// An environment variable and its value; some settings have one variable for each signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvVariable {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    pub value: String,
}

/// Values of the standard environment variables of OpenTelemetry exporters, and the proxy.
#[derive(Clone, Debug, Default)]
pub struct ExporterSettings {
    /// `OTEL_EXPORTER_OTLP_HEADERS`: `key=value,key=value`.
    pub headers: Option<EnvVariable>,
    /// `OTEL_EXPORTER_OTLP_PROTOCOL`: `grpc` or `http/protobuf`, for a URL that implies neither.
    pub protocol: Option<EnvVariable>,
    /// `OTEL_EXPORTER_OTLP_TIMEOUT`: timeout of an export.
    pub timeout: Option<Duration>,
    /// `OTEL_EXPORTER_OTLP_CERTIFICATE`: authorities to trust, as PEM; `None` for the public ones.
    pub certificate: Option<Vec<u8>>,
    /// `OTEL_RESOURCE_ATTRIBUTES`, in the format of `headers`.
    pub attributes: Option<String>,
    /// `OTEL_SERVICE_NAME`.
    pub service: Option<String>,
    /// HTTP proxy, used if the collector is on another machine; a SOCKS proxy is not used.
    pub proxy: Option<Proxy>,
}

/// The address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    base: String,
    /// Set if the collector is on this machine, which is reached without a proxy.
    local: bool,
    /// Set if the URL implies gRPC.
    grpc: bool,
    /// Set if the URL is that of a single signal, to which no path is added.
    exact: bool,
}

impl Endpoint {
    /// Parses a URL; the scheme may be omitted, and then the port as well.
    ///
    /// # Errors
    ///
    /// Returns a sentence that states what is wrong with the URL, and an accepted form.
    pub fn parse(text: &str) -> Result<Endpoint, Complaint> {
        let wrong = || {
            complaint!(
                "`{text}` is not the URL of a collector; use one such as http://127.0.0.1:{PORT} or \
                    grpc://127.0.0.1:{GRPC_PORT}",
                "`{text}` 不是采集器的 URL；请写，例如 http://127.0.0.1:{PORT} 或 grpc://127.0.0.1:{GRPC_PORT}"
            )
        };
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = whole.parse().map_err(|_| wrong())?;
        let (Some(scheme @ ("http" | "https" | "grpc" | "grpcs")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err(wrong());
        };
        let grpc = scheme.starts_with("grpc");
        let scheme = if scheme.ends_with('s') { "https" } else { "http" };
        if authority.host().is_empty() || uri.query().is_some() {
            return Err(wrong());
        }
        let port = match (authority.port().is_some(), grpc) {
            (false, true) => format!(":{GRPC_PORT}"),
            (false, false) if !text.contains("://") => format!(":{PORT}"),
            _ => String::new(),
        };
        let path = uri.path().trim_end_matches('/');
        // Some users give the URL of a single signal; the other signals have sibling paths.
        let path = ["/v1/metrics", "/v1/traces"].iter().fold(path, |path, end| path.strip_suffix(end).unwrap_or(path));
        let host = authority.host().trim_matches(['[', ']']);
        let local = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        if grpc && !path.is_empty() {
            return Err(wrong());
        }
        Ok(Endpoint { base: format!("{scheme}://{authority}{port}{path}"), local, grpc, exact: false })
    }

    /// Parses the URL of one signal, which is used unchanged (`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`).
    ///
    /// # Errors
    ///
    /// Returns a sentence that states what is wrong with the URL, and an accepted form.
    pub fn parse_exact(text: &str) -> Result<Endpoint, Complaint> {
        let read = Endpoint::parse(text)?;
        if read.grpc || !text.contains("://") {
            return Ok(read);
        }
        Ok(Endpoint { base: text.to_owned(), exact: true, ..read })
    }

    /// Returns the path for a signal.
    fn path(&self, signal: &str) -> String {
        let (_, rest) = self.base.split_once("://").unwrap_or_default();
        let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
        match self.exact {
            false => format!("{path}/v1/{signal}"),
            true if path.starts_with('/') => path.to_owned(),
            true => format!("/{path}"),
        }
    }

    /// Returns the URL for display, without user name and password.
    pub fn shown(&self) -> String {
        let shown = self.bare();
        if self.grpc { shown.replacen("http", "grpc", 1) } else { shown }
    }

    fn bare(&self) -> String {
        match (self.base.split_once("://"), self.base.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
            _ => self.base.clone(),
        }
    }
}

/// Parses `key=value,key=value`, with percent escapes in values.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty())?;
        Some((name.trim().to_owned(), unescaped(value.trim())?))
    };
    let all = text.split(',').filter(|piece| !piece.trim().is_empty());
    all.map(|piece| pair(piece).ok_or_else(|| "is not NAME=VALUE,NAME=VALUE".to_owned())).collect()
}

fn unescaped(text: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('%') {
        out.extend_from_slice(before.as_bytes());
        out.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    out.extend_from_slice(rest.as_bytes());
    String::from_utf8(out).ok()
}

/// A client that sends exports to a collector.
#[derive(Clone)]
pub struct CollectorClient {
    transport: OtlpTransport,
    endpoint: Endpoint,
    headers: Vec<(String, String)>,
    /// Resource attributes sent with every export.
    pub(crate) resource: Vec<(String, String)>,
    /// Timeout of a whole export.
    timeout: Duration,
}

#[derive(Clone)]
enum OtlpTransport {
    Http(HttpClient),
    Grpc(OtlpGrpcClient),
}

impl CollectorClient {
    /// Creates a client for this endpoint; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names an invalid setting and states what is wrong with it.
    pub fn new(endpoint: Endpoint, settings: &ExporterSettings) -> Result<CollectorClient, String> {
        let patience = settings.timeout.unwrap_or(PATIENCE);
        let said = settings.headers.clone().unwrap_or_default();
        let headers = pairs(&said.value).map_err(|trouble| format!("{} {trouble}", said.name))?;
        let whole = |(name, value): &(String, String)| {
            HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok()
        };
        if !headers.iter().all(whole) {
            return Err(format!("{} has an invalid header", said.name));
        }
        let attributes = pairs(settings.attributes.as_deref().unwrap_or_default());
        let mut resource = attributes.map_err(|trouble| format!("OTEL_RESOURCE_ATTRIBUTES {trouble}"))?;
        let service = settings.service.clone().filter(|name| !name.is_empty());
        if service.is_some() || !resource.iter().any(|(name, _)| name == "service.name") {
            resource.retain(|(name, _)| name != "service.name");
            resource.push(("service.name".into(), service.unwrap_or_else(|| "brunt".into())));
        }
        resource.push(("service.version".into(), env!("CARGO_PKG_VERSION").into()));
        let grpc = by_grpc(&endpoint, settings)?;
        let client = HttpClient::new(place(&endpoint, settings, grpc)?, patience);
        let speaks = if grpc { OtlpTransport::Grpc(OtlpGrpcClient(client)) } else { OtlpTransport::Http(client) };
        Ok(CollectorClient { transport: speaks, endpoint, headers, resource, timeout: patience })
    }

    /// Returns the URL for display.
    pub fn shown(&self) -> String {
        self.endpoint.shown()
    }

    /// Returns the maximum time that the end of a run waits for the last export.
    pub(crate) fn final_wait(&self) -> Duration {
        self.timeout + Duration::from_secs(1)
    }

    /// Sends one export; the error describes why it was not accepted.
    pub(crate) fn send(&self, signal: &str, body: &[u8]) -> Result<(), String> {
        let headers = self.headers.iter().map(|(name, value)| (&**name, &**value));
        let client = match &self.transport {
            OtlpTransport::Http(client) => client,
            OtlpTransport::Grpc(grpc) => {
                let service = if signal == "traces" { "trace.v1.TraceService" } else { "metrics.v1.MetricsService" };
                let path = format!("/opentelemetry.proto.collector.{service}/Export");
                return grpc.call(&path, &headers.collect::<Vec<_>>(), body);
            }
        };
        let headers: Vec<_> = headers.chain([("content-type", "application/x-protobuf")]).collect();
        let (head, rest) = client.post(&self.endpoint.path(signal), &headers, body.to_vec().into())?;
        if head.status.is_success() {
            return Ok(());
        }
        let said = rest.map(|rest| rest.to_bytes()).unwrap_or_default();
        let said: String = String::from_utf8_lossy(&said).chars().filter(|c| !c.is_control()).take(200).collect();
        Err(format!("{} {said}", head.status).trim_end().to_owned())
    }
}

/// Returns `true` if the URL or `OTEL_EXPORTER_OTLP_PROTOCOL` selects gRPC.
fn by_grpc(endpoint: &Endpoint, settings: &ExporterSettings) -> Result<bool, String> {
    match settings.protocol.as_ref().map(|said| (&*said.value, &*said.name)) {
        None | Some(("http/protobuf", _)) => Ok(endpoint.grpc),
        Some(("grpc", _)) => Ok(true),
        Some((other, name)) => Err(format!("{name} is `{other}`; write grpc or http/protobuf")),
    }
}

/// Returns the address that requests are sent to.
fn place(endpoint: &Endpoint, settings: &ExporterSettings, two: bool) -> Result<ServerAddress, String> {
    let uri: Uri = endpoint.bare().parse().map_err(|_| "is not the URL of a collector".to_owned())?;
    let secure = uri.scheme_str() == Some("https");
    let protocol: &[u8] = if two { b"h2" } else { b"http/1.1" };
    let tls = tls_config(settings.certificate.as_deref(), protocol)
        .ok_or("OTEL_EXPORTER_OTLP_CERTIFICATE is a file without a certificate (PEM)")?;
    let usual = match secure {
        _ if two => GRPC_PORT,
        true => 443,
        false => 80,
    };
    let through = |proxy: &&Proxy| proxy.kind == ProxyKind::Http && !endpoint.local && !two;
    Ok(ServerAddress {
        host: uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
        port: uri.port_u16().unwrap_or(usual),
        tls: secure.then_some(tls),
        proxy: settings.proxy.as_ref().filter(through).cloned(),
        http2: two,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_found_by_what_people_write() {
        let base = |text| Endpoint::parse(text).map(|endpoint| endpoint.base);
        assert_eq!(base("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318");
        assert_eq!(base("http://h:80/otlp/v1/metrics").unwrap(), "http://h:80/otlp");
        assert_eq!(base("https://h/").unwrap(), "https://h");
        assert_eq!(base("localhost").unwrap(), "http://localhost:4318");
        assert_eq!(base("localhost:1").unwrap(), "http://localhost:1");
        assert_eq!(base("grpc://h").unwrap(), "http://h:4317");
        assert_eq!(Endpoint::parse("grpcs://a:b@h:1/").unwrap().shown(), "grpcs://h:1");
        for wrong in ["", "grpc://h/v1/x", "ftp://h", "http://", "http://h/?a=b", "a b"] {
            assert!(base(wrong).is_err_and(|said| said.contains("is not the URL of a collector")), "{wrong}");
        }
        let endpoint = Endpoint::parse("https://ann:secret@h/x").unwrap();
        assert_eq!(endpoint.shown(), "https://h/x");
        let path = |read: Result<Endpoint, Complaint>| read.unwrap().path("traces");
        assert_eq!(path(Endpoint::parse("http://h:1/x/v1/metrics")), "/x/v1/traces");
        assert_eq!(path(Endpoint::parse_exact("http://h:1/here")), "/here");
        assert_eq!(path(Endpoint::parse_exact("http://h:1")), "/");
        assert_eq!(Endpoint::parse_exact("grpcs://h:1").unwrap(), Endpoint::parse("grpcs://h:1").unwrap());
    }

    #[test]
    fn the_variables_of_exporters_are_heeded() {
        assert_eq!(
            pairs("a=b, api-key = c%20d ,").unwrap(),
            [("a".into(), "b".into()), ("api-key".into(), "c d".into())]
        );
        assert!(pairs("a").is_err() && pairs("=b").is_err() && pairs("a=%zz").is_err() && pairs("a=%é").is_err());
        let endpoint = || Endpoint::parse("http://127.0.0.1").unwrap();
        let of = |settings: &ExporterSettings| {
            CollectorClient::new(endpoint(), settings).map(|collector| collector.resource)
        };
        let told =
            of(&ExporterSettings { attributes: Some("service.name=a,env=ci".into()), ..ExporterSettings::default() })
                .unwrap();
        assert!(told.contains(&("service.name".into(), "a".into())) && told.contains(&("env".into(), "ci".into())));
        assert!(of(&ExporterSettings::default()).unwrap().contains(&("service.name".into(), "brunt".into())));
        let wrong = ExporterSettings { certificate: Some(b"nothing".to_vec()), ..ExporterSettings::default() };
        assert!(of(&wrong).is_err_and(|said| said.starts_with("OTEL_EXPORTER_OTLP_CERTIFICATE")));
        let headers = EnvVariable { name: "OTEL_EXPORTER_OTLP_HEADERS".into(), value: "a b=c".into() };
        let wrong = ExporterSettings { headers: Some(headers), ..ExporterSettings::default() };
        assert!(of(&wrong).is_err_and(|said| said.starts_with("OTEL_EXPORTER_OTLP_HEADERS")));
    }
}
