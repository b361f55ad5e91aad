//! Events of a run as what its watchers are told: the lines that pages draw, as in a report.

use record::{Notice, RunEvent};
use report::formats::html;
use report::{Summary, Summing};
use serde_json::{Value, json};

/// What a second is called.
pub(super) const LINE: &str = "line";

/// Makes messages of events.
#[derive(Default)]
pub(super) struct Teller {
    open: bool,
    ended: bool,
    /// What was told before the first second: what there is of the run's head.
    begun: Vec<RunEvent>,
    summing: Summing,
}

/// So much of a run's beginning is gone through again for its head: a record from elsewhere may have any number of it.
const BEGINNING: usize = 64;

impl Teller {
    /// What the next event is to those who watch.
    pub fn see(&mut self, event: &RunEvent) -> Vec<(&'static str, String)> {
        self.summing.add(event);
        match event {
            RunEvent::Started(started) => {
                self.open = started.plan.load.is_open();
                self.begin(event)
            }
            RunEvent::FirstAnswer(_) => self.begin(event),
            RunEvent::Second(second) => vec![(LINE, html::line_of(second, self.open).to_string())],
            RunEvent::Changed(changed) => vec![("changed", json!(changed).to_string())],
            RunEvent::Example(example) => vec![("example", json!(example).to_string())],
            RunEvent::Notice(notice) => self.notice(notice),
            RunEvent::Ended(_) => {
                self.ended = true;
                Vec::new()
            }
            RunEvent::Began(_)
            | RunEvent::Counters(_)
            | RunEvent::Reference(_)
            | RunEvent::Joined(_)
            | RunEvent::Unknown => Vec::new(),
        }
    }

    /// The head of the run, as far as it is known.
    fn begin(&mut self, event: &RunEvent) -> Vec<(&'static str, String)> {
        if self.begun.len() >= BEGINNING {
            return Vec::new();
        }
        self.begun.push(event.clone());
        let summary = Summary::from_events(self.begun.iter().cloned());
        vec![("head", html::head_of(&summary).to_string())]
    }

    /// A notice in words: those of the report.
    fn notice(&self, notice: &Notice) -> Vec<(&'static str, String)> {
        let events = self.begun.iter().cloned().chain([RunEvent::Notice(notice.clone())]);
        let head = html::head_of(&Summary::from_events(events));
        let said = |lang: &str| head["words"][lang]["notices"].as_array().and_then(|all| all.last()).cloned();
        let told = json!({ "at_ns": notice.at_ns, "en": said("en"), "zh": said("zh") });
        vec![("notice", told.to_string())]
    }

    /// What cannot be read is told, too.
    pub fn fault(&self, sentence: &str) -> Vec<(&'static str, String)> {
        vec![("fault", json!({ "sentence": sentence }).to_string())]
    }

    /// The record has no more: the head once more, with what the run came to.
    pub fn finish(self) -> Vec<(&'static str, String)> {
        let over: Value = json!({ "whole": self.ended });
        let head = html::head_of(&self.summing.finish());
        vec![("head", head.to_string()), ("over", over.to_string())]
    }
}
