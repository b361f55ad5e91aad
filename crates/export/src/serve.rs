//! Figures served to Prometheus: a small HTTP server on threads of its own, there only where it is asked for.
//!
//! One request a connection: whoever scrapes comes every few seconds. Clients are strangers: each has a few seconds for its
//! request and for the answer, a head of bounded size, and there are only so many at a time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::accept::{Asked, asked};
use crate::catalogue::families;
use crate::figures::Figures;
use crate::{protobuf, text};

/// So long may a client take for its request, and again for the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request.
const HEAD: usize = 16 * 1024;
/// So many clients are served at a time.
const CLIENTS: usize = 16;
/// A run as short as this may be over before Prometheus comes for the first time: it does every minute at the least.
const SHORT: Duration = Duration::from_secs(60);

/// A listening server; it serves until the program ends.
pub struct Prometheus {
    figures: Figures,
    address: SocketAddr,
    since: Instant,
}

/// How the wait for the last scrape ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linger {
    /// The final figures were fetched.
    Fetched,
    /// They were not.
    Left,
}

impl Prometheus {
    /// Listens, and serves these figures from now on.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn listen(address: SocketAddr, figures: Figures) -> io::Result<Prometheus> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (served, clients) = (figures.clone(), Arc::new(AtomicUsize::new(0)));
        let accept = move || {
            for client in listener.incoming() {
                match client {
                    Ok(client) => begin(client, &served, &clients),
                    // Descriptors are used up, or the like: a client that is turned away comes again.
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        std::thread::Builder::new().name("prometheus".into()).spawn(accept)?;
        Ok(Prometheus { figures, address, since: Instant::now() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// True where somebody may still come for the final figures: they were fetched during the run, or it was a short one.
    pub fn is_awaited(&self) -> bool {
        self.figures.were_read() || self.since.elapsed() < SHORT
    }

    /// Keeps the final figures until they were fetched once, so long at most; `given_up` is asked on the way.
    pub fn linger(&self, at_most: Duration, given_up: &dyn Fn() -> bool) -> Linger {
        self.figures.end();
        if self.figures.wait_for_reader(at_most, given_up) { Linger::Fetched } else { Linger::Left }
    }
}

/// Serves a client on a thread of its own, where there is room for one.
fn begin(client: TcpStream, figures: &Figures, clients: &Arc<AtomicUsize>) {
    let place = Place(Arc::clone(clients));
    if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS {
        return;
    }
    let figures = figures.clone();
    let serve = move || {
        let _place = place;
        // A client that goes away, or says nothing, gets nothing.
        let _ = answer(client, &figures);
    };
    // Where there is no thread for it, it is turned away.
    let _ = std::thread::Builder::new().name("scrape".into()).stack_size(256 * 1024).spawn(serve);
}

/// The place of one client, given back when it goes.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(mut client: TcpStream, figures: &Figures) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let asked = head(&mut client)?;
    let (status, kind, body) = match asked {
        Some(Asked::Text | Asked::Protobuf) => return scrape(client, figures, asked == Some(Asked::Protobuf)),
        Some(Asked::Root) => ("200 OK", text::CONTENT_TYPE, "brunt: the metrics of this run are at /metrics\n"),
        Some(Asked::Nothing) => ("404 Not Found", text::CONTENT_TYPE, "the metrics are at /metrics\n"),
        Some(Asked::Method) => ("405 Method Not Allowed", text::CONTENT_TYPE, "write GET\n"),
        None => ("400 Bad Request", text::CONTENT_TYPE, "this is not an HTTP request\n"),
    };
    respond(client, status, kind, body.as_bytes())
}

fn scrape(client: TcpStream, figures: &Figures, in_protobuf: bool) -> io::Result<()> {
    let reading = figures.read();
    let families = families(&reading);
    let (kind, body) = match in_protobuf {
        true => (protobuf::CONTENT_TYPE, protobuf::write(&families)),
        false => (text::CONTENT_TYPE, text::write(&families)),
    };
    respond(client, "200 OK", kind, &body)?;
    figures.told(&reading.now);
    Ok(())
}

/// Reads the head of a request; `None`: it is none.
fn head(client: &mut TcpStream) -> io::Result<Option<Asked>> {
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
        match asked(&head) {
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
