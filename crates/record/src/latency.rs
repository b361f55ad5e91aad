//! The histograms of a second or of a run.

use measure::Histogram;
use serde::{Deserialize, Serialize};

/// The histograms of a second or of a run. Finished requests only, but for `failed` and the `*_at_least` ones: the latter
/// hold the lower bounds of requests that did not finish (censored at the end, or timed out), and rank as later than all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// From the intended start to the last byte (open load only).
    pub response: Histogram,
    /// From the actual start to the last byte.
    pub service: Histogram,
    /// The server (or the bound of connections) made the request wait (open load only).
    pub wait_conn: Histogram,
    /// The generator was late (open load, and steps of flows).
    pub gen_late: Histogram,
    /// Opening of connections.
    pub connect: Histogram,
    /// TLS handshakes.
    pub tls: Histogram,
    /// Handshakes of the protocol itself (an upgrade, AUTH).
    #[serde(default)]
    pub greeting: Histogram,
    /// From the write of the request to the first byte of the answer.
    pub first_byte: Histogram,
    /// From the first byte to the last.
    pub transfer: Histogram,
    /// Failures, from the intended start (open) or the actual one (closed) to the failure.
    pub failed: Histogram,
    /// Of these, those that the server answered, however wrongly, to the end of the response.
    #[serde(default)]
    pub failed_responses: Histogram,
    /// Lower bounds of `response` of requests that did not finish.
    pub response_at_least: Histogram,
    /// Lower bounds of `service` of requests that did not finish.
    pub service_at_least: Histogram,
    /// Lower bounds of `wait_conn` of requests that were never sent.
    pub wait_conn_at_least: Histogram,
    /// Between the messages of a stream.
    #[serde(default)]
    pub message_gap: Histogram,
    /// From a heartbeat to its answer.
    #[serde(default)]
    pub heartbeat: Histogram,
    /// Lower bounds of `heartbeat` of those that were never answered.
    #[serde(default)]
    pub heartbeat_at_least: Histogram,
    /// Stretches of 20 µs and more in which a worker did not look at its sockets: turns of its loop, and how much later
    /// than asked for its waits ended.
    #[serde(default)]
    pub loop_gap: Histogram,
    /// How long a worker waited for a core when a wait was over, for a sample of the waits.
    #[serde(default)]
    pub wake_delay: Histogram,
}

impl Latency {
    /// All histograms with their names, in the order of the fields.
    pub fn all(&self) -> [(&'static str, &Histogram); 19] {
        [
            ("response", &self.response),
            ("service", &self.service),
            ("wait_conn", &self.wait_conn),
            ("gen_late", &self.gen_late),
            ("connect", &self.connect),
            ("tls", &self.tls),
            ("greeting", &self.greeting),
            ("first_byte", &self.first_byte),
            ("transfer", &self.transfer),
            ("failed", &self.failed),
            ("response_at_least", &self.response_at_least),
            ("service_at_least", &self.service_at_least),
            ("wait_conn_at_least", &self.wait_conn_at_least),
            ("message_gap", &self.message_gap),
            ("heartbeat", &self.heartbeat),
            ("heartbeat_at_least", &self.heartbeat_at_least),
            ("loop_gap", &self.loop_gap),
            ("wake_delay", &self.wake_delay),
            ("failed_responses", &self.failed_responses),
        ]
    }

    /// The same, to be changed.
    pub fn all_mut(&mut self) -> [&mut Histogram; 19] {
        [
            &mut self.response,
            &mut self.service,
            &mut self.wait_conn,
            &mut self.gen_late,
            &mut self.connect,
            &mut self.tls,
            &mut self.greeting,
            &mut self.first_byte,
            &mut self.transfer,
            &mut self.failed,
            &mut self.response_at_least,
            &mut self.service_at_least,
            &mut self.wait_conn_at_least,
            &mut self.message_gap,
            &mut self.heartbeat,
            &mut self.heartbeat_at_least,
            &mut self.loop_gap,
            &mut self.wake_delay,
            &mut self.failed_responses,
        ]
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Latency) {
        for (mine, (_, theirs)) in self.all_mut().into_iter().zip(other.all()) {
            mine.merge(theirs);
        }
    }
}
