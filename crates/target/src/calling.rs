//! The scheduling and accounting of gRPC calls: which parts of an answer are due when, in order within a call,
//! with one accounting entry for each call.

use measure::Nanos;
use protocols::grpc::server;
use wire::RequestPart;

use crate::accounting::Accounting;
use crate::calls::{Call, Say, Saying};
use crate::conversation::Conversation;
use crate::line::Line;
use crate::path_spec::Withheld;
use crate::responder::{Heard, Plan};

const TOO_LATE: &str = "the deadline passed";

impl Accounting {
    /// Handles a received part of a call; `room` is as in [`Accounting::take`].
    pub fn hear_call<S: Conversation>(&mut self, line: &mut Line<S>, heard: Heard, now: Nanos, room: usize) {
        let id = heard.id;
        match heard.extent {
            RequestPart::Whole | RequestPart::Head => {
                self.count(&heard);
                self.tally.calls.add(1);
                let call = Call::new(&heard, now, self.responder.chance());
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
                let (messages, says) = call.hear(piece, heard.extent == RequestPart::LastChunk, prompt);
                self.tally.call_messages_heard.add(messages);
                for saying in says {
                    self.plan_part(line, id, saying, now, room);
                }
            }
        }
    }

    /// Schedules a part of an answer for its due time, after the parts before it.
    fn plan_part<S: Conversation>(&mut self, line: &mut Line<S>, id: u32, saying: Saying, now: Nanos, room: usize) {
        let Some(call) = line.calls.get_mut(id).filter(|call| !call.over) else { return };
        let hangs = call.instead.is_none() && call.spec.withheld == Some(Withheld::Hang);
        let at = match saying.0 {
            _ if hangs => Nanos::MAX,
            // The status comes with the last message.
            Say::End(..) if call.at > Nanos::ZERO => call.at,
            _ => self.responder.due(now, &call.spec).max(call.at),
        };
        let waits = call.waiting > 0;
        let Some(plan) = call.part(at, saying) else { return };
        if waits { line.keep(plan) } else { self.take(line, plan, now, room) }
    }

    /// Schedules the next of a series of messages.
    pub fn go_on<S: Conversation>(&mut self, line: &mut Line<S>, plan: Plan, left: u64) {
        self.tally.call_messages_said.add(1);
        if left == 0 {
            return;
        }
        let Some(call) = line.calls.get_mut(plan.heard.id) else { return };
        let at = self.responder.due(plan.at, &call.spec);
        let message = plan.heard.echo.unwrap_or_default();
        if let Some(next) = call.part(at, (Say::Series(left), message)) {
            line.keep(next);
        }
    }

    /// Records that the client cancelled a call, or that the connection ended.
    pub fn abandon_call(&mut self, call: Call) {
        let plan = call.plan(Nanos::MAX, (Say::Whole, Box::default()));
        self.abandon(plan);
    }
}

impl Call {
    /// Plans a part due at `at`, or the end of the call if `at` is beyond its deadline; `None` if it is never
    /// due.
    fn part(&mut self, at: Nanos, saying: Saying) -> Option<Plan> {
        let late = at > self.until;
        let (at, saying) = if late {
            (self.until, (Say::End(server::DEADLINE_EXCEEDED, TOO_LATE.into()), Box::default()))
        } else {
            (at, saying)
        };
        if at == Nanos::MAX {
            return None;
        }
        self.at = at;
        self.over = !matches!(saying.0, Say::Message);
        Some(self.plan(at, saying))
    }
}
