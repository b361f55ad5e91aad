//! The end of a command: the report shown and written, and the exit code.

use record::Past;
use report::formats::Style;
use report::{Exit, Lang, Summary};

use crate::arguments::Presentation;
use crate::view::View;
use crate::{document, messages, screen};

/// Shows and writes the report of a run; the exit code.
pub fn conclude(summary: &Summary, past: &dyn Past, shown: &Presentation, lang: Lang, view: &mut View) -> u8 {
    view.summary(summary, past);
    let mut written = true;
    if view.document_on_stdout() {
        written &= document::render(summary, past, shown.format, Style { lang, ..Style::default() })
            .and_then(|document| screen::print(&document))
            .map_err(|error| not_written("-", &error, lang))
            .is_ok();
    }
    written &= write_output(summary, past, shown, lang);
    match summary.exit {
        // A report that was asked for and is not there is no success.
        Exit::Ok if !written => Exit::Interrupted.code(),
        exit => exit.code(),
    }
}

/// Writes `-o`; false where that failed.
pub fn write_output(summary: &Summary, past: &dyn Past, shown: &Presentation, lang: Lang) -> bool {
    let Some(path) = &shown.output else { return true };
    let style = Style { lang, ..Style::default() };
    let outcome = document::render(summary, past, shown.format, style).and_then(|bytes| std::fs::write(path, bytes));
    outcome.map_err(|error| not_written(path, &error, lang)).is_ok()
}

fn not_written(file: &str, error: &std::io::Error, lang: Lang) {
    screen::complain(&lang.fill(messages::NOT_WRITTEN, &[("file", file), ("error", &error.to_string())]));
}
