//! The processes of experiments: started, stopped as by Ctrl-C, and gone on with.

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use brunt_report::Exit;
use rustix::process::{Pid, Signal, kill_process};

use super::live_pages::LivePages;
use super::{ExperimentShelf, ShelvedExperiment};
use crate::fleet::FleetWatch;
use crate::library::{RunSource, RunState};
use crate::plans::PlanExecutor;
use crate::problem::Problem;
use crate::program::{BruntProgram, last_message};
use crate::runs::new_id;

/// Maximum number of experiments at once: each would disturb what the other measures.
const MOST: usize = 1;
/// Time within which one that cannot begin usually reports the reason.
const SAYS_SO: Duration = Duration::from_millis(400);
/// Maximum size of a process's standard error that is kept.
const SAID: usize = 16 << 10;
/// Exit code of a wrong command line.
const USAGE: i32 = 64;

/// What runs at the moment.
#[derive(Default)]
struct Standing {
    /// Set once it was asked to stop: a second signal would end it at once, without a result.
    is_stopping: bool,
    process: Option<Pid>,
    /// Exit code, once it has ended.
    exit: Option<Option<i32>>,
}

/// The experiments, and the processes of those that this console started.
pub struct ActiveExperiments {
    program: BruntProgram,
    plans: PlanExecutor,
    fleet: Arc<FleetWatch>,
    pub shelf: ExperimentShelf,
    active: Mutex<HashMap<String, Arc<Mutex<Standing>>>>,
    pages: LivePages,
}

/// An experiment to start.
#[derive(Clone, Debug)]
pub struct ExperimentRequest {
    /// The command line, without the program.
    pub words: Vec<String>,
    pub name: String,
    /// Set if a public address may be put under load.
    pub yes: bool,
    /// Language of messages.
    pub lang: &'static str,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl ActiveExperiments {
    /// Creates the set, without processes.
    pub fn new(
        program: BruntProgram,
        plans: PlanExecutor,
        shelf: ExperimentShelf,
        fleet: Arc<FleetWatch>,
    ) -> ActiveExperiments {
        ActiveExperiments { program, plans, fleet, shelf, active: Mutex::default(), pages: LivePages::default() }
    }

    /// Starts an experiment; returns its id.
    ///
    /// # Errors
    /// Returns the reason why it did not begin.
    pub fn start(self: &Arc<ActiveExperiments>, asked: &ExperimentRequest) -> Result<String, Problem> {
        let id = new_id()?;
        let mut note = ShelvedExperiment::new(&id, RunSource::Console);
        note.kind = asked.words.first().cloned().unwrap_or_default();
        note.name.clone_from(&asked.name);
        note.words.clone_from(&asked.words);
        note.yes = asked.yes;
        let standing = self.launch(note, asked.lang)?;
        match self.early_failure(&id, &standing) {
            Some(refused) => {
                self.shelf.delete(&id);
                Err(refused)
            }
            None => Ok(id),
        }
    }

    /// Goes on with an experiment that ended before its last run.
    ///
    /// # Errors
    /// Returns an error if it is going on, or was not started here.
    pub fn go_on(self: &Arc<ActiveExperiments>, id: &str, lang: &'static str) -> Result<(), Problem> {
        let note = self.find(id)?;
        if note.state == RunState::Running {
            return Err(Problem::conflict("running", "this experiment is still going"));
        }
        if !can_go_on(&note) {
            let sentence =
                "this experiment cannot go on from here: it is complete, or was not started from the console";
            return Err(Problem::conflict("complete", sentence));
        }
        let standing = self.launch(note, lang)?;
        self.early_failure(id, &standing).map_or(Ok(()), Err)
    }

    fn launch(
        self: &Arc<ActiveExperiments>,
        mut note: ShelvedExperiment,
        lang: &str,
    ) -> Result<Arc<Mutex<Standing>>, Problem> {
        let standing: Arc<Mutex<Standing>> = Arc::default();
        {
            let mut all = lock(&self.active);
            if all.len() >= MOST {
                let sentence =
                    "another experiment is going and each would disturb the other; stop it first, or wait for its end";
                return Err(Problem::conflict("too_many_experiments", sentence));
            }
            all.insert(note.id.clone(), Arc::clone(&standing));
        }
        let begun = self.spawn(&note, lang).and_then(|mut child| {
            let process = Pid::from_child(&child);
            note.process = Some(process.as_raw_pid());
            (note.state, note.fault) = (RunState::Running, None);
            // Its end must find the note.
            if let Err(error) = self.shelf.put(&note) {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(Problem::machine(error));
            }
            lock(&standing).process = Some(process);
            Ok(child)
        });
        if begun.is_err() {
            lock(&self.active).remove(&note.id);
        }
        self.supervise(note.id, begun?, Arc::clone(&standing));
        Ok(standing)
    }

