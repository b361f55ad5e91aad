//! The reader of a record, compressed or as plain lines.
//!
//! A record may be truncated anywhere, because the run was killed, the disk was full, or only a part was copied.
//! Complete events are returned, and [`RecordReader::cut_off`] reports the truncation. Any other fault is described in
//! one sentence with a line number.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::growing_file::GrowingFile;
use crate::plausibility::PlausibilityCheck;
use crate::{ReplaySource, RunEvent, RunStarted, SCHEMA};

/// Maximum length of a line, in bytes: histograms with every bucket filled take three megabytes, and those of a
/// thousand names nine. The first line, which contains the plan, may be longer.
const LONGEST_LINE: u64 = 12 << 20;
const LONGEST_FIRST: u64 = 16 << 20;
/// Maximum zstd window of a compressed record, as a power of two; our writer uses far less.
const WINDOW: u32 = 24;
const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The reason why a record, or the rest of it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFault {
    /// Line of the fault, counted from 1; 0 for the whole file.
    pub line: u64,
    /// Sentence that states what is wrong and what is expected.
    pub sentence: String,
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for ReadFault {}

fn fault(line: u64, sentence: impl Into<String>) -> ReadFault {
    ReadFault { line, sentence: sentence.into() }
}

/// An iterator over the events of a record; ends at the end of the record or after the first fault.
pub struct RecordReader<'a> {
    lines: Box<dyn BufRead + 'a>,
    line: u64,
    text: Vec<u8>,
    /// Remaining number of decompressed bytes that are accepted.
    left: u64,
    plausible: PlausibilityCheck,
    done: bool,
    ended: bool,
}

impl RecordReader<'static> {
    /// Opens a record, compressed or plain.
    ///
    /// # Errors
    /// Returns a fault if the file cannot be opened or is empty.
    pub fn open(path: &Path) -> Result<RecordReader<'static>, ReadFault> {
        let file = File::open(path).map_err(|e| fault(0, format!("{}: {e}", path.display())))?;
        RecordReader::from_source(file)
    }
}

impl<'a> RecordReader<'a> {
    /// Opens a record whose run may still be in progress. At the end of the file, `wait` blocks until there may be more
    /// to read, and returns `false` if there will not be.
    ///
    /// # Errors
    /// As for [`RecordReader::open`].
    pub fn follow(path: &Path, wait: impl FnMut() -> bool + 'a) -> Result<RecordReader<'a>, ReadFault> {
        let file = File::open(path).map_err(|e| fault(0, format!("{}: {e}", path.display())))?;
        RecordReader::from_source(GrowingFile::new(file, wait))
    }

    /// Limits the decompressed size of the record, because a small file may unpack to any size; a larger record is
    /// refused.
    #[must_use]
    pub fn with_limit(self, bytes: u64) -> RecordReader<'a> {
        RecordReader { left: bytes, ..self }
    }

