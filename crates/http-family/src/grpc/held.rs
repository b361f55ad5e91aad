//! The streams that steps of a flow hold open on a connection: messages received on each, the step that waits for them,
//! and how each stream ended.
//!
//! Messages that arrive while no step waits are kept for later steps, up to a limit; `finish` takes all of them as its
//! response. The end of a stream is reported to the step that is on it, or else to the next one; the step after that
//! opens another stream.

use std::collections::VecDeque;
use std::sync::Arc;

use cause::{Cause, Plain};
use wire::{Done, Ended, Event, ExchangeId, FaultKind, Sent};

use super::compressed::{self, Encoding};
use super::expect::{Body, Came};
use super::framing;
use super::said::EXCERPT_BOUND;
use super::status;
use super::steps::{Holds, Step};
use crate::awaited::{Await, Like};
use values::kept::{Budget, Kept};
use values::verify::header::Lines;

/// Maximum number of messages of a stream, and of their bytes, kept for later steps.
const MOST_KEPT: usize = 1000;
const MOST_BYTES: usize = 1 << 20;

/// The cause if a step's stream was not opened.
pub const NOT_OPEN: Plain = cause::grpc::not_open();
/// The cause if a step starts while another is in progress.
pub const BUSY: Plain = cause::grpc::step_busy();
/// The cause if a stream cannot be opened on the user's connection.
pub const NO_ROOM: Plain = cause::grpc::no_room_for_streams();

/// The streams held open on one connection.
#[derive(Debug)]
pub struct Held {
    pub rules: Arc<Holds>,
    streams: Vec<Line>,
    /// The event that ends the step just started.
    there: Option<There>,
}

/// A stream held open.
#[derive(Debug, Default)]
pub struct Line {
    /// HTTP/2 stream identifier, 0 if the stream is not open.
    pub id: u32,
    /// Set while the opening step is the only one on the stream so far.
    fresh: bool,
    /// The message being received, with its prefix.
    coming: Body,
    kept: VecDeque<(Kept, u32)>,
    metadata: [Lines; 2],
    awaiting: Option<Awaiting>,
    over: Option<Over>,
}

/// A step in progress.
#[derive(Debug)]
pub struct Awaiting {
    pub id: ExchangeId,
    pub step: usize,
    pub random: u64,
    /// The message it waits for, if that has slots.
    pub like: Option<Like>,
    /// Messages received so far, for a step that reads to the end.
    pub response: Body,
    pub messages: u32,
    pub payload: u64,
}

/// The end of a stream.
#[derive(Clone, Debug)]
pub struct Over {
    /// The status; `None` if there was no valid one.
    pub status: Option<u32>,
    /// A failure that applies whatever the status: the stream was malformed or lost.
    pub fault: Option<FaultKind>,
    pub said: Cause,
}

/// An event that ends a step at once.
#[derive(Debug)]
enum There {
    /// One of the kept messages.
    Message(usize, usize),
    /// The end of the stream, which had come before.
    End(usize),
    /// The step cannot be carried out.
    Cannot(ExchangeId, FaultKind, Cause),
}

impl Held {
    pub fn new(rules: Arc<Holds>) -> Held {
        let streams = rules.streams.iter().map(|_| Line::default()).collect();
        Held { rules, streams, there: None }
    }

    /// Returns the stream with this index.
    pub fn line(&mut self, stream: usize) -> &mut Line {
        &mut self.streams[stream]
    }

    /// Returns the number of messages that no step waited for.
    pub fn unheard(&self) -> u32 {
        self.streams.iter().map(|line| line.kept.len() as u32).sum()
    }

    /// Records that a step cannot be carried out.
    #[cold]
    pub fn cannot(&mut self, id: ExchangeId, kind: FaultKind, why: impl Into<Cause>) -> Sent {
        self.there = Some(There::Cannot(id, kind, why.into()));
        Sent::There
    }

