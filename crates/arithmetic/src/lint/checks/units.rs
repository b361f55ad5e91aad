//! Units: webbench prints pages per minute, and the number is read as requests per second.

use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::paste::PastedLine;
use super::super::quantities;
use super::super::stated::StatedRun;
use super::{Examined, LintEvidence};
use crate::figures;

/// What a rate per minute is called.
const PER_MINUTE: [&str; 4] = ["pages/min", "requests/min", "pages per minute", "requests per minute"];
/// What tells that a number is per minute after all.
const MINUTES: [&str; 3] = ["minute", "/min", "分钟"];
/// Rates per minute that are looked for on other lines.
const REMEMBERED: usize = 16;
/// Bytes around a number in which its unit is looked for.
const NEAR: usize = 30;
/// What a rate per second is called.
const PER_SECOND: [&str; 9] =
    ["qps", "rps", "tps", "req/s", "requests/s", "requests per second", "pages/s", "每秒", "/秒"];

const READ_AS_SECONDS: Text = text(
    "{number} a minute are {number} ÷ 60 = {rate}, not {number} a second",
    "每分钟 {number} 即 {number} ÷ 60 = {rate}，而不是每秒 {number}",
);
const SAME_NUMBER: Text = text(
    "{number} stands for requests a second here, but line {line} counts it per minute: {number} ÷ 60 = {rate}",
    "这里把 {number} 当作每秒请求数，但第 {line} 行是每分钟的数：{number} ÷ 60 = {rate}",
);
const FOR_READERS: Text = text("{number} pages a minute are {rate}", "每分钟 {number} 页即 {rate}");

/// Looks for rates per minute that are called rates per second, on the same line or on another one.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    let mut minutes: Vec<(f64, usize)> = Vec::new();
    let mut misread = false;
    for line in &evidence.paste.lines {
        let text = line.text.to_lowercase();
        let stated: Vec<(f64, &str)> = PER_MINUTE.iter().flat_map(|unit| numbers_before(&text, unit)).collect();
        if !stated.is_empty() {
            let called = stated.iter().find(|(_, before)| is_per_second(before));
            misread |= called.is_some();
            examined.add(called.map(|(number, _)| found(evidence, line, READ_AS_SECONDS, (*number, line.number))));
            minutes.extend(stated.iter().map(|(number, _)| (*number, line.number)));
            minutes.truncate(REMEMBERED);
        } else if let Some((number, at)) = minutes.iter().find(|(number, _)| is_called_per_second(&text, *number)) {
            misread = true;
            examined.add(Some(found(evidence, line, SAME_NUMBER, (*number, *at))));
        }
    }
    let runs = evidence.runs.iter().filter_map(|run| Some((run, run.per_minute?, run.rate?)));
    for (run, per_minute, rate) in runs.filter(|_| !misread) {
        let facts = [("number", figures::number(per_minute.value)), ("rate", figures::rate(rate.value))];
        examined.add(Some(LintFinding::of_run(run, LintGrade::Note, FOR_READERS, facts)));
    }
}

/// Returns a finding about a line that takes the number per minute of line `at` for one per second.
fn found(evidence: &LintEvidence<'_>, line: &PastedLine, text: Text, (number, at): (f64, usize)) -> LintFinding {
    let facts = [("number", figures::number(number)), ("rate", figures::rate(number / 60.0)), ("line", at.to_string())];
    let is_same = |run: &&StatedRun| run.per_minute.is_some_and(|per_minute| per_minute.value == number);
    let run = evidence.runs.iter().find(is_same);
    let command = run.map_or_else(|| "brunt -c 10 -d 30s --no-keepalive URL".to_owned(), StatedRun::brunt_with_users);
    LintFinding::of_line(line.number, LintGrade::Wrong, text, facts).settled_by(command)
}

fn is_per_second(text: &str) -> bool {
    PER_SECOND.iter().any(|unit| text.contains(unit))
}

/// Returns the numbers directly before a unit, each with what stands before it.
fn numbers_before<'a>(text: &'a str, unit: &str) -> Vec<(f64, &'a str)> {
    let number = |(at, _): (usize, &str)| {
        let before = text[..at].trim_end();
        let start = before.trim_end_matches(is_digit).len();
        let number = quantities::number(&before[start..])?;
        Some((number.value, last_bytes(&before[..start])))
    };
    text.match_indices(unit).filter_map(number).collect()
}

/// Returns `true` if a text has this number as a word of its own, next to what only a rate per second is called.
fn is_called_per_second(text: &str, number: f64) -> bool {
    // A small number is met by chance.
    if number < 100.0 || MINUTES.iter().any(|word| text.contains(word)) {
        return false;
    }
    let mut at = 0;
    text.split(|c: char| !is_digit(c)).any(|word| {
        let start = at + text[at..].find(word).unwrap_or(0);
        at = start + word.len();
        let is_same = quantities::number(word).is_some_and(|word| word.value == number);
        is_same && (is_per_second(last_bytes(&text[..start])) || is_per_second(first_bytes(&text[at..])))
    })
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',')
}

fn last_bytes(text: &str) -> &str {
    let start = (text.len().saturating_sub(NEAR)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(0)..]
}

fn first_bytes(text: &str) -> &str {
    let end = (0..=NEAR.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}
