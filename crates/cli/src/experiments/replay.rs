//! `brunt report` of the record of an experiment: the result again, in any format, or one of its runs.

use std::path::Path;

use brunt_cause::complaint;
use brunt_config::Presentation;
use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_experiment::runner::{RecordedRunner, TrialRunner, nth_run};
use brunt_report::{Lang, Summary};

use super::output::{self, ExperimentOutput};
use super::page_head;
use crate::report_output;
use crate::run::CommandResult;
use crate::view::View;

/// Shows the experiment in a record, or its run of this number; returns the exit code.
///
/// # Errors
/// Returns an error if the record cannot be read, or has no such run.
pub fn show(path: &Path, run: Option<usize>, shown: &Presentation) -> CommandResult {
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    let mut view = View::new(shown, lang);
    if view.document_on_stdout() {
        view.silence();
    }
    if let Some(number) = run {
        report_output::check_files(&shown.files, None)?;
        let past = nth_run(path, number)?.ok_or_else(|| no_run(path, number))?;
        let summary = Summary::from_past(&past).map_err(|fault| UsageError::new("FILE", fault.to_string()))?;
        return Ok(report_output::conclude(&summary, Some(&past), shown, lang, &mut view));
    }
    output::check(shown, None)?;
    let (head, mut runner) = RecordedRunner::read(path)?;
    let found = head.experiment.conduct(&mut runner, &Stop::default(), (&mut |line| view.print(line), lang))?;
    let output =
        ExperimentOutput { head: page_head(&head), took: runner.elapsed(), found: found.reported(), shown, lang };
    Ok(output.conclude(&mut view))
}

fn no_run(path: &Path, number: usize) -> UsageError {
    UsageError::new(
        "--run",
        complaint!(
            "{} has no run {number}; without --run it is shown whole",
            "{} 中没有第 {number} 次运行；不带 --run 可显示整个实验",
            path.display()
        ),
    )
}