    /// Starts to wait for a step's message, unless the event that ends the step has already happened.
    pub fn waits(&mut self, mut awaiting: Awaiting, budget: &Budget) -> Sent {
        let Held { rules, streams, there } = self;
        let step = &rules.steps[awaiting.step];
        let line = &mut streams[step.stream];
        if step.finish {
            while let Some((message, size)) = line.kept.pop_front() {
                awaiting.hears(&message, size, step, budget);
            }
        } else if !step.says
            && let Some(at) = line.kept.iter().position(|(message, _)| awaiting.is_for(step, message, budget))
        {
            // A message received earlier cannot be the reply to a message sent now.
            *there = Some(There::Message(step.stream, at));
        }
        if there.is_none() && line.over.is_some() {
            *there = Some(There::End(step.stream));
        }
        line.awaiting = Some(awaiting);
        if there.is_some() { Sent::There } else { Sent::Asked }
    }

    /// Reports the event that ended a step before it started to wait.
    #[cold]
    pub fn tell(&mut self, budget: &Budget, done: &mut Done) {
        let Held { rules, streams, there } = self;
        match there.take() {
            None => {}
            Some(There::Cannot(id, fault, why)) => fails(id, (fault, 0), why, done),
            Some(There::Message(stream, at)) => {
                let line = &mut streams[stream];
                if let (Some(awaiting), Some((message, size))) = (line.awaiting.take(), line.kept.remove(at)) {
                    awaiting.ends(&rules.steps, (&message, size), &line.metadata, (budget, done));
                }
            }
            Some(There::End(stream)) => {
                if let Some(over) = streams[stream].over.take() {
                    self.ends(stream, over, (budget, done));
                }
            }
        }
    }

    /// Returns the buffer for the initial or trailing (`last`) metadata, if it is examined.
    pub fn metadata(&mut self, stream: usize, last: bool) -> Option<&mut Lines> {
        let wanted = self.rules.streams[stream].metadata;
        wanted.then(|| &mut self.streams[stream].metadata[usize::from(last)])
    }

    /// Adds a piece of a message or of its prefix.
    pub fn piece(&mut self, stream: usize, bytes: &[u8], budget: &Budget) {
        self.streams[stream].coming.feed(bytes, budget);
    }

    /// Handles the message that is now complete.
    pub fn message(&mut self, stream: usize, size: u32, encoding: Encoding, (budget, done): (&Budget, &mut Done)) {
        let Held { rules, streams, .. } = self;
        let line = &mut streams[stream];
        let plain = plain(&std::mem::take(&mut line.coming), encoding);
        if let Some(awaiting) = line.awaiting.as_mut().filter(|awaiting| rules.steps[awaiting.step].finish) {
            if awaiting.messages == 0 {
                done.push(Event::FirstByte(awaiting.id));
            }
            done.push(Event::Message(awaiting.id, size));
            match plain {
                Ok(message) => awaiting.hears(&message, size, &rules.steps[awaiting.step], budget),
                Err(why) => awaiting.misses(size, why),
            }
            return;
        }
        let message = match plain {
            Ok(message) => message,
            Err(why) => {
                // It cannot be determined whether this is the awaited message.
                match line.awaiting.take() {
                    Some(awaiting) => {
                        let failed = rules.steps[awaiting.step].expected.all_failed();
                        done.failed(awaiting.id, failed.bits());
                        fails(awaiting.id, (FaultKind::WrongBody, 0), why, done);
                    }
                    None => done.unasked(u64::from(size), &[]),
                }
                return;
            }
        };
        let is_for = |awaiting: &mut Awaiting| awaiting.is_for(&rules.steps[awaiting.step], &message, budget);
        if let Some(awaiting) = line.awaiting.take_if(is_for) {
            done.push(Event::FirstByte(awaiting.id));
            done.push(Event::Message(awaiting.id, size));
            return awaiting.ends(&rules.steps, (&message, size), &line.metadata, (budget, done));
        }
        line.keep(&message, size, budget, done);
    }

    /// Handles the end of a stream: reports it to the step on it, or else to the next one.
    pub fn ends(&mut self, stream: usize, over: Over, (budget, done): (&Budget, &mut Done)) {
        let line = &mut self.streams[stream];
        line.id = 0;
        line.coming = Body::default();
        let Some(awaiting) = line.awaiting.take() else {
            line.over = Some(over);
            return;
        };
        told(awaiting, &self.rules.steps, &line.metadata, &over, (budget, done));
        // The kept messages were for steps on a stream that no longer exists.
        self.forget(stream, done);
    }

