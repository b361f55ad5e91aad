//! A process that takes a share of a run (`--processes`): started by brunt itself, and told what to do by what it reads.
//!
//! It is told the whole plan, secrets included, and gets the files that the plan names, so that all of it travels on standard input
//! and nowhere else. It reads no file of this machine: another machine has none of them. What was counted goes to standard output as
//! frames; whoever started us merges them.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Assignment, Briefing, Launcher, Link, Task};
use plan::{Bundle, Plan};
use record::Host;
use serde::{Deserialize, Serialize};
use wire::{Complaint, Protocol};

use crate::bench::Bench;
use crate::run::Outcome;

/// The word that makes brunt such a process.
pub const WORD: &str = "take-share";

/// What such a process is told.
#[derive(Serialize, Deserialize)]
struct Words {
    plan: Plan,
    /// The hosts on public addresses that may be loaded; None: all.
    allowed: Option<Vec<String>>,
}

/// What every process of a run is told.
pub fn briefing(plan: Plan, bundle: Bundle, allowed: Option<Vec<String>>) -> Briefing {
    // A plan is text and numbers; one that were not would be refused by whoever reads it.
    let words = serde_json::to_string(&Words { plan, allowed }).unwrap_or_default();
    Briefing { words, bundle }
}

/// Starts this program again for each share.
pub struct Again;

impl Launcher for Again {
    fn launch(&self, _task: &Task) -> std::io::Result<Link> {
        // In no folder of the user's: what it needs comes along.
        engine::child(Command::new(std::env::current_exe()?).arg(WORD).current_dir("/"))
    }
}

/// Takes the share that standard input names; ends when it is done or when standard input ends.
///
/// # Errors
/// Nobody said what to do, or it cannot be done: the process that started us is told, too.
pub fn take(protocols: &[Arc<dyn Protocol>], host: &Host) -> Outcome {
    ignore_interrupts().map_err(|error| Complaint::new("signals", error.to_string()))?;
    let assignment = Assignment::accept(std::io::stdin(), std::io::stdout()).map_err(|error| {
        let hint = "brunt starts this by itself, for --processes";
        Complaint::new(WORD, format!("{error} ({hint})"))
    })?;
    perform(assignment, protocols, host)?;
    Ok(0)
}

/// Prepares what an assignment says and takes its share.
fn perform(mut assignment: Assignment, protocols: &[Arc<dyn Protocol>], host: &Host) -> Result<(), Complaint> {
    let bundle = assignment.take_bundle();
    match protocols::file::from_bundle(bundle, || prepare(assignment.words(), protocols, host)) {
        Ok(bench) => {
            bench.take_share(assignment);
            Ok(())
        }
        Err(complaint) => {
            assignment.refuse(&complaint.to_string());
            Err(complaint)
        }
    }
}

fn prepare(words: &str, protocols: &[Arc<dyn Protocol>], host: &Host) -> Result<Bench, Complaint> {
    let Words { mut plan, allowed } =
        serde_json::from_str(words).map_err(|error| Complaint::new(WORD, format!("got no plan ({error})")))?;
    let protocol = protocols.iter().find(|protocol| protocol.name() == plan.protocol);
    let protocol = protocol.ok_or_else(|| Complaint::new(WORD, format!("there is no protocol {}", plan.protocol)))?;
    let bench = Bench::of_plan(&mut plan, &**protocol, host)?;
    allowed.into_iter().for_each(|hosts| bench.guard().hold_to(hosts));
    Ok(bench)
}

/// Ctrl-C reaches every process of a terminal; the one in front says when to stop, so that nothing counted is lost.
fn ignore_interrupts() -> std::io::Result<()> {
    for signal in crate::signals::ending() {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
