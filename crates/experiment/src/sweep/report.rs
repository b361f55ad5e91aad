//! The report of a sweep: the table, how it scales, and its pictures.

use std::io::{self, Write};

use brunt_config::AxisKind;
use brunt_i18n::Lang;
use brunt_i18n::text::{Text, text};
use brunt_report::contrast::{MEASURES, Measure};

use super::story::{curve_lines, figure_text, place, remarks, rows};
use super::{CurveScaling, SweepOutcome, TableCell, document};
use crate::report::{
    Axis, AxisUnit, Chart, ChartPoint, ChartSeries, ExperimentCheck, ReportBlock, Reported, SeriesKind, Tone,
};
use crate::words::{csv_number, rate_text, short_name, value_text};

const TITLE: Text = text("Sweep of {target} over {axes}", "{target} 的批量压测：{axes}");
const TIMES: Text = text(" × ", " × ");
const OVER: Text = text("{measure} by {axis}", "{measure} 与 {axis}");
const OVER_BOTH: Text = text("{measure} by {first} and {second}", "{measure} 与 {first}、{second}");
const LAW: Text = text("fit of the scalability law", "可扩展性定律拟合");
const HIGHEST: Text = text("Highest throughput: {rate}, at {place}.", "最高吞吐量：{rate}，取 {place} 时。");
const NOTHING: Text = text("No cell has a run that can be trusted.", "没有任何一格有可信的运行。");
const COUNTED: Text = text("{n} {n|run|runs}", "{n} 次运行");
const NONE: Text = text("no run that can be trusted", "没有可信的运行");
/// Points of a fitted curve.
const FITTED: usize = 60;
/// Measures that have a picture: throughput, p50 and p99.
const DRAWN: [&str; 3] = ["throughput_per_s", "p50_us", "p99_us"];

/// Returns the index of the axis along which pictures are drawn: that of the load, or else the first.
fn along(found: &SweepOutcome) -> usize {
    found.plan.axes.iter().position(|axis| axis.kind != AxisKind::Other).unwrap_or(0)
}

fn unit(found: &SweepOutcome, axis: usize) -> AxisUnit {
    match found.plan.axes[axis].kind {
        AxisKind::Users => AxisUnit::Users,
        AxisKind::Rate => AxisUnit::PerSecond,
        AxisKind::Other => AxisUnit::Names { names: found.plan.axes[axis].values.clone() },
    }
}

/// Returns where a cell is on an axis.
fn position(found: &SweepOutcome, cell: &TableCell, axis: usize) -> f64 {
    if found.plan.axes[axis].kind == AxisKind::Other { cell.at[axis] as f64 } else { cell.load }
}

fn point(cell: &TableCell, (x, measure): (f64, &Measure), found: &SweepOutcome, lang: Lang) -> Option<ChartPoint> {
    let figure = cell.figure(measure)?;
    let label = format!("{}: {}", place(cell, &found.plan), figure_text(measure, Some(figure), lang));
    Some(ChartPoint { interval: figure.interval, ..ChartPoint::new(x, figure.median, label) })
}

/// Draws a measure along one axis, with a line for each value of the other.
fn curves(found: &SweepOutcome, measure: &Measure, lang: Lang) -> Chart {
    let (x, other) = (along(found), found.plan.axes.len().checked_sub(1).map(|last| last - along(found).min(last)));
    let other = other.filter(|other| *other != x);
    let values = other.map_or(1, |other| found.plan.axes[other].values.len());
    let mut series: Vec<ChartSeries> = (0..values)
        .map(|value| {
            let cells = found.cells.iter().filter(|cell| other.is_none_or(|other| cell.at[other] == value));
            let points = cells.filter_map(|cell| point(cell, (position(found, cell, x), measure), found, lang));
            let name = other.map_or_else(String::new, |other| {
                format!("{} {}", found.plan.axes[other].name, found.plan.axes[other].values[value])
            });
            ChartSeries::new(name, SeriesKind::Line, points.collect())
        })
        .collect();
    if measure.name == DRAWN[0] {
        series.extend(found.curves.iter().filter_map(|curve| fitted(curve, lang)));
    }
    let axis = &found.plan.axes[x];
    let title = lang.fill(OVER, &[("measure", &short_name(measure, lang)), ("axis", &axis.name)]);
    Chart { title, x: Axis::new(axis.name.clone(), unit(found, x)), y: Axis::of(measure, lang), series }
}

/// Returns the curve of a fit, over the loads that were measured.
fn fitted(curve: &CurveScaling, lang: Lang) -> Option<ChartSeries> {
    let fit = curve.usl.as_ref()?;
    let ((from, _), (to, _)) = (curve.points.first()?, curve.points.last()?);
    let at = |n: usize| from + (to - from) * n as f64 / FITTED as f64;
    let points = (0..=FITTED).map(|n| ChartPoint::new(at(n), fit.throughput(at(n)), String::new()));
    let of = curve.of.as_ref().map_or_else(String::new, |(name, value)| format!(" ({name} {value})"));
    Some(ChartSeries::new(format!("{}{of}", lang.of(LAW)), SeriesKind::Line, points.collect()))
}

