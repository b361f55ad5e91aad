//! CSV: one row per second, for spreadsheets and plots. [`COLUMNS`] documents the header.
//!
//! Quantiles are those of the headline latency (response time under open load, service time under closed load);
//! a cell is empty if the figure is withheld and begins with `>=` if it is only a lower bound.

use std::io::{self, Write};

use brunt_measure::Histogram;
use brunt_record::{CheckResults, NamedFigures, RunEvent, RunPart, Second};

use super::{ReportFormat, Style};
use crate::ranked::{Figure, QuantileEstimate, RankedLatency, headline};
use crate::seconds::SecondsSource;
use crate::summary::Summary;

/// The CSV format (see the module documentation).
pub(super) struct CsvFormat;

/// Columns of the header with their descriptions.
pub const COLUMNS: [(&str, &str); 39] = [
    ("from_s", "start of the second, from the start of the window; negative during warm-up"),
    ("to_s", "its end"),
    ("part", "warmup, window or drain"),
    ("scheduled", "requests scheduled in it (closed load: started)"),
    ("sent", "requests sent in it"),
    ("succeeded", "successes that completed in it"),
    ("failed", "failures that ended in it"),
    ("unfinished", "requests unfinished at the end (last second, and the one in which an agent was lost)"),
    ("warmup", "warm-up requests sent in it; in no other count"),
    ("succeeded_of_warmup", "successful warm-up requests that completed in it; in its throughput, in no other count"),
    ("users", "users at its end"),
    ("in_flight", "requests in flight at its end"),
    ("waiting", "arrivals waiting for a connection at its end"),
    ("throughput_per_s", "successes that completed in it, divided by its length"),
    ("mean_us", "mean of the headline latency, microseconds"),
    ("p50_us", "its quantiles, in microseconds"),
    ("p90_us", "likewise"),
    ("p95_us", "likewise"),
    ("p99_us", "likewise"),
    ("p99_9_us", "likewise"),
    ("max_us", "its maximum, in microseconds"),
    ("wait_conn_p99_us", "p99 of the wait for a connection"),
    ("gen_late_p99_us", "p99 of the generator's own lateness"),
    ("bytes_sent", "bytes sent on the wire"),
    ("bytes_received", "bytes received from the wire"),
    ("connections_opened", "connections opened"),
    ("connections_failed", "connections that failed to open"),
    ("cpu_ms", "CPU time of the generator's threads"),
    ("spun_ms", "of that, time spent polling so that requests leave on time"),
    ("status", "status codes and counts: 200:512 503:3"),
    ("failures", "failures and counts: refused/connect/ECONNREFUSED:7"),
    (
        "name",
        "empty: all requests; otherwise what the row is about, in a run of several names; columns that do not apply are empty",
    ),
    (
        "kind",
        "for a row with a name: request, iteration, group (both from when they were due to their end), iteration_active, \
         group_active (successes only, without pauses), scenario (all of its requests) or check (responses that passed \
         it, as `succeeded`, and failed it). Request rows add up to the run. In a run of many machines also agent, whose \
         rows add up to the run as well",
    ),
    ("p50_least_us", "the quantiles without the delays that may be brunt's own: the lower ends of their bands"),
    ("p90_least_us", "likewise"),
    ("p95_least_us", "likewise"),
    ("p99_least_us", "likewise"),
    ("p99_9_least_us", "likewise"),
    ("missing_share", "share of the run whose figures are missing because agents were lost"),
];

impl ReportFormat for CsvFormat {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn write(&self, summary: &Summary, seconds: &dyn SecondsSource, _: Style, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", COLUMNS.map(|(name, _)| name).join(","))?;
        let rows = rows(summary);
        for event in seconds.events()? {
            let second = match event? {
                RunEvent::Second(second) => second,
                RunEvent::OfAgent(told) => {
                    if let RunEvent::Second(second) = &*told.event {
                        writeln!(out, "{}", row_of_agent(second, told.agent, summary).join(","))?;
                    }
                    continue;
                }
                _ => continue,
            };
            writeln!(out, "{}", row(&second, summary.open).join(","))?;
            for (agent, left) in left_open(summary, second.from_ns) {
                writeln!(out, "{}", row_of_agent(left, agent, summary).join(","))?;
            }
            for named in &second.named {
                writeln!(out, "{}", row_of_name(&second, named, &rows).join(","))?;
            }
            // Checks of the warm-up are not included.
            for checked in second.checks.iter().filter(|_| second.part != RunPart::Warmup) {
                writeln!(out, "{}", row_of_check(&second, checked, summary).join(","))?;
            }
        }
        Ok(())
    }
}

