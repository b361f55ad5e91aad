//! Conversion of clap's errors to our own messages, which name the wrong option, the reason, and what to write instead.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::suggestions::distance;
use super::tool_options;
use crate::other_tools;

/// Converts an error of clap about the arguments of `command`.
pub fn complaint(error: &clap::Error, command: &Command, line: &[String]) -> UsageError {
    let option = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let (name, value) = option.split_once([' ', '=']).unwrap_or((option.as_str(), ""));
    let name = preferred_name(name, command);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(&name, command, line),
        ErrorKind::InvalidValue if context(error, ContextKind::InvalidValue).is_none_or(|v| v.is_empty()) => {
            let trouble = complaint!(
                "needs a value; use {name} {}",
                "需要一个值；请写 {name} {}",
                value.trim_matches(['<', '>'])
            );
            UsageError::new(name, trouble)
        }
        ErrorKind::TooManyValues => {
            UsageError::new(&name, complaint!("takes no value; use {name} alone", "不带值；请只写 {name}"))
        }
        ErrorKind::ArgumentConflict => {
            UsageError::new(name, complaint!("is given more than once; give it once", "重复出现；只写一次"))
        }
        _ => UsageError::new(if name.is_empty() { "arguments".into() } else { name }, first_line(error)),
    }
}

/// Returns an error for a long option written with a single dash, as in Go tools; `None` if there is none.
pub fn one_dash(line: &[String], command: &Command) -> Option<UsageError> {
    let own: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    // Equivalents of other tools' options exist only for runs.
    let name = tool_options::one_dash(line, &own).filter(|_| own.contains(&"users"))?;
    let hint = |name: &str, value| tool_options::hint(name, value, users_of(line));
    let value = value_of(line, name);
    let twice = ["-", name].concat();
    let ours = hint(name, value)
        .or_else(|| own.contains(&name.trim_start_matches('-')).then(|| complaint!("use {twice}", "请用 {twice}")))
        .or_else(|| hint(&twice, value))?;
    Some(with_translation(UsageError::new(name, unknown_option("", &ours)), name, line))
}

/// Completes an error about a bare number, which other tools accept as a number of threads or seconds. In `--timeout
/// 5`, it cannot mean threads.
pub fn explain_bare_number(complaint: UsageError, line: &[String]) -> UsageError {
    if let Some(value) = value_of(line, "--timeout").filter(|_| complaint.location == "-t")
        && let Err(trouble) = brunt_plan::quantity::positive_duration(value)
    {
        return UsageError::new("--timeout", trouble);
    }
    let bare = |name: &&str| value_of(line, name).is_some_and(|value| value.parse::<f64>().is_ok());
    match &complaint.location[..] {
        "-t" if bare(&"-t") => with_translation(complaint, "-t", line),
        // Tools to which `-d` is a body are no guess for a bare number.
        "-d" if ["-d", "--duration"].iter().any(bare) => {
            let timed = with_translation(complaint.clone(), "-d", line);
            if timed.to_string().contains(" -d ") { timed } else { complaint }
        }
        // The value may be a secret, so it is not repeated.
        "-d" if value_of(line, "-d").is_some_and(looks_like_a_body) => {
            let trouble = complaint!(
                "is the duration of the run, as in -d 10s; to send a body, as -d of curl does, use --data",
                "是压测的持续时间，例如 -d 10s；要像 curl 的 -d 那样发送正文，请用 --data"
            );
            UsageError { problem: trouble, ..complaint }
        }
        _ => complaint,
    }
}

/// Returns `true` for a value that is rather a body than a time.
fn looks_like_a_body(value: &str) -> bool {
    value.contains('=') || value.starts_with(['{', '[', '"', '<', '@'])
}

/// Adds the equivalent brunt command to an error if the whole command line is written for another tool.
pub fn with_translation(complaint: UsageError, option: &str, line: &[String]) -> UsageError {
    match other_tools::guess_tool(line, option) {
        None => complaint,
        Some(found) => {
            let (problem, tool) = (&complaint.problem, found.tool);
            let trouble = Complaint::new(
                format!("{problem}. If this is {tool}:"),
                format!("{}。如果这是 {tool} 的命令：", problem.zh()),
            );
            UsageError { problem: trouble, ..complaint }.with_lines(found.answer())
        }
    }
}

