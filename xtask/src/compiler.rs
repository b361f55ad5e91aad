//! The compiler wrapper of the check: runs clippy's and rustdoc's lints in the same pass that compiles the tests.
//!
//! `cargo clippy` and `cargo doc` would produce the metadata of every dependency and read every crate again: a fifth of
//! a cold check. For crates of the workspace cargo calls the program in `RUSTC_WORKSPACE_WRAPPER` with the command line
//! of rustc as its arguments. `cargo clippy` hands it clippy-driver, which is rustc with more lints; here it is this
//! program, which calls clippy-driver and then rustdoc.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::{env, fs};

use crate::{places, shell};

/// The environment variable that makes this program act as a compiler.
const SWITCH: &str = "BRUNT_XTASK_COMPILES";

/// The environment variable with clippy-driver's own arguments, and their value: `-D warnings`, with separators.
const CLIPPY_ARGUMENTS: (&str, &str) = ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");

/// Options that rustc and rustdoc share, with their values.
const SHARED: [&str; 9] = [
    "--crate-name",
    "--crate-type",
    "--edition",
    "--cfg",
    "--check-cfg",
    "--extern",
    "-L",
    "--cap-lints",
    "--error-format",
];

/// Creates a cargo command that lints the crates of the workspace while compiling them.
pub fn linting(arguments: &[&str]) -> Result<Command, String> {
    let mut command = shell::cargo(arguments);
    command
        .env("RUSTC_WORKSPACE_WRAPPER", copy_of_this_program()?)
        .env(SWITCH, "1")
        .env(CLIPPY_ARGUMENTS.0, CLIPPY_ARGUMENTS.1);
    Ok(command)
}

/// Copies this program to a path that cargo, which rebuilds it, does not overwrite. The path is the same for every
/// build: a different one would count as a different compiler, and everything would be compiled again.
fn copy_of_this_program() -> Result<PathBuf, String> {
    static COPIED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    COPIED
        .get_or_init(|| {
            let copy = places::scratch("compiler")?.join("xtask");
            let fresh = copy.with_extension(std::process::id().to_string());
            let copied =
                env::current_exe().and_then(|own| fs::copy(own, &fresh)).and_then(|_| fs::rename(&fresh, &copy));
            copied.map(|()| copy).map_err(|e| format!("cannot copy this program to {}: {e}", fresh.display()))
        })
        .clone()
}

/// Compiles a crate if cargo called this program as a compiler; returns `None` otherwise.
pub fn when_asked() -> Option<ExitCode> {
    env::var_os(SWITCH)?;
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    Some(match compile(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            if !complaint.is_empty() {
                eprintln!("xtask: {complaint}");
            }
            ExitCode::FAILURE
        }
    })
}

/// Runs clippy-driver, and rustdoc if the crate has documentation.
fn compile(words: &[OsString]) -> Result<(), String> {
    run(Command::new("clippy-driver").args(words))?;
    let Some(shared) = documented(words) else { return Ok(()) };
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(shared).args(["-D", "warnings", "--json", "diagnostic-rendered-ansi", "-o"]);
    run(rustdoc.arg(places::target_dir().join("doc")))
}

/// Runs a command to completion; cargo has already shown the compiler's errors.
fn run(command: &mut Command) -> Result<(), String> {
    // Without the variable, a nested xtask does not act as a compiler.
    let status =
        command.env_remove(SWITCH).status().map_err(|e| format!("cannot start {}: {e}", shell::shown(command)))?;
    if status.success() { Ok(()) } else { Err(String::new()) }
}

/// Returns the arguments of rustdoc: the source and the options shared with rustc. Returns `None`
/// for tests, build scripts and queries (`-vV`, `--print`), which have no documentation.
fn documented(words: &[OsString]) -> Option<Vec<&OsStr>> {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    let name = (0..words.len()).find(|at| word(*at) == "--crate-name").map(|at| word(at + 1))?;
    let asked = |flag: &str| words.iter().any(|word| word.to_string_lossy().starts_with(flag));
    if asked("--test") || asked("--print") || name.starts_with("build_script") || name == "___" {
        return None;
    }
    let mut shared = Vec::new();
    let mut at = 1;
    while at < words.len() {
        let (option, joined) = word(at).split_once('=').map_or((word(at), false), |(option, _)| (option, true));
        if SHARED.contains(&option) {
            let parts = if joined { 1 } else { 2 };
            shared.extend(words[at..].iter().take(parts).map(OsString::as_os_str));
            at += parts;
        } else {
            if option.ends_with(".rs") && !option.starts_with('-') {
                shared.push(words[at].as_os_str());
            }
            at += 1;
        }
    }
    Some(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn rustdoc_gets_what_it_shares_with_rustc() {
        let line = words(
            "rustc --crate-name brunt_plan --edition=2024 crates/plan/src/lib.rs --error-format=json --json=artifacts \
             --crate-type lib --emit=dep-info,metadata,link -C opt-level=1 --cfg feature=\"x\" --check-cfg cfg(docsrs) \
             --out-dir /t -L dependency=/t/deps --extern serde=/t/deps/libserde.rmeta --warn=clippy::todo",
        );
        let shared: Vec<_> = documented(&line).unwrap().into_iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            shared.join(" "),
            "--crate-name brunt_plan --edition=2024 crates/plan/src/lib.rs --error-format=json --crate-type lib \
             --cfg feature=\"x\" --check-cfg cfg(docsrs) -L dependency=/t/deps --extern serde=/t/deps/libserde.rmeta"
        );
    }

    #[test]
    fn tests_build_scripts_and_questions_have_no_page() {
        for line in [
            "rustc -vV",
            "rustc - --crate-name ___ --print=file-names --crate-type bin",
            "rustc --crate-name brunt_plan --edition=2024 crates/plan/src/lib.rs --test",
            "rustc --crate-name build_script_build crates/assets/build.rs --crate-type bin",
        ] {
            assert_eq!(documented(&words(line)), None, "{line}");
        }
    }
}
