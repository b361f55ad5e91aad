//! Files of the repository that the program generates: the JSON Schemas of its documents, the pages
//! of its rules, and the reference of options and plan keys.
//!
//! They come from a built example of `experiment` and from the built program, not from the crates, so
//! that this task compiles even if the crates do not.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::Arguments;
use crate::{compiler, places, reference, shell};

/// A generated file and the argument that makes the example `schema` print it.
struct GeneratedFile {
    file: &'static str,
    word: &'static str,
}

/// The schema of plan files includes all flags, so the program itself prints it.
const PLAN: &str = "plan";

/// The pages of rules are part of the program.
const LIMITS: &str = "limits";

/// The reference is made from the program's help, which lists all options.
const REFERENCE: &str = "reference";

/// The build that includes the examples, the same as that of the test command so that nothing is compiled twice. It
/// includes the tests, because their dependencies determine the features of the rest.
pub const BUILD: [&str; 5] = ["build", "--workspace", "--bins", "--examples", "--tests"];

const GENERATED: [GeneratedFile; 13] = [
    GeneratedFile { file: "docs/schema/report.json", word: "report" },
    GeneratedFile { file: "docs/schema/record.json", word: "record" },
    GeneratedFile { file: "docs/schema/comparison.json", word: "comparison" },
    GeneratedFile { file: "docs/schema/capacity.json", word: "capacity" },
    GeneratedFile { file: "docs/schema/lint.json", word: "lint" },
    GeneratedFile { file: "docs/schema/find.json", word: "find" },
    GeneratedFile { file: "docs/schema/compare.json", word: "compare" },
    GeneratedFile { file: "docs/schema/sweep.json", word: "sweep" },
    GeneratedFile { file: "docs/schema/ladder.json", word: "ladder" },
    GeneratedFile { file: "docs/schema/trend.json", word: "trend" },
    GeneratedFile { file: "docs/schema/plan.json", word: PLAN },
    GeneratedFile { file: "docs/limits.md", word: LIMITS },
    GeneratedFile { file: "docs/guide/reference.md", word: REFERENCE },
];

/// `generate [--check]`.
pub fn run(mut arguments: Arguments) -> Result<(), String> {
    let check = arguments.switch("--check");
    arguments.words()?;
    shell::run(&mut compiler::linting(&BUILD)?)?;
    if check { compare() } else { write() }
}

/// Writes all generated files.
fn write() -> Result<(), String> {
    for generated in &GENERATED {
        let path = path(generated);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
        }
        fs::write(&path, wanted(generated)?).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("wrote {}", generated.file);
    }
    Ok(())
}

/// Reports the files that differ from what the built program would write.
pub fn compare() -> Result<(), String> {
    let mut stale = Vec::new();
    for generated in &GENERATED {
        let found = fs::read_to_string(path(generated)).unwrap_or_default();
        if found != wanted(generated)? {
            stale.push(generated.file);
        }
    }
    if stale.is_empty() {
        println!("{} generated files are up to date", GENERATED.len());
        return Ok(());
    }
    Err(format!("{} out of date: run `cargo xtask generate` and commit", stale.join(", ")))
}

fn path(generated: &GeneratedFile) -> PathBuf {
    places::root().join(generated.file)
}

fn wanted(generated: &GeneratedFile) -> Result<String, String> {
    if generated.word == PLAN {
        return shell::capture(Command::new(places::brunt("debug")).args(["plan", "--schema"]));
    }
    if generated.word == LIMITS {
        return shell::capture(Command::new(places::brunt("debug")).args(["explain", "all"]));
    }
    if generated.word == REFERENCE {
        return reference::page();
    }
    let example = places::target_dir().join("debug").join("examples").join("schema");
    shell::capture(Command::new(example).arg(generated.word))
}
