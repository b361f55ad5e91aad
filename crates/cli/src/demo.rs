//! `brunt demo`: the built-in target in a second process, and a trustworthy measurement of it.
//!
//! The target is a separate process, so that its CPU time is counted separately. The load leaves most of any machine
//! idle, and the target takes a tenth of a second for each response: a disturbance on a busy laptop is small in
//! comparison.

use brunt_cause::complaint;
use std::sync::Arc;

use brunt_contract::{Protocol, UsageError};
use brunt_engine::Control;
use brunt_plan::Trial;
use brunt_record::GeneratorHost;
use brunt_report::text::Text;
use brunt_report::{Exit, Lang, Summary, SummaryBuilder};

use crate::run::{self, CommandResult};
use crate::second_process::SecondProcess;
use crate::signals::Interrupts;
use crate::view::View;
use crate::worker::SelfLauncher;
use crate::{messages, preflight};
use brunt_bench::{Bench, WorkerPlaces};
use brunt_config::{self, Defaults, DemoSettings, Intent};

/// The demo's arrival rate, and the response delay of the target.
const RATE: &str = "200/s";
const DELAY: &str = "delay/100ms";
/// The stall of the server that is measured in two ways: after a second, for a second; and the length of these runs.
const STALL: &str = "1s+1s";
const STALLED_RUN: &str = "3s";
const STALLED_DELAY: &str = "delay/10ms";

/// Runs the demo. A result that is not trusted because the machine is busy is not a failure of the demo: brunt is meant
/// to detect that.
///
/// # Errors
/// Returns an error if the second process does not start.
pub fn demo(
    demo: &DemoSettings,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let shown = &demo.presentation;
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    let second = SecondProcess::start("demo")?;
    let mut view = View::new(shown, lang);
    let (pid, url) = (second.id().to_string(), format!("{}/{DELAY}", second.url.trim_end_matches('/')));
    let length = preflight::span(demo.duration);
    let facts = [("pid", &*pid), ("url", &*second.url), ("rate", RATE), ("length", &*length)];
    view.print(&lang.fill(messages::DEMO_BEGIN, &facts));
    let duration = length.replace(' ', "");
    let mut intent = parse_run("demo", &["-r", RATE, "-d", &duration, &url], protocols, defaults)?;
    intent.presentation = shown.clone();
    let protocol = &*protocols[intent.protocol];
    let mut bench = Bench::prepare(&mut intent, protocol, host, WorkerPlaces::here(SelfLauncher))?;
    let code = run::show(&mut bench, &intent, Vec::new(), (interrupts, None))?;
    view.print("");
    drop(second);
    if !interrupts.stop().requested() {
        show_stall(&mut view, lang, &|words, url| measured(words, url, protocols, defaults, host, interrupts))?;
    }
    view.print(lang.of(messages::DEMO_NEXT));
    if code == Exit::NotTrusted.code() {
        view.print(lang.of(messages::DEMO_WORKED));
        return Ok(Exit::Ok.code());
    }
    Ok(code)
}

/// Loads of the same stalling server: users, who wait for it, and a rate, which does not.
const STALLED: [(&[&str], Text); 2] =
    [(&["-c", "10"], messages::DEMO_STALL_USERS), (&["-r", "500/s"], messages::DEMO_STALL_RATE)];

/// A run of a command line with further words against a target, and its summary.
type Measurement<'a> = &'a dyn Fn(&[&str], &str) -> Result<Summary, UsageError>;

/// Shows a stall of one second, measured in both ways.
fn show_stall(view: &mut View, lang: Lang, measure: Measurement<'_>) -> Result<(), UsageError> {
    view.print(lang.of(messages::DEMO_STALL));
    for (words, text) in STALLED {
        let second = SecondProcess::start_with("demo", &["--stall", STALL])?;
        let summary = measure(words, &format!("{}/{STALLED_DELAY}", second.url.trim_end_matches('/')))?;
        let (p99, n) = (summary.headline().quantile(0.99).show(lang), summary.totals.due.to_string());
        view.print(&lang.fill(text, &[("load", &words.join(" ")), ("p99", &p99), ("n", &n)]));
    }
    view.print("");
    Ok(())
}

/// Measures a run without showing it.
fn measured(
    words: &[&str],
    url: &str,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> Result<Summary, UsageError> {
    let words = [words, &["-d", STALLED_RUN, url]].concat();
    let mut intent = parse_run("demo", &words, protocols, defaults)?;
    let protocol = &*protocols[intent.protocol];
    let bench = Bench::prepare(&mut intent, protocol, host, WorkerPlaces::here(SelfLauncher))?;
    let mut summing = SummaryBuilder::default();
    let during = (interrupts.stop(), &Control::default());
    bench.run(&Trial::from_plan(&intent.plan), during, &mut |event| summing.add(&event))?;
    Ok(summing.finish())
}

/// Parses the arguments of a run that a command starts, as if a user had typed them.
pub fn parse_run(
    command: &str,
    words: &[&str],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, UsageError> {
    let line: Vec<String> = words.iter().map(ToString::to_string).collect();
    match brunt_config::read(&line, protocols, defaults)? {
        brunt_config::Command::Run(intent) => Ok(*intent),
        _ => Err(UsageError::new(
            command,
            complaint!("is not a run; this is a bug in brunt", "不是压测；这是 brunt 的缺陷"),
        )),
    }
}
