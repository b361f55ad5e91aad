//! Servers that misbehave exactly as scripted by a test: a plain listener with a thread per connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A connection, as seen by the script.
pub struct PeerConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
    shared: Arc<PeerState>,
    /// Number of connections accepted before this one.
    pub number: u64,
    /// Address of the client.
    pub from: SocketAddr,
}

#[derive(Default)]
struct PeerState {
    stop: AtomicBool,
    connections: AtomicU64,
    requests: AtomicU64,
    heard: Mutex<Vec<Vec<u8>>>,
    from: Mutex<Vec<SocketAddr>>,
}

impl PeerConnection {
    /// Returns the next complete request (head and body by its Content-Length), or `None` if the connection ended.
    pub fn request(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(length) = whole(&self.buffer) {
                let rest = self.buffer.split_off(length);
                let request = std::mem::replace(&mut self.buffer, rest);
                self.shared.requests.fetch_add(1, Ordering::SeqCst);
                let mut heard = self.shared.heard.lock().expect("no panic");
                if heard.len() < 10_000 {
                    heard.push(request.clone());
                }
                return Some(request);
            }
            let mut chunk = [0; 65536];
            match self.stream.read(&mut chunk) {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
            }
        }
    }

    /// Returns the next bytes, of any protocol, or `None` if the connection ended.
    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        let mut chunk = vec![0; 65536];
        match self.stream.read(&mut chunk) {
            Ok(0) | Err(_) => None,
            Ok(n) => {
                chunk.truncate(n);
                Some(chunk)
            }
        }
    }

    /// Sends bytes. Returns `false` if the connection is gone.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends bytes in pieces of this size, each in a separate write.
    pub fn dribble(&mut self, bytes: &[u8], piece: usize) -> bool {
        bytes.chunks(piece).all(|chunk| self.send(chunk))
    }

    /// Waits until the client closes or the server is stopped.
    pub fn wait_for_close(&mut self) {
        let mut chunk = [0; 4096];
        while !matches!(self.stream.read(&mut chunk), Ok(0) | Err(_)) {}
    }

    /// Ends the connection with a reset instead of an orderly close.
    pub fn reset(self) {
        // Closing with a linger of zero sends a reset.
        let _ = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
    }

    /// Closes only the sending direction.
    pub fn half_close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// Returns the length of the first request in a buffer, if it is complete.
fn whole(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let end = head + length.unwrap_or(0);
    (buffer.len() >= end).then_some(end)
}

/// A scripted server.
pub struct ScriptedPeer {
    address: SocketAddr,
    shared: Arc<PeerState>,
    listener: Option<JoinHandle<()>>,
}

impl ScriptedPeer {
    /// Starts a server on 127.0.0.1 that runs the script on every connection.
    pub fn new(script: impl Fn(PeerConnection) + Send + Sync + 'static) -> ScriptedPeer {
        ScriptedPeer::at("127.0.0.1:0", script)
    }

    /// Starts a server on another address.
    ///
    /// # Panics
    /// Panics if it cannot listen there.
    pub fn at(address: &str, script: impl Fn(PeerConnection) + Send + Sync + 'static) -> ScriptedPeer {
        let listener = TcpListener::bind(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        let address = listener.local_addr().expect("an address");
        let shared = Arc::<PeerState>::default();
        let mine = Arc::clone(&shared);
        let script = Arc::new(script);
        let accept = move || {
            for stream in listener.incoming() {
                if mine.stop.load(Ordering::SeqCst) {
                    return;
                }
                if let Some(connection) = stream.ok().and_then(|stream| connection(stream, &mine)) {
                    let script = Arc::clone(&script);
                    std::thread::spawn(move || script(connection));
                }
            }
        };
        ScriptedPeer { address, shared, listener: Some(std::thread::spawn(accept)) }
    }

    /// Starts a server that answers every request with these bytes and keeps the connection.
    pub fn answering(answer: impl Into<Vec<u8>>) -> ScriptedPeer {
        let answer = answer.into();
        ScriptedPeer::new(move |mut connection| while connection.request().is_some() && connection.send(&answer) {})
    }

    /// Starts a server that answers the first request of a connection with these bytes and closes it.
    pub fn answering_once(answer: impl Into<Vec<u8>>) -> ScriptedPeer {
        let answer = answer.into();
        ScriptedPeer::new(move |mut connection| {
            if connection.request().is_some() {
                connection.send(&answer);
            }
        })
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of requests received so far.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Returns the requests received, byte for byte (the first ten thousand).
    ///
    /// # Panics
    /// Panics if a script panicked while it held them.
    pub fn received(&self) -> Vec<Vec<u8>> {
        self.shared.heard.lock().expect("no panic").clone()
    }

    /// Returns the addresses of the clients, in order.
    ///
    /// # Panics
    /// Panics if a script panicked while it held them.
    pub fn from(&self) -> Vec<SocketAddr> {
        self.shared.from.lock().expect("no panic").clone()
    }
}

fn connection(stream: TcpStream, shared: &Arc<PeerState>) -> Option<PeerConnection> {
    let from = stream.peer_addr().ok()?;
    stream.set_nodelay(true).ok()?;
    let number = shared.connections.fetch_add(1, Ordering::SeqCst);
    shared.from.lock().expect("no panic").push(from);
    Some(PeerConnection { stream, buffer: Vec::new(), shared: Arc::clone(shared), number, from })
}

impl Drop for ScriptedPeer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the listener with one more connection, so that it sees the stop flag.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}
