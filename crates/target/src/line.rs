//! One connection of a worker.

use std::collections::VecDeque;

use measure::Nanos;

use crate::calls::{Calls, Say};
use crate::conversation::{Conversation, Spoken};
use crate::responder::Plan;

/// A connection, its session and its pending answers.
pub(crate) struct Line<S> {
    pub session: S,
    /// Unanswered requests: the oldest first, or the one due first if answers keep no order.
    pub waiting: VecDeque<Plan>,
    /// Bytes held by these requests.
    pub kept: usize,
    /// Total bytes the connection held when it was last measured, as counted by its worker.
    pub weight: usize,
    /// Unanswered gRPC calls.
    pub calls: Calls,
    /// A large answer in progress, and the number of its blocks left.
    pub pouring: Option<Box<(Plan, u64)>>,
    pub end: End,
    /// Set if it is in the list of connections to check again.
    pub watched: bool,
    /// Due time of its timer; [`Nanos::MAX`] if it has none.
    pub armed: Nanos,
    /// Generation, which distinguishes it from earlier connections in the slot.
    pub birth: u32,
    /// Protocol it is counted under; `None` before the first bytes.
    pub counted: Option<Spoken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No end in sight.
    Open,
    /// Closed once everything is sent.
    Close,
    /// Reset at once.
    Reset,
}

impl<S> Line<S> {
    /// Creates the state of a connection just accepted.
    pub fn new(session: S, birth: u32) -> Line<S> {
        let (waiting, calls, pouring, armed) = (VecDeque::new(), Calls::default(), None, Nanos::MAX);
        let (kept, weight) = (0, 0);
        Line {
            session,
            waiting,
            kept,
            weight,
            calls,
            pouring,
            end: End::Open,
            watched: false,
            armed,
            birth,
            counted: None,
        }
    }

    #[inline]
    pub fn is_free(&self) -> bool {
        self.end == End::Open && self.pouring.is_none()
    }
}

/// Returns the bytes that a request holds while it waits for its answer.
fn size(plan: &Plan) -> usize {
    let echo = plan.heard.echo.as_ref().map_or(0, |echo| echo.len());
    size_of::<Plan>() + plan.heard.spec.size() + echo
}

impl<S: Conversation> Line<S> {
    /// Returns the bytes held for the client, except those held by the network.
    #[inline]
    pub fn held(&self) -> usize {
        self.kept + self.session.held()
    }

    /// Queues a request that is never answered in front of the others.
    pub fn keep_first(&mut self, plan: Plan) {
        self.kept += size(&plan);
        self.waiting.push_front(plan);
    }

    /// Returns `true` if a request that is due may be answered before those already waiting.
    #[inline]
    pub fn may_pass(&self) -> bool {
        self.waiting.is_empty() || !self.session.spoken().keeps_order()
    }

    /// Queues a request until its answer is due.
    pub fn keep(&mut self, plan: Plan) {
        self.kept += size(&plan);
        if self.session.spoken().keeps_order() {
            return self.waiting.push_back(plan);
        }
        if plan.say != Say::Whole
            && let Some(call) = self.calls.get_mut(plan.heard.id)
        {
            call.waiting += 1;
        }
        let at = self.waiting.partition_point(|other| other.at <= plan.at);
        self.waiting.insert(at, plan);
    }

    /// Removes and returns the next request whose answer is due.
    pub fn take_due(&mut self, now: Nanos) -> Option<Plan> {
        self.waiting.front().filter(|plan| plan.at <= now)?;
        let due = self.waiting.pop_front();
        self.kept -= due.as_ref().map_or(0, size);
        if let Some(plan) = due.as_ref().filter(|plan| plan.say != Say::Whole)
            && let Some(call) = self.calls.get_mut(plan.heard.id)
        {
            call.waiting -= 1;
        }
        if self.waiting.is_empty() {
            // An idle connection holds no memory for an empty queue.
            self.waiting = VecDeque::new();
        }
        due
    }
}
