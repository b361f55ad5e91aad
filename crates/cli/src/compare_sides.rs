//! `brunt compare A B`, from its settings to an exit code: what it will do, each run as it is done, and the result as text
//! or JSON.

use std::process::{Command, Stdio};
use std::sync::Arc;

use brunt_bench::Bench;
use brunt_cause::complaint;
use brunt_config::{CompareSettings, ComparedSide};
use brunt_contract::{Protocol, UsageError};
use brunt_experiment::compare::{ComparePlan, compare as run_sides, outlook, result_text, run_line, write_json};
use brunt_record::GeneratorHost;
use brunt_report::Lang;

use crate::run::{self, CommandResult};
use crate::signals::Interrupts;
use crate::view::View;
use crate::worker::SelfLauncher;
use crate::{checks, find, messages, preflight, report_output, screen};

/// Compares and tells the result.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn compare(
    settings: &mut CompareSettings,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let lang = settings.sides[0].intent.lang();
    let shown = settings.sides[0].intent.presentation.clone();
    find::check_formats(&shown)?;
    report_output::check_files(&shown.files, None)?;
    let mut view = View::new(&shown, lang);
    let mut benches = Vec::new();
    for side in &mut settings.sides {
        let bench = prepare(&mut side.intent, protocols, host, lang);
        benches.push(bench.map_err(|complaint| side.intent.locate_error(complaint))?);
        run::remark(&side.intent, &mut view);
    }
    interrupts.enable_graceful_stop();
    let stop = interrupts.stop();
    for (bench, side) in benches.iter_mut().zip(&settings.sides) {
        // What a shell command starts is not there before it.
        around(side, true)?;
        let first = run::probe(bench, &side.intent, stop, &mut view);
        around(side, false)?;
        if let Err(failed) = first {
            return Ok(run::unreachable(bench, &side.intent, *failed, &mut view));
        }
    }
    if stop.requested() {
        screen::print_error(lang.of(messages::STOPPED));
        return Ok(brunt_report::Exit::Interrupted.code());
    }
    let (sides, plan) = (&settings.sides, plan(settings));
    view.print(&outlook(&plan, [&sides[0].intent.plan, &sides[1].intent.plan], lang));
    let benched = [(&benches[0], &sides[0].intent.plan), (&benches[1], &sides[1].intent.plan)];
    let outcome =
        run_sides(benched, &plan, stop, &mut |side, before| around(&sides[side as usize], before), &mut |n, row| {
            view.print(&run_line(n, row, lang));
        })?;
    for bench in &benches {
        let left = bench.tear_down(stop, None).into_iter().chain(bench.after(stop, None));
        left.for_each(|said| view.notice(&said));
    }
    let text = result_text(&outcome, lang);
    Ok(find::conclude(&text, &|out| write_json(&outcome, out), outcome.exit_code(), (&shown, &mut view, lang)))
}

/// Prepares the bench of a side or a cell, and asks about public targets.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn prepare(
    intent: &mut brunt_config::Intent,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    lang: Lang,
) -> Result<Bench, UsageError> {
    let protocol = Arc::clone(&protocols[intent.protocol]);
    let bench = Bench::prepare(intent, &*protocol, host, Arc::new(SelfLauncher))?;
    if intent.asks_for_workers() {
        checks::workers(&intent.plan, bench.prepared())?;
    }
    if !intent.yes {
        let targets = (bench.prepared().origins(), bench.prepared().follows_links());
        preflight::confirm_targets(&intent.plan, targets, bench.guard(), lang)?;
    }
    Ok(bench)
}

fn plan(settings: &CompareSettings) -> ComparePlan {
    let first = &settings.sides[0].intent;
    ComparePlan {
        names: settings.sides.each_ref().map(|side| side.intent.redaction.sentence(&side.name)),
        runs: settings.runs,
        shuffle: settings.shuffle,
        seed: first.plan.seed,
        margin: settings.margin,
        time_limit: first.run_timeout,
    }
}

/// Runs the shell command of a side before or after one of its runs.
fn around(side: &ComparedSide, before: bool) -> Result<(), UsageError> {
    let Some(command) = (if before { &side.before } else { &side.after }) else { return Ok(()) };
    let place = if before { "before" } else { "after" };
    // The result may go to standard output.
    let ended = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let why = match ended {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(UsageError::new(
        place,
        complaint!(
            "the command `{command}` failed ({why}); the comparison ends",
            "命令 `{command}` 失败（{why}），比较中止"
        ),
    ))
}
