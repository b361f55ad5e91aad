//! A small HTTP server that serves figures to Prometheus, on its own threads, started only on request.
//!
//! Each connection carries one request, because scrapes are seconds apart. Clients are not trusted: each has a few
//! seconds to send its request and to receive the response, the size of heads is bounded, and the number of concurrent
//! clients is limited.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::accept::{ScrapeRequest, parse_request};
use crate::catalogue::families;
use crate::figures::LiveFigures;
use crate::{protobuf, text};

/// Timeout for the request of a client, and again for the response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length of a request head, in bytes.
const HEAD: usize = 16 * 1024;
/// Maximum number of concurrent clients.
const CLIENTS: usize = 16;
/// Duration below which a run may end before Prometheus scrapes it for the first time; Prometheus scrapes at least
/// once a minute.
const SHORT: Duration = Duration::from_secs(60);

/// A listening server, which serves until the program ends.
pub struct PrometheusServer {
    figures: LiveFigures,
    address: SocketAddr,
    since: Instant,
}

/// The outcome of the wait for the last scrape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LingerOutcome {
    /// The final figures were fetched.
    Fetched,
    /// The final figures were not fetched.
    NotFetched,
}

impl PrometheusServer {
    /// Binds and starts serving these figures.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn listen(address: SocketAddr, figures: LiveFigures) -> io::Result<PrometheusServer> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (served, clients) = (figures.clone(), Arc::new(AtomicUsize::new(0)));
        let accept = move || {
            for client in listener.incoming() {
                match client {
                    Ok(client) => begin(client, &served, &clients),
                    // Descriptors may have run out, but a refused client tries again.
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        std::thread::Builder::new().name("prometheus".into()).spawn(accept)?;
        Ok(PrometheusServer { figures, address, since: Instant::now() })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns `true` if the final figures are likely to be fetched, because the run was scraped, or was too short to
    /// be scraped.
    pub fn is_awaited(&self) -> bool {
        self.figures.was_read() || self.since.elapsed() < SHORT
    }

    /// Keeps serving for at most `at_most` until the final figures have been fetched once, polling `given_up`
    /// meanwhile.
    pub fn linger(&self, at_most: Duration, given_up: &dyn Fn() -> bool) -> LingerOutcome {
        self.figures.end();
        if self.figures.wait_for_reader(at_most, given_up) { LingerOutcome::Fetched } else { LingerOutcome::NotFetched }
    }
}

/// Serves a client on its own thread, unless there are too many clients.
fn begin(client: TcpStream, figures: &LiveFigures, clients: &Arc<AtomicUsize>) {
    let place = ScrapeSlot(Arc::clone(clients));
    if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS {
        return;
    }
    let figures = figures.clone();
    let serve = move || {
        let _place = place;
        // A client that disconnects or sends nothing gets no answer.
        let _ = answer(client, &figures);
    };
    // If the thread cannot be started, the client is refused.
    let _ = std::thread::Builder::new().name("scrape".into()).stack_size(256 * 1024).spawn(serve);
}

/// The slot of one client, released on drop.
struct ScrapeSlot(Arc<AtomicUsize>);

impl Drop for ScrapeSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(mut client: TcpStream, figures: &LiveFigures) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let asked = head(&mut client)?;
    let (status, kind, body) = match asked {
        Some(ScrapeRequest::Text | ScrapeRequest::Protobuf) => {
            return scrape(client, figures, asked == Some(ScrapeRequest::Protobuf));
        }
        Some(ScrapeRequest::Root) => ("200 OK", text::CONTENT_TYPE, "brunt: the metrics of this run are at /metrics\n"),
        Some(ScrapeRequest::Nothing) => ("404 Not Found", text::CONTENT_TYPE, "the metrics are at /metrics\n"),
        Some(ScrapeRequest::Method) => ("405 Method Not Allowed", text::CONTENT_TYPE, "write GET\n"),
        None => ("400 Bad Request", text::CONTENT_TYPE, "this is not an HTTP request\n"),
    };
    respond(client, status, kind, body.as_bytes())
}

fn scrape(client: TcpStream, figures: &LiveFigures, in_protobuf: bool) -> io::Result<()> {
    let reading = figures.read();
    let families = families(&reading);
    let (kind, body) = match in_protobuf {
        true => (protobuf::CONTENT_TYPE, protobuf::write(&families)),
        false => (text::CONTENT_TYPE, text::write(&families)),
    };
    respond(client, "200 OK", kind, &body)?;
    figures.mark_read(&reading.now);
    Ok(())
}

/// Reads the head of a request; `None` if it is not a request.
fn head(client: &mut TcpStream) -> io::Result<Option<ScrapeRequest>> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(rest))?;
        let n = client.read(&mut piece)?;
        head.extend_from_slice(&piece[..n]);
        match parse_request(&head) {
            Ok(Some(asked)) => return Ok(Some(asked)),
            Ok(None) if n > 0 && head.len() < HEAD => {}
            _ => return Ok(None),
        }
    }
}

fn respond(mut client: TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    client.write_all(head.as_bytes())?;
    client.write_all(body)?;
    client.flush()
}
