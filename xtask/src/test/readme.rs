//! Runs every `sh` block of the documents (README.md, docs/ …) against the built program, so that every documented
//! command works.
//!
//! A block is one bash script, run in a scratch folder with `brunt` on the path and the built-in target answering at
//! 127.0.0.1:8080. Words after `sh` change that: `exit=10` expects that code, `skip=REASON` skips the block for
//! that reason (underscores for spaces).

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::StepOutcome;
use crate::{links, places};

/// Timeout of a block, in seconds.
const LONGEST: &str = "60";
/// Exit code of brunt when its results are not trusted.
const NOT_TRUSTED: i32 = 20;
/// Maximum number of runs of a block that ends with [`NOT_TRUSTED`].
const TRIES: u32 = 3;
/// Number of output lines shown for a failed block: enough for a whole summary with its reasons.
const SHOWN: usize = 40;
/// Address of the service under test in the documents.
const TARGET: &str = "127.0.0.1:8080";

/// Kills the background jobs of a block when it ends, even if it fails midway.
const TIDY: &str = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";

/// A fenced `sh` block of a document.
#[derive(Debug, PartialEq)]
struct ShellBlock {
    line: usize,
    script: String,
    exit: i32,
    skip: Option<String>,
}

/// Runs every block of every document.
pub(super) fn check() -> StepOutcome {
    match run_all() {
        Ok((0, _)) => StepOutcome::Skipped("no document has a command".into()),
        Ok((ran, left_out)) => {
            println!("{ran} blocks ran, {left_out} skipped");
            StepOutcome::Passed
        }
        Err(why) => StepOutcome::Failed(why),
    }
}

/// Number of blocks run concurrently; they mostly wait.
const CONCURRENCY: usize = 4;

/// The location of a block to run, and the block.
type LocatedBlock = (String, ShellBlock);

fn run_all() -> Result<(usize, usize), String> {
    let (mut to_run, mut left_out) = (Vec::new(), 0);
    for document in links::documents_of(&places::root()) {
        let text = fs::read_to_string(&document).map_err(|e| format!("cannot read {}: {e}", document.display()))?;
        for block in blocks(&text) {
            let place =
                format!("{}:{}", document.strip_prefix(places::root()).unwrap_or(&document).display(), block.line);
            if let Some(reason) = &block.skip {
                println!("{place}: skipped, {reason}");
                left_out += 1;
                continue;
            }
            to_run.push((place, block));
        }
    }
    if to_run.is_empty() {
        return Ok((0, left_out));
    }
    let _target = ReadmeTarget::start()?;
    let fallen = run_concurrently(&to_run);
    // Running a failed block again alone shows whether a concurrent block caused the failure.
    let wrong = fallen.into_iter().filter_map(|(place, block)| {
        println!("{place}, again, alone");
        run_with_retries(block).err().map(|why| format!("{place}: {why}"))
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok((to_run.len(), left_out)) } else { Err(wrong.join("\n  ")) }
}

/// Runs blocks concurrently; returns those that failed.
fn run_concurrently(to_run: &[LocatedBlock]) -> Vec<&LocatedBlock> {
    let next = AtomicUsize::new(0);
    let fallen = Mutex::new(Vec::new());
    let work = || {
        while let Some(placed) = to_run.get(next.fetch_add(1, Ordering::Relaxed)) {
            println!("{}", placed.0);
            if run_with_retries(&placed.1).is_err() {
                fallen.lock().unwrap_or_else(PoisonError::into_inner).push(placed);
            }
        }
    };
    std::thread::scope(|scope| (0..CONCURRENCY).for_each(|_| drop(scope.spawn(work))));
    fallen.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Parses the `sh` blocks of a document; a leading `$ ` of a line is a prompt.
fn blocks(text: &str) -> Vec<ShellBlock> {
    let mut found: Vec<ShellBlock> = Vec::new();
    let mut open = false;
    let mut ours = false;
    for (number, line) in text.lines().enumerate() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            open = !open;
            ours = false;
            let mut words = fence.split_whitespace();
            if open && words.next() == Some("sh") {
                ours = true;
                let mut block = ShellBlock { line: number + 1, script: String::new(), exit: 0, skip: None };
                for word in words {
                    match word.split_once('=') {
                        Some(("exit", code)) => block.exit = code.parse().unwrap_or(0),
                        Some(("skip", reason)) => block.skip = Some(reason.replace('_', " ")),
                        _ => {}
                    }
                }
                found.push(block);
            }
        } else if ours && let Some(block) = found.last_mut() {
            block.script.push_str(line.strip_prefix("$ ").unwrap_or(line));
            block.script.push('\n');
        }
    }
    found
}

