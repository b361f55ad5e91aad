//! The flags of `brunt probe`.

use std::net::{SocketAddr, ToSocketAddrs};

use net::tls::RustlsServing;
use probe::remote::Follow;
use wire::Complaint;

use super::flags;
use super::matched::Matched;
use super::watching::TOKEN;

/// Where a probe listens unless it is said.
const LISTEN: &str = "127.0.0.1:7070";

/// What `brunt probe` was asked.
pub struct Probing {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What clients must show.
    pub token: Option<String>,
    /// How connections are sealed; None: not at all.
    pub tls: Option<RustlsServing>,
    /// Which service is told of.
    pub follow: Follow,
}

impl std::fmt::Debug for Probing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A token is shown nowhere.
        f.debug_struct("Probing").field("listen", &self.listen).field("follow", &self.follow).finish_non_exhaustive()
    }
}

/// The command line of `brunt probe`.
pub fn command() -> clap::Command {
    flags::bare("brunt probe")
        .about("Serves the counters of this host to runs on other machines (--probe HOST:PORT).")
        .arg(flags::one(
            "listen",
            None,
            "ADDRESS",
            "Where to listen; other than on this machine, a token and a certificate are needed [default: \
                127.0.0.1:7070]",
        ))
        .arg(flags::one("token", None, "TOKEN", "Token that clients must send [default: $BRUNT_PROBE_TOKEN]"))
        .arg(flags::one("token-file", None, "FILE", "Read the token from the first line of FILE"))
        .arg(flags::one("cert", None, "FILE", "Use TLS with this certificate chain (PEM)"))
        .arg(flags::one("key", None, "FILE", "Private key of --cert (PEM)"))
        .arg(flags::one(
            "port",
            None,
            "PORT",
            "Count the service on this port of this host [default: the one at the address under load]",
        ))
        .arg(flags::one("pid", None, "PID", "Count this process and its children as the service"))
}

/// Reads the flags of `brunt probe`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(matches: &clap::ArgMatches) -> Result<Probing, Complaint> {
    let flags = Matched::line(matches);
    let listen = flags.text("listen").unwrap_or(LISTEN);
    let listen = address(listen).map_err(|trouble| Complaint::new("--listen", trouble))?;
    let (token, tls) = (token(&flags)?, tls(&flags)?);
    if !listen.ip().to_canonical().is_loopback() && (token.is_none() || tls.is_none()) {
        let missing = match (&token, &tls) {
            (None, None) => "--token-file FILE, --cert FILE and --key FILE",
            (None, _) => "--token-file FILE",
            _ => "--cert FILE and --key FILE",
        };
        let trouble = format!(
            "{listen} can be reached from other machines: add {missing}, or listen on {LISTEN} and use an \
                SSH tunnel"
        );
        return Err(Complaint::new("--listen", trouble));
    }
    Ok(Probing { listen, token, tls, follow: follow(&flags)? })
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    let found = whole.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| format!("`{text}` is not an address to listen on; write one such as {LISTEN} or 0.0.0.0:7070"))
}

fn token(flags: &Matched<'_>) -> Result<Option<String>, Complaint> {
    let (option, token) = match (flags.text("token"), flags.text("token-file")) {
        (Some(_), Some(_)) => {
            return Err(Complaint::new("--token-file", "does not go with --token; leave one of them out"));
        }
        (Some(token), None) => ("--token", Some(token.to_owned())),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|e| Complaint::new("--token-file", format!("{file} cannot be read: {e}")))?;
            ("--token-file", Some(text.lines().next().unwrap_or_default().trim().to_owned()))
        }
        (None, None) => (TOKEN, std::env::var(TOKEN).ok()),
    };
    match token {
        Some(token) if token.is_empty() => Err(Complaint::new(option, "is empty; write a token that is hard to guess")),
        token => Ok(token),
    }
}

/// The certificate to show, where one is given.
pub(super) fn tls(flags: &Matched<'_>) -> Result<Option<RustlsServing>, Complaint> {
    let read = |option: &str, file: &str| {
        std::fs::read(file).map_err(|e| Complaint::new(option, format!("{file} cannot be read: {e}")))
    };
    match (flags.text("cert"), flags.text("key")) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(Complaint::new("--cert", "needs its private key; add --key FILE")),
        (None, Some(_)) => Err(Complaint::new("--key", "needs its certificate; add --cert FILE")),
        (Some(cert), Some(key)) => {
            let made = RustlsServing::new(&read("--cert", cert)?, &read("--key", key)?, &[]);
            // The sentence names its option.
            made.map(Some).map_err(|sentence| match sentence.split_once(": ") {
                Some((option, trouble)) if option.starts_with("--") => Complaint::new(option, trouble),
                _ => Complaint::new("--cert", sentence),
            })
        }
    }
}

fn follow(flags: &Matched<'_>) -> Result<Follow, Complaint> {
    let port = flags.parsed("port", "--port", |text| {
        text.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("`{text}` is not a port; write 1 to 65535"))
    })?;
    let pid = flags.parsed("pid", "--pid", |text| {
        text.parse().ok().filter(|pid| *pid > 0).ok_or_else(|| format!("`{text}` is not a process id"))
    })?;
    match (port, pid) {
        (Some(_), Some(_)) => {
            let trouble = "does not go with --pid, which already names the service; leave one of them out";
            Err(Complaint::new("--port", trouble))
        }
        (port, pid) => Ok(port.map(Follow::Port).or(pid.map(Follow::Process)).unwrap_or_default()),
    }
}
