//! `cargo xtask test`: all checks, step by step.
//!
//! Steps run in order, cheapest first. All of them run even after one failed, unless they depend on it, so that one run
//! reports everything that is wrong. In continuous integration (`CI=true`) a step that would be skipped fails instead.

mod readme;
mod steps;
mod supplies;
mod web;

use std::collections::BTreeSet;
use std::thread::JoinHandle;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::{install, measure};

/// The outcome of a step.
enum StepOutcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// A step and its dependencies.
struct TestStep {
    name: &'static str,
    what: &'static str,
    /// Steps that must not have failed before this one.
    after: &'static [&'static str],
    run: fn(&mut StepProgress) -> StepOutcome,
}

/// State passed between the steps and to the summary.
#[derive(Default)]
struct StepProgress {
    /// Set if tests with many random cases are to be skipped.
    quick: bool,
    /// Dependencies other than Rust, while they are being fetched.
    supplies: Option<supplies::TestDependencies>,
    /// The check of the pages' sources, while it runs.
    pages: Option<JoinHandle<Result<(), String>>>,
    /// Set if the `web` step is one of the chosen steps.
    web_follows: bool,
    /// The browser check of the pages, while it runs.
    browser: Option<web::BrowserCheck>,
    /// Tests that failed alongside others and passed alone.
    unsteady: Vec<String>,
    /// Number of tests that passed, over all test programs.
    tests_passed: u64,
    tests_failed: u64,
}

/// The cost of a step in seconds: wall time, and CPU time of the processes that ended in it.
struct StepCost {
    wall_s: f64,
    cpu_s: f64,
}

/// The steps of `test quick`: those that need neither a server nor the built program.
const QUICK: [&str; 6] = ["format", "floors", "tidy", "links", "build", "unit"];

/// `test [--list] [quick | STEP…]`.
pub fn run(mut arguments: Arguments) -> Result<(), String> {
    if arguments.switch("--list") {
        for step in &steps::STEPS {
            println!("{:<10} {}", step.name, step.what);
        }
        return Ok(());
    }
    let words = arguments.words()?;
    let quick = words == ["quick"];
    let chosen = if quick { choose(&QUICK.map(str::to_owned))? } else { choose(&words)? };
    let follows = |name: &str| chosen.iter().any(|step| step.name == name);
    let supplies = follows("tools").then(|| supplies::begin(follows("web")));
    let mut progress = StepProgress { quick, supplies, web_follows: follows("web"), ..StepProgress::default() };
    let mut results: Vec<(&TestStep, StepOutcome, StepCost)> = Vec::new();
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    for step in chosen {
        println!("\n== {}: {}", step.name, step.what);
        let (began, cpu) = (Instant::now(), measure::cpu_of_ended_children());
        let verdict = match step.after.iter().find(|earlier| failed.contains(*earlier)) {
            Some(earlier) => StepOutcome::Skipped(format!("`{earlier}` failed")),
            None => (step.run)(&mut progress),
        };
        let verdict = hold_to_rules(verdict);
        if let StepOutcome::Failed(why) = &verdict {
            eprintln!("{} failed: {why}", step.name);
            failed.insert(step.name);
        }
        let cost = StepCost { wall_s: began.elapsed().as_secs_f64(), cpu_s: measure::cpu_of_ended_children() - cpu };
        results.push((step, verdict, cost));
    }
    summarise(&results, &progress)
}

/// Returns the named steps in their defined order, or all of them if none is named.
fn choose(names: &[String]) -> Result<Vec<&'static TestStep>, String> {
    if let Some(unknown) = names.iter().find(|name| steps::STEPS.iter().all(|step| step.name != *name)) {
        let known: Vec<_> = steps::STEPS.iter().map(|step| step.name).collect();
        return Err(format!("unknown step `{unknown}`; use {}, or `quick` for some of them", known.join(", ")));
    }
    Ok(steps::STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect())
}

/// Turns a skipped step into a failure in continuous integration.
fn hold_to_rules(verdict: StepOutcome) -> StepOutcome {
    match verdict {
        StepOutcome::Skipped(why) if install::nothing_may_be_skipped() => {
            StepOutcome::Failed(format!("would be skipped ({why}), which CI does not allow"))
        }
        other => other,
    }
}

fn summarise(results: &[(&TestStep, StepOutcome, StepCost)], progress: &StepProgress) -> Result<(), String> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!("\n== summary");
    for (step, verdict, cost) in results {
        let (word, why) = match verdict {
            StepOutcome::Passed => {
                passed += 1;
                ("passed", "")
            }
            StepOutcome::Failed(why) => {
                failed += 1;
                ("FAILED", why.as_str())
            }
            StepOutcome::Skipped(why) => {
                skipped += 1;
                ("SKIPPED", why.as_str())
            }
        };
        println!("{word:<8} {:<10} {:6.1} s {:7.1} s of CPU  {why}", step.name, cost.wall_s, cost.cpu_s);
    }
    if progress.tests_passed + progress.tests_failed > 0 {
        println!("{} tests passed, {} failed in all test programs", progress.tests_passed, progress.tests_failed);
    }
    if !progress.unsteady.is_empty() {
        println!("failed alongside others, passed alone: {}", progress.unsteady.join(", "));
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(String::new()) }
}
