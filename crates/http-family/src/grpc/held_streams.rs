//! The streams that steps of a flow hold open on a connection: messages received on each, the step that waits for them,
//! and how each stream ended.
//!
//! Messages that arrive while no step waits are kept for later steps, up to a limit; `finish` takes all of them as its
//! response. The end of a stream is reported to the step in progress on it, or else to the next one; the step after
//! that opens another stream.

use std::collections::VecDeque;
use std::sync::Arc;

use brunt_cause::checks::{awaited_unreadable, out_of_steps};
use brunt_cause::{Cause, StaticCause};
use brunt_contract::{Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, SubmitOutcome};

use super::answer::received_status;
use super::compressed::{self, MessageEncoding};
use super::expect::{CompleteResponse, GrpcChecks, MessageBuffer};
use super::framing;
use super::response_head::EXCERPT_BOUND;
use super::status;
use super::steps::{GrpcStep, HeldStreamPlan};
use crate::await_condition::{AwaitCondition, MessageMatch};
use brunt_values::budget::{BudgetedBuffer, MemoryBudget};
use brunt_values::steps::OutOfSteps;
use brunt_values::verify::header::KeptHeaderLines;

/// Maximum number of messages of a stream, and of their bytes, kept for later steps.
const MOST_KEPT: usize = 1000;
const MOST_BYTES: usize = 1 << 20;

/// The cause reported if a step's stream was not opened.
pub const NOT_OPEN: StaticCause = brunt_cause::grpc::not_open();
/// The cause reported if a step starts while another is in progress.
pub const BUSY: StaticCause = brunt_cause::grpc::step_busy();
/// The cause reported if a stream cannot be opened on the user's connection.
pub const NO_ROOM: StaticCause = brunt_cause::grpc::no_room_for_streams();

/// The cause reported on a stream given up because a step's message did not come.
pub const GIVEN_UP: StaticCause = brunt_cause::grpc::awaited_in_vain();
/// The cause reported on a stream given up because a step's message could not be sent in time.
pub const GIVEN_UP_UNSENT: StaticCause = brunt_cause::grpc::unsent_in_time();

/// The streams held open on one connection.
#[derive(Debug)]
pub struct HeldStreams {
    pub rules: Arc<HeldStreamPlan>,
    streams: Vec<HeldStream>,
    /// The event that ends the step just started.
    immediate: Option<ImmediateEnd>,
}

/// A stream held open.
#[derive(Debug, Default)]
pub struct HeldStream {
    /// HTTP/2 stream identifier, 0 if the stream is not open.
    pub id: u32,
    /// Set while the opening step is the only one on the stream so far.
    fresh: bool,
    /// The message being received, with its prefix.
    incoming: MessageBuffer,
    unread: VecDeque<(BudgetedBuffer, u32)>,
    metadata: [KeptHeaderLines; 2],
    awaiting: Option<StreamStep>,
    end: Option<StreamEnd>,
}

/// A step in progress.
#[derive(Debug)]
pub struct StreamStep {
    pub id: ExchangeId,
    pub step: usize,
    pub random: u64,
    /// The condition on the message it waits for, if that has slots.
    pub like: Option<MessageMatch>,
    /// The checks, if they have slots.
    pub checks: Option<Arc<GrpcChecks>>,
    /// Messages received so far, for a step that reads to the end.
    pub response: MessageBuffer,
    pub messages: u32,
    pub payload: u64,
    /// Sizes of those that arrived before the step, until they are reported.
    pub arrived_before: Vec<u32>,
}

/// The end of a stream.
#[derive(Clone, Debug)]
pub struct StreamEnd {
    /// The status; `None` if there was no valid one.
    pub status: Option<u32>,
    /// A failure that applies regardless of the status: the stream was malformed or lost.
    pub fault: Option<FaultKind>,
    pub cause: Cause,
}

/// An event that ends a step at once.
#[derive(Debug)]
enum ImmediateEnd {
    /// One of the kept messages.
    Kept(usize, usize),
    /// The end of the stream, which came before the step.
    StreamEnd(usize),
    /// The step cannot be carried out.
    Failure(ExchangeId, FaultKind, Cause),
}

