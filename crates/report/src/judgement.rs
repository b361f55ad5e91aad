//! Verdicts in words: objectives, exit codes, notices. Findings of rules contain their own sentences.

use brunt_measure::{Nanos, sanitize};
use brunt_plan::Change;
use brunt_record::{End, Kind, LoadChange, Phase};

use crate::exit::Exit;
use crate::finding::Grade;
use crate::numbers;
use crate::objectives::{JudgedObjective, ObjectiveOutcome};
use crate::overload::Overload;
use crate::reasons::reason;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text};

/// Returns a sentence on the rate sustained by a server, or by the connections of the run, that could not keep up.
pub fn overload(summary: &Summary, lang: Lang) -> Option<String> {
    let o = Overload::of(summary)?;
    let found = |rule: &str| summary.limits.findings.iter().any(|found| found.rule == rule);
    let is_own = found(brunt_diagnose::OWN_CONNECTIONS) && !found(brunt_diagnose::CAPACITY);
    let rates = [o.sustained_per_s, o.scheduled_per_s, o.growth_per_s.unwrap_or(0.0)].map(numbers::rate);
    let facts = [("sustained", &*rates[0]), ("scheduled", &*rates[1]), ("growth", &*rates[2])];
    let text = match o.growth_per_s {
        _ if is_own => say::TOO_FEW_CONNECTIONS,
        Some(_) => say::OVERLOAD,
        None => say::OVERLOAD_TIMED_OUT,
    };
    Some(lang.fill(text, &facts))
}

/// Translates a kind or phase of failure; in English, it is the identifier used in documents.
pub fn word(code: &str, lang: Lang) -> &str {
    if lang == Lang::En {
        return code;
    }
    let kind = Kind::ALL.iter().copied().find(|kind| kind.name() == code).map(say::kind_zh);
    let phase = || Phase::ALL.iter().copied().find(|phase| phase.name() == code).map(say::phase_zh);
    kind.or_else(phase).unwrap_or(code)
}

