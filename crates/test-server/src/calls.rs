//! gRPC: the answers to calls of the service `brunt.Target`, of health checks and of reflection.
//!
//! Unary echoes its message, Bidi echoes each of its messages as it arrives, ServerStream sends its
//! message `count` times (field 2), ClientStream answers with the number and total bytes of the
//! messages it received. Compression is not implemented.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_contract::{OutputBuffer, RequestPart, ServerSession};
use brunt_measure::Nanos;
use brunt_protocols::grpc::server::{self, CallError, MessageSplitter, ending};
use brunt_protocols::http2::{Http2Server, frames::code};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_varint, skip_field};

use crate::framed::{GARBAGE, LARGEST, reply};
use crate::path_spec::{PathKind, PathSpec};
use crate::raw_answer::FILLER;
use crate::responder::{AnswerPlan, NextStep, ParsedRequest};

/// Maximum number of answers to one call.
const MOST_ANSWERS: u64 = 65_536;
/// Maximum number of messages waiting for a client's window; beyond it, the call is reset, because
/// its client keeps sending without reading.
const MOST_BACKLOG: usize = 4096;
/// HealthCheckResponse with the status SERVING.
const SERVING: &[u8] = &[0x08, 1];

/// The part of a call's answer that is sent at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallAction {
    /// The answer as a whole: this is not a call.
    #[default]
    Whole,
    /// A message; more follows.
    Message,
    /// A message repeated this many times, each at its own time, the last with the status.
    Series(u64),
    /// A message repeated this many times at once, and the status.
    All(u64),
    /// The status, which ends the call.
    End(u32, Cow<'static, str>),
}

/// The method of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetMethod {
    Unary,
    ClientStream,
    ServerStream,
    Bidi,
    Check,
    Watch,
    Reflect,
    Unknown,
}

impl TargetMethod {
    fn of(path: &[u8]) -> TargetMethod {
        match std::str::from_utf8(path).unwrap_or_default() {
            "/brunt.Target/Unary" => TargetMethod::Unary,
            "/brunt.Target/ClientStream" => TargetMethod::ClientStream,
            "/brunt.Target/ServerStream" => TargetMethod::ServerStream,
            "/brunt.Target/Bidi" => TargetMethod::Bidi,
            "/grpc.health.v1.Health/Check" => TargetMethod::Check,
            "/grpc.health.v1.Health/Watch" => TargetMethod::Watch,
            path if server::is_reflection(path) => TargetMethod::Reflect,
            _ => TargetMethod::Unknown,
        }
    }
}

/// A call in flight.
#[derive(Debug)]
pub struct TargetCall {
    id: u32,
    method: TargetMethod,
    arrived: Nanos,
    pub(crate) spec: Arc<PathSpec>,
    pub(crate) instead: Option<Arc<PathSpec>>,
    messages: MessageSplitter,
    heard: u64,
    bytes: u64,
    first: Box<[u8]>,
    /// Due time of the last part planned; [`Nanos::ZERO`] if there is none.
    pub(crate) last_due: Nanos,
    /// Deadline of the call.
    pub(crate) deadline: Nanos,
    /// Number of parts waiting for their due time; later parts wait until these are sent.
    pub(crate) waiting: u32,
    /// Set once the end of the call is planned.
    pub(crate) end_planned: bool,
}

/// The unanswered calls of a connection by stream; boxed, since most connections never have any.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "a third of the size in each of a million connections without calls")]
pub(crate) struct OpenCalls(Option<Box<BTreeMap<u32, TargetCall>>>);

impl OpenCalls {
    pub fn insert(&mut self, id: u32, call: TargetCall) {
        self.0.get_or_insert_default().insert(id, call);
    }
    pub fn get_mut(&mut self, id: u32) -> Option<&mut TargetCall> {
        self.0.as_mut()?.get_mut(&id)
    }
    pub fn remove(&mut self, id: u32) -> Option<TargetCall> {
        self.0.as_mut()?.remove(&id)
    }
    pub fn into_all(self) -> impl Iterator<Item = TargetCall> {
        self.0.into_iter().flat_map(|calls| calls.into_values())
    }
}

/// A part of an answer: the action, and the message it applies to.
pub(crate) type CallPart = (CallAction, Box<[u8]>);

fn end(status: u32, sentence: impl Into<Cow<'static, str>>) -> CallPart {
    (CallAction::End(status, sentence.into()), Box::default())
}

fn refused(CallError(status, sentence): CallError) -> CallPart {
    end(status, sentence)
}

