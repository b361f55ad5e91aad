//! The share of a run that another process executes (`--processes`): its input, and its execution.
//!
//! The process receives the whole plan, secrets included, and the files that the plan names, only
//! on standard input. It reads no local files, because it may run on a machine that does not have
//! them. Results go to standard output as frames; the parent process merges them.

use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::{Protocol, UsageError};
use brunt_engine::{Assignment, Briefing};
use brunt_plan::{Bundle, Plan};
use brunt_record::GeneratorHost;
use serde::{Deserialize, Serialize};

use crate::Bench;

/// Name of the subcommand of such a process.
pub const WORD: &str = "take-share";

/// The plan and settings sent to such a process.
#[derive(Serialize, Deserialize)]
struct ShareInput {
    plan: Plan,
    /// The hosts on public addresses that may be loaded; `None` allows all.
    allowed: Option<Vec<String>>,
}

/// Returns the briefing of every process of a run.
pub fn briefing(plan: Plan, bundle: Bundle, allowed: Option<Vec<String>>) -> Briefing {
    // A plan consists of text and numbers, so this cannot fail; the receiver would reject an empty plan.
    let words = serde_json::to_string(&ShareInput { plan, allowed }).unwrap_or_default();
    Briefing { description: words, bundle }
}

/// Prepares the plan of an assignment and runs its share.
///
/// # Errors
/// Returns an error if the share cannot be run; the parent process receives it, too.
pub fn run_assignment(
    mut assignment: Assignment,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
) -> Result<(), UsageError> {
    let bundle = assignment.take_bundle();
    match brunt_protocols::file::from_bundle(bundle, || prepare(assignment.description(), protocols, host)) {
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

fn prepare(words: &str, protocols: &[Arc<dyn Protocol>], host: &GeneratorHost) -> Result<Bench, UsageError> {
    let ShareInput { mut plan, allowed } = serde_json::from_str(words)
        .map_err(|error| UsageError::new(WORD, complaint!("got no plan ({error})", "没有收到计划（{error}）")))?;
    let protocol = protocols.iter().find(|protocol| protocol.name() == plan.protocol);
    let protocol = protocol
        .ok_or_else(|| UsageError::new(WORD, complaint!("there is no protocol {}", "没有协议 {}", plan.protocol)))?;
    let bench = Bench::from_plan(&mut plan, &**protocol, host)?;
    allowed.into_iter().for_each(|hosts| bench.guard().restrict_to(hosts));
    Ok(bench)
}

#[cfg(test)]
mod tests;
