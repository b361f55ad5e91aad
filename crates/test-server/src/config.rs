//! The configuration of a target.

use brunt_cause::{Complaint, complaint};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use brunt_contract::PeerAddress;
use brunt_net::tls::RustlsServer;

use crate::{DelayDistribution, ServerStall};

/// ALPN protocols that a target with TLS offers, in order of preference.
pub const ALPN: &[&[u8]] = &[b"h2", b"http/1.1"];

/// The configuration of a target; [`Config::default`] is a healthy server on 127.0.0.1:8080.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen on; port 0 selects any free port.
    pub listen: PeerAddress,
    /// Connections the kernel may queue before they are accepted, as in listen(2); capped by
    /// `net.core.somaxconn`.
    pub backlog: u32,
    /// Number of listening sockets, each with its own thread; 0 means one per available core. A
    /// Unix socket always has one. A thread whose descriptor table is full is succeeded by another
    /// one.
    pub workers: u32,
    /// Maximum number of open connections, divided among the listening sockets; `None` for no
    /// limit.
    pub max_connections: Option<u32>,
    /// Delay of every answer whose path sets none.
    pub delay: Option<DelayDistribution>,
    /// Share of requests answered with 500, 0 to 1.
    pub error_rate: f64,
    /// Share of requests, 0 to 1, whose connection is closed instead of an answer being sent.
    pub close_rate: f64,
    /// Stalls of the whole server.
    pub stalls: Vec<ServerStall>,
    /// Seed of all random draws.
    pub seed: u64,
    /// File for one line per request (see [`crate::arrivals`]).
    pub log_arrivals: Option<PathBuf>,
    /// TLS certificate and key; `None` for plain text.
    pub tls: Option<RustlsServer>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: PeerAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 8080))),
            backlog: u32::MAX,
            workers: 0,
            max_connections: None,
            delay: None,
            error_rate: 0.0,
            close_rate: 0.0,
            stalls: Vec::new(),
            seed: 0,
            log_arrivals: None,
            tls: None,
        }
    }
}

/// Parses an address to listen on: `127.0.0.1:8080`, `[::1]:8080`, `:8080` (all interfaces), `8080` (this host
/// only), `unix:/run/target.sock`.
///
/// # Errors
///
/// Returns a message that states the accepted forms.
pub fn place(text: &str) -> Result<PeerAddress, Complaint> {
    if let Some(path) = text.strip_prefix("unix:").or_else(|| text.starts_with('/').then_some(text)) {
        return Ok(PeerAddress::Unix(Arc::new(PathBuf::from(path))));
    }
    let full = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None if !text.contains(':') => format!("127.0.0.1:{text}"),
        None => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    full.parse().map(PeerAddress::Tcp).map_err(|_| {
        complaint!(
            "\"{text}\" is not an address to listen on: use 127.0.0.1:8080, [::1]:8080, :8080 or unix:/path",
            "“{text}”不是可监听的地址；请用 127.0.0.1:8080、[::1]:8080、:8080 或 unix:/path"
        )
    })
}

/// Parses a share: `0.01` or `1%`.
///
/// # Errors
///
/// Returns a message that states the accepted forms.
pub fn share(text: &str) -> Result<f64, Complaint> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.parse::<f64>().map(|n| n / scale).ok().filter(|n| (0.0..=1.0).contains(n));
    share.ok_or_else(|| {
        complaint!(
            "\"{text}\" is not a share: use a number from 0 to 1, or a percentage such as 1%",
            "“{text}”不是比例；请用 0 到 1 的数，或百分数，例如 1%"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let tcp = |text: &str| Ok(PeerAddress::Tcp(text.parse().unwrap()));
        for (text, read) in [
            ("127.0.0.1:8080", tcp("127.0.0.1:8080")),
            ("[::1]:80", tcp("[::1]:80")),
            (":8080", tcp("[::]:8080")),
            ("9000", tcp("127.0.0.1:9000")),
            ("localhost:0", tcp("127.0.0.1:0")),
            ("unix:/tmp/t", Ok(PeerAddress::Unix(Arc::new("/tmp/t".into())))),
            ("/tmp/t", Ok(PeerAddress::Unix(Arc::new("/tmp/t".into())))),
        ] {
            assert_eq!(place(text), read, "{text}");
        }
        for text in ["", "host", "1.2.3.4:70000", "a:b"] {
            assert!(place(text).unwrap_err().contains("use 127.0.0.1:8080"), "{text}");
        }
    }

    #[test]
    fn shares_are_read() {
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(share("1%"), Ok(0.01));
        for text in ["2", "-0.1", "101%", "x", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
