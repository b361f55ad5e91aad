//! What each command asks, from its settings.

use brunt_config::{CompareSettings, FindSettings, Intent, LadderSettings, SweepSettings};
use brunt_experiment::compare::{ComparePlan, with_warm_up};
use brunt_experiment::find::FindPlan;
use brunt_experiment::ladder::{LadderPlan, RungPlan};
use brunt_experiment::record::Experiment;
use brunt_experiment::sweep::{CellPlan, SweepPlan};
use brunt_measure::Nanos;
use brunt_plan::Trial;

use super::{AskedExperiment, ExperimentSubject};

/// Returns what is loaded, as it may be shown: the first URL, and how many there are beside it.
fn target(intent: &Intent) -> String {
    let urls = &intent.shown.urls;
    let first = urls.first().map_or_else(String::new, |url| url.url.clone());
    if urls.len() > 1 { format!("{first} (+{})", urls.len() - 1) } else { first }
}

impl<'a> From<&'a mut FindSettings> for AskedExperiment<'a> {
    fn from(settings: &'a mut FindSettings) -> AskedExperiment<'a> {
        let plan = &settings.intent.plan;
        let find = FindPlan {
            target: target(&settings.intent),
            objectives: settings.objectives.iter().map(|(text, _)| text.clone()).collect(),
            load: plan.load.clone(),
            highest: settings.highest,
            width: settings.width,
            trial: plan.duration.unwrap_or(Nanos::from_secs(10)),
            warm_up: plan.warmup,
            seed: plan.seed,
            time_limit: settings.intent.run_timeout,
        };
        let (resume, highest) = (settings.resume.as_deref(), Some(settings.highest));
        let subject = ExperimentSubject { intent: &mut settings.intent, highest, is_quiet: false, around: [None; 2] };
        AskedExperiment { subjects: vec![subject], experiment: Experiment::Find(find), resume }
    }
}

impl<'a> From<&'a mut CompareSettings> for AskedExperiment<'a> {
    fn from(settings: &'a mut CompareSettings) -> AskedExperiment<'a> {
        let first = &settings.sides[0].intent;
        let plan = ComparePlan {
            names: settings.sides.each_ref().map(|side| side.intent.redaction.sentence(&side.name)),
            trials: settings.sides.each_ref().map(|side| with_warm_up(Trial::from_plan(&side.intent.plan))),
            runs: settings.runs,
            shuffle: settings.shuffle,
            seed: first.plan.seed,
            margin: settings.margin,
            time_limit: first.run_timeout,
        };
        let resume = settings.resume.as_deref();
        let subjects = settings.sides.iter_mut().map(|side| ExperimentSubject {
            highest: Some(side.intent.plan.load.peak()),
            intent: &mut side.intent,
            is_quiet: false,
            around: [side.before.as_deref(), side.after.as_deref()],
        });
        AskedExperiment { subjects: subjects.collect(), experiment: Experiment::Compare(plan), resume }
    }
}

impl<'a> From<&'a mut SweepSettings> for AskedExperiment<'a> {
    fn from(settings: &'a mut SweepSettings) -> AskedExperiment<'a> {
        let first = &settings.cells[0].intent;
        let cells = settings
            .cells
            .iter()
            .map(|cell| CellPlan { at: cell.at.clone(), trial: with_warm_up(Trial::from_plan(&cell.intent.plan)) });
        let plan = SweepPlan {
            target: target(first),
            axes: settings.axes.clone(),
            cells: cells.collect(),
            repeat: settings.repeat,
            shuffle: settings.shuffle,
            seed: first.plan.seed,
            time_limit: first.run_timeout,
        };
        let resume = settings.resume.as_deref();
        // What is asked about a public target is the highest load of all cells.
        let peaks = settings.cells.iter().map(|cell| cell.intent.plan.load.peak());
        let highest = peaks.reduce(f64::max);
        let subjects = settings.cells.iter_mut().enumerate().map(|(n, cell)| ExperimentSubject {
            intent: &mut cell.intent,
            highest: highest.filter(|_| n == 0),
            is_quiet: n > 0,
            around: [None; 2],
        });
        AskedExperiment { subjects: subjects.collect(), experiment: Experiment::Sweep(plan), resume }
    }
}

impl<'a> From<&'a mut LadderSettings> for AskedExperiment<'a> {
    fn from(settings: &'a mut LadderSettings) -> AskedExperiment<'a> {
        let first = &settings.rungs[0].intent;
        let rungs = settings.rungs.iter().map(|rung| RungPlan {
            name: rung.intent.redaction.sentence(&rung.name),
            trial: Trial::from_plan(&rung.intent.plan),
        });
        let plan = LadderPlan {
            rungs: rungs.collect(),
            up_to: settings.up_to,
            pools: settings.pools.clone(),
            seed: first.plan.seed,
            time_limit: first.run_timeout,
        };
        let (resume, highest) = (settings.resume.as_deref(), Some(f64::from(settings.up_to)));
        let subjects = settings.rungs.iter_mut().map(|rung| ExperimentSubject {
            intent: &mut rung.intent,
            highest,
            is_quiet: false,
            around: [None; 2],
        });
        AskedExperiment { subjects: subjects.collect(), experiment: Experiment::Ladder(plan), resume }
    }
}
