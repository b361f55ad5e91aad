//! Words that all experiments share: times, figures and their names.

use brunt_contract::UsageError;
use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_measure::Nanos;
use brunt_report::contrast::{ComparedFigures, MEASURES, Measure};

const MINUTES: Text = text("{n} min", "{n} 分钟");
const SECONDS: Text = text("{n} s", "{n} 秒");
const RATE: Text = text("{n}/s", "{n}/s");
const TOOK: Text = text("{n} {n|run|runs} in {time}; exit code {code}.", "共 {n} 次运行，用时 {time}；退出码 {code}。");
const LOST_PART: Text = text(
    "No further run counts: {why}. It says nothing about the service.",
    "此后的运行不计入：{why}。这不能说明服务的任何情况。",
);

/// Says why an experiment ended with a run that is no evidence.
pub(crate) fn lost_part(why: &UsageError, lang: Lang) -> String {
    lang.fill(LOST_PART, &[("why", &error_text(why, lang))])
}

/// Returns what was wrong, in the language.
pub(crate) fn error_text(why: &UsageError, lang: Lang) -> String {
    if lang == Lang::Zh { why.zh() } else { why.to_string() }
}

/// Formats a time to the minute where it is long, as estimates are.
pub(crate) fn about(time: Nanos, lang: Lang) -> String {
    match time.as_secs_f64() {
        s if s >= 90.0 => lang.fill(MINUTES, &[("n", &format!("{:.0}", s / 60.0))]),
        s => lang.fill(SECONDS, &[("n", &format!("{:.0}", s.ceil()))]),
    }
}

/// Says how many runs were made, in which time, and the exit code.
pub(crate) fn took(runs: usize, time: Nanos, code: u8, lang: Lang) -> String {
    let facts = [("n", &*runs.to_string()), ("time", &*about(time, lang)), ("code", &*code.to_string())];
    lang.fill(TOOK, &facts)
}

/// Formats a rate per second.
pub(crate) fn rate_text(per_s: f64, lang: Lang) -> String {
    lang.fill(RATE, &[("n", &numbers::rate(per_s))])
}

/// Formats a value of a measure: a rate, a share or a latency in microseconds.
pub(crate) fn value_text(measure: &Measure, value: f64, lang: Lang) -> String {
    match measure.quantile() {
        Some(_) => numbers::duration(Nanos((value * 1e3) as u64)),
        None if measure.is_share => format!("{:.2} %", value * 100.0),
        None => rate_text(value, lang),
    }
}

/// Returns the short name of a measure: `p99`, `throughput`.
pub(crate) fn short_name(measure: &Measure, lang: Lang) -> String {
    match measure.quantile() {
        Some(_) => measure.name.trim_end_matches("_us").to_owned(),
        None => measure.words(None, lang),
    }
}

/// Returns the short names of all measures, as a heading.
pub(crate) fn figure_heading(lang: Lang) -> impl Iterator<Item = String> {
    MEASURES.iter().map(move |measure| short_name(measure, lang))
}

/// Formats the figures of a run, in the order of the measures.
pub(crate) fn figure_cells(of: &ComparedFigures, lang: Lang) -> impl Iterator<Item = String> + use<> {
    let values = figures(of);
    MEASURES.iter().zip(values).map(move |(measure, value)| match value {
        Some(value) => value_text(measure, value, lang),
        None => numbers::WITHHELD.to_owned(),
    })
}

/// Returns the figures of a run for a spreadsheet; those withheld are empty.
pub(crate) fn csv_figures(of: &ComparedFigures) -> impl Iterator<Item = String> + use<> {
    figures(of).into_iter().map(csv_number)
}

/// Returns a number for a spreadsheet; empty for none.
pub(crate) fn csv_number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn figures(of: &ComparedFigures) -> [Option<f64>; MEASURES.len()] {
    MEASURES.map(|measure| of.value(&measure, of.is_open()).map(|(value, _)| value))
}
