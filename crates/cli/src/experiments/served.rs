//! What the console asks about experiments: whether a command line can be run, and what a record says so far.

use std::path::Path;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_config::{Command, Defaults, shell_words};
use brunt_console::CheckedExperiment;
use brunt_contract::{Protocol, UsageError};
use brunt_engine::Stop;
use brunt_experiment::record::{ExperimentHead, ExperimentOutcome};
use brunt_experiment::report::{PageHead, page_lines, write};
use brunt_experiment::runner::{RecordedRunner, TrialRunner};
use brunt_measure::Nanos;
use brunt_report::Lang;

use super::{AskedExperiment, page_head};

/// Options that the console gives itself, and whether a value follows.
const GIVEN: [(&str, bool); 5] =
    [("--record", true), ("--resume", true), ("--lang", true), ("--quiet", false), ("--yes", false)];

/// Parses a command line as a shell would; nothing is sent.
///
/// # Errors
/// Returns an error if it is wrong, or asks for more than an experiment and its record.
pub fn checked(
    command: &str,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
    lang: Lang,
) -> Result<CheckedExperiment, UsageError> {
    let words = shell_words(command).map_err(|why| UsageError::new("command", why))?;
    for (option, _) in GIVEN {
        if words.iter().any(|word| word.split('=').next() == Some(option)) {
            let why = complaint!("is given by the console; leave it out", "由控制台设置；请去掉");
            return Err(UsageError::new(option, why));
        }
    }
    let outlook = match brunt_config::read(&words, protocols, defaults)? {
        Command::Find(mut settings) => outlook((&mut *settings).into(), lang)?,
        Command::Compare(settings) if settings.baseline.is_some() => return Err(of_command_line("--baseline")),
        Command::Compare(mut settings) => outlook((&mut *settings).try_into()?, lang)?,
        Command::Sweep(mut settings) => outlook((&mut *settings).into(), lang)?,
        Command::Ladder(mut settings) => outlook((&mut *settings).into(), lang)?,
        _ => return Err(UsageError::new("command", none())),
    };
    Ok(CheckedExperiment { words, outlook })
}

fn none() -> Complaint {
    complaint!(
        "is no experiment; begin with find, compare, sweep or ladder",
        "不是实验；请以 find、compare、sweep 或 ladder 开头"
    )
}

/// Says what will be done. Files and shell commands are refused: whoever may use the console may not, for that reason
/// alone, write files and run programs on its machine.
fn outlook(asked: AskedExperiment<'_>, lang: Lang) -> Result<String, UsageError> {
    for subject in &asked.subjects {
        let intent = &subject.intent;
        let option = if subject.around.iter().any(Option::is_some) {
            "--before"
        } else if !intent.presentation.files.is_empty() {
            "-o"
        } else if intent.record.is_some() {
            "--record"
        } else {
            continue;
        };
        return Err(of_command_line(option));
    }
    let limit = asked.subjects.first().and_then(|subject| subject.intent.run_timeout);
    Ok(asked.experiment.outlook(limit, lang))
}

fn of_command_line(option: &str) -> UsageError {
    UsageError::new(
        option,
        complaint!(
            "is for the command line; from the console, no files are written and no programs run",
            "仅用于命令行：控制台不写文件，也不执行程序"
        ),
    )
}

/// Reads an experiment from its record, as far as that goes.
fn read(record: &Path, lang: Lang) -> Result<(ExperimentHead, Nanos, ExperimentOutcome), UsageError> {
    let (mut head, mut runner) = RecordedRunner::read(record)?;
    let found = head.experiment.conduct(&mut runner, &Stop::default(), (&mut |_| {}, lang))?;
    head.command = as_typed(head.command);
    Ok((head, runner.elapsed(), found))
}

/// Returns what a record of an experiment says.
///
/// # Errors
/// Returns an error that names the file if it cannot be read.
pub fn outcome(record: &Path) -> Result<ExperimentOutcome, UsageError> {
    read(record, Lang::En).map(|(.., found)| found)
}

/// Leaves out of a command line what the console added.
fn as_typed(command: Vec<String>) -> Vec<String> {
    let mut rest = command.into_iter();
    // The program and the kind.
    let mut typed: Vec<String> = rest.by_ref().take(2).collect();
    let mut rest = rest.peekable();
    while let Some((_, has_value)) = rest.peek().and_then(|word| GIVEN.iter().find(|(option, _)| word == option)) {
        rest.next();
        if *has_value {
            rest.next();
        }
    }
    typed.extend(rest);
    typed
}

/// Returns the data of the page of an experiment, from its record so far.
///
/// # Errors
/// Returns an error if the record cannot be read.
pub fn page(record: &Path, is_live: bool) -> Result<String, UsageError> {
    let (head, _, found) = read(record, Lang::En)?;
    let head = PageHead { live: is_live, ..page_head(&head) };
    filled(|out| page_lines(&head, found.reported(), out)).map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// Returns an experiment in the format of this name.
///
/// # Errors
/// Returns an error if the record cannot be read.
pub fn document(record: &Path, format: &str, lang: Lang) -> Result<Vec<u8>, UsageError> {
    let (head, took, found) = read(record, lang)?;
    filled(|out| write(format, (&page_head(&head), took), found.reported(), lang, out))
}

fn filled(make: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<Vec<u8>, UsageError> {
    let mut out = Vec::new();
    make(&mut out).map_err(|error| UsageError::new("document", error.to_string()))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Vec<String> {
        as_typed(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn what_the_console_added_is_not_shown() {
        let all = ["brunt", "find", "--record", "/x", "--quiet", "--lang", "zh", "--yes", "p99<5ms", "--yes", "u"];
        assert_eq!(typed(&all), ["brunt", "find", "p99<5ms", "--yes", "u"]);
        assert_eq!(typed(&["brunt", "sweep", "-c", "1,2", "u"]), ["brunt", "sweep", "-c", "1,2", "u"]);
        assert_eq!(typed(&["brunt", "find", "--resume", "/x", "--lang", "en", "u"]), ["brunt", "find", "u"]);
        assert_eq!(typed(&["brunt"]), ["brunt"]);
    }
}
