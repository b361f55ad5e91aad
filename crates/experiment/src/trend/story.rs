//! What a history says.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_report::contrast::{ChangeVerdict, MEASURES};
use brunt_report::table;

use super::{LEAST_RUNS, LevelChange, TestHistory};
use crate::words::{short_name, value_text};

const START: Text = text("start (UTC)", "开始（UTC）");
const RECORD: Text = text("record", "记录");
const CHANGED: Text = text(
    "{figure} changed at {record}: {before} before, {after} from there on ({change}): {verdict}.",
    "{figure} 自 {record} 起改变：此前 {before}，此后 {after}（{change}）：{verdict}。",
);
const STEADY: Text = text("No figure changed to another level in {n} runs.", "{n} 次运行中各项数据没有改变水平。");
const TOO_FEW: Text = text(
    "{n} {n|run is|runs are} too few to find a change: it takes {least} or more.",
    "{n} 次运行太少，无法找出变化：至少需要 {least} 次。",
);
const OTHERS: Text = text(
    "{n} {n|record is|records are} of another test and left out: another plan, load or target.",
    "有 {n} 份记录属于其他测试（计划、负载或目标不同），未计入。",
);
const DOUBTFUL: Text = text(
    "{n} {n|run was|runs were} left out: brunt was in doubt for a reason without a size.",
    "有 {n} 次运行未计入：brunt 自身存疑，且影响大小未知。",
);
/// Runs shown: the first and the last ones of a long history say least.
const SHOWN: usize = 40;
const EARLIER: Text = text("({n} earlier runs are not shown)", "（更早的 {n} 次运行未列出）");

/// Tells the history: its runs, and where figures changed.
pub fn result_text(history: &TestHistory, lang: Lang) -> String {
    let (runs, changes) = (&history.runs, &history.changes);
    let hidden = runs.len().saturating_sub(SHOWN);
    let heading = [START, RECORD].map(|word| lang.of(word).to_owned()).into_iter();
    let heading: Vec<String> = heading.chain(MEASURES.iter().map(|measure| short_name(measure, lang))).collect();
    let row = |(at, run): (usize, &super::TrendRun)| {
        let shown = MEASURES.iter().map(|measure| {
            let value = run.figures.value(measure, run.figures.is_open());
            let shown =
                value.map_or_else(|| numbers::WITHHELD.to_owned(), |(value, _)| value_text(measure, value, lang));
            let mark = changes.iter().find(|change| change.at == at && change.measure.name == measure.name);
            match mark.map(|change| change.verdict) {
                Some(ChangeVerdict::Worse) => format!("▲ {shown}"),
                Some(_) => format!("▼ {shown}"),
                None => shown,
            }
        });
        [numbers::moment(run.unix_ms), run.name.clone()].into_iter().chain(shown).collect::<Vec<String>>()
    };
    let rows = runs.iter().enumerate().skip(hidden).map(row);
    let mut lines = table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>());
    if hidden > 0 {
        lines.push(lang.fill(EARLIER, &[("n", &hidden.to_string())]));
    }
    lines.push(String::new());
    lines.extend(changes.iter().map(|change| change_text(history, change, lang)));
    if runs.len() < LEAST_RUNS {
        lines.push(lang.fill(TOO_FEW, &[("n", &runs.len().to_string()), ("least", &LEAST_RUNS.to_string())]));
    } else if changes.is_empty() {
        lines.push(lang.fill(STEADY, &[("n", &runs.len().to_string())]));
    }
    for (text, n) in [(OTHERS, history.others), (DOUBTFUL, history.doubtful)] {
        if n > 0 {
            lines.push(lang.fill(text, &[("n", &n.to_string())]));
        }
    }
    lines.join("\n")
}

fn change_text(history: &TestHistory, change: &LevelChange, lang: Lang) -> String {
    let LevelChange { measure, at, levels, verdict } = change;
    let [before, after] = levels.map(|level| value_text(measure, level, lang));
    let by = if measure.is_share { levels[1] - levels[0] } else { levels[1] / levels[0] };
    let facts = [
        ("figure", short_name(measure, lang)),
        ("record", history.runs[*at].name.clone()),
        ("before", before),
        ("after", after),
        ("change", measure.change_text(by, lang)),
        ("verdict", lang.of(verdict.word()).to_owned()),
    ];
    lang.fill(CHANGED, &facts.each_ref().map(|(name, value)| (*name, value.as_str())))
}
