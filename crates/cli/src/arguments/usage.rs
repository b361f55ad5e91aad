//! clap's complaints as one sentence of ours: which option, what was wrong, what would be right.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use wire::Complaint;

/// What people who come from another tool type, and what it is called here.
const HABITS: [(&str, &str); 13] = [
    ("-R", "-r 1000/s"),
    ("--rps", "-r 1000/s"),
    ("-q", "-r 1000/s"),
    ("--qps", "-r 1000/s"),
    ("-z", "-d 10s"),
    ("-C", "-c 10 (closed load) or --max-connections 10 (open load)"),
    ("--connections", "-c 10 (closed load) or --max-connections 10 (open load)"),
    ("--concurrency", "-c 10"),
    ("--threads", "-w 2"),
    ("-m", "-X POST"),
    ("--method", "-X POST"),
    ("-v", "--debug"),
    ("--json", "--format json"),
];

/// One sentence for what clap found wrong in a command line.
pub fn complaint(error: &clap::Error) -> Complaint {
    let option = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let name = option.split([' ', '=']).next().unwrap_or_default().to_string();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(error, &name),
        ErrorKind::InvalidValue if context(error, ContextKind::InvalidValue).is_none_or(|v| v.is_empty()) => {
            Complaint::new(name, format!("a value is missing; write {option}"))
        }
        ErrorKind::TooManyValues => Complaint::new(name, format!("takes no value; write {}", flag_of(&option))),
        ErrorKind::ArgumentConflict => Complaint::new(name, "is given twice; write it once"),
        ErrorKind::InvalidUtf8 => Complaint::new("arguments", "are not all UTF-8; write them in UTF-8"),
        _ => Complaint::new(if name.is_empty() { "arguments".into() } else { name }, first_line(error)),
    }
}

fn unknown(error: &clap::Error, name: &str) -> Complaint {
    if name == "--latency" {
        return Complaint::new(name, "is not an option of brunt; leave it out: the distribution is always shown");
    }
    if let Some((_, ours)) = HABITS.iter().find(|(theirs, _)| *theirs == name) {
        return Complaint::new(name, format!("is not an option of brunt; write {ours}"));
    }
    match context(error, ContextKind::SuggestedArg) {
        Some(near) => Complaint::new(name, format!("is not an option of brunt; write {near} if you meant that")),
        None => Complaint::new(name, "is not an option of brunt; see `brunt --help` for those there are"),
    }
}

fn flag_of(option: &str) -> &str {
    option.split([' ', '=']).next().unwrap_or(option)
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
