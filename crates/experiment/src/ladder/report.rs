//! The report of a ladder: the rungs, what each adds, and throughput by users.

use std::io::{self, Write};

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};

use super::story::{ALONE, CAPACITY, RUNG, UNTOLD, remarks, rows, step_text};
use super::{ClimbedRung, LadderOutcome, RungRun, document};
use crate::laws::ladder::{LadderStep, StepCost};
use crate::report::{
    Axis, AxisUnit, Chart, ChartPoint, ChartSeries, ExperimentCheck, ReportBlock, Reported, SeriesKind, Tone,
};
use crate::words::{csv_number, rate_text};

const TITLE: Text = text("Ladder {names}", "逐级测量 {names}");
const ARROW: Text = text(" → ", " → ");
const COSTLIEST: Text = text(
    "{rung} costs most: it keeps {kept} of the capacity of {below}.",
    "{rung} 的代价最大：容量只剩 {below} 的 {kept}。",
);
const UNCOSTLY: Text = text("No rung costs capacity.", "各级都不损失容量。");
const UNKNOWN: Text = text("What the rungs cost cannot be told.", "无法判断各级的代价。");
const CLIMB: Text = text("Throughput by users, for each rung", "各级吞吐量与用户数");
const COST: Text = text("Response time of a user alone, for each rung", "各级单个用户的响应时间");
const HELD: Text = text("Capacity of each rung", "各级容量");
const THROUGHPUT: Text = text("throughput", "吞吐量");
const USERS_NAME: Text = text("users", "用户数");
const RUNS: Text = text("Runs", "各次运行");

/// Draws throughput by users.
fn climb_picture(found: &LadderOutcome, lang: Lang) -> Chart {
    let series = found.rungs.iter().map(|rung| {
        let sound = rung.runs.iter().filter(|run| run.doubt.is_none());
        let point = |run: &RungRun| {
            let label = format!("{}, {}: {}", rung.name, run.users, rate_text(run.throughput_per_s, lang));
            ChartPoint::new(f64::from(run.users), run.throughput_per_s, label)
        };
        ChartSeries::new(rung.name.clone(), SeriesKind::Line, sound.map(point).collect())
    });
    Chart {
        title: lang.of(CLIMB).to_owned(),
        x: Axis::logarithmic(lang.of(USERS_NAME), AxisUnit::Users),
        y: Axis::logarithmic(lang.of(THROUGHPUT), AxisUnit::PerSecond),
        series: series.collect(),
    }
}

/// Draws a figure of each rung, with its text, as a bar.
fn bars(
    found: &LadderOutcome,
    (title, y): (Text, Axis),
    figure: &dyn Fn(&ClimbedRung) -> Option<(f64, String)>,
    lang: Lang,
) -> Chart {
    let names: Vec<String> = found.rungs.iter().map(|rung| rung.name.clone()).collect();
    let points = found.rungs.iter().enumerate().filter_map(|(at, rung)| {
        let (value, text) = figure(rung)?;
        Some(ChartPoint::new(at as f64, value, format!("{}: {text}", rung.name)))
    });
    let series = vec![ChartSeries::new(y.label.clone(), SeriesKind::Bars, points.collect())];
    let x = Axis::new(lang.of(RUNG), AxisUnit::Names { names });
    Chart { title: lang.of(title).to_owned(), x, y, series }
}

fn pictures(found: &LadderOutcome, lang: Lang) -> [Chart; 3] {
    let alone = |rung: &ClimbedRung| rung.measured().map(|rung| (rung.alone_s * 1e6, numbers::seconds(rung.alone_s)));
    let capacity =
        |rung: &ClimbedRung| rung.measured().map(|rung| (rung.capacity_per_s, rate_text(rung.capacity_per_s, lang)));
    let of_alone = (COST, Axis::new(lang.of(ALONE), AxisUnit::Micros));
    let of_capacity = (HELD, Axis::new(lang.of(CAPACITY), AxisUnit::PerSecond));
    [bars(found, of_alone, &alone, lang), bars(found, of_capacity, &capacity, lang), climb_picture(found, lang)]
}

