//! The answer as JSON.

use brunt_i18n::Lang;
use serde::Serialize;

use super::{CapacityQuestion, CapacitySource, Demand};

/// Version of the JSON format.
const SCHEMA: &str = "brunt-capacity/1";

/// The answer of `brunt capacity` as a document. Rates are per second, memory is in bytes; what is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityDocument {
    /// `brunt-capacity/1`.
    pub schema: &'static str,
    /// The numbers that the answer was computed from, defaults included.
    pub inputs: CapacityInputs,
    /// Requests per second at the peak, today.
    pub peak_per_s: f64,
    /// Requests per second to plan for: the peak times its growth.
    pub planned_per_s: f64,
    /// Machines before rounding.
    pub exact_machines: Option<f64>,
    /// Machines that carry the load, rounded up.
    pub working_machines: Option<u64>,
    /// Machines in all, with the spare ones.
    pub machines: Option<u64>,
    /// Requests in flight at the planned rate, by Little's law.
    pub in_flight: Option<f64>,
    /// Connections to be held.
    pub connections: Option<u64>,
    /// Memory of these connections.
    pub memory_bytes: Option<f64>,
    /// Short connections per second from one source address to one destination.
    pub short_connections_per_s: f64,
    /// Pairs of a source address and a destination, if every request opens a connection.
    pub pairs_for_short_connections: u64,
    /// Pairs of a source address and a destination for the connections to be held.
    pub pairs_for_held_connections: Option<u64>,
    /// The number that deserves to be replaced first.
    pub weakest: WeakestInput,
    /// The formulas with their numbers filled in.
    pub formulas: Vec<String>,
}

/// The numbers that an answer was computed from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityInputs {
    /// Page views a day.
    pub views_per_day: Option<f64>,
    /// Share of the views within the peak, 0 to 1.
    pub share: Option<f64>,
    /// Seconds of the peak.
    pub peak_s: Option<f64>,
    /// Requests for each page view.
    pub requests_per_view: Option<f64>,
    /// Factor of growth.
    pub growth: f64,
    /// Share of a machine's capacity that is to be used.
    pub utilisation: f64,
    /// Spare machines.
    pub spare: u64,
    /// Requests per second that one machine holds.
    pub per_machine_per_s: Option<f64>,
    /// The record that this comes from.
    pub record: Option<String>,
    /// Why the run of that record does not support it.
    pub doubts: Vec<String>,
    /// Mean time of a request in seconds.
    pub latency_s: Option<f64>,
    /// Memory of a connection in bytes.
    pub bytes_per_connection: Option<f64>,
    /// Local ports of a source address.
    pub ports: u64,
}

/// The number that deserves to be replaced first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeakestInput {
    /// The option that gives it.
    pub option: &'static str,
    /// Why it is weak, and what would be better.
    pub why: String,
}

impl CapacityQuestion {
    /// Returns the answer as a document, with sentences in a language.
    pub fn document(&self, lang: Lang) -> CapacityDocument {
        let answer = self.answer();
        let weakest = self.weakest();
        CapacityDocument {
            schema: SCHEMA,
            inputs: self.inputs(lang),
            peak_per_s: answer.peak_per_s,
            planned_per_s: answer.planned_per_s,
            exact_machines: answer.exact_machines,
            working_machines: answer.working_machines,
            machines: answer.machines,
            in_flight: answer.in_flight,
            connections: answer.connections,
            memory_bytes: answer.memory_bytes,
            short_connections_per_s: answer.short_connections_per_s,
            pairs_for_short_connections: answer.pairs_for_short,
            pairs_for_held_connections: answer.pairs_for_held,
            weakest: WeakestInput { option: weakest.option, why: weakest.why.render(lang) },
            formulas: self.formula_texts(lang),
        }
    }

    fn inputs(&self, lang: Lang) -> CapacityInputs {
        let views = match &self.demand {
            Demand::Views { per_day, share, peak_s, requests } => {
                [Some(*per_day), Some(share.value), Some(peak_s.value), Some(requests.value)]
            }
            Demand::Peak(_) => [None; 4],
        };
        let (record, doubts) = match self.per_machine.as_ref().map(|one| &one.source) {
            Some(CapacitySource::Record { path, doubts, .. }) => {
                (Some(path.clone()), doubts.iter().map(|doubt| doubt.render(lang)).collect())
            }
            _ => (None, Vec::new()),
        };
        CapacityInputs {
            views_per_day: views[0],
            share: views[1],
            peak_s: views[2],
            requests_per_view: views[3],
            growth: self.growth.value,
            utilisation: self.utilisation.value,
            spare: self.spare,
            per_machine_per_s: self.per_machine.as_ref().map(|one| one.per_s),
            record,
            doubts,
            latency_s: self.latency_s,
            bytes_per_connection: self.connection_bytes,
            ports: self.ports,
        }
    }
}
