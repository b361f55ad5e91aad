//! The active runs that were started here: each a brunt process, its command pipe, and a thread that waits for its end.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brunt_plan::{Change, Plan, public_load};
use brunt_record::{LoadChange, RecordReader, RunEvent, RunStarted};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use crate::fleet::FleetWatch;
use crate::library::{Library, RunSource, RunState};
use crate::problem::Problem;
use crate::program::BruntProgram;
use crate::run_control::{self, RunCommand};

/// Maximum number of concurrent runs: they compete for cores.
const MOST: usize = 4;
/// Time within which a run that cannot begin usually reports the reason.
const SAYS_SO: Duration = Duration::from_millis(400);
/// Time for which agents are waited for: those that are there are known to the coordinator within two seconds.
const AGENTS_WAIT: &str = "4s";
/// Time within which agents have taken their shares, or refused them.
const AGENTS_SAY_SO: Duration = Duration::from_secs(15);
/// Suffixes of what stands beside the record of a run that goes on.
const SUFFIXES: [&str; 2] = [run_control::PIPE, run_control::PROVISIONAL];
/// Maximum size of a run's standard error that is kept.
const SAID: usize = 16 << 10;

/// All active runs.
pub struct ActiveRuns {
    program: BruntProgram,
    library: Arc<Library>,
    fleet: Arc<FleetWatch>,
    active: Mutex<HashMap<String, Arc<ActiveRun>>>,
}

/// An active run.
#[derive(Default)]
struct ActiveRun {
    process: Mutex<Option<Pid>>,
    /// The output on standard error.
    stderr: Mutex<Vec<u8>>,
    /// The exit code, once it has ended.
    exit: Mutex<Option<Option<i32>>>,
    /// Set if its target may be put under any load, although its address is public.
    confirmed: AtomicBool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A run to start.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The plan file.
    pub plan: String,
    /// Set if a public address may be put under load.
    pub yes: bool,
    /// The agents that it runs on; `None` for this machine.
    pub agents: Option<String>,
    /// Language of messages.
    pub lang: &'static str,
}

impl ActiveRuns {
    /// Creates an empty set.
    pub fn new(program: BruntProgram, library: Arc<Library>, fleet: Arc<FleetWatch>) -> ActiveRuns {
        ActiveRuns { program, library, fleet, active: Mutex::default() }
    }

    /// Returns `true` if this run is in progress and managed here.
    pub fn is_active(&self, id: &str) -> bool {
        lock(&self.active).contains_key(id)
    }

    /// Returns `true` if a run takes commands, even if an earlier console started it.
    pub fn takes_commands(&self, id: &str) -> bool {
        self.pipe_path(id).exists() && (self.is_active(id) || brunt_record::is_being_written(&self.library.record(id)))
    }

    /// Starts a run; returns its id.
    ///
    /// # Errors
    /// Returns the reason why the run did not begin.
    pub fn start(self: &Arc<ActiveRuns>, asked: &RunRequest) -> Result<String, Problem> {
        let id = new_id()?;
        let going = Arc::new(ActiveRun { confirmed: asked.yes.into(), ..ActiveRun::default() });
        {
            let mut all = lock(&self.active);
            if all.len() >= MOST {
                let sentence =
                    format!("{MOST} runs are already in progress and compete for cores; stop one of them first");
                return Err(Problem::conflict("too_many_runs", sentence));
            }
            all.insert(id.clone(), Arc::clone(&going));
        }
        let begun = self.begin(&id, asked);
        if begun.is_err() {
            self.forget(&id);
        }
        let child = begun?;
        *lock(&going.process) = Some(Pid::from_child(&child));
        self.supervise(id.clone(), child, Arc::clone(&going));
        let within = if asked.agents.is_some() { AGENTS_SAY_SO } else { SAYS_SO };
        self.early_failure(&id, &going, within).map_or(Ok(id), Err)
    }

