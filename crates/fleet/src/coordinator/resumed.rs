//! A run that goes on after its coordinator was gone.

use std::sync::Arc;

use brunt_cause::Complaint;
use brunt_contract::UsageError;
use brunt_engine::{Control, Stop};
use brunt_plan::LossPolicy;
use brunt_record::{Notice, RunEvent, RunStarted, Subject};

use super::conduct::Conductor;
use super::directory::{RunDirectory, RunHead, RunOutput};
use super::group::level;
use super::wires::Wires;
use super::{Fleet, at_once, clock};

/// A run that goes on after its coordinator was gone.
pub struct ResumedRun {
    fleet: Arc<Fleet>,
    head: RunHead,
    directory: RunDirectory,
}

impl ResumedRun {
    /// Opens the run of a directory.
    ///
    /// # Errors
    /// There is none that could go on.
    pub fn open(fleet: Arc<Fleet>, directory: RunDirectory) -> Result<ResumedRun, Complaint> {
        let head = directory.read_head()?;
        Ok(ResumedRun { fleet, head, directory })
    }

    /// Returns the head of the record.
    pub fn started(&self) -> &RunStarted {
        &self.head.started
    }

    /// Returns the names of the agents that may still hand in figures.
    pub fn awaited(&self) -> Vec<String> {
        let losses = self.directory.losses();
        let agents = self.head.started.agents.iter().enumerate();
        let awaited = agents.filter(|(at, _)| losses.iter().all(|loss| loss.agent != *at));
        awaited.map(|(_, agent)| agent.name.clone()).collect()
    }

    /// Returns the report files that were asked for when the run began.
    pub fn outputs(&self) -> &[RunOutput] {
        &self.head.outputs
    }

    /// Reads what the agents have handed in, takes the rest from them, and passes on all events from the first.
    ///
    /// # Errors
    /// The files cannot be read, or the fleet is out of reach.
    pub fn run(self, stop: &Stop, sink: &mut dyn FnMut(RunEvent)) -> Result<(), UsageError> {
        self.conduct((stop, &Control::default()), sink)
    }

    /// Does what [`ResumedRun::run`] does, with changes of the load.
    pub(super) fn conduct(
        self,
        (stop, control): (&Stop, &Control),
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<(), UsageError> {
        let ResumedRun { fleet, mut head, directory } = self;
        let clocks = at_once(&head.started.agents, |agent| clock::compare(&*fleet.messenger, &agent.name).ok());
        for (agent, clock) in head.started.agents.iter_mut().zip(clocks) {
            // An agent that is not there keeps the offset of the beginning.
            if let Some(clock) = clock {
                (agent.clock_ahead_ns, agent.clock_within_ns) = (clock.ahead.0, clock.within.0);
            }
        }
        sink(RunEvent::Started(Box::new(head.started.clone())));
        head.opening.iter().cloned().for_each(&mut *sink);
        if head.has_teardown() {
            sink(RunEvent::Notice(Notice::new(Subject::TeardownLeftOut, [])));
        }
        let wires = Wires::connect(&fleet, &directory, &head.started.agents)?;
        let level = level(&head.started.plan).filter(|_| head.terms.on_lost == LossPolicy::Redistribute);
        let conductor = Conductor::new(Arc::clone(&fleet), (head, directory.clone()), level, wires);
        match conductor.conduct((stop, control), None, sink) {
            Ok(false) => {}
            // A run that had begun is refused by nobody.
            Ok(true) | Err(_) => directory.remove(),
        }
        Ok(())
    }
}
