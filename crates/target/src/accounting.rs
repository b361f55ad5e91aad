//! The worker's state apart from its connections. Every answer, sent or withheld, passes through here, so that
//! each request received is counted exactly once.

use std::sync::Arc;

use measure::Nanos;
use wire::OutputBuffer;

use crate::arrivals::{Entry, Log};
use crate::calls::Say;
use crate::conversation::{Conversation, Spoken};
use crate::line::{End, Line};
use crate::path_spec::{Kind, Withheld};
use crate::responder::{Heard, Next, Plan, Responder};
use crate::stats::{Tallies, Tally};

/// Limit on bytes waiting for the client's flow-control windows; above it answers are held back.
const MOST_UNTAKEN: usize = 4 << 20;

/// Responder, counters, arrivals log and output buffer of a worker (see the module documentation).
pub(crate) struct Accounting {
    pub responder: Responder,
    pub tallies: Arc<Tallies>,
    pub tally: Arc<Tally>,
    pub log: Option<Log>,
    /// Index of the first entry that has no time stamp yet.
    pub unstamped: usize,
    pub out: OutputBuffer,
}

impl Accounting {
    #[inline]
    pub fn count(&self, heard: &Heard) {
        let kind = heard.spec.kind;
        if !kind.is_watching() {
            self.tally.heard.add(1);
            self.tally.kinds[kind as usize].add(1);
        }
    }

    /// Counts a connection's protocol once it is known or has changed, the messages received, and the pings it
    /// answered by itself.
    #[inline]
    pub fn take_note<S: Conversation>(&self, line: &mut Line<S>, heard: u64) {
        let spoken = line.session.spoken();
        if line.counted != Some(spoken) && (heard > 0 || spoken != Spoken::Http1) {
            self.part(line);
            line.counted = Some(spoken);
            self.tally.spoken[spoken as usize].opened.add(1);
        }
        let counts = &self.tally.spoken[spoken as usize];
        counts.messages.add(heard);
        counts.heartbeats.add(line.session.heartbeats());
    }

    /// Uncounts a connection from the protocol it was counted under.
    pub fn part<S>(&self, line: &Line<S>) {
        if let Some(spoken) = line.counted {
            self.tally.spoken[spoken as usize].closed.add(1);
        }
    }

    /// Writes an answer that is due now, or queues it. `room` is the limit on bytes waiting for the client to
    /// read them.
    #[inline]
    pub fn take<S: Conversation>(&mut self, line: &mut Line<S>, plan: Plan, now: Nanos, room: usize) {
        if line.may_pass() && line.is_free() && plan.at <= now && self.has_room(line, room) {
            self.perform(line, plan);
        } else {
            line.keep(plan);
        }
    }

    /// Returns `true` if a further answer may be written.
    #[inline]
    pub fn has_room<S: Conversation>(&self, line: &Line<S>, room: usize) -> bool {
        self.out.len() < room && line.session.untaken() < MOST_UNTAKEN
    }

    /// Writes an answer, or its beginning.
    #[inline]
    pub fn perform<S: Conversation>(&mut self, line: &mut Line<S>, plan: Plan) {
        let of_call = plan.say != Say::Whole;
        if of_call && line.calls.get_mut(plan.heard.id).is_none() {
            // An earlier part has already ended the call.
            return;
        }
        let tallies = &self.tallies;
        let next = plan.answer(&mut line.session, &|| tallies.read().to_json(), &mut self.out);
        if of_call && !matches!(next, Next::Said(_)) {
            line.calls.remove(plan.heard.id);
        }
        match next {
            Next::Said(left) => self.go_on(line, plan, left),
            Next::Concluded(status, messages) => {
                self.tally.call_messages_said.add(messages);
                self.framed(line, plan, Some(status));
            }
            Next::Complete => self.complete(line, plan),
            Next::Blocks(blocks) => line.pouring = Some(Box::new((plan, blocks))),
            Next::Close => self.withhold(line, plan, End::Close),
            Next::Reset => self.withhold(line, plan, End::Reset),
            Next::Nothing => line.keep_first(Plan { at: Nanos::MAX, ..plan }),
            Next::Answered(status) => self.framed(line, plan, Some(status)),
            Next::Spoiled => self.framed(line, plan, None),
            Next::Ruined => {
                line.end = End::Close;
                self.framed(line, plan, None);
            }
            Next::Refused => {
                self.tally.withheld.add(1);
                self.note(plan, Nanos::ZERO, 0);
            }
        }
    }

    /// Records that the whole answer was written.
    #[inline]
    pub fn complete<S: Conversation>(&mut self, line: &mut Line<S>, plan: Plan) {
        let spec = plan.spec();
        if spec.close || line.session.is_finished() {
            line.end = End::Close;
        }
        let status = (!spec.spoiled).then_some(spec.status);
        self.settle(plan, status);
    }

    /// Records that the whole answer was written in frames; `status` is `None` if it was spoiled.
    fn framed<S: Conversation>(&mut self, line: &mut Line<S>, plan: Plan, status: Option<u16>) {
        if line.session.is_finished() {
            line.end = End::Close;
        }
        self.settle(plan, status);
    }

    /// Counts an answer; `status` is `None` if it was spoiled.
    #[inline]
    fn settle(&mut self, plan: Plan, status: Option<u16>) {
        if plan.heard.spec.kind.is_watching() {
            self.tally.watching.add(1);
            if plan.heard.spec.kind == Kind::ResetStats {
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
        self.note(plan, Nanos::MAX, status);
    }

    fn withhold<S>(&mut self, line: &mut Line<S>, plan: Plan, end: End) {
        line.end = end;
        self.tally.withheld.add(1);
        self.note(plan, Nanos::ZERO, 0);
    }

    pub fn abandon(&mut self, plan: Plan) {
        if plan.heard.spec.kind.is_watching() {
            return;
        }
        // A request that was never going to be answered has not lost its answer.
        match plan.spec().withheld {
            Some(Withheld::Hang) => self.tally.withheld.add(1),
            _ => self.tally.abandoned.add(1),
        }
        self.note(plan, Nanos::ZERO, 0);
    }

    /// Handles input that is not a request: sends an error if no earlier answer is pending, and closes.
    pub fn refuse<S: Conversation>(&mut self, line: &mut Line<S>) {
        self.tally.malformed.add(1);
        if line.is_free() && (line.waiting.is_empty() || line.session.spoken() != Spoken::Http1) {
            line.session.refuse(&mut self.out);
        }
        if line.end == End::Open {
            line.end = End::Close;
        }
    }

    /// Logs a request; [`Nanos::MAX`] stands for the time of the next send.
    #[inline]
    fn note(&mut self, plan: Plan, answered: Nanos, status: u16) {
        if let Some(log) = &mut self.log {
            log.entries.push(Entry { arrived: plan.arrived, answered, status, spec: plan.heard.spec });
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
