//! A proxy for CONNECT, forwarded requests and SOCKS5 on one port. It counts its work, and resolves names that nothing
//! else can resolve: `*.test` is this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Counts of a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyCounts {
    /// Connections accepted.
    pub connections: u64,
    /// CONNECT tunnels.
    pub connects: u64,
    /// SOCKS5 tunnels.
    pub socks: u64,
    /// Requests forwarded.
    pub forwarded: u64,
    /// Clients rejected.
    pub refused: u64,
    /// Requested destinations, each once.
    pub places: Vec<String>,
}

/// A running proxy; stopped on drop.
pub struct TestProxy {
    address: SocketAddr,
    done: Arc<Mutex<ProxyCounts>>,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

struct ProxyClient {
    stream: BufReader<TcpStream>,
    done: Arc<Mutex<ProxyCounts>>,
    /// Required `name:password`, if any.
    user: Option<&'static str>,
}

impl TestProxy {
    /// Starts a proxy without authentication.
    pub fn open() -> TestProxy {
        TestProxy::with(None)
    }

    /// Starts a proxy that requires this `name:password`.
    pub fn with_password(user: &'static str) -> TestProxy {
        TestProxy::with(Some(user))
    }

    fn with(user: Option<&'static str>) -> TestProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (done, stop) = (Arc::new(Mutex::new(ProxyCounts::default())), Arc::new(AtomicBool::new(false)));
        let (counts, stopped) = (Arc::clone(&done), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let _ = stream.set_nodelay(true);
                let client = ProxyClient { stream: BufReader::new(stream), done: Arc::clone(&counts), user };
                client.counts(|done| done.connections += 1);
                std::thread::spawn(move || client.serve());
            }
        });
        TestProxy { address, done, stop, listener: Some(thread) }
    }

    /// Returns `scheme://127.0.0.1:port`.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns its counts so far.
    pub fn counts(&self) -> ProxyCounts {
        self.done.lock().expect("no panic").clone()
    }
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.listener.take() {
            let _ = thread.join();
        }
    }
}

impl ProxyClient {
    fn counts(&self, change: impl FnOnce(&mut ProxyCounts)) {
        change(&mut self.done.lock().expect("no panic"));
    }

