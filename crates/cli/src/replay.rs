//! `brunt report`: shows a past run again, in any format.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_record::{RecordFile, SeriesReader};
use brunt_report::{Exit, Lang, RunTotals, Summary};

use crate::report_output::{self, conclude};
use crate::run::CommandResult;
use crate::view::View;
use crate::{document, experiments, kept_runs, messages};
use brunt_config::Presentation;

/// Shows the run or the experiment in `file`, or the last one kept; of an experiment, the run of this number if there is
/// one. Returns the exit code of what is shown.
///
/// # Errors
/// Returns an error if there is no such record.
pub fn replay(file: Option<&str>, run: Option<usize>, shown: &Presentation) -> CommandResult {
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    let path = match file {
        Some(path) => PathBuf::from(path),
        None => last(lang)?,
    };
    if SeriesReader::is_series(&path) {
        return experiments::show(&path, run, shown);
    }
    if run.is_some() {
        return Err(UsageError::new(
            "--run",
            complaint!(
                "{} is the record of one run; leave --run out",
                "{} 是单次压测的记录；请去掉 --run",
                path.display()
            ),
        ));
    }
    report_output::check_files(&shown.files, None)?;
    let past = RecordFile(path);
    let summary = summarize(&past)?;
    let mut view = View::new(shown, lang);
    if view.document_on_stdout() {
        view.silence();
    }
    Ok(conclude(&summary, Some(&past), shown, lang, &mut view))
}

/// Summarizes a record.
///
/// # Errors
/// Returns an error if the record cannot be read or was altered.
pub fn summarize(past: &RecordFile) -> Result<Summary, UsageError> {
    if document::is_named_pipe(&past.0) {
        let trouble = complaint!(
            "{} is a named pipe, and records cannot be read from one; name a file",
            "{} 是命名管道，不能从中读取记录；请写文件名",
            past.0.display()
        );
        return Err(UsageError::new("FILE", trouble));
    }
    let summary = Summary::from_past(past).map_err(|fault| unreadable(&past.0, &fault))?;
    if summary.exit == Exit::Bug {
        // Our own runs report such counts themselves; a record from elsewhere may have been
        // altered.
        return Err(contradiction(&past.0, &summary.totals));
    }
    Ok(summary)
}

fn last(lang: Lang) -> Result<PathBuf, UsageError> {
    let none = || UsageError::new("FILE", lang.of(messages::NO_PAST));
    kept_runs::directory().and_then(|directory| kept_runs::last(&directory).ok()).ok_or_else(none)
}

/// Returns `true` for a JSON report, which users may keep and expect to be readable like a record.
fn is_report(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && String::from_utf8_lossy(&start).contains("\"brunt-report/")
}

fn contradiction(path: &Path, totals: &RunTotals) -> UsageError {
    let [due, finished, failed, censored] =
        [totals.due, totals.finished, totals.failed, totals.censored].map(brunt_report::numbers::count);
    let trouble = complaint!(
        "{} contradicts itself: {due} scheduled, but {finished} succeeded, {failed} failed, {censored} unfinished; \
            it was changed or damaged; name another record",
        "{} 自相矛盾：安排了 {due} 个，但 {finished} 个成功、{failed} 个失败、{censored} 个未完成；它被改动或已损坏；请换一份记录",
        path.display()
    );
    UsageError::new("FILE", trouble)
}

fn unreadable(path: &Path, fault: &brunt_record::ReadFault) -> UsageError {
    let shown = path.display().to_string();
    if is_report(path) {
        let trouble = complaint!(
            "{shown} is a report, and only records can be shown again; name a file written by --record, or leave it \
                out for the last run",
            "{shown} 是报告，只有记录才能再次显示；请写 --record 写出的文件，或省略以显示上一次压测"
        );
        return UsageError::new("FILE", trouble);
    }
    if SeriesReader::is_series(path) {
        return UsageError::new(
            "FILE",
            complaint!(
                "{shown} is the record of an experiment; show it with `brunt report {shown}`, or one of its runs with --run",
                "{shown} 是实验记录；请用 `brunt report {shown}` 显示，或用 --run 显示其中一次运行"
            ),
        );
    }
    let said = fault.to_string();
    // Some errors contain the file name already.
    let why = said.strip_prefix(&format!("{shown}: ")).unwrap_or(&said);
    UsageError::new(
        "FILE",
        complaint!(
            "{shown} cannot be read ({why}); name a file written by --record",
            "无法读取 {shown}（{why}）；请给出由 --record 写出的文件"
        ),
    )
}
