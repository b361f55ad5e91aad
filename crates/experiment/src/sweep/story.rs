//! What a sweep says: before it begins, after each run, and in the end.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_measure::Nanos;
use brunt_report::Summary;
use brunt_report::contrast::{MEASURES, Measure};

use super::{CellFigure, CurveScaling, SweepOutcome, SweepPlan, TableCell};
use brunt_config::{AxisKind, SweepAxis};

use crate::laws::usl::{ScalabilityFit, ScalabilityWarning, ScalingLimit};
use crate::words::{about, error_text, lost_part, short_name, took, value_text};

const OUTLOOK: Text = text(
    "Sweeping {axes}: {n} {n|run|runs}, about {about} in all. Ctrl-C ends it with what is known.",
    "批量压测 {axes}：共 {n} 次运行，约 {about}。按 Ctrl-C 结束并给出已知结果。",
);
const TIMES: Text = text(" × ", " × ");
const IN_DOUBT: Text = text("in doubt, not counted: {why}", "存疑，未计入：{why}");
const EFFICIENCY: Text = text("efficiency", "效率");
const OF: Text = text("With {name} {value}: ", "{name} 取 {value} 时：");
const USL: Text = text(
    "A user alone gets {alone}/s; contention σ {sigma}, coherency κ {kappa} (universal scalability law); {peak}",
    "单个用户的吞吐量 {alone}/s；争用 σ {sigma}，一致性 κ {kappa}（通用可扩展性定律）；{peak}",
);
const PEAK: Text = text("peak at {users} users{interval}, {rate}/s", "峰值在 {users} 个用户{interval}，{rate}/s");
const PEAK_BETWEEN: Text = text(" ({low} to {high})", "（{low} 至 {high}）");
const NO_PEAK: Text = text("no peak within the evidence", "现有数据中看不出峰值");
const CONTENTION: Text =
    text("; work that only one user does at a time limits it", "；限制来自同一时刻只能由一个用户执行的部分");
const COHERENCY: Text = text("; agreement between users limits it", "；限制来自用户之间的相互协调");
const FEW_POINTS: Text = text("; fewer than six points: indicative only", "；不足六个点，仅供参考");
const SUPERLINEAR: Text = text(
    "; at {n} users each did more than one alone: a point is wrong, or a cache helps",
    "；{n} 个用户时人均超过单个用户：某个点有误，或缓存起了作用",
);
const EXTRAPOLATED: Text = text("; the peak is far beyond what was measured", "；峰值远在测量范围之外");
const MORE_THAN_ALONE: Text = text(
    "At {n} users each did {share} of what one did alone: a point is wrong, or a cache helps",
    "{n} 个用户时人均达到单个用户的 {share}：某个点有误，或缓存起了作用",
);
const BOUNDS: Text = text(
    "Users queue for certain from {knee} on: the highest throughput ÷ that of one alone",
    "从 {knee} 个用户起必然排队：最高吞吐量 ÷ 单个用户的吞吐量",
);
const VISUAL: Text = text(
    "The curve bends at {users} users to the eye, which depends on the range measured",
    "曲线看起来在 {users} 个用户处弯折，这取决于测量范围",
);
const UNSUSTAINED: Text = text(
    "From {rate}/s on the rate is not sustained: requests queue or fail",
    "从 {rate}/s 起速率无法维持：请求排队或失败",
);
const SUSTAINED: Text = text("Every rate was sustained", "所有速率都能维持");
const SUSTAINED_IN_PART: Text = text(
    "Every rate that was measured was sustained, up to {rate}/s; {n} {n|was|were} not",
    "已测量的速率都能维持，最高 {rate}/s；另有 {n} 个未测量",
);
const ONE_RUN: Text = text(
    "One run of each cell is indicative only; --repeat 6 gives intervals.",
    "每格只运行一次，仅供参考；用 --repeat 6 可得到置信区间。",
);
const FEW_RUNS: Text = text(
    "Fewer than six runs of each cell give medians without intervals.",
    "每格不足六次运行，只有中位数，没有置信区间。",
);
const NOT_ALL: Text =
    text("Not finished: {done} of {all} runs were made.", "尚未完成：已运行 {done} 次，共 {all} 次。");
const LOST: Text = text("The target could no longer be reached.", "已无法连接目标。");
const REFUSED: Text = text("The next load was not sent: {why}.", "未发送下一级负载：{why}。");
const DOUBTFUL: Text = text("{cell}: {why}.", "{cell}：{why}。");

/// Efficiency from which it is more than chance.
const SUPERLINEAR_FROM: f64 = 1.1;

