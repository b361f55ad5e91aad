//! The end of a command: the report written and shown, and the exit code.
//!
//! There is a single exit code, that of the summary: the process ends with it, the documents contain it, and the screen
//! shows it. So documents are written before anything is shown; if that fails, the summary says so.

use brunt_record::ReplaySource;
use brunt_report::formats::Style;
use brunt_report::{Exit, Lang, RecordedSeconds, Summary};

use crate::view::View;
use crate::{document, messages, screen};
use brunt_config::{Presentation, ReportFile};
use brunt_contract::UsageError;

/// Writes and shows the report of a run; returns the exit code.
pub fn conclude(
    summary: &Summary,
    past: Option<&dyn ReplaySource>,
    shown: &Presentation,
    lang: Lang,
    view: &mut View,
) -> u8 {
    let mut summary = summary.clone();
    let mut written = write_output(&summary, past, shown, lang);
    if view.document_on_stdout() {
        written &= screen::document(|out| shown.format.write(&summary, &RecordedSeconds(past), style(lang), out))
            .map_err(|error| screen::not_written(&error, lang))
            .is_ok();
    }
    // A run whose requested report is missing is not a success.
    if !written && summary.exit == Exit::Ok {
        summary.exit = Exit::NotWritten;
    }
    view.summary(&summary, past);
    if let Some(error) = view.take_error() {
        screen::not_written(&error, lang);
        if summary.exit == Exit::Ok {
            summary.exit = Exit::NotWritten;
        }
    }
    summary.exit.code()
}

/// Checks before a run that the files of `-o` can be written after it, and that none is written over by another or by
/// the record.
///
/// # Errors
/// Returns an error that names the file.
pub fn check_files(files: &[ReportFile], record: Option<&str>) -> Result<(), UsageError> {
    for (number, ReportFile { path, .. }) in files.iter().enumerate() {
        files[..number].iter().try_for_each(|other| document::check_apart(&other.path, ("-o", path)))?;
        record.map_or(Ok(()), |record| document::check_apart(path, ("--record", record)))?;
        document::check_writable("-o", path)?;
    }
    Ok(())
}

/// Writes the files of `-o`; returns `false` if one could not be written.
pub fn write_output(summary: &Summary, past: Option<&dyn ReplaySource>, shown: &Presentation, lang: Lang) -> bool {
    let mut written = true;
    for ReportFile { path, format } in &shown.files {
        let outcome = document::replace(path, |out| format.write(summary, &RecordedSeconds(past), style(lang), out));
        written &= outcome.map_err(|error| not_written(path, &error, lang)).is_ok();
    }
    written
}

/// Returns the style of documents, which have neither colours nor a width.
fn style(lang: Lang) -> Style {
    Style { lang, ..Style::default() }
}

/// Reports that a report could not be written.
pub fn not_written(file: &str, error: &std::io::Error, lang: Lang) {
    screen::print_error(&lang.fill(messages::NOT_WRITTEN, &[("file", file), ("error", &error.to_string())]));
}
