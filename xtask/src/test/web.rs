//! The pages: type checks, unit tests, a comparison of their build with the committed one, and a browser.
//!
//! The build output is committed, so that building brunt needs no Node; this step checks that it is exactly what the
//! sources produce.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;

use super::{StepOutcome, StepProgress};
use crate::{install, places, shell};

/// A copy of `package-lock.json` as of the last installation.
const INSTALLED: &str = "node_modules/.installed-lock.json";

/// The browser check of the pages, run while another step mostly waits.
pub(super) struct BrowserCheck(JoinHandle<StepOutcome>);

/// Starts the browser check beside an earlier step, if it was chosen and does not run yet.
pub(super) fn begin_early(progress: &mut StepProgress) {
    if progress.web_follows && progress.browser.is_none() {
        progress.browser = Some(begin(progress));
    }
}

/// Starts the browser check, which waits for the check of the sources.
fn begin(progress: &mut StepProgress) -> BrowserCheck {
    let pages = progress.pages.take();
    BrowserCheck(std::thread::spawn(move || check(pages)))
}

/// Waits for the browser check; starts it first if it has not been started.
pub(super) fn finish(progress: &mut StepProgress) -> StepOutcome {
    let begun = progress.browser.take().unwrap_or_else(|| begin(progress));
    begun.0.join().unwrap_or_else(|_| StepOutcome::Failed("the browser check panicked".into()))
}

fn check(pages: Option<JoinHandle<Result<(), String>>>) -> StepOutcome {
    let missing = install::from_debian(install::FOR_WEB);
    if !missing.is_empty() {
        return StepOutcome::Skipped(format!("{} not installed: the pages are not checked", missing.join(", ")));
    }
    if let Err(why) = packages() {
        return StepOutcome::Skipped(format!("their packages cannot be installed ({why})"));
    }
    let outcome = match pages {
        Some(begun) => begun.join().unwrap_or_else(|_| Err("the check of their sources panicked".into())),
        None => sources(),
    };
    let browser = || shell::quietly(run("browser").env("BRUNT", places::brunt("debug")));
    match outcome.and_then(|()| browser()) {
        Ok(()) => StepOutcome::Passed,
        Err(why) => StepOutcome::Failed(why),
    }
}

/// Runs the checks of the pages that need neither the program nor a browser.
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

/// Installs the packages of the lock file unless they are installed.
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
