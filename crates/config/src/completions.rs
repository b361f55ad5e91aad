//! Completions for shells: what `clap_complete` generates, with what it gets wrong put right.

use clap::Command;
use clap_complete::Shell;

/// The line of the fish script with the options of every command, as `argparse` takes them.
const FISH_OPTIONS: &str = "    string join \\n ";
/// The end of the options of the zsh script, behind which commands are completed.
const ZSH_COMMANDS: &str = "\":: :_brunt_commands\" \\\n";

/// Returns the script of a shell for a command line.
pub fn script(shell: Shell, command: &mut Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "brunt", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Fish => fish(&script, command),
        Shell::Zsh => zsh(&script, command),
        _ => script,
    }
}

/// Leaves out option names that `argparse` refuses, with which nothing would be completed, and adds the values that the
/// generated conditions hide: those of an option that still waits for its value, and those of commands.
fn fish(script: &str, command: &Command) -> String {
    let taken = |word: &&str| !word.contains('.');
    let line = |line: &str| match line.strip_prefix(FISH_OPTIONS) {
        Some(words) => FISH_OPTIONS.to_owned() + &words.split(' ').filter(taken).collect::<Vec<_>>().join(" "),
        None => line.to_owned(),
    };
    let mut out = script.lines().map(|text| line(text) + "\n").collect::<String>();
    for arg in command.get_opts().filter(|arg| !arg.get_possible_values().is_empty()) {
        if let Some(long) = arg.get_long() {
            out += &format!("complete -c brunt -l {long} -x -a \"{}\"\n", values(arg));
        }
    }
    for sub in command.get_subcommands() {
        for arg in sub.get_positionals().filter(|arg| !arg.get_possible_values().is_empty()) {
            let when = format!("__fish_seen_subcommand_from {}", sub.get_name());
            out += &format!("complete -c brunt -n \"{when}\" -f -a \"{}\"\n", values(arg));
        }
    }
    out
}

fn values(arg: &clap::Arg) -> String {
    arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(" ")
}

/// Completes commands and files in the same place: the generated script takes the first word for a URL, and whatever
/// follows a command for options of a run. Behind a URL there are options of a run, and in place of files there are
/// files instead of the default, which is every program.
fn zsh(script: &str, command: &Command) -> String {
    let Some(at) = script.find(ZSH_COMMANDS) else { return script.to_owned() };
    let (before, behind) = script.split_at(at);
    let kept = before.trim_end().rfind("'::target").unwrap_or(before.len());
    let behind = behind.replacen("_brunt_commands", "_brunt_first", 1).replace("$line[2]", "$line[1]");
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let chosen = format!("case ${{${{(M)line[1]:#({})}}:-run}} in", names.join("|"));
    let behind = behind.replacen("case $line[1] in", &chosen, 1);
    let first = "(( $+functions[_brunt_first] )) ||\n_brunt_first() {\n    _brunt_commands\n    _files\n}\n\n";
    let files = |line: &str| match line.strip_suffix(":_default' \\") {
        Some(start) if line.starts_with("'*::") || start.ends_with(":FILE") => format!("{start}:_files' \\\n"),
        _ => format!("{line}\n"),
    };
    let script: String = format!("{}{behind}", &before[..kept]).lines().map(files).collect();
    match script.find("(( $+functions[_brunt_commands] ))") {
        Some(at) => format!("{}{first}{}", &script[..at], &script[at..]),
        None => script,
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn made(shell: Shell) -> String {
        let lang = Arg::new("lang").long("lang").value_parser(["en", "zh"]);
        let tls = Arg::new("tls").long("tlsv1.2").num_args(0);
        let target = Arg::new("target").num_args(0..);
        let explain = Command::new("explain").arg(Arg::new("word").value_parser(["N1", "N2"]));
        let output = Arg::new("output").long("output").value_name("FILE");
        let report = Command::new("report").args([output, Arg::new("file").num_args(0..)]);
        let mut whole = Command::new("brunt")
            .disable_help_subcommand(true)
            .args([lang, tls, target])
            .subcommands([explain, report]);
        script(shell, &mut whole)
    }

    #[test]
    fn fish_gets_no_name_it_refuses_and_all_values() {
        let script = made(Shell::Fish);
        let options = script.lines().find(|line| line.starts_with(FISH_OPTIONS)).expect("the options");
        assert!(options.contains("lang=") && !options.contains('.'), "{options}");
        assert!(script.contains("-l lang -x -a \"en zh\""), "{script}");
        assert!(script.contains("__fish_seen_subcommand_from explain\" -f -a \"N1 N2\""), "{script}");
    }

    #[test]
    fn zsh_takes_the_first_word_for_a_command_or_a_file() {
        let script = made(Shell::Zsh);
        assert!(script.contains("\":: :_brunt_first\"") && !script.contains("case $line"), "{script}");
        assert!(script.contains("case ${${(M)line[1]:#(explain|report)}:-run} in"), "{script}");
        for files in ["'--output=[]:FILE:_files' \\\n", "'*::file:_files' \\\n"] {
            assert!(script.contains(files), "{script}");
        }
    }
}
