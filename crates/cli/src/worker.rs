//! A process that takes a share of a run (`--processes`). brunt starts it itself and sends its input to standard input.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use brunt_bench::share::{self, WORD};
use brunt_contract::{Protocol, UsageError};
use brunt_engine::{Assignment, Launcher, ProcessLink, Task};
use brunt_record::GeneratorHost;

use crate::run::CommandResult;

/// A launcher that starts this program again for each share.
pub struct SelfLauncher;

impl Launcher for SelfLauncher {
    fn launch(&self, _task: &Task) -> std::io::Result<ProcessLink> {
        // The process does not run in the user's working directory, because all files are sent along.
        brunt_engine::child(Command::new(std::env::current_exe()?).arg(WORD).current_dir("/"))
    }
}

/// Runs the share that standard input describes, on the terms of the machine's owner (JSON) if it is lent; ends when it is done or when standard input ends.
///
/// # Errors
/// Returns an error if there is no valid assignment or the share cannot be run; the parent process
/// receives it, too.
pub fn run_share(protocols: &[Arc<dyn Protocol>], host: &GeneratorHost, terms: Option<&str>) -> CommandResult {
    ignore_interrupts().map_err(|error| UsageError::new("signals", error.to_string()))?;
    let terms =
        terms.map(serde_json::from_str).transpose().map_err(|error| UsageError::new(WORD, error.to_string()))?;
    let assignment = Assignment::accept(std::io::stdin(), std::io::stdout()).map_err(|error| {
        let hint = "brunt starts this itself, for --processes";
        UsageError::new(WORD, format!("{error} ({hint})"))
    })?;
    share::run_assignment(assignment, protocols, host, terms)?;
    Ok(0)
}

/// Ignores Ctrl-C, which reaches every process of a terminal: the parent process decides when to stop, so that no
/// counts are lost.
fn ignore_interrupts() -> std::io::Result<()> {
    for signal in crate::signals::ending() {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}
