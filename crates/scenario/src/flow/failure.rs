//! What a user does after a failed step: it sends nothing more in this iteration, and begins the next one no sooner than
//! the plan says.

use std::sync::Arc;

use brunt_contract::UserValues;
use brunt_measure::Nanos;
use brunt_plan::flow::OnFailure;

use super::FlowScenario;
use super::position::{FlowSection, OpenSpan, SOON};
use crate::UserIndex;
use crate::program::{ElementSource, FlowOp, LoopBody};

/// Duration of the first iteration that a failure cuts short, if none has succeeded yet and the plan has no pauses. Each
/// further one in a row doubles it.
const MIN_CUT_SHORT: Nanos = Nanos::from_millis(10);
/// The longest such duration.
const MAX_CUT_SHORT: Nanos = Nanos::from_millis(500);
/// Weight of earlier iterations in the usual duration, to one of the latest.
const MEMORY: u64 = 7;

impl FlowScenario {
    /// Handles a failed request according to its failure policy.
    pub(super) fn request_failed(&mut self, user: UserIndex, in_batch: OnFailure) {
        let program = Arc::clone(&self.program);
        let player = &mut self.positions[user.at()];
        player.failed = true;
        let op = |at: u32| program.ops.get(at as usize);
        let on_failure = match (op(player.at), player.at.checked_sub(1).and_then(op)) {
            (Some(FlowOp::Batch(_)), _) if player.batch_sent > 0 => in_batch,
            (_, Some(FlowOp::Send(_, on_failure))) => *on_failure,
            _ => OnFailure::NextIteration,
        };
        player.batch_failed |= on_failure != OnFailure::GoOn;
        // A user whose start section failed cannot continue.
        let begins = player.section == FlowSection::Start && on_failure != OnFailure::GoOn;
        let leaves = begins || matches!(on_failure, OnFailure::StopUser | OnFailure::StopRun);
        let leaves_now = leaves && !player.leaving;
        player.leaving |= leaves;
        self.stops.run |= on_failure == OnFailure::StopRun;
        self.stops.user |= leaves_now && (begins || on_failure == OnFailure::StopUser);
        let under_way = |span: &&mut OpenSpan| span.began < SOON;
        self.spans_of(user).iter_mut().filter(under_way).for_each(|span| span.failed = true);
    }

    /// Returns `true` for operations that a user skips after a failed step: everything that reaches a server, and every
    /// round of a loop beyond those in which the plan pauses. Pauses and pace still apply to the rest of the iteration.
    pub(super) fn skips(&mut self, user: UserIndex, op: &FlowOp, values: &UserValues) -> bool {
        let position = &mut self.positions[user.at()];
        match op {
            FlowOp::Send(..) | FlowOp::Batch(_) => {
                position.cut_short = true;
                true
            }
            FlowOp::Begin(_) | FlowOp::Close(_) => true,
            FlowOp::EndRepeat(.., body) | FlowOp::NextRound(_, body) => *body == LoopBody::OnlySends,
            FlowOp::RepeatValue(counter, value, body, _) => {
                let is_passed = *body == LoopBody::OnlySends || values.get(*value).is_none();
                if is_passed {
                    // A value that was never captured counts as one round.
                    *self.counter(user, *counter) = 1;
                }
                is_passed
            }
            FlowOp::NextElement(list, counter, body, _) => {
                *body == LoopBody::OnlySends || self.is_unknown(user, (*list, *counter), values)
            }
            // A condition may hold forever now that nothing is asked.
            FlowOp::Goto(to) => *to < position.at,
            _ => false,
        }
    }

    /// Returns `true` once if the list of a loop was not captured: it is passed like a list of one element.
    fn is_unknown(&mut self, user: UserIndex, (list, counter): (usize, u32), values: &UserValues) -> bool {
        let captured = match self.program.lists.get(list).map(|list| &list.source) {
            Some(ElementSource::Value(value)) => values.element(*value, 0).is_some(),
            _ => true,
        };
        let taken = self.counter(user, counter);
        let unknown = !captured && *taken == 0;
        if unknown {
            *taken = u32::MAX;
        }
        unknown
    }

    /// Returns how long a user waits at the end of an iteration that a failure cut short, so that it sends its first
    /// requests no more often than in iterations that succeed. Where the plan pauses, its pauses say when the next
    /// iteration begins.
    pub(super) fn cut_short_delay(&mut self, user: UserIndex, at: Nanos) -> Option<Nanos> {
        let position = &mut self.positions[user.at()];
        let is_short = std::mem::take(&mut position.cut_short) && position.paused == Nanos::ZERO;
        // A user that cannot connect is held back already.
        if !is_short || position.disconnected || self.by_arrivals {
            return None;
        }
        let least = self.usual_duration.unwrap_or_else(|| {
            let whole = Nanos(MIN_CUT_SHORT.0 << position.cut_in_a_row.min(16)).min(MAX_CUT_SHORT);
            position.cut_in_a_row = position.cut_in_a_row.saturating_add(1);
            // Users that failed together do not come back together.
            self.rng.between(Nanos(whole.0 / 2), whole)
        });
        let left = position.began.saturating_add(least) - at;
        (left > Nanos::ZERO).then_some(left)
    }

    /// Records the duration of an iteration that succeeded.
    pub(super) fn passed(&mut self, user: UserIndex, lasted: Nanos) {
        self.positions[user.at()].cut_in_a_row = 0;
        let usual =
            self.usual_duration.map_or(lasted.0, |usual| usual.0 - usual.0 / (MEMORY + 1) + lasted.0 / (MEMORY + 1));
        self.usual_duration = Some(Nanos(usual));
    }
}
