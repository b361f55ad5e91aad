//! The share of a run that another process executes (`--processes`): its input, and its execution.
//!
//! The process receives the whole plan, secrets included, and the files that the plan names, only
//! on standard input. It reads no local files, because it may run on a machine that does not have
//! them. Results go to standard output as frames; the parent process merges them.

use std::net::SocketAddr;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_config::CounterSources;
use brunt_config::redact::Redaction;
use brunt_contract::{Protocol, UsageError};
use brunt_engine::{Assignment, Briefing, Setup, ShareConnections, ShareOutput, Task};
use brunt_plan::{Bundle, OwnerTerms, Plan};
use brunt_record::{EventEncoder, GeneratorHost, Notice, RunEvent, RunListener};
use serde::{Deserialize, Serialize};

use crate::Bench;
use crate::guard::PublicAddressGuard;
use crate::journal::Journal;
use crate::readings::CounterReadings;

/// Name of the subcommand of such a process.
pub const WORD: &str = "take-share";

/// The plan and settings sent to such a process.
#[derive(Serialize, Deserialize)]
struct ShareInput {
    plan: Plan,
    /// The hosts on public addresses that may be loaded; `None` allows all.
    allowed: Option<Vec<String>>,
    /// What a share needs that makes a record of its own; `None`: its messages are merged elsewhere.
    recorded: Option<RecordedShare>,
}

/// What a share needs that makes a record of its own.
#[derive(Clone, Serialize, Deserialize)]
pub struct RecordedShare {
    /// The plan for display, with secrets masked.
    pub shown: Plan,
    /// The command line for display.
    pub command: Vec<String>,
    /// The masking of what is recorded.
    pub redaction: Redaction,
    /// The address under load; `None` behind a proxy.
    pub address: Option<SocketAddr>,
}

/// Returns the briefing of every process of a run.
pub fn briefing(plan: Plan, bundle: Bundle, allowed: Option<Vec<String>>, recorded: Option<RecordedShare>) -> Briefing {
    // A plan consists of text and numbers, so this cannot fail; the receiver would reject an empty plan.
    let words = serde_json::to_string(&ShareInput { plan, allowed, recorded }).unwrap_or_default();
    Briefing { description: words, bundle }
}

/// Prepares the plan of an assignment and runs its share. `terms` are those of the owner, on a machine that is lent.
///
/// # Errors
/// Returns an error if the share cannot be run; the parent process receives it, too.
pub fn run_assignment(
    mut assignment: Assignment,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    terms: Option<OwnerTerms>,
) -> Result<(), UsageError> {
    let bundle = assignment.take_bundle();
    let task = assignment.task();
    let prepared = brunt_protocols::file::from_bundle(bundle, || {
        let share = terms.map(|terms| LentShare { terms, task });
        let (bench, recorded) = prepare(assignment.description(), protocols, host, share.as_ref())?;
        share.iter().for_each(|share| share.hold_changes(&bench, &mut assignment));
        Ok((bench, recorded))
    });
    match prepared {
        Ok((bench, None)) => bench.take_share(assignment),
        Ok((bench, Some(recorded))) => bench.record_share(assignment, recorded)?,
        Err(complaint) => {
            let complaint: UsageError = complaint;
            assignment.refuse(&complaint.to_string());
            return Err(complaint);
        }
    }
    Ok(())
}

/// A share on a machine that is lent.
struct LentShare {
    terms: OwnerTerms,
    task: Task,
}

impl LentShare {
    /// Checks what the owner allows to be loaded, how often, and over how many connections.
    fn check(&self, bench: &Bench) -> Result<(), UsageError> {
        let connections = self.connections(bench);
        let checked = self.terms.check(&connections.plan_share(bench.prepared(), &bench.shown().plan));
        checked.map_err(UsageError::whole)?;
        for origin in bench.prepared().origins() {
            bench.guard().check_lent(origin).map_err(|why| {
                let zh = why.zh().unwrap_or_else(|| why.en()).into_owned();
                UsageError::whole(Complaint::new(why.to_string(), zh))
            })?;
        }
        Ok(())
    }

    fn connections(&self, bench: &Bench) -> ShareConnections {
        ShareConnections::of(bench.prepared(), &bench.shown().plan, self.task)
    }

    /// Holds changes of the load to the ceilings.
    fn hold_changes(&self, bench: &Bench, assignment: &mut Assignment) {
        let (terms, connections) = (self.terms.clone(), self.connections(bench));
        let users = terms.max_connections.and_then(|most| connections.users_within(most));
        let (prepared, plan) = (Arc::clone(&bench.prepared), Arc::clone(&bench.shown().plan));
        assignment.hold_changes(move |change| terms.hold(change, &connections.plan_share(&prepared, &plan), users));
    }
}

fn prepare(
    words: &str,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    lent: Option<&LentShare>,
) -> Result<(Bench, Option<RecordedShare>), UsageError> {
    let ShareInput { mut plan, allowed, recorded } = serde_json::from_str(words)
        .map_err(|error| UsageError::new(WORD, complaint!("got no plan ({error})", "没有收到计划（{error}）")))?;
    let protocol = protocols.iter().find(|protocol| protocol.name() == plan.protocol);
    let protocol = protocol
        .ok_or_else(|| UsageError::new(WORD, complaint!("there is no protocol {}", "没有协议 {}", plan.protocol)))?;
    if let Some(lent) = lent {
        lent.terms.check_socket(&plan).map_err(UsageError::whole)?;
    }
    let is_mapped = !plan.connect_to.is_empty();
    let restrict =
        |guard: &PublicAddressGuard| lent.iter().for_each(|lent| guard.hold_to(lent.terms.clone(), is_mapped));
    let bench = Bench::from_plan(&mut plan, &**protocol, host, restrict)?;
    lent.iter().try_for_each(|lent| lent.check(&bench))?;
    allowed.into_iter().for_each(|hosts| bench.guard().restrict_to(hosts));
    Ok((bench, recorded))
}

/// Writes the events of a share's own record to the process that started it.
struct ShareRecorder {
    encoder: EventEncoder,
    output: ShareOutput,
}

impl RunListener for ShareRecorder {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        if event.is_recorded() {
            // If nobody reads any more, the end of the orders stops the run.
            let _ = self.encoder.encode(event).and_then(|frame| self.output.write_event(frame));
        }
        Ok(())
    }
}

impl Bench {
    /// Runs a share of the run, and writes a record of it to the process that started this one.
    fn record_share(&self, assignment: Assignment, recorded: RecordedShare) -> Result<(), UsageError> {
        let RecordedShare { shown, command, redaction, address } = recorded;
        let setup = Setup { shown, command, ..self.setup.clone() };
        let encoder = EventEncoder::new().map_err(|why| UsageError::new(WORD, why.to_string()))?;
        let mut recorder = ShareRecorder { encoder, output: assignment.output() };
        let mut journal = Journal::new(redaction);
        journal.add_listener(&mut recorder);
        let mut observed = CounterReadings::begin(&setup.host.name, &CounterSources::default(), &setup.plan, address)?;
        self.prepared.record_share(&setup, assignment, &mut |event| {
            observed.pass(event, &mut |event| journal.process(event));
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