fn unknown() -> CallPart {
    end(server::UNIMPLEMENTED, "this target has brunt.Target with Unary, ClientStream, ServerStream, Bidi")
}

impl TargetCall {
    /// Creates a call from its first part.
    pub fn new(heard: &ParsedRequest, now: Nanos, instead: Option<Arc<PathSpec>>) -> TargetCall {
        TargetCall {
            id: heard.id,
            method: TargetMethod::of(heard.echo.as_deref().unwrap_or_default()),
            arrived: now,
            spec: Arc::clone(&heard.spec),
            instead,
            messages: MessageSplitter::default(),
            heard: 0,
            bytes: 0,
            first: Box::default(),
            last_due: Nanos::ZERO,
            deadline: now.saturating_add(heard.timeout),
            waiting: 0,
            end_planned: false,
        }
    }

    /// Takes a piece of the call's body; returns the number of messages it completed and the
    /// answers to them. `prompt` is set if answers need not wait.
    pub(crate) fn receive(&mut self, piece: &[u8], last: bool, prompt: bool) -> (u64, Vec<CallPart>) {
        let (before, mut says) = (self.heard, Vec::new());
        let mut messages = std::mem::take(&mut self.messages);
        let mut read = messages.feed(piece, &mut |message| says.extend(self.message(message)));
        if last && read.is_ok() {
            read = messages.finish();
        }
        self.messages = messages;
        match read {
            Err(refusal) => says.push(refused(refusal)),
            Ok(()) if last => says.extend(self.end(prompt)),
            Ok(()) => {}
        }
        (self.heard - before, says)
    }

    fn message(&mut self, message: &[u8]) -> Option<CallPart> {
        self.heard += 1;
        self.bytes += message.len() as u64;
        match self.method {
            TargetMethod::Unknown => Some(unknown()),
            TargetMethod::ClientStream => None,
            TargetMethod::Bidi => Some((CallAction::Message, message.into())),
            TargetMethod::Reflect => Some(match server::reflect(message) {
                Ok(answer) => (CallAction::Message, answer.into()),
                Err(refusal) => refused(refusal),
            }),
            _ if self.heard > 1 => Some(end(server::UNIMPLEMENTED, "a second message in a call that takes one")),
            TargetMethod::Watch => Some((CallAction::Message, SERVING.into())),
            TargetMethod::Unary | TargetMethod::ServerStream | TargetMethod::Check => {
                self.first = message.into();
                None
            }
        }
    }

    /// Handles the end of the request body.
    fn end(&mut self, prompt: bool) -> Option<CallPart> {
        let takes_one = matches!(
            self.method,
            TargetMethod::Unary | TargetMethod::ServerStream | TargetMethod::Check | TargetMethod::Watch
        );
        if takes_one && self.heard == 0 {
            return Some(end(server::UNIMPLEMENTED, "a call without its message"));
        }
        let first = std::mem::take(&mut self.first);
        Some(match self.method {
            TargetMethod::Unknown => unknown(),
            TargetMethod::Bidi | TargetMethod::Reflect => end(server::OK, ""),
            TargetMethod::Unary => (CallAction::Series(1), first),
            TargetMethod::Check => (CallAction::Series(1), SERVING.into()),
            TargetMethod::ServerStream => {
                let times = count(&first).clamp(1, MOST_ANSWERS);
                (if prompt { CallAction::All(times) } else { CallAction::Series(times) }, first)
            }
            TargetMethod::ClientStream => {
                let mut summary = vec![0x08];
                encode_varint(self.heard, &mut summary);
                summary.push(0x10);
                encode_varint(self.bytes, &mut summary);
                (CallAction::Series(1), summary.into())
            }
            // A watch stays open until its client cancels it.
            TargetMethod::Watch => return None,
        })
    }

    /// Plans a part of the answer, due at `at`.
    pub(crate) fn plan(&self, at: Nanos, (say, message): CallPart) -> AnswerPlan {
        let (spec, instead) = (Arc::clone(&self.spec), self.instead.clone());
        let echo = Some(message);
        let heard = ParsedRequest {
            id: self.id,
            head_only: false,
            spec,
            echo,
            extent: RequestPart::LastChunk,
            timeout: Nanos::MAX,
        };
        AnswerPlan { arrived: self.arrived, due: at, request: heard, instead, action: say }
    }
}

