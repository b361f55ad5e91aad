//! `brunt ladder`, from its settings to an exit code: what it will do, each run as it is done, and the rungs as text or JSON.

use std::sync::Arc;

use brunt_config::LadderSettings;
use brunt_contract::Protocol;
use brunt_experiment::ladder::{LadderPlan, climb, outlook, result_text, run_line, write_json};
use brunt_record::GeneratorHost;
use brunt_report::Exit;

use crate::compare_sides::prepare;
use crate::run::{self, CommandResult};
use crate::signals::Interrupts;
use crate::view::View;
use crate::{find, messages, report_output, screen};

/// Climbs the ladder and tells the result.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn ladder(
    settings: &mut LadderSettings,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let plan = plan(settings);
    let first = &settings.rungs[0].intent;
    let (lang, shown) = (first.lang(), first.presentation.clone());
    find::check_formats(&shown)?;
    report_output::check_files(&shown.files, None)?;
    let mut view = View::new(&shown, lang);
    let mut benches = Vec::new();
    for rung in &mut settings.rungs {
        let bench = prepare(&mut rung.intent, protocols, host, lang);
        benches.push(bench.map_err(|complaint| rung.intent.locate_error(complaint))?);
        run::remark(&rung.intent, &mut view);
    }
    interrupts.enable_graceful_stop();
    let stop = interrupts.stop();
    for (bench, rung) in benches.iter_mut().zip(&settings.rungs) {
        if let Err(failed) = run::probe(bench, &rung.intent, stop, &mut view) {
            return Ok(run::unreachable(bench, &rung.intent, *failed, &mut view));
        }
    }
    if stop.requested() {
        screen::print_error(lang.of(messages::STOPPED));
        return Ok(Exit::Interrupted.code());
    }
    view.print(&outlook(&plan, lang));
    let benches: Vec<_> = benches.into_iter().zip(settings.rungs.iter().map(|rung| &rung.intent.plan)).collect();
    let found = climb(&benches, &plan, stop, &mut |rung, run| view.print(&run_line(rung, run, lang)))?;
    for (bench, _) in &benches {
        let left = bench.tear_down(stop, None).into_iter().chain(bench.after(stop, None));
        left.for_each(|said| view.notice(&said));
    }
    let text = result_text(&found, lang);
    Ok(find::conclude(&text, &|out| write_json(&found, out), found.exit().code(), (&shown, &mut view, lang)))
}

fn plan(settings: &LadderSettings) -> LadderPlan {
    let first = &settings.rungs[0].intent;
    LadderPlan {
        names: settings.rungs.iter().map(|rung| rung.intent.redaction.sentence(&rung.name)).collect(),
        up_to: settings.up_to,
        pools: settings.pools.clone(),
        seed: first.plan.seed,
        time_limit: first.run_timeout,
    }
}