fn runs_table(found: &LadderOutcome, lang: Lang) -> ReportBlock {
    let words = [RUNG, USERS_NAME, THROUGHPUT].map(|word| lang.of(word).to_owned());
    let heading = words.into_iter().chain(["p50".to_owned()]).collect();
    let row = |rung: &ClimbedRung, run: &RungRun| {
        let median = run.median_s.map_or_else(|| numbers::WITHHELD.to_owned(), numbers::seconds);
        vec![rung.name.clone(), run.users.to_string(), rate_text(run.throughput_per_s, lang), median]
    };
    let of_rung = |rung: &ClimbedRung| rung.runs.iter().map(|run| row(rung, run)).collect::<Vec<_>>();
    let rows = std::iter::once(heading).chain(found.rungs.iter().flat_map(of_rung)).collect();
    ReportBlock::Table { caption: Some(lang.of(RUNS).to_owned()), rows, is_detail: true }
}

/// Says which rung costs most; one that keeps all of the capacity of the rung below, or more, costs none.
fn answer(found: &LadderOutcome, steps: &[Option<LadderStep>], lang: Lang) -> ReportBlock {
    let known = found.rungs.windows(2).zip(steps).filter_map(|(pair, step)| Some((pair, step.as_ref()?)));
    let (tone, sentence) = match known.min_by(|(_, a), (_, b)| a.kept.total_cmp(&b.kept)) {
        Some((pair, step)) if !matches!(step.cost, StepCost::Free | StepCost::More) => {
            let facts = [("rung", &*pair[1].name), ("kept", &*numbers::share(step.kept)), ("below", &*pair[0].name)];
            (Tone::Plain, lang.fill(COSTLIEST, &facts))
        }
        Some(_) => (Tone::Plain, lang.of(UNCOSTLY).to_owned()),
        None => (Tone::Doubt, lang.of(UNKNOWN).to_owned()),
    };
    ReportBlock::Answer { tone, sentence }
}

impl Reported for LadderOutcome {
    fn title(&self, lang: Lang) -> String {
        let names: Vec<&str> = self.plan.rungs.iter().map(|rung| rung.name.as_str()).collect();
        lang.fill(TITLE, &[("names", &names.join(lang.of(ARROW)))])
    }

    fn blocks(&self, lang: Lang) -> Vec<ReportBlock> {
        let steps = self.steps();
        let mut blocks = vec![
            answer(self, &steps, lang),
            ReportBlock::Table { caption: None, rows: rows(self, &steps, lang), is_detail: false },
            ReportBlock::Sentences { sentences: remarks(self, &steps, lang) },
        ];
        if self.rungs.iter().any(|rung| !rung.runs.is_empty()) {
            blocks.extend(pictures(self, lang).map(ReportBlock::Chart));
            blocks.push(runs_table(self, lang));
        }
        blocks
    }

    fn checks(&self, lang: Lang) -> Vec<ExperimentCheck> {
        let steps = self.steps();
        let check = |(at, rung): (usize, &ClimbedRung)| {
            let untold = || lang.fill(UNTOLD, &[("rung", &rung.name)]);
            let (tone, said) = match (rung.measured(), at.checked_sub(1).map(|below| steps[below])) {
                (None, _) => (Tone::Doubt, untold()),
                (Some(measured), None) => (Tone::Plain, rate_text(measured.capacity_per_s, lang)),
                (Some(_), Some(Some(step))) => (Tone::Plain, step_text(&rung.name, &step, lang)),
                (Some(_), Some(None)) => (Tone::Doubt, untold()),
            };
            ExperimentCheck { name: rung.name.clone(), tone, said }
        };
        self.rungs.iter().enumerate().map(check).collect()
    }

    fn csv(&self) -> Vec<Vec<String>> {
        let heading = ["rung", "users", "throughput_per_s", "p50_s", "cpu_s", "objectives", "in_doubt"];
        let row = |rung: &ClimbedRung, run: &RungRun| {
            let objectives = if run.is_met { "met" } else { "missed" };
            let doubt = run.doubt.as_ref().map(|doubt| doubt.sentence(Lang::En)).unwrap_or_default();
            let [median, cpu] = [run.median_s, run.cpu_s].map(csv_number);
            let first = [rung.name.clone(), run.users.to_string(), run.throughput_per_s.to_string()];
            first.into_iter().chain([median, cpu, objectives.to_owned(), doubt]).collect()
        };
        let of_rung = |rung: &ClimbedRung| rung.runs.iter().map(|run| row(rung, run)).collect::<Vec<Vec<String>>>();
        let rows = self.rungs.iter().flat_map(of_rung);
        std::iter::once(heading.map(str::to_owned).to_vec()).chain(rows).collect()
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write_json(self, out)
    }

    fn exit_code(&self) -> u8 {
        self.exit().code()
    }
}
