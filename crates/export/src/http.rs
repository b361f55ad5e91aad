//! An HTTP client for a collector: POST requests over HTTP/1.1 or HTTP/2, on one connection that is reopened if it
//! breaks.
//!
//! Each exporting thread has its own runtime and connection, which make progress only during a request.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brunt_contract::{Proxy, bracketed};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::http::response::Parts;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

/// Maximum number of bytes of a response that are read.
const LONGEST: usize = 64 * 1024;

/// The address of a server, and the route to it.
#[derive(Clone, Default)]
pub(crate) struct ServerAddress {
    /// Name or address, without brackets.
    pub host: String,
    pub port: u16,
    pub tls: Option<Arc<ClientConfig>>,
    /// HTTP proxy; `None` for a direct connection.
    pub proxy: Option<Proxy>,
    /// Set for HTTP/2 with prior knowledge.
    pub http2: bool,
}

impl ServerAddress {
    fn authority(&self) -> String {
        format!("{}:{}", bracketed(&self.host), self.port)
    }
}

/// A client for one server.
pub(crate) struct HttpClient {
    place: ServerAddress,
    /// Timeout of a request, including the time to connect.
    timeout: Duration,
    running: Mutex<Option<Connected>>,
}

struct Connected {
    runtime: Runtime,
    /// Connection, while it is open.
    sender: Option<RequestSender>,
}

/// A clone has its own connection.
impl Clone for HttpClient {
    fn clone(&self) -> HttpClient {
        HttpClient::new(self.place.clone(), self.timeout)
    }
}

/// A response: its head, and the body if it arrived completely and is not too long.
pub(crate) type HttpResponse = (Parts, Result<Collected<Bytes>, String>);

impl HttpClient {
    /// Creates a client for this server, without connecting.
    pub fn new(place: ServerAddress, patience: Duration) -> HttpClient {
        HttpClient { place, timeout: patience, running: Mutex::default() }
    }

    /// Posts a body; the error describes why there is no response.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: Bytes) -> Result<HttpResponse, String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_none() {
            let runtime = Builder::new_current_thread().enable_all().build().map_err(|why| why.to_string())?;
            *running = Some(Connected { runtime, sender: None });
        }
        let Connected { runtime, sender } = running.as_mut().expect("it was made above");
        let request = || self.request(path, headers, body.clone());
        let whole = async { tokio::time::timeout(self.timeout, self.once(sender, request)).await };
        let outcome = runtime.block_on(whole).unwrap_or_else(|_| Err("no response in time".into()));
        if !outcome.as_ref().is_ok_and(|(_, rest)| rest.is_ok()) {
            *sender = None;
        }
        outcome
    }

    async fn once(
        &self,
        kept: &mut Option<RequestSender>,
        request: impl Fn() -> Result<Request<Full<Bytes>>, String>,
    ) -> Result<HttpResponse, String> {
        let asked = match kept {
            // A kept connection may have been closed, which shows only when it is used.
            Some(sender) => sender.send(request()?).await.ok(),
            None => None,
        };
        let response = match asked {
            Some(response) => response,
            None => kept.insert(self.connect().await?).send(request()?).await.map_err(error_text)?,
        };
        let (head, body) = response.into_parts();
        Ok((head, Limited::new(body, LONGEST).collect().await.map_err(|why| innermost(&*why))))
    }

    fn request(&self, path: &str, headers: &[(&str, &str)], body: Bytes) -> Result<Request<Full<Bytes>>, String> {
        let authority = self.place.authority();
        let scheme = if self.place.tls.is_some() { "https" } else { "http" };
        let mut request = match self.place.http2 {
            true => Request::post(format!("{scheme}://{authority}{path}")),
            false => Request::post(path).header("host", authority),
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request = request.header("user-agent", concat!("brunt/", env!("CARGO_PKG_VERSION")));
        request.body(Full::new(body)).map_err(|why| why.to_string())
    }

    async fn connect(&self) -> Result<RequestSender, String> {
        let mut stream = match &self.place.proxy {
            Some(proxy) => open_tunnel(proxy, &self.place.authority()).await?,
            None => Box::new(connect_tcp(&self.place.host, self.place.port).await?),
        };
        if let Some(tls) = &self.place.tls {
            let name = ServerName::try_from(self.place.host.clone()).map_err(|why| why.to_string())?;
            let secured = tokio_rustls::TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
            stream = Box::new(secured.map_err(|why| why.to_string())?);
        }
        let io = TokioIo::new(stream);
        if self.place.http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.map_err(error_text)?;
            drop(tokio::spawn(connection));
            return Ok(RequestSender::Http2(sender));
        }
        let (sender, connection) = http1::handshake(io).await.map_err(error_text)?;
        drop(tokio::spawn(connection));
        Ok(RequestSender::Http1(sender))
    }
}