/// Says what a sweep will do and how long it takes, before it begins.
pub fn outlook(plan: &SweepPlan, lang: Lang) -> String {
    let lasts = plan.cells.iter().map(|cell| cell.trial.lasts().0);
    let (cells, all) = (plan.cells.len(), lasts.fold(0u64, u64::saturating_add));
    let axes = plan.axes.iter().map(|axis| format!("{} {}", axis.name, axis.values.join(",")));
    let facts = [
        ("axes", axes.collect::<Vec<_>>().join(lang.of(TIMES))),
        ("n", (cells * plan.repeat).to_string()),
        ("about", about(Nanos(all.saturating_mul(plan.repeat as u64)), lang)),
    ];
    lang.fill(OUTLOOK, &facts.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// Returns the values of a cell, as on the command line.
pub(super) fn place(cell: &TableCell, plan: &SweepPlan) -> String {
    let of = |(axis, at): (&SweepAxis, &usize)| format!("{} {}", axis.name, axis.values[*at]);
    plan.axes.iter().zip(&cell.at).map(of).collect::<Vec<_>>().join(", ")
}

/// Says what a run was like, in one line.
pub fn run_line(number: usize, (cell, plan): (&TableCell, &SweepPlan), summary: &Summary, lang: Lang) -> String {
    let doubt = summary.doubt_without_size();
    let figures = match doubt {
        Some(why) => lang.fill(IN_DOUBT, &[("why", &why.sentence(lang))]),
        None => {
            let run = brunt_report::contrast::ComparedFigures::of_sums(summary);
            let shown = MEASURES.iter().filter_map(|measure| {
                let (value, _) = run.value(measure, run.is_open())?;
                let name = if measure.quantile().is_some() { short_name(measure, lang) } else { String::new() };
                Some(format!("{name} {}", value_text(measure, value, lang)).trim_start().to_owned())
            });
            shown.collect::<Vec<_>>().join("  ")
        }
    };
    format!("{number:>3}  {}  {figures}", place(cell, plan))
}

/// Formats a figure, with its interval in brackets.
pub(super) fn figure_text(measure: &Measure, figure: Option<CellFigure>, lang: Lang) -> String {
    let Some(CellFigure { median, interval }) = figure else { return numbers::WITHHELD.into() };
    let shown = value_text(measure, median, lang);
    match interval {
        Some(ends) => {
            let [low, high] = ends.map(|end| value_text(measure, end, lang));
            format!("{shown} ({low} – {high})")
        }
        None => shown,
    }
}

pub(super) fn rows(found: &SweepOutcome, lang: Lang) -> Vec<Vec<String>> {
    let along = found.plan.axes.iter().position(|axis| axis.kind == AxisKind::Users);
    let names = found.plan.axes.iter().map(|axis| axis.name.clone());
    let of = |measure: &Measure| short_name(measure, lang);
    let scaled = along.map(|_| lang.of(EFFICIENCY).to_owned());
    let heading: Vec<String> = names.chain(MEASURES.iter().map(of)).chain(scaled).collect();
    let row = |cell: &TableCell| {
        let values = found.plan.axes.iter().zip(&cell.at).map(|(axis, at)| axis.values[*at].clone());
        let figures = MEASURES.iter().map(|measure| figure_text(measure, cell.figure(measure), lang));
        let scaled = along.map(|_| efficiency(found, cell).map_or_else(|| numbers::WITHHELD.into(), numbers::share));
        values.chain(figures).chain(scaled).collect()
    };
    std::iter::once(heading).chain(found.cells.iter().map(row)).collect()
}

/// Returns the throughput of a user of a cell ÷ that of a user in the cell with the fewest of the same curve.
fn efficiency(found: &SweepOutcome, cell: &TableCell) -> Option<f64> {
    let throughput = cell.throughput()?;
    let curve = found.curves.iter().find(|curve| curve.points.contains(&(cell.load, throughput)))?;
    let (fewest, least) = *curve.points.first()?;
    (least > 0.0).then(|| (throughput / cell.load) / (least / fewest))
}

/// Says how a curve scales, of which this many loads were not measured, or only in doubt.
pub(super) fn curve_lines(curve: &CurveScaling, missing: usize, lang: Lang) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(curve.usl.as_ref().map(|fit| usl_text(fit, lang)));
    let users = |n: f64| format!("{n:.1}").trim_end_matches(".0").to_owned();
    said.extend(more_than_alone(curve, lang));
    said.extend(curve.bounds.map(|bounds| lang.fill(BOUNDS, &[("knee", &users(bounds.knee()))])));
    said.extend(curve.visual_knee.map(|knee| lang.fill(VISUAL, &[("users", &users(knee))])));
    if let Some((highest, _)) = curve.points.last().filter(|_| curve.kind == AxisKind::Rate) {
        said.push(match curve.unsustained {
            Some(rate) => lang.fill(UNSUSTAINED, &[("rate", &numbers::rate(rate))]),
            None if missing == 0 => lang.of(SUSTAINED).to_owned(),
            None => lang.fill(SUSTAINED_IN_PART, &[("rate", &numbers::rate(*highest)), ("n", &missing.to_string())]),
        });
    }
    let of =
        curve.of.as_ref().map_or_else(String::new, |(name, value)| lang.fill(OF, &[("name", name), ("value", value)]));
    said.into_iter().map(|sentence| format!("{of}{sentence}{}", if lang == Lang::Zh { "。" } else { "." })).collect()
}

/// Says where users did more than fewer of them, unless the fit of the scalability law says so.
fn more_than_alone(curve: &CurveScaling, lang: Lang) -> Option<String> {
    let (fewest, least) = curve.points.first().copied().filter(|(_, least)| *least > 0.0)?;
    if curve.usl.is_some() || curve.kind != AxisKind::Users {
        return None;
    }
    let efficiency = |(users, throughput): &(f64, f64)| (throughput / users) / (least / fewest);
    let most = curve.points.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)))?;
    let facts = [("n", format!("{:.0}", most.0)), ("share", numbers::share(efficiency(most)))];
    let facts = facts.each_ref().map(|(name, value)| (*name, value.as_str()));
    (efficiency(most) > SUPERLINEAR_FROM).then(|| lang.fill(MORE_THAN_ALONE, &facts))
}

