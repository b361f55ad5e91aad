//! What is counted beside a run.

use wire::Complaint;

use super::settings::{PROBE, PROBE_CACERT, PROBE_TOKEN, WATCH, WATCH_LOG, WATCH_PID, WATCH_PORT};
use super::values::Values;

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

/// Reads it.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(said: &Values) -> Result<Watching, Complaint> {
    let service = match (said.get(&WATCH_PID)?, said.get(&WATCH_PORT)?) {
        (Some(_), Some(_)) => {
            let trouble = "does not go with --watch-pid, which already names the service; leave one of them out";
            return Err(said.wrong(&WATCH_PORT, trouble));
        }
        (pid, port) => pid.map(Local::Process).or(port.map(Local::Port)),
    };
    let (told, names): (Vec<String>, Vec<String>) = said.each(&WATCH)?.into_iter().unzip();
    refuse_twice(said, WATCH.spec.name, &names)?;
    let logs = said.each(&WATCH_LOG)?;
    Ok(Watching { service, told, logs, probes: probes(said)? })
}

/// What stands twice under an option.
fn refuse_twice(said: &Values, option: &'static str, names: &[String]) -> Result<(), Complaint> {
    let twice = (0..names.len()).find(|at| names[at + 1..].contains(&names[*at]));
    let said = twice.and_then(|at| Some((said.named(option).nth(at)?, &names[at])));
    said.map_or(Ok(()), |(said, name)| {
        Err(said.wrong(&format!("--{option}"), format!("{name} is given twice; leave one of them out")))
    })
}

fn probes(said: &Values) -> Result<Probes, Complaint> {
    let addresses = said.each(&PROBE)?;
    refuse_twice(said, PROBE.spec.name, &addresses)?;
    if addresses.is_empty() {
        said.refuse(&[PROBE_TOKEN.spec, PROBE_CACERT.spec], "needs a probe; add --probe HOST:PORT")?;
    }
    let token = said.get(&PROBE_TOKEN)?.or_else(|| std::env::var(TOKEN).ok());
    if token.as_deref() == Some("") {
        return Err(said.wrong(&PROBE_TOKEN, "is empty; write the token that the probe was started with"));
    }
    Ok(Probes { addresses, token, cacert: said.get(&PROBE_CACERT)? })
}