    /// Reads a record from any source of bytes, compressed or plain.
    ///
    /// # Errors
    /// Returns a fault if the source cannot be read or is empty.
    pub fn from_source(source: impl Read + 'a) -> Result<RecordReader<'a>, ReadFault> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        // One read may return fewer than the four bytes of the magic, but a file that short is not a record anyway.
        let start = source.fill_buf().map_err(|e| fault(0, e.to_string()))?;
        if start.is_empty() {
            return Err(fault(0, "the file is empty: a record starts with a line on how the run was started"));
        }
        let lines: Box<dyn BufRead + 'a> = if start.starts_with(&ZSTD_MAGIC) {
            let mut decoder = zstd::Decoder::with_buffer(source).map_err(|e| fault(0, e.to_string()))?;
            decoder.window_log_max(WINDOW).map_err(|e| fault(0, e.to_string()))?;
            Box::new(BufReader::with_capacity(1 << 16, decoder))
        } else {
            Box::new(source)
        };
        let (text, plausible) = (Vec::new(), PlausibilityCheck::default());
        Ok(RecordReader { lines, line: 0, text, left: u64::MAX, plausible, done: false, ended: false })
    }

    /// Returns `true` if the record stops before the end of the run; valid only once the iterator is exhausted.
    pub fn cut_off(&self) -> bool {
        self.done && !self.ended
    }

    /// Reads the next line into `text`; returns `false` at the end or if the rest is cut off.
    fn next_line(&mut self) -> Result<bool, ReadFault> {
        self.text.clear();
        self.line += 1;
        let longest = if self.line == 1 { LONGEST_FIRST } else { LONGEST_LINE };
        let n = match self.lines.by_ref().take(longest).read_until(b'\n', &mut self.text) {
            Ok(n) => n as u64,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(e) => return Err(fault(self.line, format!("the file is damaged here ({e})"))),
        };
        if n == longest {
            let sentence = format!("the line is longer than {} MiB: this is not a brunt record", longest >> 20);
            return Err(fault(self.line, sentence));
        }
        self.left = self.left.checked_sub(n).ok_or_else(|| fault(self.line, "the record is too large"))?;
        Ok(n > 0)
    }

    fn parse(&mut self) -> Result<Option<RunEvent>, ReadFault> {
        if self.line == 1 {
            check_head(&self.text)?;
            // Parsed as its only possible type, because parsing the enum would buffer the whole line in memory twice.
            let started = serde_json::from_slice::<RunStarted>(&self.text)
                .map_err(|e| fault(self.line, describe_parse_error(&e)))?;
            self.plausible.start(&started).map_err(|sentence| fault(self.line, sentence))?;
            return Ok(Some(RunEvent::Started(Box::new(started))));
        }
        match parse_event(&self.text) {
            Ok(RunEvent::Started(_)) if self.line > 1 => Err(fault(
                self.line,
                "another run starts here: a record holds one run, so split the file before this line",
            )),
            Ok(event) => {
                self.plausible.check(&event).map_err(|sentence| fault(self.line, sentence))?;
                self.ended |= matches!(event, RunEvent::Ended(_));
                Ok(Some(event))
            }
            // The last line of a plain file is cut off.
            Err(_) if self.line > 1 && !self.text.ends_with(b"\n") => Ok(None),
            Err(e) => Err(fault(self.line, describe_parse_error(&e))),
        }
    }
}

/// A decoder of the events of one record that come one by one, as [`crate::EventEncoder`] encoded them, from a machine
/// that is not trusted.
pub struct EventDecoder {
    plausible: PlausibilityCheck,
    lines: u64,
}

impl Default for EventDecoder {
    fn default() -> EventDecoder {
        EventDecoder { plausible: PlausibilityCheck::of_part(), lines: 0 }
    }
}

impl EventDecoder {
    /// Decodes the next event.
    ///
    /// # Errors
    /// Returns a fault if it is none, or cannot follow the ones before.
    pub fn decode(&mut self, frame: &[u8]) -> Result<RunEvent, ReadFault> {
        self.lines += 1;
        let line = self.lines;
        let longest = if line == 1 { LONGEST_FIRST } else { LONGEST_LINE };
        let damaged = |e: io::Error| fault(line, format!("the event is damaged ({e})"));
        let mut decoder = zstd::Decoder::with_buffer(frame).map_err(damaged)?;
        decoder.window_log_max(WINDOW).map_err(damaged)?;
        let mut text = Vec::new();
        decoder.take(longest).read_to_end(&mut text).map_err(damaged)?;
        if text.len() as u64 == longest {
            return Err(fault(line, "the event is too long"));
        }
        if line == 1 {
            check_head(&text)?;
        }
        let event = parse_event(&text).map_err(|e| fault(line, describe_parse_error(&e)))?;
        match &event {
            RunEvent::Started(started) if line == 1 => {
                self.plausible.start(started).map_err(|sentence| fault(line, sentence))?;
            }
            RunEvent::Started(_) => return Err(fault(line, "another run starts here")),
            other => self.plausible.check(other).map_err(|sentence| fault(line, sentence))?,
        }
        Ok(event)
    }
}

/// Starts of the lines that make up most of a record, as it is written.
const SECOND: &[u8] = br#"{"event":"second","#;
const COUNTERS: &[u8] = br#"{"event":"counters","#;
const OF_AGENT: &[u8] = br#"{"event":"of_agent","#;

