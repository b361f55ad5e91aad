//! The flags of `brunt target`, read into the configuration of the built-in server.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches};
use net::tls::RustlsServing;
use plan::quantity;
use target::{Config, Delay, Stall};
use wire::{Complaint, Place};

use super::flags;
use super::matched::Matched;

/// What `brunt target` was asked.
#[derive(Debug)]
pub struct Serving {
    /// The server.
    pub config: Config,
    /// End when the process that started us ends.
    pub with_parent: bool,
}

/// The command line of `brunt target`.
pub fn command() -> clap::Command {
    let stall =
        flags::one("stall", None, "AT+TIME[/EVERY]", "Stall: 5s+1s, or 5s+1s/10s every ten seconds; repeatable");
    flags::bare("brunt target")
        .about("The built-in server: a target to load, with faults on request.")
        .arg(
            Arg::new("listen")
                .value_name("ADDRESS")
                .help("Where to listen: 127.0.0.1:8080, :8080, unix:/path [default: 127.0.0.1:8080]"),
        )
        .arg(flags::one("unix-socket", None, "PATH", "Listen on this Unix socket"))
        .arg(flags::one("workers", Some('w'), "N", "Threads [default: one per core available]"))
        .arg(flags::one(
            "backlog",
            None,
            "N",
            "Listen backlog: connections the kernel holds before they are accepted [default: the system's maximum]",
        ))
        .arg(flags::one("max-connections", None, "N", "Accept no more than this many open connections"))
        .arg(flags::one(
            "delay",
            None,
            "DELAY",
            "Delay responses: 10ms, uniform:5ms..15ms, exponential:2ms, lognormal:10ms,0.5",
        ))
        .arg(flags::one("error-rate", None, "SHARE", "Share of requests to fail with 500: 0.01 or 1%"))
        .arg(flags::one("close-rate", None, "SHARE", "Share of requests whose connection is closed instead"))
        .arg(stall.action(ArgAction::Append))
        .arg(flags::one("log-arrivals", None, "FILE", "Log the arrival time of every request to FILE, in nanoseconds"))
        .arg(flags::one("seed", None, "N", "Seed for all random choices [default: 0]"))
        .arg(flags::switch(
            "tls",
            None,
            "Use TLS, with a certificate made for this run (clients need -k) or that of --cert",
        ))
        .arg(flags::one("cert", None, "FILE", "Certificate chain (PEM)"))
        .arg(flags::one("key", None, "FILE", "Private key of --cert (PEM)"))
        .arg(Arg::new("with-parent").long("with-parent").action(ArgAction::SetTrue).hide(true))
}

/// Reads the flags of `brunt target`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(matches: &ArgMatches) -> Result<Serving, Complaint> {
    let flags = Matched::line(matches);
    let mut config = Config { listen: listen(&flags)?, ..Config::default() };
    let count = |what: &'static str, most| move |text: &str| quantity::bounded_count(text, what, most);
    if let Some(workers) = flags.parsed("workers", "-w", count("workers", 1024))? {
        config.workers = workers;
    }
    if let Some(backlog) = flags.parsed("backlog", "--backlog", count("connections", i32::MAX as u64))? {
        config.backlog = backlog;
    }
    config.max_connections = flags.parsed("max-connections", "--max-connections", count("connections", 10_000_000))?;
    config.delay = flags.parsed("delay", "--delay", str::parse::<Delay>)?;
    config.error_rate = flags.parsed("error-rate", "--error-rate", target::share)?.unwrap_or(0.0);
    config.close_rate = flags.parsed("close-rate", "--close-rate", target::share)?.unwrap_or(0.0);
    let stall = |text: &&str| text.parse::<Stall>().map_err(|trouble| Complaint::new("--stall", trouble));
    config.stalls = flags.texts("stall").iter().map(stall).collect::<Result<_, _>>()?;
    config.log_arrivals = flags.text("log-arrivals").map(PathBuf::from);
    config.tls = tls(&flags)?;
    let seed = |text: &str| {
        text.parse::<u64>().map_err(|_| format!("`{text}` is not a seed; write a whole number, such as 42"))
    };
    config.seed = flags.parsed("seed", "--seed", seed)?.unwrap_or(0);
    Ok(Serving { config, with_parent: flags.switch("with-parent") })
}

fn listen(flags: &Matched<'_>) -> Result<Place, Complaint> {
    match (flags.text("listen"), flags.text("unix-socket")) {
        (Some(address), Some(_)) => Err(Complaint::new(
            "--unix-socket",
            format!("does not go with the address {address}; leave one of them out"),
        )),
        (None, Some(path)) => Ok(Place::Unix(Arc::new(PathBuf::from(path)))),
        (Some(address), None) => target::place(address).map_err(|trouble| Complaint::new("ADDRESS", trouble)),
        (None, None) => Ok(Config::default().listen),
    }
}

/// The certificate to show: one given, or one made now.
fn tls(flags: &Matched<'_>) -> Result<Option<RustlsServing>, Complaint> {
    let read = |option: &str, file: &str| {
        protocols::file::bounded(file, protocols::file::TEXT_BOUND).map_err(|e| Complaint::new(option, e))
    };
    let served = match (flags.text("cert"), flags.text("key")) {
        (Some(_), None) => return Err(Complaint::new("--cert", "needs its private key; add --key FILE")),
        (None, Some(_)) => {
            return Err(Complaint::new("--key", "needs its certificate; add --cert FILE"));
        }
        (Some(cert), Some(key)) => RustlsServing::new(&read("--cert", cert)?, &read("--key", key)?, target::ALPN),
        (None, None) if !flags.switch("tls") => return Ok(None),
        (None, None) => RustlsServing::self_made(&["localhost", "127.0.0.1", "::1"], target::ALPN),
    };
    // The sentence names its option.
    served.map(Some).map_err(|sentence| match sentence.split_once(": ") {
        Some((option, trouble)) if option.starts_with("--") => Complaint::new(option, trouble),
        _ => Complaint::new("--tls", sentence),
    })
}
