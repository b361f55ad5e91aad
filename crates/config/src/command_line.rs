//! The command line: options for clap, and parsed values.
//!
//! clap only collects the text of values. Our own functions parse it, so that error messages are our own.

use brunt_contract::OptionArity;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::help;
use super::origin::ValueOrigin;
use super::protocol_flags::{self, ProtocolOptions};
use super::setting::{SettingSpec, TypedSetting, one, switch, text};
use super::settings::{DOCUMENT, HEADINGS, NO_COLOR, QUIET, TARGET, all};
use super::values::SettingValues;

/// The commands.
pub const COMMANDS: [&str; 9] = ["run", "demo", "doctor", "calibrate", "report", "target", "plan", "probe", "ui"];

/// `brunt plan --show`.
pub const SHOW: TypedSetting<()> = switch("show", "Print the plan as YAML (the default)");
/// `brunt plan --check`.
pub const CHECK: TypedSetting<()> = switch("check", "Check whether it can be run");
/// `brunt plan --schema`.
pub const SCHEMA: TypedSetting<()> = switch("schema", "Print the JSON Schema of plan files, for editors");
/// `brunt plan --example`.
pub const EXAMPLE: TypedSetting<String> = one(
    "example",
    "NAME",
    text,
    "Print a commented plan to start from: smoke, load, users, stress, spike, soak, breakpoint, flow or scenarios",
);

/// Returns the command line of `brunt run`, which `brunt --help` also shows.
pub fn run_command(spoken: &[ProtocolOptions]) -> Command {
    let ((load, settings), others) = HEADINGS.split_first().expect("there are headings");
    let under =
        |heading: &'static str, specs: &'static [SettingSpec]| args(specs).map(move |arg| arg.help_heading(heading));
    bare("brunt")
        .override_usage(
            "brunt [run] [OPTIONS] URL... | PLAN.yaml\n       brunt demo | plan | calibrate | report | target [OPTIONS]",
        )
        .about("Load-test a server, and learn whether the results can be trusted.")
        .before_help(help::COMMANDS)
        .after_long_help(help::EXAMPLES)
        .arg(words(&TARGET.spec).num_args(0..))
        .args(under(load, settings))
        .args(options(spoken))
        .args(others.iter().flat_map(|(heading, settings)| under(heading, settings)))
}

/// Returns the command line of `brunt plan`: that of `brunt run` and the actions on a plan.
pub fn plan_command(spoken: &[ProtocolOptions]) -> Command {
    run_command(spoken)
        .name("brunt plan")
        .override_usage("brunt plan [--show | --check | --schema | --example NAME] [OPTIONS] [PLAN.yaml | URL...]")
        .about("Show the plan that a file and options add up to, or check it; nothing is sent.")
        .before_help("")
        .after_help("Example: brunt plan -c 50 -d 30s http://localhost:8080/ > plan.yaml")
        .after_long_help("Example: brunt plan -c 50 -d 30s http://localhost:8080/ > plan.yaml")
        .args(args(&[SHOW.spec, CHECK.spec, SCHEMA.spec, EXAMPLE.spec]))
}

/// Returns the command line of `brunt doctor`, the same as that of the planned run.
pub fn doctor_command(spoken: &[ProtocolOptions]) -> Command {
    let example = "Example: brunt doctor -r 2000/s -d 1m --no-keepalive http://10.0.0.7:8080/";
    run_command(spoken)
        .name("brunt doctor")
        .override_usage("brunt doctor [OPTIONS] [PLAN.yaml | URL...]")
        .about("Check what this machine can do and which limits a run would hit; no load is sent.")
        .before_help("")
        .after_help(example)
        .after_long_help(example)
}

/// Creates a command with brunt's own help flag instead of clap's.
pub fn bare(name: &'static str) -> Command {
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::Help)
                .help("Show help (--help: all of it; brunt help TOPIC)"),
        )
        .max_term_width(110)
}

/// Returns a positional argument for a setting.
pub fn words(spec: &SettingSpec) -> Arg {
    let value = match spec.takes {
        OptionArity::One(value) | OptionArity::Many(value) => value,
        OptionArity::Switch => "",
    };
    Arg::new(spec.name).value_name(value).help(spec.help)
}

/// Returns the options common to all commands that render a record.
pub fn document() -> impl Iterator<Item = Arg> {
    args(&DOCUMENT).map(|arg| arg.help_heading("Output")).chain(args(&[QUIET.spec, NO_COLOR.spec]))
}

/// Returns the options of these settings.
pub fn args(specs: &[SettingSpec]) -> impl Iterator<Item = Arg> {
    specs.iter().map(|spec| arg(spec.name, spec.short, spec.takes).help(spec.help))
}

/// Returns the options of these protocols.
pub fn options(spoken: &[ProtocolOptions]) -> impl Iterator<Item = Arg> {
    let shared = protocol_flags::flags(spoken).into_iter();
    shared.map(|option| arg(option.name, option.short, option.takes).help(option.help).help_heading(option.heading))
}

fn arg(name: &'static str, short: Option<char>, takes: OptionArity) -> Arg {
    let arg = Arg::new(name).long(name);
    let arg = match takes {
        OptionArity::Switch => arg.action(ArgAction::SetTrue),
        OptionArity::One(value) => arg.value_name(value).num_args(1).allow_negative_numbers(true),
        OptionArity::Many(value) => {
            arg.value_name(value).num_args(1).allow_negative_numbers(true).action(ArgAction::Append)
        }
    };
    match short {
        Some(short) => arg.short(short),
        None => arg,
    }
}

/// Returns the names of all options of a run.
pub fn names(spoken: &[ProtocolOptions]) -> impl Iterator<Item = &'static str> + Clone {
    let options = spoken.iter().flat_map(|(_, options)| options).map(|option| option.name).collect::<Vec<_>>();
    let own = [&TARGET.spec, &SHOW.spec, &CHECK.spec, &SCHEMA.spec, &EXAMPLE.spec].map(|spec| spec.name);
    own.into_iter().chain(all().map(|spec| spec.name).collect::<Vec<_>>()).chain(options)
}

/// Collects the values of the options with these names.
pub fn values(matches: &ArgMatches, names: impl Iterator<Item = &'static str> + Clone) -> SettingValues {
    let mut values = SettingValues::default();
    for id in matches.ids().filter(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)) {
        let Some(name) = names.clone().find(|name| *name == id.as_str()) else { continue };
        match matches.try_get_many::<String>(name) {
            Ok(texts) => texts.into_iter().flatten().for_each(|text| values.push(name, text, ValueOrigin::CommandLine)),
            Err(_) => values.push(name, "", ValueOrigin::CommandLine),
        }
    }
    values
}
