//! Parsing of plans and command lines, and reading of experiments, in this process: with the code of the command line, but
//! without starting it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use crate::problem::Problem;

/// The command line of an experiment, as brunt takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedExperiment {
    /// Its words, without the program.
    pub words: Vec<String>,
    /// What will be done and how long it takes, in a sentence.
    pub outlook: String,
}

/// A parser of plans and of command lines, and a reader of experiments; it sends nothing.
pub trait PlanService: Send + Sync {
    /// Returns the description of a plan, on these agents if any, or its error with the position.
    fn check(&self, plan: &Path, agents: Option<&str>, lang: &str) -> Value;
    /// Creates a plan that sends the same requests as curl commands, optionally as a flow.
    ///
    /// # Errors
    /// Returns a message that says what is wrong with the commands.
    fn plan_of_curl(&self, commands: &Path, as_flow: bool, lang: &str) -> Result<String, String>;
    /// Returns the JSON Schema of plan files.
    fn schema(&self) -> String;
    /// Parses the command line of an experiment as a shell would. One that names a record, writes files or runs shell
    /// commands is refused: the console keeps the record, and does not do more than brunt does.
    ///
    /// # Errors
    /// Returns a message that names the option and says what is wrong.
    fn check_experiment(&self, command: &str, lang: &str) -> Result<CheckedExperiment, String>;
    /// Returns the data of the page of an experiment as a line of JSON, from its record so far.
    ///
    /// # Errors
    /// Returns a message that says what is wrong with the record.
    fn experiment_page(&self, record: &Path, is_live: bool) -> Result<String, String>;
    /// Returns an experiment as a document in the format of this name.
    ///
    /// # Errors
    /// Returns a message that says what is wrong with the record.
    fn experiment_document(&self, record: &Path, format: &str, lang: &str) -> Result<Vec<u8>, String>;
}

/// Timeout for parsing a plan, which may name files that never end.
const LONGEST: Duration = Duration::from_secs(20);
/// Maximum number of plans parsed concurrently.
const AT_ONCE: usize = 16;

/// A bounded executor for parsing: each plan on its own thread, with a timeout.
#[derive(Clone)]
pub struct PlanExecutor {
    plans: Arc<dyn PlanService>,
    places: Arc<Semaphore>,
}

impl PlanExecutor {
    /// Creates an executor that uses this parser.
    pub fn new(plans: Arc<dyn PlanService>) -> PlanExecutor {
        PlanExecutor { plans, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Runs `ask` on a separate thread.
    ///
    /// # Errors
    /// Returns an error if it takes too long or too many others are running.
    pub fn run<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn PlanService) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_within(LONGEST, ask)
    }

    fn run_within<T: Send + 'static>(
        &self,
        longest: Duration,
        ask: impl FnOnce(&dyn PlanService) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let full = |_| Problem::unfit("time", "too many plans are being read; try again in a moment");
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(full)?;
        let (tell, told) = channel();
        let plans = Arc::clone(&self.plans);
        let thread = std::thread::Builder::new().name("plan".into()).spawn(move || {
            // Released however the parsing ends.
            let _place = place;
            // The caller may have timed out.
            let _ = tell.send(ask(&*plans));
        });
        thread.map_err(Problem::machine)?;
        let late = "this took too long; does the plan name a file that never ends?";
        told.recv_timeout(longest).map_err(|_| Problem::unfit("time", late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct EmptyPlanService;

    impl PlanService for EmptyPlanService {
        fn check(&self, _plan: &Path, _agents: Option<&str>, _lang: &str) -> Value {
            Value::Null
        }
        fn plan_of_curl(&self, _commands: &Path, _as_flow: bool, _lang: &str) -> Result<String, String> {
            Err("no".into())
        }
        fn schema(&self) -> String {
            "{}".into()
        }
        fn check_experiment(&self, _command: &str, _lang: &str) -> Result<CheckedExperiment, String> {
            Err("no".into())
        }
        fn experiment_page(&self, _record: &Path, _is_live: bool) -> Result<String, String> {
            Err("no".into())
        }
        fn experiment_document(&self, _record: &Path, _format: &str, _lang: &str) -> Result<Vec<u8>, String> {
            Err("no".into())
        }
    }

    #[test]
    fn nobody_waits_for_a_plan_that_is_never_read_and_not_too_many_are_read_at_once() {
        let reader = PlanExecutor::new(Arc::new(EmptyPlanService));
        assert_eq!(reader.run(|plans| plans.schema()).ok().as_deref(), Some("{}"));
        let (let_go, held) = channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        for _ in 0..AT_ONCE {
            let held = Arc::clone(&held);
            let asked = reader.run_within(Duration::from_millis(1), move |_| drop(held.lock().map(|held| held.recv())));
            assert!(asked.is_err(), "it took too long");
        }
        assert!(reader.run(|plans| plans.schema()).is_err(), "too many are read");
        drop(let_go);
        while reader.places.available_permits() < AT_ONCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(reader.run(|plans| plans.schema()).is_ok());
    }
}