/// Writes a part of the answer to a call, like [`AnswerPlan::answer`].
pub(crate) fn answer(plan: &AnswerPlan, http2: &mut Http2Server, out: &mut OutputBuffer) -> NextStep {
    let (id, spec) = (plan.request.id, plan.spec());
    if plan.instead.is_some() {
        write_status(http2, plan, server::UNAVAILABLE, "an error, because of the error rate", out);
        return NextStep::CallAnswered(spec.status, 0);
    }
    if let CallAction::End(status, sentence) = &plan.action
        && *status != server::OK
    {
        write_status(http2, plan, *status, sentence, out);
        return NextStep::CallAnswered(200, 0);
    }
    if let Some(CallError(status, sentence)) = &spec.refusal {
        write_status(http2, plan, *status, sentence, out);
        return NextStep::CallAnswered(200, 0);
    }
    if spec.status != 200 {
        // Answers as an HTTP intermediary would, without a gRPC status.
        http2.respond(id, &reply(spec, spec.known_body()), out);
        return NextStep::CallAnswered(spec.status, 0);
    }
    let times = match &plan.action {
        CallAction::End(status, sentence) => {
            write_status(http2, plan, *status, sentence, out);
            return NextStep::CallAnswered(200, 0);
        }
        CallAction::All(times) => *times,
        CallAction::Whole | CallAction::Message | CallAction::Series(_) => 1,
    };
    let message = message(plan);
    if times.saturating_mul(message.len() as u64) > LARGEST {
        write_status(http2, plan, server::RESOURCE_EXHAUSTED, "responses of more than 16 MiB", out);
        return NextStep::CallAnswered(200, 0);
    }
    if http2.backlog(id) > MOST_BACKLOG {
        http2.reset(id, code::ENHANCE_YOUR_CALM, out);
        return NextStep::Refused;
    }
    begin(http2, plan, out);
    if spec.spoiled {
        return spoil(http2, plan, message, out);
    }
    http2.data(id, &message.repeat(times as usize), false, out);
    match plan.action {
        CallAction::Message => NextStep::PartWritten(0),
        CallAction::Series(more) if more > 1 => NextStep::PartWritten(more - 1),
        _ => {
            write_status(http2, plan, server::OK, "", out);
            NextStep::CallAnswered(200, times)
        }
    }
}

/// Writes the head of an answer unless it has been written already.
fn begin(http2: &mut Http2Server, plan: &AnswerPlan, out: &mut OutputBuffer) {
    if !http2.is_begun(plan.request.id) {
        let lines = [&b"content-type: application/grpc\r\n"[..], &plan.spec().headers].concat();
        http2.head(plan.request.id, 200, &lines, None, false, out);
    }
}

/// Writes the status: in a trailer, or in the head if nothing was written before it.
fn write_status(http2: &mut Http2Server, plan: &AnswerPlan, status: u32, sentence: &str, out: &mut OutputBuffer) {
    let (id, ending) = (plan.request.id, ending(status, sentence));
    if http2.is_begun(id) {
        http2.trailer(id, &ending, out);
    } else {
        let lines = [&b"content-type: application/grpc\r\n"[..], &ending].concat();
        http2.head(id, 200, &lines, None, true, out);
    }
}

/// Returns the message of a part with its prefix: the message received, or a Payload whose text has the
/// requested size.
fn message(plan: &AnswerPlan) -> Vec<u8> {
    let Some(size) = plan.spec().size else { return framed(plan.request.echo.as_deref().unwrap_or_default()) };
    let mut payload = vec![0x0a];
    encode_varint(size.min(LARGEST), &mut payload);
    payload.extend(FILLER.iter().cycle().take(size.min(LARGEST) as usize));
    framed(&payload)
}

