//! One connection of a worker.

use std::collections::VecDeque;

use brunt_measure::Nanos;

use crate::calls::{CallAction, OpenCalls};
use crate::protocol_session::{TargetProtocol, TargetSession};
use crate::responder::AnswerPlan;

/// A connection, its session and its pending answers.
pub(crate) struct TargetConnection<S> {
    pub session: S,
    /// Unanswered requests, oldest first, or by due time if answers need not keep the order of
    /// their requests.
    pub waiting: VecDeque<AnswerPlan>,
    /// Bytes held by these requests.
    pub waiting_bytes: usize,
    /// Total bytes the connection held when it was last measured, as counted by its worker.
    pub weight: usize,
    /// Unanswered gRPC calls.
    pub calls: OpenCalls,
    /// A large answer in progress, and the number of its blocks left.
    pub large_answer: Option<Box<(AnswerPlan, u64)>>,
    pub end: CloseMode,
    /// Set if the connection is in the list of those to poll.
    pub watched: bool,
    /// Due time of the connection's timer; [`Nanos::MAX`] if it has none.
    pub armed: Nanos,
    /// Generation, which distinguishes the connection from earlier ones in the same slot.
    pub generation: u32,
    /// Protocol under which the connection is counted; `None` before the first bytes.
    pub counted_protocol: Option<TargetProtocol>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseMode {
    /// The connection stays open.
    Open,
    /// The connection is closed once everything is sent.
    Close,
    /// The connection is reset at once.
    Reset,
}

impl<S> TargetConnection<S> {
    /// Creates the state of a connection just accepted.
    pub fn new(session: S, birth: u32) -> TargetConnection<S> {
        let (waiting, calls, pouring, armed) = (VecDeque::new(), OpenCalls::default(), None, Nanos::MAX);
        let (kept, weight) = (0, 0);
        TargetConnection {
            session,
            waiting,
            waiting_bytes: kept,
            weight,
            calls,
            large_answer: pouring,
            end: CloseMode::Open,
            watched: false,
            armed,
            generation: birth,
            counted_protocol: None,
        }
    }

    #[inline]
    pub fn is_free(&self) -> bool {
        self.end == CloseMode::Open && self.large_answer.is_none()
    }
}

/// Returns the bytes that a request holds while it waits for its answer.
fn size(plan: &AnswerPlan) -> usize {
    let echo = plan.request.echo.as_ref().map_or(0, |echo| echo.len());
    size_of::<AnswerPlan>() + plan.request.spec.size() + echo
}

impl<S: TargetSession> TargetConnection<S> {
    /// Returns the bytes held for the client, except those held by the network.
    #[inline]
    pub fn held(&self) -> usize {
        self.waiting_bytes + self.session.held()
    }

    /// Queues a request that will never be answered, in front of the others.
    pub fn queue_first(&mut self, plan: AnswerPlan) {
        self.waiting_bytes += size(&plan);
        self.waiting.push_front(plan);
    }

    /// Returns `true` if a request that is due may be answered before those already waiting.
    #[inline]
    pub fn may_pass(&self) -> bool {
        self.waiting.is_empty() || !self.session.protocol().keeps_order()
    }

    /// Queues a request until its answer is due.
    pub fn queue(&mut self, plan: AnswerPlan) {
        self.waiting_bytes += size(&plan);
        if self.session.protocol().keeps_order() {
            return self.waiting.push_back(plan);
        }
        if plan.action != CallAction::Whole
            && let Some(call) = self.calls.get_mut(plan.request.id)
        {
            call.waiting += 1;
        }
        let at = self.waiting.partition_point(|other| other.due <= plan.due);
        self.waiting.insert(at, plan);
    }

    /// Removes and returns the next request whose answer is due.
    pub fn take_due(&mut self, now: Nanos) -> Option<AnswerPlan> {
        self.waiting.front().filter(|plan| plan.due <= now)?;
        let due = self.waiting.pop_front();
        self.waiting_bytes -= due.as_ref().map_or(0, size);
        if let Some(plan) = due.as_ref().filter(|plan| plan.action != CallAction::Whole)
            && let Some(call) = self.calls.get_mut(plan.request.id)
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
