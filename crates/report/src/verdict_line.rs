//! The verdict line printed before all figures: whether they can be trusted, and if not, why, and what to do about it.

use crate::early_end::EarlyEnd;
use crate::finding::{Finding, Grade};
use crate::judgement;
use crate::rules::{lower_bound, not_sent};
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::{Lang, Text, join_sentences, text};
use crate::trust::Trust;

const BECAUSE: Text = text("NOT TRUSTED because {why}", "不可信，原因：{why}");
const TO_DO: Text = text("what to do: {advice}", "建议：{advice}");
const CAUTION: Text = text("WITH CAUTION: {why}", "谨慎使用：{why}");
const TOO_SHORT: Text = text("TOO SHORT TO JUDGE: {why}", "太短，无法判断：{why}");
const MORE: Text = text(" (and {n} more, below)", "（另有 {n} 条，见下）");
const AND: Text = text("{verdict}, and {overload}", "{verdict}；{overload}");
const AND_ALSO: Text = text("{verdict}; and {overload}", "{verdict}；{overload}");

/// Remedies, for checks whose sentence does not contain one.
const ADVICE: [(&str, Text); 17] = [
    ("little", text("brunt's own counters disagree: please report it", "brunt 自身的计数不一致：请报告此问题")),
    (
        lower_bound::CODE,
        text(
            "lower the load, or use a longer --timeout and --drain, so that requests get their responses",
            "降低负载，或调大 --timeout 与 --drain，让请求等到响应",
        ),
    ),
    (
        "nothing_succeeded",
        text(
            "check the failures below, and look at a single request with --debug",
            "查看下方的失败，并用 --debug 查看单个请求",
        ),
    ),
    (
        "outage",
        text(
            "find out why the server stalled; -r shows how many requests that delays",
            "查明服务为何停顿；用 -r 可看出有多少请求因此延迟",
        ),
    ),
    ("heartbeats_unanswered", text("check that the server responds to pings", "确认服务会响应心跳")),
    (
        "users_stuck",
        text(
            "use a shorter --timeout, or a rate (-r), which stuck requests do not hold up",
            "缩短 --timeout，或改用固定速率（-r），这样卡住的请求不影响发压",
        ),
    ),
    ("users_kept_out", text("lower -c, or raise the server's limit", "减少用户（-c），或提高服务的上限")),
    (
        "users_left",
        text(
            "see the failures below; `on-failure: next-iteration` keeps users running",
            "查看下方的失败；`on-failure: next-iteration` 可让用户继续运行",
        ),
    ),
    (
        "flow_endless",
        text(
            "use --debug to see which `while` never ends, and fix its condition",
            "用 --debug 查看哪个 `while` 不会结束，并修改其条件",
        ),
    ),
    (
        "held_fewer",
        text(
            "see below why connections failed; brunt doctor shows what this machine allows",
            "连接失败的原因见下文；brunt doctor 可查看本机的上限",
        ),
    ),
    (
        "local_limit",
        text("brunt doctor shows which limit to raise; use keep-alive", "用 brunt doctor 查看应提高的上限；使用长连接"),
    ),
    (
        "unchecked",
        text(
            "use fewer connections, smaller responses, or simpler checks and captures",
            "减少连接数，使用更小的响应，或简化检查与捕获",
        ),
    ),
    (
        "pairing",
        text(
            "leave out --pipeline, and find out what the server sends unsolicited",
            "去掉 --pipeline，并查看服务主动发送了什么",
        ),
    ),
    ("unheard", text("start the receiver, or correct the port", "启动接收端，或改正端口")),
    (
        "generator_absent",
        text(
            "give brunt dedicated cores, on a machine that does nothing else",
            "给 brunt 独占 CPU 核，并停掉本机其他任务",
        ),
    ),
    (
        "generator_late",
        text("use an idle machine, more workers (-w) or a lower rate", "换用空闲的机器、增加工作线程（-w）或降低速率"),
    ),
    (
        "generator_woke_late",
        text("use an idle machine, more workers (-w) or fewer users", "换用空闲的机器、增加工作线程（-w）或减少用户"),
    ),
];

/// Returns the line, as a sentence without a full stop.
pub(crate) fn verdict_line(summary: &Summary, lang: Lang) -> String {
    let verdict = verdict(summary, lang);
    let verdict = match EarlyEnd::of(summary) {
        Some(cut) => join_sentences(&[cut.sentence(lang), verdict], lang),
        None => verdict,
    };
    match judgement::overload(summary, lang) {
        Some(overload) => {
            let text =
                if summary.trust.verdict() <= Grade::Ok && EarlyEnd::of(summary).is_none() { AND } else { AND_ALSO };
            lang.fill(text, &[("verdict", &verdict), ("overload", &overload)])
        }
        None => verdict,
    }
}

