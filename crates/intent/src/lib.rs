//! The user's input: command lines, plan files and curl commands, parsed into a plan, or into one error message with
//! its position.

mod bare;
mod curl;
mod draft;
mod examples;
mod explain;
mod exporting;
mod feeds;
mod file;
mod flows;
mod foreign;
mod habits;
mod help;
mod intent;
mod line;
mod load;
mod nearest;
mod origin;
mod otlp;
mod pages;
mod probing;
mod proxies;
mod reading;
pub mod redact;
mod scenarios;
mod sealed;
mod serving;
mod setting;
mod settings;
mod shorthand;
mod showing;
mod spoken;
mod topics;
mod turns;
mod ui;
mod urls;
mod usage;
mod values;
mod watching;
mod ways;

use std::sync::Arc;

use clap::error::ErrorKind;
use wire::{Complaint, Protocol};

use setting::Spec;
use values::Values;

pub use exporting::Exporting;
pub use intent::{Defaults, Intent, Presentation};
pub use line::COMMANDS;
pub use nearest::nearest;
pub use probing::Probing;
pub use serving::Serving;
pub use showing::{Calibrate, Demo};
pub use ui::Ui;
pub use watching::{Local, Probes, Watching};

/// A parsed command line.
#[derive(Debug)]
pub enum Command {
    /// `brunt [run] URL`.
    Run(Box<Intent>),
    /// `brunt demo`: duration and presentation.
    Demo(Demo),
    /// `brunt calibrate`.
    Calibrate(Calibrate),
    /// `brunt report [FILE…]`.
    Report(Vec<String>, Presentation),
    /// `brunt doctor`: the planned run, if any.
    Doctor(Option<Box<Intent>>),
    /// `brunt target`.
    Target(Box<Serving>),
    /// `brunt probe`.
    Probe(Box<Probing>),
    /// `brunt ui`.
    Ui(Box<Ui>),
    /// `brunt plan`: the flag is set if it is only checked.
    Plan(Box<Intent>, bool),
    /// A requested text: help or version.
    Text(String),
}

/// Parses a command line (without the name of the program).
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(words: &[String], protocols: &[Arc<dyn Protocol>], defaults: &Defaults) -> Result<Command, Complaint> {
    if let Some((first, rest)) = words.split_first() {
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
    let (command, rest) = match words.split_first() {
        Some((first, rest)) if COMMANDS.contains(&first.as_str()) => (first.as_str(), rest),
        _ => ("run", words),
    };
    if command == "run" {
        bare::curl(rest).map_or(Ok(()), Err)?;
        match foreign::pasted(rest) {
            Some(found) => return Err(Complaint::new(found.tool, "with brunt this is").with_lines(found.answer())),
            None => usage::one_dash(rest).map_or(Ok(()), Err)?,
        }
    }
    negative_rate(rest)?;
    let spoken = spoken::of(protocols);
    let mut described = topics::described(command, &spoken);
    described.build();
    let matches = match described.clone().try_get_matches_from(std::iter::once(&String::new()).chain(rest)) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let short = command == "run" && !rest.iter().any(|word| word == "--help");
            return Ok(Command::Text(if short { format!("{}\n", topics::short()) } else { topics::full(described) }));
        }
        Err(error) if !error.use_stderr() => return Ok(Command::Text(error.render().to_string())),
        Err(error) => return Err(usage::complaint(&error, &described, rest)),
    };
    let of = |specs: &[Spec]| line::values(&matches, specs.iter().map(|spec| spec.name));
    let run = || intent::read(line::values(&matches, line::names(&spoken)), words, protocols, defaults).map(Box::new);
    match command {
        "demo" => showing::demo(&of(&showing::DEMO)).map(Command::Demo),
        "calibrate" => showing::calibrate(&of(&showing::CALIBRATE)).map(Command::Calibrate),
        "report" => showing::report(&of(&showing::REPORT)).map(|(files, shown)| Command::Report(files, shown)),
        "target" => serving::read(&of(serving::SETTINGS)).map(|serving| Command::Target(Box::new(serving))),
        "probe" => probing::read(&of(probing::SETTINGS)).map(|probing| Command::Probe(Box::new(probing))),
        "ui" => ui::read(&of(ui::SETTINGS)).map(|asked| Command::Ui(Box::new(asked))),
        "plan" => match planned(&line::values(&matches, line::names(&spoken)), &spoken, protocols)? {
            Planned::Text(text) => Ok(Command::Text(text)),
            Planned::Check(check) => Ok(Command::Plan(run()?, check)),
        },
        "doctor" if rest.is_empty() => Ok(Command::Doctor(None)),
        "doctor" => run().map(|intent| Command::Doctor(Some(intent))),
        _ => run().map(Command::Run).map_err(|complaint| usage::of_another_tool(complaint, rest)),
    }
}

/// Returns the JSON Schema of plan files.
pub fn schema(protocols: &[Arc<dyn Protocol>]) -> serde_json::Value {
    file::schema::schema(&file::keys::Keys::new(protocols))
}

/// The action of `brunt plan`.
enum Planned {
    /// Prints a text that is not a plan of the user.
    Text(String),
    /// Reads the plan, to check it only or to show it.
    Check(bool),
}

fn planned(said: &Values, spoken: &[spoken::Spoken], protocols: &[Arc<dyn Protocol>]) -> Result<Planned, Complaint> {
    if let Some(name) = said.text(&line::EXAMPLE) {
        let own = [line::EXAMPLE.spec.name, settings::TARGET.spec.name];
        if let Some(other) = said.iter().find(|said| !own.contains(&said.name)) {
            let options = spoken.iter().flat_map(|(_, options)| options).map(|option| (option.name, option.short));
            let mut known = settings::all().map(|spec| (spec.name, spec.short)).chain(options);
            let short = known.find(|(name, _)| *name == other.name).and_then(|(_, short)| short);
            let called = short.map_or_else(|| format!("--{}", other.name), |short| format!("-{short}"));
            return Err(other.wrong(&called, "does not go with --example, which only prints a plan; leave it out"));
        }
        return examples::find(name, &said.texts(&settings::TARGET)).map(Planned::Text);
    }
    match [&line::CHECK, &line::SHOW, &line::SCHEMA].map(|asked| said.has(asked)) {
        [_, _, true] => Ok(Planned::Text(format!(
            "{}\n",
            serde_json::to_string_pretty(&schema(protocols)).expect("a schema is JSON")
        ))),
        [true, true, _] => Err(Complaint::new("--show", "does not go with --check; leave one of them out")),
        [check, ..] => Ok(Planned::Check(check)),
    }
}

/// Reports a negative rate: clap takes `-5/s` for an option, and would complain about that instead.
fn negative_rate(line: &[String]) -> Result<(), Complaint> {
    let is_negative = |word: &str| word.strip_prefix('-').is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
    let wrong = line.windows(2).find(|pair| matches!(pair[0].as_str(), "-r" | "--rate") && is_negative(&pair[1]));
    wrong.map_or(Ok(()), |pair| {
        Err(Complaint::new("-r", format!("`{}` must be above zero; write a rate such as 100/s", pair[1])))
    })
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod tests;
