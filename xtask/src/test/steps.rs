//! The steps of `cargo xtask test`, in their order.
//!
//! Nothing is compiled twice: all steps use the dev profile, and the end-to-end tests use the
//! `brunt` built with it.

use std::process::Command;

use super::{StepOutcome, StepProgress, TestStep, readme, supplies, web};
use crate::{compiler, floors, generate, history, install, kept_out, links, map, places, shell, tidy};

/// Cargo arguments for the tests: the whole workspace, so that all share one build.
const TEST: [&str; 3] = ["test", "--workspace", "--no-fail-fast"];

/// Maximum number of failures that may be due to concurrent tests.
const UNSTEADY_MOST: usize = 4;

pub(super) const STEPS: [TestStep; 12] = [
    TestStep { name: "format", what: "cargo fmt --check", after: &[], run: format },
    TestStep {
        name: "floors",
        what: "a crate uses only floors below its own, and no engine of the link is in brunt",
        after: &[],
        run: |_| of(floors::check().and_then(|()| kept_out::check())),
    },
    TestStep {
        name: "tidy",
        what: "rules for sources and commit subjects",
        after: &[],
        run: |_| of(tidy::check().and_then(|()| history::check())),
    },
    TestStep {
        name: "links",
        what: "links of the documents, and the map",
        after: &[],
        run: |_| of(links::check().and_then(|()| map::check())),
    },
    TestStep { name: "build", what: "all targets and their documentation, without warnings", after: &[], run: build },
    TestStep {
        name: "tools",
        what: "programs used by the tests, fetched in the background",
        after: &[],
        run: supplies::wait,
    },
    TestStep {
        name: "generated",
        what: "generated files are up to date",
        after: &["build"],
        run: |_| of(generate::compare()),
    },
    TestStep { name: "unit", what: "unit tests", after: &["build"], run: unit },
    TestStep { name: "e2e", what: "simulation and end-to-end tests", after: &["build"], run: end_to_end },
    TestStep { name: "readme", what: "every command of the documentation", after: &["build"], run: documentation },
    TestStep { name: "web", what: "the pages: up to date, correct, usable", after: &["build"], run: web::finish },
    TestStep { name: "demo", what: "brunt demo", after: &["build"], run: demo },
];

fn of(outcome: Result<(), String>) -> StepOutcome {
    match outcome {
        Ok(()) => StepOutcome::Passed,
        Err(why) => StepOutcome::Failed(why),
    }
}

fn format(_: &mut StepProgress) -> StepOutcome {
    of(shell::run(&mut shell::cargo(&["fmt", "--all", "--check"])))
}

/// Compiles everything, the only time in the check; clippy and rustdoc run on each crate of the
/// workspace in the same pass.
fn build(_: &mut StepProgress) -> StepOutcome {
    of(compiler::linting(&generate::BUILD).and_then(|mut build| shell::run(&mut build)))
}

fn unit(progress: &mut StepProgress) -> StepOutcome {
    // Beside unit tests, which do not notice it.
    web::begin_early(progress);
    match progress.quick {
        true => tests(progress, &["--lib", "--bins", "--", "--skip", "random_"]),
        false => tests(progress, &["--lib", "--bins"]),
    }
}

/// Runs the end-to-end tests. Tests whose name contains the name of a program need that program.
fn end_to_end(progress: &mut StepProgress) -> StepOutcome {
    // Checked again here, because this step can be run alone.
    let missing = install::missing(install::FOR_TESTS);
    // Three threads per core of a small machine, because the tests mostly wait for their child
    // processes.
    let mut arguments = vec!["--test", "*", "--", "--test-threads=6"];
    for program in &missing {
        eprintln!("SKIPPING every test whose name contains `{program}`: it is not installed");
        arguments.extend(["--skip", *program]);
    }
    match tests(progress, &arguments) {
        StepOutcome::Passed if !missing.is_empty() => {
            StepOutcome::Skipped(format!("in part: no {}", missing.join(", ")))
        }
        verdict => verdict,
    }
}

