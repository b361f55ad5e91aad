//! Verdicts in words: reasons to trust or not, objectives, exit codes, notices.

use measure::{Nanos, plain};

use crate::exit::Exit;
use crate::generator::Trouble;
use crate::objectives::Judged;
use crate::overload::Overload;
use crate::reasons::reason;
use crate::sentences as say;
use crate::show;
use crate::summary::{End, Summary};
use crate::text::{Lang, Text};
use crate::trust::{Grade, Reason};

/// A reason as a sentence, without a full stop.
pub fn sentence(reason: &Reason, summary: &Summary, lang: Lang) -> String {
    let totals = &summary.totals;
    match reason {
        Reason::Accounting { holds: true } => lang.of(say::TRUST_ACCOUNTING).into(),
        Reason::Accounting { holds: false } => {
            let sum = show::count(totals.finished + totals.failed + totals.censored);
            lang.fill(say::TRUST_ACCOUNTING_BROKEN, &[("due", &show::count(totals.due)), ("sum", &sum)])
        }
        Reason::Little { worst: Some(worst), judged, .. } if *worst < 0.0005 => {
            lang.fill(say::TRUST_LITTLE_EXACT, &[("judged", &show::count(*judged))])
        }
        Reason::Little { worst: None, .. } => lang.of(say::TRUST_LITTLE_NOT_JUDGED).into(),
        Reason::Little { worst: Some(worst), at, judged } => {
            let text = if reason.grade() == Grade::Ok { say::TRUST_LITTLE } else { say::TRUST_LITTLE_BROKEN };
            let (worst, at) = (format!("{:.1} %", worst * 100.0), format!("{:.0} s", at.as_secs_f64()));
            lang.fill(text, &[("worst", &worst), ("at", &at), ("judged", &show::count(*judged))])
        }
        Reason::LowerBound { quantiles, unfinished } => {
            let names = quantiles.join(", ");
            lang.fill(say::TRUST_LOWER_BOUND, &[("quantiles", &names), ("unfinished", &show::count(*unfinished))])
        }
        Reason::NothingFinished if totals.due == 0 && summary.end != End::Completed => {
            let warming = totals.warmup > 0;
            lang.of(if warming { say::TRUST_NOTHING_BUT_WARMUP } else { say::TRUST_NOTHING_BEGUN }).into()
        }
        Reason::FewRequests { objectives } => {
            lang.fill(say::TRUST_FEW, &[("objectives", &objectives.join(lang.of(say::COMMA)))])
        }
        Reason::NothingFinished if totals.due == 0 => lang.of(say::TRUST_NOTHING_DUE).into(),
        Reason::NothingFinished => match only_answers(summary) {
            Some(codes) => lang.fill(say::TRUST_ONLY_ANSWERS, &[("codes", &codes)]),
            None => lang.of(say::TRUST_NOTHING).into(),
        },
        Reason::Failures { failed, due, judged } => {
            let said = lang.fill(say::TRUST_FAILURES, &[("share", &show::percent(*failed, *due))]);
            if *judged { said } else { said + lang.of(say::TRUST_FAILURES_ADVICE) }
        }
        Reason::Outage { from, to, further, .. } => outage(*from, *to, *further, lang),
        Reason::HeartbeatsUnanswered { sent } => lang.fill(say::TRUST_HEARTBEATS, &[("sent", &show::count(*sent))]),
        Reason::UsersKeptOut { share } => lang.fill(say::TRUST_KEPT_OUT, &[("share", &percent(*share))]),
        Reason::UsersStuck { share } => lang.fill(say::TRUST_STUCK, &[("share", &percent(*share))]),
        Reason::LocalLimit { failed } => lang.fill(say::TRUST_LOCAL, &[("failed", &show::count(*failed))]),
        Reason::HeldFewer { held, asked, failed, lost } => {
            let text = match (failed, lost) {
                // They stood for a moment each, within a second.
                (_, true) if *held == 0 => say::TRUST_HELD_NONE_LASTED,
                _ if *held == 0 => say::TRUST_HELD_NONE,
                (true, true) => say::TRUST_HELD_FEWER_BOTH,
                (false, true) => say::TRUST_HELD_FEWER_LOST,
                (true, false) => say::TRUST_HELD_FEWER,
                (false, false) => say::TRUST_HELD_FEWER_LATE,
            };
            lang.fill(text, &[("held", &show::count(*held)), ("asked", &show::count(*asked))])
        }
        Reason::ConnectionsLost { lost } => lang.fill(say::TRUST_LOST, &[("lost", &show::count(*lost))]),
        Reason::Pairing { strays, .. } => lang.fill(say::TRUST_PAIRING, &[("strays", &show::count(*strays))]),
        Reason::Unheard { refused, sent } => {
            lang.fill(say::TRUST_UNHEARD, &[("refused", &show::count(*refused)), ("sent", &show::count(*sent))])
        }
        Reason::SplitLimit(limited) => {
            let (limit, workers) = (show::count(limited.limit.into()), show::count(limited.workers.into()));
            lang.fill(say::TRUST_SPLIT_LIMIT, &[("limit", &limit), ("workers", &workers)])
        }
        Reason::Generator(trouble) => generator(trouble, summary, lang),
        Reason::Interrupted => lang.of(say::TRUST_INTERRUPTED).into(),
        Reason::Partial => lang.of(say::TRUST_PARTIAL).into(),
        Reason::Aborted => lang.of(say::TRUST_ABORTED).into(),
        Reason::CutOff => lang.of(say::TRUST_CUT_OFF).into(),
    }
}

