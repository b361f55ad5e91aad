//! Figures by name: what a second held of the requests of one name.

use std::collections::BTreeMap;

use measure::Packed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts;

counts! {
    /// Counts of the requests of one name; those of all names add up to the counts of the same name of a second.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub struct NamedCounts {
        /// Requests whose intended time lies in it, warm-up left out.
        #[serde(skip_serializing_if = "is_zero")]
        due,
        /// Successes that ended in it.
        #[serde(skip_serializing_if = "is_zero")]
        finished,
        /// Failures that ended in it.
        #[serde(skip_serializing_if = "is_zero")]
        failed,
        /// Given up unfinished at the end of the run.
        #[serde(skip_serializing_if = "is_zero")]
        censored,
        /// Successes of requests of the warm-up that ended in it: in throughput, in no other figure.
        #[serde(skip_serializing_if = "is_zero")]
        finished_of_warmup,
        /// Bytes of payload of the answers.
        #[serde(skip_serializing_if = "is_zero")]
        payload,
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What a second held of the requests of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Index into the names of [`crate::Started`].
    pub name: u16,
    /// The counts.
    pub counts: NamedCounts,
    /// Status code → count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<String, u64>,
    /// Latency of the successes: response in open load, service in closed.
    #[serde(default, skip_serializing_if = "Packed::is_empty")]
    pub latency: Packed,
    /// Lower bounds of the same of requests that did not finish.
    #[serde(default, skip_serializing_if = "Packed::is_empty")]
    pub at_least: Packed,
}

impl Named {
    /// Adds another's of the same name.
    pub fn merge(&mut self, other: &Named) {
        self.counts.add(&other.counts);
        for (code, n) in &other.status {
            crate::add_code(&mut self.status, code, *n);
        }
        self.latency.merge(&other.latency);
        self.at_least.merge(&other.at_least);
    }

    /// The figures of this name in a list in the order of names, made where there are none yet.
    pub fn of(list: &mut Vec<Named>, name: u16) -> &mut Named {
        let at = list.binary_search_by_key(&name, |named| named.name).unwrap_or_else(|at| {
            list.insert(at, Named { name, ..Named::default() });
            at
        });
        &mut list[at]
    }
}
