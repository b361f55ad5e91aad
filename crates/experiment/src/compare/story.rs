//! What a comparison says: before it begins, after each run, and in the end.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_measure::Nanos;
use brunt_plan::Trial;
use brunt_report::contrast::{ChangeVerdict, MEASURES};

use super::{CompareOutcome, ComparePlan, ComparedRunRow};
use crate::runs::{LEAST_RUNS, RunSide, RunsChange};
use crate::words::{about, lost_part, short_name, took, value_text};

const OUTLOOK: Text = text(
    "Comparing {a} (A) with {b} (B): {n} {n|run|runs} of each in turn, of {lasts} each; about {about} in all. Ctrl-C ends \
     it with what is known.",
    "正在比较 {a}（A）与 {b}（B）：双方交替各运行 {n} 次，每次 {lasts}；总共约 {about}。按 Ctrl-C 结束并给出已知结果。",
);
const ROW: Text = text("{number}  {side}  {figures}", "{number}  {side}  {figures}");
const WITH_BASELINE: Text = text(
    "Comparing {b} (B) with {n} {n|run|runs} of a baseline (A): {runs} {runs|run|runs} of {lasts} each; about {about} in all. \
     Ctrl-C ends it with what is known.",
    "正在将 {b}（B）与基线的 {n} 次运行（A）比较：运行 {runs} 次，每次 {lasts}；总共约 {about}。按 Ctrl-C 结束并给出已知结果。",
);
const KEPT: Text = text(
    "A is the baseline of {when}: whatever else changed since then counts as a change, too.",
    "A 是 {when} 的基线：此后发生的其他变化也会计入差别。",
);
const NO_BASELINE: Text = text("There is no baseline to compare with yet.", "还没有可供比较的基线。");
const FAILED: Text = text("failed {share}", "失败 {share}");
const NO_EVIDENCE: Text = text("in doubt, no evidence: {why}", "存疑，不作为依据：{why}");
const CHANGE: Text = text("change", "变化");
const INTERVAL: Text = text("95 % interval", "95 % 置信区间");
const VERDICT: Text = text("verdict", "结论");
const WORSE: Text = text("B is worse than A: {what}.", "B 比 A 更差：{what}。");
const BETTER: Text = text("B is better than A: {what}.", "B 比 A 更好：{what}。");
const MIXED: Text =
    text("B is worse than A in {worse}, and better in {better}.", "B 的 {worse} 比 A 差，{better} 比 A 好。");
const SAME_IN_PART: Text = text(
    "No difference that matters in {same}; of {untold} it cannot be told.",
    "{same} 没有值得注意的差别；{untold} 无法判断。",
);
const SAME: Text = text("A and B are the same, as far as matters: {what}.", "A 与 B 没有值得注意的差别：{what}。");
const UNTOLD: Text = text("Whether A and B differ cannot be told.", "无法判断 A 与 B 是否有差别。");
const AND: Text = text(", ", "、");
const OF_NAME: Text = text("{name} ({what})", "{name}（{what}）");
const MORE: Text = text(
    "{n} more {n|run|runs} of each side would likely tell about {what}: --runs {all}.",
    "双方各再运行 {n} 次，很可能就能判断 {what}：--runs {all}。",
);
const INDICATIVE: Text = text(
    "One run of each side is indicative only: it shows nothing of how much runs of one side differ. Use six or more.",
    "双方各一次运行只能作为参考：看不出同一方各次运行之间的差异。请至少运行六次。",
);
const SPREAD: Text = text(
    "Fewer than {least} runs of each side show a spread, but no interval. Use six or more.",
    "每方少于 {least} 次运行只能看出离散程度，得不出置信区间。请至少运行六次。",
);
const NOT_ALL: Text =
    text("Not finished: {done} of {all} runs were made.", "尚未完成：已运行 {done} 次，共 {all} 次。");
