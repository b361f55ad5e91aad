//! What is asked for: command lines, plan files and curl commands, read into a plan, or into one sentence that says what is wrong with it and
//! where it stands.

mod bare;
mod curl;
mod examples;
mod explain;
mod exporting;
mod feeds;
mod file;
mod flags;
mod flow_beside;
mod flow_called;
mod flow_file;
mod flow_places;
mod flow_values;
mod flow_walked;
mod foreign;
mod given;
mod habits;
mod help;
mod intent;
mod keys;
mod load;
mod matched;
mod otlp;
mod pages;
mod probing;
mod proxies;
pub mod redact;
mod scenario_file;
mod scenario_run;
mod sealed;
mod serving;
mod shorthand;
mod showing;
mod spoken;
mod topics;
mod turns;
mod ui;
mod urls;
mod usage;
mod watching;
mod ways;

use std::sync::Arc;

use clap::error::ErrorKind;
use wire::{Complaint, Protocol};

pub use exporting::Exporting;
pub use given::{Given, Said};
pub use intent::{Defaults, Intent, Presentation};
pub use keys::nearest;
pub use probing::Probing;
pub use serving::Serving;
pub use ui::Ui;
pub use watching::{Local, Probes, Watching};

/// The commands there are.
pub const COMMANDS: [&str; 9] = ["run", "demo", "doctor", "calibrate", "report", "target", "plan", "probe", "ui"];

/// What a command line asks for.
#[derive(Debug)]
pub enum Command {
    /// `brunt [run] URL`.
    Run(Box<Intent>),
    /// `brunt demo`: how long to load, and how to show it.
    Demo(Demo),
    /// `brunt calibrate`.
    Calibrate(Calibrate),
    /// `brunt report [FILE…]`.
    Report(Vec<String>, Presentation),
    /// `brunt doctor`: the run that is planned, if any.
    Doctor(Option<Box<Intent>>),
    /// `brunt target`.
    Target(Box<Serving>),
    /// `brunt probe`.
    Probe(Box<Probing>),
    /// `brunt ui`.
    Ui(Box<Ui>),
    /// `brunt plan`: whether to check it only.
    Plan(Box<Intent>, bool),
    /// A text asked for: help or version.
    Text(String),
}

/// What `brunt demo` was asked.
#[derive(Debug)]
pub struct Demo {
    /// How long to load.
    pub duration: measure::Nanos,
    /// How to show it.
    pub presentation: Presentation,
}

/// What `brunt calibrate` was asked.
#[derive(Debug)]
pub struct Calibrate {
    /// How long each of its measurements takes.
    pub duration: measure::Nanos,
    /// Users that send back to back, for what a core sends at most.
    pub users: u32,
    /// Their worker threads; `None`: as a run has them.
    pub workers: Option<u32>,
    /// The language; `None`: the locale's.
    pub language: Option<report::Lang>,
}

