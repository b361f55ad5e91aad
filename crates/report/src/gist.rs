//! A run in one sentence, for readers who read no other: how much, for how long, and what was wrong.

use brunt_measure::Nanos;

use crate::failure_accounts::{accounts, describe};
use crate::judgement;
use crate::numbers;
use crate::objectives::{JudgedObjective, ObjectiveOutcome};
use crate::reasons::reason;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

const SUCCEEDED: Text = text("{rate}/s succeeded for {time}", "每秒成功 {rate} 个请求，持续 {time}");
const IN_STAGES: Text = text(
    "{rate}/s succeeded on average over {n} stages of load, {time}",
    "{n} 个负载阶段平均每秒成功 {rate} 个请求，共 {time}",
);
const HELD: Text = text("{n} {n|connection|connections} held for {time}", "保持 {n} 个连接，持续 {time}");
const NOTHING: Text = text("no load was sent: {why}", "没有施加负载：{why}");
const FAILED: Text =
    text("{n} of {all} requests failed ({share}): {what}", "{all} 个请求中有 {n} 个失败（{share}）：{what}");
const FAILED_MOSTLY: Text = text(
    "{n} of {all} requests failed ({share}), mostly: {what}",
    "{all} 个请求中有 {n} 个失败（{share}），多为：{what}",
);
const ALL_MET: Text = text("{n} of {n} {n|objective|objectives} met", "{n} 个目标（SLO）全部通过");
const MISSED: Text =
    text("{n} of {all} {all|objective|objectives} missed: {which}", "{all} 个目标（SLO）中有 {n} 个未通过：{which}");
const UNDECIDED: Text = text(
    "{n} of {all} {all|objective|objectives} undecided: {which}",
    "{all} 个目标（SLO）中有 {n} 个无法判断：{which}",
);
const ONE: Text = text("{objective} was {measured}", "{objective} 实测 {measured}");
const SILENT: Text = text("no request succeeded from {from} to {to}", "从 {from} 到 {to} 没有请求成功");
const SILENT_MORE: Text = text(", and {n} more {n|time|times}", "，另有 {n} 次");

/// Number of objectives named.
const NAMED: usize = 3;

/// Returns the sentence, without a full stop.
pub(crate) fn gist(summary: &Summary, lang: Lang) -> String {
    if let Some(why) = not_begun(summary, lang) {
        return why;
    }
    let mut parts = vec![amount(summary, lang)];
    parts.extend(objectives(summary, lang));
    parts.extend(failed(summary, lang).filter(|_| !summary.failures_are_judged()));
    parts.extend(silent(summary, lang));
    parts.join(lang.of(say::SEMICOLON))
}

/// Returns the reason why a run sent no load.
fn not_begun(summary: &Summary, lang: Lang) -> Option<String> {
    let probe = summary.probe.as_ref().filter(|_| summary.window == Nanos::ZERO)?;
    let why = reason(probe.failure.as_ref()?, probe.cause.as_ref(), lang);
    Some(lang.fill(NOTHING, &[("why", &why)]))
}

fn amount(summary: &Summary, lang: Lang) -> String {
    let (rate, time) = (numbers::rate(summary.throughput_per_s()), numbers::duration(summary.window));
    if summary.only_holds() {
        let n = numbers::count(summary.totals.max_established);
        return lang.fill(HELD, &[("n", &n), ("time", &time)]);
    }
    let stages = summary.stretches.iter().filter(|stretch| !stretch.is_pause()).count().to_string();
    let text = if summary.stretches.is_empty() { SUCCEEDED } else { IN_STAGES };
    lang.fill(text, &[("rate", &rate), ("time", &time), ("n", &stages)])
}

fn objectives(summary: &Summary, lang: Lang) -> Option<String> {
    let all = &summary.objectives;
    let of = |outcome| all.iter().filter(move |judged| judged.outcome == outcome).collect::<Vec<_>>();
    let (missed, undecided) = (of(ObjectiveOutcome::Missed), of(ObjectiveOutcome::Undecided));
    let told = |text, some: &[&JudgedObjective]| {
        let one = |judged: &&JudgedObjective| {
            lang.fill(ONE, &[("objective", &judged.objective), ("measured", &judgement::measured(judged, lang))])
        };
        let more = if some.len() > NAMED { "…" } else { "" };
        let which = some.iter().take(NAMED).map(one).collect::<Vec<_>>().join(lang.of(say::COMMA)) + more;
        lang.fill(text, &[("n", &some.len().to_string()), ("all", &all.len().to_string()), ("which", &which)])
    };
    match (missed.is_empty(), undecided.is_empty()) {
        _ if all.is_empty() => None,
        (false, _) => Some(told(MISSED, &missed)),
        (true, false) => Some(told(UNDECIDED, &undecided)),
        (true, true) => Some(lang.fill(ALL_MET, &[("n", &all.len().to_string())])),
    }
}

fn failed(summary: &Summary, lang: Lang) -> Option<String> {
    let (failed, due) = (summary.totals.failed, summary.totals.due);
    let most = summary.totals.failures.iter().max_by_key(|failure| failure.count)?;
    let parts = accounts(summary, most);
    let what = describe(most, parts.first()?, summary, lang);
    let text = if summary.totals.failures.len() + parts.len() > 2 { FAILED_MOSTLY } else { FAILED };
    let (n, all, share) = (numbers::count(failed), numbers::count(due), numbers::percent(failed, due));
    Some(lang.fill(text, &[("n", &n), ("all", &all), ("share", &share), ("what", &what)]))
}

fn silent(summary: &Summary, lang: Lang) -> Option<String> {
    let length = |(from, to): &&(i64, i64)| to - from;
    let &(from, to) = summary.outages.iter().max_by_key(length)?;
    let at = |ns: i64| format!("{:.1} s", ns as f64 / 1e9);
    let told = lang.fill(SILENT, &[("from", &at(from)), ("to", &at(to))]);
    match summary.outages.len() - 1 {
        0 => Some(told),
        n => Some(told + &lang.fill(SILENT_MORE, &[("n", &n.to_string())])),
    }
}
