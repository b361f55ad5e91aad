//! The command line: options for clap, and parsed values.
//!
//! clap only collects the text of values. Our own functions parse it, so that error messages are our own.

use brunt_contract::OptionArity;
use brunt_report::Lang;
use brunt_report::text::Text;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::help;
use super::origin::ValueOrigin;
use super::protocol_flags::{self, ProtocolOptions};
use super::setting::{SettingSpec, TypedSetting, message, one, switch, text};
use super::settings::{CONSOLE, DOCUMENT, HEADINGS, TARGET, all};
use super::values::SettingValues;

/// The commands.
pub const COMMANDS: [&str; 18] = [
    "run",
    "find",
    "compare",
    "sweep",
    "ladder",
    "demo",
    "doctor",
    "calibrate",
    "report",
    "trend",
    "capacity",
    "lint",
    "target",
    "plan",
    "probe",
    "fleet",
    "agent",
    "ui",
];

/// The commands that only print a text.
pub const TEXT_COMMANDS: [&str; 4] = ["explain", "help", "completions", "man"];

/// `brunt plan --show`.
pub const SHOW: TypedSetting<()> = switch("show", "Print the plan as YAML (the default)", "以 YAML 输出计划（默认）");
/// `brunt plan --check`.
pub const CHECK: TypedSetting<()> = switch("check", "Check whether it can be run", "检查能否运行");
/// `brunt plan --schema`.
pub const SCHEMA: TypedSetting<()> =
    switch("schema", "Print the JSON Schema of plan files, for editors", "输出计划文件的 JSON Schema，供编辑器使用");
/// `brunt plan --example`.
pub const EXAMPLE: TypedSetting<String> = one(
    "example",
    "NAME",
    text,
    "Print a commented plan to start from: smoke, load, users, stress, spike, soak, concurrency, breakpoint, flow or scenarios",
    "输出一个带注释的示例计划：smoke、load、users、stress、spike、soak、concurrency、breakpoint、flow 或 scenarios",
);

/// Returns the command line of `brunt run`, which `brunt --help` also shows.
pub fn run_command(spoken: &[ProtocolOptions], lang: Lang) -> Command {
    let ((load, settings), others) = HEADINGS.split_first().expect("there are headings");
    let under = |heading: &Text, specs: &'static [SettingSpec]| {
        let heading = lang.of(*heading);
        args(specs, lang).map(move |arg| arg.help_heading(heading))
    };
    bare("brunt", lang)
        .override_usage(lang.of(message(
            "brunt [run] [OPTIONS] URL... | PLAN.yaml\n       brunt run --resume RUN [OPTIONS]\n       brunt find | demo | plan | calibrate | report | target [OPTIONS]",
            "brunt [run] [选项] URL... | PLAN.yaml\n      brunt run --resume 压测 [选项]\n      brunt find | demo | plan | calibrate | report | target [选项]",
        )))
        .about(lang.of(message(
            "Load-test a server, and learn whether the results can be trusted.",
            "对服务做压力测试，并判断结果是否可信。",
        )))
        .before_help(lang.of(help::COMMANDS))
        .after_long_help(lang.of(help::EXAMPLES))
        .arg(words(&TARGET.spec, lang).num_args(0..))
        .args(under(load, settings))
        .args(options(spoken, lang))
        .args(others.iter().flat_map(|(heading, settings)| under(heading, settings)))
}

/// Returns the command line of `brunt plan`: that of `brunt run` and the actions on a plan.
pub fn plan_command(spoken: &[ProtocolOptions], lang: Lang) -> Command {
    run_command(spoken, lang)
        .name("brunt plan")
        .override_usage(lang.of(message(
            "brunt plan [--show | --check | --schema | --example NAME] [OPTIONS] [PLAN.yaml | URL...]",
            "brunt plan [--show | --check | --schema | --example NAME] [选项] [PLAN.yaml | URL...]",
        )))
        .about(lang.of(message(
            "Show the plan that a file and options add up to, or check it; nothing is sent.",
            "显示或检查由文件和选项得出的计划；不发送任何请求。",
        )))
        .before_help("")
        .after_help(lang.of(help::PLAN))
        .after_long_help(lang.of(help::PLAN))
        .args(args(&[SHOW.spec, CHECK.spec, SCHEMA.spec, EXAMPLE.spec], lang))
}

/// Returns the command line of `brunt doctor`, the same as that of the planned run.
pub fn doctor_command(spoken: &[ProtocolOptions], lang: Lang) -> Command {
    run_command(spoken, lang)
        .name("brunt doctor")
        .override_usage(
            lang.of(message("brunt doctor [OPTIONS] [PLAN.yaml | URL...]", "brunt doctor [选项] [PLAN.yaml | URL...]")),
        )
        .about(lang.of(message(
            "Check what this machine can do and which limits a run would hit; no load is sent.",
            "检查本机的能力，以及一次压测会遇到哪些限制；不发送负载。",
        )))
        .before_help("")
        .after_help(lang.of(help::DOCTOR))
        .after_long_help(lang.of(help::DOCTOR))
}

/// Creates a command with brunt's own flags for help and version instead of clap's.
pub fn bare(name: &'static str, lang: Lang) -> Command {
    let flag = |name: &'static str, short, action, help: Text| {
        let arg = Arg::new(name).short(short).long(name).action(action).help(lang.of(help));
        heading(arg, help::OPTIONS, lang)
    };
    let command = Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(flag("help", 'h', ArgAction::Help, help::HELP_FLAG))
        .arg(flag("version", 'V', ArgAction::Version, help::VERSION_FLAG))
        .max_term_width(110);
    match lang {
        Lang::En => command,
        Lang::Zh => command.help_template("{before-help}{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}"),
    }
}

/// Puts an option without a heading under one in the reader's language; clap has its own in English.
pub fn heading(arg: Arg, of: Text, lang: Lang) -> Arg {
    match lang {
        Lang::En => arg,
        Lang::Zh => arg.help_heading(lang.of(of)),
    }
}

/// Returns a positional argument for a setting.
pub fn words(spec: &SettingSpec, lang: Lang) -> Arg {
    let value = match spec.takes {
        OptionArity::One(value) | OptionArity::Many(value) => value,
        OptionArity::Switch => "",
    };
    heading(Arg::new(spec.name).value_name(value).help(lang.of(spec.help)), help::ARGUMENTS, lang)
}

/// Returns the options common to all commands that render a record.
pub fn document(lang: Lang) -> impl Iterator<Item = Arg> {
    let output = lang.of(message("Output", "输出"));
    args(&DOCUMENT, lang).map(move |arg| arg.help_heading(output)).chain(args(&CONSOLE, lang))
}

/// Returns the options of these settings.
pub fn args(specs: &[SettingSpec], lang: Lang) -> impl Iterator<Item = Arg> {
    let of = move |spec: &SettingSpec| arg(spec.name, spec.short, spec.takes).help(lang.of(spec.help));
    specs.iter().map(move |spec| heading(of(spec), help::OPTIONS, lang))
}

/// Returns the options of these protocols.
pub fn options(spoken: &[ProtocolOptions], lang: Lang) -> impl Iterator<Item = Arg> {
    let shared = protocol_flags::flags(spoken, lang).into_iter();
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
