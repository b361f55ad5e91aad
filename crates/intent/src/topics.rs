//! Help a screen at a time, and what shells and `man` make of the same options.

use clap::{Arg, Command};
use wire::Complaint;

use super::spoken::{self, Spoken};
use super::{COMMANDS, flags, help, keys, probing, serving, showing, ui};

/// Makes the options of a topic.
type Options = fn() -> Vec<Arg>;

/// Topics that are no protocol, with the options each shows.
const TOPICS: [(&str, Options); 6] = [
    ("load", flags::load),
    ("connection", flags::connection),
    ("tls", flags::tls),
    ("output", flags::output),
    ("generator", flags::generator),
    ("counters", flags::counters),
];

/// `brunt help [TOPIC]`.
///
/// # Errors
/// No such topic.
pub fn help(words: &[String], spoken: &[Spoken]) -> Result<String, Complaint> {
    let names =
        || TOPICS.iter().map(|(name, _)| *name).chain(spoken.iter().map(|(name, _)| *name)).chain(["flow", "all"]);
    let [topic] = words else {
        return match words {
            [] => Ok(format!("{}\n\nTopics: {}", short(), names().collect::<Vec<_>>().join(", "))),
            [_, second, ..] => Err(Complaint::new(second, "is one word too many; write `brunt help TOPIC`")),
            [_] => Ok(String::new()),
        };
    };
    if let Some((name, args)) = TOPICS.iter().find(|(name, _)| name == topic) {
        return Ok(page(format!("Options of a run: {name}."), args()));
    }
    if let Some(one) = spoken.iter().find(|(name, _)| name == topic) {
        return Ok(page(format!("Options of {} requests.", one.0), spoken::flags(std::slice::from_ref(one))));
    }
    match topic.as_str() {
        "all" | "run" => Ok(super::full(flags::run_command(spoken))),
        "flow" | "flows" | "scenario" | "scenarios" | "steps" => Ok(help::FLOW.into()),
        "demo" => Ok(super::full(showing::demo_command())),
        "calibrate" => Ok(super::full(showing::calibrate_command())),
        "report" => Ok(super::full(showing::report_command())),
        "target" => Ok(super::full(serving::command())),
        "probe" => Ok(super::full(probing::command())),
        "ui" => Ok(super::full(ui::command())),
        "plan" => Ok(super::full(flags::plan_command(spoken))),
        "doctor" => Ok(super::full(flags::doctor_command(spoken))),
        other => {
            let near = names().chain(COMMANDS).min_by_key(|name| keys::distance(other, name));
            let near = near.filter(|name| keys::distance(other, name) <= 2);
            let all = names().collect::<Vec<_>>().join(", ");
            let trouble = near.map_or(format!("is not a topic; write one of {all}"), |near| {
                format!("is not a topic; write `brunt help {near}` if you meant that")
            });
            Err(Complaint::new(other, trouble))
        }
    }
}

/// What fits a screen.
pub fn short() -> String {
    help::SCREEN.into()
}

/// Options under one heading.
fn page(about: String, args: Vec<Arg>) -> String {
    let args = args.into_iter().map(|arg| arg.help_heading("Options"));
    let mut command = Command::new("brunt").disable_help_flag(true).max_term_width(110).about(about).args(args);
    command = command.help_template("{about}\n\n{all-args}\n");
    command.render_help().to_string()
}

/// The whole command line, commands included.
fn whole(spoken: &[Spoken]) -> Command {
    let named = |name: &'static str, command: Command| command.name(name).bin_name(format!("brunt {name}"));
    flags::run_command(spoken)
        .subcommand(named("run", flags::run_command(spoken)))
        .subcommand(named("demo", showing::demo_command()))
        .subcommand(named("calibrate", showing::calibrate_command()))
        .subcommand(named("plan", flags::plan_command(spoken)))
        .subcommand(named("doctor", flags::doctor_command(spoken)))
        .subcommand(named("report", showing::report_command()))
        .subcommand(named("target", serving::command()))
        .subcommand(named("probe", probing::command()))
        .subcommand(named("ui", ui::command()))
}

/// `brunt completions SHELL`: a script that completes commands and options.
///
/// # Errors
/// No such shell.
pub fn completions(words: &[String], spoken: &[Spoken]) -> Result<String, Complaint> {
    use clap_complete::Shell;
    let shell = match words.first().map(String::as_str) {
        Some("bash") => Shell::Bash,
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        other => {
            let trouble =
                other.map_or("a shell is missing".into(), |other| format!("`{other}` is not a shell brunt knows"));
            return Err(Complaint::new("completions", format!("{trouble}; write one of bash, zsh, fish")));
        }
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(spoken), "brunt", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// `brunt man`: the manual page, as roff.
///
/// # Errors
/// A word too many.
pub fn manual(words: &[String], spoken: &[Spoken]) -> Result<String, Complaint> {
    if let Some(word) = words.first() {
        return Err(Complaint::new(word, "is one word too many; write `brunt man`"));
    }
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(flags::run_command(spoken)).render(&mut page);
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken() -> Vec<Spoken> {
        vec![
            ("http", wire::Protocol::options(&protocols::http::Http).to_vec()),
            ("grpc", wire::Protocol::options(&protocols::grpc::Grpc).to_vec()),
        ]
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let text = short();
        assert!(text.lines().count() <= 36 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let command = flags::run_command(&spoken());
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
            "htpt: is not a topic; write `brunt help http` if you meant that"
        );
        assert!(
            help(&words("nonsense"), &spoken())
                .unwrap_err()
                .to_string()
                .starts_with("nonsense: is not a topic; write one of load")
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
            completions(&words("tcsh"), &spoken()).unwrap_err().to_string().ends_with("write one of bash, zsh, fish")
        );
        let page = manual(&[], &spoken()).unwrap();
        assert!(page.contains(".TH") && page.contains("\\-\\-objective"), "{page}");
    }
}
