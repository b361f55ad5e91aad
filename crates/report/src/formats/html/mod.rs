//! HTML for people: one file to send on, with pictures that can be looked into.
//!
//! The page is built beforehand (`web/`); here its data is written into it: lines of JSON, compressed, as base64, in which no
//! text of others can be markup. The first line of a run is its head, the JSON report and every sentence in both
//! languages; behind it come its seconds, its names by blocks of seconds and the counters of hosts, in the order of time. They are written as the
//! record is read: none of it is held whole. Pages that show a run while it goes on may draw the same lines ([`line_of`]).

mod counters;
mod grain;
mod head;
mod histogram;
mod named;
mod second;
mod words;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use record::{RunEvent, Second};
use serde_json::Value;

use self::grain::Grain;
use super::{Format, Style};
use crate::seconds::Seconds;
use crate::summary::Summary;

/// See the module.
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

/// A run on a page with others.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    /// What it is called: the file of its record.
    pub name: &'a str,
    /// What it came to.
    pub summary: &'a Summary,
    /// Its seconds.
    pub seconds: &'a dyn Seconds,
}

/// Writes the page of a run, or of several laid over each other.
///
/// # Errors
/// What writing or reading said.
pub fn compare(runs: &[Compared<'_>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let title = runs.first().map_or(String::new(), |run| words::title(run.summary, style.lang));
    let lang = words::code(style.lang);
    web::fill(web::REPORT, lang, &title, out, |out| {
        let text = base64::write::EncoderWriter::new(out, &base64::engine::general_purpose::STANDARD);
        let mut packed = ZlibEncoder::new(text, Compression::new(7));
        runs.iter().try_for_each(|run| lines(run, &mut packed))?;
        packed.finish()?.finish().map(drop)
    })
}

/// Writes the lines of a run: what its page draws.
///
/// # Errors
/// What writing or reading said.
pub fn lines(run: &Compared<'_>, out: &mut dyn Write) -> io::Result<()> {
    let summary = run.summary.plain();
    let grain = Grain::of(&summary, run.seconds)?;
    line(out, &head::head(run.name, &summary, &grain))?;
    let mut named = named::Blocks::of(&summary, &grain);
    let mut counters = counters::Readings::of(&grain);
    for event in run.seconds.events()? {
        match event? {
            RunEvent::Second(second) => {
                line(out, &second::row(&second, summary.open, grain.buckets))?;
                named.add(&second).iter().try_for_each(|block| line(out, block))?;
            }
            RunEvent::Counters(sample) => counters.add(&sample).iter().try_for_each(|row| line(out, row))?,
            _ => {}
        }
    }
    named.rest().iter().try_for_each(|block| line(out, block))
}

/// A second as pages draw it, at the precision of the record: for those that show a run while it goes on.
pub fn line_of(second: &Second, open: bool) -> Value {
    second::row(second, open, histogram::FINEST)
}

/// The head of a run as pages draw it; of one that goes on, of what there is of it.
pub fn head_of(summary: &Summary) -> Value {
    head::head("", &summary.plain(), &Grain::finest())
}

fn line(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