/// Formats a sort of failure, by its kind, phase and system error: `refused · connect · ECONNREFUSED`.
pub fn sort((kind, phase, errno): (&str, &str, Option<&str>), lang: Lang) -> String {
    let parts = [Some(word(kind, lang)), Some(word(phase, lang)), errno];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Returns the verdict in a word or two.
pub fn verdict(grade: Grade) -> Text {
    match grade {
        Grade::Unchecked | Grade::Ok => say::TRUSTED,
        Grade::TooShort => say::TOO_SHORT,
        Grade::Warn => say::CAUTION,
        Grade::Fail => say::NOT_TRUSTED,
    }
}

/// Returns the outcome of an objective in a word or two.
pub fn outcome(outcome: ObjectiveOutcome) -> Text {
    match outcome {
        ObjectiveOutcome::Met => say::MET,
        ObjectiveOutcome::Undecided => say::UNDECIDED,
        ObjectiveOutcome::Missed => say::MISSED,
    }
}

/// Formats the result of an objective: `p99 31.2 ms; 995 of 1,000 met it`.
pub fn measured(judged: &JudgedObjective, lang: Lang) -> String {
    let mut out = judged.measured.clone();
    match judged.counted {
        Some((_, 0)) => {
            out += lang.of(say::SEMICOLON);
            out += lang.of(say::NONE_DUE);
        }
        Some((within, due)) => {
            out += lang.of(say::SEMICOLON);
            out += &lang.fill(say::WITHIN, &[("n", &numbers::count(within)), ("due", &numbers::count(due))]);
        }
        None => {}
    }
    if judged.failed > 0 && judged.outcome == ObjectiveOutcome::Missed {
        out += lang.of(say::COMMA);
        out += &lang.fill(say::FAILED_MISS, &[("n", &numbers::count(judged.failed))]);
    }
    if judged.too_few_requests {
        out += lang.of(say::SEMICOLON);
        out += lang.of(say::FEW);
    }
    out
}

/// Formats the exit code with its meaning. For 0, the text adds what the code does not express: failures that no
/// objective covers, or a caution.
pub fn exit(summary: &Summary, lang: Lang) -> String {
    let (exit, failed) = (summary.exit, summary.totals.failed);
    let meaning = match exit {
        Exit::Ok => match (summary.trust.verdict(), summary.objectives.is_empty()) {
            (Grade::Unchecked | Grade::Ok, true) => say::EXIT_TRUSTED,
            (Grade::Unchecked | Grade::Ok, false) => say::EXIT_OK,
            (Grade::TooShort, true) => say::EXIT_TOO_SHORT,
            (Grade::TooShort, false) => say::EXIT_MET_TOO_SHORT,
            (Grade::Warn, true) => say::EXIT_WITH_CAUTION,
            (Grade::Warn, false) => say::EXIT_CAUTION,
            (Grade::Fail, true) => say::EXIT_ALLOWED,
            (Grade::Fail, false) => say::EXIT_MET_NOT_TRUSTED,
        },
        Exit::Missed if summary.objectives.iter().all(|objective| objective.outcome != ObjectiveOutcome::Missed) => {
            say::EXIT_STEP
        }
        Exit::Missed => say::EXIT_MISSED,
        Exit::NotTrusted if summary.objectives.iter().any(|o| o.outcome == ObjectiveOutcome::Undecided) => {
            say::EXIT_UNDECIDED
        }
        Exit::NotTrusted if summary.trust.verdict() < Grade::Fail => say::EXIT_STRICT,
        Exit::NotTrusted => say::EXIT_NOT_TRUSTED,
        Exit::Interrupted if summary.end == End::Partial => say::EXIT_PARTIAL,
        Exit::Interrupted => say::EXIT_INTERRUPTED,
        Exit::NotWritten => say::EXIT_NOT_WRITTEN,
        Exit::Unreachable => say::EXIT_UNREACHABLE,
        Exit::Bug => say::EXIT_BUG,
    };
    let mut out = lang.fill(say::EXIT, &[("code", &exit.code().to_string()), ("meaning", lang.of(meaning))]);
    if exit == Exit::Ok && failed > 0 && !summary.failures_are_judged() {
        out += &lang.fill(say::EXIT_FAILED, &[("n", &numbers::count(failed))]);
    }
    out
}

/// Translates a fact of a notice: kinds of failure are translated word by word, and any other fact by its cause, if it
/// has one.
fn translate_fact(notice: &brunt_record::Notice, name: &str, fact: &str, lang: Lang) -> String {
    // Names of agents.
    if lang == Lang::Zh && ["agents", "to"].contains(&name) {
        return fact.replace(", ", "、");
    }
    if name != "kind" {
        return reason(fact, notice.causes.get(name), lang).into_owned();
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    for piece in fact.split_inclusive(|c: char| !is_part(c)) {
        let bare = piece.trim_end_matches(|c: char| !is_part(c));
        out.push_str(word(bare, lang));
        out.push_str(&piece[bare.len()..]);
    }
    out
}

/// Formats a notice as a sentence; an unknown code is shown verbatim, and facts that the sentence does not use
/// are appended.
pub fn notice(notice: &brunt_record::Notice, lang: Lang) -> String {
    let known = notice.subject().map(say::notice);
    let told: Vec<(&str, String)> =
        notice.facts.iter().map(|(name, fact)| (&**name, translate_fact(notice, name, fact, lang))).collect();
    let facts: Vec<(&str, &str)> = told.iter().map(|(name, fact)| (*name, &**fact)).collect();
    let mut out = known.map_or_else(|| sanitize::line(&notice.code).into_owned(), |text| lang.fill(text, &facts));
    let used = |name: &str| known.is_some_and(|text| lang.of(text).contains(&format!("{{{name}}}")));
    let rest: Vec<String> =
        facts.iter().filter(|(name, _)| !used(name)).map(|(name, fact)| format!("{name}: {fact}")).collect();
    if !rest.is_empty() {
        out += &lang.fill(say::BRACKETS, &[("inner", &rest.join(lang.of(say::COMMA)))]);
    }
    out
}

/// Formats a change of load as a sentence.
pub(crate) fn change(LoadChange { at_ns, change }: &LoadChange, lang: Lang) -> String {
    // Changes during the warm-up have negative times.
    let moment = numbers::duration(Nanos(at_ns.unsigned_abs()));
    let at = if *at_ns < 0 { format!("-{moment}") } else { moment };
    let level = |level: String| lang.fill(say::CHANGED_LEVEL, &[("level", &level), ("at", &at)]);
    match change {
        Change::Rate(rate) => level(brunt_measure::format_rate(*rate)),
        Change::Users(users) => level(lang.fill(say::CHANGED_USERS, &[("n", &users.to_string())])),
        Change::Pause => lang.fill(say::CHANGED_PAUSE, &[("at", &at)]),
        Change::Resume => lang.fill(say::CHANGED_RESUME, &[("at", &at)]),
        Change::Drain => lang.fill(say::CHANGED_DRAIN, &[("at", &at)]),
    }
}

/// Formats all changes in one line, or only the last ones if there are many.
pub(crate) fn changes(all: &[LoadChange], lang: Lang) -> Option<String> {
    const LISTED: usize = 12;
    let said: Vec<String> = all.iter().rev().take(LISTED).rev().map(|changed| change(changed, lang)).collect();
    let more = if all.len() > LISTED { "…" } else { "" };
    (!all.is_empty())
        .then(|| format!("{}{}{more}{}", lang.of(say::CHANGED), lang.of(say::COLON), said.join(lang.of(say::COMMA))))
}