enum RequestSender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl RequestSender {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, hyper::Error> {
        match self {
            RequestSender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            RequestSender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

async fn connect_tcp(host: &str, port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((host, port)).await.map_err(|why| why.to_string())?;
    stream.set_nodelay(true).map_err(|why| why.to_string())?;
    Ok(stream)
}

/// Opens a tunnel to `authority`.
async fn open_tunnel(proxy: &Proxy, authority: &str) -> Result<Box<dyn Io>, String> {
    let stream = connect_tcp(&proxy.host, proxy.port).await.map_err(|why| format!("proxy {proxy}: {why}"))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(error_text)?;
    drop(tokio::spawn(connection.with_upgrades()));
    let mut request = Request::connect(authority).header("host", authority);
    if let Some(who) = proxy.authorization_header() {
        request = request.header("proxy-authorization", who);
    }
    let request = request.body(Full::<Bytes>::default()).map_err(|why| why.to_string())?;
    let response = sender.send_request(request).await.map_err(error_text)?;
    if !response.status().is_success() {
        return Err(format!("proxy {proxy}: {}", response.status()));
    }
    Ok(Box::new(TokioIo::new(hyper::upgrade::on(response).await.map_err(error_text)?)))
}

/// Creates a TLS configuration that trusts these authorities (PEM), or the public ones; `None` if the PEM
/// contains no certificate.
pub(crate) fn tls_config(authorities: Option<&[u8]>, protocol: &[u8]) -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            let all: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()?;
            roots.add_parsable_certificates(all);
        }
    }
    if roots.is_empty() {
        return None;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.expect("its own versions").with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Some(Arc::new(config))
}

fn error_text(error: hyper::Error) -> String {
    innermost(&error)
}

/// Returns the innermost cause, which is the most specific.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut why = error;
    while let Some(inner) = why.source() {
        why = inner;
    }
    why.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::thread::JoinHandle;

    use super::*;

    type CollectorRequests = JoinHandle<Vec<String>>;

    /// Accepts a connection for each of `connections` and answers that many requests on it; returns the
    /// requests received.
    fn server(connections: &'static [usize], answer: &'static str) -> (SocketAddr, CollectorRequests) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let serve = move || {
            let mut heard = Vec::new();
            for requests in connections {
                let mut stream = BufReader::new(listener.accept().expect("a connection").0);
                for _ in 0..*requests {
                    let (mut head, mut length) = (String::new(), 0);
                    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).expect("a line") > 0 {}
                    for line in head.to_lowercase().lines() {
                        length = line.strip_prefix("content-length: ").map_or(length, |n| n.parse().expect("a number"));
                    }
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).expect("a body");
                    heard.push(head + &String::from_utf8(body).expect("text"));
                    stream.get_mut().write_all(answer.as_bytes()).expect("it reads");
                }
            }
            heard
        };
        (address, std::thread::spawn(serve))
    }

    fn client(to: SocketAddr, proxy: Option<Proxy>) -> HttpClient {
        let place = ServerAddress { host: to.ip().to_string(), port: to.port(), proxy, ..ServerAddress::default() };
        HttpClient::new(place, Duration::from_secs(5))
    }

    fn posted(client: &HttpClient) -> Result<(u16, String), String> {
        let (head, rest) = client.post("/v1/x", &[("a", "b")], Bytes::from_static(b"abc"))?;
        Ok((head.status.as_u16(), String::from_utf8_lossy(&rest?.to_bytes()).into_owned()))
    }

    #[test]
    fn a_connection_serves_until_it_is_closed_and_then_another_does() {
        let (address, heard) = server(&[2, 1], "HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy");
        let client = client(address, None);
        for _ in 0..3 {
            assert_eq!(posted(&client), Ok((503, "busy".into())));
        }
        let heard = heard.join().expect("it served");
        assert_eq!(heard.len(), 3);
        assert!(heard[2].starts_with("POST /v1/x HTTP/1.1\r\n") && heard[2].ends_with("\r\n\r\nabc"), "{}", heard[2]);
        for line in [&*format!("host: {address}"), "a: b", "content-length: 3"] {
            assert!(heard[2].lines().any(|told| told == line), "{line} in {}", heard[2]);
        }
        assert!(posted(&client).is_err_and(|why| why.contains("refused")));
    }

    #[test]
    fn a_proxy_is_asked_for_a_tunnel() {
        let answer = "HTTP/1.1 200 Here\r\n\r\n";
        let (address, heard) = server(&[2], answer);
        let mut proxy = Proxy::parse(&format!("http://{address}")).expect("a proxy");
        proxy.user = Some(("ann".into(), "pw".into()));
        let far = "192.0.2.1:4318".parse().expect("an address");
        let (head, _) = client(far, Some(proxy)).post("/v1/x", &[], Bytes::new()).expect("a response");
        assert_eq!(head.status, 200);
        let heard = heard.join().expect("it served");
        assert!(heard[0].starts_with("CONNECT 192.0.2.1:4318 HTTP/1.1\r\n"), "{}", heard[0]);
        assert!(heard[0].contains("proxy-authorization: Basic YW5uOnB3\r\n"), "{}", heard[0]);
        assert!(heard[1].starts_with("POST /v1/x HTTP/1.1\r\nhost: 192.0.2.1:4318\r\n"), "{}", heard[1]);
        let (address, _) = server(&[1], "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n");
        let proxy = Proxy::parse(&format!("http://{address}")).expect("a proxy");
        let said = posted(&client(far, Some(proxy)));
        assert_eq!(said, Err(format!("proxy http://{address}: 407 Proxy Authentication Required")));
    }

    #[test]
    fn who_says_nothing_is_not_waited_for() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = client(silent.local_addr().expect("an address"), None);
        client.timeout = Duration::from_millis(50);
        assert_eq!(posted(&client), Err("no response in time".into()));
    }
}
