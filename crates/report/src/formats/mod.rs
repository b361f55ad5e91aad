//! The formats of a report. Each format is a file here and a line in [`FORMATS`].

mod agents;
mod checks;
mod csv;
pub mod html;
mod iterations;
mod json;
pub mod junit;
pub mod markdown;
mod named;
mod rate_parts;
mod reference;
pub mod run_comparison;
mod scenarios;
mod slowest;
mod stretches;
pub(crate) mod text;

use std::fmt;
use std::io::{self, Write};

pub use self::csv::COLUMNS as CSV_COLUMNS;
use crate::seconds::SecondsSource;
use crate::summary::Summary;
use crate::text::Lang;

/// The presentation of a report: language, colours and width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Language of sentences; the keys of machine-readable documents do not depend on it.
    pub lang: Lang,
    /// Set if colours are used, on a terminal.
    pub color: bool,
    /// Width of the terminal in cells, for text; `None` if lines are not wrapped.
    pub cells: Option<usize>,
    /// Set for text that fits on one screen, instead of complete text.
    pub is_brief: bool,
}

/// A format of a report.
pub trait ReportFormat: Sync {
    /// Returns the name of the format in `--format`.
    fn name(&self) -> &'static str;
    /// Returns the file extensions of the format, in lower case: `json`.
    fn extensions(&self) -> &'static [&'static str];
    /// Returns `true` for the format that is shown on screen by default.
    fn is_on_screen(&self) -> bool {
        false
    }
    /// Writes the report; reads the seconds of the run if the format shows them.
    ///
    /// # Errors
    ///
    /// Returns the error of writing or reading.
    fn write(
        &self,
        summary: &Summary,
        seconds: &dyn SecondsSource,
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()>;
}

impl fmt::Debug for dyn ReportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All formats, the default one first.
pub const FORMATS: [&dyn ReportFormat; 6] = [
    &text::TextFormat,
    &json::JsonFormat,
    &csv::CsvFormat,
    &markdown::MarkdownFormat,
    &junit::JunitFormat,
    &html::HtmlFormat,
];

/// Returns the format with this name.
pub fn format(name: &str) -> Option<&'static dyn ReportFormat> {
    FORMATS.into_iter().find(|f| f.name() == name)
}

/// Returns the format for files with this extension.
pub fn format_of_extension(ending: &str) -> Option<&'static dyn ReportFormat> {
    let ending = ending.to_ascii_lowercase();
    FORMATS.into_iter().find(|f| f.extensions().contains(&&*ending))
}
