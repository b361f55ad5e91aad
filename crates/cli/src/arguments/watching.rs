//! The flags that say what is counted beside a run.

use clap::Arg;
use wire::Complaint;

use super::flags;
use super::matched::Matched;

/// What is counted beside this machine itself.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// Which local service; None: who listens at the address under load.
    pub service: Option<Local>,
}

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
            "Count this process and its children as the service [default: whoever listens at the target's address]",
        ),
        flags::one("watch-port", None, "PORT", "Count whoever listens at this port of this machine as the service"),
    ]
}

/// Reads them.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(flags: &Matched<'_>) -> Result<Watching, Complaint> {
    let pid = flags.parsed("watch-pid", "--watch-pid", |text| {
        text.parse().ok().filter(|pid| *pid > 0).ok_or_else(|| format!("`{text}` is not the number of a process"))
    })?;
    let port = flags.parsed("watch-port", "--watch-port", |text| {
        text.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("`{text}` is not a port; write 1 to 65535"))
    })?;
    let service = match (pid, port) {
        (Some(_), Some(_)) => {
            let trouble = "does not go with --watch-pid, which names the service already; leave one of them out";
            return Err(Complaint::new("--watch-port", trouble));
        }
        (pid, port) => pid.map(Local::Process).or(port.map(Local::Port)),
    };
    Ok(Watching { service })
}
