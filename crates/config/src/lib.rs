//! Parsing of the user's input: command lines, plan files and curl commands become a plan, or an error with its
//! position.

mod clap_errors;
mod command_line;
mod command_settings;
mod common_headers;
mod counter_sources;
mod curl;
mod destinations;
mod draft;
mod examples;
mod explain;
mod export_settings;
mod file;
mod flows;
mod help;
mod intent;
mod load;
mod origin;
mod other_tools;
mod otlp;
mod pages;
mod parsers;
mod probe_settings;
mod protocol_flags;
mod proxies;
pub mod redact;
mod scenarios;
mod secret_files;
mod setting;
mod settings;
mod shorthand;
mod standard_input;
mod step_limits;
mod suggestions;
mod target_settings;
mod tool_options;
mod topics;
mod ui;
mod unquoted_curl;
mod unused_columns;
mod urls;
mod values;
mod zones;

use std::sync::Arc;

use brunt_contract::{Protocol, UsageError};
use clap::error::ErrorKind;

use setting::SettingSpec;
use values::SettingValues;

pub use command_line::COMMANDS;
pub use command_settings::{CalibrateSettings, DemoSettings};
pub use counter_sources::{CounterSources, LocalService, ProbeTargets};
pub use export_settings::ExportSettings;
pub use intent::{Defaults, Intent, Presentation, ReportFile};
pub use probe_settings::ProbeSettings;
pub use suggestions::nearest;
pub use target_settings::TargetSettings;
pub use ui::UiSettings;

/// A parsed command line.
#[derive(Debug)]
pub enum Command {
    /// `brunt [run] URL`.
    Run(Box<Intent>),
    /// `brunt demo`: duration and presentation.
    Demo(DemoSettings),
    /// `brunt calibrate`.
    Calibrate(CalibrateSettings),
    /// `brunt report [FILE…]`.
    Report(Vec<String>, Presentation),
    /// `brunt doctor`: the planned run, if any.
    Doctor(Option<Box<Intent>>),
    /// `brunt target`.
    Target(Box<TargetSettings>),
    /// `brunt probe`.
    Probe(Box<ProbeSettings>),
    /// `brunt ui`.
    Ui(Box<UiSettings>),
    /// `brunt plan`; the flag is set if the plan is only checked.
    Plan(Box<Intent>, bool),
    /// A requested text: help or version.
    Text(String),
}

/// Parses a command line (without the name of the program).
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(words: &[String], protocols: &[Arc<dyn Protocol>], defaults: &Defaults) -> Result<Command, UsageError> {
    if let Some((first, rest)) = words.split_first() {
        let spoken = protocol_flags::protocol_options(protocols);
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
        unquoted_curl::unquoted_curl(rest).map_or(Ok(()), Err)?;
        match other_tools::translate_pasted(rest) {
            Some(found) => return Err(UsageError::new(found.tool, "in brunt, this is").with_lines(found.answer())),
            None => clap_errors::one_dash(rest).map_or(Ok(()), Err)?,
        }
    }
    negative_rate(rest)?;
    let spoken = protocol_flags::protocol_options(protocols);
    let mut described = topics::described(command, &spoken);
    described.build();
    let matches = match described.clone().try_get_matches_from(std::iter::once(&String::new()).chain(rest)) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let short = command == "run" && !rest.iter().any(|word| word == "--help");
            return Ok(Command::Text(if short { format!("{}\n", topics::short()) } else { topics::full(described) }));
        }
        Err(error) if !error.use_stderr() => return Ok(Command::Text(error.render().to_string())),
        Err(error) => return Err(clap_errors::complaint(&error, &described, rest)),
    };
    let of = |specs: &[SettingSpec]| command_line::values(&matches, specs.iter().map(|spec| spec.name));
    let run = || {
        intent::read(command_line::values(&matches, command_line::names(&spoken)), words, protocols, defaults)
            .map(Box::new)
    };
    match command {
        "demo" => command_settings::demo(&of(&command_settings::DEMO)).map(Command::Demo),
        "calibrate" => command_settings::calibrate(&of(&command_settings::CALIBRATE)).map(Command::Calibrate),
        "report" => {
            command_settings::report(&of(&command_settings::REPORT)).map(|(files, shown)| Command::Report(files, shown))
        }
        "target" => {
            target_settings::read(&of(target_settings::SETTINGS)).map(|serving| Command::Target(Box::new(serving)))
        }
        "probe" => probe_settings::read(&of(probe_settings::SETTINGS)).map(|probing| Command::Probe(Box::new(probing))),
        "ui" => ui::read(&of(ui::SETTINGS)).map(|asked| Command::Ui(Box::new(asked))),
        "plan" => match planned(&command_line::values(&matches, command_line::names(&spoken)), &spoken, protocols)? {
            PlanAction::Text(text) => Ok(Command::Text(text)),
            PlanAction::Check(check) => Ok(Command::Plan(run()?, check)),
        },
        "doctor" if rest.is_empty() => Ok(Command::Doctor(None)),
        "doctor" => run().map(|intent| Command::Doctor(Some(intent))),
        _ => run().map(Command::Run).map_err(|complaint| clap_errors::explain_bare_number(complaint, rest)),
    }
}

