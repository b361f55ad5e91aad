//! Values for the slots of requests.

use crate::UserValues;

/// Values for the slots of a prepared request, for one send.
#[derive(Clone, Copy, Debug)]
pub struct SlotContext<'a> {
    /// Number of requests sent in the run before this one; unique within the run.
    pub number: u64,
    /// Number of the sending user, counted over the whole run; under open load, that of the virtual user that arrives
    /// with the request.
    pub user: u64,
    /// Random bits.
    pub random: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
    /// Random bits shared by all requests of the run.
    pub run: u64,
    /// Sequence number of the message on its connection, from 1, if the session counts messages; otherwise 0.
    pub sequence: u64,
    /// Values that the user has captured by name, in a flow.
    pub values: &'a UserValues,
}

impl Default for SlotContext<'_> {
    fn default() -> Self {
        SlotContext { number: 0, user: 0, random: 0, unix_ns: 0, run: 0, sequence: 0, values: UserValues::NONE }
    }
}

impl SlotContext<'_> {
    /// Returns a copy without the captured values, which belong to the user.
    pub fn without_values(self) -> SlotContext<'static> {
        SlotContext { values: UserValues::NONE, ..self }
    }

    /// Returns the time in seconds since 1970.
    pub fn seconds(&self) -> u64 {
        self.unix_ns / 1_000_000_000
    }
}
