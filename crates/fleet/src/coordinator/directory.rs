//! The directory of a run: what a coordinator that is started again must know, and what each agent has handed in.
//!
//! It exists from before the load until the record of the run is whole. Nothing in it is secret: agents mask what they
//! record, and the plan is the one for display.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brunt_cause::{Complaint, complaint};
use brunt_plan::RunTerms;
use brunt_record::{AgentHead, LoadChange, RunEvent, RunStarted};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame::Item;
use crate::protocol::is_run_name;

const HEAD: &str = "run.json";
const CHANGES: &str = "changes.json";
const LOSSES: &str = "losses.json";
const STOP: &str = "stop.json";
const CARRIED: &str = "carried.json";

/// File that the coordinator of a run holds locked.
const LOCK: &str = "lock";
/// Time after which a run that nobody took up again is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

/// The directory of a run in progress, which only one process can conduct.
#[derive(Clone, Debug)]
pub struct RunDirectory {
    /// Identifier of the run.
    pub run: String,
    pub(super) path: PathBuf,
    _lock: Arc<File>,
}

/// Locks the directory of a run; `None` if another process conducts it.
fn lock(path: &Path) -> Option<Arc<File>> {
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path.join(LOCK)).ok()?;
    file.try_lock().ok().map(|()| Arc::new(file))
}

/// What is known of a run once its load has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunHead {
    /// Head of the record.
    pub started: RunStarted,
    /// What stands between it and the first second: the response to the pre-flight request.
    #[serde(default)]
    pub opening: Vec<RunEvent>,
    /// Set if arrivals do not wait for responses.
    pub is_open: bool,
    pub terms: RunTerms,
    /// Highest level of the run's load of which the owner of each agent lets it carry its share; null if any.
    #[serde(default)]
    pub ceilings: Vec<Option<f64>>,
    /// The fleet, as `--fleet` names it, without a password; null for the usual one.
    #[serde(default)]
    pub fleet: Option<String>,
    /// The report files that were asked for.
    #[serde(default)]
    pub outputs: Vec<RunOutput>,
}

/// A report file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    /// Its path, which is absolute: whoever goes on with the run may be in another directory.
    pub path: String,
    /// Name of its format.
    pub format: String,
}

impl RunHead {
    /// Returns `true` if the plan ends with steps that a coordinator makes.
    pub fn has_teardown(&self) -> bool {
        let plan = &self.started.plan;
        let flows = plan.flow.iter().chain(&plan.common);
        flows.into_iter().any(|flow| !flow.teardown.is_empty())
    }
}

/// The loss of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LostAgent {
    /// Index of the agent.
    pub agent: usize,
    /// Number of its items that count.
    pub items: u64,
    pub why: String,
    /// Time from which others shall carry the load of all that are lost by then, since the start of the window (nanoseconds);
    /// null if none shall.
    pub taken_over_ns: Option<i64>,
}

/// The load of lost ones that an agent carries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CarriedLoad {
    /// Index of the agent.
    pub agent: usize,
    /// Time from which it does, since the start of the window (nanoseconds).
    pub since_ns: i64,
    /// Multiple of its own share.
    pub multiple: f64,
}

