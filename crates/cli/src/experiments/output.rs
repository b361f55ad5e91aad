//! The result of an experiment, written to files and shown.

use std::io;

use brunt_cause::complaint;
use brunt_config::Presentation;
use brunt_contract::UsageError;
use brunt_experiment::report::{FORMATS, PageHead, Reported, text, write};
use brunt_measure::Nanos;
use brunt_report::{Exit, Lang};

use crate::view::View;
use crate::{document, report_output, screen};

/// What is written, and how.
pub struct ExperimentOutput<'a> {
    pub head: PageHead,
    /// Time that the experiment took.
    pub took: Nanos,
    pub found: &'a dyn Reported,
    pub shown: &'a Presentation,
    pub lang: Lang,
}

/// Checks before an experiment that its result can be written.
///
/// # Errors
/// Returns an error that names the option.
pub fn check(shown: &Presentation, record: Option<&str>) -> Result<(), UsageError> {
    let asked = shown.files.iter().map(|file| ("-o", file.format));
    for (option, format) in asked.chain(shown.files.is_empty().then_some(("--format", shown.format))) {
        if !FORMATS.contains(&format.name()) {
            return Err(UsageError::new(
                option,
                complaint!(
                    "the result of an experiment cannot be written as {}; use one of {}",
                    "实验结果不能写成 {}；请使用 {} 之一",
                    format.name(),
                    FORMATS.join(", ")
                ),
            ));
        }
    }
    report_output::check_files(&shown.files, record)?;
    record.map_or(Ok(()), |path| document::check_writable("--record", path))
}

impl ExperimentOutput<'_> {
    /// Writes and shows the result; returns its exit code, or another if it is 0 and the result could not be written.
    pub fn conclude(&self, view: &mut View) -> u8 {
        let mut written = true;
        for file in &self.shown.files {
            let filled = document::replace(&file.path, |out| self.write(file.format.name(), out));
            written &= filled.map_err(|error| report_output::not_written(&file.path, &error, self.lang)).is_ok();
        }
        if view.document_on_stdout() {
            let filled = screen::document(|out| self.write(self.shown.format.name(), out));
            written &= filled.map_err(|error| screen::not_written(&error, self.lang)).is_ok();
        }
        view.print("");
        view.print(&text(self.found, self.lang));
        if let Some(error) = view.take_error() {
            screen::not_written(&error, self.lang);
            written = false;
        }
        let code = self.found.exit_code();
        if code == 0 && !written { Exit::NotWritten.code() } else { code }
    }

    fn write(&self, format: &str, out: &mut dyn io::Write) -> io::Result<()> {
        write(format, (&self.head, self.took), self.found, self.lang, out)
    }
}