impl HeldStreams {
    pub fn new(rules: Arc<HeldStreamPlan>) -> HeldStreams {
        let streams = rules.streams.iter().map(|_| HeldStream::default()).collect();
        HeldStreams { rules, streams, immediate: None }
    }

    /// Returns the stream with this index.
    pub fn stream(&mut self, stream: usize) -> &mut HeldStream {
        &mut self.streams[stream]
    }

    /// Returns the number of messages that no step waited for.
    pub fn unread_messages(&self) -> u32 {
        self.streams.iter().map(|line| line.unread.len() as u32).sum()
    }

    /// Records that a step cannot be carried out.
    #[cold]
    pub fn reject(&mut self, id: ExchangeId, kind: FaultKind, why: impl Into<Cause>) -> SubmitOutcome {
        self.immediate = Some(ImmediateEnd::Failure(id, kind, why.into()));
        SubmitOutcome::AlreadyComplete
    }

    /// Starts to wait for a step's message, unless the event that ends the step has already happened.
    pub fn start_waiting(&mut self, mut awaiting: StreamStep, budget: &MemoryBudget) -> SubmitOutcome {
        let HeldStreams { rules, streams, immediate: there } = self;
        let step = &rules.steps[awaiting.step];
        let line = &mut streams[step.stream];
        if step.finish {
            while let Some((message, size)) = line.unread.pop_front() {
                awaiting.add_message(&message, size, step, budget);
                awaiting.arrived_before.push(size);
            }
        } else if !step.sends && !step.one_way {
            // A message received earlier cannot be the reply to a message sent now.
            let found = line.unread.iter().enumerate().find_map(|(at, (message, _))| {
                awaiting.is_for(step, message, budget).map(|is_for| is_for.then_some(at)).transpose()
            });
            match found {
                None => {}
                Some(Ok(at)) => *there = Some(ImmediateEnd::Kept(step.stream, at)),
                Some(Err(why)) => return self.reject(awaiting.id, FaultKind::WrongBody.unless_own_limit(&why), why),
            }
        }
        if there.is_none() && line.end.is_some() {
            *there = Some(ImmediateEnd::StreamEnd(step.stream));
        }
        line.awaiting = Some(awaiting);
        match there {
            Some(_) => SubmitOutcome::AlreadyComplete,
            None if step.one_way => SubmitOutcome::OneWayHeldBack,
            None => SubmitOutcome::AwaitingResponse,
        }
    }

    /// Reports the one-way steps that waited for the peer's window on streams of which everything is now `sent`.
    pub fn report_released(&mut self, mut sent: impl FnMut(u32) -> bool, done: &mut EventBuffer) {
        let HeldStreams { rules, streams, .. } = self;
        for line in streams {
            let stream = line.id;
            let over = |awaiting: &mut StreamStep| rules.steps[awaiting.step].one_way && sent(stream);
            if let Some(awaiting) = line.awaiting.take_if(over) {
                done.push(Event::Released(awaiting.id));
            }
        }
    }

    /// Reports the event that ended a step before it started to wait.
    #[cold]
    pub fn report_immediate(&mut self, budget: &MemoryBudget, done: &mut EventBuffer) {
        let HeldStreams { rules, streams, immediate: there } = self;
        match there.take() {
            None => {}
            Some(ImmediateEnd::Failure(id, fault, why)) => fail_step(id, (fault, 0), why, done),
            Some(ImmediateEnd::Kept(stream, at)) => {
                let line = &mut streams[stream];
                if let (Some(awaiting), Some((message, size))) = (line.awaiting.take(), line.unread.remove(at)) {
                    done.push(Event::Message(awaiting.id, size));
                    awaiting.finish(&rules.steps, (&message, size), &line.metadata, (budget, done));
                }
            }
            Some(ImmediateEnd::StreamEnd(stream)) => {
                if let Some(over) = streams[stream].end.take() {
                    self.end_stream(stream, over, (budget, done));
                }
            }
        }
    }

    /// Returns the buffer for the initial or trailing (`last`) metadata, if it is examined.
    pub fn metadata(&mut self, stream: usize, last: bool) -> Option<&mut KeptHeaderLines> {
        let wanted = self.rules.streams[stream].metadata;
        wanted.then(|| &mut self.streams[stream].metadata[usize::from(last)])
    }