    fn spawn(&self, note: &ShelvedExperiment, lang: &str) -> Result<Child, Problem> {
        let record = self.shelf.record(&note.id);
        let goes_on = record.metadata().is_ok_and(|data| data.len() > 0);
        let Some((kind, rest)) = note.words.split_first() else {
            return Err(Problem::bad("the command line is empty; begin with find, compare, sweep or ladder"));
        };
        let mut command = self.program.command();
        command.arg(kind).arg(if goes_on { "--resume" } else { "--record" }).arg(&record);
        command.args(["--quiet", "--lang", lang]).args(note.yes.then_some("--yes"));
        let names = |option: &str| rest.iter().any(|word| word.split('=').next() == Some(option));
        if names("--agents") && !names("--fleet") {
            command.args(self.fleet.options());
        }
        command.args(rest);
        // Signals from the console's terminal must not reach it; it is stopped when the console ends.
        command.stdout(Stdio::null()).process_group(0);
        command.spawn().map_err(|error| Problem::machine(format!("brunt cannot be started ({error})")))
    }

    /// Waits for the end of a process on a separate thread, and then updates its note.
    fn supervise(self: &Arc<ActiveExperiments>, id: String, mut child: Child, standing: Arc<Mutex<Standing>>) {
        let all = Arc::clone(self);
        let watch = move || {
            let mut said = Vec::new();
            if let Some(mut from) = child.stderr.take() {
                let _ = from.by_ref().take(SAID as u64).read_to_end(&mut said);
                let _ = std::io::copy(&mut from, &mut std::io::sink());
            }
            // From here on, it has ended or is about to, and its process id may be used again.
            lock(&standing).process = None;
            let code = child.wait().ok().and_then(|status| status.code());
            all.ended(&id, code, &String::from_utf8_lossy(&said));
            lock(&standing).exit = Some(code);
            lock(&all.active).remove(&id);
        };
        // Without a thread it goes on, and is found again through its record.
        let _ = std::thread::Builder::new().name("experiment".into()).spawn(watch);
    }

    fn ended(&self, id: &str, code: Option<i32>, said: &str) {
        let Some(mut note) = self.shelf.get(id) else { return };
        self.conclude(&mut note);
        note.exit = code.or(note.exit);
        if note.state == RunState::Failed || code == Some(USAGE) {
            note.fault = Some(last_message(said));
        }
        // A note that cannot be written now is made again from the record.
        let _ = self.shelf.put(&note);
    }

    /// Reads from the record of an experiment that has ended what came of it.
    fn conclude(&self, note: &mut ShelvedExperiment) {
        let record = self.shelf.record(&note.id);
        note.bytes = record.metadata().map_or(0, |data| data.len());
        note.process = None;
        if note.bytes == 0 {
            note.state = RunState::Failed;
            return;
        }
        self.pages.forget(&note.id);
        match self.made(&note.id, false) {
            Ok(page) => {
                note.learn(&serde_json::from_str(&page).unwrap_or_default());
                note.state = RunState::Over;
            }
            Err(fault) => {
                note.fault = Some(fault.sentence().to_owned());
                note.state = RunState::Failed;
            }
        }
    }

