//! The flags that say what is counted beside a run.

use clap::Arg;
use watch::Watched;
use wire::Complaint;

use super::flags;
use super::matched::Matched;

/// What is counted beside this machine itself.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// Which local service; None: who listens at the address under load.
    pub service: Option<Local>,
    /// Services that are asked for counters of their own, as they were written: `redis=127.0.0.1:6379`.
    pub told: Vec<String>,
    /// Logs that are followed.
    pub logs: Vec<String>,
    /// Probes of other hosts.
    pub probes: Probes,
}

/// Which probes are joined, and how.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Where they listen, host and port.
    pub addresses: Vec<String>,
    /// What shows them that we may.
    pub token: Option<String>,
    /// Whom their certificates are vouched for by (PEM): this file; None: public authorities.
    pub cacert: Option<String>,
}

/// The variable of the environment that may hold the token of probes.
pub const TOKEN: &str = "BRUNT_PROBE_TOKEN";

/// A service of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// This process and what it started.
    Process(u32),
    /// Who listens at this port.
    Port(u16),
}

/// The flags, under no heading yet.
pub fn described() -> Vec<Arg> {
    vec![
        flags::one(
            "watch-pid",
            None,
            "PID",
            "Count this process and its children as the service [default: the process listening on the target's \
                address]",
        ),
        flags::one(
            "watch-port",
            None,
            "PORT",
            "Count the process listening on this port of this machine as the \
            service",
        ),
        flags::many(
            "watch",
            None,
            "KIND=WHERE",
            "Query a service for its own counters once a second: redis=HOST:PORT, \
                mysql=mysql://USER:PASSWORD@HOST:PORT, postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, \
                nginx=URL of stub_status, prometheus=URL",
        ),
        flags::many(
            "probe",
            None,
            "HOST:PORT",
            "Count on the host under test too, where `brunt probe` runs; repeatable",
        ),
        flags::one("probe-token", None, "TOKEN", "Token for the probes [default: $BRUNT_PROBE_TOKEN]"),
        flags::one(
            "probe-cacert",
            None,
            "FILE",
            "Trust probes with this certificate, or signed by this CA (PEM) [default: public CAs; none on this \
                machine]",
        ),
        flags::many(
            "watch-log",
            None,
            "FILE",
            "Follow this log of a service, such as nginx's error log, for messages that name a limit",
        ),
    ]
}

/// Reads them.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(flags: &Matched<'_>) -> Result<Watching, Complaint> {
    let pid = flags.parsed("watch-pid", "--watch-pid", |text| {
        text.parse().ok().filter(|pid| *pid > 0).ok_or_else(|| format!("`{text}` is not a process id"))
    })?;
    let port = flags.parsed("watch-port", "--watch-port", |text| {
        text.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("`{text}` is not a port; write 1 to 65535"))
    })?;
    let service = match (pid, port) {
        (Some(_), Some(_)) => {
            let trouble = "does not go with --watch-pid, which already names the service; leave one of them out";
            return Err(Complaint::new("--watch-port", trouble));
        }
        (pid, port) => pid.map(Local::Process).or(port.map(Local::Port)),
    };
    let told: Vec<String> = flags.texts("watch").into_iter().map(str::to_owned).collect();
    for (n, text) in told.iter().enumerate() {
        let name = Watched::parse(text).map_err(|trouble| Complaint::new("--watch", trouble))?.name().to_owned();
        let same = |other: &String| Watched::parse(other).is_ok_and(|other| other.name() == name);
        if told[..n].iter().any(same) {
            return Err(Complaint::new("--watch", format!("{name} is given twice; leave one of them out")));
        }
    }
    let logs = flags.texts("watch-log").into_iter().map(str::to_owned).collect();
    Ok(Watching { service, told, logs, probes: probes(flags)? })
}

fn probes(flags: &Matched<'_>) -> Result<Probes, Complaint> {
    let addresses: Vec<String> = flags.texts("probe").into_iter().map(str::to_owned).collect();
    for (n, address) in addresses.iter().enumerate() {
        let port =
            address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).and_then(|(_, port)| port.parse().ok());
        if port.is_none_or(|port: u16| port == 0) || address.contains('/') {
            let trouble = format!("`{address}` is not an address; write HOST:PORT, such as 10.0.0.7:7070");
            return Err(Complaint::new("--probe", trouble));
        }
        if addresses[..n].contains(address) {
            return Err(Complaint::new("--probe", format!("{address} is given twice; leave one of them out")));
        }
    }
    for (name, option) in [("probe-token", "--probe-token"), ("probe-cacert", "--probe-cacert")] {
        if flags.given(name) && addresses.is_empty() {
            return Err(Complaint::new(option, "needs a probe; add --probe HOST:PORT"));
        }
    }
    let token = flags.text("probe-token").map(str::to_owned).or_else(|| std::env::var(TOKEN).ok());
    if token.as_deref() == Some("") {
        return Err(Complaint::new("--probe-token", "is empty; write the token that the probe was started with"));
    }
    Ok(Probes { addresses, token, cacert: flags.text("probe-cacert").map(str::to_owned) })
}
