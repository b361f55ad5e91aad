//! A worker's state apart from its connections. Every answer, sent or withheld, passes through here, so that each
//! request received is counted exactly once.

use std::sync::Arc;

use brunt_contract::OutputBuffer;
use brunt_measure::Nanos;

use crate::arrivals::{ArrivalEntry, ArrivalLog};
use crate::calls::CallAction;
use crate::connection::{CloseMode, TargetConnection};
use crate::path_spec::{PathKind, WithheldAnswer};
use crate::protocol_session::{TargetProtocol, TargetSession};
use crate::responder::{AnswerPlan, NextStep, ParsedRequest, Responder};
use crate::stats::{ServerTally, Tallies};

/// Limit on bytes waiting for the client's flow-control windows, above which answers are held back.
const MOST_UNTAKEN: usize = 4 << 20;

/// Responder, counters, arrivals log and output buffer of a worker (see the module documentation).
pub(crate) struct Accounting {
    pub responder: Responder,
    pub tallies: Arc<Tallies>,
    pub tally: Arc<ServerTally>,
    pub log: Option<ArrivalLog>,
    /// Index of the first entry that has no time stamp yet.
    pub unstamped: usize,
    pub out: OutputBuffer,
}

impl Accounting {
    #[inline]
    pub fn count(&self, heard: &ParsedRequest) {
        let kind = heard.spec.kind;
        if !kind.is_monitoring() {
            self.tally.heard.add(1);
            self.tally.kinds[kind as usize].add(1);
        }
    }

    /// Counts a connection's protocol once it is known or has changed, the messages received, and
    /// the pings that the session answered itself.
    #[inline]
    pub fn update_protocol<S: TargetSession>(&self, line: &mut TargetConnection<S>, heard: u64) {
        let spoken = line.session.protocol();
        if line.counted_protocol != Some(spoken) && (heard > 0 || spoken != TargetProtocol::Http1) {
            self.uncount(line);
            line.counted_protocol = Some(spoken);
            self.tally.spoken[spoken as usize].opened.add(1);
        }
        let counts = &self.tally.spoken[spoken as usize];
        counts.messages.add(heard);
        counts.heartbeats.add(line.session.heartbeats());
    }

    /// Removes a connection from the count of the protocol it was counted under.
    pub fn uncount<S>(&self, line: &TargetConnection<S>) {
        if let Some(spoken) = line.counted_protocol {
            self.tally.spoken[spoken as usize].closed.add(1);
        }
    }

    /// Writes an answer that is due now, or queues it. `room` is the limit on bytes waiting for the client to
    /// read them.
    #[inline]
    pub fn take<S: TargetSession>(
        &mut self,
        line: &mut TargetConnection<S>,
        plan: AnswerPlan,
        now: Nanos,
        room: usize,
    ) {
        if line.may_pass() && line.is_free() && plan.due <= now && self.has_room(line, room) {
            self.begin_answer(line, plan);
        } else {
            line.queue(plan);
        }
    }

    /// Returns `true` if another answer may be written.
    #[inline]
    pub fn has_room<S: TargetSession>(&self, line: &TargetConnection<S>, room: usize) -> bool {
        self.out.len() < room && line.session.unread() < MOST_UNTAKEN
    }

    /// Writes an answer, or its beginning.
    #[inline]
    pub fn begin_answer<S: TargetSession>(&mut self, line: &mut TargetConnection<S>, plan: AnswerPlan) {
        let of_call = plan.action != CallAction::Whole;
        if of_call && line.calls.get_mut(plan.request.id).is_none() {
            // An earlier part has already ended the call.
            return;
        }
        let tallies = &self.tallies;
        let next = plan.answer(&mut line.session, &|| tallies.read().to_json(), &mut self.out);
        if of_call && !matches!(next, NextStep::PartWritten(_)) {
            line.calls.remove(plan.request.id);
        }
        match next {
            NextStep::PartWritten(left) => self.schedule_next(line, plan, left),
            NextStep::CallAnswered(status, messages) => {
                self.tally.call_messages_said.add(messages);
                self.framed(line, plan, Some(status));
            }
            NextStep::Complete => self.complete(line, plan),
            NextStep::Blocks(blocks) => line.large_answer = Some(Box::new((plan, blocks))),
            NextStep::Close => self.withhold(line, plan, CloseMode::Close),
            NextStep::Reset => self.withhold(line, plan, CloseMode::Reset),
            NextStep::Nothing => line.queue_first(AnswerPlan { due: Nanos::MAX, ..plan }),
            NextStep::Answered(status) => self.framed(line, plan, Some(status)),
            NextStep::Spoiled => self.framed(line, plan, None),
            NextStep::SpoiledClose => {
                line.end = CloseMode::Close;
                self.framed(line, plan, None);
            }
            NextStep::Refused => {
                self.tally.withheld.add(1);
                self.log_request(plan, Nanos::ZERO, 0);
            }
        }
    }

