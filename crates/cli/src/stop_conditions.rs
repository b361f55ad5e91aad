//! Conditions that stop a run from within: missed objectives (`failed<5% for 10s stop`), and failed steps of a flow
//! (`on-failure: stop-run`).

use brunt_engine::Stop;
use brunt_plan::Plan;
use brunt_plan::flow::{OnFailure, Step};
use brunt_record::{End, Notice, RunEvent, Subject};
use brunt_report::StretchObjectives;

/// The evaluation of these conditions during a run.
#[derive(Default)]
pub struct StopConditions {
    windows: StretchObjectives,
    /// The names of the steps that end the run.
    steps: String,
    /// The reason why the run was asked to stop.
    why: Option<Notice>,
}

impl StopConditions {
    /// Processes the next event, and stops the run if a condition is met. At the end of a run stopped in this way,
    /// returns the reason.
    pub fn see(&mut self, event: &RunEvent, stop: &Stop) -> Option<Notice> {
        self.windows.add(event);
        if let RunEvent::Started(started) = event {
            self.steps = stopping_steps(&started.plan);
        }
        if self.why.is_none() && !stop.requested() {
            self.why = self.stop_reason(event);
            self.why.iter().for_each(|_| stop.request());
        }
        match event {
            // An objective missed in the last second did not stop the run. A step that failed there is reported
            // nevertheless, since it should have ended the run.
            RunEvent::Ended(ended) => {
                self.why.take_if(|why| ended.reason == End::Interrupted || why.subject() == Some(Subject::StepStop))
            }
            _ => None,
        }
    }

    fn stop_reason(&self, event: &RunEvent) -> Option<Notice> {
        match event {
            RunEvent::Second(second) if second.run_stops > 0 => {
                Some(Notice::new(Subject::StepStop, [("step", self.steps.clone())]))
            }
            _ => self
                .windows
                .stops()
                .map(|missed| Notice::new(Subject::ObjectiveStop, [("objective", missed.to_owned())])),
        }
    }
}

/// Returns the names of the steps that end a run if they fail.
fn stopping_steps(plan: &Plan) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut add = |step: &Step| {
        for (url, _) in step.requests().filter(|(_, on_failure)| *on_failure == OnFailure::StopRun) {
            let Some(url) = plan.urls.get(url as usize) else { continue };
            let name = url.name.as_deref().unwrap_or(&url.url);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    };
    plan.flows().for_each(|(_, flow)| flow.visit_steps(&mut |step| add(step)));
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_record::{RunEnd, RunPart, RunStarted, Second};

    use super::*;

    /// Returns whether a run of two failed seconds was asked to stop, and the notice if it then ended for this reason.
    /// `by_user`: the user had stopped it before.
    fn said(objective: &str, reason: End, by_user: bool) -> (bool, Option<String>) {
        let words = ["-d", "9s", "--objective", objective, "http://h/"].map(String::from);
        let defaults = brunt_config::Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
        let protocols = brunt_protocols::all();
        let Ok(brunt_config::Command::Run(intent)) = brunt_config::read(&words, &protocols, &defaults) else {
            panic!("{objective}")
        };
        let started = RunStarted {
            schema: brunt_record::SCHEMA.into(),
            brunt: String::new(),
            unix_ms: 0,
            command: Vec::new(),
            plan: intent.plan.clone(),
            hosts: Vec::new(),
            net: String::new(),
            workers: 1,
            silent: None,
            around: Vec::new(),
            agents: Vec::new(),
            checks: Vec::new(),
            names: Vec::new(),
        };
        let second = |at: i64| {
            let (from_ns, to_ns) = (at * 1_000_000_000, (at + 1) * 1_000_000_000);
            RunEvent::Second(Box::new(Second {
                from_ns,
                to_ns,
                part: RunPart::Window,
                due: 9,
                failed: 9,
                ..Second::default()
            }))
        };
        let ended = RunEvent::Ended(RunEnd { reason, window: Nanos::from_secs(2), ..RunEnd::default() });
        let (mut stopping, stop) = (StopConditions::default(), Stop::default());
        if by_user {
            stop.request();
        }
        let events = [RunEvent::Started(Box::new(started)), second(0), second(1), ended];
        let told: Vec<Notice> = events.iter().filter_map(|event| stopping.see(event, &stop)).collect();
        assert!(told.len() <= 1, "{told:?}");
        (stop.requested(), told.first().map(|told| told.facts["objective"].clone()))
    }

    #[test]
    fn a_step_that_failed_ends_the_run_and_is_told_however_it_ended() {
        for reason in [End::Interrupted, End::Completed] {
            let (mut stopping, stop) = (StopConditions::default(), Stop::default());
            let second = Second { part: RunPart::Window, run_stops: 1, ..Second::default() };
            assert!(stopping.see(&RunEvent::Second(Box::new(second)), &stop).is_none() && stop.requested());
            let ended = RunEvent::Ended(RunEnd { reason, ..RunEnd::default() });
            let told = stopping.see(&ended, &stop).expect("a notice");
            assert_eq!(told.subject(), Some(Subject::StepStop));
        }
    }

    #[test]
    fn only_a_run_that_an_objective_stopped_is_told_to_be() {
        let stops = "failed<5% for 1s stop";
        assert_eq!(said(stops, End::Interrupted, false), (true, Some(stops.to_owned())));
        assert_eq!(said(stops, End::Completed, false), (true, None), "missed in its last second");
        assert_eq!(said(stops, End::Interrupted, true), (true, None), "the user was first");
        assert_eq!(said("failed<5% for 1s", End::Interrupted, false), (false, None));
    }
}
