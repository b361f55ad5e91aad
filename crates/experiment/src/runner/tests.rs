//! Experiments that are recorded, read again, cut off and resumed.

use std::path::Path;

use brunt_config::{AxisKind, SweepAxis};
use brunt_record::{RunEnd, RunEvent, Second};
use brunt_report::Lang;

use super::*;
use crate::record::{Experiment, ExperimentHead, ExperimentOutcome};
use crate::report::{Reported, text};
use crate::sweep::{CellPlan, SweepPlan};

/// What a run comes to in place of figures.
type ExperimentEnd = fn() -> RunResult;

/// A service that answers users at once, up to so many of them: no more fit the machine. It is lost or the experiment is
/// stopped after some runs.
struct Service {
    most: f64,
    made: usize,
    until: (usize, ExperimentEnd),
    spent: Nanos,
}

impl Service {
    fn new() -> Service {
        Service { most: f64::INFINITY, made: 0, until: (usize::MAX, || RunResult::Stopped), spent: Nanos::ZERO }
    }

    fn until(runs: usize, end: ExperimentEnd) -> Service {
        Service { until: (runs, end), ..Service::new() }
    }
}

impl TrialRunner for Service {
    fn run(
        &mut self,
        _: RunOf,
        trial: &Trial,
        _: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        let level = trial.load.peak();
        if level > self.most {
            return Ok(RunResult::Refused(UsageError::new("-c", format!("{level} users are too many"))));
        }
        if self.made == self.until.0 {
            let end = (self.until.1)();
            if !matches!(end, RunResult::Stopped) {
                self.spent += Nanos(5);
            }
            return Ok(end);
        }
        self.made += 1;
        self.spent += trial.lasts();
        let lasts = trial.duration.unwrap_or_default();
        let requests = (level * 100.0 * lasts.as_secs_f64()) as u64;
        let mut second = Second { to_ns: lasts.0 as i64, finished: requests, due: requests, ..Second::default() };
        second.latency.service.record_n(Nanos::from_millis(10), requests);
        let ended = RunEnd { window: lasts, ..RunEnd::default() };
        let events = [started(), RunEvent::Second(Box::new(second)), RunEvent::Ended(ended)];
        for event in &events {
            listeners.iter_mut().for_each(|listener| drop(listener.observe(event)));
        }
        Ok(RunResult::Made(Box::new(Summary::from_events(events))))
    }

    fn elapsed(&self) -> Nanos {
        self.spent
    }
}

/// Returns the start of a run, as a record has it.
pub(crate) fn started() -> RunEvent {
    let tls = serde_json::json!({ "insecure": false, "cacert": null, "cert": null, "key": null, "resume": false });
    let plan = serde_json::json!({
        "protocol": "http", "urls": [], "options": {}, "load": { "model": "closed", "stages": [], "think": null, "together": false },
        "requests": null, "duration": null, "warmup": 0, "drain": 0, "timeout": 1, "connect_timeout": 1,
        "max_connections": 1, "workers": 1, "pin": false, "precise": false, "slack": 0, "connect_rate": null,
        "hold": null, "heartbeat": null, "net": "auto", "sources": [], "connect_to": [], "unix_socket": null,
        "tls": tls, "objectives": [], "seed": 1,
    });
    let started = serde_json::json!({
        "event": "started", "schema": brunt_record::SCHEMA, "brunt": "0", "unix_ms": 1, "command": [], "plan": plan,
        "hosts": [], "net": "sim", "workers": 1,
    });
    serde_json::from_value(started).expect("a start")
}

fn asked(seed: u64) -> Experiment {
    let values = [1, 2, 4].map(|users: u32| users.to_string()).to_vec();
    let cell = |(at, users)| CellPlan { at: vec![at], trial: Trial::users(users, Nanos::from_secs(2)) };
    Experiment::Sweep(SweepPlan {
        target: "http://h/".into(),
        axes: vec![SweepAxis { name: "users".into(), kind: AxisKind::Users, values }],
        cells: [1, 2, 4].into_iter().enumerate().map(cell).collect(),
        repeat: 2,
        shuffle: true,
        seed,
    })
}

fn head(experiment: Experiment) -> ExperimentHead {
    ExperimentHead {
        brunt: "0".into(),
        unix_ms: 1,
        command: vec!["brunt".into(), "sweep".into()],
        experiment,
        plans: Vec::new(),
    }
}

fn conduct(experiment: &Experiment, runner: &mut dyn TrialRunner) -> ExperimentOutcome {
    experiment.conduct(runner, &Stop::default(), (&mut |_| {}, Lang::En)).expect("an experiment")
}

fn json(found: &dyn Reported) -> String {
    let mut out = Vec::new();
    found.write_json(&mut out).expect("memory");
    String::from_utf8(out).expect("text")
}

fn record(path: &Path, service: &mut Service) -> ExperimentOutcome {
    let asked = asked(7);
    let runner = RecordedRunner::create(path, &head(asked.clone())).expect("a file");
    conduct(&asked, &mut runner.then(service))
}

