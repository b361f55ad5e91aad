//! Escaping of texts that could control a terminal; all output for people is escaped.
//!
//! A record may come from any source and contains text sent by servers. JSON keeps text unchanged and has its own
//! escapes.

use brunt_cause::Cause;
use brunt_measure::sanitize;
use brunt_record::{ConnectionLoss, Failure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::summary::Summary;

impl Summary {
    /// Returns a copy in which all text is escaped, except status codes by name: those sums are shared because of their
    /// size, and their codes are escaped when shown.
    pub(crate) fn escaped(&self) -> Summary {
        let mut shown = self.clone();
        shown.started = self.started.as_ref().and_then(escape_record);
        shown.probe = self.probe.as_ref().and_then(escape_record);
        shown.examples = self.examples.iter().filter_map(escape_record).collect();
        shown.examples_by_name = self.examples_by_name.iter().filter_map(escape_record).collect();
        shown.slowest = self.slowest.iter().filter_map(escape_record).collect();
        shown.failed_addresses = self.failed_addresses.iter().filter_map(escape_record).collect();
        shown.notices = self.notices.iter().filter_map(escape_record).collect();
        for agent in &mut shown.agents {
            agent.head = escape_record(&agent.head).unwrap_or_default();
            agent.notices = agent.notices.iter().filter_map(escape_record).collect();
        }
        shown.labels.iter_mut().for_each(|row| escape_line(&mut row.label));
        for judged in &mut shown.objectives {
            escape_line(&mut judged.objective);
            escape_line(&mut judged.measured);
        }
        let totals = &mut shown.totals;
        totals.status = totals.status.iter().map(|(code, n)| (sanitize::line(code).into_owned(), *n)).collect();
        for Failure { kind, phase, errno, .. } in &mut totals.failures {
            [Some(kind), Some(phase), errno.as_mut()].into_iter().flatten().for_each(escape_line);
        }
        for ConnectionLoss { kind, phase, errno, detail, cause, .. } in
            totals.losses.iter_mut().chain(&mut totals.unopened)
        {
            [Some(kind), Some(phase), errno.as_mut(), Some(detail)].into_iter().flatten().for_each(escape_line);
            cause.iter_mut().flat_map(Cause::words_mut).for_each(escape_line);
        }
        shown
    }
}

fn escape_line(text: &mut String) {
    *text = sanitize::line(text).into_owned();
}

/// Escapes all text in a part of a record, including fields added in the future. `None` if the part cannot be written
/// as JSON, and thus did not come from a record.
fn escape_record<T: Serialize + DeserializeOwned>(part: &T) -> Option<T> {
    let mut value = serde_json::to_value(part).ok()?;
    escape_json(&mut value);
    serde_json::from_value(value).ok()
}

/// Escapes all text in a JSON value.
pub(crate) fn escape_json(value: &mut Value) {
    match value {
        Value::String(text) => escape_line(text),
        Value::Array(items) => items.iter_mut().for_each(escape_json),
        Value::Object(entries) => {
            let plainly = |(name, mut value): (String, Value)| {
                escape_json(&mut value);
                (sanitize::line(&name).into_owned(), value)
            };
            *entries = std::mem::take(entries).into_iter().map(plainly).collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