fn row(s: &Second, open: bool) -> [String; COLUMNS.len()] {
    let length_s = (s.to_ns - s.from_ns) as f64 / 1e9;
    let throughput = if length_s > 0.0 { s.successes() as f64 / length_s } else { 0.0 };
    let latency = headline(&s.latency, open);
    let quantile = |q| cell(latency.quantile(q).figure);
    let p99 = |finished, at_least| {
        cell(RankedLatency { at_least, ..RankedLatency::finished_only(finished) }.quantile(0.99).figure)
    };
    let status: Vec<String> = s.status.iter().map(|(code, n)| format!("{code}:{n}")).collect();
    let failures: Vec<String> = s.failures.iter().map(failure).collect();
    [
        (s.from_ns as f64 / 1e9).to_string(),
        (s.to_ns as f64 / 1e9).to_string(),
        part(s.part).into(),
        s.due.to_string(),
        s.sent.to_string(),
        s.finished.to_string(),
        s.failed.to_string(),
        s.censored.to_string(),
        s.warmup.to_string(),
        s.finished_of_warmup.to_string(),
        s.users.to_string(),
        s.in_flight.to_string(),
        s.waiting.to_string(),
        throughput.to_string(),
        cell(latency.mean()),
        quantile(0.5),
        quantile(0.9),
        quantile(0.95),
        quantile(0.99),
        quantile(0.999),
        cell(latency.max()),
        p99(&s.latency.wait_conn, Some(&s.latency.wait_conn_at_least)),
        p99(&s.latency.gen_late, None),
        s.bytes.sent.to_string(),
        s.bytes.received.to_string(),
        s.connections.opened.to_string(),
        s.connections.failed.to_string(),
        (s.cpu_ns as f64 / 1e6).to_string(),
        (s.spun_ns as f64 / 1e6).to_string(),
        quote(&status.join(" ")),
        quote(&failures.join(" ")),
        String::new(),
        String::new(),
        least(latency.quantile(0.5)),
        least(latency.quantile(0.9)),
        least(latency.quantile(0.95)),
        least(latency.quantile(0.99)),
        least(latency.quantile(0.999)),
        if s.missing_share > 0.0 { s.missing_share.to_string() } else { String::new() },
    ]
}

/// Returns what agents left open that were given up at this time: the whole counts it in the second that begins then.
fn left_open(summary: &Summary, from_ns: i64) -> impl Iterator<Item = (u16, &Second)> {
    let agents = (0..).zip(&summary.agents);
    agents
        .filter_map(move |(n, agent)| Some((n, &**agent.left_open.as_ref()?)))
        .filter(move |(_, left)| left.from_ns == from_ns)
}

/// Returns the row of an agent in a second. What agents do not tell of a second is empty.
fn row_of_agent(s: &Second, agent: u16, summary: &Summary) -> [String; COLUMNS.len()] {
    let name = summary.agents.get(usize::from(agent)).map_or_else(|| agent.to_string(), |a| a.head.name.clone());
    let mut cells = row(s, summary.open);
    for (cell, (column, _)) in cells.iter_mut().zip(COLUMNS) {
        match column {
            "name" => *cell = quote(&name),
            "kind" => *cell = "agent".into(),
            "wait_conn_p99_us" | "missing_share" => cell.clear(),
            _ => {}
        }
    }
    cells
}

/// Returns the name and kind of each extra row of a second, in the order of their indices.
fn rows(summary: &Summary) -> Vec<(String, &'static str)> {
    let requests = summary.names().iter().map(|name| (name.clone(), "request"));
    let spans = summary.spans().flat_map(|row| {
        let kinds = if row.group.is_some() { ["group", "group_active"] } else { ["iteration", "iteration_active"] };
        kinds.map(|kind| (row.objective_name(), kind))
    });
    let scenarios = summary.scenarios().map(|row| (row.name.to_owned(), "scenario"));
    requests.chain(spans).chain(scenarios).collect()
}

