//! What a search says: before it begins, after each trial, and in the end.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_report::Exit;

use super::{FindOutcome, FindPlan, TrialRow, service_limit};
use crate::search::{GoalBounds, Search, SearchEnd};
use crate::words::{about, error_text};

const OUTLOOK: Text = text(
    "Searching the highest {what} that keeps {objectives}: from {lowest} up by doubling, then by halving, until the \
     bounds are {width} apart. Trials of {trial}; about {about} in all. Ctrl-C ends it with what is known.",
    "正在搜索仍能满足 {objectives} 的最高{what}：从 {lowest} 起逐次翻倍，再不断折半，直到上下界相差 {width}。每次试验 {trial}；\
     共约 {about}。按 Ctrl-C 结束并给出已知结果。",
);
const RATE: Text = text("rate", "速率");
const USERS_SOUGHT: Text = text("number of users", "用户数");
const USERS: Text = text("{n} {n|user|users}", "{n} 个用户");
const PER_S: Text = text("{rate}/s", "{rate}/s");
pub(super) const AND: Text = text(" and ", "、");
pub(super) const HELD: Text = text("held", "满足");
pub(super) const MISSED: Text = text("missed", "未满足");
pub(super) const IN_DOUBT: Text = text("in doubt, no evidence", "存疑，不作为依据");
const REMAINS: Text = text("left: {low} to {high}, about {time}", "剩余区间：{low} 至 {high}，约需 {time}");
const ROW: Text = text("{verdict}; {remains}", "{verdict}；{remains}");
const OPEN_END: Text = text("?", "？");
const FOUND: Text = text(
    "Highest {what} that keeps {objectives}: at least {lower}, less than {upper}.",
    "仍能满足 {objectives} 的最高{what}：不低于 {lower}，低于 {upper}。",
);
const HIGHEST_HELD: Text = text(
    "{lower}, the highest load tried, keeps {objectives}: the maximum was not reached. Search further with --up-to.",
    "所试的最高负载 {lower} 仍满足 {objectives}：尚未达到上限。可用 --up-to 继续向上搜索。",
);
const TOO_FEW: Text = text(
    "{lower} seems to keep {objectives}, but {n} {n|request|requests} at it are too few to show {objective}: it takes {least}. \
     Use trials of {time} or more (-d), or a higher load.",
    "{lower} 看来满足 {objectives}，但该负载下的 {n} 个请求太少，不足以证明 {objective}：至少需要 {least} 个。请使用不短于 {time} 的\
     试验（-d），或更高的负载。",
);
const FAILING: Text =
    text("At {load}, {share} of the requests failed; most: {why}.", "{load} 时，{share} 的请求失败；最多的是：{why}。");
const LOWEST_MISSED: Text = text(
    "Not even {upper}, the first load, keeps {objectives}. Begin lower, with -r or -c, or check the objectives.",
    "起始负载 {upper} 就未满足 {objectives}。请用 -r 或 -c 从更低的负载开始，或检查目标是否合理。",
);
const GENERATOR_LIMITED: Text = text(
    "Highest {what} that keeps {objectives}: at least {lower}. Generator-limited: beyond it, trials were not to be trusted.",
    "仍能满足 {objectives} 的最高{what}：不低于 {lower}。受发压端限制：超过该负载的试验不可信。",
);
const NOTHING_TO_TRUST: Text = text(
    "No load was shown to keep {objectives}: trials were not to be trusted, from the lowest load on. Generator-limited.",
    "没有任何负载被证实满足 {objectives}：从最低负载起，试验就不可信。受发压端限制。",
);
const UNFINISHED: Text = text("Not finished. {known}", "搜索未完成。{known}");
const UNDECIDED: Text = text("Not finished: {why}. {known}", "搜索未完成：{why}。{known}");
const KNOWN_BOTH: Text = text(
    "So far {low} seems to keep {objectives}, and {high} does not.",
    "目前看来 {low} 满足 {objectives}，{high} 不满足。",
);
const KNOWN_LOW: Text = text("So far {low} seems to keep {objectives}.", "目前看来 {low} 满足 {objectives}。");
const KNOWN_HIGH: Text = text("So far {high} does not keep {objectives}.", "目前看来 {high} 不满足 {objectives}。");
const KNOWN_NOTHING: Text = text("Nothing is known yet.", "目前尚无结论。");
const OUT_OF_TIME: Text =
    text("there was no time left for another trial (--run-timeout)", "剩余时间不足以再做一次试验（--run-timeout）");
