//! The flags that say where the figures of a run go while it goes on: to Prometheus, to OpenTelemetry.

use std::net::{SocketAddr, ToSocketAddrs};

use clap::Arg;
use measure::Nanos;
use wire::Complaint;

use super::flags;
use super::matched::Matched;

/// The port where Prometheus' exporters of OpenTelemetry listen, and we do unless another is said.
const PORT: u16 = 9464;

/// Where the figures of a run go while it goes on.
#[derive(Clone, Debug, Default)]
pub struct Exporting {
    /// Where they are served to Prometheus.
    pub prometheus: Option<SocketAddr>,
    /// How long the final figures are kept for it; None: as long as it usually takes to come.
    pub linger: Option<Nanos>,
}

/// The flags, under no heading yet.
pub fn described() -> Vec<Arg> {
    vec![
        flags::one(
            "prometheus",
            None,
            "ADDRESS",
            "Serve live metrics to Prometheus at http://ADDRESS/metrics: 9464 (this machine only), 0.0.0.0:9464",
        ),
        flags::one(
            "linger",
            None,
            "TIME",
            "With --prometheus: keep the final metrics until they are scraped once, at most TIME [default: 20s]",
        ),
    ]
}

/// Reads them.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(flags: &Matched<'_>) -> Result<Exporting, Complaint> {
    let prometheus = flags.parsed("prometheus", "--prometheus", address)?;
    let linger = flags.parsed("linger", "--linger", plan::quantity::duration)?;
    if linger.is_some() && prometheus.is_none() {
        return Err(Complaint::new("--linger", "is for Prometheus, which has no address; add --prometheus 9464"));
    }
    Ok(Exporting { prometheus, linger })
}

/// An address to listen at: a port of this machine, `:PORT` of all its addresses, a host with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match (text.parse::<u16>(), text.strip_prefix(':')) {
        (Ok(_), _) => format!("127.0.0.1:{text}"),
        (_, Some(port)) => format!("0.0.0.0:{port}"),
        _ => text.to_owned(),
    };
    let found = whole.to_socket_addrs().or_else(|_| (&*whole, PORT).to_socket_addrs());
    found
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| format!("`{text}` is no address to listen at; write a port such as {PORT}, or 127.0.0.1:{PORT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_is_this_machines_alone() {
        let of = |text: &str| address(text).map(|found| found.to_string());
        assert_eq!(of("9999").unwrap(), "127.0.0.1:9999");
        assert_eq!(of(":9999").unwrap(), "0.0.0.0:9999");
        assert_eq!(of("127.0.0.1").unwrap(), "127.0.0.1:9464");
        assert_eq!(of("[::1]:80").unwrap(), "[::1]:80");
        for wrong in ["", "99999", "127.0.0.1:x", "http://127.0.0.1:80"] {
            assert!(of(wrong).is_err_and(|said| said.contains("is no address to listen at")), "{wrong}");
        }
    }
}
