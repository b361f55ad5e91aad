//! The library: every run that is kept on this machine, in one folder: the records, and an index of what there is to say of them.
//! Records are the truth: what the index knows of figures is read from them, and runs that it misses are taken in again.
//!
//! The command line keeps its last few runs in a folder of its own. The library takes them over when it looks, by a second name of
//! the same file where that can be, so that nothing is written twice; from then on a run stays until somebody deletes it.

mod index;
mod query;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::problem::Problem;
use index::{Index, Line};

pub use query::{Page, Query};

/// What the names of records end with.
pub const ENDING: &str = ".brunt.zst";

/// Where a run comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Started from the console.
    Console,
    /// Started on the command line of this machine.
    CommandLine,
    /// Its record was brought from elsewhere.
    Dropped,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It goes on.
    Running,
    /// It is over.
    Over,
    /// It did not begin, or its record cannot be read.
    Failed,
}

/// A run of the library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Sorts by time within an origin.
    pub id: String,
    pub origin: Origin,
    pub state: State,
    /// Milliseconds since 1970.
    pub started_ms: u64,
    /// As somebody called it.
    pub name: String,
    pub notes: String,
    pub favourite: bool,
    pub tags: Vec<String>,
    /// Of the record.
    pub bytes: u64,
    /// None until something of it is known.
    pub figures: Option<Figures>,
    /// Why it has no figures.
    pub fault: Option<String>,
}

/// What people may change of a run. What is not named stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Marks {
    pub name: Option<String>,
    pub notes: Option<String>,
    pub favourite: Option<bool>,
    pub tags: Option<Vec<String>>,
}

/// The longest of them, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_NOTES: usize = 20_000;
const LONGEST_TAG: usize = 40;
const MOST_TAGS: usize = 20;

