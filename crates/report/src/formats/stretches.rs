//! The stretches of a run's load as rows of cells, for human-readable documents.

use brunt_measure::format_rate;
use brunt_plan::{Change, Stage};

use super::text::head;
use crate::columns::table;
use crate::load_stretches::{LoadStretch, LoadTurn};
use crate::numbers;
use crate::ranked::QUANTILES;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the rows.
pub(super) const STRETCHES: Text = text("By stage of the load", "按负载阶段");
const TIME: Text = text("time", "时段");
const STAGE: Text = text("stage {n}", "阶段 {n}");
const CHANGED: Text = text("changed", "调整");
const PAUSED: Text = text("paused", "暂停");
const RESUMED: Text = text("resumed", "恢复");
const SPAN: Text = text("{from}–{to} s", "{from}–{to} s");
const NOTE: Text = text(
    "a second in which the load changed is left out; figures of the whole run mix these loads",
    "负载变化所在的那一秒不计入；整次压测的数据混合了这些负载",
);

/// Returns all rows with their heading; empty if the load never changed.
pub(super) fn rows(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    if summary.stretches.is_empty() {
        return Vec::new();
    }
    let mut heading = vec![String::new()];
    heading.extend([TIME, say::LOAD, say::RATE].map(|text| lang.of(text).to_owned()));
    heading.extend(quantiles().map(|(name, _)| name.to_owned()));
    heading.push(lang.of(say::FAILED).into());
    let rows = summary.stretches.iter().map(|stretch| cells(stretch, summary.open, lang));
    std::iter::once(heading).chain(rows).collect()
}

fn quantiles() -> impl Iterator<Item = (&'static str, f64)> {
    QUANTILES.iter().filter(|named| ["p50", "p95", "p99"].contains(&named.name)).map(|named| (named.name, named.q))
}

fn cells(stretch: &LoadStretch, open: bool, lang: Lang) -> Vec<String> {
    let ranked = stretch.ranked();
    let ends = [stretch.from_ns, stretch.to_ns].map(|ns| short_seconds(ns as f64 / 1e9));
    let mut cells = vec![name(stretch, lang), lang.fill(SPAN, &[("from", &ends[0]), ("to", &ends[1])])];
    cells.push(load(stretch, open, lang));
    cells.push(stretch.throughput_per_s().map_or_else(|| numbers::WITHHELD.into(), numbers::rate));
    cells.extend(quantiles().map(|(_, q)| ranked.quantile(q).show(lang)));
    let ended = stretch.finished.saturating_add(stretch.failed);
    cells.push(numbers::percent(stretch.failed, ended));
    cells
}

/// Formats a time with tenths only if it has any: `15`, `1.3`.
fn short_seconds(s: f64) -> String {
    let tenths = (s * 10.0).round() / 10.0;
    format!("{tenths}")
}

/// Returns the event at the beginning of a stretch, in a word.
pub(in crate::formats) fn name(stretch: &LoadStretch, lang: Lang) -> String {
    match stretch.turn {
        LoadTurn::Stage(number) => lang.fill(STAGE, &[("n", &(number + 1).to_string())]),
        LoadTurn::Change(Change::Pause) => lang.of(PAUSED).to_owned(),
        LoadTurn::Change(Change::Resume) => lang.of(RESUMED).to_owned(),
        LoadTurn::Change(_) => lang.of(CHANGED).to_owned(),
    }
}

/// Formats the planned load of a stretch: `10.0/s`, `10.0/s..400/s`, `50 users`.
pub(in crate::formats) fn load(stretch: &LoadStretch, open: bool, lang: Lang) -> String {
    if stretch.is_pause() {
        return numbers::WITHHELD.into();
    }
    let [from, to] = stretch.levels;
    let stages = [Stage { lasts: stretch.measured, from, to }];
    if open { head::levels(&stages, format_rate) } else { head::users(&stages, lang) }
}

/// Returns the rows as lines, with a note.
pub(super) fn lines(summary: &Summary, lang: Lang) -> Vec<String> {
    let mut lines = table(&rows(summary, lang));
    if !lines.is_empty() {
        lines.push(lang.of(NOTE).to_owned());
    }
    lines
}

/// Returns the note below the rows.
pub(super) fn note(lang: Lang) -> &'static str {
    lang.of(NOTE)
}
