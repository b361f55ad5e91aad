//! The library: all runs kept on this machine, in one directory with the records and an index of
//! them. The records are authoritative: figures in the index are read from them, and runs missing
//! from it are added again.
//!
//! The command line keeps its last few runs in another directory. The library adopts them on refresh, by a hard link
//! where possible, so that nothing is written twice; from then on a run stays until somebody deletes it.

mod index;
mod query;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::figures::RunFigures;
use crate::problem::Problem;
use index::{Index, IndexLine};

pub use query::{RunPage, RunQuery};

/// File name of the index.
const INDEX: &str = "library.jsonl";
/// File name suffix of records.
pub const ENDING: &str = ".brunt.zst";

/// The source of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSource {
    /// Started from the console.
    Console,
    /// Started on the command line of this machine.
    CommandLine,
    /// Uploaded as a record.
    Dropped,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run is in progress.
    Running,
    /// The run has ended.
    Over,
    /// The run did not begin, or its record cannot be read.
    Failed,
}

/// A run of the library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LibraryRun {
    /// Unique id; sorts by time within an origin.
    pub id: String,
    pub origin: RunSource,
    pub state: RunState,
    /// Milliseconds since 1970.
    pub started_ms: u64,
    /// Name given by the user.
    pub name: String,
    pub notes: String,
    pub favourite: bool,
    pub tags: Vec<String>,
    /// Size of the record in bytes.
    pub bytes: u64,
    /// Figures; `None` until something is known.
    pub figures: Option<RunFigures>,
    /// Reason why there are no figures.
    pub fault: Option<String>,
}

/// The user's changes to a run. Fields that are not set stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunEdits {
    pub name: Option<String>,
    pub notes: Option<String>,
    pub favourite: Option<bool>,
    pub tags: Option<Vec<String>>,
}

/// Maximum lengths, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_NOTES: usize = 20_000;
const LONGEST_TAG: usize = 40;
const MOST_TAGS: usize = 20;

impl RunEdits {
    /// Returns the changes with normalized texts.
    ///
    /// # Errors
    /// Returns an error if one of them is too long.
    pub fn validated(mut self) -> Result<RunEdits, Problem> {
        let long = |text: &Option<String>, most: usize| text.as_ref().is_some_and(|text| text.chars().count() > most);
        if long(&self.name, LONGEST_NAME) || long(&self.notes, LONGEST_NOTES) {
            let sentence = format!("a name has at most {LONGEST_NAME} characters, and notes have {LONGEST_NOTES}");
            return Err(Problem::bad(sentence));
        }
        if let Some(tags) = &mut self.tags {
            let mut tidy: Vec<String> =
                tags.iter().map(|tag| tag.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            tidy.retain(|tag| !tag.is_empty());
            tidy.sort();
            tidy.dedup();
            if tidy.len() > MOST_TAGS || tidy.iter().any(|tag| tag.chars().count() > LONGEST_TAG) {
                let sentence = format!("a run has at most {MOST_TAGS} tags of {LONGEST_TAG} characters");
                return Err(Problem::bad(sentence));
            }
            *tags = tidy;
        }
        Ok(self)
    }
}

/// The runs and their files.
pub struct Library {
    base: PathBuf,
    /// Directory of the runs kept by the command line.
    kept: Option<PathBuf>,
    index: Mutex<Index>,
}

/// Returns the records in a library of the runs in whose name, notes, tags or target each of these words occurs, or whose
/// id it is. A library that does not exist has none.
///
/// # Errors
/// Returns a message that says what cannot be read.
pub fn find_records(base: &Path, words: &str) -> Result<Vec<PathBuf>, String> {
    if !base.join(INDEX).exists() {
        return Ok(Vec::new());
    }
    let library = Library::open(base, None)?;
    let (mut found, mut query) = (Vec::new(), RunQuery { q: words.to_owned(), ..RunQuery::default() });
    loop {
        let page = library.list(&query).map_err(|error| format!("{}: {error}", base.display()))?;
        let over = page.runs.iter().filter(|run| run.state == RunState::Over);
        found.extend(over.map(|run| library.record(&run.id)));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(found),
        }
    }
}

impl Library {
    /// Opens or creates the library in this directory. Everything created is private to its owner; an existing
    /// directory keeps its mode.
    ///
    /// # Errors
    /// Returns a message that says what cannot be created or read.
    pub fn open(base: &Path, kept: Option<PathBuf>) -> Result<Library, String> {
        let made = |folder: &Path| DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let folders = [base.to_owned(), base.join("records"), base.join("plans")];
        folders.iter().try_for_each(|folder| made(folder)).map_err(|error| format!("{}: {error}", base.display()))?;
        let path = base.join(INDEX);
        let index = Index::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let library = Library { base: base.to_owned(), kept, index: Mutex::new(index) };
        library.index_missing().map_err(|error| format!("{}: {error}", base.display()))?;
        Ok(library)
    }

    /// Returns the path of the record of a run.
    pub fn record(&self, id: &str) -> PathBuf {
        self.base.join("records").join(format!("{id}{ENDING}"))
    }

    /// Returns the path of the plan of a run that was started here.
    pub fn plan(&self, id: &str) -> PathBuf {
        self.base.join("plans").join(format!("{id}.yaml"))
    }

