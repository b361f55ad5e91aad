//! What a history says.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_report::contrast::{ChangeVerdict, MEASURES};

use super::{LEAST_RUNS, LevelChange, TestHistory};
use crate::words::{figure_cells, figure_heading, short_name, value_text};

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
const EARLIER: Text = text("{n} earlier {n|run is|runs are} not shown.", "更早的 {n} 次运行未列出。");

/// Returns the table of the runs: all of them, or the last ones.
pub(super) fn rows(history: &TestHistory, is_whole: bool, lang: Lang) -> Vec<Vec<String>> {
    let heading = [START, RECORD].map(|word| lang.of(word).to_owned()).into_iter();
    let heading: Vec<String> = heading.chain(figure_heading(lang)).collect();
    let hidden = if is_whole { 0 } else { hidden(history) };
    let row = |(at, run): (usize, &super::TrendRun)| {
        let shown = MEASURES.iter().zip(figure_cells(&run.figures, lang)).map(|(measure, shown)| {
            let mark = history.changes.iter().find(|change| change.at == at && change.measure.name == measure.name);
            match mark.map(|change| change.verdict) {
                Some(ChangeVerdict::Worse) => format!("▲ {shown}"),
                Some(_) => format!("▼ {shown}"),
                None => shown,
            }
        });
        [numbers::moment(run.unix_ms), run.name.clone()].into_iter().chain(shown).collect::<Vec<String>>()
    };
    let rows = history.runs.iter().enumerate().skip(hidden).map(row);
    std::iter::once(heading).chain(rows).collect()
}

fn hidden(history: &TestHistory) -> usize {
    history.runs.len().saturating_sub(SHOWN)
}

/// Says how many runs the shorter table leaves out.
pub(super) fn left_out(history: &TestHistory, lang: Lang) -> Option<String> {
    let hidden = hidden(history);
    (hidden > 0).then(|| lang.fill(EARLIER, &[("n", &hidden.to_string())]))
}

/// Says where figures changed, and what the reader must know.
pub(super) fn remarks(history: &TestHistory, lang: Lang) -> Vec<String> {
    let (runs, changes) = (&history.runs, &history.changes);
    let mut lines: Vec<String> = changes.iter().map(|change| change_text(history, change, lang)).collect();
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
    lines
}

pub(super) fn change_text(history: &TestHistory, change: &LevelChange, lang: Lang) -> String {
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
