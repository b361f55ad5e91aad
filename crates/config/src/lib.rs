//! Parsing of the user's input: command lines, plan files and curl commands become a plan, or an error with its
//! position.

mod arithmetic_format;
mod capacity_settings;
mod clap_errors;
mod command_line;
mod command_settings;
mod common_headers;
mod compare_settings;
mod completions;
mod counter_sources;
mod curl;
mod destinations;
mod draft;
mod examples;
mod explain;
mod export_settings;
mod file;
mod find_settings;
mod fleet_settings;
mod flows;
mod help;
mod intent;
mod ladder_settings;
mod language;
mod lint_settings;
mod load;
mod manual;
mod option_order;
mod origin;
mod other_tools;
mod otlp;
mod pages;
mod parsers;
mod plan_secrets;
mod probe_settings;
mod protocol_flags;
mod proxies;
pub mod redact;
mod resume;
mod scenarios;
mod secret_files;
mod setting;
mod settings;
mod shell_words;
mod shorthand;
mod standard_input;
mod step_limits;
mod suggestions;
mod sweep_settings;
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

use brunt_cause::complaint;
use brunt_contract::{Protocol, UsageError};
use brunt_report::Lang;
use clap::error::ErrorKind;

use setting::SettingSpec;
use values::SettingValues;

pub use arithmetic_format::ArithmeticFormat;
pub use capacity_settings::CapacitySettings;
pub use command_line::COMMANDS;
pub use command_settings::{CalibrateSettings, DemoSettings};
pub use compare_settings::{CompareSettings, ComparedSide};
pub use counter_sources::{CounterSources, LocalService, ProbeTargets};
pub use export_settings::ExportSettings;
pub use find_settings::FindSettings;
pub use fleet_settings::{AgentCommand, FleetAction, FleetCommand, FleetRequest, PORT as FLEET_PORT, ResumeCommand};
pub use intent::{Defaults, Intent, Presentation, ReportFile};
pub use ladder_settings::{LadderSettings, RungSettings};
pub use language::of_line as language_of;
pub use lint_settings::LintSettings;
pub use probe_settings::ProbeSettings;
pub use shell_words::shell_words;
pub use suggestions::nearest;
pub use sweep_settings::{AxisKind, SweepAxis, SweepSettings};
pub use target_settings::TargetSettings;
pub use ui::UiSettings;

/// Ending of the names of records.
const RECORD_ENDING: &str = ".bruntrec";

/// A parsed command line.
#[derive(Debug)]
pub enum Command {
    /// `brunt [run] URL`.
    Run(Box<Intent>),
    /// `brunt run --resume RUN`.
    ResumeRun(Box<ResumeCommand>),
    /// `brunt agent`.
    Agent(Box<AgentCommand>),
    /// `brunt fleet`.
    Fleet(Box<FleetCommand>),
    /// `brunt find`: a search for the highest load.
    Find(Box<FindSettings>),
    /// `brunt compare`: two sides in turn.
    Compare(Box<CompareSettings>),
    /// `brunt sweep`: a table of loads and options.
    Sweep(Box<SweepSettings>),
    /// `brunt ladder`: rungs that each do one thing more.
    Ladder(Box<LadderSettings>),
    /// `brunt demo`: duration and presentation.
    Demo(DemoSettings),
    /// `brunt calibrate`.
    Calibrate(CalibrateSettings),
    /// `brunt report [FILE…]`, and the number of the run of an experiment to show.
    Report(Vec<String>, Presentation, Option<usize>),
    /// `brunt trend FILE…`.
    Trend(Vec<String>, Presentation),
    /// `brunt doctor`: the planned run, if any.
    Doctor(Option<Box<Intent>>),
    /// `brunt target`.
    Target(Box<TargetSettings>),
    /// `brunt probe`.
    Probe(Box<ProbeSettings>),
    /// `brunt ui`.
    Ui(Box<UiSettings>),
    /// `brunt capacity`.
    Capacity(Box<CapacitySettings>),
    /// `brunt lint`.
    Lint(LintSettings),
    /// `brunt plan`; the flag is set if the plan is only checked.
    Plan(Box<Intent>, bool),
    /// A requested text: help or version.
    Text(String),
}

/// The command `brunt run --resume`, which has few of the options of a run.
const RESUMED: &str = "run --resume";

