//! `brunt run --resume`: goes on with a run on agents whose coordinator was gone.

use std::sync::Arc;
use std::time::Duration;

use brunt_bench::journal::Journal;
use brunt_cause::complaint;
use brunt_config::redact::Redaction;
use brunt_config::{Presentation, ReportFile, ResumeCommand};
use brunt_contract::UsageError;
use brunt_fleet::{ResumedRun, RunDirectory, RunOutput};
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Lang, SummaryBuilder, formats};

use super::{runs, watch};
use crate::document;
use crate::event_files::EventFiles;
use crate::report_output::{self, conclude};
use crate::run::CommandResult;
use crate::signals::Interrupts;
use crate::view::View;

const NOT_YET: Text = text(
    "brunt: interrupted before anything was taken from the agents of run {run}; they keep it, and the same command goes on.",
    "brunt: 在从压测 {run} 的施压机取得数据之前被中断；它们仍保留数据，用相同的命令可以继续。",
);
/// Time for which agents are waited for that may not have found this coordinator yet.
const COME: Duration = Duration::from_secs(5);

/// Goes on with a run.
///
/// # Errors
/// There is no such run, or the fleet is out of reach.
pub fn resume(asked: &ResumeCommand, interrupts: &Interrupts) -> CommandResult {
    let lang = asked.presentation.language.unwrap_or_else(Lang::from_env);
    interrupts.set_last_word(lang.fill(NOT_YET, &[("run", &asked.run)]));
    asked.record.iter().try_for_each(|path| document::check_writable("--record", path))?;
    let directory = RunDirectory::open(&runs()?, &asked.run).map_err(|why| UsageError::new("--resume", why))?;
    let own = directory.fleet().map_err(|why| UsageError::new("--resume", why))?;
    if let (Some(asked), Some(own)) = (&asked.fleet, &own)
        && !super::is_same(Some(asked), Some(own))
    {
        let trouble = complaint!("is another fleet: the run is one of {own}", "是另一个机群：该压测属于 {own}");
        return Err(UsageError::new("--fleet", trouble));
    }
    let fleet = Arc::new(watch(asked.fleet.as_deref().or(own.as_deref()))?);
    let resumed = ResumedRun::open(fleet, directory).map_err(|why| UsageError::new("--resume", why))?;
    let presentation = presentation(asked, resumed.outputs());
    report_output::check_files(&presentation.files, asked.record.as_deref())?;
    // Nobody waits for one that was given up: the others stop their load if their coordinator stays away.
    resumed.find_agents(COME)?;
    interrupts.enable_graceful_stop();
    let plan = resumed.started().plan.clone();
    let mut view = View::new(&presentation, lang);
    view.begin_table(&plan);
    let mut logs = EventFiles::begin(asked.record.as_deref());
    let mut summing = SummaryBuilder::default();
    // The agents masked what they recorded.
    let mut journal = Journal::new(Redaction::default());
    logs.take_notices().into_iter().for_each(|trouble| journal.add_final_notice(trouble));
    journal.add_listener(&mut view);
    logs.listeners().for_each(|log| journal.add_listener(log));
    journal.add_listener(&mut summing);
    resumed.run(interrupts.stop(), &mut |event| journal.process(event))?;
    let (whole, mut summary) = (logs.is_recorded(lang), summing.finish());
    if !whole && summary.exit == Exit::Ok {
        summary.exit = Exit::NotWritten;
    }
    Ok(conclude(&summary, logs.past().as_deref(), &presentation, lang, &mut view))
}

/// Returns how to present the run: with the report files asked for when it began, unless others are asked for now.
fn presentation(asked: &ResumeCommand, outputs: &[RunOutput]) -> Presentation {
    let mut presentation = asked.presentation.clone();
    if presentation.files.is_empty() {
        let file = |output: &RunOutput| {
            Some(ReportFile { path: output.path.clone(), format: formats::format(&output.format)? })
        };
        presentation.files = outputs.iter().filter_map(file).collect();
    }
    presentation
}
