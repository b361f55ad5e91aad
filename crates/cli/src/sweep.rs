//! `brunt sweep`, from its settings to an exit code: what it will do, each run as it is done, and the table as text or JSON.

use std::sync::Arc;

use brunt_bench::{Bench, NoLoadReason};
use brunt_config::SweepSettings;
use brunt_contract::Protocol;
use brunt_engine::Stop;
use brunt_experiment::sweep::{SweepPlan, outlook, result_text, run_line, sweep as run_table, write_json};
use brunt_record::GeneratorHost;
use brunt_report::Exit;

use crate::compare_sides::prepare;
use crate::run::{self, CommandResult};
use crate::signals::Interrupts;
use crate::view::View;
use crate::{find, messages, report_output, screen};

/// Runs the table and tells the result.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn sweep(
    settings: &mut SweepSettings,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let plan = plan(settings);
    let first = &settings.cells[0].intent;
    let (lang, shown) = (first.lang(), first.presentation.clone());
    find::check_formats(&shown)?;
    report_output::check_files(&shown.files, None)?;
    let mut view = View::new(&shown, lang);
    run::remark(first, &mut view);
    let mut benches = Vec::new();
    // What is asked about a public target is its highest load; the cells are ascending.
    for cell in settings.cells.iter_mut().rev() {
        let asked = benches.is_empty();
        cell.intent.yes |= !asked;
        let bench = prepare(&mut cell.intent, protocols, host, lang);
        benches.push(bench.map_err(|complaint| cell.intent.locate_error(complaint))?);
    }
    benches.reverse();
    interrupts.enable_graceful_stop();
    let stop = interrupts.stop();
    for (n, (bench, cell)) in benches.iter_mut().zip(&settings.cells).enumerate() {
        if n == 0 {
            if let Err(failed) = run::probe(bench, &cell.intent, stop, &mut view) {
                return Ok(run::unreachable(bench, &cell.intent, *failed, &mut view));
            }
        } else if let Err(why) = begin(bench, stop) {
            return Ok(run::unreachable(bench, &cell.intent, (why.answer, messages::UNREACHABLE), &mut view));
        }
    }
    if stop.requested() {
        screen::print_error(lang.of(messages::STOPPED));
        return Ok(Exit::Interrupted.code());
    }
    view.print(&outlook(&plan, settings.cells.iter().map(|cell| &cell.intent.plan), lang));
    let benches: Vec<_> = benches.into_iter().zip(settings.cells.iter().map(|cell| &cell.intent.plan)).collect();
    let places = settings.cells.iter().map(|cell| cell.at.clone()).collect();
    let found = run_table(&benches, places, &plan, stop, &mut |n, cell, summary| {
        view.print(&run_line(n, (cell, &plan), summary, lang));
    })?;
    for (bench, _) in &benches {
        let left = bench.tear_down(stop, None).into_iter().chain(bench.after(stop, None));
        left.for_each(|said| view.notice(&said));
    }
    let text = result_text(&found, lang);
    Ok(find::conclude(&text, &|out| write_json(&found, out), found.exit().code(), (&shown, &mut view, lang)))
}

/// Prepares a bench after the first one, whose first answer was shown.
fn begin(bench: &mut Bench, stop: &Stop) -> Result<(), Box<NoLoadReason>> {
    bench.before(stop)?;
    bench.set_up(stop)?;
    bench.first_answer(stop).map(drop)
}

fn plan(settings: &SweepSettings) -> SweepPlan {
    let first = &settings.cells[0].intent;
    SweepPlan {
        axes: settings.axes.clone(),
        repeat: settings.repeat,
        shuffle: settings.shuffle,
        seed: first.plan.seed,
        time_limit: first.run_timeout,
    }
}
