//! What the slots of requests are filled with.

use crate::Values;

/// What the slots of a prepared request are filled with this time.
#[derive(Clone, Copy, Debug)]
pub struct Fill<'a> {
    /// Requests of the run before this one: no two of a run have the same.
    pub number: u64,
    /// The user who sends it, counted over the whole run; in open load the one who visits with the arrival.
    pub user: u64,
    /// Random bits.
    pub random: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
    /// Random bits of the run, the same in all its requests.
    pub run: u64,
    /// What is said on its connection is counted by the session: which of it this is, from 1 on. 0: it is not counted.
    pub sequence: u64,
    /// What its user knows by name, in a flow.
    pub values: &'a Values,
}

impl Default for Fill<'_> {
    fn default() -> Self {
        Fill { number: 0, user: 0, random: 0, unix_ns: 0, run: 0, sequence: 0, values: Values::NONE }
    }
}

impl Fill<'_> {
    /// The same without the values, which are its user's.
    pub fn without_values(self) -> Fill<'static> {
        Fill { values: Values::NONE, ..self }
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> u64 {
        self.unix_ns / 1_000_000_000
    }
}
