//! Figures by name for human-readable documents: a row of cells for each name, and the failures.

use brunt_record::FailureExample;

use super::text::accounts;
use crate::columns::{table, truncate, width};
use crate::name_rows::NameTotalsRow;
use crate::numbers;
use crate::ranked::QUANTILES;
use crate::reasons::reason;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the rows.
pub(super) const BY_NAME: Text = text("By name", "按名称");
/// Heading above the failures.
pub(super) const FAILURES_BY_NAME: Text = text("Failures by name", "按名称列出的失败");
const NAME: Text = text("name", "名称");
const DUE: Text = text("scheduled", "计划");
const UNFINISHED: Text = text("unfinished", "未结束");
const BYTES: Text = text("bytes", "字节");
const FROM_CACHE: Text = text("from cache", "来自缓存");
const MORE: Text = text(
    "and {n} more {n|name|names}: see --format markdown or --format json for all",
    "另有 {n} 个名称：--format markdown 和 --format json 列出全部",
);
const MORE_FAILURES: Text = text(
    "and {n} more {n|kind|kinds} of failure: see --format markdown or --format json for all",
    "另有 {n} 种失败：--format markdown 和 --format json 列出全部",
);

/// Maximum number of rows in text for a terminal; documents contain more.
const ROWS: usize = 20;
/// Maximum number of failures in text for a terminal.
const FAILURES: usize = 10;
/// Maximum width of a name in text, in cells.
const NAME_CELLS: usize = 40;

/// A column: its heading, and its rank for removal on a narrow terminal (0: never).
struct NameColumn(String, u8);

/// Returns the headings, in the order of [`cells`].
fn columns(lang: Lang, cached: bool) -> Vec<NameColumn> {
    let column = |heading: Text, spare| NameColumn(lang.of(heading).into(), spare);
    let mut columns = vec![
        column(NAME, 0),
        column(DUE, 5),
        column(say::OK, 0),
        column(say::FAILED, 0),
        column(UNFINISHED, 8),
        column(say::RATE, 0),
        column(say::MEAN, 4),
    ];
    let spare = |name| match name {
        "p50" => 2,
        "p99" => 0,
        _ => 6,
    };
    columns.extend(shown_quantiles().map(|(name, _)| NameColumn(name.into(), spare(name))));
    columns.extend([column(say::MAX, 3), column(BYTES, 7), column(say::STATUS, 1)]);
    if cached {
        columns.push(column(FROM_CACHE, 2));
    }
    columns
}

/// Returns `true` if responses came from users' caches.
fn is_cached(summary: &Summary) -> bool {
    summary.totals.from_cache > 0
}

fn shown_quantiles() -> impl Iterator<Item = (&'static str, f64)> {
    QUANTILES.iter().filter(|named| named.name != "p99.9").map(|named| (named.name, named.q))
}

fn cells(row: &NameTotalsRow<'_>, summary: &Summary, lang: Lang) -> Vec<String> {
    let (totals, ranked) = (row.totals, row.totals.ranked());
    let counts = &totals.counts;
    let mut cells = vec![row.name.to_owned()];
    cells.extend([counts.due, counts.finished, counts.failed, counts.censored].map(numbers::count));
    cells.push(numbers::rate(summary.per_s(totals.finished_in_window)));
    cells.push(ranked.mean().show());
    cells.extend(shown_quantiles().map(|(_, q)| ranked.quantile(q).show(lang)));
    let status =
        totals.status.iter().map(|(code, n)| format!("{}:{}", brunt_measure::sanitize::line(code), numbers::count(*n)));
    cells.extend([ranked.max().show(), numbers::bytes(counts.payload), status.collect::<Vec<_>>().join(" ")]);
    if is_cached(summary) {
        cells.push(numbers::count(counts.from_cache));
    }
    cells
}

/// Returns all rows with their heading, for documents.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let heading = columns(lang, is_cached(summary)).into_iter().map(|NameColumn(heading, _)| heading).collect();
    std::iter::once(heading).chain(summary.by_name().map(|row| cells(&row, summary, lang))).collect()
}

/// Returns the failures: name, kind, and the details of an example.
pub(super) fn failures(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let of =
        |row: NameTotalsRow<'_>| summary.examples_of(row.index).map(|e| failure(row.name, e, lang)).collect::<Vec<_>>();
    summary.by_name().filter(|row| row.totals.counts.failed > 0).flat_map(of).collect()
}

fn failure(name: &str, example: &FailureExample, lang: Lang) -> Vec<String> {
    let FailureExample { kind, phase, errno, .. } = example;
    let failure = brunt_record::Failure { kind: kind.clone(), phase: phase.clone(), errno: errno.clone(), count: 0 };
    let what = [accounts::sort_of(&failure, lang), example.status.clone()];
    let what = what.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    vec![name.to_owned(), what, reason(&example.detail, example.cause.as_ref(), lang).into_owned()]
}

/// Returns the rows with the most requests, then the failures, as lines of at most `room` cells where possible.
pub(super) fn lines(summary: &Summary, lang: Lang, room: Option<usize>) -> Vec<String> {
    let mut lines = most_requested(summary, lang, room, ROWS);
    let failures = failures(summary, lang);
    let more = failures.len().saturating_sub(FAILURES);
    for cells in failures.into_iter().take(FAILURES) {
        let said: Vec<String> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
        lines.push(said.join(" · "));
    }
    if more > 0 {
        lines.push(lang.fill(MORE_FAILURES, &[("n", &numbers::count(more as u64))]));
    }
    lines
}

/// Returns at most `most` rows, those with the most requests, as lines of at most `room` cells where possible.
pub(super) fn most_requested(summary: &Summary, lang: Lang, room: Option<usize>, most: usize) -> Vec<String> {
    let mut all: Vec<NameTotalsRow<'_>> = summary.by_name().collect();
    let more = all.len().saturating_sub(most);
    if more > 0 {
        all.sort_by_key(|row| std::cmp::Reverse(row.totals.counts.due));
        all.truncate(most);
    }
    let short = |mut cells: Vec<String>| {
        cells[0] = truncate(&cells[0], NAME_CELLS);
        cells
    };
    let (headings, mut spares): (Vec<String>, Vec<u8>) =
        columns(lang, is_cached(summary)).into_iter().map(|NameColumn(h, spare)| (h, spare)).unzip();
    let mut rows = vec![headings];
    rows.extend(all.iter().map(|row| short(cells(row, summary, lang))));
    // An empty column carries no information.
    let unfinished = spares.iter().position(|spare| *spare == 8);
    if let Some(at) = unfinished.filter(|at| rows.iter().skip(1).all(|row| row[*at] == "0")) {
        drop_column(&mut rows, &mut spares, at);
    }
    let mut lines = table(&rows);
    while room.is_some_and(|room| lines.iter().any(|line| width(line) > room)) {
        let Some(most) = spares.iter().copied().max().filter(|spare| *spare > 0) else { break };
        while let Some(at) = spares.iter().position(|spare| *spare == most) {
            drop_column(&mut rows, &mut spares, at);
        }
        lines = table(&rows);
    }
    if more > 0 {
        lines.push(lang.fill(MORE, &[("n", &numbers::count(more as u64))]));
    }
    lines
}

fn drop_column(rows: &mut [Vec<String>], spares: &mut Vec<u8>, at: usize) {
    spares.remove(at);
    rows.iter_mut().for_each(|row| drop(row.remove(at)));
}
