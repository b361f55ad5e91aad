//! `brunt report A B -o compare.html`: past runs laid over each other.

use std::path::PathBuf;

use record::RecordFile;
use report::formats::Style;
use report::formats::html::{Compared, compare};
use report::{Exit, Lang, Replayed, Summary};
use wire::Complaint;

use crate::arguments::Presentation;
use crate::replay::summed;
use crate::run::Outcome;
use crate::{document, ending, screen};

/// So many runs can be told apart on a page.
const MOST: usize = 6;

/// Writes the page of these records. What the runs came to is theirs: the command succeeds where the page is written.
///
/// # Errors
/// The user's mistake: no such record, or no page to write it on.
pub fn lay_over(files: &[String], shown: &Presentation) -> Outcome {
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    if files.len() > MOST {
        let trouble = format!("{} records are more than a page lays over each other; name two to six", files.len());
        return Err(Complaint::new("FILE", trouble));
    }
    if shown.format.name() != "html" {
        let trouble = "several records are compared on a page; write -o compare.html, or name one record";
        return Err(Complaint::new("FILE", trouble));
    }
    if let Some(output) = &shown.output {
        document::check_writable("-o", output)?;
    }
    let pasts: Vec<RecordFile> = files.iter().map(|file| RecordFile(PathBuf::from(file))).collect();
    let summaries = pasts.iter().map(summed).collect::<Result<Vec<Summary>, Complaint>>()?;
    let seconds: Vec<Replayed<'_>> = pasts.iter().map(|past| Replayed(Some(past))).collect();
    let runs: Vec<Compared<'_>> = files
        .iter()
        .zip(&summaries)
        .zip(&seconds)
        .map(|((name, summary), seconds)| Compared { name, summary, seconds })
        .collect();
    let style = Style { lang, ..Style::default() };
    let written = match &shown.output {
        Some(output) => document::replace(output, |out| compare(&runs, style, out))
            .map_err(|error| ending::not_written(output, &error, lang)),
        None => screen::document(|out| compare(&runs, style, out)).map_err(|error| screen::not_written(&error, lang)),
    };
    Ok(if written.is_ok() { Exit::Ok } else { Exit::NotWritten }.code())
}
