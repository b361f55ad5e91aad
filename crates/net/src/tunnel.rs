//! The handshake with a proxy before a connection reaches the target: CONNECT (RFC 9110 9.3.6), SOCKS5 (RFC 1928,
//! 1929).
//!
//! A tunnel is a channel between network and session until it is established. Its owner then removes it, so that it
//! costs nothing afterwards. It does no I/O. A refusal is reported in the proxy's own words and never mistaken for a
//! response of the target.

use std::net::IpAddr;

use brunt_cause::{Cause, CauseArgument, proxy};
use brunt_contract::{ChannelProgress, Handshake, OutputBuffer, Proxy, ProxyKind, SecureChannel, bracketed};

/// Maximum size of the head of a response to CONNECT.
const HEAD_BOUND: usize = 64 << 10;

/// Creates the tunnel through the proxy `through` to `host` and `port`; for [`ProxyKind::Socks5`], `host` is an
/// address.
///
/// # Errors
/// Returns an error if the host cannot be sent to the proxy.
pub fn tunnel(through: &Proxy, host: &str, port: u16) -> Result<Box<dyn SecureChannel>, Cause> {
    let heard = Vec::new();
    let target = format!("{}:{port}", bracketed(host));
    match through.kind {
        ProxyKind::Http => {
            let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
            if let Some(value) = through.authorization_header() {
                request += &format!("Proxy-Authorization: {value}\r\n");
            }
            request += concat!("User-Agent: brunt/", env!("CARGO_PKG_VERSION"), "\r\n");
            request += "Proxy-Connection: Keep-Alive\r\n\r\n";
            let known = through.user.is_some();
            Ok(Box::new(HttpTunnel { request, received: heard, known, proxy: through.to_string(), target }))
        }
        ProxyKind::Socks5 | ProxyKind::Socks5h => {
            let mut request = vec![5, 1, 0];
            match host.split('%').next().unwrap_or(host).parse() {
                Ok(IpAddr::V4(ip)) => request.extend([&[1], &ip.octets()[..]].concat()),
                Ok(IpAddr::V6(ip)) => request.extend([&[4], &ip.octets()[..]].concat()),
                Err(_) if host.len() > 255 => {
                    return Err(proxy::long_name(host.len()));
                }
                Err(_) => request.extend([&[3, host.len() as u8], host.as_bytes()].concat()),
            }
            request.extend(port.to_be_bytes());
            let user = through.user.as_ref().map(|(name, password)| {
                let part = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
                [vec![1], part(name), part(password)].concat()
            });
            Ok(Box::new(SocksTunnel {
                request,
                user,
                received: heard,
                step: SocksStep::Method,
                proxy: through.to_string(),
                target,
            }))
        }
    }
}

/// A tunnel through an HTTP proxy.
struct HttpTunnel {
    request: String,
    received: Vec<u8>,
    /// Set if name and password were sent.
    known: bool,
    proxy: String,
    target: String,
}

impl HttpTunnel {
    fn refused(&self, status: &str) -> Cause {
        let why: CauseArgument = match (status.get(..3), self.known) {
            (Some("407"), false) => proxy::give_password(status).into(),
            (Some("407"), true) => proxy::not_accepted(status).into(),
            _ => status.into(),
        };
        proxy::refused(&self.proxy, &self.target, why)
    }
}

impl SecureChannel for HttpTunnel {
    fn start(&mut self, cipher: &mut OutputBuffer) {
        cipher.put(self.request.as_bytes());
    }

    fn feed(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        _cipher: &mut OutputBuffer,
    ) -> Result<ChannelProgress, Cause> {
        self.received.extend_from_slice(bytes);
        loop {
            let Some(end) = end_of_head(&self.received) else {
                let begins = b"HTTP/1.".iter().zip(&self.received).all(|(wanted, byte)| wanted == byte);
                return match begins && self.received.len() <= HEAD_BOUND {
                    true => Ok(ChannelProgress::More),
                    false => Err(proxy::no_http(&self.proxy)),
                };
            };
            let line = String::from_utf8_lossy(&self.received[..end]).lines().next().unwrap_or_default().to_owned();
            let status =
                line.strip_prefix("HTTP/1.").and_then(|rest| rest.split_once(' ')).map_or("", |(_, rest)| rest);
            match status.as_bytes() {
                [b'2', ..] => {
                    plain.extend_from_slice(&self.received[end..]);
                    self.received = Vec::new();
                    return Ok(ChannelProgress::Established);
                }
                // An interim response.
                [b'1', ..] => drop(self.received.drain(..end)),
                [b'3'..=b'5', ..] => return Err(self.refused(status.trim())),
                _ => return Err(proxy::no_http(&self.proxy)),
            }
        }
    }

    fn seal(&mut self, _plain: &OutputBuffer, _cipher: &mut OutputBuffer) {}
    fn finish(&mut self, _cipher: &mut OutputBuffer) {}
    fn handshake(&self) -> Option<Handshake> {
        None
    }
}

