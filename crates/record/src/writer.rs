//! The writer of a record: one JSON object per line, compressed with zstd.
//!
//! Every event is a separate zstd frame, written in a single write. A run that is killed therefore keeps everything but
//! the event being written, a full disk costs only the end, and `zstdcat` (which reads concatenated frames) and `jq`
//! are enough to read the file. Dictionaries are not used: they would save a third of the size, but standard tools
//! could not read the file.

use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use serde::Serialize;

use crate::RunEvent;

/// Compression level: records are repetitive, and the fastest level already makes them five times smaller.
const LEVEL: i32 = 1;

/// A writer of the events of a run to a file.
pub struct RecordWriter {
    file: Box<dyn RecordDestination>,
    encoder: EventEncoder,
    written: u64,
    broken: bool,
}

/// An encoder of events as they stand in a record: each a line in a zstd frame of its own, so that frames put one after
/// the other are a record.
pub struct EventEncoder {
    compressor: zstd::bulk::Compressor<'static>,
    line: Vec<u8>,
    frame: Vec<u8>,
}

impl EventEncoder {
    /// Creates an encoder.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn new() -> io::Result<EventEncoder> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        Ok(EventEncoder { compressor, line: Vec::new(), frame: Vec::new() })
    }

    /// Encodes an event.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn encode(&mut self, event: &RunEvent) -> io::Result<&[u8]> {
        self.encode_line(event)
    }

    fn encode_line(&mut self, line: &impl Serialize) -> io::Result<&[u8]> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(self.line.len()));
        self.compressor.compress_to_buffer(&self.line, &mut self.frame)?;
        Ok(&self.frame)
    }
}

/// The destination of a record: a file, or in tests a writer that fails.
trait RecordDestination: Write + Send {
    /// Truncates the file to the first `bytes` bytes.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;

    /// Marks the run as no longer in progress.
    fn release(&self) {}
}

impl RecordDestination for File {
    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)?;
        // What is written next would otherwise leave a hole.
        self.seek(io::SeekFrom::Start(bytes)).map(drop)
    }

    fn release(&self) {
        // A process that is being started has a copy of the descriptor for a moment, which would hold the lock.
        let _ = self.unlock();
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        self.file.release();
    }
}