fn usl_text(fit: &ScalabilityFit, lang: Lang) -> String {
    let users = |n: f64| if n.is_finite() { format!("{n:.0}") } else { "∞".to_owned() };
    let peak = match fit.peak() {
        None => lang.of(NO_PEAK).to_owned(),
        Some(at) => {
            let between = fit.peak_interval.map_or_else(String::new, |[low, high]| {
                lang.fill(PEAK_BETWEEN, &[("low", &users(low)), ("high", &users(high))])
            });
            let rate = numbers::rate(fit.throughput(at));
            lang.fill(PEAK, &[("users", &users(at)), ("interval", &between), ("rate", &rate)])
        }
    };
    let cost = |value: f64| if value < 1e-3 { format!("{value:.1e}") } else { format!("{value:.4}") };
    let facts = [
        ("alone", numbers::rate(fit.alone)),
        ("sigma", cost(fit.contention)),
        ("kappa", cost(fit.coherency)),
        ("peak", peak),
    ];
    let mut said = lang.fill(USL, &facts.each_ref().map(|(name, value)| (*name, value.as_str())));
    if fit.contention > 0.0 || fit.coherency > 0.0 {
        said += lang.of(match fit.scaling_limit() {
            ScalingLimit::Contention => CONTENTION,
            ScalingLimit::Coherency => COHERENCY,
        });
    }
    for warning in &fit.warnings {
        said += &match warning {
            ScalabilityWarning::FewPoints => lang.of(FEW_POINTS).to_owned(),
            ScalabilityWarning::Superlinear(n) => lang.fill(SUPERLINEAR, &[("n", &users(*n))]),
            ScalabilityWarning::Extrapolated => lang.of(EXTRAPOLATED).to_owned(),
            // The sentence says so.
            ScalabilityWarning::NoPeak => String::new(),
        };
    }
    said
}

/// Returns what the reader must know about the runs.
pub(super) fn remarks(found: &SweepOutcome, lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    match found.plan.repeat {
        1 => lines.push(lang.of(ONE_RUN).to_owned()),
        2..6 => lines.push(lang.of(FEW_RUNS).to_owned()),
        _ => {}
    }
    for (cell, doubt) in found.cells.iter().filter_map(|cell| Some((cell, cell.doubt.as_ref()?))) {
        let (cell, why) = (place(cell, &found.plan), lang.fill(IN_DOUBT, &[("why", &doubt.sentence(lang))]));
        lines.push(lang.fill(DOUBTFUL, &[("cell", &cell), ("why", &why)]));
    }
    if let Some(refused) = &found.refused {
        lines.push(lang.fill(REFUSED, &[("why", &error_text(refused, lang))]));
    }
    let all = found.cells.len() * found.plan.repeat;
    if found.unreachable {
        lines.push(lang.of(LOST).to_owned());
    } else if found.made < all {
        lines.push(lang.fill(NOT_ALL, &[("done", &found.made.to_string()), ("all", &all.to_string())]));
    }
    lines.extend(found.lost_part.as_ref().map(|why| lost_part(why, lang)));
    lines.push(took(found.made, found.elapsed, found.exit().code(), lang));
    lines
}
