//! Batches: requests of a flow that are sent together.

use std::sync::Arc;

use measure::Nanos;
use plan::flow::OnFailure;

use super::Flow;
use crate::program::Op;
use crate::{Act, UserIndex};

/// A request of a batch that was just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InBatch {
    /// Time at which the batch began.
    pub began: Nanos,
    /// Failure policy of the request. The sender keeps it, because the requests of a batch end in any order.
    pub on_failure: OnFailure,
}

impl Flow {
    /// Returns the batch request that the user sent last, if it is inside a batch.
    pub(super) fn batch(&self, user: UserIndex) -> Option<InBatch> {
        let player = self.players.get(user.at()).filter(|player| player.batch > 0)?;
        let Some(Op::Batch(batch)) = self.program.ops.get(player.at as usize) else { return None };
        let sent = self.program.batches[*batch].sends.get(player.batch as usize - 1);
        let on_failure = sent.map(|(_, on_failure)| *on_failure).unwrap_or_default();
        Some(InBatch { began: player.batch_began, on_failure })
    }

    /// Returns the next action of a batch: a request if one may be sent, or a wait; `None` if all requests are over.
    pub(super) fn next_of_batch(&mut self, user: UserIndex, batch: usize, at: Nanos) -> Option<Act> {
        let program = Arc::clone(&self.program);
        let batch = &program.batches[batch];
        let player = &mut self.players[user.at()];
        if player.batch == 0 {
            player.batch_began = at;
        }
        let next = batch.sends.get(player.batch as usize).filter(|_| !player.dropped);
        match next {
            Some((request, _)) if player.flying < batch.at_most => {
                (player.batch, player.flying) = (player.batch + 1, player.flying + 1);
                player.at -= 1;
                Some(Act::Send(*request))
            }
            _ if player.flying > 0 => {
                player.at -= 1;
                Some(Act::Wait)
            }
            _ => {
                player.batch = 0;
                None
            }
        }
    }
}
