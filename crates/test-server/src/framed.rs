//! Answers in protocols with frames (HTTP/2, WebSocket). Answers that HTTP/1.1 sends as raw bytes,
//! including faults, are expressed in the frames of the protocol.
//!
//! A WebSocket message is echoed, unless its path asks for a size; a status of 400 or more, drawn at random
//! ([`crate::Config::error_rate`]), closes the WebSocket.

use brunt_contract::{BodyFraming, OutputBuffer, ServerResponse};

use crate::calls::{self, CallAction};
use crate::path_spec::{AnswerBody, PathKind, PathSpec, WithheldAnswer};
use crate::protocol_session::{AnswerFault, TargetProtocol, TargetSession};
use crate::raw_answer::{self, BLOCK, FILLER};
use crate::responder::{AnswerPlan, NextStep};

/// Maximum size in bytes of a body that is built in one piece.
pub(crate) const LARGEST: u64 = 16 << 20;
/// Bytes that are not a valid frame in either protocol: in HTTP/2 a frame of excessive length and
/// unknown type, in WebSocket a reserved opcode.
pub(crate) const GARBAGE: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x16\x03garbage";

/// Writes an answer in frames, like [`AnswerPlan::answer`].
pub(crate) fn answer(
    plan: &AnswerPlan,
    session: &mut dyn TargetSession,
    stats: &dyn Fn() -> String,
    out: &mut OutputBuffer,
) -> NextStep {
    let spec = plan.spec();
    match spec.withheld {
        Some(WithheldAnswer::Hang) if plan.action == CallAction::Whole => return NextStep::Nothing,
        Some(WithheldAnswer::Close) => return NextStep::Close,
        Some(WithheldAnswer::Reset) => {
            let spared = session.spoil(plan.request.id, &reply(spec, &[]), AnswerFault::Reset, out);
            return if spared { NextStep::Refused } else { NextStep::Reset };
        }
        // A call that hangs is answered at its deadline.
        Some(WithheldAnswer::Hang) | None => {}
    }
    if plan.action != CallAction::Whole
        && let Some(http2) = session.http2()
    {
        return calls::answer(plan, http2, out);
    }
    if spec.size.is_some_and(|size| size > LARGEST) {
        let status = PathSpec::sentence("", PathKind::Unknown, 501, "larger than 16 MiB, which needs HTTP/1.1");
        session.respond(plan.request.id, &reply(&status, status.known_body()), out);
        return NextStep::Answered(status.status);
    }
    if spec.spoiled {
        return spoil(plan, session, out);
    }
    if let AnswerBody::Raw(_) = spec.body
        && let Some(next) = large(plan, session, out)
    {
        return next;
    }
    let text;
    let filler;
    let body = match &spec.body {
        AnswerBody::Stats => {
            text = stats();
            text.as_bytes()
        }
        AnswerBody::Echo => plan.request.echo.as_deref().unwrap_or_default(),
        AnswerBody::Filler(_) | AnswerBody::Raw(_) => {
            filler = filler_of(spec.size.unwrap_or(0));
            &filler
        }
        AnswerBody::Text(text) => match &plan.request.echo {
            Some(message) if session.protocol() == TargetProtocol::WebSocket => message,
            _ => text,
        },
    };
    // A WebSocket serves messages on any path, including those unknown to HTTP.
    let unknown = session.protocol() == TargetProtocol::WebSocket && plan.instead.is_none();
    let status = if unknown { 200 } else { spec.status };
    session.respond(plan.request.id, &ServerResponse { status, ..reply(spec, body) }, out);
    NextStep::Answered(status)
}

/// Starts a large body that is sent at the pace of the client; returns `None` if the body must be
/// built in one piece.
fn large(plan: &AnswerPlan, session: &mut dyn TargetSession, out: &mut OutputBuffer) -> Option<NextStep> {
    let (spec, size) = (plan.spec(), usize::try_from(plan.spec().size?).ok()?);
    if let Some(http2) = session.http2() {
        http2.flood(plan.request.id, &reply(spec, &[]), size, raw_answer::filler_block(), out);
        return Some(NextStep::Answered(spec.status));
    }
    let server = session.websocket().filter(|_| !spec.close && spec.status < 400)?;
    if !server.announce(plan.request.id, size, out) {
        return None;
    }
    Some(match put_filler(size, raw_answer::blocks(size), out) {
        0 => NextStep::Answered(spec.status),
        left => NextStep::Blocks(left),
    })
}

/// Writes a block of filler, and the rest of `size` after the last one; `left` counts down to 1. Returns the
/// number of blocks left.
pub(crate) fn put_filler(size: usize, left: u64, out: &mut OutputBuffer) -> u64 {
    out.put_shared(raw_answer::filler_block());
    if left == 1 {
        out.put(&FILLER[..size % BLOCK]);
    }
    left - 1
}

pub(crate) fn reply<'a>(spec: &'a PathSpec, body: &'a [u8]) -> ServerResponse<'a> {
    ServerResponse {
        status: spec.status,
        headers: &spec.headers,
        body,
        framing: BodyFraming::Length,
        close: spec.close,
    }
}

fn spoil(plan: &AnswerPlan, session: &mut dyn TargetSession, out: &mut OutputBuffer) -> NextStep {
    let spec = plan.spec();
    let body = filler_of(spec.size.unwrap_or(0));
    let how = match (spec.cut, spec.kind) {
        (Some(keep), _) => AnswerFault::Cut(usize::try_from(keep).unwrap_or(usize::MAX).min(body.len())),
        (None, PathKind::Short) => AnswerFault::Wrong(body.len() / 2),
        (None, PathKind::Long) => AnswerFault::Wrong(body.len() + (body.len() / 2).max(1)),
        _ => {
            out.put(GARBAGE);
            return NextStep::SpoiledClose;
        }
    };
    if session.spoil(plan.request.id, &reply(spec, &body), how, out) {
        NextStep::Spoiled
    } else {
        NextStep::SpoiledClose
    }
}

/// Returns `size` bytes of filler.
pub(crate) fn filler_of(size: u64) -> Vec<u8> {
    let size = usize::try_from(size.min(LARGEST)).unwrap_or(usize::MAX);
    FILLER.iter().copied().cycle().take(size).collect()
}
