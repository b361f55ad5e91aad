//! Iterations and groups of a flow as rows of cells, for human-readable documents.

use crate::columns::{fit, table};
use crate::iterations::SpanRow;
use crate::numbers;
use crate::ranked::QUANTILES;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the rows.
pub(super) const ITERATIONS: Text = text("Iterations", "迭代");
const ITERATION: Text = text("iteration", "迭代");
const STARTED: Text = text("started", "开始");
const DROPPED: Text = text("dropped", "放弃");
const CUT: Text = text("cut", "中断");
const ACTIVE: Text = text("{q} active", "{q} 不含停顿");

/// Returns all rows with their heading; empty if the run has no flow.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> = summary.spans().map(|row| cells(&row, summary, lang)).collect();
    if rows.is_empty() {
        return rows;
    }
    let words = [say::OK, say::FAILED, CUT, say::RATE, say::MEAN].map(|text| lang.of(text).to_owned());
    let mut heading = vec![String::new(), lang.of(STARTED).to_owned()];
    heading.extend(has_dropped(summary).then(|| lang.of(DROPPED).to_owned()));
    heading.extend(words);
    heading.extend(quantiles().map(|(name, _)| name.to_owned()));
    heading.push(lang.of(say::MAX).into());
    heading.extend(active_quantiles().map(|(name, _)| lang.fill(ACTIVE, &[("q", name)])));
    std::iter::once(heading).chain(rows).collect()
}

/// Returns `true` if iterations were dropped, which is rare.
fn has_dropped(summary: &Summary) -> bool {
    summary.spans().any(|row| row.totals.counts.dropped > 0)
}

fn quantiles() -> impl Iterator<Item = (&'static str, f64)> {
    QUANTILES.iter().filter(|named| ["p50", "p95", "p99"].contains(&named.name)).map(|named| (named.name, named.q))
}

/// Returns the quantiles that are also shown without pauses.
fn active_quantiles() -> impl Iterator<Item = (&'static str, f64)> {
    quantiles().filter(|(name, _)| *name != "p95")
}

fn cells(row: &SpanRow<'_>, summary: &Summary, lang: Lang) -> Vec<String> {
    let (counts, duration, active) = (&row.totals.counts, row.duration(), row.active());
    let name = match (row.scenario, row.group) {
        (Some(_), Some(group)) => format!("· {group}"),
        (scenario, group) => scenario.or(group).unwrap_or(lang.of(ITERATION)).to_owned(),
    };
    let mut cells = vec![name, numbers::count(row.started())];
    cells.extend(has_dropped(summary).then(|| numbers::count(counts.dropped)));
    cells.extend([counts.finished, counts.failed, counts.censored].map(numbers::count));
    cells.extend([numbers::rate(summary.per_s(row.totals.finished_in_window)), duration.mean().show()]);
    cells.extend(quantiles().map(|(_, q)| duration.quantile(q).show(lang)));
    cells.push(duration.max().show());
    cells.extend(active_quantiles().map(|(_, q)| active.quantile(q).show(lang)));
    cells
}

/// Returns the rows as lines.
pub(super) fn lines(summary: &Summary, lang: Lang) -> Vec<String> {
    table(&rows(summary, lang))
}

/// Returns the rows as lines of at most `room` cells where possible, without the columns of the least interest.
pub(super) fn fitted(summary: &Summary, lang: Lang, room: usize) -> Vec<String> {
    let active = ["p50", "p99"].map(|name| lang.fill(ACTIVE, &[("q", name)]));
    let spared: Vec<&str> = active.iter().map(String::as_str).collect();
    let more = [lang.of(say::MEAN), "p95", lang.of(CUT), lang.of(STARTED), lang.of(say::MAX), "p50"];
    table(&fit(rows(summary, lang), room, &[&spared[..], &more].concat()))
}
