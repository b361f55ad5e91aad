//! The log of a service (`--watch-log FILE`): counts the lines written since the start that contain the texts
//! diagnosis rules look for, and the others by their wording.
//!
//! The log is read from its end at the start of the run, also across rotation. Its counters: `log.lines`; for each limit
//! that a text names (`texts`) `log.LIMIT`, and `log.LIMIT.TEXT` once it occurred; `log.other.LINE`, one of the lines
//! that differ only in numbers, for the most frequent wordings without such a text.

mod line_groups;
mod texts;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use brunt_counters::CounterSink;

use line_groups::LineGroups;
use texts::TEXTS;

/// Maximum number of bytes read at a time; anything beyond that is skipped and reported.
const AT_ONCE: u64 = 4 << 20;
/// Maximum number of bytes kept of an incomplete line.
const LONGEST_LINE: usize = 64 << 10;

/// A followed log.
#[derive(Debug)]
pub struct WatchedLog {
    path: PathBuf,
    open: Option<OpenLog>,
    begun: bool,
    lines: u64,
    counts: [u64; TEXTS.len()],
    groups: LineGroups,
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
        let (lines, counts, groups) = (0, [0; TEXTS.len()], LineGroups::default());
        WatchedLog { path: path.into(), open: None, begun: false, lines, counts, groups, skipped: 0 }
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
        for line in String::from_utf8_lossy(&open.rest[..whole]).lines() {
            self.lines += 1;
            if let Some(at) = self.groups.count(line) {
                self.counts[at] += 1;
            }
        }
        open.rest.drain(..whole);
        open.rest.truncate(LONGEST_LINE);
        Ok(())
    }

    /// Adds the counts to the sink.
    pub fn put(&self, sink: &mut CounterSink) {
        sink.put(&["log", "lines"], self.lines);
        for (n, (_, _, limit)) in TEXTS.iter().enumerate() {
            // Several texts may name the same limit.
            if TEXTS[..n].iter().all(|(_, _, other)| other != limit) {
                let same = TEXTS.iter().zip(&self.counts).filter(|((_, _, other), _)| other == limit);
                sink.put(&["log", limit], same.map(|(_, count)| count).sum());
            }
        }
        for ((_, text, limit), count) in TEXTS.iter().zip(&self.counts).filter(|(_, count)| **count > 0) {
            sink.put(&["log", limit, &text.replace('*', "…")], *count);
        }
        self.groups.unknown().into_iter().for_each(|(line, count)| sink.put(&["log", "other", line], count));
    }
}

/// Properties that hold for any log, for fuzzing.
#[cfg(any(test, feature = "oracle"))]
pub mod oracle {
    use super::{LineGroups, TEXTS, texts};
    use brunt_counters::is_name;

    /// Checks that any bytes are counted within bounds: lines with a text as that text, the others by names that
    /// counters may have.
    ///
    /// # Panics
    /// Panics if a property does not hold.
    pub fn check_log(bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let (mut groups, mut lines) = (LineGroups::default(), 0);
        for line in text.lines() {
            lines += 1;
            let found = groups.count(line);
            assert!(found.is_none_or(|at| at < TEXTS.len()));
            assert_eq!(groups.count(line), found, "the same line again");
            assert!(texts::find(line).is_none_or(|at| at < TEXTS.len()));
        }
        let unknown = groups.unknown();
        assert!(unknown.iter().map(|(_, count)| count).sum::<u64>() <= 2 * lines);
        assert!(unknown.iter().all(|(line, _)| is_name(&format!("log.other.{line}"))));
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

    proptest::proptest! {
        #[test]
        fn any_bytes_are_counted_within_bounds(bytes: Vec<u8>, lines in "([a-c0-9 \"\u{7f}\n]|界){0,400}") {
            oracle::check_log(&bytes);
            oracle::check_log(lines.as_bytes());
        }
    }

    #[test]
    fn texts_and_unknown_lines_are_reported_with_their_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("error.log");
        File::create(&path).unwrap();
        let mut log = WatchedLog::new(path.to_str().unwrap());
        log.follow().unwrap();
        let full =
            "*1 connect() to unix:/x failed (11: Resource temporarily unavailable) while connecting to upstream\n";
        std::fs::write(&path, full.repeat(3) + "shard 1 is fenced\nshard 2 is fenced\n").unwrap();
        let mut sink = CounterSink::default();
        log.follow().unwrap();
        log.put(&mut sink);
        let told = sink.take(Nanos::ZERO);
        assert_eq!((told.get("log.lines"), told.get("log.upstream_queue_full")), (Some(5), Some(3)));
        let text = "(11: Resource temporarily unavailable) while connecting to upstream";
        assert_eq!(told.get(&format!("log.upstream_queue_full.{text}")), Some(3));
        assert_eq!(told.get("log.other.shard 1 is fenced"), Some(2));
        assert_eq!(told.get("log.upstream_reset"), Some(0), "a limit that no line named");
    }
}
