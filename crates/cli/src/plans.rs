//! Functions that parse plans and command lines and read experiments for the console, in the same way as the command line.

use std::path::Path;
use std::sync::Arc;

use brunt_bench::checks;
use brunt_cause::complaint;
use brunt_config::{Command, Defaults};
use brunt_console::{CheckedExperiment, PlanService};
use brunt_contract::{Protocol, UsageError};
use brunt_measure::sanitize;
use brunt_report::Lang;
use serde_json::Value;

use crate::{control_pipe, experiments};

/// Returns the error about a file that is not a plan.
fn no_plan() -> UsageError {
    UsageError::new("plan", complaint!("is not a plan", "不是计划"))
}

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
        let Command::Plan(mut intent, _) = self.read(words)? else { return Err(no_plan()) };
        let unused = intent.unused_columns();
        let protocol = Arc::clone(&self.protocols[intent.protocol]);
        let workers = checks::check(&mut intent, &*protocol).map_err(|complaint| intent.locate_error(complaint))?;
        Ok(control_pipe::checked(&intent, workers, &unused))
    }
}

impl PlanService for PlanParser {
    fn check(&self, plan: &Path, agents: Option<&str>, lang: &str) -> Value {
        let (plan, agents) = (plan.display().to_string(), agents.map(|which| format!("--agents={which}")));
        let mut words = vec!["plan", "--check", "--lang", lang, &plan];
        words.extend(agents.as_deref());
        let checked = self.checked(&words);
        let lang = lang.parse().unwrap_or_default();
        checked.unwrap_or_else(|complaint| control_pipe::refused(&complaint, lang))
    }

    fn plan_of_curl(&self, commands: &Path, as_flow: bool, lang: &str) -> Result<String, String> {
        let file = commands.display().to_string();
        // The person who typed the commands also reads the plan, so their secrets need no masking.
        let mut words = vec!["plan", "--show", "--keep-secrets", "--lang", lang, "--curl-file", &file];
        words.extend(as_flow.then_some("--as-flow"));
        let wrong = match self.read(&words) {
            Ok(Command::Plan(intent, _)) => {
                return Ok(sanitize::text(&brunt_plan::document::yaml(&intent.shown)).into_owned());
            }
            Ok(_) => no_plan(),
            Err(wrong) => wrong,
        };
        Err(told(&wrong, lang.parse().unwrap_or_default()))
    }

    fn schema(&self) -> String {
        serde_json::to_string_pretty(&brunt_config::schema(&self.protocols)).expect("a schema is JSON")
    }
    fn check_experiment(&self, command: &str, lang: &str) -> Result<CheckedExperiment, String> {
        let lang = lang.parse().unwrap_or_default();
        let checked = experiments::checked(command, &self.protocols, &self.defaults, lang);
        checked.map_err(|wrong| told(&wrong, lang))
    }

    fn experiment_page(&self, record: &Path, is_live: bool) -> Result<String, String> {
        experiments::page(record, is_live).map_err(|wrong| wrong.to_string())
    }

    fn experiment_document(&self, record: &Path, format: &str, lang: &str) -> Result<Vec<u8>, String> {
        let lang = lang.parse().unwrap_or_default();
        experiments::document(record, format, lang).map_err(|wrong| told(&wrong, lang))
    }
}

/// Returns an error in a language.
fn told(wrong: &UsageError, lang: Lang) -> String {
    if lang == Lang::Zh { wrong.zh() } else { wrong.to_string() }
}