/// Returns the row of one name in a second, for its requests or anything else that is counted by name.
fn row_of_name(s: &Second, named: &NamedFigures, rows: &[(String, &'static str)]) -> [String; COLUMNS.len()] {
    let length_s = (s.to_ns - s.from_ns) as f64 / 1e9;
    let (mut finished, mut at_least) = (Histogram::new(), Histogram::new());
    named.latency.add_to(&mut finished);
    named.at_least.add_to(&mut at_least);
    let (mut delayed, mut undelayed) = (Histogram::new(), Histogram::new());
    named.latency_delayed.add_to(&mut delayed);
    named.latency_undelayed.add_to(&mut undelayed);
    let ranked = RankedLatency::with_unfinished(&finished, &at_least).with_own(&delayed, &undelayed);
    let counts = &named.counts;
    let ended = counts.finished + counts.finished_of_warmup;
    let status: Vec<String> = named.status.iter().map(|(code, n)| format!("{code}:{n}")).collect();
    // A record from another source may contain indices that its plan does not define.
    let (name, kind) = rows.get(usize::from(named.name)).cloned().unwrap_or_else(|| (named.name.to_string(), ""));
    let quantile = |q| cell(ranked.quantile(q).figure);
    let figures = [
        ("from_s", (s.from_ns as f64 / 1e9).to_string()),
        ("to_s", (s.to_ns as f64 / 1e9).to_string()),
        ("part", part(s.part).into()),
        ("scheduled", counts.due.to_string()),
        ("succeeded", counts.finished.to_string()),
        ("failed", counts.failed.to_string()),
        ("unfinished", counts.censored.to_string()),
        ("succeeded_of_warmup", counts.finished_of_warmup.to_string()),
        ("throughput_per_s", if length_s > 0.0 { ended as f64 / length_s } else { 0.0 }.to_string()),
        ("mean_us", cell(ranked.mean())),
        ("p50_us", quantile(0.5)),
        ("p90_us", quantile(0.9)),
        ("p95_us", quantile(0.95)),
        ("p99_us", quantile(0.99)),
        ("p99_9_us", quantile(0.999)),
        ("max_us", cell(ranked.max())),
        ("status", quote(&status.join(" "))),
        ("name", quote(&name)),
        ("kind", kind.into()),
        ("p50_least_us", least(ranked.quantile(0.5))),
        ("p90_least_us", least(ranked.quantile(0.9))),
        ("p95_least_us", least(ranked.quantile(0.95))),
        ("p99_least_us", least(ranked.quantile(0.99))),
        ("p99_9_least_us", least(ranked.quantile(0.999))),
    ];
    columns(&figures)
}

/// Returns the row of a check in a second: the responses that passed and failed it.
fn row_of_check(s: &Second, checked: &CheckResults, summary: &Summary) -> [String; COLUMNS.len()] {
    let names = summary.started.as_ref().map_or(&[][..], |started| &started.checks);
    let name = names.get(usize::from(checked.check)).map_or_else(|| checked.check.to_string(), Clone::clone);
    columns(&[
        ("from_s", (s.from_ns as f64 / 1e9).to_string()),
        ("to_s", (s.to_ns as f64 / 1e9).to_string()),
        ("part", part(s.part).into()),
        ("succeeded", checked.passed.to_string()),
        ("failed", checked.failed.to_string()),
        ("name", quote(&name)),
        ("kind", "check".into()),
    ])
}

/// Returns a row with these figures, and all other cells empty.
fn columns(figures: &[(&str, String)]) -> [String; COLUMNS.len()] {
    COLUMNS.map(|(column, _)| {
        figures.iter().find(|(known, _)| *known == column).map_or_else(String::new, |(_, figure)| figure.clone())
    })
}

fn cell(figure: Figure) -> String {
    match figure {
        Figure::Exact(t) => t.as_micros_f64().to_string(),
        Figure::AtLeast(t) => format!(">={}", t.as_micros_f64()),
        Figure::Withheld => String::new(),
    }
}

/// Returns the lower end of a quantile's band: the quantile itself if nothing of it is brunt's own.
fn least(quantile: QuantileEstimate) -> String {
    cell(quantile.band.map_or(quantile.figure, |band| Figure::Exact(band.least)))
}

fn part(part: RunPart) -> &'static str {
    match part {
        RunPart::Warmup => "warmup",
        RunPart::Window => "window",
        RunPart::Drain => "drain",
    }
}

fn failure(f: &brunt_record::Failure) -> String {
    let errno = f.errno.as_ref().map_or(String::new(), |e| format!("/{e}"));
    format!("{}/{}{errno}:{}", f.kind, f.phase, f.count)
}

/// Quotes a cell of untrusted text, because a spreadsheet would evaluate text that begins like a formula.
fn quote(text: &str) -> String {
    let text = brunt_measure::sanitize::line(text);
    let formula = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    if text.contains([',', '"']) {
        format!("\"{formula}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{formula}{text}")
    }
}
