//! The record of several runs of one experiment, in one file: a head, and each run between a line that says what it is of
//! and one with the time spent. As in the record of a run, each line is a zstd frame of its own.
//!
//! A run that is not whole is not read, so that an experiment can go on where it was interrupted, whatever interrupted it.

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{ReadFault, RecordReader, RecordWriter, ReplaySource, RunEvent};

/// Version of the format; a reader refuses others.
const SERIES_SCHEMA: &str = "brunt-experiment/1";
/// Ending of the names of these files.
pub const SERIES_ENDING: &str = ".bruntexp";
/// Beginning of the first line.
const HEAD: &[u8] = br#"{"event":"experiment""#;
/// Maximum length of a line, in bytes; see the record of a run.
const LONGEST: usize = 16 << 20;

/// A line of the file that is not an event of a run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum SeriesLine<T> {
    /// The first line: what is asked, and how.
    Experiment { schema: String, head: T },
    /// Start of a run, with what it is of.
    Run { of: T },
    /// End of a run, with the time spent on the experiment so far.
    RunOver { elapsed_ns: u64 },
    /// End of the experiment before its last run, with the reason.
    Over { why: T, elapsed_ns: u64 },
}

/// A writer of a series.
pub struct SeriesWriter {
    lines: RecordWriter,
    /// Length of the file up to the last whole run.
    whole: u64,
}

impl SeriesWriter {
    /// Creates or replaces the file of a new series.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn create(path: &Path, head: &impl Serialize) -> io::Result<SeriesWriter> {
        let mut writer = SeriesWriter { lines: RecordWriter::create(path)?, whole: 0 };
        writer.lines.write_line(&SeriesLine::Experiment { schema: SERIES_SCHEMA.to_owned(), head })?;
        writer.whole = writer.lines.bytes();
        Ok(writer)
    }

    /// Opens the file of a series that was read, to go on after its last whole run.
    ///
    /// # Errors
    /// Returns the error of the operating system; `WouldBlock` if another process is writing to it.
    pub fn resume(path: &Path, read: &SeriesReader) -> io::Result<SeriesWriter> {
        let whole = read.whole as u64;
        Ok(SeriesWriter { lines: RecordWriter::go_on(path, whole)?, whole })
    }

    /// Begins a run of something.
    ///
    /// # Errors
    /// Returns the first error of writing, after which nothing more is written; the same holds for the other methods.
    pub fn begin(&mut self, of: &impl Serialize) -> io::Result<()> {
        self.lines.write_line(&SeriesLine::Run { of })
    }

    /// Appends an event of the run.
    ///
    /// # Errors
    /// See [`SeriesWriter::begin`].
    pub fn write(&mut self, event: &RunEvent) -> io::Result<()> {
        self.lines.write(event)
    }

    /// Ends the run.
    ///
    /// # Errors
    /// See [`SeriesWriter::begin`].
    pub fn end(&mut self, elapsed_ns: u64) -> io::Result<()> {
        self.lines.write_line(&SeriesLine::RunOver::<()> { elapsed_ns })?;
        self.whole = self.lines.bytes();
        Ok(())
    }

    /// Removes the run that has begun.
    ///
    /// # Errors
    /// See [`SeriesWriter::begin`].
    pub fn discard(&mut self) -> io::Result<()> {
        self.lines.cut(self.whole)
    }

    /// Says why the experiment ended before its last run; one that goes on overwrites it.
    ///
    /// # Errors
    /// See [`SeriesWriter::begin`].
    pub fn conclude(&mut self, why: &impl Serialize, elapsed_ns: u64) -> io::Result<()> {
        self.lines.write_line(&SeriesLine::Over { why, elapsed_ns })
    }
}

/// A run of a series; it can be read any number of times.
#[derive(Debug)]
pub struct SeriesRun<T> {
    /// What it is of.
    pub of: T,
    /// Time spent on the experiment up to its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// Its lines, compressed: a small file may unpack to any size.
    frames: Vec<u8>,
}

impl<T> ReplaySource for SeriesRun<T> {
    fn replay(&self) -> Result<RecordReader<'_>, ReadFault> {
        RecordReader::from_source(&self.frames[..])
    }
}

/// What follows in a series.
#[derive(Debug)]
pub enum SeriesEntry<T> {
    /// A whole run.
    Run(SeriesRun<T>),
    /// The experiment ended here, for this reason.
    Over(T, u64),
    /// The file ends here, though the experiment had not.
    CutOff,
}

/// A reader of a series.
#[derive(Debug)]
pub struct SeriesReader {
    /// The file, compressed.
    bytes: Vec<u8>,
    /// Start of the next frame, and end of the last whole run.
    at: usize,
    whole: usize,
    /// Number of the line read last.
    line: u64,
}

