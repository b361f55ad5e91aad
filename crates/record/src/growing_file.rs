//! Reading of a record during its run: the end of the file is not final until the writer has closed it.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::Path;

/// Returns `true` if the record is still being written, that is, if its writer holds a lock.
pub fn is_being_written(record: &Path) -> bool {
    File::open(record).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// A file that may still grow.
pub(crate) struct GrowingFile<W> {
    file: File,
    wait: W,
    writer_gone: bool,
}

impl<W: FnMut() -> bool> GrowingFile<W> {
    /// Creates a reader of `file`. At the end of the file, `wait` blocks until there may be more to read, and returns
    /// `false` if there will not be.
    pub fn new(file: File, wait: W) -> GrowingFile<W> {
        GrowingFile { file, wait, writer_gone: false }
    }
}

impl<W: FnMut() -> bool> Read for GrowingFile<W> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.file.read(to)?;
            if read > 0 || self.writer_gone {
                return Ok(read);
            }
            // Data may have been written just before the writer closed the file, so the file is read once more.
            self.writer_gone = !(self.wait)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::a_run;
    use crate::{RecordReader, RecordWriter, RunEvent};

    #[test]
    fn events_come_as_they_are_written_and_end_with_the_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.brunt");
        let events = a_run(3);
        let mut writer = Some(RecordWriter::create(&path).unwrap());
        assert!(is_being_written(&path));
        let mut rest = events.clone().into_iter();
        // Each wait adds one event; the last one finds the writer closed.
        let reader = RecordReader::follow(&path, || {
            match rest.next() {
                Some(event) => writer.as_mut().unwrap().write(&event).unwrap(),
                None => writer = None,
            }
            writer.is_some()
        });
        let read: Vec<RunEvent> = reader.unwrap().map(Result::unwrap).collect();
        assert_eq!(read, events);
        assert!(!is_being_written(&path));
    }

    #[test]
    fn a_run_that_is_killed_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.brunt");
        let mut writer = RecordWriter::create(&path).unwrap();
        a_run(3)[..3].iter().for_each(|event| writer.write(event).unwrap());
        let mut reader = RecordReader::follow(&path, || false).unwrap();
        assert_eq!((reader.by_ref().filter(Result::is_ok).count(), reader.cut_off()), (3, true));
    }
}