/// Returns the JSON Schema of plan files.
pub fn schema(protocols: &[Arc<dyn Protocol>]) -> serde_json::Value {
    file::schema::schema(&file::keys::PlanKeys::new(protocols))
}

/// The action of `brunt plan`.
enum PlanAction {
    /// Prints a text, such as the schema or an example.
    Text(String),
    /// Reads the plan; the flag is set to check it and clear to show it.
    Check(bool),
}

fn planned(
    values: &SettingValues,
    spoken: &[protocol_flags::ProtocolOptions],
    protocols: &[Arc<dyn Protocol>],
) -> Result<PlanAction, UsageError> {
    if let Some(name) = values.text(&command_line::EXAMPLE) {
        let own = [command_line::EXAMPLE.spec.name, settings::TARGET.spec.name];
        if let Some(other) = values.iter().find(|said| !own.contains(&said.name)) {
            let options = spoken.iter().flat_map(|(_, options)| options).map(|option| (option.name, option.short));
            let mut known = settings::all().map(|spec| (spec.name, spec.short)).chain(options);
            let short = known.find(|(name, _)| *name == other.name).and_then(|(_, short)| short);
            let called = short.map_or_else(|| format!("--{}", other.name), |short| format!("-{short}"));
            return Err(
                other.wrong(&called, "cannot be combined with --example, which only prints a plan; leave it out")
            );
        }
        return examples::find(name, &values.texts(&settings::TARGET)).map(PlanAction::Text);
    }
    match [&command_line::CHECK, &command_line::SHOW, &command_line::SCHEMA].map(|asked| values.has(asked)) {
        [_, _, true] => Ok(PlanAction::Text(format!(
            "{}\n",
            serde_json::to_string_pretty(&schema(protocols)).expect("a schema is JSON")
        ))),
        [true, true, _] => Err(UsageError::new("--show", "cannot be combined with --check; leave one of them out")),
        [check, ..] => Ok(PlanAction::Check(check)),
    }
}

/// Reports a negative rate, because clap would treat `-5/s` as an unknown option.
fn negative_rate(line: &[String]) -> Result<(), UsageError> {
    let is_negative = |word: &str| word.strip_prefix('-').is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
    let wrong = line.windows(2).find(|pair| matches!(pair[0].as_str(), "-r" | "--rate") && is_negative(&pair[1]));
    wrong.map_or(Ok(()), |pair| {
        Err(UsageError::new("-r", format!("`{}` must be above zero; use a rate such as 100/s", pair[1])))
    })
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod printed_command_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod tests;
