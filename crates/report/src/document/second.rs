//! One second in the JSON report, read while the report is written.

use std::cell::RefCell;
use std::collections::BTreeMap;

use brunt_record::{ByteCounts, RunPart, Second};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::connections::ConnectionReport;
use super::latency::{LatencyReport, PhasesReport};
use super::scenarios::{self, ScenarioSecond};
use crate::seconds::SecondsPass;
use crate::summary::Summary;

/// The figures of one second.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecondReport<'a> {
    /// Beginning, in seconds since the start of the window; negative within the warm-up.
    from_s: f64,
    /// End, in seconds since the start of the window.
    to_s: f64,
    /// `warmup`, `window` or `drain`.
    part: RunPart,
    /// Counts of the second.
    #[serde(flatten)]
    counts: brunt_record::Counts,
    /// Users at the end of the second.
    users: u32,
    /// Requests in flight at the end of the second.
    in_flight: u32,
    /// Requests waiting for a connection at the end of the second.
    waiting: u32,
    /// Successes that completed in the second ÷ its length.
    throughput_per_s: f64,
    /// Status code → count.
    status: &'a BTreeMap<String, u64>,
    /// Reasons the peer gave for closing connections and streams → count.
    words: &'a BTreeMap<String, u64>,
    /// Failures by kind, phase and errno.
    failures: &'a [brunt_record::Failure],
    /// Bytes on the wire.
    bytes: ByteCounts,
    /// Connections.
    connections: ConnectionReport,
    /// Latency of requests.
    latency: LatencyReport<'a>,
    /// Phases of requests and connections.
    phases: PhasesReport<'a>,
    /// Share of the run whose figures are missing because agents were lost; absent if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_share: Option<f64>,
    /// Figures of each scenario in this second; only if the run has scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenarios: Option<Vec<ScenarioSecond<'a>>>,
}

impl<'a> SecondReport<'a> {
    fn of(s: &'a Second, summary: &'a Summary) -> SecondReport<'a> {
        let open = summary.open;
        let length_s = (s.to_ns - s.from_ns) as f64 / 1e9;
        SecondReport {
            from_s: s.from_ns as f64 / 1e9,
            to_s: s.to_ns as f64 / 1e9,
            part: s.part,
            counts: s.counts(),
            users: s.users,
            in_flight: s.in_flight,
            waiting: s.waiting,
            throughput_per_s: if length_s > 0.0 { s.successes() as f64 / length_s } else { 0.0 },
            bytes: s.bytes,
            connections: ConnectionReport::from(&s.connections),
            latency: LatencyReport::of(&s.latency, open),
            phases: PhasesReport::of(&s.latency),
            status: &s.status,
            words: &s.words,
            failures: &s.failures,
            missing_share: Some(s.missing_share).filter(|share| *share > 0.0),
            scenarios: scenarios::of_second(s, summary),
        }
    }
}

/// The seconds of a run, read one at a time while they are written.
pub(super) struct SecondReports<'a> {
    pass: RefCell<SecondsPass<'a>>,
    summary: &'a Summary,
}

impl<'a> SecondReports<'a> {
    /// Creates the sequence of a run's seconds.
    pub fn of(pass: SecondsPass<'a>, summary: &'a Summary) -> SecondReports<'a> {
        SecondReports { pass: RefCell::new(pass), summary }
    }
}

impl Serialize for SecondReports<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut all = to.serialize_seq(None)?;
        for second in &mut *self.pass.borrow_mut() {
            let second = second.map_err(S::Error::custom)?;
            all.serialize_element(&SecondReport::of(&second, self.summary))?;
        }
        all.end()
    }
}