    fn begin(&self, id: &str, asked: &RunRequest) -> Result<Child, Problem> {
        let (plan, record, orders) = (self.library.plan(id), self.library.record(id), self.pipe_path(id));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&plan)?;
        file.write_all(asked.plan.as_bytes())?;
        mknodat(CWD, &orders, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(std::io::Error::from)?;
        self.library.begin(id, RunSource::Console, now_ms())?;
        let mut command = self.program.command();
        command.env(run_control::RECORD, &record).args(["run", "--quiet", "--lang", asked.lang]);
        if asked.yes {
            command.arg("--yes");
        }
        if let Some(agents) = &asked.agents {
            command.arg(format!("--agents={agents}")).args(["--agents-wait", AGENTS_WAIT]).args(self.fleet.options());
        }
        // Signals from the console's terminal must not reach the run, which is stopped by a command when the console
        // ends.
        command.arg(&plan).stdout(std::process::Stdio::null()).process_group(0);
        command.spawn().map_err(|error| Problem::machine(format!("brunt cannot be started ({error})")))
    }

    /// Waits for the end of a run on a separate thread, and then updates the library.
    fn supervise(self: &Arc<ActiveRuns>, id: String, mut child: Child, going: Arc<ActiveRun>) {
        let runs = Arc::clone(self);
        let watch = move || {
            let mut bytes = [0; 4096];
            let mut said = child.stderr.take();
            while let Some(read @ 1..) = said.as_mut().and_then(|said| said.read(&mut bytes).ok()) {
                let mut all = lock(&going.stderr);
                let room = SAID.saturating_sub(all.len()).min(read);
                all.extend_from_slice(&bytes[..room]);
            }
            // From here on, the run has ended or is about to.
            *lock(&going.process) = None;
            let code = child.wait().ok().and_then(|status| status.code());
            runs.ended(&id, code, &going);
        };
        if std::thread::Builder::new().name("run".into()).spawn(watch).is_err() {
            // The run continues, and is found again through its record.
        }
    }

    fn ended(&self, id: &str, code: Option<i32>, going: &ActiveRun) {
        let kept = self.library.record(id).metadata().is_ok_and(|data| data.len() > 0);
        // An index that fails now is updated on the next refresh.
        let _ = match kept {
            true => self.library.read(id),
            false => self.library.update(id, RunState::Failed, None, Some(last_message(going)), 0),
        };
        *lock(&going.exit) = Some(code);
        self.forget(id);
    }

    fn forget(&self, id: &str) {
        for suffix in SUFFIXES {
            let _ = std::fs::remove_file(self.beside(id, suffix));
        }
        lock(&self.active).remove(id);
    }

