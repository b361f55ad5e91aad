//! The pages: their types, their unit tests, what is built of them against what is committed, and a browser.
//!
//! What the sources give is committed, so that building brunt needs no Node; here it is held that the one is the other, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Progress, Verdict};
use crate::{install, places, shell};

/// The packages of `package-lock.json`, as they were installed last.
const INSTALLED: &str = "node_modules/.installed-lock.json";

pub(super) fn check(_: &mut Progress) -> Verdict {
    let missing = install::from_debian(install::FOR_WEB);
    if !missing.is_empty() {
        return Verdict::Skipped(format!("{} not here: the pages are not looked at", missing.join(", ")));
    }
    let root = places::root().join("web");
    if let Err(why) = packages(&root) {
        return Verdict::Skipped(format!("their packages cannot be had ({why})"));
    }
    let run = |words: &[&str]| npm(&root, &[&["run", "--silent"], words].concat());
    let outcome = shell::run(&mut run(&["check"]))
        .and_then(|()| shell::run(&mut run(&["test"])))
        .and_then(|()| built(&root))
        .and_then(|()| shell::run(run(&["browser"]).env("BRUNT", places::brunt("debug"))));
    match outcome {
        Ok(()) => Verdict::Passed,
        Err(why) => Verdict::Failed(why),
    }
}

fn npm(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(root);
    command
}

/// Installs what the lock file says, where that is not there yet.
fn packages(root: &Path) -> Result<(), String> {
    let read = |name: &str| fs::read(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"));
    let wanted = read("package-lock.json")?;
    if read(INSTALLED).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    shell::run(&mut npm(root, &["ci", "--no-audit", "--no-fund"]))?;
    fs::write(root.join(INSTALLED), wanted).map_err(|error| format!("cannot write {INSTALLED}: {error}"))
}

/// Builds the pages beside the committed ones, and holds one against the other.
fn built(root: &Path) -> Result<(), String> {
    let scratch = places::scratch("web")?;
    shell::run(Command::new("node").arg("build.mjs").arg(&scratch).current_dir(root))?;
    let pages = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
        let mut all: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.file_name().into())).collect();
        all.sort();
        Ok(all)
    };
    let (committed, built) = (pages(&root.join("dist"))?, pages(&scratch)?);
    let differs = |page: &&PathBuf| fs::read(root.join("dist").join(page)).ok() != fs::read(scratch.join(page)).ok();
    let stale: Vec<String> =
        committed.iter().chain(&built).filter(differs).map(|page| page.display().to_string()).collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("web/dist/{} is not what the sources give: run `npm run build` in web/ and commit it", stale[0]))
}
