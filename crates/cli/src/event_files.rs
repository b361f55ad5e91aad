//! The files to which the events of a run are written (the requested one, the one kept for `brunt report`, or a spool),
//! and the choice of the file from which they are read back for documents.

use std::path::{Path, PathBuf};

use brunt_record::{
    Notice, ReadFault, RecordReader, RecordWriter, ReplaySource, RunEvent, RunListener, Spool, Subject,
};

use brunt_report::Lang;

use crate::{control_pipe, kept_runs, messages, screen};

/// A file to which events are written.
struct EventFile {
    writer: RecordWriter,
    path: PathBuf,
    /// Subject of the notice if it can no longer be written.
    trouble: Subject,
    /// Set if the run continues for this file even if nobody is watching.
    asked_for: bool,
}

impl EventFile {
    /// Returns `true` for a regular file; a pipe or a device cannot be read back.
    fn can_be_read(&self) -> bool {
        self.path.metadata().is_ok_and(|data| data.is_file())
    }
}

impl RunListener for EventFile {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.writer.write(event).map_err(|error| not_written(self.trouble, &self.path, &error.to_string()))
    }

    fn keeps_run_alive(&self) -> bool {
        self.asked_for
    }
}

/// The writer stays alive while its file is read, so that no other process deletes the file.
impl ReplaySource for EventFile {
    fn replay(&self) -> Result<RecordReader<'_>, ReadFault> {
        RecordReader::open(&self.path)
    }
}

fn not_written(trouble: Subject, path: &Path, error: &str) -> Notice {
    Notice::new(trouble, [("file", path.display().to_string()), ("error", error.to_owned())])
}

/// All files of one run.
#[derive(Default)]
pub struct EventFiles {
    files: Vec<EventFile>,
    /// Holds the events if no file does, so that they can be read back.
    spool: Option<Spool>,
    /// Set if the requested file could not be created.
    missing: bool,
    /// Notices about files that could not be created.
    notices: Vec<Notice>,
}

impl EventFiles {
    /// Creates the file to be kept, and the requested one.
    pub fn begin(record: Option<&str>) -> EventFiles {
        let mut logs = EventFiles::default();
        // The driver of a run keeps its record.
        if !control_pipe::is_driven() {
            logs.keep();
        }
        if let Some(path) = record.map(Path::new) {
            match RecordWriter::create(path) {
                Ok(writer) => logs.add(writer, path.to_owned(), Subject::DiskFull, true),
                Err(error) => {
                    logs.missing = true;
                    logs.notices.push(not_written(Subject::DiskFull, path, &error.to_string()));
                }
            }
        }
        if !logs.files.iter().any(EventFile::can_be_read) {
            let spool = Spool::new().map_err(|error| Notice::new(Subject::SecondsLost, [("error", error.to_string())]));
            logs.spool = spool.map_err(|trouble| logs.notices.push(trouble)).ok();
        }
        logs
    }

    fn keep(&mut self) {
        let directory = kept_runs::directory().ok_or_else(|| "there is no home directory".to_owned());
        let kept = directory.and_then(|directory| {
            kept_runs::begin(&directory).map_err(|error| format!("{}: {error}", directory.display()))
        });
        match kept {
            Ok((writer, path)) => self.add(writer, path, Subject::NotKept, false),
            Err(error) => self.notices.push(Notice::new(Subject::NotKept, [("error", error)])),
        }
    }

    fn add(&mut self, writer: RecordWriter, path: PathBuf, trouble: Subject, asked_for: bool) {
        self.files.push(EventFile { writer, path, trouble, asked_for });
    }

    /// Takes the notices about files that could not be created.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Returns the listeners for the events of the run.
    pub fn listeners(&mut self) -> impl Iterator<Item = &mut dyn RunListener> {
        let files = self.files.iter_mut().map(|log| log as &mut dyn RunListener);
        files.chain(self.spool.iter_mut().map(|spool| spool as &mut dyn RunListener))
    }

    /// Returns `false` if the requested file does not hold the whole run, which is then reported on standard error.
    pub fn is_recorded(&self, lang: Lang) -> bool {
        let broken: Vec<&EventFile> = self.files.iter().filter(|log| log.asked_for && log.writer.is_broken()).collect();
        for log in &broken {
            let file = log.path.display().to_string();
            screen::print_error(&lang.fill(messages::RECORD_INCOMPLETE, &[("file", &file)]));
        }
        broken.is_empty() && !self.missing
    }

    /// Returns the recorded events from the most complete file; `None` if there is none.
    pub fn past(self) -> Option<Box<dyn ReplaySource>> {
        let written = self.files.into_iter().filter(|log| log.writer.bytes() > 0 && log.can_be_read());
        let best = written.max_by_key(|log| (!log.writer.is_broken(), log.writer.bytes()));
        let best = best.map(|log| Box::new(log) as Box<dyn ReplaySource>);
        best.or_else(|| self.spool.map(|spool| Box::new(spool) as Box<dyn ReplaySource>))
    }
}