/// Reads a command line (without the program's name).
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(line: &[String], protocols: &[Arc<dyn Protocol>], defaults: &Defaults) -> Result<Command, Complaint> {
    if let Some((first, rest)) = line.split_first() {
        let spoken = spoken::of(protocols);
        let text = match first.as_str() {
            "explain" => Some(explain::explain(rest)?),
            "help" => Some(topics::help(rest, &spoken)?),
            "completions" => Some(topics::completions(rest, &spoken)?),
            "man" => Some(topics::manual(rest, &spoken)?),
            _ => None,
        };
        if let Some(text) = text {
            return Ok(Command::Text(format!("{}\n", text.trim_end())));
        }
    }
    let (command, rest) = match line.split_first() {
        Some((first, rest)) if COMMANDS.contains(&first.as_str()) => (first.as_str(), rest),
        _ => ("run", line),
    };
    if command == "run" {
        bare::curl(rest).map_or(Ok(()), Err)?;
        match foreign::pasted(rest) {
            Some(found) => return Err(Complaint::new(found.tool, "with brunt this is").with_lines(found.answer())),
            None => usage::one_dash(rest).map_or(Ok(()), Err)?,
        }
    }
    negative_rate(rest)?;
    let mut described = match command {
        "demo" => showing::demo_command(),
        "calibrate" => showing::calibrate_command(),
        "report" => showing::report_command(),
        "target" => serving::command(),
        "probe" => probing::command(),
        "ui" => ui::command(),
        "plan" => flags::plan_command(&spoken::of(protocols)),
        "doctor" => flags::doctor_command(&spoken::of(protocols)),
        _ => flags::run_command(&spoken::of(protocols)),
    };
    described.build();
    let matches = match described.clone().try_get_matches_from(std::iter::once(&String::new()).chain(rest)) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let short = command == "run" && !rest.iter().any(|word| word == "--help");
            return Ok(Command::Text(if short { format!("{}\n", topics::short()) } else { full(described) }));
        }
        Err(error) if !error.use_stderr() => return Ok(Command::Text(error.render().to_string())),
        Err(error) => return Err(usage::complaint(&error, &described, rest)),
    };
    match command {
        "demo" => showing::demo(&matches).map(Command::Demo),
        "calibrate" => showing::calibrate(&matches).map(Command::Calibrate),
        "report" => showing::report(&matches).map(|(files, shown)| Command::Report(files, shown)),
        "plan" => planned(&matches, line, protocols, defaults),
        "doctor" if rest.is_empty() => Ok(Command::Doctor(None)),
        "doctor" => {
            intent::read(&matches, line, protocols, defaults).map(|intent| Command::Doctor(Some(Box::new(intent))))
        }
        "target" => serving::read(&matches).map(|serving| Command::Target(Box::new(serving))),
        "probe" => probing::read(&matches).map(|probing| Command::Probe(Box::new(probing))),
        "ui" => ui::read(&matches).map(|asked| Command::Ui(Box::new(asked))),
        _ => match intent::read(&matches, line, protocols, defaults) {
            Ok(intent) => Ok(Command::Run(Box::new(intent))),
            Err(complaint) => Err(usage::of_another_tool(complaint, rest)),
        },
    }
}

/// The JSON Schema of plan files.
pub fn schema(protocols: &[Arc<dyn Protocol>]) -> serde_json::Value {
    keys::Keys::new(protocols).schema()
}

/// Reads `brunt plan`.
fn planned(
    matches: &clap::ArgMatches,
    line: &[String],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Command, Complaint> {
    let flags = matched::Matched::line(matches);
    if let Some(name) = flags.text("example") {
        let mut ids = matches.ids().map(clap::Id::as_str);
        if let Some(other) = ids.find(|id| flags.on_line(id) && !["example", "target"].contains(id)) {
            let trouble = "does not go with --example, which only prints a plan; leave it out";
            return Err(Complaint::new(given::called(other), trouble));
        }
        return examples::find(name, &flags.texts("target")).map(Command::Text);
    }
    let asked = ["check", "show", "schema"].map(|name| flags.switch(name));
    match asked {
        [_, _, true] => {
            Ok(Command::Text(format!("{}\n", serde_json::to_string_pretty(&schema(protocols)).unwrap_or_default())))
        }
        [true, true, _] => Err(Complaint::new("--show", "does not go with --check; leave one of them out")),
        [check, ..] => {
            intent::read(matches, line, protocols, defaults).map(|intent| Command::Plan(Box::new(intent), check))
        }
    }
}

/// clap takes `-5/s` for an option, and would complain about that instead of the rate.
fn negative_rate(line: &[String]) -> Result<(), Complaint> {
    let is_negative = |word: &str| word.strip_prefix('-').is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
    let wrong = line.windows(2).find(|pair| matches!(pair[0].as_str(), "-r" | "--rate") && is_negative(&pair[1]));
    wrong.map_or(Ok(()), |pair| {
        Err(Complaint::new("-r", format!("`{}` must be above zero; write a rate such as 100/s", pair[1])))
    })
}

/// The whole help, one line for each flag. clap's own long form spreads every flag over three lines, and nobody finds anything
/// in it.
fn full(command: clap::Command) -> String {
    let examples = command.get_after_long_help().cloned();
    let mut command = match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    };
    command.render_help().to_string()
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod tests;
