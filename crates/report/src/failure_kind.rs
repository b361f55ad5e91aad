//! Typed predicates for the kinds and phases of failures in records.

use brunt_record::{ConnectionLoss, Failure, Kind, Phase};

/// A recorded item with a kind and a phase.
pub(crate) trait FailureKind {
    /// Returns kind and phase.
    fn kind_and_phase(&self) -> (&str, &str);

    /// Returns `true` if it is of this kind.
    fn is(&self, kind: Kind) -> bool {
        self.kind_and_phase().0 == kind.name()
    }

    /// Returns `true` if it happened in this phase.
    fn is_in(&self, phase: Phase) -> bool {
        self.kind_and_phase().1 == phase.name()
    }
}

impl FailureKind for Failure {
    fn kind_and_phase(&self) -> (&str, &str) {
        (&self.kind, &self.phase)
    }
}

impl FailureKind for ConnectionLoss {
    fn kind_and_phase(&self) -> (&str, &str) {
        (&self.kind, &self.phase)
    }
}

impl FailureKind for brunt_record::FailureExample {
    fn kind_and_phase(&self) -> (&str, &str) {
        (&self.kind, &self.phase)
    }
}
