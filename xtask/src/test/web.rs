//! The pages: their types, their unit tests, what is built of them against what is committed, and a browser.
//!
//! What the sources give is committed, so that building brunt needs no Node; here it is held that the one is what the other gives, to the letter.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;

use super::{StepOutcome, StepProgress};
use crate::{install, places, shell};

/// The packages of `package-lock.json`, as they were installed last.
const INSTALLED: &str = "node_modules/.installed-lock.json";

/// The pages in a browser, while another step goes on that mostly waits.
pub(super) struct BrowserCheck(JoinHandle<StepOutcome>);

/// Begins with the browser once the sources of the pages are checked.
pub(super) fn begin(progress: &mut StepProgress) -> BrowserCheck {
    let pages = progress.pages.take();
    BrowserCheck(std::thread::spawn(move || check(pages)))
}

/// Waits for the browser, or begins with it where nothing did.
pub(super) fn finish(progress: &mut StepProgress) -> StepOutcome {
    let begun = progress.browser.take().unwrap_or_else(|| begin(progress));
    begun.0.join().unwrap_or_else(|_| StepOutcome::Failed("what looks at the pages broke".into()))
}

fn check(pages: Option<JoinHandle<Result<(), String>>>) -> StepOutcome {
    let missing = install::from_debian(install::FOR_WEB);
    if !missing.is_empty() {
        return StepOutcome::Skipped(format!("{} not here: the pages are not looked at", missing.join(", ")));
    }
    if let Err(why) = packages() {
        return StepOutcome::Skipped(format!("their packages cannot be had ({why})"));
    }
    let outcome = match pages {
        Some(begun) => begun.join().unwrap_or_else(|_| Err("what checks their sources broke".into())),
        None => sources(),
    };
    let browser = || shell::quietly(run("browser").env("BRUNT", places::brunt("debug")));
    match outcome.and_then(|()| browser()) {
        Ok(()) => StepOutcome::Passed,
        Err(why) => StepOutcome::Failed(why),
    }
}

/// What of the pages neither the program nor a browser is needed for.
pub(super) fn sources() -> Result<(), String> {
    shell::quietly(&mut run("check"))
        .and_then(|()| shell::quietly(&mut run("test")))
        .and_then(|()| shell::quietly(run("build").args(["--", "--check"])))
}

fn run(script: &str) -> Command {
    npm(&["run", "--silent", script])
}

fn root() -> PathBuf {
    places::root().join("web")
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(root());
    command
}

/// Installs what the lock file says, where that is not there yet.
pub(super) fn packages() -> Result<(), String> {
    let root = root();
    let read = |name: &str| fs::read(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"));
    let wanted = read("package-lock.json")?;
    if read(INSTALLED).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    shell::quietly(&mut npm(&["ci", "--no-audit", "--no-fund"]))?;
    fs::write(root.join(INSTALLED), wanted).map_err(|error| format!("cannot write {INSTALLED}: {error}"))
}