    /// Returns the error of a run that was refused right at the start; nothing of such a run is
    /// kept.
    fn early_failure(&self, id: &str, going: &ActiveRun, within: Duration) -> Option<Problem> {
        const USAGE: i32 = 64;
        let until = Instant::now() + within;
        while Instant::now() < until {
            let over = *lock(&going.exit);
            if over == Some(Some(USAGE)) {
                let _ = self.library.delete(id);
                let why = last_message(going);
                // A form has a field for them.
                return Some(match why.strip_prefix("--agents") {
                    Some(said) => Problem::unfit("agents", said.trim_start_matches([':', '：', ' '])),
                    None => Problem::unfit("refused", why),
                });
            }
            if over.is_some() || self.library.record(id).exists() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn pipe_path(&self, id: &str) -> PathBuf {
        self.beside(id, run_control::PIPE)
    }

    fn beside(&self, id: &str, suffix: &str) -> PathBuf {
        let mut path = self.library.record(id).into_os_string();
        path.push(suffix);
        path.into()
    }

    /// Sends a command to a run.
    ///
    /// # Errors
    /// Returns an error if the run has ended or takes no commands.
    pub fn send(&self, id: &str, order: RunCommand) -> Result<(), Problem> {
        let gone = || {
            Problem::conflict(
                "not_running",
                "this run cannot be controlled: it has ended, or was started on the \
                command line",
            )
        };
        let nonblocking = OFlags::NONBLOCK.bits() as i32;
        // The pipe has no reader if the run is over, or has not begun.
        let pipe = OpenOptions::new().write(true).custom_flags(nonblocking).open(self.pipe_path(id));
        match pipe {
            Ok(mut pipe) => pipe.write_all(format!("{order}\n").as_bytes()).map_err(|_| gone()),
            Err(_) if matches!(order, RunCommand::Stop | RunCommand::Drain) => self.terminate(id).ok_or_else(gone),
            Err(_) => Err(gone()),
        }
    }

    /// Confirms that the target of a run may be put under any load.
    ///
    /// # Errors
    /// Returns an error if the run has ended or takes no commands.
    pub fn confirm(&self, id: &str) -> Result<(), Problem> {
        self.send(id, RunCommand::Confirm)?;
        lock(&self.active).get(id).iter().for_each(|run| run.confirmed.store(true, Ordering::Relaxed));
        Ok(())
    }

    /// Returns the public address that a command would put under a load that nobody confirmed yet.
    pub fn unconfirmed(&self, id: &str, plan: &Plan, order: RunCommand) -> Option<IpAddr> {
        let confirmed = lock(&self.active).get(id).is_some_and(|run| run.confirmed.load(Ordering::Relaxed));
        let is_heavy = || match order {
            RunCommand::Change(change) => public_load::is_heavy_after(plan, change),
            RunCommand::Scale(factor) => {
                factor > 1.0 && public_load::is_heavy_after(plan, self.scaled(id, plan, factor))
            }
            RunCommand::Confirm | RunCommand::Stop | RunCommand::Drain => false,
        };
        // A load that is heavy from the beginning was confirmed then.
        if public_load::is_heavy(plan) || confirmed || !is_heavy() { None } else { self.public_address(id) }
    }

    /// Returns the change that a factor comes to, from the highest level that the run may have now.
    fn scaled(&self, id: &str, plan: &Plan, factor: f64) -> Change {
        let events = RecordReader::open(&self.library.record(id)).into_iter().flatten();
        let level = events.filter_map(|event| match event {
            Ok(RunEvent::Changed(LoadChange { change: Change::Rate(rate), .. })) => Some(rate),
            Ok(RunEvent::Changed(LoadChange { change: Change::Users(users), .. })) => Some(f64::from(users)),
            _ => None,
        });
        let level = level.last().unwrap_or_else(|| plan.load.peak()) * factor;
        if plan.load.is_open() { Change::Rate(level) } else { Change::Users(level.ceil() as u32) }
    }

    /// Returns the address that the first response of a run came from, if it is public.
    fn public_address(&self, id: &str) -> Option<IpAddr> {
        const BEGINNING: usize = 64;
        let mut events = RecordReader::open(&self.library.record(id)).ok()?.take(BEGINNING);
        let address = events.find_map(|event| match event {
            Ok(RunEvent::FirstResponse(first)) => first.address.parse::<SocketAddr>().ok(),
            _ => None,
        })?;
        Some(address.ip()).filter(|ip| brunt_plan::address::is_public(*ip))
    }

    /// Ends a run that still waits for its first answer: there is nothing to drain.
    fn terminate(&self, id: &str) -> Option<()> {
        let going = lock(&self.active).get(id).cloned()?;
        // Held until the signal is sent, so that the process id cannot be reused before.
        let process = lock(&going.process);
        kill_process((*process)?, Signal::TERM).ok()
    }

    /// Returns the plan of a run from its record.
    ///
    /// # Errors
    /// Returns an error if the record is still empty.
    pub fn plan_of(&self, id: &str) -> Result<Plan, Problem> {
        let not_yet = || Problem::conflict("not_running", "this run has not started yet");
        self.head_of(id).map(|head| head.plan).ok_or_else(not_yet)
    }

    /// Returns the names of the agents of a run; none before its record has begun.
    pub fn agents_of(&self, id: &str) -> Vec<String> {
        self.head_of(id).map(|head| head.agents).unwrap_or_default().into_iter().map(|agent| agent.name).collect()
    }

    fn head_of(&self, id: &str) -> Option<RunStarted> {
        let mut events = RecordReader::open(&self.library.record(id)).ok()?;
        match events.next() {
            Some(Ok(RunEvent::Started(started))) => Some(*started),
            _ => None,
        }
    }

    /// Returns the identifiers of the runs that are in progress.
    pub fn ids(&self) -> Vec<String> {
        lock(&self.active).keys().cloned().collect()
    }

    /// Stops all runs in an orderly way, and waits briefly until they have ended.
    pub fn stop_all(&self) {
        self.ids().iter().for_each(|id| drop(self.send(id, RunCommand::Stop)));
        let until = Instant::now() + Duration::from_secs(10);
        while !lock(&self.active).is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Removes the leftovers of a console that was killed: what stands beside the records of runs that are over.
    pub fn remove_stale_files(&self) {
        let folder = self.library.record("x");
        let names = folder.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        for entry in names.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let record = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
            let record = record.map(|record| entry.path().with_file_name(record));
            if record.is_some_and(|record| !brunt_record::is_being_written(&record)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns the last message of a run, without the path of its plan.
fn last_message(going: &ActiveRun) -> String {
    let said = String::from_utf8_lossy(&lock(&going.stderr)).into_owned();
    crate::program::last_message(&said)
        .split_whitespace()
        .filter(|word| !word.contains("/plans/"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// Creates a unique id that sorts by time.
pub fn new_id() -> Result<String, Problem> {
    let random = crate::access::random().map_err(Problem::machine)?;
    Ok(format!("{:014}-{}", now_ms(), &random[..8]))
}

/// Creates a new file that is private to its owner.
pub fn private_file(path: &std::path::Path) -> std::io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_plan::{Arrivals, Load, Stage};
    use brunt_record::{FirstResponse, RecordWriter};

    use super::*;
    use crate::testing;

    /// Creates a run at 600/s whose first response came from this address; its rate was then changed to 900/s.
    fn run_at(address: &str) -> (tempfile::TempDir, Arc<ActiveRuns>, Plan) {
        let directory = tempfile::tempdir().unwrap();
        let library = Arc::new(Library::open(directory.path(), None).unwrap());
        let stages = vec![Stage { lasts: Nanos::from_secs(60), from: 600.0, to: 600.0 }];
        let mut events = testing::a_run(1);
        let Some(RunEvent::Started(started)) = events.first_mut() else { panic!("a head") };
        started.plan.load = Load::Open { stages, arrivals: Arrivals::Poisson };
        let plan = started.plan.clone();
        events
            .insert(1, RunEvent::FirstResponse(FirstResponse { address: address.into(), ..FirstResponse::default() }));
        events.insert(3, RunEvent::Changed(LoadChange { at_ns: 0, change: Change::Rate(900.0) }));
        let mut writer = RecordWriter::create(&library.record("1-a")).unwrap();
        events.iter().for_each(|event| writer.write(event).unwrap());
        let runs = ActiveRuns::new(BruntProgram("brunt".into()), library, testing::no_fleet());
        (directory, Arc::new(runs), plan)
    }

    #[test]
    fn real_load_on_a_public_address_needs_a_confirmation_however_it_is_asked_for() {
        for (address, is_public) in
            [("8.8.8.8:80", true), ("[2001:4860::8]:443", true), ("10.0.0.1:80", false), ("/run/x", false)]
        {
            let (_directory, runs, plan) = run_at(address);
            let refuses = |order| runs.unconfirmed("1-a", &plan, order).is_some();
            for (order, is_real) in [
                (RunCommand::Change(Change::Rate(1000.0)), false),
                (RunCommand::Change(Change::Rate(1001.0)), true),
                (RunCommand::Change(Change::Pause), false),
                (RunCommand::Scale(1.1), false),
                (RunCommand::Scale(1.2), true),
                (RunCommand::Scale(0.5), false),
                (RunCommand::Stop, false),
            ] {
                assert_eq!(refuses(order), is_public && is_real, "{address} {order:?}");
            }
        }
    }

    #[test]
    fn a_load_that_was_confirmed_is_not_asked_about_again() {
        let (_directory, runs, mut plan) = run_at("8.8.8.8:80");
        let order = RunCommand::Change(Change::Rate(5000.0));
        let run = ActiveRun { confirmed: true.into(), ..ActiveRun::default() };
        lock(&runs.active).insert("1-a".into(), Arc::new(run));
        assert_eq!(runs.unconfirmed("1-a", &plan, order), None);
        lock(&runs.active).clear();
        assert!(runs.unconfirmed("1-a", &plan, order).is_some());
        let stages = vec![Stage { lasts: Nanos::from_secs(60), from: 2000.0, to: 2000.0 }];
        plan.load = Load::Open { stages, arrivals: Arrivals::Poisson };
        assert_eq!(runs.unconfirmed("1-a", &plan, order), None, "it began with --yes");
    }
}