/// Runs a block, and runs it again if a run in it was not trusted: a disturbance passes, an error in the document does
/// not.
fn run_with_retries(block: &ShellBlock) -> Result<(), String> {
    let mut ended = run_block(block);
    for _ in 1..TRIES {
        if !matches!(ended, Err((Some(NOT_TRUSTED), ..))) {
            break;
        }
        ended = run_block(block);
    }
    match ended {
        Err((Some(NOT_TRUSTED), last, _)) if is_doubted_for_the_generator_alone(&last) => {
            println!("  this machine is too busy for a trusted run, and brunt reports it");
            Ok(())
        }
        other => other.map_err(|(.., why)| why),
    }
}

/// Returns `true` if every reason against the run of this document concerns the generator itself.
fn is_doubted_for_the_generator_alone(document: &Value) -> bool {
    let reasons = document["trust"]["reasons"].as_array().into_iter().flatten();
    let mut failing = reasons.filter(|reason| reason["grade"] == "fail").peekable();
    let of_generator = |reason: &Value| reason["code"].as_str().is_some_and(|code| code.starts_with("generator_"));
    failing.peek().is_some() && failing.all(of_generator)
}

/// Exit code of a block, if it is not the expected one, the document of its last run, and the output.
type FailedBlock = (Option<i32>, Value, String);

/// Runs the script of a block.
fn run_block(block: &ShellBlock) -> Result<(), FailedBlock> {
    let broken = |why| (None, Value::Null, why);
    static BLOCKS: AtomicUsize = AtomicUsize::new(0);
    let folder = places::scratch("readme").map_err(broken)?;
    // The runs of this block are kept apart from those of the one beside it.
    let state = folder.join(format!(".state-{}", BLOCKS.fetch_add(1, Ordering::Relaxed)));
    // There is one from an earlier check, or none.
    let _ = fs::remove_dir_all(&state);
    let program = places::brunt("debug");
    let beside = program.parent().unwrap_or(&program).display().to_string();
    let output = Command::new("timeout")
        .args([LONGEST, "bash", "-euo", "pipefail", "-c", &format!("{TIDY}{}", block.script)])
        .env("PATH", format!("{beside}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("XDG_STATE_HOME", &state)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| broken(format!("cannot start bash: {e}")))?;
    if output.status.code() == Some(block.exit) {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = told.lines().collect();
    let tail = lines[lines.len().saturating_sub(SHOWN)..].join("\n    ");
    let why = format!("ended with {} instead of {}\n    {tail}", output.status, block.exit);
    Err((output.status.code(), last_run(&state), why))
}

/// Returns the document of the last run kept in a folder; null if there is none.
fn last_run(state: &Path) -> Value {
    let mut report = Command::new(places::brunt("debug"));
    report.args(["report", "--format", "json"]).env("XDG_STATE_HOME", state).stdin(Stdio::null());
    let output = report.output().map(|output| output.stdout).unwrap_or_default();
    serde_json::from_slice(&output).unwrap_or_default()
}

/// The built-in target used by the documents, killed on drop.
struct ReadmeTarget(Child);

impl ReadmeTarget {
    fn start() -> Result<Self, String> {
        let child = Command::new(places::brunt("debug"))
            .args(["target", TARGET])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start the target: {e}"))?;
        let target = Self(child);
        let began = Instant::now();
        while std::net::TcpStream::connect(TARGET).is_err() {
            if began.elapsed() > Duration::from_secs(10) {
                return Err(format!("`brunt target {TARGET}` did not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(target)
    }
}

impl Drop for ReadmeTarget {
    fn drop(&mut self) {
        // An error means that the process has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_busy_machine_is_forgiven() {
        let reason = |code: &str, grade: &str| json!({ "code": code, "grade": grade });
        let of = |reasons: &[Value]| is_doubted_for_the_generator_alone(&json!({ "trust": { "reasons": reasons } }));
        assert!(of(&[reason("generator_late", "fail"), reason("outage", "warn")]));
        assert!(!of(&[reason("generator_late", "fail"), reason("outage", "fail")]));
        assert!(!of(&[reason("generator_late", "warn")]));
        assert!(!of(&[]));
    }

    #[test]
    fn reads_blocks() {
        let text = "\
a\n```sh\n$ brunt a \\\n  -c 1\nbrunt b\n```\n```text\nbrunt c\n```\n```sh exit=10\nbrunt d\n```\n```sh skip=needs_a_browser\nbrunt e\n```\n";
        let block = |line, script: &str, exit, skip: Option<&str>| ShellBlock {
            line,
            script: script.into(),
            exit,
            skip: skip.map(str::to_owned),
        };
        assert_eq!(
            blocks(text),
            [
                block(2, "brunt a \\\n  -c 1\nbrunt b\n", 0, None),
                block(10, "brunt d\n", 10, None),
                block(13, "brunt e\n", 0, Some("needs a browser")),
            ]
        );
    }
}
