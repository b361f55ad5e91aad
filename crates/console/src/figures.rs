//! What the library remembers of a run, so that a list needs no record.

use std::path::Path;

use record::RecordFile;
use report::{Exit, Summary};
use serde::{Deserialize, Serialize};

/// Nobody's record is larger than this once it is decompressed: a day of a run with many names has a tenth of it.
const LARGEST: u64 = 8 << 30;

/// The figures of a run, as its report has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Wall clock at the start, milliseconds since 1970.
    pub started_ms: u64,
    /// The first URL, and how many there are.
    pub target: String,
    pub urls: u64,
    /// `http`, `redis` …
    pub protocol: String,
    /// `open` or `closed`.
    pub mode: String,
    /// The highest rate or the most users that the plan asks for, and whether it asks for the same all along.
    pub load_peak: f64,
    pub load_steady: bool,
    /// How long the plan lasts, where it says so, in seconds.
    pub planned_s: Option<f64>,
    /// `completed`, `stopped`, `drained`, `interrupted`, `aborted`, `cut_off` …
    pub ended: String,
    /// The exit code.
    pub exit: u8,
    /// `trusted`, `caution` or `not_trusted`.
    pub verdict: String,
    pub window_s: f64,
    pub elapsed_s: f64,
    pub scheduled: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub unfinished: u64,
    pub throughput_per_s: f64,
    /// Quantiles of the latency that the run stands for; None where they are withheld or only lower bounds.
    pub p50_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Objectives: all, and those that were met.
    pub objectives: u32,
    pub met: u32,
    /// The rule of the principal limit.
    pub limit: Option<String>,
    /// Version of brunt that ran.
    pub brunt: String,
}

impl Figures {
    /// Those of a record.
    ///
    /// # Errors
    /// Why it is none, in a sentence.
    pub fn of(record: &Path) -> Result<Figures, String> {
        let summary = summary(record)?;
        Ok(Figures::of_summary(&summary))
    }

    /// Those of a run that was summed up.
    pub fn of_summary(summary: &Summary) -> Figures {
        let totals = &summary.totals;
        let quantile = |q| summary.headline().quantile(q).figure.exact().map(|time| time.0 as f64 / 1e3);
        let mut figures = Figures {
            mode: if summary.open { "open" } else { "closed" }.into(),
            ended: summary.ended_how().into(),
            exit: summary.exit.code(),
            verdict: summary.trust.verdict().verdict().into(),
            window_s: summary.window.as_secs_f64(),
            elapsed_s: summary.elapsed.as_secs_f64(),
            scheduled: totals.due,
            succeeded: totals.finished,
            failed: totals.failed,
            unfinished: totals.censored,
            throughput_per_s: summary.throughput_per_s(),
            p50_us: quantile(0.5),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            objectives: summary.objectives.len() as u32,
            met: summary.objectives.iter().filter(|judged| judged.met).count() as u32,
            limit: summary.limits.principal().map(|found| found.rule.to_owned()),
            ..Figures::default()
        };
        summary.started.iter().for_each(|started| figures.begun(started));
        figures
    }

    /// What is known of a run from its beginning on.
    pub fn begun(&mut self, started: &record::Started) {
        let plan = &started.plan;
        self.started_ms = started.unix_ms;
        self.target = plan.urls.first().map(|url| url.url.clone()).unwrap_or_default();
        self.urls = plan.count_urls() as u64;
        self.protocol.clone_from(&plan.protocol);
        self.mode = if plan.load.is_open() { "open" } else { "closed" }.into();
        self.load_peak = plan.load.peak();
        self.load_steady =
            plan.load.stages().iter().all(|stage| stage.from == self.load_peak && stage.to == self.load_peak);
        self.planned_s = plan.duration.map(|duration| duration.as_secs_f64());
        self.brunt.clone_from(&started.brunt);
    }
}

/// Sums up a record, which may come from anywhere.
///
/// # Errors
/// Why it cannot be, in a sentence.
pub fn summary(record: &Path) -> Result<Summary, String> {
    let past = Bounded(RecordFile(record.to_owned()));
    // The place of a file in the library says nothing to anybody.
    let place = format!("{}: ", record.display());
    let summary = Summary::from_past(&past).map_err(|fault| fault.to_string().replace(&place, ""))?;
    if summary.started.is_none() {
        return Err("the record ends before the event that the run started".into());
    }
    if summary.exit == Exit::Bug {
        return Err("the record contradicts itself: its requests do not add up; it was changed or damaged".into());
    }
    Ok(summary)
}

/// A record that is refused where it is too large.
pub struct Bounded(pub RecordFile);

impl record::Past for Bounded {
    fn replay(&self) -> Result<record::Reader<'_>, record::ReadFault> {
        self.0.replay().map(|reader| reader.within(LARGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_told_without_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        std::fs::write(&path, "hello\n").unwrap();
        let said = Figures::of(&path).unwrap_err();
        assert_eq!(said, "line 1: this is not a brunt record: its first line must be the event \"started\"");
        assert!(!Figures::of(&directory.path().join("missing")).unwrap_err().contains("missing"));
    }
}
