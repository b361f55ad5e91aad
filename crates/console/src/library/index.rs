//! The index of the library: a file of JSON lines, each with one change of a run. It is held in memory and read
//! incrementally, since several consoles may write to it.
//!
//! A line is written at once, under a lock. A line left incomplete by a killed process is skipped, like all unreadable
//! lines: missing data is read from the records.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{LibraryRun, RunEdits, RunState};
use crate::figures::RunFigures;

/// Version of the file; later versions are not touched.
const VERSION: u32 = 1;
/// Number of obsolete lines after which the file is rewritten.
pub(super) const STALE: usize = 1000;

pub(super) type RunMap = BTreeMap<String, LibraryRun>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum IndexLine {
    /// The first line: version of the file.
    BruntLibrary(u32),
    /// The complete state of a run.
    Run(Box<LibraryRun>),
    /// State and figures of a run. Figures that are not set stay unchanged.
    Known {
        id: String,
        state: RunState,
        figures: Option<Box<RunFigures>>,
        fault: Option<String>,
        bytes: u64,
    },
    /// The user's changes to a run.
    Marked(String, RunEdits),
    Deleted(String),
}

pub(super) struct Index {
    path: PathBuf,
    /// Held open, so that no other file gets its inode number.
    file: File,
    /// Number of bytes of the file, and of lines, that were read into `runs`.
    read: u64,
    lines: usize,
    runs: RunMap,
}

impl Index {
    /// Opens or creates the file, private to its owner.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or was written by a later version.
    pub fn open(path: &Path) -> io::Result<Index> {
        let file = opened(path)?;
        let mut index = Index { path: path.to_owned(), file, read: 0, lines: 0, runs: RunMap::new() };
        index.with_lock(|index| match index.lines {
            0 => index.append(&IndexLine::BruntLibrary(VERSION)),
            lines if lines > 2 * index.runs.len() + STALE => index.rewrite(),
            _ => Ok(()),
        })?;
        Ok(index)
    }

    /// Returns the runs by id, with the current contents of the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn runs(&mut self) -> io::Result<&RunMap> {
        self.catch_up().map_err(unusable)?;
        Ok(&self.runs)
    }

    /// Adds a line if its run exists, or, for the line of a new run, if it does not; returns `true`
    /// if the line was added.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn add(&mut self, line: &IndexLine) -> io::Result<bool> {
        self.with_lock(|index| {
            let fits = match line {
                IndexLine::BruntLibrary(_) => false,
                IndexLine::Run(run) => !index.runs.contains_key(&run.id),
                IndexLine::Known { id, .. } | IndexLine::Marked(id, _) | IndexLine::Deleted(id) => {
                    index.runs.contains_key(id)
                }
            };
            if fits {
                index.append(line)?;
            }
            Ok(fits)
        })
    }

    /// Runs `work` under the file lock, after reading everything that other processes have written.
    fn with_lock<T>(&mut self, work: impl FnOnce(&mut Index) -> io::Result<T>) -> io::Result<T> {
        let lock = |index: &mut Index| {
            index.file.lock()?;
            index.reopen_if_replaced()
        };
        // Another process may have replaced the file while this one waited.
        while lock(self).map_err(unusable)? {}
        let outcome = self.catch_up().and_then(|()| work(self));
        let unlocked = self.file.unlock();
        outcome.and_then(|done| unlocked.map(|()| done)).map_err(unusable)
    }

    /// Reopens the file, to be read from its beginning, if it was replaced or truncated; returns `true` if so.
    fn reopen_if_replaced(&mut self) -> io::Result<bool> {
        let (ours, theirs) = (self.file.metadata()?, self.path.metadata()?);
        let other = (ours.dev(), ours.ino()) != (theirs.dev(), theirs.ino()) || ours.len() < self.read;
        if other {
            let file = opened(&self.path)?;
            *self = Index { path: std::mem::take(&mut self.path), file, read: 0, lines: 0, runs: RunMap::new() };
        }
        Ok(other)
    }

    /// Reads the complete lines that were added.
    fn catch_up(&mut self) -> io::Result<()> {
        self.reopen_if_replaced()?;
        if self.file.metadata()?.len() == self.read {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.read))?;
        self.file.read_to_end(&mut bytes)?;
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            self.read += line.len() as u64;
            self.lines += 1;
            if let Ok(line) = serde_json::from_slice(line) {
                self.apply(line)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, line: IndexLine) -> io::Result<()> {
        match line {
            IndexLine::BruntLibrary(version) if version > VERSION => {
                return Err(io::Error::other(format!("it was written by a later version of brunt: version {version}")));
            }
            IndexLine::BruntLibrary(_) => {}
            IndexLine::Run(run) => drop(self.runs.insert(run.id.clone(), *run)),
            IndexLine::Deleted(id) => drop(self.runs.remove(&id)),
            IndexLine::Known { id, state, figures, fault, bytes } => {
                if let Some(run) = self.runs.get_mut(&id) {
                    (run.state, run.fault, run.bytes) = (state, fault, bytes);
                    if let Some(figures) = figures {
                        run.started_ms = figures.started_ms;
                        run.figures = Some(*figures);
                    }
                }
            }
            IndexLine::Marked(id, marks) => {
                if let Some(run) = self.runs.get_mut(&id) {
                    run.name = marks.name.unwrap_or_else(|| std::mem::take(&mut run.name));
                    run.notes = marks.notes.unwrap_or_else(|| std::mem::take(&mut run.notes));
                    run.favourite = marks.favourite.unwrap_or(run.favourite);
                    run.tags = marks.tags.unwrap_or_else(|| std::mem::take(&mut run.tags));
                }
            }
        }
        Ok(())
    }

    fn append(&mut self, line: &IndexLine) -> io::Result<()> {
        let mut text = Vec::new();
        if self.file.metadata()?.len() > self.read {
            // Terminates an incomplete line.
            text.push(b'\n');
        }
        write_line(&mut text, line)?;
        self.file.write_all(&text)?;
        self.catch_up()
    }

    /// Rewrites the file with a single line for each run.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        write_line(&mut text, &IndexLine::BruntLibrary(VERSION))?;
        self.runs.values().try_for_each(|run| write_line(&mut text, &IndexLine::Run(Box::new(run.clone()))))?;
        let part = self.path.with_extension("part");
        // A killed process may have left this file.
        let _ = std::fs::remove_file(&part);
        let mut file = opened(&part)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&part, &self.path)?;
        self.catch_up()
    }
}

fn unusable(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the library cannot be used ({error})"))
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

fn write_line(to: &mut Vec<u8>, line: &IndexLine) -> io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.push(b'\n');
    Ok(())
}