/// The codes of a run whose every request failed by its status, where `--expect-status` could make them successes.
pub fn only_answers(summary: &Summary) -> Option<String> {
    let totals = &summary.totals;
    let by_status = |f: &record::Failure| f.kind == "wrong_status" && f.phase != "greeting";
    let expects = summary.started.as_ref().is_some_and(|s| matches!(&*s.plan.protocol, "http" | "grpc"));
    let all =
        totals.finished == 0 && totals.failed > 0 && totals.censored == 0 && totals.failures.iter().all(by_status);
    let codes: Vec<&str> = totals.status.keys().map(String::as_str).collect();
    (expects && all && !codes.is_empty() && codes.len() <= 5).then(|| codes.join(","))
}

/// What a server that could not keep up sustained, as a sentence.
pub fn overload(summary: &Summary, lang: Lang) -> Option<String> {
    let o = Overload::of(summary)?;
    let rates = [o.sustained_per_s, o.scheduled_per_s, o.growth_per_s.unwrap_or(0.0)].map(show::rate);
    let facts = [("sustained", &*rates[0]), ("scheduled", &*rates[1]), ("growth", &*rates[2])];
    Some(lang.fill(if o.growth_per_s.is_some() { say::OVERLOAD } else { say::OVERLOAD_TIMED_OUT }, &facts))
}

/// A kind or phase of failure: in English the word of the documents.
pub fn word(code: &str, lang: Lang) -> &str {
    let known = say::WORDS.iter().find(|(known, _)| *known == code && lang == Lang::Zh);
    known.map_or(code, |(_, zh)| zh)
}

/// A share as people read it: `97.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn outage(from: Nanos, to: Nanos, further: u64, lang: Lang) -> String {
    let at = |t: Nanos| format!("{:.1} s", t.as_secs_f64());
    let said = lang.fill(say::TRUST_OUTAGE, &[("from", &at(from)), ("to", &at(to))]);
    match further {
        0 => said,
        1 => said + lang.of(say::TRUST_OUTAGE_ONE_MORE),
        n => said + &lang.fill(say::TRUST_OUTAGE_MORE, &[("n", &show::count(n))]),
    }
}

/// What is wrong with the generator itself, and what to do about it.
fn generator(trouble: &Trouble, summary: &Summary, lang: Lang) -> String {
    match trouble {
        Trouble::Busy { share, full, .. } => {
            let facts = [("share", &*percent(*share)), ("full", &*show::duration(*full))];
            let closed = if summary.open { String::new() } else { lang.of(say::TRUST_BUSY_CLOSED).into() };
            lang.fill(say::TRUST_BUSY, &facts) + &closed + lang.of(say::TRUST_BUSY_ADVICE)
        }
        Trouble::Absent { lost, longest } => {
            let facts = [("lost", &*percent(*lost)), ("longest", &*show::duration(*longest))];
            lang.fill(say::TRUST_ABSENT, &facts)
        }
        Trouble::ReadLate { quantile, figure, longest } => {
            let (figure, longest) = (show::duration(*figure), show::duration(*longest));
            lang.fill(say::TRUST_READ_LATE, &[("quantile", quantile), ("figure", &figure), ("longest", &longest)])
        }
        Trouble::Starved { delay, figure } => {
            let facts = [("delay", &*show::duration(*delay)), ("figure", &*show::duration(*figure))];
            lang.fill(say::TRUST_STARVED, &facts)
        }
        Trouble::Throttled { throttled, periods } => {
            let facts = [("throttled", &*show::count(*throttled)), ("periods", &*show::count(*periods))];
            lang.fill(say::TRUST_THROTTLED, &facts)
        }
        Trouble::Late { quantile, late, response, .. } => {
            let (late, response) = (show::duration(*late), show::duration(*response));
            lang.fill(say::TRUST_LATE, &[("quantile", quantile), ("late", &late), ("response", &response)])
        }
        Trouble::LateOnAverage { late, response } => {
            let facts = [("late", &*show::duration(*late)), ("response", &*show::duration(*response))];
            lang.fill(say::TRUST_LATE_MEAN, &facts)
        }
    }
}

