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

/// Returns where the workers of a run are: on this machine, or on the agents that it asks for.
///
/// # Errors
/// The agents cannot be had.
pub fn places(intent: &Intent) -> Result<WorkerPlaces, UsageError> {
    let mut places = WorkerPlaces::here(SelfLauncher);
    if let Some(request) = &intent.fleet {
        places.fleet = Some(Arc::new(choose(request)?.with_outputs(outputs(&intent.presentation.files))));
    }
    Ok(places)
}

/// Returns the report files of a run as whoever goes on with it can write them.
fn outputs(files: &[ReportFile]) -> Vec<RunOutput> {
    let output = |ReportFile { path, format }: &ReportFile| {
        let path = std::path::absolute(path).map_or_else(|_| path.clone(), |path| path.display().to_string());
        RunOutput { path, format: format.name().to_owned() }
    };
    files.iter().map(output).collect()
}

/// Returns where the workers of the runs of an experiment are, with the names of the agents.
///
/// # Errors
/// The agents cannot be had.
pub fn named_places(intent: &Intent) -> Result<(WorkerPlaces, Vec<String>), UsageError> {
    let (mut places, mut names) = (WorkerPlaces::here(SelfLauncher), Vec::new());
    if let Some(request) = &intent.fleet {
        let group = choose(request)?;
        names.extend(group.agents().iter().map(|agent| agent.name.clone()));
        places.fleet = Some(Arc::new(group));
    }
    Ok((places, names))
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

/// Returns a fleet as `--fleet` names it, without a password.
fn shown(fleet: Option<&str>) -> Option<String> {
    let Some((scheme, rest)) = fleet.filter(|fleet| link::is_nats(fleet)).and_then(|url| url.split_once("://")) else {
        let path = fleet.map(PathBuf::from).or_else(link::usual_directory)?;
        return std::path::absolute(path).ok().map(|path| path.display().to_string());
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    Some(format!("{scheme}://{host}"))
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
