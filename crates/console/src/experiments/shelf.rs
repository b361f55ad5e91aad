//! The experiments kept on this machine: for each its record, and a note of what was asked and what came of it.
//!
//! The record is authoritative. A note that is missing is made again from it, without the command line as it was typed,
//! so that such an experiment cannot go on from here.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use brunt_record::SERIES_ENDING;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::library::{RunSource, RunState, is_id};
use crate::runs::private_file;

/// The answer of an experiment in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentAnswer {
    /// How it is to be taken: `good`, `bad`, `doubt` or `plain`.
    pub tone: String,
    /// The sentence in English and in Chinese.
    pub en: String,
    pub zh: String,
}

/// An experiment, as its note has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShelvedExperiment {
    /// Unique id; sorts by time.
    pub id: String,
    pub origin: RunSource,
    pub state: RunState,
    /// `find`, `compare`, `sweep` or `ladder`; empty until it is known.
    pub kind: String,
    /// Name given by the user.
    pub name: String,
    /// Milliseconds since 1970.
    pub started_ms: u64,
    /// Size of the record in bytes.
    pub bytes: u64,
    /// The command line with secrets masked; empty until the record has begun.
    pub command: Vec<String>,
    /// Exit code of the process, or the one that the record stands for.
    pub exit: Option<i32>,
    /// Reason why there is no result.
    pub fault: Option<String>,
    pub answer: Option<ExperimentAnswer>,
    /// The command line as typed, without the program; empty if it was started elsewhere.
    pub words: Vec<String>,
    /// Set if a public address may be put under load.
    pub yes: bool,
    /// Id of its last process.
    pub process: Option<i32>,
}

impl ShelvedExperiment {
    /// Creates the note of an experiment of which nothing is known yet.
    pub fn new(id: &str, origin: RunSource) -> ShelvedExperiment {
        let started_ms = id.split('-').next().and_then(|ms| ms.parse().ok()).unwrap_or(0);
        ShelvedExperiment {
            id: id.to_owned(),
            origin,
            state: RunState::Running,
            kind: String::new(),
            name: String::new(),
            started_ms,
            bytes: 0,
            command: Vec::new(),
            exit: None,
            fault: None,
            answer: None,
            words: Vec::new(),
            yes: false,
            process: None,
        }
    }

    /// Takes over what the page of the record says; its first answer is the answer.
    pub fn learn(&mut self, page: &Value) {
        let said = &page["experiment"];
        let texts =
            |of: &Value| of.as_array().map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        self.kind = said["kind"].as_str().unwrap_or(&self.kind).to_owned();
        if self.origin == RunSource::Dropped {
            self.started_ms = said["unix_ms"].as_u64().unwrap_or(self.started_ms);
        }
        self.command = texts(&said["command"]).unwrap_or_default();
        self.exit = said["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
        let answer = |lang: &str| {
            let blocks = said["text"][lang]["blocks"].as_array()?;
            blocks.iter().find(|block| block["block"] == "answer").cloned()
        };
        let told = |block: &Value, field: &str| block[field].as_str().unwrap_or_default().to_owned();
        self.answer = answer("en").zip(answer("zh")).map(|(en, zh)| ExperimentAnswer {
            tone: told(&en, "tone"),
            en: told(&en, "sentence"),
            zh: told(&zh, "sentence"),
        });
        self.fault = None;
    }
}

/// The directory of experiments.
pub struct ExperimentShelf {
    base: PathBuf,
    /// Directory of what the command line keeps.
    kept: Option<PathBuf>,
}

impl ExperimentShelf {
    /// Opens or creates the directory, private to its owner.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn open(library: &Path, kept: Option<PathBuf>) -> io::Result<ExperimentShelf> {
        let base = library.join("experiments");
        DirBuilder::new().recursive(true).mode(0o700).create(&base)?;
        Ok(ExperimentShelf { base, kept })
    }

    /// Returns the path of the record of an experiment.
    pub fn record(&self, id: &str) -> PathBuf {
        self.base.join(format!("{id}{SERIES_ENDING}"))
    }

    fn note(&self, id: &str) -> PathBuf {
        self.base.join(format!("{id}.json"))
    }

    /// Returns an experiment by its id.
    pub fn get(&self, id: &str) -> Option<ShelvedExperiment> {
        let text = is_id(id).then(|| std::fs::read(self.note(id)).ok()).flatten()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the note of an experiment; readers see the old one or the new one.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn put(&self, experiment: &ShelvedExperiment) -> io::Result<()> {
        let part = self.base.join(format!(".{}.{:016x}.part", experiment.id, unique()));
        let mut file = private_file(&part)?;
        let written = serde_json::to_vec(experiment).map_err(io::Error::other).and_then(|text| file.write_all(&text));
        let put = written.and_then(|()| std::fs::rename(&part, self.note(&experiment.id)));
        if put.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        put
    }

    /// Deletes an experiment, including the record kept by the command line, from which it would be added again.
    pub fn delete(&self, id: &str) {
        let kept = self.kept.as_ref().map(|kept| kept.join(format!("{id}{SERIES_ENDING}")));
        for path in kept.into_iter().chain([self.record(id), self.note(id)]) {
            // A missing file need not be deleted.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Adds the experiments of the command line, by hard links, and those whose notes are missing.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn adopt(&self) -> io::Result<()> {
        for id in self.kept.iter().flat_map(|kept| ids(kept, SERIES_ENDING)) {
            if let Some(kept) = self.kept.as_ref().filter(|_| !self.record(&id).exists()) {
                // On another file system it stays where it is.
                let _ = std::fs::hard_link(kept.join(format!("{id}{SERIES_ENDING}")), self.record(&id));
            }
        }
        let missing = ids(&self.base, SERIES_ENDING).into_iter().filter(|id| !self.note(id).exists());
        missing.into_iter().try_for_each(|id| self.put(&ShelvedExperiment::new(&id, RunSource::CommandLine)))
    }

    /// Returns all experiments, the latest first.
    pub fn all(&self) -> Vec<ShelvedExperiment> {
        let mut all: Vec<_> = ids(&self.base, ".json").iter().filter_map(|id| self.get(id)).collect();
        all.sort_by(|a, b| (b.started_ms, &b.id).cmp(&(a.started_ms, &a.id)));
        all
    }
}

/// Returns the ids of the files of a directory with this ending.
fn ids(folder: &Path, ending: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(ending).filter(|id| is_id(id)).map(str::to_owned)).collect()
}

/// Returns a number that no other part of this process has.
fn unique() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    u64::from(std::process::id()) << 32 | next
}
