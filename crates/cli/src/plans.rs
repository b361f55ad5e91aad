//! Functions that parse plans for the console, in the same way as the command line.

use std::path::Path;
use std::sync::Arc;

use brunt_bench::checks;
use brunt_config::{Command, Defaults};
use brunt_console::PlanService;
use brunt_contract::{Protocol, UsageError};
use brunt_measure::sanitize;
use serde_json::Value;

use crate::control_pipe;

/// The error message for a file that is not a plan.
const NO_PLAN: &str = "is not a plan";

/// A parser of plans with these protocols.
pub struct PlanParser {
    /// All protocols.
    pub protocols: Vec<Arc<dyn Protocol>>,
    /// Defaults of this machine.
    pub defaults: Defaults,
}

impl PlanParser {
    fn read(&self, words: &[&str]) -> Result<Command, UsageError> {
        let line: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        brunt_config::read(&line, &self.protocols, &self.defaults)
    }

    /// Returns the description of a plan that can be run.
    fn checked(&self, words: &[&str]) -> Result<Value, UsageError> {
        let Command::Plan(mut intent, _) = self.read(words)? else { return Err(UsageError::new("plan", NO_PLAN)) };
        let unused = intent.unused_columns();
        let protocol = Arc::clone(&self.protocols[intent.protocol]);
        let workers = checks::check(&mut intent, &*protocol).map_err(|complaint| intent.locate_error(complaint))?;
        Ok(control_pipe::checked(&intent, workers, &unused))
    }
}

impl PlanService for PlanParser {
    fn check(&self, plan: &Path, lang: &str) -> Value {
        let checked = self.checked(&["plan", "--check", "--lang", lang, &plan.display().to_string()]);
        let lang = lang.parse().unwrap_or_default();
        checked.unwrap_or_else(|complaint| control_pipe::refused(&complaint, lang))
    }

    fn plan_of_curl(&self, commands: &Path, as_flow: bool, lang: &str) -> Result<String, String> {
        let file = commands.display().to_string();
        // The person who typed the commands also reads the plan, so their secrets need no masking.
        let mut words = vec!["plan", "--show", "--keep-secrets", "--lang", lang, "--curl-file", &file];
        words.extend(as_flow.then_some("--as-flow"));
        match self.read(&words) {
            Ok(Command::Plan(intent, _)) => Ok(sanitize::text(&brunt_plan::document::yaml(&intent.shown)).into_owned()),
            Ok(_) => Err(NO_PLAN.into()),
            Err(complaint) => Err(complaint.to_string()),
        }
    }

    fn schema(&self) -> String {
        serde_json::to_string_pretty(&brunt_config::schema(&self.protocols)).expect("a schema is JSON")
    }
}