    /// Handles a stream that the peer did not process: the step that opened it may be sent again.
    pub fn refused(&mut self, stream: usize, why: Plain, told: (&Budget, &mut Done)) {
        let line = &mut self.streams[stream];
        let fresh = line.fresh;
        if let Some(awaiting) = line.awaiting.take_if(|_| fresh) {
            *line = Line::default();
            return told.1.push(Event::Refused(awaiting.id));
        }
        self.ends(stream, Over { status: None, fault: Some(FaultKind::Closed), said: why.into() }, told);
    }

    /// Gives up a step; returns its stream and whether the step reads to the end.
    pub fn cancel(&mut self, id: ExchangeId) -> Option<(usize, bool)> {
        let is_it = |line: &Line| line.awaiting.as_ref().is_some_and(|awaiting| awaiting.id == id);
        let stream = self.streams.iter().position(is_it)?;
        let step = self.streams[stream].awaiting.take()?.step;
        let step = &self.rules.steps[step];
        Some((stream, step.finish || matches!(step.awaits, Await::Any)))
    }

    fn forget(&mut self, stream: usize, done: &mut Done) {
        let kept = self.streams[stream].kept.drain(..);
        kept.for_each(|(message, size)| done.unasked(u64::from(size), &message));
    }
}

impl Line {
    /// Resets the state for a stream just opened by a step.
    pub fn opened(&mut self, id: u32) {
        *self = Line { id, fresh: true, ..Line::default() };
    }

    /// Records that a further step uses the stream.
    pub fn goes_on(&mut self) {
        self.fresh = false;
    }

    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    pub fn is_busy(&self) -> bool {
        self.awaiting.is_some()
    }

    /// Marks the stream as given up, since a step timed out on it; the next step reports that.
    pub fn given_up(&mut self) {
        let (status, said) = (Some(status::CANCELLED), cause::grpc::awaited_in_vain().into());
        (self.id, self.coming) = (0, Body::default());
        self.over = Some(Over { status, fault: None, said });
    }

    fn keep(&mut self, message: &[u8], size: u32, budget: &Budget, done: &mut Done) {
        let mut kept = Kept::default();
        if done.hears_unasked() || !kept.add(message, budget) {
            return done.unasked(u64::from(size), message);
        }
        self.kept.push_back((kept, size));
        let bytes = |kept: &VecDeque<(Kept, u32)>| kept.iter().map(|(message, _)| message.len()).sum::<usize>();
        while self.kept.len() > MOST_KEPT || self.kept.len() > 1 && bytes(&self.kept) > MOST_BYTES {
            let Some((message, size)) = self.kept.pop_front() else { break };
            done.unasked(u64::from(size), &message);
        }
    }
}

impl Awaiting {
    fn is_for(&self, step: &Step, message: &[u8], budget: &Budget) -> bool {
        let like = match (&self.like, &step.awaits) {
            (Some(like), _) | (None, Await::Like(like)) => like,
            (None, _) => return true,
        };
        step.expected.written(message, budget).is_ok_and(|text| like.is(&text))
    }

    /// Adds a message to a response that is read to its end.
    fn hears(&mut self, message: &[u8], size: u32, step: &Step, budget: &Budget) {
        self.messages = self.messages.saturating_add(1);
        self.payload += u64::from(size);
        if step.expected.wants_messages() {
            let mut framed = Vec::with_capacity(message.len() + framing::PREFIX);
            framing::put(message, &mut framed);
            self.response.feed(&framed, budget);
        }
    }

    fn misses(&mut self, size: u32, why: Cause) {
        self.messages = self.messages.saturating_add(1);
        self.payload += u64::from(size);
        self.response.miss(why);
    }

