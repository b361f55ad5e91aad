//! Runs side by side: as text, as Markdown, as JSON, and on a page ([`super::html`]). All of them show [`compare_runs`].

use std::io::{self, Write};

use brunt_measure::sanitize;
use serde::Serialize;

use super::markdown::MarkdownPage;
use super::text::{figures, head};
use super::{Style, html};
use crate::columns::{Paint, table, wrap};
use crate::comparison::{ComparedRun, RunComparison, RunComparisonReport, compare_runs};
use crate::contrast::FigureChange;
use crate::finding::Grade;
use crate::numbers;
use crate::ranked::grade_of_width;
use crate::text::{Lang, Text, text};

/// Version of the JSON format.
const SCHEMA: &str = "brunt-comparison/1";

const AGAINST: Text = text("{run} against {base}", "{run} 相对 {base}");
const CHANGE: Text = text("change", "变化");
const INTERVAL: Text = text("95 % interval", "95 % 置信区间");
const VERDICT: Text = text("verdict", "结论");
const NOT_THE_SAME: Text = text("differs in: {what}", "不同之处：{what}");
const UNTRUSTED: Text = text(
    "one of these runs is NOT TRUSTED: treat the differences with caution",
    "其中有压测不可信：请谨慎看待两者的差异",
);
const NO_INTERVAL: Text = text(
    "a figure without an interval cannot be compared: runs of 5 s or more, and enough requests for the percentile, have one",
    "没有置信区间的数据无法比较：压测至少 5 秒、且请求数足以得出该百分位数时才有区间",
);
const WHAT_IT_KNOWS: Text = text(
    "Intervals show how much the seconds within each run vary, and what may be brunt's own delay. One run of each does \
        not show how much repeated runs of the same setup vary.",
    "区间反映每次压测中各秒之间的波动，以及可能由 brunt 自身造成的延迟；同一配置重复压测会相差多少，仅凭各一次压测无法得知。",
);

const MIXED: Text = text(
    "one of these runs has a rate, the other users: latency is the service time of both, which excludes waiting before sending",
    "其中一次压测按速率、另一次按用户数施加负载：延迟取两者的服务时间，不含发送前的等待",
);

/// Differences other than figures, by their names in documents.
const DIFFERS: [(&str, Text); 14] = [
    ("urls", text("URLs", "URL")),
    ("options", text("request options", "请求选项")),
    ("load", text("load", "负载")),
    ("flow", text("flow", "流程")),
    ("scenarios", text("scenarios", "场景")),
    ("duration", text("duration", "时长")),
    ("requests", text("number of requests", "请求数")),
    ("warmup", text("warm-up", "预热")),
    ("timeout", text("timeout", "超时")),
    ("workers", text("workers", "工作线程")),
    ("tls", text("TLS", "TLS")),
    ("max_connections", text("connections", "连接数")),
    ("machine", text("machine", "机器")),
    ("brunt", text("brunt version", "brunt 版本")),
];