/// Returns the complaint about an option of another tool, or one that is nearly `near` of another tool.
fn unknown_option(near: &str, ours: &Complaint) -> Complaint {
    let (also_en, also_zh) = match near {
        "" => (String::new(), String::new()),
        near => (format!(", and so is {near}"), format!("，{near} 也是")),
    };
    Complaint::new(format!("unknown option{also_en}; {ours}"), format!("未知选项{also_zh}；{}", ours.zh()))
}

/// Returns the value of an option unknown to brunt: the text after `=` or after a short option, or the next word.
fn value_of<'a>(line: &'a [String], name: &str) -> Option<&'a str> {
    let at = line.iter().position(|word| word.starts_with(name))?;
    let rest = &line[at][name.len()..];
    match rest.strip_prefix('=') {
        Some(value) => Some(value),
        None if !rest.is_empty() => Some(rest),
        None => line.get(at + 1).map(String::as_str).filter(|value| !value.starts_with('-')),
    }
}

/// Returns the number of users that the line sets.
fn users_of(line: &[String]) -> Option<&str> {
    let mut given = ["-c", "--users", "--vus"].into_iter().filter_map(|name| value_of(line, name));
    given.find(|value| value.parse::<u32>().is_ok())
}

/// Returns the short name of a flag if it has one, because users type it and all other errors use it.
fn preferred_name(name: &str, command: &Command) -> String {
    let long = name.strip_prefix("--");
    let flag = command.get_arguments().find(|arg| long.is_some() && arg.get_long() == long);
    flag.and_then(clap::Arg::get_short).map_or_else(|| name.to_string(), |short| format!("-{short}"))
}

fn unknown(name: &str, command: &Command, line: &[String]) -> UsageError {
    if !name.starts_with('-') {
        return UsageError::new(name, complaint!("is an extra argument; leave it out", "是多余的参数；请去掉"));
    }
    let flags: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    // Equivalents of other tools' options exist only for runs.
    let runs = flags.contains(&"users");
    let value = value_of(line, name);
    if let Some(ours) = tool_options::hint(name, value, users_of(line)).filter(|_| runs) {
        return with_translation(UsageError::new(name, unknown_option("", &ours)), name, line);
    }
    let said = match nearest(name, &flags, runs) {
        Some((near, true)) => {
            complaint!("unknown option; use --{near} if you meant that", "未知选项；是否要用 --{near}？")
        }
        Some((near, false)) => {
            let near = format!("--{near}");
            let ours = tool_options::hint(&near, value, users_of(line)).unwrap_or_default();
            unknown_option(&near, &ours)
        }
        None => complaint!("unknown option; `brunt --help` lists all of them", "未知选项；`brunt --help` 列出全部选项"),
    };
    with_translation(UsageError::new(name, said), name, line)
}

