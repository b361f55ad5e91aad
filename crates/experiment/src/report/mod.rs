//! The report of an experiment, of which every format is written: sentences, tables, pictures and checks.

mod chart;
mod formats;
#[cfg(test)]
mod tests;

use brunt_i18n::Lang;
use serde::Serialize;

pub use chart::{Axis, AxisUnit, Chart, ChartPoint, ChartSeries, SeriesKind};
pub use formats::{FORMATS, PageHead, page_lines, text, write};

/// How the answer is to be taken, as a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// What was hoped for.
    Good,
    /// What was feared.
    Bad,
    /// It cannot be told, or is not known yet.
    Doubt,
    /// Neither: a figure.
    Plain,
}

/// A part of a report, in one language.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum ReportBlock {
    /// The answer in a sentence.
    Answer {
        /// How it is to be taken.
        tone: Tone,
        /// Sentence.
        sentence: String,
    },
    /// What else is to be said.
    Sentences {
        /// Sentences, each a paragraph.
        sentences: Vec<String>,
    },
    /// A table.
    Table {
        /// What it is of, if there are several.
        caption: Option<String>,
        /// Rows of cells, the heading first.
        rows: Vec<Vec<String>>,
        /// Set if it is shown only where there is room: the terminal has shown its rows one by one.
        #[serde(skip)]
        is_detail: bool,
    },
    /// A picture.
    Chart(Chart),
}

/// What a machine checks: a test case of JUnit.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentCheck {
    /// Name, the same in every language.
    pub name: String,
    /// How it went: `Plain` counts as passed.
    pub tone: Tone,
    /// What was found.
    pub said: String,
}

/// An experiment that can be reported.
pub trait Reported {
    /// Returns the title: the command and what it was about.
    fn title(&self, lang: Lang) -> String;
    /// Returns the parts of the report, in their order.
    fn blocks(&self, lang: Lang) -> Vec<ReportBlock>;
    /// Returns what a machine checks.
    fn checks(&self, lang: Lang) -> Vec<ExperimentCheck>;
    /// Returns the table for spreadsheets: a heading of identifiers with units, and a row for each run, cell or trial.
    fn csv(&self) -> Vec<Vec<String>>;
    /// Writes the document for machines.
    ///
    /// # Errors
    /// Returns the error of writing.
    fn write_json(&self, out: &mut dyn std::io::Write) -> std::io::Result<()>;
    /// Returns the exit code.
    fn exit_code(&self) -> u8;
}
