//! The formats of a report, in one list. A format costs one file here and one line in [`FORMATS`].

mod checks;
pub mod compared;
mod csv;
pub mod html;
mod iterations;
mod json;
mod junit;
mod markdown;
mod named;
mod reference;
mod scenarios;
mod slowest;
pub(crate) mod text;

use std::fmt;
use std::io::{self, Write};

pub use self::csv::COLUMNS as CSV_COLUMNS;
use crate::seconds::Seconds;
use crate::summary::Summary;
use crate::text::Lang;

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The language of sentences; keys of documents for machines are the same in all.
    pub lang: Lang,
    /// Colours, for a terminal.
    pub color: bool,
    /// Cells in a line of a terminal, for text; None: lines are as long as their sentences.
    pub cells: Option<usize>,
}

/// A way to write a report.
pub trait Format: Sync {
    /// What `--format` calls it.
    fn name(&self) -> &'static str;
    /// What names of its files end with, in lower case: `json`.
    fn endings(&self) -> &'static [&'static str];
    /// True for the one that the screen shows anyway.
    fn is_on_screen(&self) -> bool {
        false
    }
    /// Writes the report as it reads the seconds of the run, where the format shows them.
    ///
    /// # Errors
    /// What writing or reading said.
    fn write(&self, summary: &Summary, seconds: &dyn Seconds, style: Style, out: &mut dyn Write) -> io::Result<()>;
}

impl fmt::Debug for dyn Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Every format, the default one first.
pub const FORMATS: [&dyn Format; 6] =
    [&text::Text, &json::Json, &csv::Csv, &markdown::Markdown, &junit::Junit, &html::Html];

/// The format of a name.
pub fn format(name: &str) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|f| f.name() == name)
}

/// The format of files whose names end so.
pub fn format_of_ending(ending: &str) -> Option<&'static dyn Format> {
    let ending = ending.to_ascii_lowercase();
    FORMATS.into_iter().find(|f| f.endings().contains(&&*ending))
}