    /// Adds a piece of a message or of its prefix.
    pub fn add_piece(&mut self, stream: usize, bytes: &[u8], budget: &MemoryBudget) {
        self.streams[stream].incoming.feed(bytes, budget);
    }

    /// Handles the message that is now complete.
    pub fn complete_message(
        &mut self,
        stream: usize,
        size: u32,
        encoding: MessageEncoding,
        (budget, done): (&MemoryBudget, &mut EventBuffer),
    ) {
        let HeldStreams { rules, streams, .. } = self;
        let line = &mut streams[stream];
        let plain = decompressed(&std::mem::take(&mut line.incoming), encoding);
        if let Some(awaiting) = line.awaiting.as_mut().filter(|awaiting| rules.steps[awaiting.step].finish) {
            awaiting.report_earlier(done);
            if awaiting.messages == 0 {
                done.push(Event::FirstByte(awaiting.id));
            }
            done.push(Event::Message(awaiting.id, size));
            match plain {
                Ok(message) => awaiting.add_message(&message, size, &rules.steps[awaiting.step], budget),
                Err(why) => awaiting.add_unread(size, why),
            }
            return;
        }
        let message = match plain {
            Ok(message) => message,
            Err(why) => {
                // It cannot be determined whether this is the awaited message.
                match line.awaiting.take_if(|awaiting| !rules.steps[awaiting.step].one_way) {
                    Some(awaiting) => {
                        let failed = rules.steps[awaiting.step].expected.all_failed();
                        done.record_failed_checks(awaiting.id, failed.bits());
                        fail_step(awaiting.id, (FaultKind::WrongBody.unless_own_limit(&why), 0), why, done);
                    }
                    None => done.push_unsolicited(u64::from(size), &[]),
                }
                return;
            }
        };
        let waits = |awaiting: &StreamStep| awaiting.is_for(&rules.steps[awaiting.step], &message, budget);
        let is_for = line.awaiting.as_ref().map_or(Ok(false), waits);
        if let Some(awaiting) = line.awaiting.take_if(|_| is_for != Ok(false)) {
            done.push(Event::FirstByte(awaiting.id));
            done.push(Event::Message(awaiting.id, size));
            return match is_for {
                Ok(_) => awaiting.finish(&rules.steps, (&message, size), &line.metadata, (budget, done)),
                Err(why) => fail_step(awaiting.id, (FaultKind::WrongBody.unless_own_limit(&why), 0), why, done),
            };
        }
        line.keep(&message, size, budget, done);
    }

    /// Handles the end of a stream: reports it to the step in progress on it, or else to the next one.
    pub fn end_stream(&mut self, stream: usize, over: StreamEnd, (budget, done): (&MemoryBudget, &mut EventBuffer)) {
        let line = &mut self.streams[stream];
        line.id = 0;
        line.incoming = MessageBuffer::default();
        let Some(mut awaiting) = line.awaiting.take() else {
            line.end = Some(over);
            return;
        };
        awaiting.report_earlier(done);
        report_end(awaiting, &self.rules.steps, &line.metadata, &over, (budget, done));
        // The kept messages were for steps on a stream that no longer exists.
        self.forget(stream, done);
    }

    /// Handles a stream that the peer did not process: the step that opened it may be sent again.
    pub fn refused(&mut self, stream: usize, why: StaticCause, told: (&MemoryBudget, &mut EventBuffer)) {
        let line = &mut self.streams[stream];
        let fresh = line.fresh;
        if let Some(awaiting) = line.awaiting.take_if(|_| fresh) {
            *line = HeldStream::default();
            return told.1.push(Event::Refused(awaiting.id));
        }
        self.end_stream(stream, StreamEnd { status: None, fault: Some(FaultKind::Closed), cause: why.into() }, told);
    }

    /// Gives up a step; returns its stream and whether the step reads to the end.
    pub fn cancel(&mut self, id: ExchangeId) -> Option<(usize, bool)> {
        let is_it = |line: &HeldStream| line.awaiting.as_ref().is_some_and(|awaiting| awaiting.id == id);
        let stream = self.streams.iter().position(is_it)?;
        let step = self.streams[stream].awaiting.take()?.step;
        let step = &self.rules.steps[step];
        Some((stream, step.finish || matches!(step.awaits, AwaitCondition::Any)))
    }

