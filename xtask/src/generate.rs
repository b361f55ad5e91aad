//! Files of the repository that the program writes itself: the JSON Schemas of its documents.
//!
//! They come out of the built program, not out of the crates, so that this chore compiles whatever state those are in.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::Arguments;
use crate::{places, shell};

/// A generated file and the command of brunt that prints it.
struct Generated {
    file: &'static str,
    command: &'static [&'static str],
}

const GENERATED: [Generated; 2] = [
    Generated { file: "docs/schema/report.json", command: &["report", "--schema"] },
    Generated { file: "docs/schema/record.json", command: &["report", "--schema=record"] },
];

/// `generate [--check]`.
pub fn run(mut arguments: Arguments) -> Result<(), String> {
    let check = arguments.switch("--check");
    arguments.words()?;
    shell::run(&mut shell::cargo(&["build", "--quiet", "-p", "brunt-cli"]))?;
    if check { compare() } else { write() }
}

/// Writes all of them.
fn write() -> Result<(), String> {
    for generated in &GENERATED {
        let path = path(generated);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        }
        fs::write(&path, wanted(generated)?).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("wrote {}", generated.file);
    }
    Ok(())
}

/// Says which of them differ from what the built program would write.
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

fn path(generated: &Generated) -> PathBuf {
    places::root().join(generated.file)
}

fn wanted(generated: &Generated) -> Result<String, String> {
    shell::capture(Command::new(places::brunt("debug")).args(generated.command))
}
