//! `brunt report A B`: past runs side by side, or overlaid with `-o compare.html`.

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
        let trouble = format!("{} records are too many to compare; name two to six", files.len());
        return Err(UsageError::new("FILE", trouble));
    }
    let Some(compare) = writer(shown.format.name()) else {
        let trouble = format!(
            "several records cannot be compared as {}; use --format text, markdown or json, or -o compare.html, or name \
                one record",
            shown.format.name()
        );
        return Err(UsageError::new("FILE", trouble));
    };
    if let Some(output) = &shown.output {
        document::check_writable("-o", output)?;
    }
    let pasts: Vec<RecordFile> = files.iter().map(|file| RecordFile(PathBuf::from(file))).collect();
    let summaries = pasts.iter().map(summarize).collect::<Result<Vec<Summary>, UsageError>>()?;
    let seconds: Vec<RecordedSeconds<'_>> = pasts.iter().map(|past| RecordedSeconds(Some(past))).collect();
    let runs: Vec<ComparedRun<'_>> = files
        .iter()
        .zip(&summaries)
        .zip(&seconds)
        .map(|((name, summary), seconds)| ComparedRun { name, summary, seconds })
        .collect();
    let on_screen = shown.output.is_none() && shown.format.is_on_screen();
    if on_screen && shown.quiet && !shown.format_given {
        return Ok(Exit::Ok.code());
    }
    let style = if on_screen { View::new(shown, lang).style() } else { Style { lang, ..Style::default() } };
    let written = match &shown.output {
        Some(output) => document::replace(output, |out| compare(&runs, style, out))
            .map_err(|error| report_output::not_written(output, &error, lang)),
        None => screen::document(|out| compare(&runs, style, out)).map_err(|error| screen::not_written(&error, lang)),
    };
    Ok(if written.is_ok() { Exit::Ok } else { Exit::NotWritten }.code())
}
