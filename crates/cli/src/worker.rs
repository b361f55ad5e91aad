//! A process that takes a share of a run (`--processes`): started by brunt itself, with one line that says what to do.
//!
//! The line is JSON: the task and the whole plan, secrets included, so it travels on standard input and nowhere else. What
//! was counted goes to standard output as frames; whoever started us merges them.

use std::io::BufRead;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Launcher, Runner, Task};
use plan::Plan;
use record::Host;
use serde::{Deserialize, Serialize};
use wire::Complaint;

use crate::bench::Bench;
use crate::guard::Guard;
use crate::run::Outcome;

/// The word that makes brunt such a process.
pub const WORD: &str = "take-share";

#[derive(Serialize, Deserialize)]
struct Line {
    task: Task,
    plan: Plan,
    /// The hosts on public addresses that may be loaded; None: all.
    allowed: Option<Vec<String>>,
}

/// Starts this program again for each share.
pub struct Again {
    /// What is run.
    pub plan: Plan,
    /// What may be loaded.
    pub guard: Arc<Guard>,
}

impl Launcher for Again {
    fn launch(&self, task: &Task) -> std::io::Result<std::process::Child> {
        use std::io::Write;
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = engine::piped(command.arg(WORD))?;
        let allowed = self.guard.allowed();
        let line = serde_json::to_string(&Line { task: *task, plan: self.plan.clone(), allowed })?;
        if let Some(input) = &mut child.stdin {
            writeln!(input, "{line}")?;
            input.flush()?;
        }
        Ok(child)
    }
}

/// Takes the share that standard input names; ends when it is done or when standard input ends.
///
/// # Errors
/// The user's mistake, which the process that started us has complained about before.
pub fn take(protocols: &[Box<dyn Runner>], host: &Host) -> Outcome {
    ignore_interrupts().map_err(|error| Complaint::new("signals", error.to_string()))?;
    let mut lines = std::io::BufReader::new(std::io::stdin());
    let mut line = String::new();
    let broken =
        |trouble: String| Complaint::new(WORD, format!("{trouble}; brunt starts this by itself, for --processes"));
    lines.read_line(&mut line).map_err(|error| broken(error.to_string()))?;
    let Line { task, mut plan, allowed } = serde_json::from_str(&line).map_err(|error| broken(error.to_string()))?;
    let protocol = protocols.iter().find(|protocol| protocol.name() == plan.protocol);
    let protocol = protocol.ok_or_else(|| broken(format!("no protocol is called {}", plan.protocol)))?;
    let bench = Bench::of_plan(&mut plan, &**protocol, host)?;
    allowed.into_iter().for_each(|hosts| bench.guard().hold_to(hosts));
    bench.take_share(&task, Box::new(lines), Box::new(std::io::stdout()));
    Ok(0)
}

/// Ctrl-C reaches every process of a terminal; the one in front says when to stop, so that nothing counted is lost.
fn ignore_interrupts() -> std::io::Result<()> {
    for signal in crate::signals::ending() {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}
