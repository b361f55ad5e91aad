//! Help by topic, shell completions and the manual page.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_diagnose::rules;
use brunt_report::text::Text;
use brunt_report::{FORMATS, Lang};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};

use super::command_line::{self, COMMANDS, TEXT_COMMANDS};
use super::protocol_flags::ProtocolOptions;
use super::setting::message;
use super::settings::HEADINGS;
use super::suggestions::distance;
use super::{
    capacity_settings, command_settings, compare_settings, examples, find_settings, fleet_settings, help,
    ladder_settings, lint_settings, manual, probe_settings, sweep_settings, target_settings, ui,
};

/// Topics with a text of their own.
const TEXTS: [(&str, Text); 3] = [("flow", help::FLOW), ("data", help::DATA), ("exit", help::EXIT)];

/// Other names of these topics.
const ALSO: [(&str, &str); 10] = [
    ("flows", "flow"),
    ("scenario", "flow"),
    ("scenarios", "flow"),
    ("steps", "flow"),
    ("slots", "data"),
    ("csv", "data"),
    ("body", "data"),
    ("exits", "exit"),
    ("exit-codes", "exit"),
    ("status", "exit"),
];

const TOPICS: Text = message("Topics", "主题");
const OPTIONS_OF_RUN: Text = message("Options of a run: {topic}.", "压测的选项：{topic}。");
const SHARED: Text =
    message("All options of a run are taken as well; --help shows them.", "也可使用压测的所有选项，见 --help。");
const OPTIONS_OF_PROTOCOL: Text = message("Options of {protocol} requests.", "{protocol} 请求的选项。");

/// Returns the names of all topics, in lower case.
fn topics(spoken: &[ProtocolOptions]) -> Vec<String> {
    let settings = HEADINGS.iter().map(|(heading, _)| heading.en.to_ascii_lowercase());
    let protocols = spoken.iter().map(|(name, _)| (*name).to_owned());
    let texts = TEXTS.iter().map(|(name, _)| *name).chain(["all"]).map(str::to_owned);
    settings.chain(protocols).chain(texts).collect()
}

/// Returns the text of `brunt help [TOPIC]`.
///
/// # Errors
/// There is no such topic.
pub fn help(words: &[String], spoken: &[ProtocolOptions], lang: Lang) -> Result<String, UsageError> {
    let names = topics(spoken);
    let [topic] = words else {
        return match words {
            [_, second, ..] => Err(UsageError::new(
                second,
                complaint!("is an extra argument; use `brunt help TOPIC`", "是多余的参数；请用 `brunt help TOPIC`"),
            )),
            _ => Ok(format!("{}\n\n{}: {}", short(lang), lang.of(TOPICS), names.join(", "))),
        };
    };
    let topic = ALSO.iter().find(|(other, _)| other == topic).map_or(topic.as_str(), |(_, topic)| topic);
    if let Some((heading, settings)) = HEADINGS.iter().find(|(heading, _)| heading.en.eq_ignore_ascii_case(topic)) {
        let named = lang.of(*heading).to_lowercase();
        return Ok(page(lang.fill(OPTIONS_OF_RUN, &[("topic", &named)]), command_line::args(settings, lang), lang));
    }
    if let Some(one) = spoken.iter().find(|(name, _)| *name == topic) {
        let about = lang.fill(OPTIONS_OF_PROTOCOL, &[("protocol", one.0)]);
        return Ok(page(about, command_line::options(std::slice::from_ref(one), lang), lang));
    }
    if let Some((_, text)) = TEXTS.iter().find(|(name, _)| *name == topic) {
        return Ok(lang.of(*text).into());
    }
    match topic {
        "all" => Ok(full(command_line::run_command(spoken, lang))),
        command if COMMANDS.contains(&command) || TEXT_COMMANDS.contains(&command) => {
            Ok(full(described(command, spoken, lang)))
        }
        other => Err(no_topic(other, &names)),
    }
}