/// Returns the most similar long name, and whether it is an option of brunt. One letter plus one in every six may
/// differ.
fn nearest<'a>(name: &str, flags: &[&'a str], runs: bool) -> Option<(&'a str, bool)> {
    let wrong = name.strip_prefix("--").filter(|wrong| wrong.len() > 2)?;
    let theirs = tool_options::long_names().filter(|_| runs).map(|known| (known.trim_start_matches('-'), false));
    let all = flags.iter().map(|flag| (*flag, true)).chain(theirs);
    // If several names are equally similar, brunt's own takes precedence.
    let (letters, near) =
        all.map(|known| (distance(wrong, known.0), known)).min_by_key(|(letters, known)| (*letters, !known.1))?;
    let most = (1 + wrong.len() / 6).min(wrong.len() / 3);
    (letters <= most).then_some(near)
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

#[cfg(test)]
mod tests {
    use super::super::command_line::run_command;
    use super::*;

    fn said(line: &str) -> String {
        let line: Vec<String> = line.split_whitespace().map(String::from).collect();
        let spoken = [("http", brunt_contract::Protocol::description(&brunt_protocols::http::Http).options.to_vec())];
        let command = run_command(&spoken, brunt_report::Lang::En);
        if let Some(complaint) = one_dash(&line, &command) {
            return complaint.to_string();
        }
        let error = command.clone().try_get_matches_from(std::iter::once(&String::new()).chain(&line)).unwrap_err();
        complaint(&error, &command, &line).to_string()
    }

    #[test]
    fn options_of_other_tools_are_translated_with_their_values() {
        for (line, wanted) in [
            ("--qps 5 h", "--qps: unknown option; use -r 5/s"),
            ("--rps=50 h", "--rps: unknown option; use -r 50/s"),
            ("--vus 20 h", "--vus: unknown option; use -c 20"),
            ("--host a.example h", "--host: unknown option; use -H 'Host: a.example'"),
            ("--threshold p99<1s h", "--threshold: unknown option; use --objective 'p99<1s'"),
            ("--num-requests 7 h", "--num-requests: unknown option; use -n 7"),
            ("--run-time 90 h", "--run-time: unknown option; use -d 90s"),
            (
                "--ramp-up 10s -c 50 h",
                "--ramp-up: unknown option; use --stage 10s:0..50, and --stage TIME:50 to stay there",
            ),
            ("--threshold p95<200 h", "--threshold: unknown option; use --objective 'p95<200ms'"),
            ("--threshold http_req_duration:p(95)<200 h", "--threshold: unknown option; use --objective 'p95<200ms'"),
            ("--threshold nonsense h", "--threshold: unknown option; use --objective 'p99<250ms'"),
            ("--http3 h", "--http3: unknown option; use --http 2: brunt does not support HTTP/3"),
            ("-p 10 h", "-p: unknown option; use --data-file FILE"),
            (
                "--threads 12 h",
                "--threads: unknown option; leave it out: brunt has a worker for each core; -w sets fewer",
            ),
            ("--spawn-rate 10 h", "--spawn-rate: unknown option; use --connect-rate 10/s"),
            ("--auth a:b h", "--auth: unknown option; use --user a:b"),
            ("--follow h", "--follow: unknown option; use -L, or --redirects N"),
            ("--disable-keepalive h", "--disable-keepalive: unknown option; use --no-keepalive"),
            ("-disable-keepalive h", "-disable-keepalive: unknown option; use --no-keepalive"),
            ("-T text/plain h", "-T: unknown option; use -H 'Content-Type: text/plain'"),
            ("-p body.json h", "-p: unknown option; use --data-file body.json"),
            ("-D body.json h", "-D: unknown option; use --data-file body.json"),
            ("-F a=b h", "-F: unknown option; use --form a=b"),
            ("-a me:pw h", "-a: unknown option; use --user me:pw"),
            ("-b a=1 h", "-b: unknown option; use --cookie a=1"),
            ("-j h", "-j: unknown option; use --format json"),
            ("-body x h", "-body: unknown option; use --data x"),
            ("-quiet h", "-quiet: unknown option; use --quiet"),
            ("-rate=5/s h", "-rate: unknown option; use --rate"),
        ] {
            assert_eq!(said(line), wanted, "{line}");
        }
        for (line, holds) in [
            ("-s a.lua h", "slots such as {counter}"),
            ("--socks5 proxy:1 h", "use -x socks5://proxy:1"),
            ("--html h", "use -o report.html"),
            ("--percentiles 99 h", "leave it out"),
        ] {
            assert!(said(line).contains(holds), "{line}: {}", said(line));
        }
    }

    #[test]
    fn far_names_get_no_suggestion_and_near_ones_do() {
        for line in ["--frobnicate h", "--qqq h", "--abc h", "--xyzzy h"] {
            assert!(said(line).ends_with("unknown option; `brunt --help` lists all of them"), "{}", said(line));
        }
        for (line, near) in [
            ("--objectve x h", "--objective"),
            ("--expct-status 200 h", "--expect-status"),
            ("--durration 5s h", "--duration"),
            ("--quite h", "--quiet"),
        ] {
            assert!(said(line).ends_with(&format!("unknown option; use {near} if you meant that")), "{}", said(line));
        }
    }

    #[test]
    fn the_whole_line_of_another_tool_is_answered_whole() {
        assert_eq!(
            said("-z 30s -c 20 -q 5 http://h/"),
            "-z: unknown option; use -d 30s. If this is hey:\n  brunt -r 100/s --max-connections 20 -d 30s -L http://h/"
        );
        assert!(!said("-z 30s --warmup 2s http://h/").contains('\n'));
        let typed = UsageError::new("-t", "4 is missing its unit; use `-w 4` for workers or `-t 4s`");
        let line: Vec<String> = ["-t4", "-c100", "-d30s", "http://h/"].map(String::from).into();
        let whole = explain_bare_number(typed, &line).to_string();
        assert!(whole.contains("If this is wrk:\n  brunt -c 100 -d 30s http://h/"), "{whole}");
    }
}
