//! `brunt find`, from its settings to an exit code: the search says what it will do, each trial as it is done, and the
//! result as text or JSON.

use std::io;
use std::sync::Arc;

use brunt_bench::Bench;
use brunt_cause::complaint;
use brunt_config::{FindSettings, Presentation};
use brunt_contract::{Protocol, UsageError};
use brunt_experiment::find::{find as search, outlook, result_text, search_plan, trial_line, write_json};
use brunt_plan::{Load, Plan, Stage};
use brunt_record::GeneratorHost;
use brunt_report::{Exit, Lang};

use crate::run::{self, CommandResult};
use crate::signals::Interrupts;
use crate::view::View;
use crate::worker::SelfLauncher;
use crate::{checks, document, messages, preflight, report_output, screen};

/// Formats in which a result can be written.
const FORMATS: [&str; 2] = ["text", "json"];

/// Searches and tells the result.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn find(
    settings: &mut FindSettings,
    protocol: &dyn Protocol,
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let lang = settings.intent.lang();
    check_formats(&settings.intent.presentation)?;
    let intent = &mut settings.intent;
    let mut bench = Bench::prepare(intent, protocol, host, Arc::new(SelfLauncher))?;
    if intent.asks_for_workers() {
        checks::workers(&intent.plan, bench.prepared())?;
    }
    report_output::check_files(&intent.presentation.files, None)?;
    if !intent.yes {
        // What is asked about is the highest load that the search may send.
        let most = at_level(&intent.plan, settings.highest);
        let targets = (bench.prepared().origins(), bench.prepared().follows_links());
        preflight::confirm_targets(&most, targets, bench.guard(), lang)?;
    }
    let mut view = View::new(&intent.presentation, lang);
    run::remark(intent, &mut view);
    interrupts.enable_graceful_stop();
    let stop = interrupts.stop();
    let mut first = run::probe(&mut bench, intent, stop, &mut view);
    while !stop.requested() && preflight::confirm_redirects(&intent.plan, bench.guard(), lang)? {
        first = run::probe(&mut bench, intent, stop, &mut view);
    }
    if let Err(failed) = first {
        return Ok(run::unreachable(&bench, intent, *failed, &mut view));
    }
    if stop.requested() {
        screen::print_error(lang.of(messages::STOPPED));
        return Ok(Exit::Interrupted.code());
    }
    let names: Vec<String> = settings.objectives.iter().map(|(text, _)| text.clone()).collect();
    view.print(&outlook(&search_plan(settings), &names, lang));
    let (mut number, is_rate) = (0, settings.intent.plan.load.is_open());
    let outcome = search(&bench, settings, stop, &mut |row| {
        number += 1;
        view.print(&trial_line(number, row, is_rate, lang));
    })?;
    let left = bench.tear_down(stop, None).into_iter().chain(bench.after(stop, None));
    left.for_each(|said| view.notice(&said));
    let (text, shown) = (result_text(&outcome, lang), &settings.intent.presentation);
    Ok(conclude(&text, &|out| write_json(&outcome, out), outcome.exit().code(), (shown, &mut view, lang)))
}

/// Returns the plan with a constant load of this level.
fn at_level(plan: &Plan, level: f64) -> Plan {
    let mut plan = plan.clone();
    let (Load::Open { stages, .. } | Load::Closed { stages, .. }) = &mut plan.load;
    *stages = stages.iter().take(1).map(|stage| Stage { from: level, to: level, ..*stage }).collect();
    plan
}

/// Rejects formats that only a single run has.
pub fn check_formats(shown: &Presentation) -> Result<(), UsageError> {
    let asked = shown.files.iter().map(|file| ("-o", file.format));
    for (option, format) in asked.chain(shown.files.is_empty().then_some(("--format", shown.format))) {
        if !FORMATS.contains(&format.name()) {
            return Err(UsageError::new(
                option,
                complaint!(
                    "the result of an experiment cannot be written as {}; use text or json, such as -o result.json",
                    "实验结果不能写成 {}；请用 text 或 json，例如 -o result.json",
                    format.name()
                ),
            ));
        }
    }
    Ok(())
}

/// Writes and shows the result of an experiment, as text and by a writer of JSON; returns `code`, unless it could not be
/// written.
pub fn conclude(
    text: &str,
    write_json: &dyn Fn(&mut dyn io::Write) -> io::Result<()>,
    code: u8,
    (shown, view, lang): (&Presentation, &mut View, Lang),
) -> u8 {
    let mut written = true;
    for file in &shown.files {
        let filled = document::replace(&file.path, |out| match file.format.name() {
            "json" => write_json(out),
            _ => writeln!(out, "{text}"),
        });
        written &= filled.map_err(|error| report_output::not_written(&file.path, &error, lang)).is_ok();
    }
    if view.document_on_stdout() {
        let filled = screen::document(write_json);
        written &= filled.map_err(|error| screen::not_written(&error, lang)).is_ok();
    }
    view.print("");
    view.print(text);
    if let Some(error) = view.take_error() {
        screen::not_written(&error, lang);
        written = false;
    }
    if code == 0 && !written { Exit::NotWritten.code() } else { code }
}
