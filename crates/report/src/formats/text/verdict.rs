//! The end of the page: notices, objectives, and the verdict on whether to trust the figures.

use super::TextPage;
use crate::columns::{pad_right, width};
use crate::finding::Grade;
use crate::judgement;
use crate::limits::{self, LimitText};
use crate::objectives::{JudgedObjective, ObjectiveOutcome};
use crate::overload::Overload;
use crate::sentences as say;
use crate::summary::Summary;

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
    let word = |o: &JudgedObjective| page.translate(judgement::outcome(o.outcome));
    let words = summary.objectives.iter().map(|o| width(word(o))).max().unwrap_or(0);
    let names = summary.objectives.iter().map(|o| width(&o.objective)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for o in &summary.objectives {
        let said = pad_right(word(o), words);
        let said = match o.outcome {
            ObjectiveOutcome::Met => page.paint.green(&said),
            ObjectiveOutcome::Undecided => page.paint.yellow(&said),
            ObjectiveOutcome::Missed => page.paint.red(&said),
        };
        lines.push(format!("{said}  {}  {}", pad_right(&o.objective, names), judgement::measured(o, page.lang)));
    }
    lines.iter().for_each(|line| page.indented_line(line));
}

/// Adds the verdict before the figures, so that they are not read without it.
pub(super) fn line(page: &mut TextPage, summary: &Summary) {
    let line = crate::verdict_line::verdict_line(summary, page.lang);
    page.text.push('\n');
    let line = match summary.trust.verdict() {
        Grade::Unchecked | Grade::Ok if Overload::of(summary).is_none() => page.paint.green(&line),
        Grade::Unchecked | Grade::Ok | Grade::TooShort | Grade::Warn => page.paint.yellow(&line),
        Grade::Fail => page.paint.red(&line),
    };
    page.line(&line);
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
    for found in &summary.trust.findings {
        let sentence = found.sentence(page.lang);
        let mark = match found.grade {
            Grade::Unchecked => page.paint.dim("-"),
            Grade::Ok => page.paint.green("+"),
            Grade::TooShort | Grade::Warn => page.paint.yellow("!"),
            Grade::Fail => page.paint.red("x"),
        };
        page.indented_line(&format!("{mark} {sentence}"));
    }
    let line = judgement::exit(summary, page.lang);
    page.line(&line);
}
