//! Runs whose workers are not threads of this process: other processes, or other machines.

use std::sync::Arc;

use brunt_config::redact::Redaction;
use brunt_contract::UsageError;
use brunt_engine::{Briefing, Control, Launcher, PreparedRun, Setup, Stop};
use brunt_plan::{Bundle, Plan};
use brunt_record::{FirstResponse, RunEvent};

/// Where the workers of runs can be.
#[derive(Clone)]
pub struct WorkerPlaces {
    /// The launcher of other processes, if a plan asks for them.
    pub launcher: Arc<dyn Launcher>,
    /// The machines that make all runs; `None`: this one.
    pub fleet: Option<Arc<dyn FleetRunner>>,
}

impl WorkerPlaces {
    /// This machine, with this launcher of processes.
    pub fn here(launcher: impl Launcher + 'static) -> WorkerPlaces {
        WorkerPlaces { launcher: Arc::new(launcher), fleet: None }
    }
}

/// Machines that make a run together.
pub trait FleetRunner: Send + Sync {
    /// Returns the number of workers of a run for which none is asked.
    fn workers(&self) -> u32;

    /// Checks that every machine's owner allows its share of a run of this plan.
    ///
    /// # Errors
    /// One does not: which, and the ceiling that the share exceeds.
    fn check(&self, prepared: &PreparedRun, plan: &Plan) -> Result<(), UsageError>;

    /// Makes a run, and passes its events on as [`PreparedRun::run`] does.
    ///
    /// # Errors
    /// The machines cannot begin it: the option, and which of them refused and why. Nothing was sent then.
    fn run(&self, run: &FleetRun<'_>, sink: &mut dyn FnMut(RunEvent)) -> Result<(), UsageError>;

    /// Returns `true` if the last run could not begin because a machine was not there, or made another run.
    fn lacks_agents(&self) -> bool;
}

/// A run to be made by other machines.
pub struct FleetRun<'a> {
    /// The prepared requests.
    pub prepared: &'a PreparedRun,
    /// The setup, with the plan for display.
    pub setup: &'a Setup,
    /// The response to the pre-flight request, which stands after the head of the record.
    pub first: Option<&'a FirstResponse>,
    /// What every machine is told.
    pub briefing: Briefing,
    /// The stop of the run.
    pub stop: &'a Stop,
    /// The changes of its load.
    pub control: &'a Control,
    /// The masking of what is recorded.
    pub redaction: &'a Redaction,
}

/// The inputs of workers elsewhere.
pub(crate) struct Elsewhere {
    pub place: ElsewherePlace,
    /// The plan with all its URLs, and the contents that it refers to.
    pub plan: Plan,
    pub bundle: Bundle,
}

/// The place of workers elsewhere.
#[derive(Clone)]
pub(crate) enum ElsewherePlace {
    Processes(u32, Arc<dyn Launcher>),
    Fleet(Arc<dyn FleetRunner>),
}
