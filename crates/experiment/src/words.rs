//! Words that all experiments share: times, figures and their names.

use std::time::Instant;

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_measure::Nanos;
use brunt_report::contrast::Measure;

const MINUTES: Text = text("{n} min", "{n} 分钟");
const SECONDS: Text = text("{n} s", "{n} 秒");
const RATE: Text = text("{n}/s", "{n}/s");
const TOOK: Text = text("{n} {n|run|runs} in {time}; exit code {code}.", "共 {n} 次运行，用时 {time}；退出码 {code}。");

/// Returns the time since then.
pub(crate) fn since(began: Instant) -> Nanos {
    Nanos(began.elapsed().as_nanos() as u64)
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