/// Parses a command line (without the name of the program).
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(words: &[String], protocols: &[Arc<dyn Protocol>], defaults: &Defaults) -> Result<Command, UsageError> {
    if let Some(text) = printed(words, protocols)? {
        return Ok(Command::Text(format!("{}\n", text.trim_end())));
    }
    let (command, rest) = match words.split_first() {
        Some((first, rest)) if COMMANDS.contains(&first.as_str()) => (first.as_str(), rest),
        _ => ("run", words),
    };
    let resumes = |word: &String| word == "--resume" || word.starts_with("--resume=");
    let command = if command == "run" && rest.iter().any(resumes) { RESUMED } else { command };
    let sides = (command == "compare").then(|| compare_settings::marked(rest));
    let rest = sides.as_deref().unwrap_or(rest);
    if command == "run" {
        unquoted_curl::unquoted_curl(rest).map_or(Ok(()), Err)?;
        if let Some(found) = other_tools::translate_pasted(rest) {
            return Err(UsageError::new(found.tool, complaint!("in brunt, this is", "在 brunt 中写作"))
                .with_lines(found.answer()));
        }
    }
    negative_rate(rest)?;
    let spoken = protocol_flags::protocol_options(protocols);
    let lang = language::of_line(rest);
    let mut described = topics::described(command, &spoken, lang);
    described.build();
    if command == "run" {
        option_order::late_command(rest, &described).map_or(Ok(()), Err)?;
    }
    clap_errors::one_dash(rest, &described).map_or(Ok(()), Err)?;
    option_order::negative_value(rest, &described).map_or(Ok(()), Err)?;
    let matches = match described.clone().try_get_matches_from(std::iter::once(&String::new()).chain(rest)) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let is_long = rest.iter().any(|word| word == "--help");
            return Ok(Command::Text(help_text(command, described, is_long, (&spoken, lang))));
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
            let values = of(&command_settings::REPORT);
            let run = command_settings::run_of_experiment(&values)?;
            command_settings::report(&values).map(|(files, shown)| Command::Report(files, shown, run))
        }
        "trend" => {
            command_settings::report(&of(&command_settings::REPORT)).map(|(files, shown)| Command::Trend(files, shown))
        }
        "target" => {
            target_settings::read(&of(target_settings::SETTINGS)).map(|serving| Command::Target(Box::new(serving)))
        }
        "probe" => probe_settings::read(&of(probe_settings::SETTINGS)).map(|probing| Command::Probe(Box::new(probing))),
        "fleet" => {
            fleet_settings::fleet(&of(fleet_settings::FLEET_SETTINGS)).map(|asked| Command::Fleet(Box::new(asked)))
        }
        "agent" => fleet_settings::agent(&of(fleet_settings::AGENT)).map(|asked| Command::Agent(Box::new(asked))),
        RESUMED => {
            fleet_settings::resume(&of(&fleet_settings::RESUMING)).map(|asked| Command::ResumeRun(Box::new(asked)))
        }
        "ui" => ui::read(&of(ui::SETTINGS)).map(|asked| Command::Ui(Box::new(asked))),
        "find" | "compare" | "sweep" | "ladder" => experiment(command, &matches, words, (&spoken, protocols), defaults),
        "capacity" => {
            let names = capacity_settings::names();
            let values = command_line::values(&matches, names);
            capacity_settings::read(&values).map(|asked| Command::Capacity(Box::new(asked)))
        }
        "lint" => lint_settings::read(&of(&lint_settings::LINT)).map(Command::Lint),
        "plan" => match planned(&command_line::values(&matches, command_line::names(&spoken)), &spoken, protocols)? {
            PlanAction::Text(text) => Ok(Command::Text(text)),
            PlanAction::Check(check) => Ok(Command::Plan(run()?, check)),
        },
        "doctor" if rest.is_empty() => Ok(Command::Doctor(None)),
        "doctor" => run().map(|intent| Command::Doctor(Some(intent))),
        _ => run().map(Command::Run).map_err(|complaint| clap_errors::explain_bare_number(complaint, rest)),
    }
}

/// Returns the text of `-h`, or of `--help` if it is long.
fn help_text(
    command: &str,
    described: clap::Command,
    is_long: bool,
    (spoken, lang): (&[protocol_flags::ProtocolOptions], Lang),
) -> String {
    match command {
        _ if is_long => topics::full(described),
        "run" => format!("{}\n", topics::short(lang)),
        "plan" | "doctor" | "find" | "compare" | "sweep" | "ladder" => {
            topics::own(described, spoken, lang).render_help().to_string()
        }
        _ => topics::full(described),
    }
}