/// The verdict with its first reason alone.
pub(crate) struct ShortVerdict<'a> {
    /// The line, as a sentence without a full stop.
    pub line: String,
    /// The remedy.
    pub advice: Option<String>,
    /// Findings that cast further doubt, the gravest first.
    pub further: Vec<&'a Finding>,
}

/// Returns the verdict with its first reason alone.
pub(crate) fn short(summary: &Summary, lang: Lang) -> ShortVerdict<'_> {
    let grade = summary.trust.verdict();
    let mut doubts: Vec<&Finding> =
        summary.trust.findings.iter().filter(|found| found.grade >= Grade::TooShort).collect();
    doubts.sort_by_key(|found| std::cmp::Reverse(found.grade));
    let why = doubts.first().map(|found| found.sentence(lang)).unwrap_or_default();
    let line = match grade {
        Grade::Fail => lang.fill(BECAUSE, &[("why", &why)]),
        Grade::Warn => lang.fill(CAUTION, &[("why", &why)]),
        Grade::TooShort => lang.fill(TOO_SHORT, &[("why", &why)]),
        Grade::Unchecked | Grade::Ok => lang.of(say::TRUSTED).to_owned(),
    };
    let line = match EarlyEnd::of(summary) {
        Some(cut) => join_sentences(&[cut.sentence(lang), line], lang),
        None => line,
    };
    let advice = doubts.iter().find(|found| found.grade == Grade::Fail).and_then(|found| advice(found));
    ShortVerdict {
        line,
        advice: advice.map(|advice| lang.fill(TO_DO, &[("advice", lang.of(advice))])),
        further: doubts.split_off(doubts.len().min(1)),
    }
}

/// Returns the findings that the verdict line does not contain.
pub(crate) fn beyond(trust: &Trust) -> impl Iterator<Item = &Finding> {
    let verdict = trust.verdict();
    let mut is_first = true;
    trust.findings.iter().filter(move |found| match verdict {
        Grade::Fail => found.grade != Grade::Fail,
        Grade::TooShort | Grade::Warn if found.grade == verdict => !std::mem::replace(&mut is_first, false),
        _ => true,
    })
}

fn verdict(summary: &Summary, lang: Lang) -> String {
    let trust = &summary.trust;
    let because = |why: &str| lang.fill(BECAUSE, &[("why", why)]);
    match trust.verdict() {
        Grade::Fail => {
            let mut all: Vec<String> = trust.against().map(|found| found.sentence(lang)).collect();
            // Lower bounds and overload follow from an outage, whose cause is what to look for; and lower bounds from what
            // brunt itself did not send, which says what to do.
            let outage = trust.findings.iter().filter(|found| found.code == "outage" && found.grade >= Grade::Warn);
            let is_unsent = trust.against().any(|found| found.code == not_sent::CODE);
            let others = trust.against().filter(|found| !is_unsent || found.code != lower_bound::CODE);
            let advice = outage.chain(others).find_map(advice);
            all.extend(advice.map(|advice| lang.fill(TO_DO, &[("advice", lang.of(advice))])));
            because(&join_sentences(&all, lang))
        }
        Grade::Warn => {
            let mut cautions = trust.findings.iter().filter(|found| found.grade == Grade::Warn);
            let first = cautions.next().map(|found| found.sentence(lang)).unwrap_or_default();
            let line = lang.fill(CAUTION, &[("why", &first)]);
            match cautions.count() {
                0 => line,
                n => line + &lang.fill(MORE, &[("n", &n.to_string())]),
            }
        }
        Grade::TooShort => {
            let why = trust.findings.iter().find(|found| found.grade == Grade::TooShort);
            let why = why.map(|found| found.sentence(lang)).unwrap_or_default();
            lang.fill(TOO_SHORT, &[("why", &why)])
        }
        Grade::Unchecked | Grade::Ok => lang.of(say::TRUSTED).to_owned(),
    }
}

/// Returns the remedy for a finding; `None` if its sentence already contains one, or if there is none.
fn advice(found: &Finding) -> Option<Text> {
    ADVICE.iter().find(|(code, _)| *code == found.code).map(|(_, advice)| *advice)
}