    /// Returns the error of one that was refused right at the start.
    fn early_failure(&self, id: &str, standing: &Mutex<Standing>) -> Option<Problem> {
        let until = Instant::now() + SAYS_SO;
        while Instant::now() < until {
            let exit = lock(standing).exit;
            match exit {
                Some(Some(USAGE)) => {
                    let why = self.shelf.get(id).and_then(|note| note.fault);
                    return Some(Problem::unfit("refused", why.unwrap_or_default()));
                }
                Some(_) => return None,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        None
    }

    /// Adds an experiment made elsewhere: its record becomes one of the shelf.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read; nothing of it is kept then.
    pub fn take_in(&self, incoming: &Path, id: &str, name: String) -> Result<(), Problem> {
        std::fs::rename(incoming, self.shelf.record(id))?;
        let mut note = ShelvedExperiment::new(id, RunSource::Dropped);
        note.name = name;
        self.conclude(&mut note);
        let kept = match note.state {
            RunState::Failed => Err(Problem::unfit("record", note.fault.clone().unwrap_or_default())),
            RunState::Running | RunState::Over => self.shelf.put(&note).map_err(Problem::machine),
        };
        if kept.is_err() {
            self.shelf.delete(id);
        }
        kept
    }

    /// Returns an experiment with its current state.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn find(&self, id: &str) -> Result<ShelvedExperiment, Problem> {
        let note = self.shelf.get(id).ok_or_else(Problem::no_experiment)?;
        Ok(self.current(note))
    }

    /// Returns all experiments with their current states, the latest first.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read.
    pub fn all(&self) -> Result<Vec<ShelvedExperiment>, Problem> {
        self.shelf.adopt()?;
        Ok(self.shelf.all().into_iter().map(|note| self.current(note)).collect())
    }

    /// Notes that one that was going has ended, if nobody here waits for that.
    fn current(&self, mut note: ShelvedExperiment) -> ShelvedExperiment {
        if note.state != RunState::Running {
            return note;
        }
        let record = self.shelf.record(&note.id);
        note.bytes = record.metadata().map_or(0, |data| data.len());
        if !self.is_active(&note.id) && !brunt_record::is_being_written(&record) {
            self.conclude(&mut note);
            let _ = self.shelf.put(&note);
        }
        note
    }

    /// Returns `true` if a process that was started here runs.
    pub fn is_active(&self, id: &str) -> bool {
        lock(&self.active).contains_key(id)
    }

    /// Returns the data of the page, from what the record has so far.
    ///
    /// # Errors
    /// Returns an error if there is no record, or it cannot be read.
    pub fn page(&self, note: &ShelvedExperiment) -> Result<Arc<str>, Problem> {
        let bytes = self.shelf.record(&note.id).metadata().map_or(0, |data| data.len());
        if bytes == 0 {
            return Err(Problem::conflict("not_running", "this experiment has not started yet"));
        }
        if note.state != RunState::Running {
            return self.made(&note.id, false);
        }
        self.pages.page(&note.id, bytes, || self.made(&note.id, true))
    }

    fn made(&self, id: &str, is_live: bool) -> Result<Arc<str>, Problem> {
        let record = self.shelf.record(id);
        let page = self.plans.run(move |plans| plans.experiment_page(&record, is_live))?;
        page.map(Arc::from).map_err(|fault| Problem::unfit("record", fault))
    }

    /// Asks an experiment to end with what is known, as Ctrl-C does.
    ///
    /// # Errors
    /// Returns an error if it is not going, or belongs to the command line.
    pub fn stop(&self, id: &str) -> Result<(), Problem> {
        let gone = || Problem::conflict("not_running", "this experiment has ended, or was started on the command line");
        let standing = lock(&self.active).get(id).cloned();
        let Some(standing) = standing else {
            // An earlier console started it. It is asked once: a second signal would end it at once.
            let mut note = self.shelf.get(id).ok_or_else(Problem::no_experiment)?;
            let writer = note.process.take().and_then(|process| writer_of(&self.shelf.record(id), process));
            kill_process(writer.ok_or_else(gone)?, Signal::INT).map_err(|_| gone())?;
            return self.shelf.put(&note).map_err(Problem::machine);
        };
        // Held until the signal is sent, so that the process id cannot be reused before.
        let mut standing = lock(&standing);
        if standing.is_stopping {
            return Ok(());
        }
        kill_process(standing.process.ok_or_else(gone)?, Signal::INT).map_err(|_| gone())?;
        standing.is_stopping = true;
        Ok(())
    }

    /// Stops all experiments in an orderly way, and waits briefly until they have ended.
    pub fn stop_all(&self) {
        let ids: Vec<String> = lock(&self.active).keys().cloned().collect();
        ids.iter().for_each(|id| drop(self.stop(id)));
        let until = Instant::now() + Duration::from_secs(10);
        while !lock(&self.active).is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns `true` if more runs would tell more, and the command line is known.
pub fn can_go_on(note: &ShelvedExperiment) -> bool {
    let interrupted = i32::from(Exit::Interrupted.code());
    note.state != RunState::Running && note.exit == Some(interrupted) && !note.words.is_empty()
}

/// Returns a process if it still writes this file: its id may have been used again.
fn writer_of(record: &Path, process: i32) -> Option<Pid> {
    let record = record.canonicalize().ok()?;
    let mut open = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?.flatten();
    open.any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == record))
        .then(|| Pid::from_raw(process))
        .flatten()
}