impl RecordWriter {
    /// Creates or replaces the file, readable only by its owner: even without secrets, a record reveals much about a
    /// system.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn create(path: &Path) -> io::Result<RecordWriter> {
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        if file.metadata()?.is_file() {
            // An existing file would otherwise keep its mode. The call fails if the file belongs to another user, which
            // is fine: it may still be writable.
            let _ = file.set_permissions(Permissions::from_mode(0o600));
            // The lock marks the run as in progress until this writer is dropped. Some file systems do not support
            // locks.
            let _ = file.try_lock();
        }
        RecordWriter::from_file(file)
    }

    /// Opens a file to write on after its first `bytes` bytes; what follows them is removed.
    ///
    /// # Errors
    /// Returns the error of the operating system; `WouldBlock` if another process is writing to it.
    pub(crate) fn go_on(path: &Path, bytes: u64) -> io::Result<RecordWriter> {
        let mut file = File::options().write(true).open(path)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        file.set_len(bytes)?;
        file.seek(io::SeekFrom::Start(bytes))?;
        let mut writer = RecordWriter::from_file(file)?;
        writer.written = bytes;
        Ok(writer)
    }

    /// Creates a writer to an open, empty file.
    pub(crate) fn from_file(file: File) -> io::Result<RecordWriter> {
        RecordWriter::from_destination(Box::new(file))
    }

    fn from_destination(file: Box<dyn RecordDestination>) -> io::Result<RecordWriter> {
        Ok(RecordWriter { file, encoder: EventEncoder::new()?, written: 0, broken: false })
    }

    /// Appends an event; the operating system has received it when this returns.
    ///
    /// # Errors
    /// Returns the first error (a full disk …). After that, nothing more is written and no error is returned; the file
    /// holds every event before the failed one.
    pub fn write(&mut self, event: &RunEvent) -> io::Result<()> {
        if event.is_recorded() { self.write_line(event) } else { Ok(()) }
    }

    /// Appends a line; see [`RecordWriter::write`].
    pub(crate) fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        if self.broken {
            return Ok(());
        }
        let outcome = self.append(line);
        if outcome.is_err() {
            self.broken = true;
            // Our reader would tolerate half a frame at the end, but zstdcat would complain.
            let _ = self.file.truncate(self.written);
        }
        outcome
    }

    /// Removes what follows the first `bytes` bytes.
    pub(crate) fn cut(&mut self, bytes: u64) -> io::Result<()> {
        if self.broken {
            return Ok(());
        }
        self.file.truncate(bytes)?;
        self.written = bytes;
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let frame = self.encoder.encode_line(line)?;
        self.file.write_all(frame)?;
        self.written += frame.len() as u64;
        Ok(())
    }

    /// Returns the number of bytes written so far, all of them whole frames.
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// Returns `true` once a write has failed; nothing more is written.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{a_run, second};
    use crate::{ReadFault, RecordReader};
    use std::process::{Command, Stdio};
    use std::sync::{Arc, Mutex};

    /// A full disk: a destination with a limited number of bytes left.
    struct FullDisk {
        left: usize,
        held: Arc<Mutex<Vec<u8>>>,
    }
    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.left);
            if n == 0 {
                return Err(io::Error::from_raw_os_error(28));
            }
            self.left -= n;
            self.held.lock().unwrap().extend_from_slice(&bytes[..n]);
            Ok(n)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl RecordDestination for FullDisk {
        fn truncate(&mut self, bytes: u64) -> io::Result<()> {
            self.held.lock().unwrap().truncate(bytes as usize);
            Ok(())
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.brunt");
        let mut writer = RecordWriter::create(&path).unwrap();
        let events = a_run(3);
        for event in &events {
            writer.write(event).unwrap();
        }
        assert_eq!(writer.bytes(), std::fs::metadata(&path).unwrap().len());
        let mut reader = RecordReader::open(&path).unwrap();
        let back: Vec<RunEvent> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(back, events);
        assert!(!reader.cut_off());
    }

    #[test]
    fn a_record_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.brunt");
        std::fs::write(&path, "older").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        for path in [path, dir.path().join("new.brunt")] {
            RecordWriter::create(&path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn every_event_is_on_disk_when_write_returns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.brunt");
        let mut writer = RecordWriter::create(&path).unwrap();
        for (n, event) in a_run(3).iter().enumerate() {
            writer.write(event).unwrap();
            assert_eq!(RecordReader::open(&path).unwrap().filter(Result::is_ok).count(), n + 1);
        }
    }

    #[test]
    fn a_full_disk_is_told_once_and_leaves_a_readable_file() {
        let whole = {
            let held = Arc::new(Mutex::new(Vec::new()));
            let mut writer =
                RecordWriter::from_destination(Box::new(FullDisk { left: usize::MAX, held: held.clone() })).unwrap();
            a_run(3).iter().for_each(|e| writer.write(e).unwrap());
            held.lock().unwrap().len()
        };
        for left in (0..whole).step_by(37) {
            let held = Arc::new(Mutex::new(Vec::new()));
            let mut writer = RecordWriter::from_destination(Box::new(FullDisk { left, held: held.clone() })).unwrap();
            let events = a_run(3);
            let faults: Vec<usize> =
                events.iter().enumerate().filter_map(|(i, e)| writer.write(e).is_err().then_some(i)).collect();
            assert_eq!(faults.len(), 1, "told once with {left} bytes left");
            assert!(writer.is_broken());
            let held = held.lock().unwrap().clone();
            assert_eq!(held.len() as u64, writer.bytes());
            if faults[0] > 0 {
                let back: Vec<RunEvent> =
                    RecordReader::from_source(io::Cursor::new(held)).unwrap().map(Result::unwrap).collect();
                assert_eq!(back, events[..faults[0]]);
            }
        }
    }

    #[test]
    fn dev_full_says_no_space() {
        let mut writer = RecordWriter::create(Path::new("/dev/full")).unwrap();
        assert_eq!(writer.write(&second(0)).unwrap_err().raw_os_error(), Some(28));
        assert!(writer.write(&second(1)).is_ok());
    }

    #[test]
    fn standard_tools_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.brunt");
        let mut writer = RecordWriter::create(&path).unwrap();
        a_run(2).iter().for_each(|e| writer.write(e).unwrap());
        let Ok(out) = Command::new("zstdcat").arg("--force").arg(&path).stderr(Stdio::inherit()).output() else {
            eprintln!("zstdcat is not installed: reading with the zstd library instead");
            let text = zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
            assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), 5);
            return;
        };
        assert!(out.status.success());
        let lines: Vec<serde_json::Value> =
            String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let events: Vec<&str> = lines.iter().map(|l| l["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["started", "probe", "second", "second", "ended"]);
    }

    #[test]
    fn cut_anywhere_keeps_what_came_before() {
        let held = Arc::new(Mutex::new(Vec::new()));
        let mut writer =
            RecordWriter::from_destination(Box::new(FullDisk { left: usize::MAX, held: held.clone() })).unwrap();
        let events = a_run(2);
        let mut ends = vec![0];
        for event in &events {
            writer.write(event).unwrap();
            ends.push(writer.bytes() as usize);
        }
        let whole = held.lock().unwrap().clone();
        // A file of fewer than four bytes cannot even be recognized as zstd.
        for cut in 4..whole.len() {
            let kept = ends.iter().rposition(|&end| end <= cut).unwrap();
            let mut reader = RecordReader::from_source(io::Cursor::new(whole[..cut].to_vec())).unwrap();
            let back: Result<Vec<RunEvent>, ReadFault> = reader.by_ref().collect();
            let back = back.unwrap();
            // A frame that lacks only its checksum may still be read.
            let whole = back.len() == kept || back.len() == kept + 1 && cut + 5 > ends[kept + 1];
            assert!(whole && back == events[..back.len()], "cut at {cut}");
            assert_eq!(reader.cut_off(), back.len() < events.len());
        }
    }

    #[test]
    fn a_record_whose_writer_is_gone_is_free_although_a_process_that_starts_has_its_descriptor_still() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.brunt");
        let file = File::create(&path).unwrap();
        file.try_lock().unwrap();
        let _copy = file.try_clone().unwrap();
        let writer = RecordWriter::from_file(file).unwrap();
        assert!(crate::is_being_written(&path));
        drop(writer);
        assert!(RecordWriter::go_on(&path, 0).is_ok());
    }
}