impl TrialRunner for &mut Service {
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        (**self).run(of, trial, stop, listeners)
    }

    fn elapsed(&self) -> Nanos {
        (**self).elapsed()
    }
}

#[test]
fn what_was_recorded_is_told_again_in_the_same_words() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sweep.bruntexp");
    let ends: [(usize, ExperimentEnd, u8); 7] = [
        (0, || RunResult::Partial(UsageError::whole("agent a2 was lost")), 21),
        (3, || RunResult::Partial(UsageError::whole("agent a2 was lost")), 21),
        (2, || RunResult::OutOfTime, 21),
        (usize::MAX, || RunResult::Stopped, 0),
        (3, || RunResult::Stopped, 21),
        (3, || RunResult::Lost, 30),
        (4, || RunResult::Refused(UsageError::new("-c", "4 users are too many")), 21),
    ];
    for (runs, end, code) in ends {
        let found = record(&path, &mut Service::until(runs, end));
        let (head, mut runner) = RecordedRunner::read(&path).expect("a record");
        let again = conduct(&head.experiment, &mut runner);
        assert_eq!(json(again.reported()), json(found.reported()));
        assert_eq!(text(again.reported(), Lang::Zh), text(found.reported(), Lang::Zh));
        assert_eq!((found.reported().exit_code(), again.reported().exit_code()), (code, code), "{runs}");
        assert_eq!(again.reported().csv(), found.reported().csv());
    }
}

#[test]
fn an_experiment_that_was_cut_off_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sweep.bruntexp");
    let whole = json(record(&path, &mut Service::new()).reported());
    let bytes = std::fs::read(&path).expect("a record");
    let mut made = std::collections::BTreeSet::new();
    for cut in (bytes.len() / 4..=bytes.len()).step_by(7).chain([bytes.len()]) {
        std::fs::write(&path, &bytes[..cut]).expect("written");
        let (head, past) = RecordedRunner::read(&path).expect("a record");
        let asked = head.experiment.clone();
        let mut service = Service::new();
        let found = conduct(&asked, &mut past.then(&mut service));
        assert_eq!(json(found.reported()), whole, "cut at {cut}");
        made.insert(service.made);
        let (head, mut runner) = RecordedRunner::read(&path).expect("a record");
        assert_eq!(json(conduct(&head.experiment, &mut runner).reported()), whole);
    }
    assert_eq!(made.into_iter().collect::<Vec<_>>()[..2], [0, 1], "whole runs are not made again");
}

#[test]
fn what_was_lost_or_late_or_did_not_fit_is_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sweep.bruntexp");
    for end in [
        || RunResult::Lost,
        || RunResult::OutOfTime,
        || RunResult::Refused(UsageError::new("-c", "too many")),
        || RunResult::Partial(UsageError::whole("agent a2 was lost")),
    ] as [ExperimentEnd; 4]
    {
        record(&path, &mut Service::until(2, end));
        let (head, past) = RecordedRunner::read(&path).expect("a record");
        let mut service = Service::new();
        let found = conduct(&head.experiment, &mut past.then(&mut service));
        assert_eq!((found.reported().exit_code(), service.made), (0, 4));
        // What ended the first session is not in the way of the record of both.
        let (head, mut runner) = RecordedRunner::read(&path).expect("a record");
        assert_eq!(conduct(&head.experiment, &mut runner).reported().exit_code(), 0);
    }
}

#[test]
fn only_the_same_experiment_goes_on() {
    let recorded = asked(7);
    assert!(asked(1).is_like(&recorded), "with any seed");
    let Experiment::Sweep(plan) = asked(7) else { panic!("a sweep") };
    let another = Experiment::Sweep(SweepPlan { repeat: 3, ..plan });
    assert!(!another.is_like(&recorded));
    let with = |plan: &str| ExperimentHead { plans: vec![plan.into()], ..head(recorded.clone()) };
    assert!(with("GET").is_like(&with("GET")) && !with("GET").is_like(&with("POST")));
}

#[test]
fn a_record_of_other_runs_is_refused_and_one_of_its_runs_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sweep.bruntexp");
    record(&path, &mut Service::new());
    let (_, mut runner) = RecordedRunner::read(&path).expect("a record");
    let wrong = asked(8).conduct(&mut runner, &Stop::default(), (&mut |_| {}, Lang::En)).expect_err("other seeds");
    assert!(wrong.to_string().contains("are not those that this version of brunt would make"), "{wrong}");
    let third = nth_run(&path, 3).expect("a record").expect("a run");
    assert!(Summary::from_past(&third).expect("events").totals.finished > 0);
    assert!(nth_run(&path, 7).expect("a record").is_none());
    std::fs::write(&path, "{}").expect("written");
    let wrong = RecordedRunner::read(&path).err().expect("no record");
    assert!(
        wrong.to_string().ends_with("this is not the record of an experiment); name a record of an experiment"),
        "{wrong}"
    );
}