/// Runs test programs of the whole workspace, so that all share one build, and counts their tests.
fn tests(progress: &mut StepProgress, which: &[&str]) -> StepOutcome {
    let mut command = match compiler::linting(&TEST) {
        Ok(command) => command,
        Err(why) => return StepOutcome::Failed(why),
    };
    command.args(which).env("BRUNT", places::brunt("debug"));
    if progress.quick {
        command.env("PROPTEST_CASES", "16");
    }
    let mut fallen = Vec::new();
    let outcome = shell::watch(&mut command, |line| {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            fallen.push(name.to_owned());
        }
        let (passed, failed) = counted(line);
        progress.tests_passed += passed;
        progress.tests_failed += failed;
    });
    match fallen.len() {
        0 => of(outcome),
        1..=UNSTEADY_MOST if !progress.quick => alone(progress, which, &fallen),
        _ => StepOutcome::Failed(fallen.join(", ")),
    }
}

/// Runs failed tests again, one at a time, to distinguish real failures from those caused by an
/// overloaded two-core machine. A test that passes alone is listed in the summary, because it needs
/// fixing.
fn alone(progress: &mut StepProgress, which: &[&str], fallen: &[String]) -> StepOutcome {
    println!("\nagain, alone: {}", fallen.join(", "));
    let which = which.iter().take_while(|word| **word != "--");
    let mut command = match compiler::linting(&TEST) {
        Ok(command) => command,
        Err(why) => return StepOutcome::Failed(why),
    };
    command.args(which).args(["--", "--exact", "--test-threads=1"]).args(fallen).env("BRUNT", places::brunt("debug"));
    let mut passed = 0;
    let outcome = shell::watch(&mut command, |line| passed += counted(line).0);
    match outcome {
        Ok(()) if passed >= fallen.len() as u64 => {
            progress.unsteady.extend_from_slice(fallen);
            progress.tests_failed -= fallen.len() as u64;
            progress.tests_passed += fallen.len() as u64;
            StepOutcome::Passed
        }
        _ => StepOutcome::Failed(fallen.join(", ")),
    }
}

/// Reads `test result: ok. 5 passed; 0 failed; …`; any other line counts nothing.
fn counted(line: &str) -> (u64, u64) {
    let Some(rest) = line.strip_prefix("test result: ") else { return (0, 0) };
    let before = |word: &str| {
        let (numbers, _) = rest.split_once(word)?;
        numbers.split_whitespace().next_back()?.parse().ok()
    };
    (before(" passed").unwrap_or(0), before(" failed").unwrap_or(0))
}

/// Runs the commands in the documents, and concurrently the browser check if it was chosen, too:
/// both mostly wait.
fn documentation(progress: &mut StepProgress) -> StepOutcome {
    web::begin_early(progress);
    readme::check()
}

/// Runs `brunt demo`, shortened, from the build of the other steps: a second, optimised build would cost a fifth of the
/// check. It must end by itself with a summary and exit code 0.
fn demo(_: &mut StepProgress) -> StepOutcome {
    let mut command = Command::new("timeout");
    command.arg("60").arg(places::brunt("debug")).args(["demo", "-d", "2s"]).current_dir(places::root());
    let output = match command.output() {
        Ok(output) => output,
        Err(e) => return StepOutcome::Failed(format!("cannot start the demo: {e}")),
    };
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}{}", String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) if told.contains("p99") => StepOutcome::Passed,
        Some(0) => StepOutcome::Failed("the demo shows no p99".into()),
        _ => StepOutcome::Failed(format!("the demo ended with {}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_tests() {
        let cases = [
            ("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s", (5, 0)),
            ("test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured", (12, 3)),
            ("test a_result ... ok", (0, 0)),
            ("running 5 tests", (0, 0)),
        ];
        for (line, expected) in cases {
            assert_eq!(super::counted(line), expected, "{line}");
        }
    }

    #[test]
    fn steps_have_names_of_their_own_and_look_back_only() {
        for (at, step) in STEPS.iter().enumerate() {
            let earlier: Vec<_> = STEPS[..at].iter().map(|s| s.name).collect();
            assert!(!earlier.contains(&step.name), "{} twice", step.name);
            assert!(step.after.iter().all(|name| earlier.contains(name)), "{} looks ahead", step.name);
        }
    }
}
