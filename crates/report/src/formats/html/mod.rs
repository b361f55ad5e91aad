//! HTML for people: a single self-contained file with interactive charts.
//!
//! The page is built in advance (`web/`), and its data is inserted here as lines of JSON, compressed and encoded as
//! base64, so that untrusted text cannot act as markup. A page of several runs begins with the comparisons with the
//! first run. The first line of a run is its head: the JSON report and every sentence in both languages. It is followed
//! by the seconds (those of a long run merged to steps), the names and request phases by blocks of seconds, and the counters of hosts, in chronological
//! order. Lines are written while the record is read and are never all held in memory. Pages that show a live run use
//! the same lines ([`LiveLines`]).

mod agents;
mod counters;
mod flows;
mod head;
mod histogram;
mod named;
mod phases;
mod resolution;
mod run_lines;
mod second;
mod sentences;
mod steps;

use std::io::{self, Write};

use brunt_record::RunEvent;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

use self::resolution::Resolution;
use self::run_lines::RunLines;
use super::{ReportFormat, Style};
use crate::comparison::{ComparedRun, compare_runs};
use crate::seconds::SecondsSource;
use crate::summary::Summary;

/// The HTML format (see the module documentation).
pub(super) struct HtmlFormat;

impl ReportFormat for HtmlFormat {
    fn name(&self) -> &'static str {
        "html"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["html", "htm"]
    }

    fn write(
        &self,
        summary: &Summary,
        seconds: &dyn SecondsSource,
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        compare(&[ComparedRun { name: "", summary, seconds }], style, out)
    }
}

/// Writes the page of one run, or of several runs overlaid.
///
/// # Errors
///
/// Returns the error of writing or reading.
pub fn compare(runs: &[ComparedRun<'_>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let title = runs.first().map_or(String::new(), |run| sentences::title(run.summary, style.lang));
    let lang = sentences::code(style.lang);
    brunt_assets::fill(&brunt_assets::REPORT, lang, &title, out, |out| {
        let text = base64::write::EncoderWriter::new(out, &base64::engine::general_purpose::STANDARD);
        let mut packed = ZlibEncoder::new(text, Compression::new(7));
        let against: Vec<Value> = compare_runs(runs)?.iter().map(|told| json!(told.document())).collect();
        if !against.is_empty() {
            line(&mut packed, &json!({ "compared": against }))?;
        }
        runs.iter().try_for_each(|run| lines(run, &mut packed))?;
        packed.finish()?.finish().map(drop)
    })
}

/// Writes the lines of a run, the data of its page.
///
/// # Errors
///
/// Returns the error of writing or reading.
pub fn lines(run: &ComparedRun<'_>, out: &mut dyn Write) -> io::Result<()> {
    let summary = run.summary.escaped();
    let grain = Resolution::of(&summary, run.seconds)?;
    line(out, &head::head(run.name, &summary, &grain))?;
    let mut drawing = RunLines::of(&summary, &grain);
    for event in run.seconds.events()? {
        drawing.see(&event?).iter().try_for_each(|row| line(out, row))?;
    }
    drawing.flush().iter().try_for_each(|row| line(out, row))
}

/// The lines of a live run for its page.
pub struct LiveLines {
    resolution: Resolution,
    lines: RunLines,
}

impl LiveLines {
    /// Creates the state for a run whose beginning is in `summary`.
    pub fn of(summary: &Summary) -> LiveLines {
        let summary = summary.escaped();
        let grain = Resolution::live(&summary);
        let drawing = RunLines::of(&summary, &grain);
        LiveLines { resolution: grain, lines: drawing }
    }

    /// Returns the head line, with the data so far.
    pub fn head(&self, summary: &Summary) -> Value {
        head::head("", &summary.escaped(), &self.resolution)
    }

    /// Returns the lines that the next event completes.
    pub fn see(&mut self, event: &RunEvent) -> Vec<Value> {
        self.lines.see(event)
    }

    /// Returns the remaining lines.
    pub fn flush(&mut self) -> Vec<Value> {
        self.lines.flush()
    }
}

fn line(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
