//! Why a conversation ended without the response that was awaited.

use wire::{Broken, Dialogue, FaultKind, Session, bracketed};

use super::{Conversation, Trouble, no_answer};

impl<D: Dialogue> Conversation<'_, D> {
    /// Why a conversation ended in which the peer does not do as the protocol says, or refuses, as it may.
    pub(super) fn broken(&self, broken: Broken) -> Trouble {
        match self.links.session(self.conn).map_or(FaultKind::BrokenProtocol, Session::refusal) {
            kind @ FaultKind::BrokenProtocol => {
                Trouble { fault: Some(kind), ..no_answer(format!("the response is broken: {}", broken.0)) }
            }
            kind => Trouble { fault: Some(kind), ..no_answer(broken.0) },
        }
    }

    /// Its time was over.
    pub(super) fn too_late(&self) -> Trouble {
        let span = if self.begun > 0 { self.one_shot.patience } else { self.one_shot.setup.plan.connect_timeout };
        let origin = self.one_shot.origin;
        let beyond = self.one_shot.setup.security.proxy(origin).filter(|_| self.reached);
        let beyond = beyond.map(|proxy| format!("{}:{} behind {proxy}", bracketed(&origin.host), origin.port));
        let name = beyond.as_deref().unwrap_or(&self.name);
        let why = match self.one_shot.until < self.deadline {
            true => format!("{name} did not answer in the time that --run-timeout left"),
            false => format!("{name} did not answer within {}", measure::format_duration(span)),
        };
        Trouble { why, unreachable: self.links.session(self.conn).is_none(), fault: None }
    }
}