fn no_topic(topic: &str, names: &[String]) -> UsageError {
    let all = names.iter().map(String::as_str).chain(COMMANDS).chain(TEXT_COMMANDS);
    let near = all.min_by_key(|name| distance(topic, name)).filter(|name| distance(topic, name) <= 2);
    UsageError::whole(match near {
        Some(near) => {
            complaint!("no such topic: {topic}; use `brunt help {near}`", "没有主题 {topic}；请用 `brunt help {near}`")
        }
        None => complaint!("no such topic: {topic}; use one of {}", "没有主题 {topic}；可用：{}", names.join(", ")),
    })
}

/// Returns the short help, which fits on one screen.
pub fn short(lang: Lang) -> String {
    lang.of(help::SCREEN).into()
}

/// Returns the definition of a command that takes all options of a run, which its short help does not repeat.
pub fn own(command: Command, spoken: &[ProtocolOptions], lang: Lang) -> Command {
    let shared: Vec<String> =
        command_line::run_command(spoken, lang).get_opts().map(|arg| arg.get_id().to_string()).collect();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.mut_args(|arg| {
        let is_shared = shared.iter().any(|name| arg.get_id() == name.as_str());
        if is_shared { arg.hide(true) } else { arg }
    });
    command.after_help(format!("{}\n\n{after}", lang.of(SHARED)))
}

/// Formats a page of options.
fn page(about: String, args: impl Iterator<Item = Arg>, lang: Lang) -> String {
    let args = args.map(|arg| arg.help_heading(lang.of(help::OPTIONS)));
    let mut command = Command::new("brunt").disable_help_flag(true).max_term_width(110).about(about).args(args);
    command = command.help_template("{about}\n\n{all-args}\n");
    command.render_help().to_string()
}

/// Returns the clap definition of a command.
pub fn described(command: &str, spoken: &[ProtocolOptions], lang: Lang) -> Command {
    match command {
        "demo" => command_settings::demo_command(lang),
        "calibrate" => command_settings::calibrate_command(lang),
        "report" => command_settings::report_command(lang),
        "trend" => command_settings::trend_command(lang),
        "capacity" => capacity_settings::command(lang),
        "lint" => lint_settings::command(lang),
        "target" => target_settings::command(lang),
        "probe" => probe_settings::command(lang),
        super::RESUMED => fleet_settings::resume_command(lang),
        "fleet" => fleet_settings::fleet_command(lang),
        "agent" => fleet_settings::agent_command(lang),
        "ui" => ui::command(lang),
        "find" => find_settings::command(spoken, lang),
        "compare" => compare_settings::command(spoken, lang),
        "sweep" => sweep_settings::command(spoken, lang),
        "ladder" => ladder_settings::command(spoken, lang),
        "plan" => command_line::plan_command(spoken, lang),
        "doctor" => command_line::doctor_command(spoken, lang),
        "explain" => text_command("brunt explain", EXPLAIN, ("RULE", rule_names()), lang),
        "help" => text_command("brunt help", HELP, ("TOPIC", topics(spoken)), lang),
        "completions" => {
            text_command("brunt completions", COMPLETIONS, ("SHELL", SHELLS.map(str::to_owned).into()), lang)
        }
        "man" => command_line::bare("brunt man", lang).about(lang.of(MAN)),
        _ => command_line::run_command(spoken, lang),
    }
}

const EXPLAIN: Text = message(
    "Show what can limit a run: the list of rules, or the page of one.",
    "说明压测可能遇到的瓶颈：规则列表，或某条规则的说明。",
);
const HELP: Text = message("Show help by topic, or of a command.", "按主题或命令显示帮助。");
const COMPLETIONS: Text = message("Print completions for a shell.", "输出 shell 的补全脚本。");
const MAN: Text = message("Print the manual page.", "输出手册页。");
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

fn rule_names() -> Vec<String> {
    rules().map(|rule| rule.rule.to_owned()).collect()
}