/// Draws a measure over both axes.
fn surface(found: &SweepOutcome, measure: &Measure, lang: Lang) -> Chart {
    let axes = &found.plan.axes;
    let names = |axis: usize| AxisUnit::Names { names: axes[axis].values.clone() };
    let cell = |cell: &TableCell| {
        let (x, y) = (cell.at[1] as f64, cell.at[0] as f64);
        let point = point(cell, (x, measure), found, lang)?;
        let text = Some(value_text(measure, point.y, lang));
        Some(ChartPoint { y, value: Some(point.y), text, interval: None, ..point })
    };
    let points = found.cells.iter().filter_map(cell).collect();
    let measured = short_name(measure, lang);
    let title = lang.fill(OVER_BOTH, &[("measure", &measured), ("first", &axes[0].name), ("second", &axes[1].name)]);
    let axis = |axis: usize| Axis::new(axes[axis].name.clone(), names(axis));
    Chart { title, x: axis(1), y: axis(0), series: vec![ChartSeries::new(measured, SeriesKind::Cells, points)] }
}

/// Says where throughput was highest.
fn answer(found: &SweepOutcome, lang: Lang) -> ReportBlock {
    let measured = found.cells.iter().filter_map(|cell| Some((cell, cell.throughput()?)));
    match measured.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        Some((cell, highest)) => {
            let facts = [("rate", rate_text(highest, lang)), ("place", place(cell, &found.plan))];
            let sentence = lang.fill(HIGHEST, &facts.each_ref().map(|(name, value)| (*name, value.as_str())));
            ReportBlock::Answer { tone: Tone::Plain, sentence }
        }
        None => ReportBlock::Answer { tone: Tone::Doubt, sentence: lang.of(NOTHING).to_owned() },
    }
}

impl Reported for SweepOutcome {
    fn title(&self, lang: Lang) -> String {
        let axes: Vec<String> =
            self.plan.axes.iter().map(|axis| format!("{} {}", axis.name, axis.values.join(","))).collect();
        lang.fill(TITLE, &[("target", &self.plan.target), ("axes", &axes.join(lang.of(TIMES)))])
    }

    fn blocks(&self, lang: Lang) -> Vec<ReportBlock> {
        let loads = self.plan.axes.iter().find(|axis| axis.kind != AxisKind::Other).map_or(0, |axis| axis.values.len());
        let lines = |curve: &CurveScaling| curve_lines(curve, loads.saturating_sub(curve.points.len()), lang);
        let said = self.curves.iter().flat_map(lines).chain(remarks(self, lang));
        let mut blocks = vec![
            answer(self, lang),
            ReportBlock::Table { caption: None, rows: rows(self, lang), is_detail: false },
            ReportBlock::Sentences { sentences: said.collect() },
        ];
        let drawn = || MEASURES.iter().filter(|measure| DRAWN.contains(&measure.name));
        if self.cells.iter().any(|cell| !cell.runs.is_empty()) {
            blocks.extend(drawn().map(|measure| ReportBlock::Chart(curves(self, measure, lang))));
            if self.plan.axes.len() == 2 {
                blocks.extend(drawn().map(|measure| ReportBlock::Chart(surface(self, measure, lang))));
            }
        }
        blocks
    }

    fn checks(&self, lang: Lang) -> Vec<ExperimentCheck> {
        let check = |cell: &TableCell| {
            let (tone, said) = match (cell.runs.len(), &cell.doubt) {
                (0, Some(doubt)) => (Tone::Doubt, doubt.sentence(lang)),
                (0, None) => (Tone::Doubt, lang.of(NONE).to_owned()),
                (n, _) => (Tone::Plain, lang.fill(COUNTED, &[("n", &n.to_string())])),
            };
            ExperimentCheck { name: place(cell, &self.plan), tone, said }
        };
        self.cells.iter().map(check).collect()
    }

    fn csv(&self) -> Vec<Vec<String>> {
        let axes = self.plan.axes.iter().map(|axis| axis.name.clone());
        let figures =
            MEASURES.iter().flat_map(|measure| ["", "_low", "_high"].map(|end| format!("{}{end}", measure.name)));
        let heading = axes.chain(["runs".to_owned()]).chain(figures).collect();
        let row = |cell: &TableCell| {
            let values = self.plan.axes.iter().zip(&cell.at).map(|(axis, at)| axis.values[*at].clone());
            let figures = MEASURES.iter().flat_map(|measure| {
                let figure = cell.figure(measure);
                let ends = figure.and_then(|figure| figure.interval);
                [figure.map(|figure| figure.median), ends.map(|ends| ends[0]), ends.map(|ends| ends[1])].map(csv_number)
            });
            values.chain([cell.runs.len().to_string()]).chain(figures).collect()
        };
        std::iter::once(heading).chain(self.cells.iter().map(row)).collect()
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_json(self, out)
    }

    fn exit_code(&self) -> u8 {
        self.exit().code()
    }
}