impl RunDirectory {
    /// Creates the directory of a new run below this one.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn create(below: &Path, run: &str) -> io::Result<RunDirectory> {
        let path = below.join(run);
        forget_old(below);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        let lock = lock(&path).ok_or(io::ErrorKind::WouldBlock)?;
        Ok(RunDirectory { run: run.to_owned(), path, _lock: lock })
    }

    /// Opens the directory of a run by its path, or by its identifier below a directory.
    ///
    /// # Errors
    /// There is none, or another process conducts it.
    pub fn open(below: &Path, run: &str) -> Result<RunDirectory, Complaint> {
        let path = if run.contains('/') { PathBuf::from(run) } else { below.join(run) };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        match name.filter(|_| path.join(HEAD).is_file()) {
            Some(run) => match lock(&path) {
                Some(lock) => Ok(RunDirectory { run, path, _lock: lock }),
                None => Err(complaint!(
                    "run {run} is still conducted by the brunt that started it; stop that one with Ctrl-C",
                    "压测 {run} 仍由启动它的 brunt 协调；请先用 Ctrl-C 停止它"
                )),
            },
            None => {
                let known = unfinished_runs(below).join(", ");
                let known = if known.is_empty() { "-".to_owned() } else { known };
                Err(if is_run_name(run) {
                    complaint!(
                        "{run} is finished, or was no run of this machine: `brunt report` shows the last one that is whole; those that could go on: {known}",
                        "{run} 已经结束，或不是本机的压测：`brunt report` 显示最近一次完整的压测；可以继续的有：{known}"
                    )
                } else {
                    complaint!(
                        "{run} is no run on agents that could go on; those that could: {known}",
                        "{run} 不是可以继续的多机压测；可以继续的有：{known}"
                    )
                })
            }
        }
    }

    pub(crate) fn write_head(&self, head: &RunHead) -> io::Result<()> {
        let new = self.path.join("new.json");
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(head)?)?;
        fs::rename(new, self.path.join(HEAD))
    }

    /// Returns the fleet of the run, as `--fleet` names it, without a password; `None` for the usual one.
    ///
    /// # Errors
    /// The head of the run cannot be read.
    pub fn fleet(&self) -> Result<Option<String>, Complaint> {
        Ok(self.read_head()?.fleet)
    }

    pub(crate) fn read_head(&self) -> Result<RunHead, Complaint> {
        let read = fs::read(self.path.join(HEAD)).map_err(|error| error.to_string());
        let head = read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        head.map_err(|why| complaint!("{} cannot go on: {why}", "{} 无法继续：{why}", self.run))
    }

    /// Opens the items of an agent; returns the file at its end, and the items in it.
    pub(crate) fn open_items(&self, agent: &AgentHead) -> io::Result<AgentItems> {
        let path = self.path.join(format!("{}.items", agent.name));
        let mut file = File::options().read(true).append(true).create(true).mode(0o600).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut rest = &bytes[..];
        let known: Vec<Item> = std::iter::from_fn(|| Item::take(&mut rest)).collect();
        file.set_len((bytes.len() - rest.len()) as u64)?;
        Ok(AgentItems { file, next: known.len() as u64, known })
    }

    /// Notes a change of the load, as it stands in the record.
    pub(crate) fn add_change(&self, change: &LoadChange) -> io::Result<()> {
        self.add_line(CHANGES, change)
    }

    /// Returns the changes of the load that were noted.
    pub(crate) fn changes(&self) -> Vec<LoadChange> {
        self.lines(CHANGES)
    }

    /// Notes that an agent was given up.
    pub(crate) fn add_loss(&self, loss: &LostAgent) -> io::Result<()> {
        self.add_line(LOSSES, loss)
    }

    /// Returns the losses that were noted, in their order.
    pub(crate) fn losses(&self) -> Vec<LostAgent> {
        self.lines(LOSSES)
    }

    /// Forgets the losses of these agents.
    pub(crate) fn forget_losses(&self, agents: &[usize]) -> io::Result<()> {
        let mut losses = self.losses();
        losses.retain(|loss| !agents.contains(&loss.agent));
        fs::remove_file(self.path.join(LOSSES))?;
        losses.iter().try_for_each(|loss| self.add_loss(loss))
    }

    /// Notes that an agent carries load of lost ones.
    pub(crate) fn add_carried(&self, carried: &CarriedLoad) -> io::Result<()> {
        self.add_line(CARRIED, carried)
    }

    /// Returns what was noted of that, in its order.
    pub(crate) fn carried(&self) -> Vec<CarriedLoad> {
        self.lines(CARRIED)
    }

    /// Notes that the load was stopped: by a person, or because an agent was lost (`aborted`).
    pub(crate) fn add_stop(&self, aborted: bool) -> io::Result<()> {
        self.add_line(STOP, &aborted)
    }

    /// Returns whether a loss stopped the load; `None` if nothing did.
    pub(crate) fn stop(&self) -> Option<bool> {
        self.lines(STOP).pop()
    }

    fn add_line(&self, file: &str, value: &impl Serialize) -> io::Result<()> {
        let mut file = File::options().append(true).create(true).mode(0o600).open(self.path.join(file))?;
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        file.write_all(&line)
    }

    fn lines<T: DeserializeOwned>(&self, file: &str) -> Vec<T> {
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Removes the directory: the record of the run is whole.
    pub(crate) fn remove(&self) {
        // Only what this module made: a path given by a user may hold anything else.
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == "items" || ending == "json"))
        {
            let _ = fs::remove_file(path);
        }
        let _ = (fs::remove_file(self.path.join(LOCK)), fs::remove_dir(&self.path));
    }
}