impl SeriesReader {
    /// Returns `true` if the file begins as a series does.
    pub fn is_series(path: &Path) -> bool {
        // Looking into a pipe would take from it what is read next.
        if !path.metadata().is_ok_and(|data| data.is_file()) {
            return false;
        }
        let start = std::fs::File::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(file, LONGEST as u64), &mut bytes).map(|_| bytes)
        });
        let Ok(bytes) = start else { return false };
        let mut reader = SeriesReader { bytes, at: 0, whole: 0, line: 0 };
        reader.next_line().is_ok_and(|line| line.is_some_and(|line| line.starts_with(HEAD)))
    }

    /// Opens a series and reads its head.
    ///
    /// # Errors
    /// Returns a fault if the file cannot be read or is no series.
    pub fn open<T: DeserializeOwned>(path: &Path) -> Result<(T, SeriesReader), ReadFault> {
        let unreadable = |error: io::Error| fault(0, format!("{}: {error}", path.display()));
        // A pipe that nobody writes to would be waited for.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(fault(0, format!("{}: it is not a regular file", path.display())));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        SeriesReader::from_bytes(bytes)
    }

    /// Reads the head of a series.
    ///
    /// # Errors
    /// Returns a fault if it is no series.
    pub fn from_bytes<T: DeserializeOwned>(bytes: Vec<u8>) -> Result<(T, SeriesReader), ReadFault> {
        let mut reader = SeriesReader { bytes, at: 0, whole: 0, line: 0 };
        let line = reader.next_line()?.unwrap_or_default();
        match serde_json::from_slice(&line) {
            Ok(SeriesLine::Experiment { schema, head }) if schema == SERIES_SCHEMA => {
                reader.whole = reader.at;
                Ok((head, reader))
            }
            Ok(SeriesLine::Experiment { schema, .. }) => Err(fault(
                1,
                format!(
                    "it has the format {schema}, and this brunt reads {SERIES_SCHEMA}; use the version that wrote it"
                ),
            )),
            Err(error) if line.starts_with(HEAD) => Err(fault(1, format!("the head cannot be read ({error})"))),
            Ok(_) | Err(_) => Err(fault(1, "this is not the record of an experiment")),
        }
    }

    /// Reads what follows.
    ///
    /// # Errors
    /// Returns a fault if the file is damaged; one that is cut off is not.
    pub fn next_entry<T: DeserializeOwned>(&mut self) -> Result<SeriesEntry<T>, ReadFault> {
        let Some(line) = self.next_line()? else { return Ok(SeriesEntry::CutOff) };
        let of = match self.parse(&line)? {
            SeriesLine::Run { of } => of,
            SeriesLine::Over { why, elapsed_ns } => return Ok(SeriesEntry::Over(why, elapsed_ns)),
            SeriesLine::Experiment { .. } | SeriesLine::RunOver { .. } => {
                return Err(fault(self.line, "a run must begin here; the file was changed or damaged"));
            }
        };
        let begin = self.at;
        loop {
            let end = self.at;
            let Some(line) = self.next_line()? else { return Ok(SeriesEntry::CutOff) };
            if line.starts_with(br#"{"event":"run_over""#) {
                let SeriesLine::<()>::RunOver { elapsed_ns } = self.parse(&line)? else {
                    return Err(fault(self.line, "the end of a run must be here"));
                };
                self.whole = self.at;
                let frames = self.bytes[begin..end].to_vec();
                return Ok(SeriesEntry::Run(SeriesRun { of, elapsed_ns, frames }));
            }
        }
    }

    fn parse<T: DeserializeOwned>(&self, line: &[u8]) -> Result<SeriesLine<T>, ReadFault> {
        serde_json::from_slice(line).map_err(|error| fault(self.line, format!("the line cannot be read ({error})")))
    }

    /// Unpacks the next frame; `None` at the end, or if the rest is cut off.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, ReadFault> {
        let rest = &self.bytes[self.at..];
        // What is no frame and what is not a whole one cannot be told apart at the end of a file.
        let Ok(size) = zstd::zstd_safe::find_frame_compressed_size(rest) else { return Ok(None) };
        self.line += 1;
        // The size is that of an untrusted file.
        let holds = zstd::zstd_safe::get_frame_content_size(rest).ok().flatten().filter(|size| *size <= LONGEST as u64);
        let line = zstd::bulk::decompress(&rest[..size], holds.unwrap_or_default() as usize)
            .map_err(|error| fault(self.line, format!("the file is damaged here ({error})")))?;
        self.at += size;
        Ok(Some(line))
    }
}

