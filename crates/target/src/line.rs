//! One connection of a worker.

use std::collections::VecDeque;

use measure::Nanos;

use crate::calls::{Calls, Say};
use crate::conversation::{Conversation, Spoken};
use crate::responder::Plan;

/// A connection.
pub(crate) struct Line<S> {
    pub session: S,
    /// Requests not answered yet: the oldest first, or the one due first where answers keep no order.
    pub waiting: VecDeque<Plan>,
    /// Bytes that they hold.
    pub kept: usize,
    /// What the connection held in all when it was last looked at, as counted by its worker.
    pub weight: usize,
    /// gRPC calls not answered yet.
    pub calls: Calls,
    /// A large answer under way, and how many of its blocks are left.
    pub pouring: Option<Box<(Plan, u64)>>,
    pub end: End,
    /// Is in the list of connections to look at again.
    pub watched: bool,
    /// When its timer is due; [`Nanos::MAX`] where it has none.
    pub armed: Nanos,
    /// Distinguishes it from earlier connections in the slot.
    pub birth: u32,
    /// As what it is counted; None before it spoke.
    pub counted: Option<Spoken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Not in sight.
    Open,
    /// To be closed once everything was sent.
    Close,
    /// To be reset at once.
    Reset,
}

impl<S> Line<S> {
    /// A connection just accepted.
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

/// Bytes that a request holds while it waits for its answer.
fn size(plan: &Plan) -> usize {
    let echo = plan.heard.echo.as_ref().map_or(0, |echo| echo.len());
    size_of::<Plan>() + plan.heard.spec.size() + echo
}

impl<S: Conversation> Line<S> {
    /// Bytes held for its client, but for what the network holds.
    #[inline]
    pub fn held(&self) -> usize {
        self.kept + self.session.held()
    }

    /// Lets a request that is never answered stand before the others.
    pub fn keep_first(&mut self, plan: Plan) {
        self.kept += size(&plan);
        self.waiting.push_front(plan);
    }

    /// True where a request that is due may be answered before those that wait.
    #[inline]
    pub fn may_pass(&self) -> bool {
        self.waiting.is_empty() || !self.session.spoken().keeps_order()
    }

    /// Lets a request wait for its answer.
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

    /// The next request whose answer is due.
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
            // An idle connection holds no memory for what it does not do.
            self.waiting = VecDeque::new();
        }
        due
    }
}
