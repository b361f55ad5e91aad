//! A run controlled by another program: the console starts it as a separate process, controls it by
//! lines through a named pipe, and reads its record while it grows. The pipe outlives its writers,
//! so a run continues when the console ends.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use brunt_cause::{Complaint, complaint};
use brunt_console::{RunCommand, run_control};
use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::Nanos;
use brunt_plan::public_load;
use brunt_report::Lang;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use crate::load_control::LoadControl;
use crate::preflight;
use crate::run::in_language;
use brunt_config::Intent;

/// Interval between checks for the end of the run.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Maximum duration of a run that does not end by itself, in case nobody is watching any more.
const LONGEST: Nanos = Nanos::from_secs(24 * 3600);

/// Maximum length of a command line: a word and a number.
const LONGEST_LINE: usize = 4096;

/// Returns the path for the record of this run, if another program controls it.
pub fn record() -> Option<OsString> {
    std::env::var_os(run_control::RECORD)
}

/// Returns `true` if another program controls this run.
pub fn is_driven() -> bool {
    record().is_some()
}

/// Sends the record of a controlled run to the path that the other program set, and suppresses all
/// other output. Does nothing if no program controls the run.
///
/// # Errors
/// Returns an error if the plan asks for output files.
pub fn redirect_record(intent: &mut Intent) -> Result<(), UsageError> {
    let Some(record) = record() else { return Ok(()) };
    let (report, kept) = (!intent.presentation.files.is_empty(), intent.record.is_some());
    for (option, given, [what, zh]) in
        [("--output", report, ["report", "报告"]), ("--record", kept, ["record", "记录"])]
    {
        if given {
            let trouble = complaint!(
                "is for the command line, as the console keeps every {what}; leave it out",
                "用于命令行，控制台会保存每次的{zh}；请去掉"
            );
            return Err(UsageError::new(option, trouble));
        }
    }
    intent.record = Some(
        record
            .into_string()
            .map_err(|_| UsageError::new("--record", complaint!("its path is not UTF-8", "路径不是 UTF-8")))?,
    );
    intent.run_timeout = intent.run_timeout.or(Some(LONGEST));
    Ok(())
}

/// The thread that reads commands until it is dropped.
pub struct ControlListener {
    over: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl ControlListener {
    /// Starts reading commands if another program controls this run.
    pub fn listen(load: LoadControl, stop: &Stop) -> Option<ControlListener> {
        let mut pipe = record()?;
        pipe.push(run_control::PIPE);
        // Opened for writing as well, so that the pipe never reports end of file when its last writer goes away.
        let mut pipe = OpenOptions::new().read(true).write(true).open(pipe).ok()?;
        let over = Arc::new(AtomicBool::new(false));
        let mut orders = CommandReader { load, stop: stop.clone(), drains: false, line: Vec::new() };
        let ended = Arc::clone(&over);
        let listening = std::thread::Builder::new().name("driver".into()).spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                orders.wait_for_more(&mut pipe);
            }
        });
        Some(ControlListener { over, listening: listening.ok() })
    }
}

impl Drop for ControlListener {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.listening.take().map(JoinHandle::join);
    }
}

/// The state of reading commands, and the run they apply to.
struct CommandReader {
    load: LoadControl,
    stop: Stop,
    drains: bool,
    line: Vec<u8>,
}

impl CommandReader {
    fn wait_for_more(&mut self, pipe: &mut File) {
        if !poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&LOOK)).is_ok_and(|ready| ready > 0) {
            return;
        }
        let mut bytes = [0; 512];
        let read = pipe.read(&mut bytes).unwrap_or(0);
        self.line.extend_from_slice(&bytes[..read]);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            RunCommand::parse(String::from_utf8_lossy(&line).trim()).into_iter().for_each(|order| self.execute(order));
        }
        if self.line.len() > LONGEST_LINE {
            self.line.clear();
        }
    }

    fn execute(&mut self, order: RunCommand) {
        match order {
            RunCommand::Change(change) => self.load.change(change),
            RunCommand::Scale(factor) => self.load.scale(factor),
            RunCommand::Confirm => self.load.confirm(),
            RunCommand::Stop => self.stop.request(),
            RunCommand::Drain => {
                // With connections that are only held, there is nothing to wait for.
                if !self.load.drain() && !self.drains {
                    self.stop.request();
                }
                self.drains = true;
            }
        }
    }
}

/// Returns the description of a valid plan, run by this many workers, for the controlling program.
pub fn checked(intent: &Intent, workers: u32, unused: &[Complaint]) -> Value {
    let said = preflight::announcement(&intent.shown, workers, intent.lang());
    let heavy = public_load::is_heavy(&intent.plan) && !public_load::is_private(&intent.plan);
    let notes = intent.notes.iter().chain(&intent.remarks).chain(&intent.flow_remarks).chain(unused);
    let notes: Vec<&str> = notes.map(|note| in_language(note, intent.lang())).collect();
    json!({ "ok": true, "said": said, "notes": notes, "heavy": heavy, "plan": intent.shown })
}

/// Returns the description of an error in a plan, for the controlling program.
pub fn refused(complaint: &UsageError, lang: Lang) -> Value {
    let UsageError { location: place, problem, extra_lines: below, .. } = complaint;
    let trouble = in_language(problem, lang);
    let below: Vec<&str> = below.iter().map(|line| in_language(line, lang)).collect();
    json!({ "ok": false, "place": place, "trouble": trouble, "below": below })
}