/// Parses a line. To find the tag of the enum, serde would first hold each line in memory as a tree, which takes as long
/// again as to parse it.
fn parse_event(line: &[u8]) -> serde_json::Result<RunEvent> {
    match line {
        _ if line.starts_with(SECOND) => serde_json::from_slice(line).map(|second| RunEvent::Second(Box::new(second))),
        _ if line.starts_with(COUNTERS) => serde_json::from_slice(line).map(RunEvent::Counters),
        _ if line.starts_with(OF_AGENT) => serde_json::from_slice(line).map(RunEvent::OfAgent),
        _ => serde_json::from_slice(line),
    }
}

/// Describes why a line is not an event. The parser's line number is dropped, because it counts within this single
/// line.
fn describe_parse_error(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let why = match said.rsplit_once(" at line ") {
        Some((why, _)) if error.column() > 0 => format!("{why} at column {}", error.column()),
        _ => said,
    };
    format!("this is not an event that brunt writes ({why}): the record was changed or damaged")
}

/// Refuses files that are not records, and records of later versions, before the rest of the first line is interpreted.
fn check_head(line: &[u8]) -> Result<(), ReadFault> {
    #[derive(Deserialize)]
    struct RecordHeader {
        event: String,
        schema: Option<String>,
    }
    let not_a_record = || fault(1, "this is not a brunt record: its first line must be the event \"started\"");
    let head: RecordHeader = serde_json::from_slice(line).map_err(|_| not_a_record())?;
    let schema = head.schema.filter(|_| head.event == "started").ok_or_else(not_a_record)?;
    let version = |name: &str| name.strip_prefix("brunt-record/").and_then(|v| v.parse::<u32>().ok());
    match (version(&schema), version(SCHEMA)) {
        (Some(its), Some(ours)) if its <= ours => Ok(()),
        (Some(_), _) => Err(fault(
            1,
            format!("the record has format {schema}, and this brunt reads up to {SCHEMA}: use a newer brunt"),
        )),
        (None, _) => Err(fault(1, format!("unknown record format {schema:?}: this brunt reads {SCHEMA}"))),
    }
}

impl Iterator for RecordReader<'_> {
    type Item = Result<RunEvent, ReadFault>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.next_line() {
                Ok(true) if self.line > 1 && self.text.trim_ascii().is_empty() => {}
                Ok(true) => match self.parse() {
                    // Skipped: only the later version that wrote the event knows its meaning.
                    Ok(Some(RunEvent::Unknown)) => {}
                    Ok(Some(event)) => return Some(Ok(event)),
                    Ok(None) => self.done = true,
                    Err(e) => {
                        self.done = true;
                        return Some(Err(e));
                    }
                },
                Ok(false) => self.done = true,
                Err(e) => {
                    self.done = true;
                    return Some(Err(e));
                }
            }
        }
        None
    }
}

/// A record on disk, which can be read any number of times.
#[derive(Clone, Debug)]
pub struct RecordFile(pub PathBuf);