const LOST: Text = text("A target could no longer be reached.", "已无法连接其中一个目标。");
const LEFT_OUT: Text = text(
    "{n} {n|run was|runs were} left out: brunt was in doubt for a reason without a size.",
    "有 {n} 次运行未计入：brunt 自身存疑，且影响大小未知。",
);

/// Says what a comparison will do and how long it takes, before it begins.
pub fn outlook(plan: &ComparePlan, lang: Lang) -> String {
    let lasts = plan.trials.each_ref().map(Trial::lasts);
    if let Some(baseline) = &plan.baseline {
        let facts = [
            ("b", &*plan.names[1]),
            ("n", &*baseline.runs.len().to_string()),
            ("runs", &*plan.runs.to_string()),
            ("lasts", &*numbers::duration(lasts[1])),
            ("about", &*about(Nanos(lasts[1].0.saturating_mul(plan.runs as u64)), lang)),
        ];
        return lang.fill(WITH_BASELINE, &facts);
    }
    let all = Nanos((lasts[0].0 + lasts[1].0).saturating_mul(plan.runs as u64));
    let facts = [
        ("a", &*plan.names[0]),
        ("b", &*plan.names[1]),
        ("n", &*plan.runs.to_string()),
        ("lasts", &*numbers::duration(lasts[0].max(lasts[1]))),
        ("about", &*about(all, lang)),
    ];
    lang.fill(OUTLOOK, &facts)
}

pub(super) fn letter(side: RunSide) -> &'static str {
    match side {
        RunSide::Before => "A",
        RunSide::After => "B",
    }
}

/// Says what a run was like, in one line.
pub fn run_line(number: usize, row: &ComparedRunRow, lang: Lang) -> String {
    let figures = match &row.doubt {
        Some(why) => lang.fill(NO_EVIDENCE, &[("why", &why.sentence(lang))]),
        None => {
            let shown = MEASURES.iter().filter_map(|measure| {
                let (value, _) = row.figures.value(measure, row.figures.is_open())?;
                Some(match measure.quantile() {
                    Some(_) => format!("{} {}", short_name(measure, lang), value_text(measure, value, lang)),
                    None if measure.is_share => lang.fill(FAILED, &[("share", &value_text(measure, value, lang))]),
                    None => value_text(measure, value, lang),
                })
            });
            shown.collect::<Vec<_>>().join("  ")
        }
    };
    lang.fill(ROW, &[("number", &format!("{number:>3}")), ("side", letter(row.side)), ("figures", &figures)])
}

fn names_of(changes: &[RunsChange], verdict: ChangeVerdict, lang: Lang) -> Option<String> {
    let of = changes.iter().filter(|change| change.verdict == verdict).map(|change| short_name(&change.measure, lang));
    Some(of.collect::<Vec<_>>().join(lang.of(AND))).filter(|names| !names.is_empty())
}

/// Returns the names of requests that are worse, each with its figures; `None` without any.
fn worse_requests(outcome: &CompareOutcome, lang: Lang) -> Option<String> {
    let of_name = |(name, changes): &(String, [RunsChange; MEASURES.len()])| {
        let what = names_of(changes, ChangeVerdict::Worse, lang)?;
        Some(lang.fill(OF_NAME, &[("name", name), ("what", &what)]))
    };
    let all: Vec<String> = outcome.named.iter().filter_map(of_name).collect();
    (!all.is_empty()).then(|| all.join(lang.of(AND)))
}

