//! What a rule judges by.

use crate::counted::Counted;
use crate::run::Run;

/// A run, and what was counted beside it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The load as it was kept.
    pub run: Run,
    /// Counters of the machine that makes the load, and of the service where it runs there too.
    pub here: Counted,
}
