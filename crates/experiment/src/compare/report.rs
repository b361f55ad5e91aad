//! The report of a comparison: the verdict, the changes, and the runs in their order.

use std::io::{self, Write};

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_report::contrast::{ChangeVerdict, MEASURES, Measure};

use super::story::{headline, letter, remarks, rows};
use super::{CompareOutcome, ComparedRunRow, document};
use crate::report::{
    Axis, AxisUnit, Chart, ChartPoint, ChartSeries, ExperimentCheck, ReportBlock, Reported, SeriesKind, Tone,
};
use crate::runs::{RunSide, RunsChange};
use crate::words::{csv_figures, figure_cells, figure_heading, short_name, value_text};

const TITLE: Text = text("{b} compared with {a}", "{b} 与 {a} 的比较");
const RUN: Text = text("run", "运行");
const SIDE: Text = text("side", "一方");
const RUNS: Text = text("Runs, in their order", "各次运行，按先后顺序");
const PICTURE: Text = text("{measure} of the runs, in their order", "各次运行的{measure}，按先后顺序");

fn tone(verdict: ChangeVerdict) -> Tone {
    match verdict {
        ChangeVerdict::Worse => Tone::Bad,
        ChangeVerdict::Better | ChangeVerdict::Same => Tone::Good,
        ChangeVerdict::CannotTell => Tone::Doubt,
    }
}

/// Returns the tone of the whole answer: bad if anything is worse, by name too, in doubt if nothing can be told.
fn overall(found: &CompareOutcome) -> Tone {
    let mut all = found.changes.iter().chain(found.named.iter().flat_map(|(_, changes)| changes));
    match () {
        () if all.any(|change| change.verdict == ChangeVerdict::Worse) => Tone::Bad,
        () if found.is_told() => Tone::Good,
        () => Tone::Doubt,
    }
}

/// Draws a measure of all runs; `None` if no run has it.
fn picture(found: &CompareOutcome, measure: &Measure, lang: Lang) -> Option<Chart> {
    let numbered = || found.rows.iter().zip(1..);
    let of = |side: RunSide| {
        let points = numbered().filter(|(row, _)| row.side == side && row.doubt.is_none());
        let points = points.filter_map(|(row, n)| {
            let (value, band) = row.figures.value(measure, row.figures.is_open())?;
            let label = format!("{} {n}: {}", letter(side), value_text(measure, value, lang));
            Some(ChartPoint { interval: band, ..ChartPoint::new(f64::from(n), value, label) })
        });
        ChartSeries::new(letter(side).to_owned(), SeriesKind::Line, points.collect())
    };
    let series = [RunSide::Before, RunSide::After].map(of);
    let title = lang.fill(PICTURE, &[("measure", &short_name(measure, lang))]);
    let x = Axis::new(lang.of(RUN), AxisUnit::Number);
    // Without a failure there is nothing to see.
    let drawn = series.iter().any(|series| series.points.len() > 1 && series.points.iter().any(|point| point.y > 0.0));
    drawn.then(|| Chart { title, x, y: Axis::of(measure, lang), series: series.into() })
}

fn runs_table(found: &CompareOutcome, lang: Lang) -> ReportBlock {
    let heading = [RUN, SIDE].map(|word| lang.of(word).to_owned()).into_iter().chain(figure_heading(lang)).collect();
    let row = |(row, n): (&ComparedRunRow, u32)| {
        let figures: Vec<String> = match &row.doubt {
            Some(_) => MEASURES.iter().map(|_| numbers::WITHHELD.to_owned()).collect(),
            None => figure_cells(&row.figures, lang).collect(),
        };
        [n.to_string(), letter(row.side).to_owned()].into_iter().chain(figures).collect()
    };
    let rows = std::iter::once(heading).chain(found.rows.iter().zip(1..).map(row)).collect();
    ReportBlock::Table { caption: Some(lang.of(RUNS).to_owned()), rows, is_detail: true }
}

impl Reported for CompareOutcome {
    fn title(&self, lang: Lang) -> String {
        lang.fill(TITLE, &[("a", &self.plan.names[0]), ("b", &self.plan.names[1])])
    }

    fn blocks(&self, lang: Lang) -> Vec<ReportBlock> {
        let is_open = self.rows.iter().all(|row| row.figures.is_open());
        let table = |caption, changes: &[RunsChange]| ReportBlock::Table {
            caption,
            rows: rows(changes, is_open, lang),
            is_detail: false,
        };
        let answer = ReportBlock::Answer { tone: overall(self), sentence: headline(self, lang) };
        let mut blocks = vec![answer, table(None, &self.changes)];
        blocks.extend(self.named.iter().map(|(name, changes)| table(Some(name.clone()), changes)));
        blocks.push(ReportBlock::Sentences { sentences: remarks(self, lang) });
        blocks.extend(MEASURES.iter().filter_map(|measure| picture(self, measure, lang)).map(ReportBlock::Chart));
        if !self.rows.is_empty() {
            blocks.push(runs_table(self, lang));
        }
        blocks
    }

    fn checks(&self, lang: Lang) -> Vec<ExperimentCheck> {
        let named = self.named.iter().map(|(name, changes)| (Some(name), changes));
        let all = std::iter::once((None, &self.changes)).chain(named);
        let check = |(name, change): (Option<&String>, &RunsChange)| {
            let measure = &change.measure;
            let prefix = name.map_or_else(String::new, |name| format!("{name}: "));
            let said = change.change.map(|by| measure.change_text(by, lang));
            let said = [Some(lang.of(change.verdict.word()).to_owned()), said].into_iter().flatten();
            let said = said.collect::<Vec<_>>().join(", ");
            let tone = match tone(change.verdict) {
                // As for the exit code: what cannot be told is an error only if nothing can.
                Tone::Doubt if overall(self) != Tone::Doubt => Tone::Plain,
                tone => tone,
            };
            ExperimentCheck { name: format!("{prefix}{}", measure.name), tone, said }
        };
        all.flat_map(|(name, changes)| changes.iter().map(move |change| (name, change))).map(check).collect()
    }

    fn csv(&self) -> Vec<Vec<String>> {
        let heading = ["run", "side"].map(str::to_owned).into_iter();
        let heading = heading.chain(MEASURES.iter().map(|measure| measure.name.to_owned()));
        let heading = heading.chain(["in_doubt".to_owned()]).collect();
        let row = |(row, n): (&ComparedRunRow, u32)| {
            let doubt = row.doubt.as_ref().map(|doubt| doubt.sentence(Lang::En)).unwrap_or_default();
            let first = [n.to_string(), letter(row.side).to_owned()].into_iter();
            first.chain(csv_figures(&row.figures)).chain([doubt]).collect()
        };
        std::iter::once(heading).chain(self.rows.iter().zip(1..).map(row)).collect()
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_json(self, out)
    }

    fn exit_code(&self) -> u8 {
        CompareOutcome::exit_code(self)
    }
}
