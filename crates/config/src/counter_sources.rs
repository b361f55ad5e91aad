//! The counters that are read during a run.

use brunt_cause::complaint;
use brunt_contract::UsageError;

use super::settings::{PROBE, PROBE_CACERT, PROBE_TOKEN, WATCH, WATCH_LOG, WATCH_PID, WATCH_PORT};
use super::values::SettingValues;

/// The sources of counters besides this machine itself.
#[derive(Clone, Debug, Default)]
pub struct CounterSources {
    /// The local service; `None` for the service that listens on the address under load.
    pub service: Option<LocalService>,
    /// Services to query for their own counters, as written: `redis=127.0.0.1:6379`.
    pub services: Vec<String>,
    /// Log files to follow.
    pub logs: Vec<String>,
    /// Probes on other hosts.
    pub probes: ProbeTargets,
}

/// The probes to connect to, and their credentials.
#[derive(Clone, Debug, Default)]
pub struct ProbeTargets {
    /// Addresses, each with host and port.
    pub addresses: Vec<String>,
    /// Token for the probes.
    pub token: Option<String>,
    /// CA certificates for the probes (PEM file); `None` for public CAs.
    pub cacert: Option<String>,
}

/// Environment variable that contains the token for probes.
pub const TOKEN: &str = "BRUNT_PROBE_TOKEN";

/// A service on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalService {
    /// The process and its children.
    Process(u32),
    /// The service that listens on this port.
    Port(u16),
}

/// Reads the settings.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(values: &SettingValues) -> Result<CounterSources, UsageError> {
    let service = match (values.get(&WATCH_PID)?, values.get(&WATCH_PORT)?) {
        (Some(_), Some(_)) => {
            let trouble = complaint!(
                "cannot be combined with --watch-pid, which already names the service; leave one of them out",
                "不能与 --watch-pid 同用，后者已指定服务；请去掉其中一个"
            );
            return Err(values.wrong(&WATCH_PORT, trouble));
        }
        (pid, port) => pid.map(LocalService::Process).or(port.map(LocalService::Port)),
    };
    let (told, names): (Vec<String>, Vec<String>) = values.each(&WATCH)?.into_iter().unzip();
    refuse_twice(values, WATCH.spec.name, &names)?;
    let logs = values.each(&WATCH_LOG)?;
    Ok(CounterSources { service, services: told, logs, probes: probes(values)? })
}

/// Rejects an option with the same value twice.
fn refuse_twice(values: &SettingValues, option: &'static str, names: &[String]) -> Result<(), UsageError> {
    let twice = (0..names.len()).find(|at| names[at + 1..].contains(&names[*at]));
    let said = twice.and_then(|at| Some((values.named(option).nth(at)?, &names[at])));
    said.map_or(Ok(()), |(said, name)| {
        Err(said.wrong(
            &format!("--{option}"),
            complaint!("{name} is given twice; leave one of them out", "{name} 给出了两次；请去掉其中一个"),
        ))
    })
}

fn probes(values: &SettingValues) -> Result<ProbeTargets, UsageError> {
    let addresses = values.each(&PROBE)?;
    refuse_twice(values, PROBE.spec.name, &addresses)?;
    if addresses.is_empty() {
        values.refuse(
            &[PROBE_TOKEN.spec, PROBE_CACERT.spec],
            complaint!("needs a probe; add --probe HOST:PORT", "需要探针；请加 --probe HOST:PORT"),
        )?;
    }
    let token = values.get(&PROBE_TOKEN)?.or_else(|| std::env::var(TOKEN).ok());
    if token.as_deref() == Some("") {
        return Err(values.wrong(
            &PROBE_TOKEN,
            complaint!("is empty; use the token that the probe was started with", "为空；请写探针启动时使用的令牌"),
        ));
    }
    Ok(ProbeTargets { addresses, token, cacert: values.get(&PROBE_CACERT)? })
}