/// Writes a message that does not match its prefix, or is cut short.
fn spoil(http2: &mut Http2Server, plan: &AnswerPlan, message: Vec<u8>, out: &mut OutputBuffer) -> NextStep {
    let (id, spec) = (plan.request.id, plan.spec());
    if let Some(keep) = spec.cut {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).min(message.len());
        http2.data(id, &message[..keep], false, out);
        http2.reset(id, code::INTERNAL_ERROR, out);
        return NextStep::Spoiled;
    }
    let half = message.len() / 2;
    let wrong = match spec.kind {
        PathKind::Short => message[..half].to_vec(),
        PathKind::Long => [&message[..], &FILLER[..half.min(FILLER.len())]].concat(),
        _ => {
            out.put(GARBAGE);
            return NextStep::SpoiledClose;
        }
    };
    http2.data(id, &wrong, false, out);
    write_status(http2, plan, server::OK, "", out);
    NextStep::Spoiled
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// Returns field 2 of a message, a number; 0 if it is absent.
fn count(mut message: &[u8]) -> u64 {
    let mut count = 0;
    while let Ok((field, kind)) = decode_key(&mut message) {
        let read = match (field, kind) {
            (2, WireType::Varint) => decode_varint(&mut message).map(|value| count = value),
            _ => skip_field(kind, field, &mut message, DecodeContext::default()),
        };
        if read.is_err() {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, SharedState};

    /// Returns the answers to a call whose body arrives in these pieces.
    fn answers_to(path: &str, pieces: &[&[u8]]) -> Vec<(CallAction, Vec<u8>)> {
        let spec = Arc::new(PathSpec::of_call(path, "", &SharedState::new(&Config::default())));
        let heard = ParsedRequest {
            id: 1,
            head_only: false,
            spec,
            echo: Some(path.as_bytes().into()),
            extent: RequestPart::Head,
            timeout: Nanos::MAX,
        };
        let mut call = TargetCall::new(&heard, Nanos(1), None);
        let mut says = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            says.extend(call.receive(piece, at + 1 == pieces.len(), true).1);
        }
        says.into_iter().map(|(say, message)| (say, message.to_vec())).collect()
    }

    fn status(said: &[(CallAction, Vec<u8>)]) -> Option<u32> {
        said.iter().find_map(|(say, _)| if let CallAction::End(status, _) = say { Some(*status) } else { None })
    }

    #[test]
    fn each_method_says_what_it_should_however_its_body_is_cut() {
        // Payload { text: "hi", count: 3 }, and one of 300 bytes without a count.
        let (three, large) = (b"\x0a\x02hi\x10\x03".to_vec(), vec![0x0a; 300]);
        let both = [framed(&three), framed(&large)].concat();
        let ok = (CallAction::End(server::OK, "".into()), Vec::new());
        for cut in 0..=both.len() {
            let pieces = [&both[..cut], &both[cut..]];
            let echoes = [(CallAction::Message, three.clone()), (CallAction::Message, large.clone()), ok.clone()];
            assert_eq!(answers_to("/brunt.Target/Bidi", &pieces), echoes, "cut at {cut}");
            // 2 messages, 306 bytes.
            let summary = [(CallAction::Series(1), vec![0x08, 2, 0x10, 0xb2, 2])];
            assert_eq!(answers_to("/brunt.Target/ClientStream", &pieces), summary, "cut at {cut}");
        }
        let one = framed(&three);
        assert_eq!(answers_to("/brunt.Target/Unary", &[&one]), [(CallAction::Series(1), three.clone())]);
        assert_eq!(answers_to("/brunt.Target/ServerStream", &[&one]), [(CallAction::All(3), three)]);
        assert_eq!(answers_to("/brunt.Target/ServerStream", &[&framed(b"")]), [(CallAction::All(1), vec![])]);
        assert_eq!(answers_to("/grpc.health.v1.Health/Check", &[&framed(b"")]), [(CallAction::Series(1), vec![8, 1])]);
        assert_eq!(answers_to("/grpc.health.v1.Health/Watch", &[&framed(b"")]), [(CallAction::Message, vec![8, 1])]);
    }

    #[test]
    fn what_is_no_call_of_ours_has_its_status() {
        let one = framed(b"\x0a\x02hi");
        assert_eq!(status(&answers_to("/brunt.Target/Other", &[&one])), Some(server::UNIMPLEMENTED));
        assert_eq!(status(&answers_to("/brunt.Target/Unary", &[&[1, 0, 0, 0, 0]])), Some(server::UNIMPLEMENTED));
        assert_eq!(status(&answers_to("/brunt.Target/Unary", &[&one.repeat(2)])), Some(server::UNIMPLEMENTED));
        assert_eq!(
            status(&answers_to("/brunt.Target/Unary", &[&[0, 0xff, 0, 0, 0]])),
            Some(server::RESOURCE_EXHAUSTED)
        );
        for cut in 1..one.len() {
            assert!(status(&answers_to("/brunt.Target/Unary", &[&one[..cut]])).is_some(), "cut at {cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_message_is_too_odd(body in proptest::collection::vec(0u8.., 0..80)) {
            let _ = answers_to("/brunt.Target/ServerStream", &[&framed(&body)]);
            let _ = answers_to("/brunt.Target/ServerStream", &[&body]);
            let _ = answers_to("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", &[&framed(&body)]);
        }
    }
}
