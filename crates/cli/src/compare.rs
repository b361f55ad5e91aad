//! `brunt report A B`: past runs side by side, or overlaid with `-o compare.html`.

use brunt_cause::complaint;
use std::path::PathBuf;

use brunt_contract::UsageError;
use brunt_record::RecordFile;
use brunt_report::comparison::ComparedRun;
use brunt_report::formats::Style;
use brunt_report::formats::run_comparison::writer;
use brunt_report::{Exit, Lang, RecordedSeconds, Summary};

use crate::replay::summarize;
use crate::run::CommandResult;
use crate::view::View;
use crate::{document, report_output, screen};
use brunt_config::Presentation;

/// Maximum number of runs compared; more would not be distinguishable.
const MOST: usize = 6;

/// Writes the comparison of these records. The command succeeds once it is written, even if the runs themselves failed.
///
/// # Errors
/// Returns an error if a record does not exist or the format shows only a single run.
pub fn compare(files: &[String], shown: &Presentation) -> CommandResult {
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    if files.len() > MOST {
        let trouble = complaint!(
            "{} records are too many to compare; name two to six",
            "{} 份记录太多，无法比较；请给出两到六份",
            files.len()
        );
        return Err(UsageError::new("FILE", trouble));
    }
    let formats = shown.files.iter().map(|file| file.format);
    let formats: Vec<_> = formats.chain(shown.files.is_empty().then_some(shown.format)).collect();
    let compare = formats.iter().map(|format| writer(format.name()).ok_or_else(|| not_compared(format.name())));
    let compare = compare.collect::<Result<Vec<_>, UsageError>>()?;
    report_output::check_files(&shown.files, None)?;
    let pasts: Vec<RecordFile> = files.iter().map(|file| RecordFile(PathBuf::from(file))).collect();
    let summaries = pasts.iter().map(summarize).collect::<Result<Vec<Summary>, UsageError>>()?;
    let seconds: Vec<RecordedSeconds<'_>> = pasts.iter().map(|past| RecordedSeconds(Some(past))).collect();
    let runs: Vec<ComparedRun<'_>> = files
        .iter()
        .zip(&summaries)
        .zip(&seconds)
        .map(|((name, summary), seconds)| ComparedRun { name, summary, seconds })
        .collect();
    let on_screen = shown.files.is_empty() && shown.format.is_on_screen();
    if on_screen && shown.quiet && !shown.format_given {
        return Ok(Exit::Ok.code());
    }
    let style = if on_screen { View::new(shown, lang).style() } else { Style { lang, ..Style::default() } };
    let mut written = true;
    for (file, compare) in shown.files.iter().zip(&compare) {
        let outcome = document::replace(&file.path, |out| compare(&runs, style, out));
        written &= outcome.map_err(|error| report_output::not_written(&file.path, &error, lang)).is_ok();
    }
    if let ([], [compare]) = (&shown.files[..], &compare[..]) {
        let outcome = screen::document(|out| compare(&runs, style, out));
        written &= outcome.map_err(|error| screen::not_written(&error, lang)).is_ok();
    }
    Ok(if written { Exit::Ok } else { Exit::NotWritten }.code())
}

/// Returns the error for a format that shows only a single run.
fn not_compared(format: &str) -> UsageError {
    let trouble = complaint!(
        "several records cannot be compared as {format}; use --format text, markdown or json, or -o compare.html, or name \
            one record",
        "多份记录不能以 {format} 格式比较；请用 --format text、markdown 或 json，或 -o compare.html，或只给出一份记录"
    );
    UsageError::new("FILE", trouble)
}