impl Marks {
    /// The same, tidied up.
    ///
    /// # Errors
    /// Something is too long.
    pub fn checked(mut self) -> Result<Marks, Problem> {
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

/// Runs, and where their files are.
pub struct Library {
    base: PathBuf,
    /// Where the command line keeps its last runs.
    kept: Option<PathBuf>,
    index: Mutex<Index>,
}

impl Library {
    /// Opens the library in this folder, or makes it. What is made is for its owner alone; a folder that was there stays as it is.
    ///
    /// # Errors
    /// What cannot be made or read, in a sentence.
    pub fn open(base: &Path, kept: Option<PathBuf>) -> Result<Library, String> {
        let made = |folder: &Path| DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let folders = [base.to_owned(), base.join("records"), base.join("plans")];
        folders.iter().try_for_each(|folder| made(folder)).map_err(|error| format!("{}: {error}", base.display()))?;
        let path = base.join("library.jsonl");
        let index = Index::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let library = Library { base: base.to_owned(), kept, index: Mutex::new(index) };
        library.take_in().map_err(|error| format!("{}: {error}", base.display()))?;
        Ok(library)
    }

    /// Where the record of a run is.
    pub fn record(&self, id: &str) -> PathBuf {
        self.base.join("records").join(format!("{id}{ENDING}"))
    }

    /// Where the plan of a run is that was started here.
    pub fn plan(&self, id: &str) -> PathBuf {
        self.base.join("plans").join(format!("{id}.yaml"))
    }

    /// A place for a record that is not whole yet.
    pub fn incoming(&self, id: &str) -> PathBuf {
        self.base.join("records").join(format!(".{id}.part"))
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A new run, of which nothing is known yet. One that is there stays as it is.
    ///
    /// # Errors
    /// The index.
    pub fn begin(&self, id: &str, origin: Origin, started_ms: u64) -> io::Result<()> {
        let run = Run {
            id: id.to_owned(),
            origin,
            state: State::Running,
            started_ms,
            name: String::new(),
            notes: String::new(),
            favourite: false,
            tags: Vec::new(),
            bytes: 0,
            figures: None,
            fault: None,
        };
        self.index().add(&Line::Run(Box::new(run))).map(drop)
    }

    /// A run whose record is in its place: its figures are read from it, and how far it is.
    ///
    /// # Errors
    /// The index. A record that cannot be read is told as the run's fault.
    pub fn read(&self, id: &str) -> io::Result<()> {
        let path = self.record(id);
        let goes = record::is_being_written(&path);
        let figures = if goes { beginning(&path) } else { Figures::of(&path) };
        let bytes = path.metadata().map_or(0, |data| data.len());
        let state = match &figures {
            _ if goes => State::Running,
            Ok(_) => State::Over,
            Err(_) => State::Failed,
        };
        let (figures, fault) = match figures {
            Ok(figures) => (Some(figures), None),
            Err(_) if goes => (None, None),
            Err(fault) => (None, Some(fault)),
        };
        self.known(id, state, figures, fault, bytes)
    }

    /// What is known of a run from now on.
    ///
    /// # Errors
    /// The index.
    pub fn known(
        &self,
        id: &str,
        state: State,
        figures: Option<Figures>,
        fault: Option<String>,
        bytes: u64,
    ) -> io::Result<()> {
        let figures = figures.map(Box::new);
        self.index().add(&Line::Known { id: id.to_owned(), state, figures, fault, bytes }).map(drop)
    }

    /// A run by its name.
    ///
    /// # Errors
    /// The index.
    pub fn run(&self, id: &str) -> io::Result<Option<Run>> {
        Ok(self.index().runs()?.get(id).cloned())
    }

    /// Those runs that fit, the latest first.
    ///
    /// # Errors
    /// The index.
    pub fn list(&self, query: &Query) -> io::Result<Page> {
        Ok(query::list(self.index().runs()?, query))
    }

    /// Changes what people say of a run; false where there is none.
    ///
    /// # Errors
    /// The index.
    pub fn mark(&self, id: &str, marks: &Marks) -> io::Result<bool> {
        self.index().add(&Line::Marked(id.to_owned(), marks.clone()))
    }

    /// Deletes a run with its files, those of the command line too: it would come back otherwise.
    ///
    /// # Errors
    /// The index.
    pub fn delete(&self, id: &str) -> io::Result<bool> {
        let kept = self.kept.as_ref().map(|kept| kept.join(format!("{id}{ENDING}")));
        for path in kept.into_iter().chain([self.record(id), self.plan(id)]) {
            // What is not there need not be deleted.
            let _ = std::fs::remove_file(path);
        }
        self.index().add(&Line::Deleted(id.to_owned()))
    }

    /// Takes in the records that the index misses: it is new, was damaged or deleted. They are read when somebody looks.
    fn take_in(&self) -> io::Result<()> {
        for (id, _) in records(&self.base.join("records")) {
            if self.run(&id)?.is_none() {
                let origin = match id.split_once('-') {
                    _ if self.plan(&id).exists() => Origin::Console,
                    // The command line adds its process id, which is shorter than what is added here.
                    Some((_, number)) if number.len() < 8 => Origin::CommandLine,
                    _ => Origin::Dropped,
                };
                self.begin(&id, origin, moment(&id))?;
            }
        }
        Ok(())
    }

    /// Takes over what the command line keeps, and looks again at runs that went on when it was looked last; `ours` are those
    /// somebody else looks after.
    ///
    /// # Errors
    /// The index.
    pub fn refresh(&self, ours: &dyn Fn(&str) -> bool) -> io::Result<()> {
        if let Some(kept) = &self.kept {
            records(kept).try_for_each(|(id, path)| self.adopt(&id, &path))?;
        }
        let going = |run: &&Run| run.state == State::Running;
        let going: Vec<String> = self.index().runs()?.values().filter(going).map(|run| run.id.clone()).collect();
        let over = |id: &&String| !ours(id) && !record::is_being_written(&self.record(id));
        going.iter().filter(over).try_for_each(|id| self.read(id))
    }

    fn adopt(&self, id: &str, kept: &Path) -> io::Result<()> {
        let place = self.record(id);
        // One that holds nothing yet is looked at again later.
        if place.exists() || !kept.metadata().is_ok_and(|data| data.len() > 0) {
            return Ok(());
        }
        let linked = std::fs::hard_link(kept, &place);
        // On another file system it is copied, once it is whole.
        if linked.is_err() && (record::is_being_written(kept) || copied(kept, &place).is_err()) {
            return Ok(());
        }
        self.begin(id, Origin::CommandLine, moment(id))?;
        self.read(id)
    }
}

/// The records of a folder, with the ids of their runs.
fn records(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let id = name.strip_suffix(ENDING).filter(|id| is_id(id))?;
        Some((id.to_owned(), entry.path()))
    })
}

/// When a run began, as its id has it.
fn moment(id: &str) -> u64 {
    id.split('-').next().and_then(|ms| ms.parse().ok()).unwrap_or(0)
}

/// What a record that is being written says at its beginning.
fn beginning(path: &Path) -> Result<Figures, String> {
    let mut events = record::Reader::open(path).map_err(|fault| fault.to_string())?;
    let mut figures = Figures::default();
    match events.next() {
        Some(Ok(record::RunEvent::Started(started))) => figures.begun(&started),
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

/// Whether a text may name a run: it becomes the name of a file.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests;
