//! OTLP over gRPC: unary calls.

use hyper::HeaderMap;

use crate::http::{HttpClient, HttpResponse};

/// A gRPC client of a collector.
#[derive(Clone)]
pub(crate) struct OtlpGrpcClient(pub HttpClient);

impl OtlpGrpcClient {
    /// Calls a method with an encoded message; the error describes why it was not accepted.
    pub fn call(&self, path: &str, headers: &[(&str, &str)], message: &[u8]) -> Result<(), String> {
        // The prefix of the message: a flag for no compression, and the length.
        let mut body = vec![0];
        body.extend((message.len() as u32).to_be_bytes());
        body.extend(message);
        let own = [("content-type", "application/grpc"), ("te", "trailers")];
        outcome(self.0.post(path, &[&own, headers].concat(), body.into())?)
    }
}

/// Returns the outcome of a response, whose status is in its trailers, or in its head if there is no body.
fn outcome((head, rest): HttpResponse) -> Result<(), String> {
    let rest = rest?;
    let of = |name: &str| {
        let found = |map: &HeaderMap| map.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        found(&head.headers).or_else(|| rest.trailers().and_then(found))
    };
    match of("grpc-status").as_deref() {
        Some("0") => Ok(()),
        None => Err(format!("{} without a gRPC status", head.status)),
        Some(code) => {
            let message = of("grpc-message").unwrap_or_default();
            let message: String = message.chars().filter(|c| !c.is_control()).take(200).collect();
            Err(format!("gRPC status {code} {message}").trim_end().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use http_body_util::{BodyExt, StreamBody};
    use hyper::body::{Bytes, Frame, Incoming};
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use prost::Message;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rustls::ServerConfig;
    use tokio::runtime::Builder;

    use crate::collector::{CollectorClient, Endpoint, EnvVariable, ExporterSettings};
    use crate::messages::ExportMetricsServiceRequest;

    type ReceivedCalls = Arc<Mutex<Vec<(String, Option<String>, usize)>>>;

    use super::*;

    /// Starts a service that accepts well-encoded messages on known paths, over TLS if it has a certificate.
    fn service(heard: &ReceivedCalls, tls: Option<Arc<ServerConfig>>) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::clone(heard);
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                listener.set_nonblocking(true).expect("a socket");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                while let Ok((stream, _)) = listener.accept().await {
                    let heard = Arc::clone(&heard);
                    let service = service_fn(move |request| answer(request, Arc::clone(&heard)));
                    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let Some(tls) = tls.clone() else {
                        drop(tokio::spawn(connection.serve_connection(TokioIo::new(stream), service)));
                        continue;
                    };
                    drop(tokio::spawn(async move {
                        let Ok(stream) = tokio_rustls::TlsAcceptor::from(tls).accept(stream).await else { return };
                        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                        let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                    }));
                }
            });
        });
        address
    }

    async fn answer(
        request: Request<Incoming>,
        heard: ReceivedCalls,
    ) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, Infallible> {
        let path = request.uri().path().to_owned();
        let key = request.headers().get("api-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
        let body = request.into_body().collect().await.map(|whole| whole.to_bytes()).unwrap_or_default();
        let length = body.get(1..5).map_or(0, |digits| u32::from_be_bytes(digits.try_into().unwrap_or_default()));
        let whole = body.first() == Some(&0) && length as usize + 5 == body.len();
        let metrics = body.get(5..).and_then(|body| ExportMetricsServiceRequest::decode(body).ok());
        let known = path.ends_with("metrics.v1.MetricsService/Export") && whole && metrics.is_some();
        heard.lock().unwrap().push((path, key, metrics.map_or(0, |all| all.resource_metrics.len())));
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", if known { "0" } else { "12" }.parse().expect("a header"));
        trailers.insert("grpc-message", "unknown service".parse().expect("a header"));
        let frames = [Frame::data(Bytes::from_static(&[0; 5])), Frame::trailers(trailers)].map(Ok);
        let body = StreamBody::new(futures_util::stream::iter(frames));
        Ok(Response::builder().header("content-type", "application/grpc").body(body).expect("a response"))
    }

    #[test]
    fn a_collector_is_called_and_says_why_it_takes_nothing() {
        let heard = ReceivedCalls::default();
        let address = service(&heard, None);
        let export = ExportMetricsServiceRequest { resource_metrics: vec![Default::default(); 3] }.encode_to_vec();
        let said = |name: &str, text: &str| Some(EnvVariable { name: name.into(), value: text.into() });
        let by_variable = said("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        for (url, protocol) in [(format!("grpc://{address}"), None), (format!("http://{address}"), by_variable)] {
            let headers = said("OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=a");
            let settings = ExporterSettings { headers, protocol, ..ExporterSettings::default() };
            let collector =
                CollectorClient::new(Endpoint::parse(&url).expect("a URL"), &settings).expect("a collector");
            for _ in 0..3 {
                assert_eq!(collector.send("metrics", &export), Ok(()));
            }
            assert_eq!(collector.send("traces", &export), Err("gRPC status 12 unknown service".into()));
        }
        let heard = heard.lock().unwrap();
        let path = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export".to_owned();
        assert_eq!((heard.len(), &heard[0]), (8, &(path, Some("a".into()), 3)));
        let json = said("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json");
        let wrong = ExporterSettings { protocol: json, ..ExporterSettings::default() };
        let said =
            CollectorClient::new(Endpoint::parse("http://127.0.0.1").expect("a URL"), &wrong).err().unwrap_or_default();
        assert!(said.starts_with("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is `http/json`"), "{said}");
    }

    /// Creates an authority as PEM, and a server with a certificate from it for this name.
    fn signed_for(name: &str) -> (Vec<u8>, Arc<ServerConfig>) {
        let (authority, key) = (KeyPair::generate().expect("a key"), KeyPair::generate().expect("a key"));
        let mut of_authority = CertificateParams::new(Vec::new()).expect("no names");
        of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = of_authority.self_signed(&authority).expect("a certificate").pem().into_bytes();
        let issuer = Issuer::new(of_authority, authority);
        let own = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let chain = vec![own.signed_by(&key, &issuer).expect("a certificate").der().clone()];
        let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = builder.expect("versions").with_no_client_auth().with_single_cert(chain, key).expect("a pair");
        config.alpn_protocols = vec![b"h2".to_vec()];
        (pem, Arc::new(config))
    }

    #[test]
    fn over_tls_a_collector_is_called_whose_certificate_an_authority_of_ours_has_signed_and_no_other() {
        let export = ExportMetricsServiceRequest { resource_metrics: vec![Default::default()] }.encode_to_vec();
        let ((ours, server), (_, impostor)) = (signed_for("127.0.0.1"), signed_for("127.0.0.1"));
        let (theirs, elsewhere) = signed_for("collector.test");
        let called = |authority: Option<&Vec<u8>>, server: &Arc<ServerConfig>| {
            let heard = ReceivedCalls::default();
            let address = service(&heard, Some(Arc::clone(server)));
            let settings = ExporterSettings { certificate: authority.cloned(), ..ExporterSettings::default() };
            let endpoint = Endpoint::parse(&format!("grpcs://{address}")).expect("a URL");
            let outcome = CollectorClient::new(endpoint, &settings).expect("a collector").send("metrics", &export);
            (outcome, heard.lock().unwrap().len())
        };
        assert_eq!(called(Some(&ours), &server), (Ok(()), 1));
        for (authority, server) in [(None, &server), (Some(&ours), &impostor), (Some(&theirs), &elsewhere)] {
            let (outcome, heard) = called(authority, server);
            assert_eq!(
                (outcome.clone().is_err_and(|why| why.contains("certificate")), heard),
                (true, 0),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn a_collector_that_is_away_is_said_to_be() {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port");
        let endpoint = Endpoint::parse(&format!("grpc://{gone}")).expect("a URL");
        let said =
            CollectorClient::new(endpoint, &ExporterSettings::default()).expect("a collector").send("metrics", b"");
        assert!(said.clone().is_err_and(|why| why.to_lowercase().contains("refused")), "{said:?}");
    }
}
