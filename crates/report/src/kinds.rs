//! Kinds and phases of failure as a record spells them: what hangs on one is asked here.

use record::{Failure, Kind, ConnectionLoss, Phase};

/// Something of which a record tells the kind and the phase.
pub(crate) trait Kinds {
    /// Both words.
    fn words(&self) -> (&str, &str);

    /// True where it is of this kind.
    fn is(&self, kind: Kind) -> bool {
        self.words().0 == kind.name()
    }

    /// True where it happened in this phase.
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
