//! HTML for people: a single file to pass on, with interactive charts.
//!
//! The page is built in advance (`web/`); its data is inserted here: lines of JSON, compressed, as base64, so
//! that no untrusted text can be markup. A page of several runs begins with how each of them differs from the
//! first. The first line of a run is its head, the JSON report and every sentence in both languages; after it
//! come its seconds, its names and request phases by blocks of seconds and the counters of hosts, in the order
//! of time. They are written while the record is read: none of them is held completely. Pages that show a live
//! run draw the same lines ([`Live`]).

mod counters;
mod drawing;
mod flows;
mod grain;
mod head;
mod histogram;
mod named;
mod phases;
mod second;
mod words;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use record::RunEvent;
use serde_json::{Value, json};

use self::drawing::Drawing;
use self::grain::Grain;
use super::{Format, Style};
use crate::comparison::{Compared, comparison};
use crate::seconds::Seconds;
use crate::summary::Summary;

/// The HTML format (see the module documentation).
pub(super) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["html", "htm"]
    }

    fn write(&self, summary: &Summary, seconds: &dyn Seconds, style: Style, out: &mut dyn Write) -> io::Result<()> {
        compare(&[Compared { name: "", summary, seconds }], style, out)
    }
}

/// Writes the page of a run, or of several overlaid.
///
/// # Errors
///
/// Returns the error of writing or reading.
pub fn compare(runs: &[Compared<'_>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let title = runs.first().map_or(String::new(), |run| words::title(run.summary, style.lang));
    let lang = words::code(style.lang);
    web::fill(&web::REPORT, lang, &title, out, |out| {
        let text = base64::write::EncoderWriter::new(out, &base64::engine::general_purpose::STANDARD);
        let mut packed = ZlibEncoder::new(text, Compression::new(7));
        let against: Vec<Value> = comparison(runs)?.iter().map(|told| json!(told.document())).collect();
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
pub fn lines(run: &Compared<'_>, out: &mut dyn Write) -> io::Result<()> {
    let summary = run.summary.plain();
    let grain = Grain::of(&summary, run.seconds)?;
    line(out, &head::head(run.name, &summary, &grain))?;
    let mut drawing = Drawing::of(&summary, &grain);
    for event in run.seconds.events()? {
        drawing.see(&event?).iter().try_for_each(|row| line(out, row))?;
    }
    drawing.rest().iter().try_for_each(|row| line(out, row))
}

/// The lines of a live run, as pages draw them.
pub struct Live {
    grain: Grain,
    drawing: Drawing,
}

impl Live {
    /// Creates the state for a run whose beginning is in `summary`.
    pub fn of(summary: &Summary) -> Live {
        let summary = summary.plain();
        let grain = Grain::live(&summary);
        let drawing = Drawing::of(&summary, &grain);
        Live { grain, drawing }
    }

    /// Returns the head of its lines, with the data so far.
    pub fn head(&self, summary: &Summary) -> Value {
        head::head("", &summary.plain(), &self.grain)
    }

    /// Returns the lines of its next event.
    pub fn see(&mut self, event: &RunEvent) -> Vec<Value> {
        self.drawing.see(event)
    }

    /// Returns the lines not written yet.
    pub fn rest(&mut self) -> Vec<Value> {
        self.drawing.rest()
    }
}

fn line(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
