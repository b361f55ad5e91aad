//! The formats of a report, in one list. A format costs one file here and one line in [`FORMATS`].

mod checks;
mod csv;
pub mod html;
mod iterations;
mod json;
mod junit;
mod markdown;
mod named;
mod reference;
pub mod run_comparison;
mod scenarios;
mod slowest;
pub(crate) mod text;

use std::fmt;
use std::io::{self, Write};

pub use self::csv::COLUMNS as CSV_COLUMNS;
use crate::seconds::SecondsSource;
use crate::summary::Summary;
use crate::text::Lang;

/// The style of a written report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Language of sentences; keys of documents for machines are the same in all languages.
    pub lang: Lang,
    /// Set for colours, on a terminal.
    pub color: bool,
    /// Width of the terminal in cells, for text; `None`: lines are not wrapped.
    pub cells: Option<usize>,
}

/// A format of a report.
pub trait ReportFormat: Sync {
    /// Returns the name of the format in `--format`.
    fn name(&self) -> &'static str;
    /// Returns the extensions of its files, in lower case: `json`.
    fn extensions(&self) -> &'static [&'static str];
    /// Returns `true` for the format that is shown on screen anyway.
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
