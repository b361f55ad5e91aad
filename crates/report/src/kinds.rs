//! Kinds and phases of failure as a record spells them, with typed predicates.

use record::{Failure, Kind, ConnectionLoss, Phase};

/// A recorded item that has a kind and a phase.
pub(crate) trait Kinds {
    /// Returns kind and phase.
    fn words(&self) -> (&str, &str);

    /// Returns `true` if it is of this kind.
    fn is(&self, kind: Kind) -> bool {
        self.words().0 == kind.name()
    }

    /// Returns `true` if it happened in this phase.
    fn is_in(&self, phase: Phase) -> bool {
        self.words().1 == phase.name()
    }
}

impl Kinds for Failure {
    fn words(&self) -> (&str, &str) {
        (&self.kind, &self.phase)
    }
}

impl Kinds for ConnectionLoss {
    fn words(&self) -> (&str, &str) {
        (&self.kind, &self.phase)
    }
}

impl Kinds for record::FailureExample {
    fn words(&self) -> (&str, &str) {
        (&self.kind, &self.phase)
    }
}