    fn say(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.get_mut().write_all(bytes).ok()
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    fn serve(mut self) {
        let socks = matches!(self.stream.fill_buf(), Ok([5, ..]));
        let _ = if socks { self.socks() } else { self.http() };
    }

    /// Connects to the requested destination.
    fn reach(&self, place: &str) -> Option<TcpStream> {
        self.counts(|done| {
            if !done.places.iter().any(|known| known == place) {
                done.places.push(place.to_owned());
            }
        });
        let (host, port) = place.rsplit_once(':')?;
        let host = if host.ends_with(".test") { "127.0.0.1" } else { host.trim_matches(['[', ']']) };
        let stream = TcpStream::connect((host, port.parse().ok()?)).ok()?;
        let _ = stream.set_nodelay(true);
        Some(stream)
    }

    fn socks(&mut self) -> Option<()> {
        let [_, methods] = self.bytes()?;
        let mut offered = vec![0; usize::from(methods)];
        self.stream.read_exact(&mut offered).ok()?;
        let method = if self.user.is_some() { 2 } else { 0 };
        if !offered.contains(&method) {
            self.counts(|done| done.refused += 1);
            return self.say(&[5, 255]);
        }
        self.say(&[5, method])?;
        if let Some(user) = self.user {
            let [_, length] = self.bytes()?;
            let mut text = |length: u8| {
                let mut bytes = vec![0; usize::from(length)];
                self.stream.read_exact(&mut bytes).ok()?;
                String::from_utf8(bytes).ok()
            };
            let name = text(length)?;
            let [length] = self.bytes()?;
            let mut password = vec![0; usize::from(length)];
            self.stream.read_exact(&mut password).ok()?;
            if format!("{name}:{}", String::from_utf8_lossy(&password)) != user {
                self.counts(|done| done.refused += 1);
                return self.say(&[1, 1]);
            }
            self.say(&[1, 0])?;
        }
        let [_, _, _, kind] = self.bytes()?;
        let host = match kind {
            1 => std::net::Ipv4Addr::from(self.bytes::<4>()?).to_string(),
            4 => format!("[{}]", std::net::Ipv6Addr::from(self.bytes::<16>()?)),
            _ => {
                let [length] = self.bytes()?;
                let mut name = vec![0; usize::from(length)];
                self.stream.read_exact(&mut name).ok()?;
                String::from_utf8(name).ok()?
            }
        };
        let port = u16::from_be_bytes(self.bytes()?);
        let Some(target) = self.reach(&format!("{host}:{port}")) else {
            self.counts(|done| done.refused += 1);
            return self.say(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
        };
        self.say(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])?;
        self.counts(|done| done.socks += 1);
        self.join(target)
    }

    /// Copies bytes both ways until either side closes.
    fn join(&mut self, target: TcpStream) -> Option<()> {
        let (mut back, mut front) = (target.try_clone().ok()?, self.stream.get_ref().try_clone().ok()?);
        let answers = std::thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut front);
            let _ = front.shutdown(std::net::Shutdown::Both);
        });
        let mut forth = target;
        let _ = std::io::copy(&mut self.stream, &mut forth);
        let _ = forth.shutdown(std::net::Shutdown::Write);
        answers.join().ok()
    }

    /// Returns the lines of a head, without the empty one.
    fn head(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => return Some(lines),
                line => lines.push(line.to_owned()),
            }
        }
    }

    fn http(&mut self) -> Option<()> {
        let mut upstream: Option<TcpStream> = None;
        loop {
            let lines = self.head()?;
            let mut words = lines.first()?.split(' ').map(str::to_owned);
            let (method, target) = (words.next()?, words.next()?);
            let value = |name: &str| {
                let named = |line: &&String| line.split(':').next().is_some_and(|own| own.eq_ignore_ascii_case(name));
                lines.iter().skip(1).find(named).map(|line| line[name.len() + 1..].trim().to_owned())
            };
            let known = self.user.map(|user| format!("Basic {}", base64(user.as_bytes())));
            if known.is_some() && value("proxy-authorization") != known {
                self.counts(|done| done.refused += 1);
                let no = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"tests\"\r\n\
                    Content-Length: 0\r\n\r\n";
                self.say(no.as_bytes())?;
                continue;
            }
            if method == "CONNECT" {
                let Some(far) = self.reach(&target) else {
                    self.counts(|done| done.refused += 1);
                    return self.say(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
                };
                self.counts(|done| done.connects += 1);
                self.say(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
                return self.join(far);
            }
            let Some((place, path)) = target.strip_prefix("http://").and_then(|rest| rest.split_once('/')) else {
                return self.say(b"HTTP/1.1 400 Not for a proxy\r\nContent-Length: 0\r\n\r\n");
            };
            self.counts(|done| done.forwarded += 1);
            if upstream.is_none() {
                let place = if place.contains(':') { place.to_owned() } else { format!("{place}:80") };
                let far = self.reach(&place)?;
                let (mut back, mut front) = (far.try_clone().ok()?, self.stream.get_ref().try_clone().ok()?);
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut back, &mut front);
                    let _ = front.shutdown(std::net::Shutdown::Both);
                });
                upstream = Some(far);
            }
            let mut head = format!("{method} /{path} HTTP/1.1\r\n");
            for line in lines.iter().skip(1).filter(|line| !line.to_ascii_lowercase().starts_with("proxy-")) {
                head += &format!("{line}\r\n");
            }
            let mut body = vec![0; value("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
            self.stream.read_exact(&mut body).ok()?;
            upstream.as_mut()?.write_all(&[head.as_bytes(), b"\r\n", &body].concat()).ok()?;
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = bytes.chunks(3).flat_map(|chunk| {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        (0..4).map(move |at| match at <= chunk.len() {
            true => char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]),
            false => '=',
        })
    });
    letters.collect()
}
