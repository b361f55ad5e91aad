//! The library: every run that is kept on this machine, in one folder: the records, and a small database of what there is to say of
//! them. Records are the truth: what the database knows of figures is read from them.
//!
//! The command line keeps its last few runs in a folder of its own. The library takes them over when it looks, by a second name of
//! the same file where that can be, so that nothing is written twice; from then on a run stays until somebody deletes it.

mod query;
mod rows;

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::problem::Problem;

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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    database: Mutex<Connection>,
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
        let path = base.join("library.sqlite");
        // SQLite makes its other files like this one.
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        file.map_err(|error| format!("{}: {error}", path.display()))?;
        let opened = Connection::open(&path).and_then(|database| rows::prepare(&database).map(|()| database));
        let database = opened.map_err(|error| format!("{} is not a brunt library ({error})", path.display()))?;
        Ok(Library { base: base.to_owned(), kept, database: Mutex::new(database) })
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

    fn database(&self) -> MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A new run, of which nothing is known yet.
    ///
    /// # Errors
    /// The database.
    pub fn begin(&self, id: &str, origin: Origin, started_ms: u64) -> rusqlite::Result<()> {
        self.database()
            .prepare_cached("INSERT INTO run (id, origin, state, started_ms) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![id, rows::word(&origin), rows::word(&State::Running), started_ms])
            .map(drop)
    }

    /// A run whose record is in its place: its figures are read from it, and how far it is.
    ///
    /// # Errors
    /// The database. A record that cannot be read is told in the run's row.
    pub fn index(&self, id: &str) -> rusqlite::Result<()> {
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
        self.known(id, state, figures.as_ref(), fault.as_deref(), bytes)
    }

    /// What is known of a run from now on.
    ///
    /// # Errors
    /// The database.
    pub fn known(
        &self,
        id: &str,
        state: State,
        figures: Option<&Figures>,
        fault: Option<&str>,
        bytes: u64,
    ) -> rusqlite::Result<()> {
        let text = figures.and_then(|figures| serde_json::to_string(figures).ok());
        let (started, target) = figures.map_or((None, None), |f| (Some(f.started_ms), Some(f.target.as_str())));
        self.database()
            .prepare_cached(
                "UPDATE run SET state = ?2, figures = coalesce(?3, figures), fault = ?4, bytes = ?5,
                 started_ms = coalesce(?6, started_ms), target = coalesce(?7, target) WHERE id = ?1",
            )?
            .execute(params![id, rows::word(&state), text, fault, bytes, started, target])
            .map(drop)
    }

    /// A run by its name.
    ///
    /// # Errors
    /// The database.
    pub fn run(&self, id: &str) -> rusqlite::Result<Option<Run>> {
        let sql = format!("SELECT {} FROM run WHERE id = ?1", rows::COLUMNS);
        self.database().prepare_cached(&sql)?.query_row([id], rows::run).optional()
    }

    /// Runs of a state.
    ///
    /// # Errors
    /// The database.
    pub fn of_state(&self, state: State) -> rusqlite::Result<Vec<String>> {
        let database = self.database();
        let mut found = database.prepare_cached("SELECT id FROM run WHERE state = ?1 ORDER BY started_ms")?;
        found.query_map([rows::word(&state)], |row| row.get(0))?.collect()
    }

    /// Those runs that fit, the latest first.
    ///
    /// # Errors
    /// The database.
    pub fn list(&self, query: &Query) -> rusqlite::Result<Page> {
        query::list(&self.database(), query)
    }

    /// Changes what people say of a run; false where there is none.
    ///
    /// # Errors
    /// The database.
    pub fn mark(&self, id: &str, marks: &Marks) -> rusqlite::Result<bool> {
        let tags = marks.tags.as_ref().map(|tags| rows::tags_text(tags));
        let changed = self
            .database()
            .prepare_cached(
                "UPDATE run SET name = coalesce(?2, name), notes = coalesce(?3, notes), favourite = coalesce(?4, favourite),
                 tags = coalesce(?5, tags) WHERE id = ?1",
            )?
            .execute(params![id, marks.name, marks.notes, marks.favourite, tags])?;
        Ok(changed > 0)
    }

    /// Deletes a run with its files, those of the command line too: it would come back otherwise.
    ///
    /// # Errors
    /// The database.
    pub fn delete(&self, id: &str) -> rusqlite::Result<bool> {
        let deleted = self.database().execute("DELETE FROM run WHERE id = ?1", [id])?;
        let kept = self.kept.as_ref().map(|kept| kept.join(format!("{id}{ENDING}")));
        for path in [self.record(id), self.plan(id)].into_iter().chain(kept) {
            // What is not there need not be deleted.
            let _ = std::fs::remove_file(path);
        }
        Ok(deleted > 0)
    }

    /// Takes over what the command line keeps, and looks again at runs that went on when it was looked last; `ours` are those
    /// somebody else looks after.
    ///
    /// # Errors
    /// The database.
    pub fn refresh(&self, ours: &dyn Fn(&str) -> bool) -> rusqlite::Result<()> {
        let names = self.kept.as_ref().and_then(|kept| std::fs::read_dir(kept).ok());
        for entry in names.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(id) = name.strip_suffix(ENDING).filter(|id| is_id(id)) {
                self.adopt(id, &entry.path())?;
            }
        }
        let over = |id: &String| !ours(id) && !record::is_being_written(&self.record(id));
        self.of_state(State::Running)?.iter().filter(|id| over(id)).try_for_each(|id| self.index(id))
    }

    fn adopt(&self, id: &str, kept: &Path) -> rusqlite::Result<()> {
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
        let begun = id.split('-').next().and_then(|ms| ms.parse().ok()).unwrap_or(0);
        match self.begin(id, Origin::CommandLine, begun) {
            Ok(()) => self.index(id),
            // Deleted from the database alone, or two consoles look at the same moment.
            Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::ConstraintViolation => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
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