/// A function that writes runs side by side.
pub type CompareFn = fn(&[ComparedRun<'_>], Style, &mut dyn Write) -> io::Result<()>;

/// Returns the comparison writer of the format with this name; `None` if the format shows only one run.
pub fn writer(format: &str) -> Option<CompareFn> {
    match format {
        "text" => Some(write_text),
        "json" => Some(write_json),
        "markdown" => Some(write_markdown),
        "html" => Some(html::compare),
        _ => None,
    }
}

/// Returns the letter that denotes a run.
fn letter(at: usize) -> String {
    char::from(b'A'.saturating_add(u8::try_from(at).unwrap_or(u8::MAX))).to_string()
}

fn write_json(runs: &[ComparedRun<'_>], _: Style, out: &mut dyn Write) -> io::Result<()> {
    let run = |run: &ComparedRun<'_>| {
        let started = run.summary.started.as_ref();
        RunReport {
            name: sanitize::line(run.name).into_owned(),
            unix_ms: started.map(|started| started.unix_ms),
            target: started.map(|started| sanitize::line(&head::target(&started.plan, Lang::En)).into_owned()),
            trust: run.summary.trust.verdict().verdict(),
        }
    };
    let told = compare_runs(runs)?;
    let compared = told.iter().map(RunComparison::document).collect();
    let document = ComparisonReport { compared, runs: runs.iter().map(run).collect(), schema: SCHEMA };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// A comparison of runs: each but the first compared with the first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ComparisonReport<'a> {
    /// Comparison with the first run, for each run but the first.
    compared: Vec<RunComparisonReport<'a>>,
    /// The runs, in the order given.
    runs: Vec<RunReport>,
    /// `brunt-comparison/1`.
    schema: &'static str,
}

/// A run in a comparison.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RunReport {
    /// File of its record.
    name: String,
    /// Start time, milliseconds since 1970; null if the record does not contain it.
    unix_ms: Option<u64>,
    /// Target of the load.
    target: Option<String>,
    /// `trusted`, `too_short`, `caution` or `not_trusted`.
    trust: &'static str,
}

/// Returns the JSON Schema of a comparison, generated from the types (`docs/schema/comparison.json`).
#[cfg(feature = "schema")]
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(ComparisonReport<'static>);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}

/// A line of a comparison for people.
enum ComparisonLine {
    /// The name of a run.
    Run(String),
    /// The heading of a table.
    Heading(String),
    /// A sentence about the run or the table above it.
    Sentence(String),
    /// A sentence that the reader must not miss.
    Warning(String),
    Table(Vec<Vec<String>>),
}

/// Returns the comparison in words: the runs, then a table for each but the first.
fn lines(runs: &[ComparedRun<'_>], lang: Lang) -> io::Result<Vec<ComparisonLine>> {
    let mut lines = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let summary = run.summary.escaped();
        let plan = summary.started.as_ref().map(|started| &started.plan);
        let load = plan.map_or_else(Vec::new, |plan| head::load(plan, lang));
        let asked = plan.map(|plan| head::target(plan, lang)).into_iter().chain(load);
        lines.push(ComparisonLine::Run(format!("{}  {}", letter(at), sanitize::line(run.name))));
        lines.push(ComparisonLine::Sentence(asked.collect::<Vec<_>>().join(lang.of(crate::sentences::COMMA))));
        lines.push(ComparisonLine::Sentence(crate::verdict_line::verdict_line(&summary, lang)));
    }
    for (at, against) in compare_runs(runs)?.iter().enumerate() {
        let names = [letter(at + 1), letter(0)];
        lines.push(ComparisonLine::Heading(lang.fill(AGAINST, &[("run", &names[0]), ("base", &names[1])])));
        lines.push(ComparisonLine::Table(rows(runs, at + 1, against, lang)));
        if !against.trusted {
            lines.push(ComparisonLine::Warning(lang.of(UNTRUSTED).into()));
        }
        if against.figures.iter().any(|one| one.interval.is_none()) {
            lines.push(ComparisonLine::Warning(lang.of(NO_INTERVAL).into()));
        }
        if is_mixed(runs, at + 1) {
            lines.push(ComparisonLine::Warning(lang.of(MIXED).into()));
        }
        if !against.differences.is_empty() {
            let separator = if lang == Lang::Zh { "、" } else { ", " };
            let what =
                against.differences.iter().map(|part| difference_text(part, lang)).collect::<Vec<_>>().join(separator);
            lines.push(ComparisonLine::Warning(lang.fill(NOT_THE_SAME, &[("what", &what)])));
        }
    }
    Ok(lines)
}

fn write_text(runs: &[ComparedRun<'_>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (lang, paint) = (style.lang, Paint(style.color));
    let wrapped = |line: String| style.cells.map_or_else(|| line.clone(), |cells| wrap(&line, cells));
    for line in lines(runs, lang)? {
        match line {
            ComparisonLine::Run(name) => writeln!(out, "{}", wrapped(paint.bold(&name)))?,
            ComparisonLine::Heading(name) => writeln!(out, "\n{}", wrapped(paint.bold(&name)))?,
            ComparisonLine::Sentence(said) => writeln!(out, "{}", wrapped(format!("   {said}")))?,
            ComparisonLine::Warning(said) => writeln!(out, "{}", wrapped(format!("  {}", paint.yellow(&said))))?,
            ComparisonLine::Table(rows) => table(&rows).iter().try_for_each(|row| writeln!(out, "  {row}"))?,
        }
    }
    writeln!(out, "\n{}", wrapped(lang.of(WHAT_IT_KNOWS).into()))
}

fn write_markdown(runs: &[ComparedRun<'_>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = MarkdownPage::new(style.lang);
    for line in lines(runs, style.lang)? {
        match line {
            ComparisonLine::Run(name) | ComparisonLine::Heading(name) => page.section(&name),
            ComparisonLine::Sentence(said) | ComparisonLine::Warning(said) => page.list(&[said]),
            ComparisonLine::Table(rows) => page.table("lrrrrl", &rows),
        }
    }
    page.list(&[style.lang.of(WHAT_IT_KNOWS).to_owned()]);
    out.write_all(page.text().as_bytes())
}

fn difference_text(part: &str, lang: Lang) -> &str {
    DIFFERS.iter().find(|(name, _)| *name == part).map_or(part, |(_, text)| lang.of(*text))
}

/// Returns the figures of the first run and of another, with their heading.
fn rows(runs: &[ComparedRun<'_>], at: usize, against: &RunComparison, lang: Lang) -> Vec<Vec<String>> {
    let words = [CHANGE, INTERVAL, VERDICT].map(|word| lang.of(word).to_owned());
    let heading: Vec<String> = [String::new(), letter(0), letter(at)].into_iter().chain(words).collect();
    let row = |one: &FigureChange| {
        let interval = one.interval.map(|ends| ends.map(|end| one.measure.change_text(end, lang)).join(" … "));
        vec![
            one.measure.words(one.latency, lang),
            figure(&runs[0], one, 0, lang),
            figure(&runs[at], one, 1, lang),
            one.change.map_or_else(|| numbers::WITHHELD.into(), |change| one.measure.change_text(change, lang)),
            interval.unwrap_or_else(|| numbers::WITHHELD.into()),
            lang.of(one.verdict.word()).into(),
        ]
    };
    std::iter::once(heading).chain(against.figures.iter().map(row)).collect()
}

/// Returns `true` if only one of the two runs has response times.
fn is_mixed(runs: &[ComparedRun<'_>], at: usize) -> bool {
    runs[0].summary.open != runs[at].summary.open
}

/// Formats a figure of one of the two runs, marking a lower bound.
fn figure(run: &ComparedRun<'_>, one: &FigureChange, of: usize, lang: Lang) -> String {
    if let Some(q) = one.measure.quantile() {
        return run.summary.totals.ranked(one.latency == Some("response")).quantile(q).show(lang);
    }
    match one.values[of] {
        None => numbers::WITHHELD.into(),
        Some(share) if one.measure.is_share => format!("{:.2} %", share * 100.0),
        Some(rate) => {
            let ends = one.bands[of].filter(|[least, most]| grade_of_width(1.0 - least / most) == Grade::Fail);
            ends.map_or_else(|| format!("{}/s", numbers::rate(rate)), |ends| figures::show_rate_band(ends, lang))
        }
    }
}
