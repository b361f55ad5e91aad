//! The arithmetic of capacity (docs/measurement.md 3.8).

use super::{CapacityQuestion, CapacitySource, DAY_S, Demand};
use crate::ports;

/// Smallest excess over a whole number that needs another machine; less is the error of floating point.
const NEGLIGIBLE: f64 = 1e-9;

/// The answer to a question about capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityAnswer {
    /// Requests per second at the peak, today.
    pub peak_per_s: f64,
    /// Requests per second to plan for: the peak times its growth.
    pub planned_per_s: f64,
    /// Machines before rounding; `None` if the capacity of one is not known.
    pub exact_machines: Option<f64>,
    /// Machines that carry the load, rounded up.
    pub working_machines: Option<u64>,
    /// Machines in all, with the spare ones.
    pub machines: Option<u64>,
    /// Requests in flight at the planned rate, by Little's law; `None` if their time is not known.
    pub in_flight: Option<f64>,
    /// Connections to be held: those asked for, or else one for each request in flight.
    pub connections: Option<u64>,
    /// Memory of these connections in bytes.
    pub memory_bytes: Option<f64>,
    /// Short connections per second that one source address can open to one destination.
    pub short_connections_per_s: f64,
    /// Pairs of a source address and a destination that the planned rate needs if every request opens a connection.
    pub pairs_for_short: u64,
    /// Pairs of a source address and a destination that the held connections need.
    pub pairs_for_held: Option<u64>,
}

impl CapacityQuestion {
    /// Computes the answer.
    pub fn answer(&self) -> CapacityAnswer {
        let peak_per_s = self.demand.peak_per_s();
        let planned_per_s = peak_per_s * self.growth.value;
        let exact = self.per_machine.as_ref().map(|one| planned_per_s / (one.per_s * self.utilisation.value));
        let working = exact.map(round_up);
        let in_flight = self.latency_s.map(|time| planned_per_s * time);
        let connections = self.connections.or(in_flight.map(round_up));
        let memory = connections.zip(self.connection_bytes).map(|(count, bytes)| count as f64 * bytes);
        let short = ports::short_connections_per_s(self.ports);
        CapacityAnswer {
            peak_per_s,
            planned_per_s,
            exact_machines: exact,
            working_machines: working,
            machines: working.map(|working| working.saturating_add(self.spare)),
            in_flight,
            connections,
            memory_bytes: memory,
            short_connections_per_s: short,
            pairs_for_short: round_up(planned_per_s / short),
            pairs_for_held: connections.map(|count| count.div_ceil(self.ports.max(1)).max(1)),
        }
    }

    /// Returns the record whose throughput is taken for the capacity of a machine although its run does not support it.
    pub fn doubted_record(&self) -> Option<&str> {
        match &self.per_machine.as_ref()?.source {
            CapacitySource::Record { path, doubts, .. } if !doubts.is_empty() => Some(path),
            _ => None,
        }
    }
}

impl Demand {
    /// Returns the requests per second at the peak: views × requests × share ÷ seconds of the peak.
    pub fn peak_per_s(&self) -> f64 {
        match self {
            Demand::Views { per_day, share, peak_s, requests } => {
                per_day * requests.value * share.value / peak_s.value.clamp(1.0, DAY_S)
            }
            Demand::Peak(per_s) => *per_s,
        }
    }
}

/// Rounds up to a whole number of at least one.
fn round_up(exact: f64) -> u64 {
    ((exact - NEGLIGIBLE * exact.max(1.0)).ceil()).max(1.0) as u64
}