    /// Finishes the step with this message.
    fn ends(
        self,
        steps: &[Step],
        (message, size): (&[u8], u32),
        metadata: &[Lines; 2],
        (budget, done): (&Budget, &mut Done),
    ) {
        let (id, expected) = (self.id, &steps[self.step].expected);
        let payload = u64::from(size);
        let mut body = Body::default();
        if expected.wants_messages() {
            let mut framed = Vec::with_capacity(message.len() + framing::PREFIX);
            framing::put(message, &mut framed);
            body.feed(&framed, budget);
        }
        let came = Came { heard: &body, metadata, status: status::OK, encoding: Encoding::Identity, messages: 1 };
        match expected.look(&came, (budget, self.random)) {
            Ok(taken) => {
                if expected.takes() {
                    done.push(Event::Learnt(id, Box::new(taken)));
                }
                let (fault, excerpt) = (None, None);
                done.push(Event::Ended(Ended { id, fault, code: 0, payload, excerpt, follow: None, why: None }));
            }
            Err((fault, why)) => {
                done.failed(id, expected.failed(&came, status::Statuses::USUAL, budget).bits());
                let excerpt = done.wants_example(fault).then(|| {
                    let text = expected.written(message, budget).unwrap_or_default();
                    text.into_iter().take(EXCERPT_BOUND).collect()
                });
                let (fault, why) = (Some(fault), Some(why));
                done.push(Event::Ended(Ended { id, fault, code: 0, payload, excerpt, follow: None, why }));
            }
        }
    }
}

/// Ends a step that fails without a message.
pub fn fails(id: ExchangeId, (fault, code): (FaultKind, u32), why: Cause, done: &mut Done) {
    let (fault, why) = (Some(fault), Some(why));
    done.push(Event::Ended(Ended { id, fault, code, payload: 0, excerpt: None, follow: None, why }));
}

/// Decompresses a message.
fn plain(coming: &Body, encoding: Encoding) -> Result<Vec<u8>, Cause> {
    let framed = compressed::undone(coming.kept()?, encoding)?;
    Ok(framed.get(framing::PREFIX..).unwrap_or_default().to_vec())
}

/// Reports the end of a stream to the step on it: for `finish` this completes the response, for another step the
/// awaited message never comes.
fn told(awaiting: Awaiting, steps: &[Step], metadata: &[Lines; 2], over: &Over, (budget, done): (&Budget, &mut Done)) {
    let Awaiting { id, step, random, response, messages, payload, .. } = awaiting;
    let step = &steps[step];
    let status = over.status.unwrap_or(status::OK);
    let came = Came { heard: &response, metadata, status, encoding: Encoding::Identity, messages };
    let (mut fault, mut ours) = (over.fault.filter(|kind| *kind != FaultKind::WrongStatus), None::<Cause>);
    if fault.is_none() {
        fault = match step.finish {
            true if !step.success.has(status) => Some(FaultKind::WrongStatus),
            true => match step.expected.look(&came, (budget, random)) {
                Ok(taken) => {
                    if step.expected.takes() {
                        done.push(Event::Learnt(id, Box::new(taken)));
                    }
                    None
                }
                Err((kind, why)) => {
                    ours = Some(why);
                    Some(kind)
                }
            },
            false if status == status::OK => {
                ours = Some(cause::grpc::ended_ok().into());
                Some(FaultKind::WrongBody)
            }
            false => Some(FaultKind::WrongStatus),
        };
    }
    if fault.is_some() {
        let failed = step.expected.failed(&came, step.success, budget);
        let bits = if step.finish { failed.bits() } else { step.expected.all_failed().bits() };
        done.failed(id, bits);
    }
    let wanted = fault.filter(|kind| done.wants_example(*kind));
    let excerpt = wanted.filter(|_| ours.is_none()).map(|_| {
        let name = over.status.map(status::name).unwrap_or_default();
        let text =
            [name.as_str(), &over.said.en()].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(": ");
        text.into_bytes().into_iter().take(EXCERPT_BOUND).collect()
    });
    let why = if fault == Some(FaultKind::Closed) { Some(over.said.clone()) } else { ours };
    let code = over.status.map_or(0, status::counted);
    done.push(Event::Ended(Ended { id, fault, code, payload, excerpt, follow: None, why }));
}
