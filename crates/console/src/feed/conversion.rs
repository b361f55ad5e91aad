//! Conversion of a run's events to messages: the lines that pages draw, as in a report.

use brunt_record::{AgentEvent, FailureExample, Notice, RunEvent};
use brunt_report::formats::html::LiveLines;
use brunt_report::{Lang, Summary, SummaryBuilder, failure_in_words, kind_in_words, reason};
use serde_json::{Value, json};

/// Names of messages: for a second, and for any other line.
pub(super) const LINE: &str = "line";
pub(super) const BLOCK: &str = "block";

/// The state of the conversion.
#[derive(Default)]
pub(super) struct MessageConverter {
    drawing: Option<LiveLines>,
    ended: bool,
    /// Events before the first second: the head of the run.
    begun: Vec<RunEvent>,
    summing: SummaryBuilder,
}

/// Maximum number of events used for the head: a record from another source may have any number of them.
const BEGINNING: usize = 64;

impl MessageConverter {
    /// Converts the next event.
    pub fn see(&mut self, event: &RunEvent) -> Vec<(&'static str, String)> {
        self.summing.add(event);
        match event {
            RunEvent::Started(_) | RunEvent::FirstResponse(_) => self.begin(event),
            RunEvent::Began(_) | RunEvent::Second(_) | RunEvent::Counters(_) => self.draw(event),
            RunEvent::OfAgent(told) => self.agent(event, told),
            RunEvent::Changed(changed) => vec![("changed", json!(changed).to_string())],
            RunEvent::Example(example) => vec![("example", example_message(example).to_string())],
            RunEvent::Notice(notice) => self.notice(notice),
            RunEvent::Ended(_) => {
                self.ended = true;
                Vec::new()
            }
            RunEvent::Reference(_)
            | RunEvent::Joined(_)
            | RunEvent::Provisional(_)
            | RunEvent::Spans(_)
            | RunEvent::Unknown => Vec::new(),
        }
    }

    /// Returns the head of the run, as far as it is known.
    fn begin(&mut self, event: &RunEvent) -> Vec<(&'static str, String)> {
        if self.begun.len() >= BEGINNING {
            return Vec::new();
        }
        self.begun.push(event.clone());
        let summary = Summary::from_events(self.begun.iter().cloned());
        let drawing = self.drawing.get_or_insert_with(|| LiveLines::of(&summary));
        vec![("head", drawing.head(&summary).to_string())]
    }

    /// Returns the lines that pages draw for an event; none for a record without a beginning.
    fn draw(&mut self, event: &RunEvent) -> Vec<(&'static str, String)> {
        let Some(drawing) = &mut self.drawing else { return Vec::new() };
        drawing.see(event).iter().map(line_message).collect()
    }

    /// Returns the curves of agents, and the agents that begin and end.
    fn agent(&mut self, event: &RunEvent, told: &AgentEvent) -> Vec<(&'static str, String)> {
        let mut messages = self.draw(event);
        let change = match &*told.event {
            RunEvent::Began(_) => Some(Value::Null),
            RunEvent::Ended(ended) => Some(json!(ended.reason)),
            _ => None,
        };
        messages.extend(change.map(|ended| ("agent", json!({ "agent": told.agent, "ended": ended }).to_string())));
        messages
    }

    /// Returns a notice in the words of the report.
    fn notice(&self, notice: &Notice) -> Vec<(&'static str, String)> {
        let events = self.begun.iter().cloned().chain([RunEvent::Notice(notice.clone())]);
        let summary = Summary::from_events(events);
        let head = LiveLines::of(&summary).head(&summary);
        let said = |lang: &str| head["words"][lang]["notices"].as_array().and_then(|all| all.last()).cloned();
        let agent = notice.facts.get("agent");
        let told =
            json!({ "at_ns": notice.at_ns, "en": said("en"), "zh": said("zh"), "code": notice.code, "agent": agent });
        vec![("notice", told.to_string())]
    }

    /// Returns a message about a record that cannot be read.
    pub fn fault(&self, sentence: &str) -> Vec<(&'static str, String)> {
        vec![("fault", json!({ "sentence": sentence }).to_string())]
    }

    /// Returns the messages at the end of the record: the head once more, with the results of the run.
    pub fn finish(mut self) -> Vec<(&'static str, String)> {
        let over: Value = json!({ "whole": self.ended });
        let summary = self.summing.finish();
        let drawing = self.drawing.get_or_insert_with(|| LiveLines::of(&summary));
        let rest: Vec<_> = drawing.flush().iter().map(line_message).collect();
        let ended = [("head", drawing.head(&summary).to_string()), ("over", over.to_string())];
        rest.into_iter().chain(ended).collect()
    }
}

/// Returns an example of a failure, with its description.
fn example_message(example: &FailureExample) -> Value {
    let in_words = |lang: Lang| {
        let sort = failure_in_words((&example.kind, &example.phase, example.errno.as_deref()), lang);
        let detail = reason(&example.detail, example.cause.as_ref(), lang);
        json!({ "kind": kind_in_words(&example.kind, lang), "sort": sort, "detail": detail })
    };
    let mut told = json!(FailureExample { cause: None, ..example.clone() });
    told["words"] = json!({ "en": in_words(Lang::En), "zh": in_words(Lang::Zh) });
    told
}

/// Returns the message of a line.
fn line_message(line: &Value) -> (&'static str, String) {
    let name = if line.get("s").is_some() { LINE } else { BLOCK };
    (name, line.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_words_of_both_languages() {
        let example: FailureExample = serde_json::from_value(json!({
            "kind": "refused", "phase": "connect", "errno": "ECONNREFUSED", "detail": "", "sent": "", "received": "",
        }))
        .unwrap();
        let told = MessageConverter::default().see(&RunEvent::Example(example));
        let [("example", data)] = &told[..] else { panic!("{told:?}") };
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(
            (&data["kind"], &data["words"]["en"]["sort"]),
            (&json!("refused"), &json!("connection refused (ECONNREFUSED)"))
        );
        let zh = data["words"]["zh"]["sort"].as_str().unwrap();
        assert_eq!(zh, "连接被拒绝（ECONNREFUSED）");
    }
}
