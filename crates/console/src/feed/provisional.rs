//! The file beside the record of a run on agents with the seconds that one of them holds up.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use crate::run_control;

/// A second without those that are silent.
#[derive(Clone, Copy, Debug, Deserialize)]
struct ProvisionalSecond {
    from_ns: i64,
    to_ns: i64,
    succeeded: u64,
    failed: u64,
    missing_share: f64,
}

/// The position in the file.
pub(super) struct ProvisionalReader {
    path: PathBuf,
    at: u64,
}

impl ProvisionalReader {
    /// Creates a reader of the file beside a record; it need not exist.
    pub fn beside(record: &Path) -> ProvisionalReader {
        let mut path = record.as_os_str().to_owned();
        path.push(run_control::PROVISIONAL);
        ProvisionalReader { path: path.into(), at: 0 }
    }

    /// Returns the message of the last second that was added, if any: those before it are past.
    pub fn news(&mut self) -> Option<(&'static str, String)> {
        let mut added = String::new();
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.at)).and_then(|_| file.read_to_string(&mut added)).ok()?;
        // A line that is not whole yet is read next time.
        let whole = added.rfind('\n')? + 1;
        self.at += whole as u64;
        let last: ProvisionalSecond = serde_json::from_str(added[..whole].lines().last()?).ok()?;
        let length_s = (last.to_ns - last.from_ns) as f64 / 1e9;
        let told = json!({
            "to_ns": last.to_ns,
            "throughput_per_s": if length_s > 0.0 { last.succeeded as f64 / length_s } else { 0.0 },
            "failed": last.failed,
            "missing_share": last.missing_share,
        });
        Some(("provisional", told.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_last_whole_second_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let record = directory.path().join("run");
        let mut reader = ProvisionalReader::beside(&record);
        assert_eq!(reader.news(), None);
        let line = |from: i64| json!({ "from_ns": from, "to_ns": from + 500_000_000, "succeeded": 50, "failed": 1, "missing_share": 0.5 });
        let mut file = File::create(directory.path().join("run.provisional")).unwrap();
        let third = line(1_000_000_000).to_string();
        let (begun, rest) = third.split_at(7);
        write!(file, "{}\n{}\n{begun}", line(0), line(500_000_000)).unwrap();
        let (name, told) = reader.news().unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            (name, &told["to_ns"], &told["throughput_per_s"]),
            ("provisional", &json!(1_000_000_000), &json!(100.0))
        );
        assert_eq!(reader.news(), None, "half a line");
        writeln!(file, "{rest}").unwrap();
        assert!(reader.news().unwrap().1.contains("1500000000"));
    }
}
