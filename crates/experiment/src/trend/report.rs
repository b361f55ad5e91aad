//! The report of a history: its runs, where figures changed, and each figure over time with its levels.

use std::io::{self, Write};

use brunt_i18n::Lang;
use brunt_i18n::text::{Text, text};
use brunt_report::contrast::{ChangeVerdict, MEASURES, Measure};

use super::story::{change_text, left_out, remarks, rows};
use super::{LevelChange, TestHistory, document};
use crate::report::{
    Axis, AxisUnit, Chart, ChartPoint, ChartSeries, ExperimentCheck, ReportBlock, Reported, SeriesKind, Tone,
};
use crate::words::{csv_figures, short_name, value_text};

const TITLE: Text = text("History of {n} {n|run|runs}", "{n} 次运行的历史");
const PICTURE: Text = text("{measure} over time", "{measure}随时间的变化");
const START: Text = text("start", "开始");
const LEVEL: Text = text("level", "水平");

/// Draws a measure over time; `None` if fewer than two runs have it.
fn picture(history: &TestHistory, measure: &Measure, lang: Lang) -> Option<Chart> {
    let is_open = history.runs.iter().all(|run| run.figures.is_open());
    let known = history.runs.iter().filter_map(|run| Some((run, run.figures.value(measure, is_open)?.0)));
    let known: Vec<_> = known.collect();
    if known.iter().all(|(_, value)| *value <= 0.0) {
        return None;
    }
    let (first, last) = (known.first()?, known.last().filter(|_| known.len() > 1)?);
    let points = known.iter().map(|(run, value)| {
        let label = format!("{}: {}", run.name, value_text(measure, *value, lang));
        ChartPoint::new(run.unix_ms as f64, *value, label)
    });
    let mut series = vec![ChartSeries::new(short_name(measure, lang), SeriesKind::Points, points.collect())];
    let changes: Vec<&LevelChange> =
        history.changes.iter().filter(|change| change.measure.name == measure.name).collect();
    if let Some(begun) = changes.first() {
        let level = |at: u64, value: f64| ChartPoint::new(at as f64, value, value_text(measure, value, lang));
        let steps = changes.iter().map(|change| level(history.runs[change.at].unix_ms, change.levels[1]));
        let end = changes.last().map(|change| level(last.0.unix_ms, change.levels[1]));
        let points = std::iter::once(level(first.0.unix_ms, begun.levels[0])).chain(steps).chain(end).collect();
        let tone = if changes.last()?.verdict == ChangeVerdict::Worse { Tone::Bad } else { Tone::Good };
        series.push(ChartSeries { tone, ..ChartSeries::new(lang.of(LEVEL).to_owned(), SeriesKind::Steps, points) });
    }
    let title = lang.fill(PICTURE, &[("measure", &short_name(measure, lang))]);
    let x = Axis::new(lang.of(START), AxisUnit::Moment);
    Some(Chart { title, x, y: Axis::of(measure, lang), series })
}

impl Reported for TestHistory {
    fn title(&self, lang: Lang) -> String {
        lang.fill(TITLE, &[("n", &self.runs.len().to_string())])
    }

    fn blocks(&self, lang: Lang) -> Vec<ReportBlock> {
        let table =
            |is_whole| ReportBlock::Table { caption: None, rows: rows(self, is_whole, lang), is_detail: is_whole };
        let said = left_out(self, lang).into_iter().chain(remarks(self, lang));
        let mut blocks = vec![table(false), ReportBlock::Sentences { sentences: said.collect() }];
        blocks.extend(MEASURES.iter().filter_map(|measure| picture(self, measure, lang)).map(ReportBlock::Chart));
        if left_out(self, lang).is_some() {
            blocks.push(table(true));
        }
        blocks
    }

    fn checks(&self, lang: Lang) -> Vec<ExperimentCheck> {
        let check = |measure: &Measure| {
            let last = self.changes.iter().rev().find(|change| change.measure.name == measure.name);
            let tone = match last.map(|change| change.verdict) {
                Some(ChangeVerdict::Worse) => Tone::Bad,
                _ => Tone::Plain,
            };
            let said = last.map(|change| change_text(self, change, lang)).unwrap_or_default();
            ExperimentCheck { name: measure.name.to_owned(), tone, said }
        };
        MEASURES.iter().map(check).collect()
    }

    fn csv(&self) -> Vec<Vec<String>> {
        let heading = ["record", "unix_ms"].map(str::to_owned).into_iter();
        let heading = heading.chain(MEASURES.iter().map(|measure| measure.name.to_owned())).collect();
        let row = |run: &super::TrendRun| {
            [run.name.clone(), run.unix_ms.to_string()].into_iter().chain(csv_figures(&run.figures)).collect()
        };
        std::iter::once(heading).chain(self.runs.iter().map(row)).collect()
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_json(self, out)
    }

    fn exit_code(&self) -> u8 {
        brunt_report::Exit::Ok.code()
    }
}
