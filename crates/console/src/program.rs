//! The brunt binary as a child process: the same code as on the command line, isolated so that the secrets or a crash
//! of one plan affect neither other plans nor the console.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::problem::Problem;
use crate::run_control;

/// Maximum size of a child's output that is kept.
const SAID: u64 = 4 << 20;
/// Maximum size of a plan.
pub const LONGEST_PLAN: usize = 1 << 20;

/// The path of the program.
#[derive(Clone, Debug)]
pub struct BruntProgram(pub PathBuf);

/// The output of a child process.
#[derive(Clone, Debug)]
pub struct ChildOutput {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// Set if it took too long and was killed.
    pub timed_out: bool,
}

impl BruntProgram {
    /// Creates a command without the environment variables that would affect it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        command.env_remove(run_control::RECORD).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command until it exits, for at most `longest`.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub fn run(&self, command: &mut Command, longest: Duration) -> Result<ChildOutput, Problem> {
        let mut child =
            command.spawn().map_err(|error| Problem::machine(format!("brunt cannot be started ({error})")))?;
        let (out, err) = (read(child.stdout.take()), read(child.stderr.take()));
        let (status, late) = end(&mut child, longest)?;
        let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
        Ok(ChildOutput { code: status.code(), out: text(out), err: text(err), timed_out: late })
    }
}

/// Returns the error for a missing answer.
pub fn missing_output(answer: &ChildOutput) -> Problem {
    match answer.timed_out {
        true => Problem::unfit("time", "this took too long; can the target of the plan be reached?"),
        false => Problem::machine(format!(
            "brunt did not respond: {}",
            answer.err.lines().last().unwrap_or("it sent nothing")
        )),
    }
}

/// The beginnings of advice for a terminal on agents that cannot be had, and what a console advises instead.
const ADVICE: [(&str, &str); 2] = [
    (
        "; start agents (brunt agent …)",
        "; start agents on their machines (the page of the fleet has the command), or begin again once it shows enough of them as idle",
    ),
    (
        "；请启动施压机（brunt agent …）",
        "；请在各机器上启动施压机（命令见机群页面），或等该页面显示足够多的施压机空闲后再开始",
    ),
];

/// Returns the last message on a standard error, without what is for a terminal: the program's name, where its help is,
/// and options that a console does not have.
pub fn last_message(said: &str) -> String {
    let last =
        said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("brunt exited without a message").trim();
    let last = last.strip_prefix("brunt: ").unwrap_or(last);
    let last = last.strip_suffix(" (brunt --help)").unwrap_or(last);
    let found = ADVICE.iter().find_map(|(begins, own)| Some(format!("{}{own}", &last[..last.find(begins)?])));
    found.unwrap_or_else(|| last.to_owned())
}

/// Replaces the temporary path of the plan file in an error, and adds line and column.
pub fn normalize_error(value: &mut Value, plan: &Path) {
    let place = plan.display().to_string();
    let text = |value: &mut Value| {
        if let Value::String(text) = value {
            *text = text.replace(&place, "plan");
        }
    };
    ["place", "trouble"]
        .iter()
        .filter_map(|key| value.get_mut(*key).map(|_| *key))
        .collect::<Vec<_>>()
        .iter()
        .for_each(|key| {
            value.get_mut(*key).into_iter().for_each(text);
        });
    let numbered = value["place"].as_str().and_then(line_and_column);
    if let (Some((line, column)), Some(object)) = (numbered, value.as_object_mut()) {
        object.insert("line".into(), line.into());
        object.insert("column".into(), column.into());
    }
}

/// Parses `plan line 3 column 5 (rate)`.
fn line_and_column(place: &str) -> Option<(u64, Option<u64>)> {
    let number = |after: &str| place.split_once(after)?.1.split(' ').next()?.parse().ok();
    number(" line ").map(|line| (line, number(" column ")))
}

fn read(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // Output before an error is worth showing; excess output is read and discarded, so that the child does not
            // block.
            let _ = from.by_ref().take(SAID).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a child to exit, and kills it after `longest`; returns `true` with its status if it
/// was killed.
fn end(child: &mut Child, longest: Duration) -> Result<(ExitStatus, bool), Problem> {
    let until = Instant::now() + longest;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        if Instant::now() > until {
            let _ = child.kill();
            return Ok((child.wait()?, true));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_about_the_plan_and_its_line() {
        let mut value =
            serde_json::json!({ "ok": false, "place": "/x/7.yaml line 3 column 5 (rate)", "trouble": "see /x/7.yaml" });
        normalize_error(&mut value, Path::new("/x/7.yaml"));
        assert_eq!(value["place"], "plan line 3 column 5 (rate)");
        assert_eq!((&value["line"], &value["column"], &value["trouble"]), (&3.into(), &5.into(), &"see plan".into()));
        let mut other = serde_json::json!({ "ok": false, "place": "--rate", "trouble": "x" });
        normalize_error(&mut other, Path::new("/x/7.yaml"));
        assert_eq!(other.get("line"), None);
    }

    #[test]
    fn a_message_is_without_what_is_for_a_terminal() {
        assert_eq!(
            last_message("1 s\nbrunt: --agents: 3 cannot be had (brunt --help)\n\n"),
            "--agents: 3 cannot be had"
        );
        assert_eq!(last_message("killed"), "killed");
    }

    #[test]
    fn agents_that_cannot_be_had_are_looked_for_on_the_page_of_the_fleet() {
        let refused = "3".parse::<brunt_plan::AgentSelection>().unwrap().choose(&[]).unwrap_err();
        for (said, page) in [(&*refused.to_string(), "the page of the fleet"), (refused.zh(), "机群页面")] {
            assert!(said.contains("--agents-wait"), "{said}");
            let shown = last_message(&format!("brunt: --agents: {said} (brunt --help)"));
            assert!(
                shown.contains(page) && !shown.contains("--agents-wait") && !shown.contains("brunt fleet"),
                "{shown}"
            );
            assert!(shown.starts_with("--agents: "), "{shown}");
        }
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let shell = BruntProgram("sh".into());
        let mut command = shell.command();
        command.args(["-c", "echo so far; exec sleep 60"]);
        let answer = shell.run(&mut command, Duration::from_millis(300)).unwrap();
        assert!(answer.timed_out && answer.code.is_none() && answer.out == "so far\n", "{answer:?}");
        let mut command = shell.command();
        command.args(["-c", "echo no >&2; exit 7"]);
        let answer = shell.run(&mut command, Duration::from_secs(60)).unwrap();
        assert_eq!((answer.code, &*answer.err, answer.timed_out), (Some(7), "no\n", false));
    }
}
