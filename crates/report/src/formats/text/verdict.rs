//! The end of the page: notices, objectives, and whether to trust the figures.

use super::Page;
use crate::columns::{left, width};
use crate::finding::Grade;
use crate::judgement;
use crate::limits::{self, Told};
use crate::overload::Overload;
use crate::sentences as say;
use crate::summary::Summary;

pub(super) fn notices(page: &mut Page, summary: &Summary) {
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
pub(super) fn limits(page: &mut Page, summary: &Summary) {
    let all = limits::told(&summary.limits, page.lang);
    if all.is_empty() {
        return;
    }
    page.section(page.say(say::limits::LIMIT));
    for Told { claim, details } in &all {
        page.inner(claim);
        details.iter().for_each(|detail| page.inner(&format!("  {detail}")));
    }
}

pub(super) fn objectives(page: &mut Page, summary: &Summary) {
    if summary.objectives.is_empty() {
        return;
    }
    page.section(page.say(say::OBJECTIVES));
    let word = |met: bool| page.say(if met { say::MET } else { say::MISSED });
    let words = summary.objectives.iter().map(|o| width(word(o.met))).max().unwrap_or(0);
    let names = summary.objectives.iter().map(|o| width(&o.objective)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for o in &summary.objectives {
        let said = left(word(o.met), words);
        let said = if o.met { page.paint.green(&said) } else { page.paint.red(&said) };
        lines.push(format!("{said}  {}  {}", left(&o.objective, names), judgement::measured(o, page.lang)));
    }
    lines.iter().for_each(|line| page.inner(line));
}

/// Adds the verdict before the figures, so that they are not read without it.
pub(super) fn line(page: &mut Page, summary: &Summary) {
    let line = crate::line::line(summary, page.lang);
    page.text.push('\n');
    let line = match summary.trust.verdict() {
        Grade::Ok if Overload::of(summary).is_none() => page.paint.green(&line),
        Grade::Ok | Grade::Warn => page.paint.yellow(&line),
        Grade::Fail => page.paint.red(&line),
    };
    page.line(&line);
}

pub(super) fn trust(page: &mut Page, summary: &Summary) {
    let grade = summary.trust.verdict();
    let word = page.say(judgement::verdict(grade));
    let word = match grade {
        Grade::Ok => page.paint.green(word),
        Grade::Warn => page.paint.yellow(word),
        Grade::Fail => page.paint.red(word),
    };
    let heading = page.paint.bold(page.say(say::TRUST));
    page.text.push('\n');
    page.line(&format!("{heading}{}{word}", page.say(say::COLON)));
    for found in &summary.trust.findings {
        let sentence = found.sentence(page.lang);
        let mark = match found.grade {
            Grade::Ok => page.paint.green("+"),
            Grade::Warn => page.paint.yellow("!"),
            Grade::Fail => page.paint.red("x"),
        };
        page.inner(&format!("{mark} {sentence}"));
    }
    let line = judgement::exit(summary, page.lang);
    page.line(&line);
}