    fn forget(&mut self, stream: usize, done: &mut EventBuffer) {
        let kept = self.streams[stream].unread.drain(..);
        kept.for_each(|(message, size)| done.push_unsolicited(u64::from(size), &message));
    }
}

impl HeldStream {
    /// Resets the state for a stream just opened by a step.
    pub fn reset(&mut self, id: u32) {
        *self = HeldStream { id, fresh: true, ..HeldStream::default() };
    }

    /// Records that a further step uses the stream.
    pub fn reuse(&mut self) {
        self.fresh = false;
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub fn is_busy(&self) -> bool {
        self.awaiting.is_some()
    }

    /// Marks the stream as given up, since a step timed out on it; the next step reports that.
    pub fn abandon(&mut self, why: StaticCause) {
        let (status, said) = (Some(status::CANCELLED), why.into());
        (self.id, self.incoming) = (0, MessageBuffer::default());
        self.end = Some(StreamEnd { status, fault: None, cause: said });
    }

    fn keep(&mut self, message: &[u8], size: u32, budget: &MemoryBudget, done: &mut EventBuffer) {
        let mut kept = BudgetedBuffer::default();
        if done.reports_unsolicited() || !kept.extend(message, budget) {
            return done.push_unsolicited(u64::from(size), message);
        }
        self.unread.push_back((kept, size));
        let bytes =
            |kept: &VecDeque<(BudgetedBuffer, u32)>| kept.iter().map(|(message, _)| message.len()).sum::<usize>();
        while self.unread.len() > MOST_KEPT || self.unread.len() > 1 && bytes(&self.unread) > MOST_BYTES {
            let Some((message, size)) = self.unread.pop_front() else { break };
            done.push_unsolicited(u64::from(size), &message);
        }
    }
}

impl StreamStep {
    /// Returns `true` if this is the message that the step waits for.
    ///
    /// # Errors
    /// A limit of brunt does not allow to find out.
    fn is_for(&self, step: &GrpcStep, message: &[u8], budget: &MemoryBudget) -> Result<bool, Cause> {
        let like = match (&self.like, &step.awaits) {
            (Some(like), _) | (None, AwaitCondition::Matching(like)) => like,
            (None, _) => return Ok(!step.one_way),
        };
        match step.expected.to_json(message, budget) {
            Ok(text) => like.matches(&text).map_err(|OutOfSteps| awaited_unreadable(out_of_steps())),
            Err(why) if why.is_own_limit() => Err(awaited_unreadable(why)),
            Err(_) => Ok(false),
        }
    }

    /// Reports the messages that arrived before the step: they count like the others.
    fn report_earlier(&mut self, done: &mut EventBuffer) {
        self.arrived_before.drain(..).for_each(|size| done.push(Event::Message(self.id, size)));
    }

    /// Adds a message to a response that is read to its end.
    fn add_message(&mut self, message: &[u8], size: u32, step: &GrpcStep, budget: &MemoryBudget) {
        self.messages = self.messages.saturating_add(1);
        self.payload += u64::from(size);
        if step.expected.wants_messages() {
            let mut framed = Vec::with_capacity(message.len() + framing::PREFIX);
            framing::put(message, &mut framed);
            self.response.feed(&framed, budget);
        }
    }

    fn add_unread(&mut self, size: u32, why: Cause) {
        self.messages = self.messages.saturating_add(1);
        self.payload += u64::from(size);
        self.response.mark_missing(why);
    }

