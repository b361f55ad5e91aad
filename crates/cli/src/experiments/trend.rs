//! `brunt trend`: the history of a test in its records, and where its figures changed.

use std::path::{Path, PathBuf};

use brunt_cause::complaint;
use brunt_config::Presentation;
use brunt_contract::UsageError;
use brunt_experiment::report::PageHead;
use brunt_experiment::trend::TestHistory;
use brunt_measure::Nanos;
use brunt_record::RecordFile;
use brunt_report::Lang;

use super::output::{self, ExperimentOutput};
use crate::kept_runs;
use crate::replay::summarize;
use crate::run::CommandResult;
use crate::view::View;

/// Seed of the permutation tests: one history has one result.
const SEED: u64 = 0;
/// Most records read: each is summarized in memory.
const MOST: usize = 2000;
/// Endings of the names of records in a directory.
const ENDINGS: [&str; 2] = [".bruntrec", ".brunt.zst"];

/// Shows the history in these records, and in those of these directories.
///
/// # Errors
/// Returns an error if a record cannot be read, or there are none.
pub fn trend(files: &[String], shown: &Presentation) -> CommandResult {
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    output::check(shown, None)?;
    let mut paths = Vec::new();
    // Without a word: the test that ran last.
    let none = [String::new()];
    for word in if files.is_empty() { &none } else { files } {
        let path = PathBuf::from(word);
        match () {
            () if path.is_dir() => paths.extend(records_in(&path)?),
            () if path.exists() => paths.push(path),
            () => paths.extend(in_library(word)?),
        }
    }
    if paths.is_empty() || paths.len() > MOST {
        return Err(UsageError::new(
            "FILE",
            complaint!(
                "{} records are named; use 1 to {MOST}, or directories that hold them",
                "给出了 {} 份记录；请给出 1 到 {MOST} 份，或存放它们的目录",
                paths.len()
            ),
        ));
    }
    let read = |path: PathBuf| Ok((shown_name(&path), summarize(&RecordFile(path))?));
    let records = paths.into_iter().map(read).collect::<Result<Vec<_>, UsageError>>()?;
    let history = TestHistory::of(records, SEED);
    let last = history.runs.last().map_or(0, |run| run.unix_ms);
    let command = ["brunt", "trend"].map(str::to_owned).into_iter().chain(files.iter().cloned()).collect();
    let brunt = env!("CARGO_PKG_VERSION").to_owned();
    let head = PageHead { kind: "trend", brunt, unix_ms: last, command, live: false };
    let output = ExperimentOutput { head, took: Nanos::ZERO, found: &history, shown, lang };
    Ok(output.conclude(&mut View::new(shown, lang)))
}

/// Returns the name of a record: its file, but of one in the library the id of its run.
fn shown_name(path: &Path) -> String {
    let in_library = kept_runs::library().is_some_and(|library| path.starts_with(library));
    let name = path.file_name().filter(|_| in_library).map(|name| name.to_string_lossy());
    let id = name.as_deref().and_then(|name| ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)));
    id.map_or_else(|| path.display().to_string(), str::to_owned)
}

/// Returns the records of the runs in the console's library that these words name.
fn in_library(words: &str) -> Result<Vec<PathBuf>, UsageError> {
    let unreadable = |error: String| {
        UsageError::new("TEST", complaint!("the library cannot be read ({error})", "无法读取运行库（{error}）"))
    };
    let library = kept_runs::library();
    let found = library.map_or_else(|| Ok(Vec::new()), |library| brunt_console::find_records(&library, words));
    let found = found.map_err(unreadable)?;
    if found.is_empty() {
        return Err(UsageError::new(
            "TEST",
            complaint!(
                "`{words}` is no file, and in no name, tag or target of the runs in the library; name records, a directory of \
                 them, or a test that `brunt ui` has kept",
                "`{words}` 不是文件，运行库中也没有名称、标签或目标含有它的压测；请给出记录、存放记录的目录，或 `brunt ui` 保存过的测试"
            ),
        ));
    }
    Ok(found)
}

fn records_in(directory: &Path) -> Result<Vec<PathBuf>, UsageError> {
    let unreadable = |error: std::io::Error| {
        UsageError::new(
            "FILE",
            complaint!(
                "{} cannot be read ({error}); name records or a directory of records",
                "无法读取 {}（{error}）；请给出记录文件或其目录",
                directory.display()
            ),
        )
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_record = |name: &std::ffi::OsStr| ENDINGS.iter().any(|ending| name.to_string_lossy().ends_with(ending));
        if path.file_name().is_some_and(is_record) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
