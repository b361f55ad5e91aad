//! Parts of a record that documents contain unchanged, except for causes: documents are in English.

use std::collections::BTreeMap;

use brunt_measure::Nanos;
use serde::Serialize;

/// Connections that were lost or could not be opened, of one kind.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Loss"))]
pub(super) struct LossReport<'a> {
    /// Kind as in [`brunt_record::Failure`]: `closed`, `reset`, `timeout` (a missed heartbeat) …
    kind: &'a str,
    /// Phase as in [`brunt_record::Failure`]; `hold` for connections that had been open.
    #[cfg_attr(feature = "schema", schemars(default))]
    phase: &'a str,
    /// System error as in [`brunt_record::Failure`].
    errno: Option<&'a str>,
    /// Details beyond the kind: the code and reason of the peer's close, or the heartbeat that was missed.
    detail: &'a str,
    /// Number of connections.
    count: u64,
}

impl<'a> From<&'a brunt_record::ConnectionLoss> for LossReport<'a> {
    fn from(loss: &'a brunt_record::ConnectionLoss) -> LossReport<'a> {
        let brunt_record::ConnectionLoss { kind, phase, errno, detail, count, .. } = loss;
        LossReport { kind, phase, errno: errno.as_deref(), detail, count: *count }
    }
}

/// A notice for the reader.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Notice"))]
pub(super) struct NoticeReport<'a> {
    /// Stable identifier, one of [`brunt_record::Subject`] or of another version: `only_errors`, `only_redirects`,
    /// `disk_full` …
    code: &'a str,
    /// Facts of the notice, by name.
    facts: &'a BTreeMap<String, String>,
    /// End of the known part of the run when the notice was given, since the start of the window (nanoseconds);
    /// null: before its first second.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<i64>,
}

impl<'a> From<&'a brunt_record::Notice> for NoticeReport<'a> {
    fn from(notice: &'a brunt_record::Notice) -> NoticeReport<'a> {
        NoticeReport { code: &notice.code, facts: &notice.facts, at_ns: notice.at_ns }
    }
}

/// The pre-flight request, and its response.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FirstAnswer"))]
pub(super) struct FirstAnswerReport<'a> {
    /// The requested URL.
    url: &'a str,
    /// The address connected to.
    address: &'a str,
    /// URL of the proxy at `address`, if there is one: `http://proxy:3128`.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<&'a str>,
    /// Protocol, such as `HTTP/1.1`, with TLS version and cipher suite if used.
    spoken: &'a str,
    /// Status in the protocol's notation.
    status: &'a str,
    /// Bytes of payload received.
    payload: u64,
    /// Time from connect to the last byte (nanoseconds).
    took: Nanos,
    /// Number of requests sent (redirects are requests).
    requests: u64,
    /// Failure, if any.
    failure: Option<&'a str>,
}

impl<'a> From<&'a brunt_record::FirstResponse> for FirstAnswerReport<'a> {
    fn from(first: &'a brunt_record::FirstResponse) -> FirstAnswerReport<'a> {
        let brunt_record::FirstResponse {
            url, address, through, spoken, status, payload, took, requests, failure, ..
        } = first;
        FirstAnswerReport {
            url,
            address,
            through: through.as_deref(),
            spoken,
            status,
            payload: *payload,
            took: *took,
            requests: *requests,
            failure: failure.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_what_they_were_before_records_had_causes() {
        let cause = Some(brunt_cause::tls::expired("h"));
        let loss = brunt_record::ConnectionLoss { cause: cause.clone(), ..brunt_record::ConnectionLoss::default() };
        let first = brunt_record::FirstResponse { cause, ..brunt_record::FirstResponse::default() };
        let notice = brunt_record::Notice::new(brunt_record::Subject::AfterFailed, [])
            .with_cause("why", brunt_cause::tls::expired("h"));
        let documents = [
            serde_json::to_value(LossReport::from(&loss)),
            serde_json::to_value(FirstAnswerReport::from(&first)),
            serde_json::to_value(NoticeReport::from(&notice)),
        ];
        for document in documents {
            let names: Vec<String> = document.expect("JSON").as_object().expect("fields").keys().cloned().collect();
            assert!(!names.iter().any(|name| name.starts_with("cause")), "{names:?}");
        }
    }
}