fn fault(line: u64, sentence: impl Into<String>) -> ReadFault {
    ReadFault { line, sentence: sentence.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::a_run;

    fn write_runs(path: &Path, runs: u32) -> SeriesWriter {
        let mut writer = SeriesWriter::create(path, &"find").unwrap();
        for n in 0..runs {
            writer.begin(&n).unwrap();
            a_run(2).iter().for_each(|event| writer.write(event).unwrap());
            writer.end(u64::from(n) * 10).unwrap();
        }
        writer
    }

    /// Returns the numbers of the whole runs, after each of which all events are there, and what ends the series.
    fn read(bytes: &[u8]) -> Result<(Vec<u32>, String), ReadFault> {
        let (head, mut reader) = SeriesReader::from_bytes::<String>(bytes.to_vec())?;
        assert_eq!(head, "find");
        let mut numbers = Vec::new();
        loop {
            match reader.next_entry::<u32>()? {
                SeriesEntry::Run(run) => {
                    assert_eq!(run.elapsed_ns, u64::from(run.of) * 10);
                    for _ in 0..2 {
                        let events: Vec<RunEvent> = run.replay()?.map(Result::unwrap).collect();
                        assert_eq!(events, a_run(2));
                    }
                    numbers.push(run.of);
                }
                SeriesEntry::Over(why, _) => return Ok((numbers, format!("over {why}"))),
                SeriesEntry::CutOff => return Ok((numbers, "cut off".into())),
            }
        }
    }

    #[test]
    fn runs_are_read_back_and_told_from_the_record_of_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.bruntexp");
        let mut writer = write_runs(&path, 3);
        assert_eq!(read(&std::fs::read(&path).unwrap()).unwrap(), (vec![0, 1, 2], "cut off".into()));
        writer.begin(&3).unwrap();
        writer.write(&a_run(1)[0]).unwrap();
        writer.discard().unwrap();
        writer.conclude(&7, 99).unwrap();
        assert_eq!(read(&std::fs::read(&path).unwrap()).unwrap(), (vec![0, 1, 2], "over 7".into()));
        assert!(SeriesReader::is_series(&path));
        let run = dir.path().join("run.bruntrec");
        let mut of_run = RecordWriter::create(&run).unwrap();
        a_run(1).iter().for_each(|event| of_run.write(event).unwrap());
        assert!(!SeriesReader::is_series(&run) && !SeriesReader::is_series(dir.path()));
        assert!(read(&std::fs::read(&run).unwrap()).is_err());
        assert!(RecordReader::open(&path).unwrap().next().unwrap().is_err());
    }

    #[test]
    fn cut_anywhere_the_whole_runs_are_kept_and_more_follow() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.bruntexp");
        drop(write_runs(&path, 2));
        let all = std::fs::read(&path).unwrap();
        let head = write_runs(&dir.path().join("y"), 0).whole as usize;
        for cut in head..=all.len() {
            std::fs::write(&path, &all[..cut]).unwrap();
            let (_, mut reader) = SeriesReader::open::<String>(&path).unwrap();
            let mut whole = 0;
            while let SeriesEntry::Run(run) = reader.next_entry::<u32>().unwrap() {
                whole = run.of + 1;
            }
            let mut writer = SeriesWriter::resume(&path, &reader).unwrap();
            writer.begin(&whole).unwrap();
            a_run(2).iter().for_each(|event| writer.write(event).unwrap());
            writer.end(u64::from(whole) * 10).unwrap();
            let numbers: Vec<u32> = (0..=whole).collect();
            assert_eq!(read(&std::fs::read(&path).unwrap()).unwrap(), (numbers, "cut off".into()), "cut at {cut}");
        }
    }

    #[test]
    fn a_run_that_unpacks_to_gigabytes_stays_small() {
        let packed = |text: &[u8]| zstd::bulk::compress(text, 1).unwrap();
        let blanks = packed(&vec![b' '; LONGEST]);
        let [head, run, over] = [
            r#"{"event":"experiment","schema":"brunt-experiment/1","head":"find"}"#,
            r#"{"event":"run","of":1}"#,
            r#"{"event":"run_over","elapsed_ns":1}"#,
        ]
        .map(|line| packed(line.as_bytes()));
        let bytes = [head, run, blanks.repeat(8), over].concat();
        let (_, mut reader) = SeriesReader::from_bytes::<String>(bytes).unwrap();
        let SeriesEntry::Run(run) = reader.next_entry::<u32>().unwrap() else { panic!("a whole run") };
        assert_eq!(run.frames.len(), 8 * blanks.len(), "kept as it was packed");
        let said = run.replay().unwrap().next().unwrap().unwrap_err().to_string();
        assert!(said.starts_with("line 1: the line is longer than"), "{said}");
    }

    #[test]
    fn what_is_no_series_is_one_sentence() {
        let packed = |text: &str| zstd::bulk::compress(text.as_bytes(), 1).unwrap();
        let of = |bytes: Vec<u8>| read(&bytes).unwrap_err().to_string();
        assert_eq!(of(Vec::new()), "line 1: this is not the record of an experiment");
        assert_eq!(
            of(packed("{\"event\":\"experiment\",\"schema\":\"brunt-experiment/9\",\"head\":\"find\"}\n")),
            "line 1: it has the format brunt-experiment/9, and this brunt reads brunt-experiment/1; use the version that wrote it"
        );
        let head = packed("{\"event\":\"experiment\",\"schema\":\"brunt-experiment/1\",\"head\":\"find\"}\n");
        let odd = packed("{\"event\":\"experiment\",\"schema\":\"brunt-experiment/1\",\"head\":5}\n");
        assert!(of(odd).starts_with("line 1: the head cannot be read (invalid type: integer `5`"));
        assert!(
            of([head.clone(), packed("{\"event\":\"run_over\",\"elapsed_ns\":1}\n")].concat())
                .starts_with("line 2: a run must begin")
        );
        assert!(of([head, packed("{}")].concat()).starts_with("line 2: the line cannot be read"));
    }
}