/// Reads a command that makes several runs: the options of a run, and its own.
fn experiment(
    command: &str,
    matches: &clap::ArgMatches,
    words: &[String],
    (spoken, protocols): (&[protocol_flags::ProtocolOptions], &[Arc<dyn Protocol>]),
    defaults: &Defaults,
) -> Result<Command, UsageError> {
    let own: &[SettingSpec] = match command {
        "find" => &find_settings::FIND,
        "compare" => &compare_settings::COMPARE,
        "sweep" => &sweep_settings::SWEEP,
        _ => &ladder_settings::LADDER,
    };
    let names = command_line::names(spoken).chain(own.iter().map(|spec| spec.name));
    let (values, spoken) = (command_line::values(matches, names), (spoken, protocols));
    match command {
        "find" => find_settings::read(values, words, protocols, defaults).map(|found| Command::Find(Box::new(found))),
        "compare" => {
            let targets: Vec<String> = values.texts(&settings::TARGET).into_iter().map(str::to_owned).collect();
            if targets.len() > 1 && targets.iter().all(|target| target.ends_with(RECORD_ENDING)) {
                let values = values.filtered(|name| command_settings::REPORT.iter().any(|spec| spec.name == name));
                let (_, shown) = command_settings::report(&values)?;
                return Ok(Command::Report(targets, shown, None));
            }
            compare_settings::read(values, words, spoken, defaults).map(|sides| Command::Compare(Box::new(sides)))
        }
        "sweep" => sweep_settings::read(values, words, spoken, defaults).map(|swept| Command::Sweep(Box::new(swept))),
        _ => ladder_settings::read(values, words, spoken, defaults).map(|rungs| Command::Ladder(Box::new(rungs))),
    }
}

/// Returns the text of a command that only prints one; `None` for any other.
fn printed(words: &[String], protocols: &[Arc<dyn Protocol>]) -> Result<Option<String>, UsageError> {
    let Some((first, rest)) = words.split_first() else { return Ok(None) };
    let command = first.as_str();
    if !command_line::TEXT_COMMANDS.contains(&command) {
        return Ok(None);
    }
    let spoken = protocol_flags::protocol_options(protocols);
    let (lang, rest) = language::without_language(rest)?;
    if rest.iter().any(|word| word == "-h" || word == "--help") {
        return Ok(Some(topics::full(topics::described(command, &spoken, lang))));
    }
    match command {
        "explain" => explain::explain(&rest, lang),
        "completions" => topics::completions(&rest, &spoken),
        "man" => topics::manual(&rest, &spoken),
        _ => topics::help(&rest, &spoken, lang),
    }
    .map(Some)
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
            return Err(other.wrong(
                &called,
                complaint!(
                    "cannot be combined with --example, which only prints a plan; leave it out",
                    "不能与 --example 同用，后者只输出一个计划；请去掉"
                ),
            ));
        }
        return examples::find(name, &values.texts(&settings::TARGET)).map(PlanAction::Text);
    }
    match [&command_line::CHECK, &command_line::SHOW, &command_line::SCHEMA].map(|asked| values.has(asked)) {
        [_, _, true] => Ok(PlanAction::Text(format!(
            "{}\n",
            serde_json::to_string_pretty(&schema(protocols)).expect("a schema is JSON")
        ))),
        [true, true, _] => Err(UsageError::new(
            "--show",
            complaint!("cannot be combined with --check; leave one of them out", "不能与 --check 同用；请去掉其中一个"),
        )),
        [check, ..] => Ok(PlanAction::Check(check)),
    }
}

/// Reports a negative rate, because clap would treat `-5/s` as an unknown option.
fn negative_rate(line: &[String]) -> Result<(), UsageError> {
    let is_negative = |word: &str| word.strip_prefix('-').is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
    let wrong = line.windows(2).find(|pair| matches!(pair[0].as_str(), "-r" | "--rate") && is_negative(&pair[1]));
    wrong.map_or(Ok(()), |pair| {
        Err(UsageError::new(
            "-r",
            complaint!(
                "`{}` must be above zero; use a rate such as 100/s",
                "`{}` 必须大于零；请写速率，例如 100/s",
                pair[1]
            ),
        ))
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