/// Returns the definition of a command that prints a text about a word.
fn text_command(name: &'static str, about: Text, (word, values): (&'static str, Vec<String>), lang: Lang) -> Command {
    let values = values.join(", ");
    let arg = command_line::heading(Arg::new("word").value_name(word).help(values), help::ARGUMENTS, lang);
    command_line::bare(name, lang).about(lang.of(about)).arg(arg)
}

/// Returns the full help, with one line for each flag. The long form of clap uses three lines, which are hard to
/// search.
pub fn full(command: Command) -> String {
    let examples = command.get_after_long_help().cloned();
    let mut command = match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    };
    command.render_help().to_string()
}

/// Returns the whole command line, including all commands, with the values of options that have few.
fn whole(spoken: &[ProtocolOptions]) -> Command {
    let named = |name: &'static str| {
        let command = described(name, spoken, Lang::En).name(name).bin_name(format!("brunt {name}"));
        with_values(command, |id| match (name, id) {
            ("explain", "word") => rule_names(),
            ("help", "word") => topics(spoken).into_iter().chain(COMMANDS.map(str::to_owned)).collect(),
            ("completions", "word") => SHELLS.map(str::to_owned).into(),
            ("capacity" | "lint", "format") => ["text", "json"].map(str::to_owned).into(),
            _ => values_of(id),
        })
    };
    let run = with_values(command_line::run_command(spoken, Lang::En), values_of);
    run.subcommands(COMMANDS.into_iter().chain(TEXT_COMMANDS).map(named))
}

/// Adds to each option the values that `of` returns for its name.
fn with_values(command: Command, of: impl Fn(&str) -> Vec<String>) -> Command {
    command.mut_args(|arg| match of(arg.get_id().as_str()) {
        values if values.is_empty() => arg,
        values => arg.value_parser(PossibleValuesParser::new(values)),
    })
}

/// Returns the values of an option that has only a few.
fn values_of(option: &str) -> Vec<String> {
    let words: &[&str] = match option {
        "format" => return FORMATS.iter().map(|format| format.name().to_owned()).collect(),
        "example" => return examples::names().map(str::to_owned).collect(),
        "lang" => &["en", "zh"],
        "http" => &["1.1", "2"],
        "arrivals" => &["poisson", "constant", "burst"],
        "trust" => &["judge", "warn", "strict"],
        "net" => &["epoll", "uring"],
        "tls-max" => &["1.2", "1.3"],
        "resp" => &["2", "3"],
        _ => &[],
    };
    words.iter().map(ToString::to_string).collect()
}

/// Returns the script of `brunt completions SHELL`, which completes commands, options and values.
///
/// # Errors
/// There is no such shell.
pub fn completions(words: &[String], spoken: &[ProtocolOptions]) -> Result<String, UsageError> {
    use clap_complete::Shell;
    let shell = match words.first().map(String::as_str) {
        Some("bash") => Shell::Bash,
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        other => {
            let all = SHELLS.join(", ");
            return Err(UsageError::new(
                "completions",
                match other {
                    Some(other) => {
                        complaint!(
                            "`{other}` is not a shell brunt supports; use one of {all}",
                            "brunt 不支持 shell `{other}`；可用：{all}"
                        )
                    }
                    None => {
                        complaint!("the name of a shell is missing; use one of {all}", "缺少 shell 的名称；可用：{all}")
                    }
                },
            ));
        }
    };
    Ok(crate::completions::script(shell, &mut whole(spoken)))
}

