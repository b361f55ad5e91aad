//! Answers in protocols with frames (HTTP/2, WebSocket): whatever HTTP/1.1 sends as raw bytes, faults included,
//! is expressed here by the means of the protocol.
//!
//! A WebSocket message is echoed, unless its path asks for a size; a status of 400 or more, drawn at random
//! ([`crate::Config::error_rate`]), closes the WebSocket.

use wire::{OutputBuffer, ServerResponse, BodyFraming};

use crate::calls::{self, Say};
use crate::conversation::{Conversation, Spoil, Spoken};
use crate::flood::{self, BLOCK, FILLER};
use crate::path_spec::{Body, Kind, PathSpec, Withheld};
use crate::responder::{Next, Plan};

/// Largest body; it is built in one piece.
pub(crate) const LARGEST: u64 = 16 << 20;
/// Bytes that are no frame of either protocol: to HTTP/2 a frame of unknown length and type, to WebSocket a
/// reserved opcode.
pub(crate) const GARBAGE: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x16\x03garbage";

/// Writes an answer in frames, like [`Plan::answer`].
pub(crate) fn answer(plan: &Plan, session: &mut dyn Conversation, stats: &dyn Fn() -> String, out: &mut OutputBuffer) -> Next {
    let spec = plan.spec();
    match spec.withheld {
        Some(Withheld::Hang) if plan.say == Say::Whole => return Next::Nothing,
        Some(Withheld::Close) => return Next::Close,
        Some(Withheld::Reset) => {
            let spared = session.spoil(plan.heard.id, &reply(spec, &[]), Spoil::Reset, out);
            return if spared { Next::Refused } else { Next::Reset };
        }
        // A call that hangs is answered at its deadline.
        Some(Withheld::Hang) | None => {}
    }
    if plan.say != Say::Whole
        && let Some(http2) = session.http2()
    {
        return calls::answer(plan, http2, out);
    }
    if spec.size.is_some_and(|size| size > LARGEST) {
        let status = PathSpec::sentence("", Kind::Unknown, 501, "larger than 16 MiB, which needs HTTP/1.1");
        session.respond(plan.heard.id, &reply(&status, status.known_body()), out);
        return Next::Answered(status.status);
    }
    if spec.spoiled {
        return spoil(plan, session, out);
    }
    if let Body::Raw(_) = spec.body
        && let Some(next) = large(plan, session, out)
    {
        return next;
    }
    let text;
    let filler;
    let body = match &spec.body {
        Body::Stats => {
            text = stats();
            text.as_bytes()
        }
        Body::Echo => plan.heard.echo.as_deref().unwrap_or_default(),
        Body::Filler(_) | Body::Raw(_) => {
            filler = filler_of(spec.size.unwrap_or(0));
            &filler
        }
        Body::Text(text) => match &plan.heard.echo {
            Some(message) if session.spoken() == Spoken::WebSocket => message,
            _ => text,
        },
    };
    // A WebSocket serves messages on any path, including those unknown to HTTP.
    let unknown = session.spoken() == Spoken::WebSocket && plan.instead.is_none();
    let status = if unknown { 200 } else { spec.status };
    session.respond(plan.heard.id, &ServerResponse { status, ..reply(spec, body) }, out);
    Next::Answered(status)
}

/// Starts a large body that leaves as the client reads it; `None` if it must be built in one piece.
fn large(plan: &Plan, session: &mut dyn Conversation, out: &mut OutputBuffer) -> Option<Next> {
    let (spec, size) = (plan.spec(), usize::try_from(plan.spec().size?).ok()?);
    if let Some(http2) = session.http2() {
        http2.flood(plan.heard.id, &reply(spec, &[]), size, flood::filler_block(), out);
        return Some(Next::Answered(spec.status));
    }
    let server = session.websocket().filter(|_| !spec.close && spec.status < 400)?;
    if !server.announce(plan.heard.id, size, out) {
        return None;
    }
    Some(match put_filler(size, flood::blocks(size), out) {
        0 => Next::Answered(spec.status),
        left => Next::Blocks(left),
    })
}

/// Writes a block of filler, and the rest of `size` after the last one; `left` counts down to 1. Returns the
/// number of blocks left.
pub(crate) fn put_filler(size: usize, left: u64, out: &mut OutputBuffer) -> u64 {
    out.put_shared(flood::filler_block());
    if left == 1 {
        out.put(&FILLER[..size % BLOCK]);
    }
    left - 1
}

pub(crate) fn reply<'a>(spec: &'a PathSpec, body: &'a [u8]) -> ServerResponse<'a> {
    ServerResponse { status: spec.status, headers: &spec.headers, body, framing: BodyFraming::Length, close: spec.close }
}

fn spoil(plan: &Plan, session: &mut dyn Conversation, out: &mut OutputBuffer) -> Next {
    let spec = plan.spec();
    let body = filler_of(spec.size.unwrap_or(0));
    let how = match (spec.cut, spec.kind) {
        (Some(keep), _) => Spoil::Cut(usize::try_from(keep).unwrap_or(usize::MAX).min(body.len())),
        (None, Kind::Short) => Spoil::Wrong(body.len() / 2),
        (None, Kind::Long) => Spoil::Wrong(body.len() + (body.len() / 2).max(1)),
        _ => {
            out.put(GARBAGE);
            return Next::Ruined;
        }
    };
    if session.spoil(plan.heard.id, &reply(spec, &body), how, out) { Next::Spoiled } else { Next::Ruined }
}

/// Returns `size` bytes of filler.
pub(crate) fn filler_of(size: u64) -> Vec<u8> {
    let size = usize::try_from(size.min(LARGEST)).unwrap_or(usize::MAX);
    FILLER.iter().copied().cycle().take(size).collect()
}
