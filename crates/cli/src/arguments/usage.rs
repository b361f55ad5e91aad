//! clap's complaints as one sentence of ours: which option, what was wrong, what would be right.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use wire::Complaint;

use super::keys::distance;

/// What people who come from another tool type, and what it is called here.
const HABITS: [(&str, &str); 17] = [
    ("--https", "https:// before the host"),
    ("--ssl", "https:// before the host"),
    ("--tls", "https:// before the host"),
    ("-R", "-r 1000/s"),
    ("--rps", "-r 1000/s"),
    ("-q", "--quiet to keep the screen empty, or -r 1000/s for a rate"),
    ("--body", "--data TEXT"),
    ("--qps", "-r 1000/s"),
    ("-z", "-d 10s"),
    ("-C", "-c N (users, a connection each), or with -r --max-connections N"),
    ("--connections", "-c N (users, a connection each), or with -r --max-connections N"),
    ("--concurrency", "-c 10"),
    ("--threads", "-w 2"),
    ("-m", "-X POST"),
    ("--method", "-X POST"),
    ("-v", "--debug"),
    ("--json", "--format json"),
];

/// One sentence for what clap found wrong in the line of `command`.
pub fn complaint(error: &clap::Error, command: &Command) -> Complaint {
    let option = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let (name, value) = option.split_once([' ', '=']).unwrap_or((option.as_str(), ""));
    let name = as_typed(name, command);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(error, &name, command),
        ErrorKind::InvalidValue if context(error, ContextKind::InvalidValue).is_none_or(|v| v.is_empty()) => {
            let trouble = format!("a value is missing; write {name} {}", value.trim_matches(['<', '>']));
            Complaint::new(name, trouble)
        }
        ErrorKind::TooManyValues => Complaint::new(&name, format!("takes no value; write {name}")),
        ErrorKind::ArgumentConflict => Complaint::new(name, "is given twice; write it once"),
        _ => Complaint::new(if name.is_empty() { "arguments".into() } else { name }, first_line(error)),
    }
}

/// A flag by its short name, where it has one: the name that people type and that all other complaints use.
fn as_typed(name: &str, command: &Command) -> String {
    let long = name.strip_prefix("--");
    let flag = command.get_arguments().find(|arg| long.is_some() && arg.get_long() == long);
    flag.and_then(clap::Arg::get_short).map_or_else(|| name.to_string(), |short| format!("-{short}"))
}

fn unknown(error: &clap::Error, name: &str, command: &Command) -> Complaint {
    if name == "--latency" {
        return Complaint::new(name, "is not an option of brunt; leave it out: the distribution is always shown");
    }
    if let Some((_, ours)) = HABITS.iter().find(|(theirs, _)| *theirs == name) {
        return Complaint::new(name, format!("is not an option of brunt; write {ours}"));
    }
    if !name.starts_with('-') {
        return Complaint::new(name, "is one word too many; leave it out");
    }
    if let Some((theirs, ours)) = nearly_a_habit(name, command) {
        return Complaint::new(name, format!("is not an option of brunt, nor is {theirs}; write {ours}"));
    }
    match context(error, ContextKind::SuggestedArg) {
        Some(near) => Complaint::new(name, format!("is not an option of brunt; write {near} if you meant that")),
        None => Complaint::new(name, "is not an option of brunt; see `brunt --help` for those there are"),
    }
}

/// A slip in a long name of [`HABITS`], where no flag of the command is as near. They are about runs.
fn nearly_a_habit(name: &str, command: &Command) -> Option<(&'static str, &'static str)> {
    let flags: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    let wrong = name.strip_prefix("--").filter(|_| flags.contains(&"users"))?;
    let far = |known: &str| distance(wrong, known.trim_start_matches('-'));
    let long = HABITS.iter().filter(|(theirs, _)| theirs.starts_with("--"));
    let (theirs, ours) = *long.min_by_key(|(theirs, _)| far(theirs))?;
    let nearest_flag = flags.iter().map(|flag| far(flag)).min();
    let near = far(theirs) <= 1 + wrong.len() / 8 && nearest_flag.is_none_or(|flag| far(theirs) < flag);
    near.then_some((theirs, ours))
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        other => Some(other.to_string()),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string()
}
