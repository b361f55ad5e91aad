//! Events of a run as what its watchers are told.

use record::{RunEvent, Second};
use serde_json::{Value, json};

/// What a second is called.
pub(super) const LINE: &str = "line";

/// Makes messages of events.
#[derive(Default)]
pub(super) struct Teller {
    open: bool,
    ended: bool,
}

impl Teller {
    /// What the next event is to those who watch.
    pub fn see(&mut self, event: &RunEvent) -> Vec<(&'static str, String)> {
        let name = match event {
            RunEvent::Started(started) => {
                self.open = started.plan.load.is_open();
                "started"
            }
            RunEvent::FirstAnswer(_) => "first_answer",
            RunEvent::Second(second) => return vec![(LINE, line(second, self.open).to_string())],
            RunEvent::Changed(_) => "changed",
            RunEvent::Example(_) => "example",
            RunEvent::Notice(_) => "notice",
            RunEvent::Ended(_) => {
                self.ended = true;
                "ended"
            }
            RunEvent::Began(_)
            | RunEvent::Counters(_)
            | RunEvent::Reference(_)
            | RunEvent::Joined(_)
            | RunEvent::Unknown => {
                return Vec::new();
            }
        };
        vec![(name, serde_json::to_string(event).unwrap_or_default())]
    }

    /// What cannot be read is told, too.
    pub fn fault(&self, sentence: &str) -> Vec<(&'static str, String)> {
        vec![("fault", json!({ "sentence": sentence }).to_string())]
    }

    /// The record has no more.
    pub fn finish(&self) -> Vec<(&'static str, String)> {
        vec![("over", json!({ "whole": self.ended }).to_string())]
    }
}

fn line(second: &Second, open: bool) -> Value {
    json!({ "open": open, "counts": second.counts(), "from_ns": second.from_ns, "to_ns": second.to_ns })
}