/// Returns the manual page of `brunt man` in roff.
///
/// # Errors
/// There is an unexpected argument.
pub fn manual(words: &[String], spoken: &[ProtocolOptions]) -> Result<String, UsageError> {
    match words.first() {
        Some(word) => Err(UsageError::new(
            word,
            complaint!("is an extra argument; use `brunt man`", "是多余的参数；请用 `brunt man`"),
        )),
        None => {
            let abouts = COMMANDS.into_iter().chain(TEXT_COMMANDS).map(|name| {
                let about = described(name, spoken, Lang::En).get_about().map(ToString::to_string);
                (name, about.unwrap_or_default())
            });
            Ok(manual::page(command_line::run_command(spoken, Lang::En), abouts))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken() -> Vec<ProtocolOptions> {
        vec![
            ("http", brunt_contract::Protocol::description(&brunt_protocols::http::Http).options.to_vec()),
            ("grpc", brunt_contract::Protocol::description(&brunt_protocols::grpc::GrpcProtocol).options.to_vec()),
        ]
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        for lang in [Lang::En, Lang::Zh] {
            the_short_help_fits(&short(lang), lang);
        }
    }

    fn the_short_help_fits(text: &str, lang: Lang) {
        let wide = |line: &str| unicode_width::UnicodeWidthStr::width(line);
        assert!(text.lines().count() <= 36 && text.lines().all(|line| wide(line) <= 80), "{text}");
        let command = command_line::run_command(&spoken(), lang);
        let known: Vec<String> =
            command.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|word| word.starts_with("--")) {
            assert!(known.contains(&word.to_owned()) || word == "--", "{word} of the short help is no option");
        }
    }

    #[test]
    fn a_topic_shows_its_options_in_its_own_words() {
        let of = |topic: &str| help(&words(topic), &spoken(), Lang::En).unwrap();
        assert!(of("load").contains("--stage") && !of("load").contains("--header"));
        let grpc = of("grpc");
        assert!(grpc.contains("--proto") && grpc.contains("metadata") && !grpc.contains("[grpc:"), "{grpc}");
        assert!(of("http").contains("--redirects") && !of("http").contains("--proto"));
        assert!(of("all").contains("Request (http):") && of("").contains("Topics: load,"));
        assert_eq!(
            help(&words("htpt"), &spoken(), Lang::En).unwrap_err().to_string(),
            "no such topic: htpt; use `brunt help http`"
        );
        assert!(
            help(&words("nonsense"), &spoken(), Lang::En)
                .unwrap_err()
                .to_string()
                .starts_with("no such topic: nonsense; use one of load")
        );
    }

    #[test]
    fn shells_and_man_know_every_option() {
        for shell in ["bash", "zsh", "fish"] {
            let script = completions(&words(shell), &spoken()).unwrap();
            for word in ["rate", "objective", "proto", "backlog", "report", "explain", "completions", "man", "markdown"]
            {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
        assert!(
            completions(&words("tcsh"), &spoken()).unwrap_err().to_string().ends_with("use one of bash, zsh, fish")
        );
        let page = manual(&[], &spoken()).unwrap();
        assert!(page.contains(".TH") && page.contains("\\-\\-objective"), "{page}");
        assert!(page.contains(".SH \"EXIT STATUS\"") && page.contains("\\fB20\\fR"), "{page}");
        for command in COMMANDS.into_iter().chain(TEXT_COMMANDS) {
            assert!(page.contains(&format!("\\fBbrunt {command}\\fR")), "{command}: {page}");
        }
    }

    #[test]
    fn every_topic_and_every_command_has_a_page_in_both_languages() {
        for topic in topics(&spoken()).iter().map(String::as_str).chain(COMMANDS).chain(TEXT_COMMANDS) {
            let [en, zh] = [Lang::En, Lang::Zh].map(|lang| help(&words(topic), &spoken(), lang).unwrap());
            assert!(en.contains(' '), "{topic}: {en}");
            assert!(zh.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{topic}: {zh}");
            for word in ["Usage:", "Options:", "Arguments:", "Print version"] {
                assert!(!zh.contains(word), "{topic}: {zh}");
            }
        }
        assert!(help(&words("exit"), &spoken(), Lang::En).unwrap().contains("21  interrupted"));
        assert!(help(&words("data"), &spoken(), Lang::En).unwrap().contains("{csv users.csv.name}"));
    }
}