impl ReplaySource for RecordFile {
    fn replay(&self) -> Result<RecordReader<'_>, ReadFault> {
        RecordReader::open(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;

    use super::*;
    use crate::tests::a_run;

    fn lines(events: &[RunEvent]) -> String {
        events.iter().map(|e| serde_json::to_string(e).unwrap() + "\n").collect()
    }

    fn read(text: &str) -> (Vec<RunEvent>, Option<String>, bool) {
        let mut reader = match RecordReader::from_source(text.as_bytes()) {
            Ok(reader) => reader,
            Err(e) => return (Vec::new(), Some(e.to_string()), false),
        };
        let mut events = Vec::new();
        let mut said = None;
        for event in reader.by_ref() {
            match event {
                Ok(event) => events.push(event),
                Err(e) => said = Some(e.to_string()),
            }
        }
        (events, said, reader.cut_off())
    }

    #[test]
    fn plain_lines_are_read() {
        let events = a_run(2);
        assert_eq!(read(&lines(&events)), (events.clone(), None, false));
        assert_eq!(read(&lines(&events).replace('\n', "\n\n")), (events.clone(), None, false), "blank lines");
        assert_eq!(read(lines(&events).trim_end()), (events, None, false), "no newline at the end");
    }

    #[test]
    fn a_plain_file_cut_in_a_line_is_cut_off() {
        let events = a_run(2);
        let text = lines(&events);
        let text = &text[..text.len() - 5];
        assert_eq!(read(text), (events[..4].to_vec(), None, true));
    }

    #[test]
    fn faults_are_one_sentence_with_the_line() {
        let events = a_run(2);
        let good = lines(&events);
        let later = good.replacen("brunt-record/2", "brunt-record/3", 1);
        let other = good.replacen("brunt-record/2", "k6/1", 1);
        let twice = format!("{good}{good}");
        let broken = good.replacen("\"second\"", "\"second\",\"due\":\"many\"", 1);
        for (text, wanted) in [
            ("", "the file is empty: a record starts with a line on how the run was started"),
            ("hello\n", "line 1: this is not a brunt record: its first line must be the event \"started\""),
            (
                "{\"event\":\"ended\"}\n",
                "line 1: this is not a brunt record: its first line must be the event \"started\"",
            ),
            (
                &*later,
                "line 1: the record has format brunt-record/3, and this brunt reads up to brunt-record/2: use a newer brunt",
            ),
            (&*other, "line 1: unknown record format \"k6/1\": this brunt reads brunt-record/2"),
            (&*twice, "line 6: another run starts here: a record holds one run, so split the file before this line"),
        ] {
            assert_eq!(read(text).1.as_deref(), Some(wanted));
        }
        let said = read(&broken).1.unwrap();
        assert!(said.starts_with("line 3: this is not an event that brunt writes ("), "{said}");
        assert!(said.ends_with("): the record was changed or damaged") && !said.contains("at line 1"), "{said}");
    }

    #[test]
    fn seconds_that_overlap_go_back_or_count_too_much_are_a_fault() {
        type SecondEdit = dyn Fn(&mut crate::Second, &mut crate::Second);
        const S: i64 = 1_000_000_000;
        let read_all = |change: &SecondEdit| {
            let mut events = a_run(2);
            let [.., RunEvent::Second(a), RunEvent::Second(b), _] = &mut *events else { panic!("two seconds") };
            change(a, b);
            read(&lines(&events)).1.unwrap_or_default()
        };
        assert_eq!(read_all(&|_, _| {}), "");
        assert_eq!(
            read_all(&|_, b| (b.from_ns, b.to_ns) = (S / 2, S / 2)),
            "",
            "one without a length tells what was left"
        );
        let changed = ": the record was changed, or put together from several";
        let begins = |from: &str, ended: &str| {
            format!("line 4: this second starts ({from} s) before the one above ends ({ended} s){changed}")
        };
        assert_eq!(read_all(&|_, b| b.from_ns = 0), begins("0", "1"), "repeated");
        assert_eq!(read_all(&|_, b| b.from_ns = S - 1), begins("0.999999999", "1"), "overlapping");
        assert_eq!(read_all(&|_, b| (b.from_ns, b.to_ns) = (-S, -S)), begins("-1", "1"), "going back");
        let back = "line 4: this second ends (0.5 s) before it starts (1 s)";
        assert_eq!(read_all(&|_, b| b.to_ns = S / 2), format!("{back}{changed}"));
        let far = "it has a time that no run reaches: the record was changed or damaged";
        assert_eq!(read_all(&|a, _| a.from_ns = i64::MIN), format!("line 3: {far}"));
        assert_eq!(read_all(&|_, b| b.to_ns = i64::MAX), format!("line 4: {far}"));
        assert_eq!(read_all(&|_, b| b.busy_since_ns = Some(i64::MIN)), format!("line 4: {far}"));
        let much = "line 4: its counts are larger than any run's: the record was changed or damaged";
        let counts: [&SecondEdit; 7] = [
            &|_, b| b.sent = 1 << 63,
            &|a, b| (a.finished, b.finished) = ((1 << 59), (1 << 59) + 1),
            &|_, b| b.bytes.received = u64::MAX,
            &|_, b| b.status = std::collections::BTreeMap::from([("200".into(), u64::MAX)]),
            &|_, b| b.failures[0].count = u64::MAX,
            &|_, b| b.service_ns = i128::from(i64::MIN) << 32,
            &|_, b| b.latency.failed.record_n(brunt_measure::Nanos(1), 1 << 61),
        ];
        counts.iter().for_each(|change| assert_eq!(read_all(change), much));
    }

    #[test]
    fn a_window_that_ends_before_its_last_second_began_is_a_fault() {
        let ended = |window: u64, hold: Option<Nanos>| {
            let mut events = a_run(3);
            for event in &mut events {
                match event {
                    RunEvent::Started(started) => started.plan.hold = hold,
                    RunEvent::Ended(ended) => ended.window = Nanos(window),
                    _ => {}
                }
            }
            read(&lines(&events)).1.unwrap_or_default()
        };
        const S: u64 = 1_000_000_000;
        for window in [3 * S, 2 * S, 9 * S] {
            assert_eq!(ended(window, None), "", "{window}");
        }
        let said = ended(2 * S - 1, None);
        assert!(said.contains("the window ended after 1.999999999 s, but one of its seconds starts at 2 s"), "{said}");
        assert!(said.contains("the record was changed") && !ended(0, None).is_empty(), "{said}");
        assert_eq!(ended(S, Some(Nanos(5))), "", "a held run learns of its end a little later");
    }

    #[test]
    fn what_a_later_brunt_tells_is_gone_past() {
        let events = a_run(2);
        let mut all: Vec<String> = lines(&events).lines().map(|line| format!("{line}\n")).collect();
        all.insert(2, "{\"event\":\"weather\",\"rain\":{\"mm\":[1,2]}}\n".into());
        all.insert(4, "{\"event\":\"second_of_hosts\"}\n".into());
        assert_eq!(read(&all.concat()), (events, None, false));
    }

    #[test]
    fn a_record_of_version_1_is_read() {
        let (events, said, cut_off) = read(include_str!("version-1.jsonl"));
        assert_eq!((events.len(), said, cut_off), (5, None, false));
        let RunEvent::Started(started) = &events[0] else { panic!("{:?}", events[0]) };
        assert_eq!((&*started.schema, started.names.len(), started.plan.urls.len()), ("brunt-record/1", 0, 2));
        let RunEvent::Example(example) = &events[2] else { panic!("{:?}", events[2]) };
        assert_eq!((&*example.kind, example.name, example.at_ns), ("wrong_status", None, None));
        let RunEvent::Second(second) = &events[3] else { panic!("{:?}", events[3]) };
        let counts = second.counts();
        assert_eq!((counts.due, counts.finished, counts.failed, counts.censored), (20, 12, 8, 0));
        assert_eq!((second.connections.opened, second.bytes.payload, second.latency.service.count()), (2, 196, 12));
    }

    #[test]
    fn of_a_run_of_one_name_nothing_new_is_written() {
        let old = lines(&a_run(2));
        assert!(
            !old.contains("\"names\"") && !old.contains("\"named\""),
            "nothing new is written of a run of one name"
        );
    }

    #[test]
    fn a_record_that_unpacks_to_more_than_is_taken_is_a_fault() {
        let text = lines(&a_run(2));
        let blank = zstd::bulk::compress(&vec![b'\n'; 1 << 20], 1).unwrap();
        let packed = [zstd::bulk::compress(text.as_bytes(), 1).unwrap(), blank].concat();
        let read = |most| RecordReader::from_source(packed.as_slice()).unwrap().with_limit(most).find_map(Result::err);
        assert_eq!(read(2 << 20), None);
        assert_eq!(read(1 << 20).unwrap().sentence, "the record is too large");
    }

    #[test]
    fn a_line_without_an_end_is_a_fault() {
        let head = lines(&a_run(1)[..1]);
        for (first, mib) in [("{\"event\":\"started\",", 16), (&*head, 12)] {
            let endless = first.as_bytes().chain(std::io::repeat(b'['));
            let said = RecordReader::from_source(endless).unwrap().find_map(Result::err).unwrap().sentence;
            assert_eq!(said, format!("the line is longer than {mib} MiB: this is not a brunt record"));
        }
    }

    #[test]
    fn damaged_bytes_are_a_fault_and_never_a_panic() {
        let mut packed = Vec::new();
        for event in a_run(2) {
            packed.extend(zstd::bulk::compress(lines(&[event]).as_bytes(), 1).unwrap());
        }
        for at in (4..packed.len()).step_by(11) {
            let mut bad = packed.clone();
            bad[at] ^= 0x55;
            if let Ok(reader) = RecordReader::from_source(bad.as_slice()) {
                assert!(reader.count() <= 6);
            }
        }
    }
}
