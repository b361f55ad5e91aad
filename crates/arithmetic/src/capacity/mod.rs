//! Capacity planning: from page views to requests per second, machines, connections, memory and ports.
//!
//! The formulas are those of docs/measurement.md 3.8. Each is shown with its numbers filled in, results are rounded up,
//! and the number that the answer depends on most uncertainly is named ([`WeakNumber`]).

mod answer;
mod document;
mod explained;
mod weak;

#[cfg(test)]
mod tests;

pub use answer::CapacityAnswer;
pub use document::CapacityDocument;
pub use weak::WeakNumber;

use brunt_i18n::LocalizedSentence;

/// Seconds of a day.
pub const DAY_S: f64 = 86_400.0;

/// A number of the question, and whether the user gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedFigure {
    /// The number.
    pub value: f64,
    /// Set if it was given; clear for a default.
    pub is_given: bool,
}

impl PlannedFigure {
    /// Creates a figure from a given value, or else from the default.
    pub fn new(given: Option<f64>, default: f64) -> PlannedFigure {
        PlannedFigure { value: given.unwrap_or(default), is_given: given.is_some() }
    }
}

/// The load to be carried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// Page views of a day, of which a share comes within some hours.
    Views {
        /// Page views a day.
        per_day: f64,
        /// Share of them within the peak, 0 to 1.
        share: PlannedFigure,
        /// Seconds of the day in which that share comes.
        peak_s: PlannedFigure,
        /// Requests to the service for each page view.
        requests: PlannedFigure,
    },
    /// Requests per second at the peak.
    Peak(f64),
}

/// What one machine holds.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineCapacity {
    /// Requests per second.
    pub per_s: f64,
    /// Where the number comes from.
    pub source: CapacitySource,
}

/// Where the capacity of a machine comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum CapacitySource {
    /// Typed by the user.
    Typed,
    /// The throughput of a recorded run.
    Record {
        /// Path of the record.
        path: String,
        /// Objectives of the run, all of them met unless `doubts` says otherwise.
        objectives: Vec<String>,
        /// Reasons why its throughput is not a capacity; empty if it is.
        doubts: Vec<LocalizedSentence>,
    },
}

/// A question about capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityQuestion {
    /// The load to be carried.
    pub demand: Demand,
    /// Factor by which the load is expected to grow.
    pub growth: PlannedFigure,
    /// Share of a machine's capacity that is to be used, above 0 and up to 1.
    pub utilisation: PlannedFigure,
    /// Machines in addition, for those that fail or are being deployed.
    pub spare: u64,
    /// What one machine holds, if known.
    pub per_machine: Option<MachineCapacity>,
    /// Mean time of a request in seconds, if known.
    pub latency_s: Option<f64>,
    /// Connections that stay open, if they are more than the requests in flight.
    pub connections: Option<u64>,
    /// Memory of a connection in bytes, if known.
    pub connection_bytes: Option<f64>,
    /// Local ports of a source address.
    pub ports: u64,
}
