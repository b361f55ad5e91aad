//! Many machines: the link to a fleet, agents chosen for runs, and the commands about them.

mod agent;
mod commands;
mod link;
mod presence;
mod resumed;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brunt_bench::WorkerPlaces;
use brunt_cause::{Complaint, complaint};
use brunt_config::{FleetRequest, Intent, ReportFile};
use brunt_contract::UsageError;
use brunt_fleet::{AgentGroup, Fleet, FleetDirectory, RunOutput};
use brunt_messenger::Undelivered;
use brunt_plan::AgentSelection;

use crate::kept_runs;
use crate::worker::SelfLauncher;

pub use agent::agent;
pub use commands::command;
pub use resumed::resume;

/// Port of a NATS server that is named without one.
const NATS_PORT: &str = ":4222";

/// Returns where the workers of a run are: on this machine, or on the agents that it asks for, with their names.
///
/// # Errors
/// The agents cannot be had.
pub fn places(intent: &Intent) -> Result<(WorkerPlaces, Vec<String>), UsageError> {
    let (mut places, mut names) = (WorkerPlaces::here(SelfLauncher), Vec::new());
    if let Some(request) = &intent.fleet {
        let group = choose(request)?.with_outputs(outputs(&intent.presentation.files));
        names.extend(group.agents().iter().map(|agent| agent.name.clone()));
        places.fleet = Some(Arc::new(group));
    }
    Ok((places, names))
}

/// Returns the report files of a run as whoever goes on with it can write them.
fn outputs(files: &[ReportFile]) -> Vec<RunOutput> {
    let output = |ReportFile { path, format }: &ReportFile| {
        let path = std::path::absolute(path).map_or_else(|_| path.clone(), |path| path.display().to_string());
        RunOutput { path, format: format.name().to_owned() }
    };
    files.iter().map(output).collect()
}

fn choose(request: &FleetRequest) -> Result<AgentGroup, UsageError> {
    check_members(request).map_err(|why| UsageError::new("--agents", why))?;
    let fleet = Arc::new(watch(request.fleet.as_deref())?);
    let wait = Duration::from_nanos(request.wait.0);
    AgentGroup::choose(
        fleet,
        &request.agents,
        (wait, request.terms.clone()),
        (shown(request.fleet.as_deref()), runs()?),
    )
    .map_err(|why| UsageError::new("--agents", why))
}

/// Checks that agents asked for by name may come at all: nobody has to wait for others.
fn check_members(request: &FleetRequest) -> Result<(), Complaint> {
    let members = presence::expected(request.fleet.as_deref());
    let AgentSelection::Names(names) = &request.agents else { return Ok(()) };
    // Who belongs to a NATS server is not known here.
    let Some(other) = names.iter().find(|name| !members.is_empty() && !members.contains(name)) else { return Ok(()) };
    let (en, zh) = (members.join(", "), members.join("、"));
    Err(complaint!(
        "{other} is no agent of this fleet, whose agents are {en}; write label={other} if it is a label",
        "{other} 不是该机群的施压机（其施压机有：{zh}）；若为标签，请写 label={other}"
    ))
}

/// Connects with a fleet: a directory of identities, or a NATS server.
fn watch(fleet: Option<&str>) -> Result<Fleet, UsageError> {
    let messenger = link::coordinator(fleet)?;
    Fleet::watch(messenger, presence::expected(fleet)).map_err(|why| unreachable(&why))
}

/// Returns `true` if there is a fleet; its agents need not be there.
pub fn exists(fleet: Option<&str>) -> bool {
    let is_made = || link::directory(fleet).is_ok_and(|path| FleetDirectory::open(&path).is_ok());
    fleet.is_some_and(link::is_nats) || is_made()
}

/// Returns a fleet as `--fleet` names it, without a password; one fleet has one name.
fn shown(fleet: Option<&str>) -> Option<String> {
    let Some((scheme, rest)) = fleet.filter(|fleet| link::is_nats(fleet)).and_then(|url| url.split_once("://")) else {
        let path = fleet.map(PathBuf::from).or_else(link::usual_directory)?;
        let whole = path.canonicalize().or_else(|_| std::path::absolute(&path));
        return whole.ok().map(|path| path.display().to_string());
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host).trim_end_matches('/');
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(format!("{scheme}://{host}{}", if has_port { "" } else { NATS_PORT }))
}

/// Returns `true` if both name the same fleet; `None` is the usual one.
fn is_same(one: Option<&str>, other: Option<&str>) -> bool {
    shown(one) == shown(other)
}

fn unreachable(why: &Undelivered) -> UsageError {
    UsageError::new("--fleet", Complaint::of_text(&*why.0))
}

/// Returns the directory for the directories of runs on a fleet.
fn runs() -> Result<PathBuf, UsageError> {
    state().map(|state| state.join("fleet-runs"))
}

/// Returns the directory for what is kept between runs.
fn state() -> Result<PathBuf, UsageError> {
    let state = kept_runs::directory().and_then(|kept| kept.parent().map(PathBuf::from));
    state.ok_or_else(|| {
        let trouble = complaint!(
            "there is no home directory for what a run on agents must keep; set XDG_STATE_HOME",
            "没有可存放多机压测数据的主目录；请设置 XDG_STATE_HOME"
        );
        UsageError::new("--agents", trouble)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_is_known_by_whatever_names_it() {
        let home = tempfile::tempdir().unwrap();
        let (path, other) = (home.path().join("fleet"), home.path().join("other"));
        [&path, &other].into_iter().for_each(|directory| std::fs::create_dir(directory).unwrap());
        let [path, round] = [path.clone(), other.join("../fleet/")].map(|path| path.display().to_string());
        for (one, another, expected) in [
            (&*path, &*round, true),
            (&path, &other.display().to_string(), false),
            ("nats://user:word@h", "nats://h:4222/", true),
            ("nats://h:4223", "nats://h", false),
            ("nats://[::1]", "nats://[::1]:4222", true),
            ("nats://h", &path, false),
        ] {
            assert_eq!(is_same(Some(one), Some(another)), expected, "{one} {another}");
        }
        assert!(is_same(None, link::usual_directory().map(|path| path.display().to_string()).as_deref()));
        assert_eq!(shown(Some("nats://user:word@h")).as_deref(), Some("nats://h:4222"));
    }
}
