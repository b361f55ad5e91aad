//! Scheduling and accounting of gRPC calls: the parts of an answer are due in order, and each call
//! is counted once.

use brunt_contract::RequestPart;
use brunt_measure::Nanos;
use brunt_protocols::grpc::server;

use crate::accounting::Accounting;
use crate::calls::{CallAction, CallPart, TargetCall};
use crate::connection::TargetConnection;
use crate::path_spec::WithheldAnswer;
use crate::protocol_session::TargetSession;
use crate::responder::{AnswerPlan, ParsedRequest};

const TOO_LATE: &str = "the deadline passed";

impl Accounting {
    /// Handles a received part of a call; `room` is as in [`Accounting::take`].
    pub fn receive_call<S: TargetSession>(
        &mut self,
        line: &mut TargetConnection<S>,
        heard: ParsedRequest,
        now: Nanos,
        room: usize,
    ) {
        let id = heard.id;
        match heard.extent {
            RequestPart::Whole | RequestPart::Head => {
                self.count(&heard);
                self.tally.calls.add(1);
                let call = TargetCall::new(&heard, now, self.responder.draw_fault());
                line.calls.insert(id, call);
            }
            RequestPart::Aborted => {
                if let Some(call) = line.calls.remove(id) {
                    self.abandon_call(call);
                }
            }
            RequestPart::BodyChunk | RequestPart::LastChunk => {
                let Some(call) = line.calls.get_mut(id) else { return };
                let prompt = self.responder.is_prompt(&call.spec);
                let piece = heard.echo.as_deref().unwrap_or_default();
                let (messages, says) = call.receive(piece, heard.extent == RequestPart::LastChunk, prompt);
                self.tally.call_messages_heard.add(messages);
                for saying in says {
                    self.plan_part(line, id, saying, now, room);
                }
            }
        }
    }

    /// Schedules a part of an answer for its due time, after the parts before it.
    fn plan_part<S: TargetSession>(
        &mut self,
        line: &mut TargetConnection<S>,
        id: u32,
        saying: CallPart,
        now: Nanos,
        room: usize,
    ) {
        let Some(call) = line.calls.get_mut(id).filter(|call| !call.end_planned) else { return };
        let hangs = call.instead.is_none() && call.spec.withheld == Some(WithheldAnswer::Hang);
        let at = match saying.0 {
            _ if hangs => Nanos::MAX,
            // The status comes with the last message.
            CallAction::End(..) if call.last_due > Nanos::ZERO => call.last_due,
            _ => self.responder.due(now, &call.spec).max(call.last_due),
        };
        let waits = call.waiting > 0;
        let Some(plan) = call.part(at, saying) else { return };
        if waits { line.queue(plan) } else { self.take(line, plan, now, room) }
    }

    /// Schedules the next of a series of messages.
    pub fn schedule_next<S: TargetSession>(&mut self, line: &mut TargetConnection<S>, plan: AnswerPlan, left: u64) {
        self.tally.call_messages_said.add(1);
        if left == 0 {
            return;
        }
        let Some(call) = line.calls.get_mut(plan.request.id) else { return };
        let at = self.responder.due(plan.due, &call.spec);
        let message = plan.request.echo.unwrap_or_default();
        if let Some(next) = call.part(at, (CallAction::Series(left), message)) {
            line.queue(next);
        }
    }

    /// Records that the client cancelled a call, or that the connection ended.
    pub fn abandon_call(&mut self, call: TargetCall) {
        let plan = call.plan(Nanos::MAX, (CallAction::Whole, Box::default()));
        self.abandon(plan);
    }
}

impl TargetCall {
    /// Plans a part due at `at`, or the end of the call if `at` is beyond its deadline; returns
    /// `None` if the part is never due.
    fn part(&mut self, at: Nanos, saying: CallPart) -> Option<AnswerPlan> {
        let late = at > self.deadline;
        let (at, saying) = if late {
            (self.deadline, (CallAction::End(server::DEADLINE_EXCEEDED, TOO_LATE.into()), Box::default()))
        } else {
            (at, saying)
        };
        if at == Nanos::MAX {
            return None;
        }
        self.last_due = at;
        self.end_planned = !matches!(saying.0, CallAction::Message);
        Some(self.plan(at, saying))
    }
}
