//! `brunt demo`: the built-in target in a second process, and a figure of it that can be trusted.
//!
//! The target is a process of its own so that its CPU is its own. The load leaves most of any machine idle, and the target
//! takes ten milliseconds for each response: what a busy laptop takes from brunt is small beside them.

use std::sync::Arc;

use record::Host;
use report::{Exit, Lang};
use wire::{Complaint, Protocol};

use crate::run::{self, Outcome};
use crate::second_process::SecondProcess;
use crate::signals::Interrupts;
use crate::view::View;
use crate::worker::Again;
use crate::{before, messages};
use bench::Bench;
use intent::{self, Defaults, Demo, Intent};

/// Arrivals of the demo, and how long the target takes for each.
const RATE: &str = "1000/s";
const DELAY: &str = "delay/10ms";

/// Runs the demo. That a busy machine made a figure untrusted is no fault of it, and saying so is what brunt is for: it worked.
///
/// # Errors
/// Where the second process does not come up.
pub fn demo(
    demo: &Demo,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
    host: &Host,
    interrupts: &Interrupts,
) -> Outcome {
    let shown = &demo.presentation;
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    let second = SecondProcess::start("demo")?;
    let mut view = View::new(shown, lang);
    let (pid, url) = (second.id().to_string(), format!("{}/{DELAY}", second.url.trim_end_matches('/')));
    let length = before::span(demo.duration);
    let facts = [("pid", &*pid), ("url", &*second.url), ("rate", RATE), ("length", &*length)];
    view.say(&lang.fill(messages::DEMO_BEGIN, &facts));
    let duration = length.replace(' ', "");
    let mut intent = run_of("demo", &["-r", RATE, "-d", &duration, &url], protocols, defaults)?;
    intent.presentation = shown.clone();
    let protocol = &*protocols[intent.protocol];
    let mut bench = Bench::prepare(&mut intent, protocol, host, Arc::new(Again))?;
    let code = run::show(&mut bench, &intent, (interrupts, None))?;
    view.say("");
    view.say(lang.of(messages::DEMO_NEXT));
    if code == Exit::NotTrusted.code() {
        view.say(lang.of(messages::DEMO_WORKED));
        return Ok(Exit::Ok.code());
    }
    Ok(code)
}

/// A run of a command, asked for in the words a user would write.
pub fn run_of(
    command: &str,
    words: &[&str],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, Complaint> {
    let line: Vec<String> = words.iter().map(ToString::to_string).collect();
    match intent::read(&line, protocols, defaults)? {
        intent::Command::Run(intent) => Ok(*intent),
        _ => Err(Complaint::new(command, "is not a run; this is a bug in brunt")),
    }
}