const LOST: Text = text("the target could no longer be reached", "无法再连接目标服务");
const OF_GOAL: Text =
    text("  {objective}: held at {lower}, missed at {upper}", "  {objective}：{lower} 满足，{upper} 未满足");
const INVERTED: Text = text(
    "A higher load was held than one that was missed: the service is not steady, and the lower pair is given.",
    "有一个较高的负载满足目标，而较低的却未满足：服务不稳定，此处给出较低的一对上下界。",
);
const LIMIT: Text = text(
    "What limited the service at {load}: {claim} ({evidence}). Remedy: {remedy}.",
    "{load} 时的瓶颈：{claim}（{evidence}）。建议：{remedy}。",
);
const NO_LIMIT: Text = text(
    "What limited the service at {load}: no counter shows it. Name its process with --watch-pid, or run `brunt probe` on \
     its host.",
    "{load} 时的瓶颈：没有计数器能说明。请用 --watch-pid 指定服务进程，或在其主机上运行 `brunt probe`。",
);
const DOUBT: Text = text("In doubt: {why}.", "存疑：{why}。");
const REFUSED: Text = text("The next load was not sent: {why}.", "未发送下一级负载：{why}。");
const UNSETTLED: Text = text(
    "{n} {n|time|times} the service had not recovered from an overload when the next trial began: it may hold more than \
     is said here.",
    "有 {n} 次，下一次试验开始时服务尚未从过载中恢复：其实际上限可能高于此处所示。",
);
const TOOK: Text =
    text("{n} {n|trial|trials} in {time}; exit code {code}.", "共 {n} 次试验，用时 {time}；退出码 {code}。");

/// Formats a load.
pub(super) fn load(load: f64, is_rate: bool, lang: Lang) -> String {
    match is_rate {
        true => lang.fill(PER_S, &[("rate", &numbers::rate(load))]),
        false => lang.fill(USERS, &[("n", &numbers::count(load.round() as u64))]),
    }
}

/// Formats a load that may not be known.
pub(super) fn known(known: Option<f64>, is_rate: bool, lang: Lang) -> String {
    known.map_or_else(|| lang.of(OPEN_END).to_owned(), |level| load(level, is_rate, lang))
}

pub(super) fn what(is_rate: bool, lang: Lang) -> &'static str {
    lang.of(if is_rate { RATE } else { USERS_SOUGHT })
}

/// Says what a search will do and how long it takes, before it begins.
pub fn outlook(asked: &FindPlan, lang: Lang) -> String {
    let (plan, objectives) = (asked.search(), &asked.objectives);
    let is_rate = !plan.whole;
    let facts = [
        ("what", what(is_rate, lang)),
        ("objectives", &*objectives.join(lang.of(AND))),
        ("lowest", &*load(plan.lowest, is_rate, lang)),
        ("width", &*numbers::share(plan.width)),
        ("trial", &*numbers::duration(plan.trial)),
        ("about", &*about(Search::new(plan.clone()).remaining(), lang)),
    ];
    lang.fill(OUTLOOK, &facts)
}

/// Says what a trial found, in one line.
pub fn trial_line(number: usize, row: &TrialRow, is_rate: bool, lang: Lang) -> String {
    let measured: Vec<&str> = row.objectives.iter().map(|judged| judged.measured.as_str()).collect();
    let verdict = lang.of(match row.is_held() {
        _ if !row.trusted => IN_DOUBT,
        true => HELD,
        false => MISSED,
    });
    let [low, high] = row.bracket.map(|end| known(end, is_rate, lang));
    let remains = lang.fill(REMAINS, &[("low", &low), ("high", &high), ("time", &about(row.remaining, lang))]);
    let (load, duration) = (load(row.load, is_rate, lang), numbers::duration(row.duration));
    let known = lang.fill(ROW, &[("verdict", verdict), ("remains", &remains)]);
    format!("{number:>3}  {load:>12}  {duration:>7}  {}  {known}", measured.join(", "))
}

