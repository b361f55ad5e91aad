//! The last few runs, saved automatically in `$XDG_STATE_HOME/brunt/runs`, so that `brunt report` can show the last
//! one.
//!
//! This is a convenience: if saving fails, the run reports that in a notice and continues.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_record::{RecordWriter, SERIES_ENDING};

/// Number of runs kept.
const KEPT: usize = 5;

/// File name suffix of kept runs.
const ENDING: &str = ".brunt.zst";

/// Returns the directory of kept runs, following the XDG base directory specification; `None` without a home directory.
pub fn directory() -> Option<PathBuf> {
    directory_from(|name| std::env::var_os(name).map(PathBuf::from))
}

/// Returns the directory of the console's library; `None` without a home directory.
pub fn library() -> Option<PathBuf> {
    directory()?.parent().map(|state| state.join("library"))
}

fn directory_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The specification says that relative paths must be ignored.
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".local/state"));
    state.or_else(home).map(|state| state.join("brunt/runs"))
}

/// Creates a writer for a new kept run, and returns its path. The oldest runs are deleted.
///
/// # Errors
/// Returns the error of the operating system.
pub fn begin(directory: &Path) -> io::Result<(RecordWriter, PathBuf)> {
    make_room(directory, ENDING)?;
    let path = directory.join(format!("{}{ENDING}", new_name()));
    Ok((RecordWriter::create(&path)?, path))
}

/// Returns a place for the record of a new experiment, next to the runs. The oldest are deleted.
///
/// # Errors
/// Returns the error of the operating system.
pub fn place_of_experiment(directory: &Path) -> io::Result<PathBuf> {
    make_room(directory, SERIES_ENDING)?;
    Ok(directory.join(format!("{}{SERIES_ENDING}", new_name())))
}

/// Returns a name for what begins now: names sort by time, and the process id distinguishes those of one millisecond.
fn new_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:014}-{}", since.as_millis(), std::process::id())
}

/// Creates the directory, and deletes the oldest files of this ending.
fn make_room(directory: &Path, ending: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Earlier versions made it readable by everybody.
    let _ = std::fs::set_permissions(directory, Permissions::from_mode(0o700));
    let all = kept(directory)?.into_iter().rev().filter(|old| has_ending(old, ending));
    for old in all.skip(KEPT - 1).filter(|old| !brunt_record::is_being_written(old)) {
        match std::fs::remove_file(&old).map_err(|error| error.kind()) {
            // Another run deleted it at the same moment.
            Ok(()) | Err(io::ErrorKind::NotFound) => {}
            Err(kind) => return Err(kind.into()),
        }
    }
    Ok(())
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))
}

/// Returns the last run or experiment kept.
///
/// # Errors
/// Returns the error of the operating system, or `NotFound` if there is no run.
pub fn last(directory: &Path) -> io::Result<PathBuf> {
    kept(directory)?.pop().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns the runs and experiments kept, oldest first.
fn kept(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if has_ending(&path, ENDING) || has_ending(&path, SERIES_ENDING) {
            runs.push(path);
        }
    }
    runs.sort();
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_are_kept_and_the_last_is_found() {
        let directory = tempfile::tempdir().unwrap();
        for n in 1..8 {
            std::fs::write(directory.path().join(format!("{n:014}-1{ENDING}")), "").unwrap();
        }
        std::fs::write(directory.path().join("notes.txt"), "").unwrap();
        let (_, path) = begin(directory.path()).unwrap();
        let runs = kept(directory.path()).unwrap();
        assert_eq!(runs.len(), 5);
        assert_eq!(runs[0], directory.path().join(format!("{:014}-1{ENDING}", 4)));
        assert_eq!(last(directory.path()).unwrap(), path);
        assert!(directory.path().join("notes.txt").exists());
    }

    #[test]
    fn a_run_that_still_goes_is_kept_however_many_end_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let going = directory.path().join(format!("{:014}-1{ENDING}", 1));
        let writer = RecordWriter::create(&going).unwrap();
        for n in 2..9 {
            std::fs::write(directory.path().join(format!("{n:014}-1{ENDING}")), "").unwrap();
        }
        begin(directory.path()).unwrap();
        assert!(going.exists());
        drop(writer);
        begin(directory.path()).unwrap();
        assert!(!going.exists());
    }

    #[test]
    fn kept_runs_are_their_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("state/brunt/runs");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (_, path) = begin(&directory).unwrap();
        assert_eq!((mode(&path), mode(&directory), mode(directory.parent().unwrap())), (0o600, 0o700, 0o700));
        std::fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        begin(&directory).unwrap();
        assert_eq!(mode(&directory), 0o700);
    }

    #[test]
    fn nothing_kept_is_said() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(last(directory.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(last(&directory.path().join("missing")).is_err());
    }

    #[test]
    fn the_place_follows_the_specification() {
        let find = |set: &'static [(&str, &str)]| {
            directory_from(move |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| PathBuf::from(v)))
        };
        assert_eq!(find(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), Some("/s/brunt/runs".into()));
        assert_eq!(find(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]), Some("/h/.local/state/brunt/runs".into()));
        assert_eq!(find(&[("XDG_STATE_HOME", "")]), None);
    }
}
