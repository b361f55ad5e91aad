//! The log of a service (`--watch-log FILE`): counts the lines written since the start that contain the texts
//! diagnosis rules look for.
//!
//! The log is read from its end at the start of the run, also across rotation. Only the counts of lines are
//! kept.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use brunt_counters::CounterSink;

/// Maximum number of bytes read at a time; anything beyond that is skipped and reported.
const AT_ONCE: u64 = 4 << 20;
/// Maximum number of bytes kept of an incomplete line.
const LONGEST_LINE: usize = 64 << 10;

/// The texts, and the counters they increment: from nginx (`src/event`, `src/http` of 1.24), MySQL and PostgreSQL.
/// If a line contains several, only the first one counts.
const TEXTS: [(&str, &str); 13] = [
    ("worker_connections are not enough", "worker_connections"),
    ("Too many open files", "too_many_open_files"),
    ("(99: Cannot assign requested address)", "no_ports"),
    ("upstream timed out (110: Connection timed out) while connecting", "upstream_connect_timeout"),
    ("upstream timed out", "upstream_timeout"),
    ("no live upstreams", "no_live_upstreams"),
    ("upstream prematurely closed connection", "upstream_closed"),
    ("(111: Connection refused) while connecting to upstream", "upstream_refused"),
    ("limiting requests", "limiting_requests"),
    ("limiting connections", "limiting_connections"),
    ("Too many connections", "too_many_connections"),
    ("too many clients already", "too_many_connections"),
    ("\" 499 ", "client_closed"),
];

/// A followed log.
#[derive(Debug)]
pub struct WatchedLog {
    path: PathBuf,
    open: Option<OpenLog>,
    begun: bool,
    lines: u64,
    counts: [u64; TEXTS.len()],
    skipped: u64,
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    inode: u64,
    /// Beginning of a line that is still incomplete.
    rest: Vec<u8>,
}

impl WatchedLog {
    /// Creates a log that is not opened yet.
    pub fn new(path: &str) -> WatchedLog {
        WatchedLog { path: path.into(), open: None, begun: false, lines: 0, counts: [0; TEXTS.len()], skipped: 0 }
    }

    /// Counts the lines written since the last call; returns the number of bytes skipped.
    pub fn follow(&mut self) -> io::Result<u64> {
        if self.rotated()? {
            // Lines written to the old file before it was rotated.
            self.take()?;
            self.open = None;
        }
        if self.open.is_none() {
            // Opening a pipe blocks until it has a writer, and a device has no end.
            if !std::fs::metadata(&self.path)?.is_file() {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file; name the log itself"));
            }
            let mut file = File::open(&self.path)?;
            if !self.begun {
                file.seek(SeekFrom::End(0))?;
            }
            self.begun = true;
            self.open = Some(OpenLog { inode: file.metadata()?.ino(), file, rest: Vec::new() });
        }
        self.take()?;
        Ok(self.skipped)
    }

    /// Returns `true` if the log's name now refers to another file, or the log was truncated.
    fn rotated(&mut self) -> io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let Ok(now) = std::fs::metadata(&self.path) else { return Ok(false) };
        let at = open.file.stream_position()?;
        Ok(now.ino() != open.inode || now.len() < at)
    }

    fn take(&mut self) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let left = open.file.metadata()?.len().saturating_sub(open.file.stream_position()?);
        if left > AT_ONCE {
            open.file.seek(SeekFrom::Current((left - AT_ONCE).cast_signed()))?;
            self.skipped += left - AT_ONCE;
            open.rest.clear();
        }
        Read::by_ref(&mut open.file).take(AT_ONCE).read_to_end(&mut open.rest)?;
        let whole = open.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (counts, lines) = (&mut self.counts, &mut self.lines);
        String::from_utf8_lossy(&open.rest[..whole]).lines().for_each(|line| {
            *lines += 1;
            if let Some(at) = TEXTS.iter().position(|(text, _)| line.contains(text)) {
                counts[at] += 1;
            }
        });
        open.rest.drain(..whole);
        open.rest.truncate(LONGEST_LINE);
        Ok(())
    }

    /// Adds the counts to the sink.
    pub fn put(&self, sink: &mut CounterSink) {
        sink.put(&["log", "lines"], self.lines);
        for (n, (_, name)) in TEXTS.iter().enumerate() {
            // Two texts may share a counter.
            if TEXTS[..n].iter().all(|(_, other)| other != name) {
                let same = TEXTS.iter().zip(&self.counts).filter(|((_, other), _)| other == name);
                sink.put(&["log", name], same.map(|(_, count)| count).sum());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_measure::Nanos;
    use std::io::Write;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        for path in ["/dev/zero", "/proc"] {
            let why = WatchedLog::new(path).follow().unwrap_err().to_string();
            assert!(why.contains("not a regular file"), "{path}: {why}");
        }
    }

    fn told(log: &mut WatchedLog) -> (Option<u64>, Option<u64>) {
        let mut sink = CounterSink::default();
        log.follow().unwrap();
        log.put(&mut sink);
        let told = sink.take(Nanos::ZERO);
        (told.get("log.lines"), told.get("log.upstream_refused"))
    }

    #[test]
    fn lines_since_the_start_are_counted_once_each_and_across_rotation() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("error.log");
        let line =
            "2026/01/01 [error] 1#1: *9 connect() failed (111: Connection refused) while connecting to upstream\n";
        std::fs::write(&path, line.repeat(3)).unwrap();
        let mut log = WatchedLog::new(path.to_str().unwrap());
        assert_eq!(told(&mut log), (Some(0), Some(0)), "what was there before");
        let mut file = File::options().append(true).open(&path).unwrap();
        let (first, second) = line.split_at(40);
        file.write_all(format!("{line}other\n{first}").as_bytes()).unwrap();
        assert_eq!(told(&mut log), (Some(2), Some(1)), "a line that is not whole waits");
        file.write_all(second.as_bytes()).unwrap();
        assert_eq!(told(&mut log), (Some(3), Some(2)));
        file.write_all(line.as_bytes()).unwrap();
        std::fs::rename(&path, directory.path().join("old")).unwrap();
        std::fs::write(&path, line).unwrap();
        assert_eq!(told(&mut log), (Some(5), Some(4)), "the last of the old one and the first of the new one");
        File::create(&path).unwrap();
        assert_eq!(told(&mut log), (Some(5), Some(4)), "cut");
        File::options().append(true).open(&path).unwrap().write_all(line.as_bytes()).unwrap();
        assert_eq!(told(&mut log), (Some(6), Some(5)));
    }

    #[test]
    fn a_flood_is_passed_over_and_said_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        File::create(&path).unwrap();
        let mut log = WatchedLog::new(path.to_str().unwrap());
        log.follow().unwrap();
        std::fs::write(&path, vec![b'x'; 6 << 20]).unwrap();
        assert_eq!(log.follow().unwrap(), 2 << 20);
        assert_eq!(log.lines, 0);
        assert!(log.open.as_ref().unwrap().rest.len() <= LONGEST_LINE);
    }

    #[test]
    fn each_text_is_counted_as_itself() {
        for (n, (text, _)) in TEXTS.iter().enumerate() {
            assert_eq!(TEXTS.iter().position(|(other, _)| text.contains(other)), Some(n), "{text}");
        }
    }
}