/// The verdict in a word.
pub fn verdict(grade: Grade) -> Text {
    match grade {
        Grade::Ok => say::TRUSTED,
        Grade::Warn => say::CAUTION,
        Grade::Fail => say::NOT_TRUSTED,
    }
}

/// What an objective came to: `p99 31.2 ms; 995 of 1,000 due requests held it`.
pub fn measured(judged: &Judged, lang: Lang) -> String {
    let mut out = judged.measured.clone();
    if let Some((within, due)) = judged.counted {
        out += lang.of(say::SEMICOLON);
        out += &lang.fill(say::WITHIN, &[("n", &show::count(within)), ("due", &show::count(due))]);
    }
    if judged.few {
        out += lang.of(say::SEMICOLON);
        out += lang.of(say::FEW);
    }
    out
}

/// The exit code with its meaning. 0 says what it does not say: failures that no objective asks about, or a caution.
pub fn exit(summary: &Summary, lang: Lang) -> String {
    let (exit, failed) = (summary.exit, summary.totals.failed);
    let meaning = match exit {
        Exit::Ok => match (summary.trust.verdict(), summary.objectives.is_empty()) {
            (Grade::Ok, true) => say::EXIT_TRUSTED,
            (Grade::Ok, false) => say::EXIT_OK,
            (_, true) => say::EXIT_WITH_CAUTION,
            (_, false) => say::EXIT_CAUTION,
        },
        Exit::Missed => say::EXIT_MISSED,
        Exit::NotTrusted => say::EXIT_NOT_TRUSTED,
        Exit::Interrupted if summary.end == End::Partial => say::EXIT_PARTIAL,
        Exit::Interrupted => say::EXIT_INTERRUPTED,
        Exit::NotWritten => say::EXIT_NOT_WRITTEN,
        Exit::Unreachable => say::EXIT_UNREACHABLE,
        Exit::Bug => say::EXIT_BUG,
    };
    let mut out = lang.fill(say::EXIT, &[("code", &exit.code().to_string()), ("meaning", lang.of(meaning))]);
    if exit == Exit::Ok && failed > 0 && !summary.failures_are_judged() {
        out += &lang.fill(say::EXIT_FAILED, &[("n", &show::count(failed))]);
    }
    out
}

/// A fact of a notice in the reader's language: kinds of failure by their words, reasons as such.
fn told(name: &str, fact: &str, lang: Lang) -> String {
    if name != "kind" {
        return reason(fact, lang).into_owned();
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

/// A notice as a sentence; an unknown code is shown as it is, and facts the sentence does not use are put behind it.
pub fn notice(notice: &record::Notice, lang: Lang) -> String {
    let known = say::NOTICES.iter().find(|(code, _)| *code == notice.code).map(|(_, text)| *text);
    let told: Vec<(&str, String)> = notice.facts.iter().map(|(name, fact)| (&**name, told(name, fact, lang))).collect();
    let facts: Vec<(&str, &str)> = told.iter().map(|(name, fact)| (*name, &**fact)).collect();
    let mut out = known.map_or_else(|| plain::line(&notice.code).into_owned(), |text| lang.fill(text, &facts));
    let used = |name: &str| known.is_some_and(|text| lang.of(text).contains(&format!("{{{name}}}")));
    let rest: Vec<String> =
        facts.iter().filter(|(name, _)| !used(name)).map(|(name, fact)| format!("{name}: {fact}")).collect();
    if !rest.is_empty() {
        out += &lang.fill(say::BRACKETS, &[("inner", &rest.join(lang.of(say::COMMA)))]);
    }
    out
}
