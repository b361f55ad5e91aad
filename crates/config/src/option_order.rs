//! Mistakes in the order and the signs of words that clap would describe as unknown options.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use clap::{Arg, Command};

use super::command_line::{COMMANDS, TEXT_COMMANDS};
use super::urls;

/// Returns the error about a command that stands behind options: `brunt --no-color explain N2`.
pub fn late_command(line: &[String], run: &Command) -> Option<UsageError> {
    let mut words = line.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            let is_command = COMMANDS.contains(&word.as_str()) || TEXT_COMMANDS.contains(&word.as_str());
            return urls::refuse_command_words(word, &COMMANDS).err().filter(|_| is_command);
        }
        if takes_next(run, word) {
            words.next();
        }
    }
    None
}

/// Returns the error about a negative value, which clap would take for an unknown option: `-d -5s`.
pub fn negative_value(line: &[String], command: &Command) -> Option<UsageError> {
    let is_negative = |word: &str| {
        let value = word.strip_prefix('-').filter(|value| value.starts_with(|c: char| c.is_ascii_digit()));
        value.is_some_and(|value| value.parse::<f64>().is_err())
    };
    let pair = line.windows(2).find(|pair| takes_next(command, &pair[0]) && is_negative(&pair[1]))?;
    let (value, right) = (&pair[1], pair[1].trim_start_matches('-'));
    Some(UsageError::new(
        &*pair[0],
        complaint!("`{value}` is negative; use a value such as {right}", "`{value}` 是负值；请写例如 {right} 的值"),
    ))
}

/// Returns `true` for an option whose value is the next word.
fn takes_next(command: &Command, word: &str) -> bool {
    let mut args = command.get_arguments().filter(|arg| arg.get_action().takes_values());
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => args.any(|arg| arg.get_long() == Some(long)),
        (None, Some(short)) => {
            let mut chars = short.chars();
            let (first, None) = (chars.next(), chars.next()) else { return false };
            first.is_some_and(|first| args.any(|arg: &Arg| arg.get_short() == Some(first)))
        }
        (None, None) => false,
    }
}