/// Returns the end of a response head.
fn end_of_head(heard: &[u8]) -> Option<usize> {
    let ends = [&b"\r\n\r\n"[..], b"\n\n"].map(|end| {
        let at = heard.windows(end.len()).position(|window| window == end)?;
        Some(at + end.len())
    });
    ends.into_iter().flatten().min()
}

/// The next expected reply of a SOCKS proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SocksStep {
    Method,
    Password,
    Reply,
}

/// A tunnel through a SOCKS5 proxy.
struct SocksTunnel {
    request: Vec<u8>,
    user: Option<Vec<u8>>,
    received: Vec<u8>,
    step: SocksStep,
    proxy: String,
    target: String,
}

impl SocksTunnel {
    /// Handles the next reply if it is complete; returns its length.
    fn answer(&mut self, cipher: &mut OutputBuffer) -> Result<Option<usize>, Cause> {
        match (self.step, &self.received[..]) {
            (SocksStep::Method | SocksStep::Reply, [version, ..]) if *version != 5 => Err(proxy::no_socks(&self.proxy)),
            (SocksStep::Method, [_, 0, ..]) => {
                cipher.put(&self.request);
                self.step = SocksStep::Reply;
                Ok(Some(2))
            }
            (SocksStep::Method, [_, 2, ..]) if self.user.is_some() => {
                cipher.put(self.user.as_deref().unwrap_or_default());
                self.step = SocksStep::Password;
                Ok(Some(2))
            }
            (SocksStep::Method, [_, _, ..]) => Err(match self.user {
                None => proxy::no_password(&self.proxy, "-U NAME:PASSWORD"),
                Some(_) => proxy::no_method(&self.proxy),
            }),
            (SocksStep::Password, [_, 0, ..]) => {
                cipher.put(&self.request);
                self.step = SocksStep::Reply;
                Ok(Some(2))
            }
            (SocksStep::Password, [_, _, ..]) => Err(proxy::wrong_password(&self.proxy)),
            (SocksStep::Reply, [_, code, ..]) if *code > 0 => {
                Err(proxy::refused(&self.proxy, &self.target, reason(*code)))
            }
            (SocksStep::Reply, [_, _, _, kind, first, ..]) => {
                let address = match kind {
                    1 => 4,
                    3 => 1 + usize::from(*first),
                    4 => 16,
                    _ => return Err(proxy::no_socks(&self.proxy)),
                };
                Ok(Some(4 + address + 2).filter(|whole| self.received.len() >= *whole))
            }
            _ => Ok(None),
        }
    }
}

impl SecureChannel for SocksTunnel {
    fn start(&mut self, cipher: &mut OutputBuffer) {
        cipher.put(if self.user.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] });
    }

    fn feed(&mut self, bytes: &[u8], plain: &mut Vec<u8>, cipher: &mut OutputBuffer) -> Result<ChannelProgress, Cause> {
        self.received.extend_from_slice(bytes);
        loop {
            let last = self.step == SocksStep::Reply;
            let Some(size) = self.answer(cipher)? else { return Ok(ChannelProgress::More) };
            self.received.drain(..size);
            if last {
                plain.append(&mut self.received);
                return Ok(ChannelProgress::Established);
            }
        }
    }

    fn seal(&mut self, _plain: &OutputBuffer, _cipher: &mut OutputBuffer) {}
    fn finish(&mut self, _cipher: &mut OutputBuffer) {}
    fn handshake(&self) -> Option<Handshake> {
        None
    }
}

