//! The slowest requests with their traces as rows of cells, for human-readable documents.

use brunt_measure::Nanos;
use brunt_record::{TraceId, TracedRequest};

use crate::columns::table;
use crate::ranked::Figure;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the rows.
pub(super) const SLOWEST: Text = text(
    "Slowest requests with their traces (look them up in Jaeger or Tempo)",
    "最慢的请求及其 trace（可在 Jaeger 或 Tempo 中查找）",
);
const LATENCY: Text = text("latency", "延迟");
const AT: Text = text("at", "时刻");
const NAME: Text = text("name", "名称");
const STATUS: Text = text("status", "状态码");
const TRACE: Text = text("trace", "trace");
const TIMED_OUT: Text = text("timed out", "超时");
const NOT_SAMPLED: Text = text("{id} (not sampled)", "{id}（未采样）");
/// Label of the trace of a failure's example.
pub(crate) const OF_EXAMPLE: Text = text("trace {id}", "trace {id}");

/// Maximum number of requests with sampled traces, and of those with unsampled traces, in text for a terminal.
const LINES: usize = 5;

/// Formats the id of a trace and whether it can be looked up.
pub(crate) fn id(trace: &TraceId, lang: Lang) -> String {
    if trace.sampled { trace.id.clone() } else { lang.fill(NOT_SAMPLED, &[("id", &trace.id)]) }
}

/// Returns up to `most` rows of each kind (sampled or not) with their heading; empty if no request has a trace.
pub(super) fn rows(summary: &Summary, lang: Lang, most: usize) -> Vec<Vec<String>> {
    let of = |sampled: bool| summary.slowest().filter(move |one| one.trace.sampled == sampled).take(most);
    let names = summary.names();
    let row = |one: &TracedRequest| {
        let name = one.name.and_then(|name| names.get(usize::from(name))).map_or("", String::as_str);
        let latency = Nanos(one.latency_ns);
        let latency = if one.timed_out { Figure::AtLeast(latency) } else { Figure::Exact(latency) };
        let status = if one.timed_out { lang.of(TIMED_OUT) } else { &one.status };
        vec![
            latency.show(),
            format!("{:.1} s", one.scheduled_ns as f64 / 1e9),
            name.to_owned(),
            status.to_owned(),
            id(&one.trace, lang),
        ]
    };
    let told: Vec<Vec<String>> = of(true).chain(of(false)).map(row).collect();
    if told.is_empty() {
        return told;
    }
    let heading = [LATENCY, AT, NAME, STATUS, TRACE].map(|cell| lang.of(cell).to_owned()).to_vec();
    let mut rows: Vec<Vec<String>> = std::iter::once(heading).chain(told).collect();
    // In a run with one name, this column is empty.
    if rows.iter().skip(1).all(|row| row[2].is_empty()) {
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
    }
    rows
}

/// Returns the rows as lines.
pub(super) fn lines(summary: &Summary, lang: Lang) -> Vec<String> {
    table(&rows(summary, lang, LINES))
}
