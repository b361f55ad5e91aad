//! brunt itself as a child process: what the console asks of it is answered by the same code as on the command line, and nothing of
//! what one plan does (its secrets, its crash) reaches another or the console.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::driving;
use crate::problem::Problem;

/// So much of what a child says is kept.
const SAID: u64 = 4 << 20;
/// The longest plan.
pub const LONGEST_PLAN: usize = 1 << 20;

/// The program.
#[derive(Clone, Debug)]
pub struct Program(pub PathBuf);

/// What a child answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its exit code; None: a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// It took too long and was ended.
    pub late: bool,
}

impl Program {
    /// A command of it, without what the environment might tell it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        command.env_remove(driving::RECORD).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, which comes within `longest`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn ask(&self, command: &mut Command, longest: Duration) -> Result<Answer, Problem> {
        let mut child =
            command.spawn().map_err(|error| Problem::machine(format!("brunt cannot be started ({error})")))?;
        let (out, err) = (read(child.stdout.take()), read(child.stderr.take()));
        let (status, late) = end(&mut child, longest)?;
        let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
        Ok(Answer { code: status.code(), out: text(out), err: text(err), late })
    }
}

/// Why there is no answer.
pub fn unanswered(answer: &Answer) -> Problem {
    match answer.late {
        true => Problem::unfit("time", "this took too long; can the target of the plan be reached?"),
        false => Problem::machine(format!(
            "brunt did not respond: {}",
            answer.err.lines().last().unwrap_or("it sent nothing")
        )),
    }
}

/// What a plan file is called here says nothing to its author; the line does.
pub fn tidy(value: &mut Value, plan: &Path) {
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

/// `plan line 3 column 5 (rate)`
fn line_and_column(place: &str) -> Option<(u64, Option<u64>)> {
    let number = |after: &str| place.split_once(after)?.1.split(' ').next()?.parse().ok();
    number(" line ").map(|line| (line, number(" column ")))
}

fn read(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What came before an error is worth showing; what is too much is read and forgotten, so that nobody waits.
            let _ = from.by_ref().take(SAID).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Its end; after `longest` it is ended.
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
        tidy(&mut value, Path::new("/x/7.yaml"));
        assert_eq!(value["place"], "plan line 3 column 5 (rate)");
        assert_eq!((&value["line"], &value["column"], &value["trouble"]), (&3.into(), &5.into(), &"see plan".into()));
        let mut other = serde_json::json!({ "ok": false, "place": "--rate", "trouble": "x" });
        tidy(&mut other, Path::new("/x/7.yaml"));
        assert_eq!(other.get("line"), None);
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let shell = Program("sh".into());
        let mut command = shell.command();
        command.args(["-c", "echo so far; exec sleep 60"]);
        let answer = shell.ask(&mut command, Duration::from_millis(300)).unwrap();
        assert!(answer.late && answer.code.is_none() && answer.out == "so far\n", "{answer:?}");
        let mut command = shell.command();
        command.args(["-c", "echo no >&2; exit 7"]);
        let answer = shell.ask(&mut command, Duration::from_secs(60)).unwrap();
        assert_eq!((answer.code, &*answer.err, answer.late), (Some(7), "no\n", false));
    }
}