/// Tells the verdict in a sentence. What is worse by name only decides the exit code, too, and is not left out.
pub(super) fn headline(outcome: &CompareOutcome, lang: Lang) -> String {
    if outcome.is_kept() && outcome.runs(RunSide::Before) == 0 {
        return lang.of(NO_BASELINE).to_owned();
    }
    let of = |verdict| names_of(&outcome.changes, verdict, lang);
    let worse = of(ChangeVerdict::Worse).or_else(|| worse_requests(outcome, lang));
    match (worse, of(ChangeVerdict::Better), of(ChangeVerdict::Same)) {
        (Some(worse), Some(better), _) => lang.fill(MIXED, &[("worse", &worse), ("better", &better)]),
        (Some(worse), None, _) => lang.fill(WORSE, &[("what", &worse)]),
        (None, Some(better), _) => lang.fill(BETTER, &[("what", &better)]),
        (None, None, Some(same)) if outcome.is_told() => match of(ChangeVerdict::CannotTell) {
            Some(untold) => lang.fill(SAME_IN_PART, &[("same", &same), ("untold", &untold)]),
            None => lang.fill(SAME, &[("what", &same)]),
        },
        (None, None, _) => lang.of(UNTOLD).to_owned(),
    }
}

/// Returns the table of the changes, with its heading.
pub(super) fn rows(changes: &[RunsChange], is_open: bool, lang: Lang) -> Vec<Vec<String>> {
    let words = [CHANGE, INTERVAL, VERDICT].map(|word| lang.of(word).to_owned());
    let heading = [String::new(), "A".into(), "B".into()].into_iter().chain(words).collect();
    let row = |change: &RunsChange| {
        let measure = &change.measure;
        let latency = measure.quantile().map(|_| if is_open { "response" } else { "service" });
        let [a, b] = change
            .medians
            .map(|value| value.map_or_else(|| numbers::WITHHELD.to_owned(), |value| value_text(measure, value, lang)));
        let ends = change.interval.map(|ends| ends.map(|end| measure.change_text(end, lang)).join(" … "));
        vec![
            measure.words(latency, lang),
            a,
            b,
            change.change.map_or_else(|| numbers::WITHHELD.into(), |change| measure.change_text(change, lang)),
            ends.unwrap_or_else(|| numbers::WITHHELD.into()),
            lang.of(change.verdict.word()).into(),
        ]
    };
    std::iter::once(heading).chain(changes.iter().map(row)).collect()
}

/// Returns what the reader must know about the runs.
pub(super) fn remarks(outcome: &CompareOutcome, lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(baseline) = outcome.plan.baseline.as_ref().filter(|baseline| !baseline.runs.is_empty()) {
        lines.push(lang.fill(KEPT, &[("when", &numbers::moment(baseline.unix_ms))]));
    }
    let least = outcome.runs(RunSide::Before).min(outcome.runs(RunSide::After));
    if least == 1 {
        lines.push(lang.of(INDICATIVE).to_owned());
    } else if least < LEAST_RUNS {
        lines.push(lang.fill(SPREAD, &[("least", &LEAST_RUNS.to_string())]));
    }
    let open = outcome.changes.iter().filter_map(|change| Some((change.more_runs?, change)));
    let doubtful = outcome.rows.iter().filter(|row| row.doubt.is_some()).count();
    let has_evidence = doubtful < outcome.rows.len();
    if let Some(most) = open.clone().map(|(more, _)| more).max().filter(|_| has_evidence) {
        let what = open.map(|(_, change)| short_name(&change.measure, lang)).collect::<Vec<_>>().join(lang.of(AND));
        let facts = [("n", &*most.to_string()), ("what", &*what), ("all", &*(outcome.plan.runs + most).to_string())];
        lines.push(lang.fill(MORE, &facts));
    }
    if doubtful > 0 {
        lines.push(lang.fill(LEFT_OUT, &[("n", &doubtful.to_string())]));
    }
    if outcome.unreachable {
        lines.push(lang.of(LOST).to_owned());
    } else if !outcome.is_complete() {
        let (done, all) =
            (outcome.made().to_string(), (outcome.plan.runs * if outcome.is_kept() { 1 } else { 2 }).to_string());
        lines.push(lang.fill(NOT_ALL, &[("done", &done), ("all", &all)]));
    }
    lines.extend(outcome.lost_part.as_ref().map(|why| lost_part(why, lang)));
    lines.push(took(outcome.made(), outcome.elapsed, outcome.exit_code(), lang));
    lines
}
