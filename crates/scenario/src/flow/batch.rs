//! Batches: requests of a flow that are sent together.

use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_plan::flow::OnFailure;

use super::FlowScenario;
use crate::program::FlowOp;
use crate::{Action, UserIndex};

/// A request of a batch that was just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMember {
    /// Time at which the batch began.
    pub began: Nanos,
    /// Failure policy of the request. The sender keeps it, because the requests of a batch end in any order.
    pub on_failure: OnFailure,
}

impl FlowScenario {
    /// Returns the batch request that the user sent last, if it is inside a batch.
    pub(super) fn last_batch_member(&self, user: UserIndex) -> Option<BatchMember> {
        let player = self.positions.get(user.at()).filter(|player| player.batch_sent > 0)?;
        let Some(FlowOp::Batch(batch)) = self.program.ops.get(player.at as usize) else { return None };
        let sent = self.program.batches[*batch].sends.get(player.batch_sent as usize - 1);
        let on_failure = sent.map(|(_, on_failure)| *on_failure).unwrap_or_default();
        Some(BatchMember { began: player.batch_began, on_failure })
    }

    /// Returns the next action of a batch: a request if one may be sent, otherwise a wait; `None` once all requests
    /// have ended.
    pub(super) fn next_of_batch(&mut self, user: UserIndex, batch: usize, at: Nanos) -> Option<Action> {
        let program = Arc::clone(&self.program);
        let batch = &program.batches[batch];
        let player = &mut self.positions[user.at()];
        if player.batch_sent == 0 {
            player.batch_began = at;
        }
        let next = batch.sends.get(player.batch_sent as usize).filter(|_| !player.batch_failed);
        match next {
            Some(_) if player.disconnected => {
                player.at -= 1;
                Some(Action::Wait)
            }
            Some((request, _)) if player.in_flight < batch.max_in_flight => {
                (player.batch_sent, player.in_flight) = (player.batch_sent + 1, player.in_flight + 1);
                player.at -= 1;
                Some(Action::Send(*request))
            }
            _ if player.in_flight > 0 => {
                player.at -= 1;
                Some(Action::Wait)
            }
            _ => {
                player.batch_sent = 0;
                None
            }
        }
    }
}
