//! Named checks as rows of cells, for human-readable documents.

use crate::columns::table;
use crate::numbers;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the rows.
pub(super) const CHECKS: Text = text("Checks", "检查");
const PASSED: Text = text("passed", "通过");
const FAILED: Text = text("failed", "未通过");
const SHARE: Text = text("share failed", "未通过占比");

/// Returns all rows with their heading; empty without named checks.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let rows = summary.checks().map(|row| {
        let ended = row.passed.saturating_add(row.failed);
        let share = if ended == 0 { String::new() } else { numbers::percent(row.failed, ended) };
        vec![row.name.to_owned(), numbers::count(row.passed), numbers::count(row.failed), share]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return rows;
    }
    let heading = ["", lang.of(PASSED), lang.of(FAILED), lang.of(SHARE)].map(str::to_owned).to_vec();
    std::iter::once(heading).chain(rows).collect()
}

/// Returns the rows as lines.
pub(super) fn lines(summary: &Summary, lang: Lang) -> Vec<String> {
    table(&rows(summary, lang))
}
