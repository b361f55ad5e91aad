//! Help by topic, shell completions and the manual page.

use brunt_contract::UsageError;
use clap::{Arg, Command};

use super::command_line::{self, COMMANDS};
use super::protocol_flags::ProtocolOptions;
use super::settings::HEADINGS;
use super::suggestions::distance;
use super::{command_settings, help, probe_settings, target_settings, ui};

/// Returns the text of `brunt help [TOPIC]`.
///
/// # Errors
/// There is no such topic.
pub fn help(words: &[String], spoken: &[ProtocolOptions]) -> Result<String, UsageError> {
    let topics: Vec<String> = HEADINGS.iter().map(|(heading, _)| heading.to_ascii_lowercase()).collect();
    let names = || topics.iter().map(String::as_str).chain(spoken.iter().map(|(name, _)| *name)).chain(["flow", "all"]);
    let [topic] = words else {
        return match words {
            [] => Ok(format!("{}\n\nTopics: {}", short(), names().collect::<Vec<_>>().join(", "))),
            [_, second, ..] => Err(UsageError::new(second, "is an extra argument; use `brunt help TOPIC`")),
            [_] => Ok(String::new()),
        };
    };
    if let Some(at) = topics.iter().position(|name| name == topic) {
        return Ok(page(format!("Options of a run: {topic}."), command_line::args(HEADINGS[at].1)));
    }
    if let Some(one) = spoken.iter().find(|(name, _)| name == topic) {
        return Ok(page(format!("Options of {} requests.", one.0), command_line::options(std::slice::from_ref(one))));
    }
    match topic.as_str() {
        "flow" | "flows" | "scenario" | "scenarios" | "steps" => Ok(help::FLOW.into()),
        "all" => Ok(full(command_line::run_command(spoken))),
        command if COMMANDS.contains(&command) => Ok(full(described(command, spoken))),
        other => {
            let near = names().chain(COMMANDS).min_by_key(|name| distance(other, name));
            let near = near.filter(|name| distance(other, name) <= 2);
            let all = names().collect::<Vec<_>>().join(", ");
            let trouble = near.map_or(format!("is not a topic; use one of {all}"), |near| {
                format!("is not a topic; use `brunt help {near}` if you meant that")
            });
            Err(UsageError::new(other, trouble))
        }
    }
}

/// Returns the short help, which fits on one screen.
pub fn short() -> String {
    help::SCREEN.into()
}

/// Formats a page of options.
fn page(about: String, args: impl Iterator<Item = Arg>) -> String {
    let args = args.map(|arg| arg.help_heading("Options"));
    let mut command = Command::new("brunt").disable_help_flag(true).max_term_width(110).about(about).args(args);
    command = command.help_template("{about}\n\n{all-args}\n");
    command.render_help().to_string()
}

/// Returns the clap definition of a command.
pub fn described(command: &str, spoken: &[ProtocolOptions]) -> Command {
    match command {
        "demo" => command_settings::demo_command(),
        "calibrate" => command_settings::calibrate_command(),
        "report" => command_settings::report_command(),
        "target" => target_settings::command(),
        "probe" => probe_settings::command(),
        "ui" => ui::command(),
        "plan" => command_line::plan_command(spoken),
        "doctor" => command_line::doctor_command(spoken),
        _ => command_line::run_command(spoken),
    }
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

/// Returns the whole command line, including all subcommands.
fn whole(spoken: &[ProtocolOptions]) -> Command {
    let commands = ["run", "demo", "calibrate", "plan", "doctor", "report", "target", "probe", "ui"];
    let named = |name| described(name, spoken).name(name).bin_name(format!("brunt {name}"));
    command_line::run_command(spoken).subcommands(commands.map(named))
}

/// Returns the script of `brunt completions SHELL`, which completes commands and options.
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
            let trouble = other.map_or("the name of a shell is missing".into(), |other| {
                format!("`{other}` is not a shell brunt supports")
            });
            return Err(UsageError::new("completions", format!("{trouble}; use one of bash, zsh, fish")));
        }
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(spoken), "brunt", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Returns the manual page of `brunt man` in roff.
///
/// # Errors
/// There is an unexpected argument.
pub fn manual(words: &[String], spoken: &[ProtocolOptions]) -> Result<String, UsageError> {
    if let Some(word) = words.first() {
        return Err(UsageError::new(word, "is an extra argument; use `brunt man`"));
    }
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command_line::run_command(spoken)).render(&mut page);
    Ok(String::from_utf8_lossy(&page).into_owned())
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
        let text = short();
        assert!(text.lines().count() <= 36 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let command = command_line::run_command(&spoken());
        let known: Vec<String> =
            command.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|word| word.starts_with("--")) {
            assert!(known.contains(&word.to_owned()) || word == "--", "{word} of the short help is no option");
        }
    }

    #[test]
    fn a_topic_shows_its_options_in_its_own_words() {
        let of = |topic: &str| help(&words(topic), &spoken()).unwrap();
        assert!(of("load").contains("--stage") && !of("load").contains("--header"));
        let grpc = of("grpc");
        assert!(grpc.contains("--proto") && grpc.contains("metadata") && !grpc.contains("[grpc:"), "{grpc}");
        assert!(of("http").contains("--redirects") && !of("http").contains("--proto"));
        assert!(of("all").contains("Request (http):") && of("").contains("Topics: load,"));
        assert_eq!(
            help(&words("htpt"), &spoken()).unwrap_err().to_string(),
            "htpt: is not a topic; use `brunt help http` if you meant that"
        );
        assert!(
            help(&words("nonsense"), &spoken())
                .unwrap_err()
                .to_string()
                .starts_with("nonsense: is not a topic; use one of load")
        );
    }

    #[test]
    fn shells_and_man_know_every_option() {
        for shell in ["bash", "zsh", "fish"] {
            let script = completions(&words(shell), &spoken()).unwrap();
            for word in ["rate", "objective", "proto", "backlog", "report"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
        assert!(
            completions(&words("tcsh"), &spoken()).unwrap_err().to_string().ends_with("use one of bash, zsh, fish")
        );
        let page = manual(&[], &spoken()).unwrap();
        assert!(page.contains(".TH") && page.contains("\\-\\-objective"), "{page}");
    }
}
