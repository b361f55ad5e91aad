//! Figures of a run in the library, so that a list does not need to read records.

use std::path::Path;

use brunt_record::RecordFile;
use brunt_report::{Exit, Summary};
use serde::{Deserialize, Serialize};

/// Maximum decompressed size of a record: a day of a run with many names takes a tenth of it.
const LARGEST: u64 = 8 << 30;

/// The figures of a run, as in its report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Wall clock at the start, milliseconds since 1970.
    pub started_ms: u64,
    /// The first URL, and the number of URLs.
    pub target: String,
    pub urls: u64,
    /// `http`, `redis` …
    pub protocol: String,
    /// `open` or `closed`.
    pub mode: String,
    /// The maximum rate or number of users of the plan, and whether the load is constant.
    pub load_peak: f64,
    pub load_steady: bool,
    /// Planned duration in seconds, if known.
    pub planned_s: Option<f64>,
    /// `completed`, `stopped`, `drained`, `interrupted`, `aborted`, `cut_off` …
    pub ended: String,
    /// The exit code.
    pub exit: u8,
    /// `trusted`, `too_short`, `caution` or `not_trusted`.
    pub verdict: String,
    pub window_s: f64,
    pub elapsed_s: f64,
    pub scheduled: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub unfinished: u64,
    pub throughput_per_s: f64,
    /// Latency quantiles of the run; `None` if they are withheld or only lower bounds.
    pub p50_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Number of objectives, and numbers of those that were met and of those that could not be decided.
    pub objectives: u32,
    pub met: u32,
    #[serde(default)]
    pub undecided: u32,
    /// Rule of the principal limit.
    pub limit: Option<String>,
    /// Version of brunt that executed the run.
    pub brunt: String,
}

impl RunFigures {
    /// Reads the figures of a record.
    ///
    /// # Errors
    /// Returns a message that says why the file is not a record.
    pub fn of(record: &Path) -> Result<RunFigures, String> {
        let summary = summary(record)?;
        Ok(RunFigures::of_summary(&summary))
    }

    /// Returns the figures of a summarized run.
    pub fn of_summary(summary: &Summary) -> RunFigures {
        let totals = &summary.totals;
        let quantile = |q| summary.headline().quantile(q).figure.exact().map(|time| time.0 as f64 / 1e3);
        let mut figures = RunFigures {
            mode: if summary.open { "open" } else { "closed" }.into(),
            ended: summary.end_code().into(),
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
            met: summary.objectives.iter().filter(|judged| judged.is_met()).count() as u32,
            undecided: summary
                .objectives
                .iter()
                .filter(|judged| judged.outcome == brunt_report::ObjectiveOutcome::Undecided)
                .count() as u32,
            limit: summary.limits.principal().map(|found| found.rule.to_owned()),
            ..RunFigures::default()
        };
        summary.started.iter().for_each(|started| figures.begun(started));
        // What was asked for during the run, rather than what was planned.
        let levels = summary.stretches.iter().flat_map(|stretch| stretch.levels);
        if let Some(peak) = levels.reduce(f64::max) {
            (figures.load_peak, figures.load_steady) = (peak, false);
        }
        figures
    }

    /// Fills in the figures known at the beginning of a run.
    pub fn begun(&mut self, started: &brunt_record::RunStarted) {
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

/// Summarizes a record, which may come from any source.
///
/// # Errors
/// Returns a message that says why the record cannot be summarized.
pub fn summary(record: &Path) -> Result<Summary, String> {
    let past = BoundedRecord(RecordFile(record.to_owned()));
    // The path of a file in the library means nothing to the user.
    let place = format!("{}: ", record.display());
    let summary = Summary::from_past(&past).map_err(|fault| fault.to_string().replace(&place, ""))?;
    if summary.started.is_none() {
        return Err("the record ends before the event that marks the start of the run".into());
    }
    if summary.exit == Exit::Bug {
        return Err("the record contradicts itself: its requests do not add up; it was changed or damaged".into());
    }
    Ok(summary)
}

/// A record with a limit on its size.
pub struct BoundedRecord(pub RecordFile);

impl brunt_record::ReplaySource for BoundedRecord {
    fn replay(&self) -> Result<brunt_record::RecordReader<'_>, brunt_record::ReadFault> {
        self.0.replay().map(|reader| reader.with_limit(LARGEST))
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
        let said = RunFigures::of(&path).unwrap_err();
        assert_eq!(said, "line 1: this is not a brunt record: its first line must be the event \"started\"");
        assert!(!RunFigures::of(&directory.path().join("missing")).unwrap_err().contains("missing"));
    }
}
