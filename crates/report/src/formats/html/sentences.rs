//! The sentences of a report in one language; a page contains them in both.

use brunt_diagnose::{LimitRule, rules};
use serde_json::{Value, json};

use crate::failure_accounts::{self, FailureAccount, failure_in_words, kind_in_words};
use crate::formats::stretches;
use crate::formats::text::{accounts, figures, head};
use crate::judgement;
use crate::limits::{self, LimitText};
use crate::reasons::reason;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

const TITLE: Text = text("{target} · brunt report", "{target} · brunt 报告");

/// Returns the language code used in HTML.
pub(super) fn code(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::Zh => "zh",
    }
}

/// Returns the title of the page.
pub(super) fn title(summary: &Summary, lang: Lang) -> String {
    let target = summary.started.as_ref().map_or(String::new(), |started| head::target(&started.plan, lang));
    lang.fill(TITLE, &[("target", &target)])
}

/// Returns every sentence of the report.
pub(super) fn sentences(summary: &Summary, lang: Lang) -> Value {
    let started = summary.started.as_deref();
    let plan = started.map(|started| &started.plan);
    let (uncounted, special) = accounts::outside_account(summary, lang);
    let apart: Vec<String> = uncounted.into_iter().chain(special).collect();
    let objectives: Vec<String> = summary.objectives.iter().map(|o| judgement::measured(o, lang)).collect();
    json!({
        "target": plan.map(|plan| head::target(plan, lang)),
        "load": head::load_as_run(summary, lang),
        "machinery": started.map(|started| head::machinery(started, lang)),
        "first_answer": summary.probe.as_ref().map(|probe| head::first_answer(probe, lang)),
        "probed": head::probed(summary, lang),
        "verdict": lang.of(judgement::verdict(summary.trust.verdict())),
        "gist": crate::gist::gist(summary, lang),
        "line": crate::verdict_line::verdict_line(summary, lang),
        "exit": judgement::exit(summary, lang),
        "reasons": summary.trust.findings.iter().map(|found| found.sentence(lang)).collect::<Vec<_>>(),
        "objectives": objectives,
        "limits": limit_sentences(summary, lang),
        "pages": rule_pages(summary, lang),
        "notices": summary.notices.iter().map(|notice| judgement::notice(notice, lang)).collect::<Vec<_>>(),
        "changes": summary.changes.iter().map(|changed| judgement::change(changed, lang)).collect::<Vec<_>>(),
        "stretches": stretch_sentences(summary, lang),
        "heading": figures::heading(summary, lang),
        "ranked": figures::sample_size(summary, lang),
        "throughput": figures::throughput_lines(summary, lang),
        "account": accounts::account(summary, lang),
        "apart": apart,
        "failures": failures(summary, lang),
        "connections": accounts::connection_lines(summary, lang),
    })
}

/// Returns for each stretch of the load what begins it, and its planned load.
fn stretch_sentences(summary: &Summary, lang: Lang) -> Vec<Value> {
    let all = summary.stretches.iter();
    all.map(|one| json!({ "what": stretches::name(one, lang), "load": stretches::load(one, summary.open, lang) }))
        .collect()
}

/// Returns the limits of the run: each finding and its details.
fn limit_sentences(summary: &Summary, lang: Lang) -> Vec<Value> {
    let told = |LimitText { claim, details }: LimitText| json!({ "claim": claim, "details": details });
    limits::limit_texts(&summary.limits, lang).into_iter().map(told).collect()
}

/// Returns the documentation pages of the rules with findings.
fn rule_pages(summary: &Summary, lang: Lang) -> Value {
    let found = |rule: &&LimitRule| summary.limits.findings.iter().any(|found| found.rule == rule.rule);
    let page = |rule: &LimitRule| json!({ "rule": rule.rule, "title": lang.of(rule.title), "paragraphs": rule.paragraphs(lang) });
    rules().filter(found).map(page).collect()
}

/// Returns for each sort of failure, in the order of the report: its words and those of its kind, its parts by status and
/// name, its remedy, and the details of its example.
fn failures(summary: &Summary, lang: Lang) -> Vec<Value> {
    let failures = summary.totals.failures.iter();
    failures
        .map(|failure| {
            let detail = summary
                .example(failure)
                .map(|example| reason(&example.detail, example.cause.as_ref(), lang).into_owned());
            let parts = failure_accounts::accounts(summary, failure);
            let part = |part: &FailureAccount<'_>| {
                let what = failure_accounts::describe(failure, part, summary, lang);
                json!({ "what": what, "count": part.count, "names": part.names })
            };
            json!({
                "sort": failure_in_words((&failure.kind, &failure.phase, failure.errno.as_deref()), lang),
                "kind": kind_in_words(&failure.kind, lang),
                "parts": parts.iter().map(part).collect::<Vec<_>>(),
                "advice": accounts::advice(failure, lang),
                "detail": detail,
            })
        })
        .collect()
}
