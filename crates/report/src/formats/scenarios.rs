//! Scenarios side by side for human-readable documents: the requests of each in a row of cells.

use crate::columns::{fit, table};
use crate::iterations::ScenarioRow;
use crate::numbers;
use crate::ranked::QUANTILES;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the rows.
pub(super) const SCENARIOS: Text = text("Scenarios", "场景");
const USERS: Text = text("users (mean)", "用户数（平均）");
const DUE: Text = text("scheduled", "计划");
const UNFINISHED: Text = text("unfinished", "未结束");

/// Returns all rows with their heading; empty if the run has no scenarios.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> = summary.scenarios().map(|row| cells(&row, summary, lang)).collect();
    if rows.is_empty() {
        return rows;
    }
    let words = [USERS, DUE, say::OK, say::FAILED, UNFINISHED, say::RATE, say::MEAN];
    let mut heading = vec![String::new()];
    heading.extend(words.map(|text| lang.of(text).to_owned()));
    heading.extend(quantiles().map(|(name, _)| name.to_owned()));
    heading.push(lang.of(say::MAX).into());
    std::iter::once(heading).chain(rows).collect()
}

fn quantiles() -> impl Iterator<Item = (&'static str, f64)> {
    QUANTILES.iter().filter(|named| ["p50", "p95", "p99"].contains(&named.name)).map(|named| (named.name, named.q))
}

fn cells(row: &ScenarioRow<'_>, summary: &Summary, lang: Lang) -> Vec<String> {
    let (totals, ranked) = (row.totals, row.totals.ranked());
    let counts = &totals.counts;
    let mut cells = vec![row.name.to_owned(), numbers::rate(summary.per_s(totals.users_ns_in_window) / 1e9)];
    cells.extend([counts.due, counts.finished, counts.failed, counts.censored].map(numbers::count));
    cells.extend([numbers::rate(summary.per_s(totals.finished_in_window)), ranked.mean().show()]);
    cells.extend(quantiles().map(|(_, q)| ranked.quantile(q).show(lang)));
    cells.push(ranked.max().show());
    cells
}

/// Returns the rows as lines.
pub(super) fn lines(summary: &Summary, lang: Lang) -> Vec<String> {
    table(&rows(summary, lang))
}

/// Returns the rows as lines of at most `room` cells where possible, without the columns of the least interest.
pub(super) fn fitted(summary: &Summary, lang: Lang, room: usize) -> Vec<String> {
    let [mean, users, due, unfinished, max] = [say::MEAN, USERS, DUE, UNFINISHED, say::MAX].map(|text| lang.of(text));
    table(&fit(rows(summary, lang), room, &[mean, users, "p95", due, unfinished, max, "p50"]))
}