/// Says what else is known, beside the bounds.
pub(super) fn remarks(outcome: &FindOutcome, lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    let (result, is_rate) = (&outcome.result, outcome.is_rate);
    if outcome.objectives.len() > 1 {
        let of_goal = |(objective, goal): (&String, &GoalBounds)| {
            let [lower, upper] = [goal.lower, goal.upper].map(|end| known(end, is_rate, lang));
            lang.fill(OF_GOAL, &[("objective", objective), ("lower", &lower), ("upper", &upper)])
        };
        lines.extend(outcome.objectives.iter().zip(&result.goals).map(of_goal));
    }
    lines.extend(result.bounds.inverted.then(|| lang.of(INVERTED).to_owned()));
    lines.extend(outcome.limit.as_ref().map(|(level, limit)| {
        let at = load(*level, is_rate, lang);
        match service_limit(limit) {
            Some(found) => {
                let (claim, evidence, remedy) = (found.claim(lang), found.evidence(lang), found.remedy(lang));
                lang.fill(LIMIT, &[("load", &at), ("claim", &claim), ("evidence", &evidence), ("remedy", &remedy)])
            }
            None => lang.fill(NO_LIMIT, &[("load", &at)]),
        }
    }));
    if let (Some(failing), Some((level, _))) = (&outcome.failing, &outcome.limit) {
        let (at, share) = (load(*level, is_rate, lang), numbers::share(failing.share));
        lines.push(lang.fill(FAILING, &[("load", &at), ("share", &share), ("why", &failing.words(lang))]));
    }
    if result.end == Some(SearchEnd::GeneratorLimited) {
        lines.extend(outcome.doubts.iter().map(|doubt| lang.fill(DOUBT, &[("why", &doubt.sentence(lang))])));
    }
    if outcome.unsettled > 0 {
        lines.push(lang.fill(UNSETTLED, &[("n", &outcome.unsettled.to_string())]));
    }
    lines.extend(outcome.refused.as_ref().map(|refused| lang.fill(REFUSED, &[("why", &error_text(refused, lang))])));
    let (n, time) = (result.trials.to_string(), about(result.elapsed, lang));
    lines.push(lang.fill(TOOK, &[("n", &n), ("time", &time), ("code", &outcome.exit().code().to_string())]));
    lines
}

/// Tells the bounds in a sentence.
pub(super) fn headline(outcome: &FindOutcome, lang: Lang) -> String {
    let (result, is_rate) = (&outcome.result, outcome.is_rate);
    let has_bound = matches!(result.end, Some(SearchEnd::Found | SearchEnd::HighestHeld)) && !outcome.unreachable;
    if let Some(few) = outcome.too_few.as_ref().filter(|_| has_bound) {
        let facts = [
            ("lower", &*known(result.bounds.lower, is_rate, lang)),
            ("objectives", &*outcome.objectives.join(lang.of(AND))),
            ("objective", &*few.objective),
            ("n", &*numbers::count(few.made)),
            ("least", &*numbers::count(few.least)),
            ("time", &*about(few.trial, lang)),
        ];
        return lang.fill(TOO_FEW, &facts);
    }
    let sentence = match result.end {
        _ if outcome.exit() == Exit::Unreachable => UNDECIDED,
        Some(SearchEnd::Found) => FOUND,
        Some(SearchEnd::HighestHeld) => HIGHEST_HELD,
        Some(SearchEnd::LowestMissed) => LOWEST_MISSED,
        Some(SearchEnd::GeneratorLimited) if result.bounds.lower.is_none() => NOTHING_TO_TRUST,
        Some(SearchEnd::GeneratorLimited) => GENERATOR_LIMITED,
        Some(SearchEnd::OutOfTime) => UNDECIDED,
        Some(SearchEnd::Stopped) | None if outcome.lost_part.is_some() => UNDECIDED,
        Some(SearchEnd::Stopped) | None => UNFINISHED,
    };
    let why = match &outcome.lost_part {
        Some(why) => error_text(why, lang),
        None => lang.of(if outcome.unreachable { LOST } else { OUT_OF_TIME }).to_owned(),
    };
    let so_far = match result.bracket {
        [Some(_), Some(_)] => KNOWN_BOTH,
        [Some(_), None] => KNOWN_LOW,
        [None, Some(_)] => KNOWN_HIGH,
        [None, None] => KNOWN_NOTHING,
    };
    let objectives = outcome.objectives.join(lang.of(AND));
    let [low, high] = result.bracket.map(|end| known(end, is_rate, lang));
    let so_far = lang.fill(so_far, &[("low", &low), ("high", &high), ("objectives", &objectives)]);
    let facts = [
        ("what", what(is_rate, lang)),
        ("objectives", &*objectives),
        ("known", &*so_far),
        ("lower", &*known(result.bounds.lower, is_rate, lang)),
        ("upper", &*known(result.bounds.upper, is_rate, lang)),
        ("why", &*why),
    ];
    lang.fill(sentence, &facts)
}
