//! Temporary storage for the past seconds of a run that is not recorded.
//!
//! Seconds are written to an unnamed temporary file, which disappears with the process in any case, and are read back
//! for the documents at the end, so that memory does not grow with the length of a run.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::{Notice, ReadFault, RecordReader, RecordWriter, RunEvent, RunListener, Subject};

/// Events that can be read repeatedly: a spool or a record on disk. Totals and documents are computed by reading all of
/// them.
pub trait ReplaySource {
    /// Starts reading from the first event.
    ///
    /// # Errors
    /// Returns a fault if nothing can be read.
    fn replay(&self) -> Result<RecordReader<'_>, ReadFault>;
}

/// The events of the current run, on disk.
pub struct Spool {
    file: File,
    writer: RecordWriter,
}

impl Spool {
    /// Creates an empty spool in `$TMPDIR`, or else in `/var/tmp`, because `/tmp` is often held in memory.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn new() -> io::Result<Spool> {
        let named = std::env::var_os("TMPDIR").map(PathBuf::from);
        let file = tempfile::tempfile_in(named.unwrap_or_else(|| PathBuf::from("/var/tmp")))
            .or_else(|_| tempfile::tempfile())?;
        Ok(Spool { writer: RecordWriter::from_file(file.try_clone()?)?, file })
    }
}

/// Replays all events so far from the beginning; more may be added afterwards.
impl ReplaySource for Spool {
    fn replay(&self) -> Result<RecordReader<'_>, ReadFault> {
        RecordReader::from_source(SpoolReader { file: &self.file, at: 0, end: self.writer.bytes() })
    }
}

/// After a failed write, documents lack seconds, but the run goes on.
impl RunListener for Spool {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        self.writer.write(event).map_err(|error| Notice::new(Subject::SecondsLost, [("error", error.to_string())]))
    }
}

/// A reader with its own position, because the writer uses that of the file.
struct SpoolReader<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for SpoolReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(into.len());
        let n = self.file.read_at(&mut into[..room], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::a_run;

    #[test]
    fn a_spool_gives_back_what_it_saw_as_often_as_asked() {
        let mut spool = Spool::new().unwrap();
        let events = a_run(20);
        for (n, event) in events.iter().enumerate() {
            spool.observe(event).unwrap();
            if n % 7 == 0 {
                assert_eq!(spool.replay().unwrap().map(Result::unwrap).collect::<Vec<_>>(), events[..=n]);
            }
        }
        let mut reader = spool.replay().unwrap();
        assert_eq!(reader.by_ref().map(Result::unwrap).collect::<Vec<_>>(), events);
        assert!(!reader.cut_off());
    }

    #[test]
    fn an_empty_spool_says_so() {
        assert!(Spool::new().unwrap().replay().is_err());
    }
}