    /// Records that the whole answer was written.
    #[inline]
    pub fn complete<S: TargetSession>(&mut self, line: &mut TargetConnection<S>, plan: AnswerPlan) {
        let spec = plan.spec();
        if spec.close || line.session.is_finished() {
            line.end = CloseMode::Close;
        }
        let status = (!spec.spoiled).then_some(spec.status);
        self.settle(plan, status);
    }

    /// Records that the whole answer was written in frames; `status` is `None` if it was spoiled.
    fn framed<S: TargetSession>(&mut self, line: &mut TargetConnection<S>, plan: AnswerPlan, status: Option<u16>) {
        if line.session.is_finished() {
            line.end = CloseMode::Close;
        }
        self.settle(plan, status);
    }

    /// Counts an answer; `status` is `None` if it was spoiled.
    #[inline]
    fn settle(&mut self, plan: AnswerPlan, status: Option<u16>) {
        if plan.request.spec.kind.is_monitoring() {
            self.tally.watching.add(1);
            if plan.request.spec.kind == PathKind::ResetStats {
                self.tallies.reset();
            }
            return;
        }
        match status {
            None => self.tally.spoiled.add(1),
            Some(status) => {
                self.tally.status[usize::from(status)].add(1);
                self.tally.answered.add(1);
            }
        }
        let status = status.unwrap_or(plan.spec().status);
        self.log_request(plan, Nanos::MAX, status);
    }

    fn withhold<S>(&mut self, line: &mut TargetConnection<S>, plan: AnswerPlan, end: CloseMode) {
        line.end = end;
        self.tally.withheld.add(1);
        self.log_request(plan, Nanos::ZERO, 0);
    }

    pub fn abandon(&mut self, plan: AnswerPlan) {
        if plan.request.spec.kind.is_monitoring() {
            return;
        }
        // A request whose answer is withheld on purpose was not abandoned.
        match plan.spec().withheld {
            Some(WithheldAnswer::Hang) => self.tally.withheld.add(1),
            _ => self.tally.abandoned.add(1),
        }
        self.log_request(plan, Nanos::ZERO, 0);
    }

    /// Handles input that is not a request: sends an error if no earlier answer is pending, and closes.
    pub fn refuse<S: TargetSession>(&mut self, line: &mut TargetConnection<S>) {
        self.tally.malformed.add(1);
        if line.is_free() && (line.waiting.is_empty() || line.session.protocol() != TargetProtocol::Http1) {
            line.session.refuse(&mut self.out);
        }
        if line.end == CloseMode::Open {
            line.end = CloseMode::Close;
        }
    }

    /// Logs a request; an `answered` of [`Nanos::MAX`] is set to the time of the next send.
    #[inline]
    fn log_request(&mut self, plan: AnswerPlan, answered: Nanos, status: u16) {
        if let Some(log) = &mut self.log {
            log.entries.push(ArrivalEntry { arrived: plan.arrived, answered, status, spec: plan.request.spec });
        }
    }

    pub fn stamp(&mut self, sent: Nanos) {
        let Some(log) = &mut self.log else { return };
        for entry in log.entries[self.unstamped..].iter_mut().filter(|entry| entry.answered == Nanos::MAX) {
            entry.answered = sent;
        }
        self.unstamped = log.entries.len();
    }
}