/// Removes the directories of runs that nobody took up again for a week.
fn forget_old(below: &Path) {
    for run in unfinished_runs(below) {
        let Ok(directory) = RunDirectory::open(below, &run) else { continue };
        let changed = fs::metadata(directory.path.join(HEAD)).and_then(|data| data.modified());
        if changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > FORGOTTEN)) {
            directory.remove();
        }
    }
}

/// Returns the identifiers of the runs that could go on (nobody conducts them), the latest last.
fn unfinished_runs(below: &Path) -> Vec<String> {
    let entries = fs::read_dir(below).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| entry.path().join(HEAD).is_file() && lock(&entry.path()).is_some());
    let mut runs: Vec<String> = runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    runs.sort();
    runs
}

/// Returns the identifiers of those runs that could go on whose fleet is the right one, as `--fleet` names it (`None` for the
/// usual one).
pub fn unfinished_runs_of(below: &Path, is_fleet: impl Fn(Option<&str>) -> bool) -> Vec<String> {
    let is_of_it = |run: &String| {
        let directory = RunDirectory::open(below, run).and_then(|directory| directory.fleet());
        directory.is_ok_and(|fleet| is_fleet(fleet.as_deref()))
    };
    unfinished_runs(below).into_iter().filter(is_of_it).collect()
}

/// What an agent has handed in.
pub(crate) struct AgentItems {
    pub(super) file: File,
    /// Number of the next item.
    next: u64,
    /// Items from before this process.
    pub known: Vec<Item>,
}

impl AgentItems {
    /// Takes the items of a frame that begins with number `seq`; returns those that are new, once they are in the file.
    ///
    /// # Errors
    /// They cannot be written, or items before them are missing.
    pub fn take(&mut self, seq: u64, frame: &[u8]) -> io::Result<Vec<Item>> {
        let mut rest = frame;
        let mut items: Vec<(Item, &[u8])> = Vec::new();
        loop {
            let before = rest;
            let Some(item) = Item::take(&mut rest) else { break };
            items.push((item, &before[..before.len() - rest.len()]));
        }
        if !rest.is_empty() {
            return Err(io::Error::other("the frame holds something else than items"));
        }
        if seq > self.next {
            return Err(io::Error::other("items before these are missing"));
        }
        let known = (self.next - seq).min(items.len() as u64) as usize;
        let new = items.split_off(known);
        let bytes: Vec<u8> = new.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let length = self.file.metadata()?.len();
        if let Err(why) = self.file.write_all(&bytes) {
            // A part of them would stand before the same items when they come again.
            let _ = self.file.set_len(length);
            return Err(why);
        }
        self.next += new.len() as u64;
        Ok(new.into_iter().map(|(item, _)| item).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(items: &[Item]) -> Vec<u8> {
        let mut bytes = Vec::new();
        items.iter().for_each(|item| item.write(&mut bytes));
        bytes
    }

    #[test]
    fn a_run_that_is_finished_is_told_from_what_is_no_run() {
        let below = tempfile::tempdir().unwrap();
        let said = |run: &str| RunDirectory::open(below.path(), run).unwrap_err().to_string();
        assert!(said("0067c9a1b2-00ff3c").contains("brunt report"));
        assert!(said("load.yaml").contains("is no run"));
    }

    #[test]
    fn items_are_taken_once_in_whatever_frames_they_come_and_are_there_after_a_restart() {
        let below = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(below.path(), "r").unwrap();
        let agent = AgentHead { name: "a".into(), ..AgentHead::default() };
        let mut items = directory.open_items(&agent).unwrap();
        let all: Vec<Item> = (0..5).map(Item::Ready).collect();
        assert_eq!(items.take(0, &frame(&all[..2])).unwrap(), all[..2]);
        assert_eq!(items.take(0, &frame(&all[..2])).unwrap(), []);
        assert_eq!(items.take(1, &frame(&all[1..4])).unwrap(), all[2..4]);
        assert!(items.take(5, &frame(&all[..1])).is_err(), "a gap");
        assert!(items.take(4, &[1, 2, 3]).is_err(), "no items");
        let mut again = directory.open_items(&agent).unwrap();
        assert_eq!(again.known, all[..4]);
        assert_eq!(again.take(3, &frame(&all[3..])).unwrap(), all[4..]);
        directory.remove();
        assert!(!below.path().join("r").exists());
    }
}