/// Returns the text of a SOCKS5 reply code (RFC 1928, 6).
fn reason(code: u8) -> Cause {
    match code {
        1 => proxy::failure(code),
        2 => proxy::not_allowed(code),
        3 => proxy::no_network(code),
        4 => proxy::no_host(code),
        5 => proxy::target_refused(code),
        6 => proxy::timed_out(code),
        7 => proxy::no_command(code),
        8 => proxy::no_address_type(code),
        _ => proxy::no_reason(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(proxy: &str, host: &str) -> Box<dyn SecureChannel> {
        tunnel(&Proxy::parse(proxy).unwrap(), host, 443).unwrap()
    }

    /// Feeds a script in pieces of each size. Returns what the tunnel sent after its start, the plaintext and the
    /// outcome.
    fn run_script(proxy: &str, host: &str, script: &[u8]) -> (Vec<u8>, Vec<u8>, Result<ChannelProgress, Cause>) {
        let mut outcomes = (1..=script.len()).map(|piece| {
            let (mut channel, mut said, mut plain) = (through(proxy, host), OutputBuffer::default(), Vec::new());
            channel.start(&mut said);
            let mut fed = Ok(ChannelProgress::More);
            for part in script.chunks(piece) {
                if fed == Ok(ChannelProgress::Established) {
                    plain.extend_from_slice(part);
                } else {
                    fed = channel.feed(part, &mut plain, &mut said);
                }
                if fed.is_err() {
                    break;
                }
            }
            (said.bytes().to_vec(), plain, fed)
        });
        let first = outcomes.next().unwrap();
        assert!(outcomes.all(|other| other == first), "however the bytes are cut");
        first
    }

    #[test]
    fn connect_says_where_and_hands_on_what_comes_behind() {
        let (said, behind, fed) = run_script(
            "http://ann:pw@p:3128",
            "db.example",
            b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nhello",
        );
        assert_eq!(fed, Ok(ChannelProgress::Established));
        assert_eq!(behind, b"hello");
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("CONNECT db.example:443 HTTP/1.1\r\nHost: db.example:443\r\nProxy-Authorization: Basic YW5uOnB3\r\nUser-Agent: brunt/"), "{said}");
        assert!(said.ends_with("\r\nProxy-Connection: Keep-Alive\r\n\r\n"));
        let (said, ..) = run_script("http://p", "::1", b"HTTP/1.0 200 OK\n\n");
        assert!(said.starts_with(b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nUser-Agent"));
        let (.., fed) = run_script("http://p", "h", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Fine\r\n\r\n");
        assert_eq!(fed, Ok(ChannelProgress::Established));
    }

    #[test]
    fn a_refused_tunnel_is_told_in_the_words_of_the_proxy() {
        for (proxy, answer, said) in [
            (
                "http://p:1",
                "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 3\r\n\r\nno!",
                "the proxy http://p:1 refused the tunnel to h:443: 407 Proxy Authentication Required; give \
                    credentials with -U NAME:PASSWORD",
            ),
            (
                "http://a:secret@p:1",
                "HTTP/1.1 407 No\r\n\r\n",
                "the proxy http://p:1 refused the tunnel to h:443: 407 No; it does not accept this name and password",
            ),
            ("http://p:1", "HTTP/1.1 503 \r\n\r\n", "the proxy http://p:1 refused the tunnel to h:443: 503"),
            ("http://p:1", "SSH-2.0-x\r\n", "http://p:1 does not respond like an HTTP proxy; is it one?"),
            ("http://p:1", "HTTP/1.1 xyz\r\n\r\n", "http://p:1 does not respond like an HTTP proxy; is it one?"),
        ] {
            assert_eq!(
                run_script(proxy, "h", answer.as_bytes()).2.map_err(|why| why.to_string()),
                Err(said.to_owned()),
                "{answer}"
            );
        }
        let mut endless = through("http://p", "h");
        let (mut plain, mut out) = (Vec::new(), OutputBuffer::default());
        let long = [b"HTTP/1.1 200 OK\r\nX: ", &vec![b'a'; HEAD_BOUND][..]].concat();
        assert!(endless.feed(&long, &mut plain, &mut out).is_err());
    }

    #[test]
    fn socks_tells_addresses_and_names() {
        let bound = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80];
        let ok = [&[5, 0][..], &bound, b"hello"].concat();
        for (host, told) in [
            ("10.0.0.1", [&[1, 10, 0, 0, 1][..], &[1, 187]].concat()),
            ("db.example", [&[3, 10][..], b"db.example", &[1, 187]].concat()),
            ("::1", [&[4][..], &[0; 15], &[1, 1, 187]].concat()),
        ] {
            let (said, behind, fed) = run_script("socks5h://p", host, &ok);
            assert_eq!((behind, fed), (b"hello".to_vec(), Ok(ChannelProgress::Established)));
            assert_eq!(said, [&[5, 1, 0, 5, 1, 0][..], &told].concat(), "{host}");
        }
        let named = [&[5, 0, 5, 0, 0, 3, 2][..], b"me", &[0, 80]].concat();
        assert_eq!(run_script("socks5://p", "10.0.0.1", &named).2, Ok(ChannelProgress::Established));
        assert!(tunnel(&Proxy::parse("socks5h://p").unwrap(), &"a".repeat(256), 1).is_err());
    }

    #[test]
    fn socks_asks_for_a_password_where_there_is_one() {
        let bound = [5, 0, 0, 1, 127, 0, 0, 1, 0, 80];
        let (said, _, fed) = run_script("socks5h://ann:pw@p", "10.0.0.1", &[&[5, 2, 1, 0][..], &bound].concat());
        assert_eq!(fed, Ok(ChannelProgress::Established));
        assert!(said.starts_with(&[5, 2, 0, 2, 1, 3, b'a', b'n', b'n', 2, b'p', b'w', 5, 1, 0, 1]), "{said:?}");
        for (proxy, answer, said) in [
            ("socks5h://p:1", &[5, 255][..], "the proxy socks5h://p:1 requires a name and a password"),
            ("socks5h://a:b@p:1", &[5, 255], "supports neither password"),
            ("socks5h://a:b@p:1", &[5, 2, 1, 1], "the proxy socks5h://p:1 does not accept this name and password"),
            (
                "socks5h://p:1",
                &[5, 0, 5, 5, 0, 1],
                "refused the tunnel to h:443: the target refused the connection (reply 5)",
            ),
            ("socks5h://p:1", &[5, 0, 5, 99], "no reason given (reply 99)"),
            ("socks5h://p:1", b"HTTP/1.1 400 Bad", "does not respond like a SOCKS5 proxy"),
            ("socks5h://p:1", &[5, 0, 5, 0, 0, 9, 0], "does not respond like a SOCKS5 proxy"),
        ] {
            let why = run_script(proxy, "h", answer).2.unwrap_err().to_string();
            assert!(why.contains(said), "{answer:?}: {why}");
        }
    }
}
