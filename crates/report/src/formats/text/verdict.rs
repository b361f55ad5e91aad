//! The end of the page: notices, objectives, and the verdict on whether to trust the figures.

use super::TextPage;
use crate::columns::{Paint, pad_right, width};
use crate::finding::Grade;
use crate::judgement;
use crate::limits::{self, LimitText};
use crate::objectives::{JudgedObjective, ObjectiveOutcome};
use crate::overload::Overload;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::Lang;
use crate::verdict_line;

pub(super) fn notices(page: &mut TextPage, summary: &Summary) {
    if !summary.notices.is_empty() || !summary.changes.is_empty() {
        page.text.push('\n');
    }
    if let Some(changes) = judgement::changes(&summary.changes, page.lang) {
        page.line(&page.paint.yellow(&format!("! {changes}")));
    }
    for notice in &summary.notices {
        let line = page.paint.yellow(&format!("! {}", judgement::notice(notice, page.lang)));
        page.line(&line);
    }
}

/// Adds the limits of the run, with their proof.
pub(super) fn limits(page: &mut TextPage, summary: &Summary) {
    let all = limits::limit_texts(&summary.limits, page.lang);
    if all.is_empty() {
        return;
    }
    page.section(page.translate(say::limits::LIMIT));
    for LimitText { claim, details } in &all {
        page.indented_line(claim);
        details.iter().for_each(|detail| page.indented_line(&format!("  {detail}")));
    }
}

pub(super) fn objectives(page: &mut TextPage, summary: &Summary) {
    if summary.objectives.is_empty() {
        return;
    }
    page.section(page.translate(say::OBJECTIVES));
    let word = |o: &JudgedObjective| width(page.translate(judgement::outcome(o.outcome)));
    let words = summary.objectives.iter().map(word).max().unwrap_or(0);
    let names = summary.objectives.iter().map(|o| width(&o.objective)).max().unwrap_or(0);
    for o in &summary.objectives {
        let said = outcome(o, words, page.lang, page.paint);
        let line = format!("{said}  {}  {}", pad_right(&o.objective, names), judgement::measured(o, page.lang));
        page.indented_line(&line);
    }
}

/// Returns the outcome of an objective in a word, padded to `cells` cells.
pub(super) fn outcome(judged: &JudgedObjective, cells: usize, lang: Lang, paint: Paint) -> String {
    let said = pad_right(lang.of(judgement::outcome(judged.outcome)), cells);
    match judged.outcome {
        ObjectiveOutcome::Met => paint.green(&said),
        ObjectiveOutcome::Undecided => paint.yellow(&said),
        ObjectiveOutcome::Missed => paint.red(&said),
    }
}

/// Adds the verdict before the figures, so that they are not read without it.
pub(super) fn line(page: &mut TextPage, summary: &Summary) {
    let line = verdict_line::verdict_line(summary, page.lang);
    page.text.push('\n');
    page.line(&colored(summary, page.paint, &line));
}

/// Colours a verdict by its grade.
pub(super) fn colored(summary: &Summary, paint: Paint, verdict: &str) -> String {
    match summary.trust.verdict() {
        Grade::Unchecked | Grade::Ok if Overload::of(summary).is_none() => paint.green(verdict),
        Grade::Unchecked | Grade::Ok | Grade::TooShort | Grade::Warn => paint.yellow(verdict),
        Grade::Fail => paint.red(verdict),
    }
}

/// Returns the mark of a finding.
pub(super) fn mark(grade: Grade, paint: Paint) -> String {
    match grade {
        Grade::Unchecked => paint.dim("-"),
        Grade::Ok => paint.green("+"),
        Grade::TooShort | Grade::Warn => paint.yellow("!"),
        Grade::Fail => paint.red("x"),
    }
}

pub(super) fn trust(page: &mut TextPage, summary: &Summary) {
    let grade = summary.trust.verdict();
    let word = page.translate(judgement::verdict(grade));
    let word = match grade {
        Grade::Unchecked | Grade::Ok => page.paint.green(word),
        Grade::TooShort | Grade::Warn => page.paint.yellow(word),
        Grade::Fail => page.paint.red(word),
    };
    let heading = page.paint.bold(page.translate(say::TRUST));
    page.text.push('\n');
    page.line(&format!("{heading}{}{word}", page.translate(say::COLON)));
    for found in verdict_line::beyond(&summary.trust) {
        page.indented_line(&format!("{} {}", mark(found.grade, page.paint), found.sentence(page.lang)));
    }
    let line = judgement::exit(summary, page.lang);
    page.line(&line);
}
