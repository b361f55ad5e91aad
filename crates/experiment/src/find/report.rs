//! The report of a search: the bounds, and the trials with the interval that remained after each.

use std::io::{self, Write};

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};

use super::story::{AND, HELD, IN_DOUBT, MISSED, headline, known, load, remarks, what};
use super::{FindOutcome, TrialRow, document};
use crate::report::{
    Axis, AxisUnit, Chart, ChartPoint, ChartSeries, ExperimentCheck, ReportBlock, Reported, SeriesKind, Tone,
};
use crate::search::SearchEnd;

const TITLE: Text =
    text("Highest {what} of {target} that keeps {objectives}", "{target} 满足 {objectives} 的最高{what}");
const PICTURE: Text = text("Trials, and the interval that remained", "各次试验与剩余区间");
const AT: Text = text("time since the start", "开始后的时间");
const LOAD: Text = text("load", "负载");
const LOW: Text = text("seems held", "看来满足");
const HIGH: Text = text("seems not held", "看来未满足");
const TRIAL: Text = text("trial", "试验");
const LENGTH: Text = text("length", "时长");
const VERDICT: Text = text("verdict", "结论");
const CHECKED: Text = text("held at {lower}, missed at {upper}", "{lower} 满足，{upper} 未满足");

impl FindOutcome {
    fn tone(&self) -> Tone {
        match self.result.end {
            _ if self.unreachable || self.too_few.is_some() => Tone::Doubt,
            Some(SearchEnd::Found | SearchEnd::HighestHeld) => Tone::Good,
            Some(SearchEnd::LowestMissed) => Tone::Bad,
            _ => Tone::Doubt,
        }
    }

    fn load_text(&self, level: f64, lang: Lang) -> String {
        load(level, self.is_rate, lang)
    }
}

/// Returns what a trial showed, as a colour and a word.
fn verdict(row: &TrialRow) -> (Tone, Text) {
    match row.is_held() {
        _ if !row.trusted => (Tone::Doubt, IN_DOUBT),
        true => (Tone::Good, HELD),
        false => (Tone::Bad, MISSED),
    }
}

fn measured(row: &TrialRow) -> String {
    let all: Vec<&str> = row.objectives.iter().map(|judged| judged.measured.as_str()).collect();
    all.join(", ")
}

fn picture(found: &FindOutcome, lang: Lang) -> Chart {
    let at = |row: &TrialRow| row.elapsed.as_secs_f64();
    let trials = [Tone::Good, Tone::Bad, Tone::Doubt].into_iter().filter_map(|tone| {
        let of_tone = || found.rows.iter().filter(move |row| verdict(row).0 == tone);
        let point = |row: &TrialRow| {
            let label = format!("{}: {}", found.load_text(row.load, lang), measured(row));
            ChartPoint::new(at(row), row.load, label)
        };
        let name = lang.of(verdict(of_tone().next()?).1).to_owned();
        Some(ChartSeries { tone, ..ChartSeries::new(name, SeriesKind::Points, of_tone().map(point).collect()) })
    });
    let ends = [(LOW, 0), (HIGH, 1)].into_iter().map(|(name, end)| {
        let known = found.rows.iter().filter_map(|row| Some((row, row.bracket[end]?)));
        let point = |(row, level)| ChartPoint::new(at(row), level, found.load_text(level, lang));
        ChartSeries::new(lang.of(name).to_owned(), SeriesKind::Steps, known.map(point).collect())
    });
    let unit = if found.is_rate { AxisUnit::PerSecond } else { AxisUnit::Users };
    Chart {
        title: lang.of(PICTURE).to_owned(),
        x: Axis::new(lang.of(AT), AxisUnit::Elapsed),
        y: Axis::logarithmic(lang.of(LOAD), unit),
        series: ends.chain(trials).collect(),
    }
}

fn table(found: &FindOutcome, lang: Lang) -> ReportBlock {
    let heading = [TRIAL, LOAD, LENGTH].map(|word| lang.of(word).to_owned()).into_iter();
    let heading = heading.chain(found.objectives.iter().cloned()).chain([lang.of(VERDICT).to_owned()]).collect();
    let row = |(n, row): (usize, &TrialRow)| {
        let first = [(n + 1).to_string(), found.load_text(row.load, lang), numbers::duration(row.duration)];
        // The heading names what was measured.
        let value = |measured: &str| measured.split_once(' ').map_or(measured, |(_, value)| value).to_owned();
        let measured = row.objectives.iter().map(|judged| value(&judged.measured));
        first.into_iter().chain(measured).chain([lang.of(verdict(row).1).to_owned()]).collect()
    };
    let rows = std::iter::once(heading).chain(found.rows.iter().enumerate().map(row)).collect();
    ReportBlock::Table { caption: None, rows, is_detail: true }
}

impl Reported for FindOutcome {
    fn title(&self, lang: Lang) -> String {
        let objectives = self.objectives.join(lang.of(AND));
        lang.fill(TITLE, &[("what", what(self.is_rate, lang)), ("target", &self.target), ("objectives", &objectives)])
    }

    fn blocks(&self, lang: Lang) -> Vec<ReportBlock> {
        let mut blocks = vec![
            ReportBlock::Answer { tone: self.tone(), sentence: headline(self, lang) },
            ReportBlock::Sentences { sentences: remarks(self, lang) },
        ];
        if !self.rows.is_empty() {
            blocks.extend([ReportBlock::Chart(picture(self, lang)), table(self, lang)]);
        }
        blocks
    }

    fn checks(&self, lang: Lang) -> Vec<ExperimentCheck> {
        let check = |(objective, goal): (&String, &crate::search::GoalBounds)| {
            let [lower, upper] = [goal.lower, goal.upper].map(|end| known(end, self.is_rate, lang));
            let said = lang.fill(CHECKED, &[("lower", &lower), ("upper", &upper)]);
            let tone = match self.tone() {
                Tone::Bad if goal.lower.is_some() => Tone::Good,
                tone => tone,
            };
            ExperimentCheck { name: objective.clone(), tone, said }
        };
        self.objectives.iter().zip(&self.result.goals).map(check).collect()
    }

    fn csv(&self) -> Vec<Vec<String>> {
        let load = if self.is_rate { "rate_per_s" } else { "users" };
        let heading = ["trial", load, "duration_s", "elapsed_s", "verdict", "bracket_low", "bracket_high"];
        let counts = |objective: &String| [format!("{objective} within"), format!("{objective} scheduled")];
        let heading = heading.map(str::to_owned).into_iter().chain(self.objectives.iter().flat_map(counts)).collect();
        let end = |end: Option<f64>| end.map(|level| level.to_string()).unwrap_or_default();
        let row = |(n, row): (usize, &TrialRow)| {
            let [low, high] = row.bracket.map(end);
            let verdict = match verdict(row).0 {
                Tone::Good => "held",
                Tone::Bad => "missed",
                _ => "in_doubt",
            };
            let seconds = [row.duration, row.elapsed].map(|time| format!("{:.3}", time.as_secs_f64()));
            let [duration, elapsed] = seconds;
            let first = [(n + 1).to_string(), row.load.to_string(), duration, elapsed, verdict.to_owned(), low, high];
            let counts = row.objectives.iter().map(|judged| judged.counted.unwrap_or_default());
            first.into_iter().chain(counts.flat_map(|(within, due)| [within, due].map(|n| n.to_string()))).collect()
        };
        std::iter::once(heading).chain(self.rows.iter().enumerate().map(row)).collect()
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_json(self, out)
    }

    fn exit_code(&self) -> u8 {
        self.exit().code()
    }
}
