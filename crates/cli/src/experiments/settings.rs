//! What each command asks, from its settings.

use std::io;

use brunt_cause::complaint;
use brunt_config::{CompareSettings, FindSettings, Intent, LadderSettings, SweepSettings};
use brunt_contract::UsageError;
use brunt_experiment::compare::{Baseline, ComparePlan, with_warm_up};
use brunt_experiment::find::FindPlan;
use brunt_experiment::ladder::{LadderPlan, RungPlan};
use brunt_experiment::record::Experiment;
use brunt_experiment::sweep::{CellPlan, SweepPlan};
use brunt_measure::Nanos;
use brunt_plan::{Load, Plan, Stage, Trial};

use super::{AskedExperiment, ExperimentSubject};

/// Returns a load of one level.
fn at_level(load: &Load, level: f64) -> Load {
    let mut load = load.clone();
    let (Load::Open { stages, .. } | Load::Closed { stages, .. }) = &mut load;
    *stages = stages.iter().take(1).map(|stage| Stage { from: level, to: level, ..*stage }).collect();
    load
}

/// Returns what is loaded, as it may be shown: the first URL, and how many there are beside it.
fn target(intent: &Intent) -> String {
    let urls = &intent.shown.urls;
    let first = urls.first().map_or_else(String::new, |url| url.url.clone());
    if urls.len() > 1 { format!("{first} (+{})", urls.len() - 1) } else { first }
}

impl<'a> From<&'a mut FindSettings> for AskedExperiment<'a> {
    fn from(settings: &'a mut FindSettings) -> AskedExperiment<'a> {
        let plan = &settings.intent.plan;
        let of_scenario = settings.scenario.map(|at| (at, &plan.scenarios[usize::from(at)]));
        let load = of_scenario.map_or(&plan.load, |(_, scenario)| &scenario.load).clone();
        let highest = at_level(&load, settings.highest);
        let highest = match settings.scenario {
            Some(at) => plan.clone().with_scenario_load(at.into(), highest),
            None => Plan { load: highest, ..plan.clone() },
        };
        let find = FindPlan {
            target: match of_scenario {
                Some((_, scenario)) => format!("{} ({})", scenario.name, target(&settings.intent)),
                None => target(&settings.intent),
            },
            objectives: settings.objectives.iter().map(|(text, _)| text.clone()).collect(),
            load,
            scenario: of_scenario.map(|(at, scenario)| (at, scenario.name.clone())),
            highest: settings.highest,
            width: settings.width,
            trial: plan.duration.unwrap_or(Nanos::from_secs(10)),
            warm_up: plan.warmup,
            seed: plan.seed,
        };
        let (resume, highest) = (settings.resume.as_deref(), Some(highest));
        let subject = ExperimentSubject { intent: &mut settings.intent, highest, is_quiet: false, around: [None; 2] };
        AskedExperiment { subjects: vec![subject], experiment: Experiment::Find(find), resume, new_baseline: None }
    }
}

impl<'a> TryFrom<&'a mut CompareSettings> for AskedExperiment<'a> {
    type Error = UsageError;

    fn try_from(settings: &'a mut CompareSettings) -> Result<AskedExperiment<'a>, UsageError> {
        let first = &settings.sides[0].intent;
        let names = settings.sides.iter().map(|side| side.intent.redaction.sentence(&side.name));
        let trials = settings.sides.iter().map(|side| with_warm_up(Trial::from_plan(&side.intent.plan)));
        let (mut names, mut trials): (Vec<String>, Vec<Trial>) = (names.collect(), trials.collect());
        let baseline = match &settings.baseline {
            Some(file) => Some(baseline(file, settings.update, (&names[0], &trials[0]))?),
            None => None,
        };
        let last = names.len() - 1;
        let (b, of_b) = (names.swap_remove(last), trials.swap_remove(last));
        let plan = ComparePlan {
            names: [baseline.as_ref().map_or_else(|| names[0].clone(), |baseline| baseline.target.clone()), b],
            trials: [trials.pop().unwrap_or_else(|| of_b.clone()), of_b],
            baseline,
            runs: settings.runs,
            shuffle: settings.shuffle,
            seed: first.plan.seed,
            margin: settings.margin,
        };
        let resume = settings.resume.as_deref();
        let new_baseline = settings.baseline.as_deref().filter(|_| settings.update);
        let subjects = settings.sides.iter_mut().map(|side| ExperimentSubject {
            highest: Some(side.intent.plan.clone()),
            intent: &mut side.intent,
            is_quiet: false,
            around: [side.before.as_deref(), side.after.as_deref()],
        });
        let (subjects, experiment) = (subjects.collect(), Experiment::Compare(Box::new(plan)));
        Ok(AskedExperiment { subjects, experiment, resume, new_baseline })
    }
}

/// Reads a baseline for runs of a target; one that is about to be written need not be there.
fn baseline(file: &str, is_updated: bool, (target, trial): (&str, &Trial)) -> Result<Baseline, UsageError> {
    let none = || Baseline::none(target.to_owned(), trial.clone());
    match std::fs::read_to_string(file) {
        Ok(text) if is_updated => Ok(Baseline::parse(&text, trial).unwrap_or_else(|_| none())),
        Ok(text) => Baseline::parse(&text, trial),
        Err(error) if is_updated && error.kind() == io::ErrorKind::NotFound => Ok(none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(UsageError::new(
            "--baseline",
            complaint!("there is no {file} yet; write it with --update", "{file} 尚不存在；请用 --update 写入"),
        )),
        Err(error) => Err(UsageError::new(
            "--baseline",
            complaint!("{file} cannot be read ({error})", "无法读取 {file}（{error}）"),
        )),
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
        };
        let resume = settings.resume.as_deref();
        // What is asked about a public target is the highest load of all cells.
        let plans = settings.cells.iter().map(|cell| &cell.intent.plan);
        let mut highest = plans.max_by(|a, b| a.load.peak().total_cmp(&b.load.peak())).cloned();
        let subjects = settings.cells.iter_mut().enumerate().map(|(n, cell)| ExperimentSubject {
            intent: &mut cell.intent,
            highest: highest.take(),
            is_quiet: n > 0,
            around: [None; 2],
        });
        AskedExperiment {
            subjects: subjects.collect(),
            experiment: Experiment::Sweep(plan),
            resume,
            new_baseline: None,
        }
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
        };
        let (resume, most) = (settings.resume.as_deref(), f64::from(settings.up_to));
        let subjects = settings.rungs.iter_mut().map(|rung| ExperimentSubject {
            highest: Some(Plan { load: at_level(&rung.intent.plan.load, most), ..rung.intent.plan.clone() }),
            intent: &mut rung.intent,
            is_quiet: false,
            around: [None; 2],
        });
        AskedExperiment {
            subjects: subjects.collect(),
            experiment: Experiment::Ladder(plan),
            resume,
            new_baseline: None,
        }
    }
}