    /// Returns the path of an incomplete record.
    pub fn incoming(&self, id: &str) -> PathBuf {
        self.base.join("records").join(format!(".{id}.part"))
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a new run without figures. An existing run stays unchanged.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn begin(&self, id: &str, origin: RunSource, started_ms: u64) -> io::Result<()> {
        let run = LibraryRun {
            id: id.to_owned(),
            origin,
            state: RunState::Running,
            started_ms,
            name: String::new(),
            notes: String::new(),
            favourite: false,
            tags: Vec::new(),
            bytes: 0,
            figures: None,
            fault: None,
        };
        self.index().add(&IndexLine::Run(Box::new(run))).map(drop)
    }

    /// Reads figures and state of a run from its record.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used. An unreadable record is stored as the run's
    /// fault.
    pub fn read(&self, id: &str) -> io::Result<()> {
        let path = self.record(id);
        let goes = brunt_record::is_being_written(&path);
        let figures = if goes { beginning(&path) } else { RunFigures::of(&path) };
        let bytes = path.metadata().map_or(0, |data| data.len());
        let state = match &figures {
            _ if goes => RunState::Running,
            Ok(_) => RunState::Over,
            Err(_) => RunState::Failed,
        };
        let (figures, fault) = match figures {
            Ok(figures) => (Some(figures), None),
            Err(_) if goes => (None, None),
            Err(fault) => (None, Some(fault)),
        };
        self.update(id, state, figures, fault, bytes)
    }

    /// Updates state and figures of a run.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn update(
        &self,
        id: &str,
        state: RunState,
        figures: Option<RunFigures>,
        fault: Option<String>,
        bytes: u64,
    ) -> io::Result<()> {
        let figures = figures.map(Box::new);
        self.index().add(&IndexLine::Known { id: id.to_owned(), state, figures, fault, bytes }).map(drop)
    }

    /// Returns a run by its id.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn run(&self, id: &str) -> io::Result<Option<LibraryRun>> {
        Ok(self.index().runs()?.get(id).cloned())
    }

    /// Returns the matching runs, the latest first.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn list(&self, query: &RunQuery) -> io::Result<RunPage> {
        Ok(query::list(self.index().runs()?, query))
    }

    /// Applies the user's changes to a run; returns `false` if there is no such run.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn edit(&self, id: &str, marks: &RunEdits) -> io::Result<bool> {
        self.index().add(&IndexLine::Marked(id.to_owned(), marks.clone()))
    }

    /// Deletes a run with its files, including the record kept by the command line, from which it
    /// would be added again; returns `false` if there is no such run.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn delete(&self, id: &str) -> io::Result<bool> {
        let kept = self.kept.as_ref().map(|kept| kept.join(format!("{id}{ENDING}")));
        for path in kept.into_iter().chain([self.record(id), self.plan(id)]) {
            // A missing file need not be deleted.
            let _ = std::fs::remove_file(path);
        }
        self.index().add(&IndexLine::Deleted(id.to_owned()))
    }

    /// Adds records that are missing from the index because it is new, or was damaged or deleted.
    /// They are read when needed.
    fn index_missing(&self) -> io::Result<()> {
        for (id, _) in records(&self.base.join("records")) {
            if self.run(&id)?.is_none() {
                let origin = match id.split_once('-') {
                    _ if self.plan(&id).exists() => RunSource::Console,
                    // The command line appends its process id, which is shorter than the random suffix used here.
                    Some((_, number)) if number.len() < 8 => RunSource::CommandLine,
                    _ => RunSource::Dropped,
                };
                self.begin(&id, origin, moment(&id))?;
            }
        }
        Ok(())
    }

    /// Adopts the runs of the command line, and rereads runs that have ended since; `ours` returns
    /// `true` for those that are updated elsewhere.
    ///
    /// # Errors
    /// Returns an error if the index cannot be used.
    pub fn refresh(&self, ours: &dyn Fn(&str) -> bool) -> io::Result<()> {
        if let Some(kept) = &self.kept {
            records(kept).try_for_each(|(id, path)| self.adopt(&id, &path))?;
        }
        let going = |run: &&LibraryRun| run.state == RunState::Running;
        let going: Vec<String> = self.index().runs()?.values().filter(going).map(|run| run.id.clone()).collect();
        let over = |id: &&String| !ours(id) && !brunt_record::is_being_written(&self.record(id));
        going.iter().filter(over).try_for_each(|id| self.read(id))
    }

    fn adopt(&self, id: &str, kept: &Path) -> io::Result<()> {
        let place = self.record(id);
        // An empty record is checked again later.
        if place.exists() || !kept.metadata().is_ok_and(|data| data.len() > 0) {
            return Ok(());
        }
        let linked = std::fs::hard_link(kept, &place);
        // On another file system it is copied, once it is complete.
        if linked.is_err() && (brunt_record::is_being_written(kept) || copied(kept, &place).is_err()) {
            return Ok(());
        }
        self.begin(id, RunSource::CommandLine, moment(id))?;
        self.read(id)
    }
}

/// Returns the records of a directory, with the ids of their runs.
fn records(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let id = name.strip_suffix(ENDING).filter(|id| is_id(id))?;
        Some((id.to_owned(), entry.path()))
    })
}

/// Returns the start time in a run's id.
fn moment(id: &str) -> u64 {
    id.split('-').next().and_then(|ms| ms.parse().ok()).unwrap_or(0)
}

/// Returns the figures at the beginning of a record that is being written.
fn beginning(path: &Path) -> Result<RunFigures, String> {
    let mut events = brunt_record::RecordReader::open(path).map_err(|fault| fault.to_string())?;
    let mut figures = RunFigures::default();
    match events.next() {
        Some(Ok(brunt_record::RunEvent::Started(started))) => figures.begun(&started),
        Some(Err(fault)) => return Err(fault.to_string()),
        _ => return Err("nothing is written yet".into()),
    }
    Ok(figures)
}

fn copied(from: &Path, to: &Path) -> io::Result<u64> {
    let outcome = std::fs::copy(from, to);
    if outcome.is_err() {
        let _ = std::fs::remove_file(to);
    }
    outcome
}

/// Returns `true` if a text is a valid run id, which is used as a file name.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests;