    /// Finishes the step with this message.
    fn finish(
        self,
        steps: &[GrpcStep],
        (message, size): (&[u8], u32),
        metadata: &[KeptHeaderLines; 2],
        (budget, done): (&MemoryBudget, &mut EventBuffer),
    ) {
        let (id, expected) = (self.id, self.checks.as_deref().unwrap_or(&steps[self.step].expected));
        let payload = u64::from(size);
        let mut body = MessageBuffer::default();
        if expected.wants_messages() {
            let mut framed = Vec::with_capacity(message.len() + framing::PREFIX);
            framing::put(message, &mut framed);
            body.feed(&framed, budget);
        }
        let came = CompleteResponse {
            heard: &body,
            metadata,
            status: status::OK,
            encoding: MessageEncoding::Identity,
            messages: 1,
        };
        match expected.examine(&came, (budget, self.random)) {
            Ok(taken) => {
                if expected.has_captures() {
                    done.push(Event::StateUpdate(id, Box::new(taken)));
                }
                let (fault, excerpt) = (None, None);
                done.push(Event::Ended(ExchangeEnd {
                    id,
                    fault,
                    code: 0,
                    payload,
                    excerpt,
                    follow_up: None,
                    cause: None,
                }));
            }
            Err((fault, why)) => {
                done.record_failed_checks(id, expected.failed(&came, status::GrpcStatusSet::USUAL, budget).bits());
                let excerpt = done.wants_example(fault).then(|| {
                    let text = expected.to_json(message, budget).unwrap_or_default();
                    text.into_iter().take(EXCERPT_BOUND).collect()
                });
                let (fault, why) = (Some(fault), Some(why));
                done.push(Event::Ended(ExchangeEnd {
                    id,
                    fault,
                    code: 0,
                    payload,
                    excerpt,
                    follow_up: None,
                    cause: why,
                }));
            }
        }
    }
}

/// Ends a step that fails without a message.
pub fn fail_step(id: ExchangeId, (fault, code): (FaultKind, u32), why: Cause, done: &mut EventBuffer) {
    let (fault, why) = (Some(fault), Some(why));
    done.push(Event::Ended(ExchangeEnd { id, fault, code, payload: 0, excerpt: None, follow_up: None, cause: why }));
}

/// Decompresses a message.
fn decompressed(coming: &MessageBuffer, encoding: MessageEncoding) -> Result<Vec<u8>, Cause> {
    let framed = compressed::decompress_all(coming.kept()?, encoding)?;
    Ok(framed.get(framing::PREFIX..).unwrap_or_default().to_vec())
}

/// Reports the end of a stream to the step in progress on it: a `finish` step then has its whole response, and for any
/// other step the awaited message will never come.
fn report_end(
    awaiting: StreamStep,
    steps: &[GrpcStep],
    metadata: &[KeptHeaderLines; 2],
    over: &StreamEnd,
    (budget, done): (&MemoryBudget, &mut EventBuffer),
) {
    let StreamStep { id, step, random, response, messages, payload, checks, .. } = awaiting;
    let step = &steps[step];
    let expected = checks.as_deref().unwrap_or(&step.expected);
    let status = over.status.unwrap_or(status::OK);
    let came = CompleteResponse { heard: &response, metadata, status, encoding: MessageEncoding::Identity, messages };
    let (mut fault, mut ours) = (over.fault.filter(|kind| *kind != FaultKind::WrongStatus), None::<Cause>);
    if fault.is_none() {
        fault = match step.finish {
            true if !step.success.has(status) => Some(FaultKind::WrongStatus),
            true => match expected.examine(&came, (budget, random)) {
                Ok(taken) => {
                    if expected.has_captures() {
                        done.push(Event::StateUpdate(id, Box::new(taken)));
                    }
                    None
                }
                Err((kind, why)) => {
                    ours = Some(why);
                    Some(kind)
                }
            },
            false if status == status::OK && step.one_way => {
                ours = Some(brunt_cause::grpc::ended_before_sent().into());
                Some(FaultKind::Closed)
            }
            false if status == status::OK => {
                ours = Some(brunt_cause::grpc::ended_ok().into());
                Some(FaultKind::WrongBody)
            }
            false => Some(FaultKind::WrongStatus),
        };
    }
    if fault.is_some() {
        let failed = expected.failed(&came, step.success, budget);
        let bits = if step.finish { failed.bits() } else { expected.all_failed().bits() };
        done.record_failed_checks(id, bits);
    }
    let wanted = fault.filter(|kind| done.wants_example(*kind));
    let excerpt = wanted.filter(|_| ours.is_none()).and_then(|_| received_status(over.status, &over.cause));
    let said = Some(&over.cause).filter(|cause| fault.is_some() && !cause.is_verbatim());
    let why = ours.or_else(|| said.cloned());
    let code = over.status.map_or(0, status::counted);
    done.push(Event::Ended(ExchangeEnd { id, fault, code, payload, excerpt, follow_up: None, cause: why }));
}
