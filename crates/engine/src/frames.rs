//! Frames between the processes of a run and their coordinator (`brunt_record::frames`): a number (usually of a
//! worker), a kind and a payload, all little-endian. Snapshots are already encoded. The reader does not trust any part
//! of a frame.

#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod orders;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Read, Write};

use brunt_contract::{FaultKind, Phase, Trace};
use brunt_measure::Nanos;
use brunt_record::frames::FrameProtocol;

use crate::decode::{cause, cause_bytes};
use crate::early_failures::{self, EarlyFailures};
use crate::failure_class::{FailureClass, MAX_ERRNO};
use crate::tally::decode;
use crate::used_values::RequestValue;
use crate::worker_message::{EXCERPT, RawExample, WorkerMessage};

pub(crate) use orders::Order;

/// The link between processes. The length limit is far above the longest frame, a second with all histograms full.
const LINK: FrameProtocol =
    FrameProtocol { hello: "brunt-link", version: 1, description: "the link between processes", max_length: 16 << 20 };
/// Maximum length of a reason, in bytes.
const REASON: usize = 4 << 10;
/// Maximum length of a request or a response in bytes: the shown part, plus one byte that marks it as truncated.
const SHOWN: usize = EXCERPT + 1;
/// Maximum length of a cause in bytes: a few texts of [`EXCERPT`] bytes each, with all escapes.
const CAUSE: usize = 32 * EXCERPT;

/// A frame of a process.
pub(crate) enum ProcessFrame {
    /// The process is ready for the barrier with this index.
    Ready(u32),
    /// A message of the worker with this number.
    Worker(u32, WorkerMessage),
    /// The process cannot take its share, for this reason.
    Refused(String),
    /// An event of the share's own record, encoded by whoever makes that record.
    Event(Vec<u8>),
}

const SNAPSHOT: u8 = 0;
const EARLY: u8 = 1;
const EXAMPLE: u8 = 2;
const OVER: u8 = 3;
const BROKEN: u8 = 4;
const READY: u8 = 5;
const REFUSED: u8 = 6;
const EVENT: u8 = 7;

/// Marker of a missing name index.
const NO_NAME: u32 = u32::MAX;

/// Writes a report that the process is ready for a barrier.
pub(crate) fn write_ready(to: &mut dyn Write, barrier: u32) -> io::Result<()> {
    put(to, barrier, READY, &[])
}

/// Writes the hello message.
pub(crate) fn write_hello(to: &mut dyn Write) -> io::Result<()> {
    LINK.write_hello(to)
}

/// Reads the hello message of the peer.
///
/// # Errors
/// A sentence that explains why the peer's frames cannot be understood.
pub(crate) fn read_hello(from: &mut dyn BufRead) -> io::Result<()> {
    LINK.read_hello(from)
}

/// Writes the reason why the process does not take its share.
pub(crate) fn write_refusal(to: &mut dyn Write, why: &str) -> io::Result<()> {
    put(to, 0, REFUSED, why.as_bytes())
}

/// Writes an event of the share's own record.
pub(crate) fn write_event(to: &mut dyn Write, event: &[u8]) -> io::Result<()> {
    put(to, 0, EVENT, event)
}

/// Writes a message of a worker.
pub(crate) fn write(to: &mut dyn Write, worker: u32, message: &WorkerMessage) -> io::Result<()> {
    match message {
        WorkerMessage::Snapshot(bytes) => put(to, worker, SNAPSHOT, bytes),
        WorkerMessage::Early(early) => {
            let mut body = Vec::new();
            body.extend(early.finished.to_le_bytes());
            body.extend(early.failed.to_le_bytes());
            for (sort, count) in &early.classes {
                body.extend(sort_bytes(*sort));
                body.extend(count.to_le_bytes());
            }
            put(to, worker, EARLY, &body)
        }
        WorkerMessage::Example(example) => {
            let mut body = sort_bytes(example.sort).to_vec();
            body.push(u8::from(example.reused));
            body.extend(example.name.map_or(NO_NAME, u32::from).to_le_bytes());
            body.extend(example.code.to_le_bytes());
            body.extend(example.at_ns.to_le_bytes());
            body.extend(trace_bytes(example.trace));
            let cause = cause_bytes(example.why.as_ref().map(|why| why.truncated(EXCERPT)).as_ref());
            body.extend((cause.len() as u32).to_le_bytes());
            body.extend(cause);
            for part in [&example.sent, &example.received] {
                let part = &part[..part.len().min(SHOWN)];
                body.extend((part.len() as u32).to_le_bytes());
                body.extend(part);
            }
            used_bytes(&example.values, &mut body);
            put(to, worker, EXAMPLE, &body)
        }
        WorkerMessage::Over { window, interrupted } => {
            let mut body = window.0.to_le_bytes().to_vec();
            body.push(u8::from(*interrupted));
            put(to, worker, OVER, &body)
        }
        WorkerMessage::Broken(why) | WorkerMessage::Lost { how: why, .. } => put(to, worker, BROKEN, why.as_bytes()),
    }
}

fn put(to: &mut dyn Write, worker: u32, kind: u8, body: &[u8]) -> io::Result<()> {
    LINK.write_frame(to, worker, kind, body)
}

/// Reads the next frame of a process; `None` at the end.
pub(crate) fn read(from: &mut dyn Read) -> io::Result<Option<ProcessFrame>> {
    let Some(frame) = read_frame(from)? else { return Ok(None) };
    parse(&frame).map(Some).ok_or_else(malformed)
}

fn malformed() -> io::Error {
    io::Error::other("it sent an invalid frame")
}

/// Reads the next frame without its length; `None` at the end.
fn read_frame(from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    LINK.read_frame(from)
}

fn parse(mut frame: &[u8]) -> Option<ProcessFrame> {
    let bytes = &mut frame;
    let worker = number(bytes)?;
    let message = match byte(bytes)? {
        READY => return Some(ProcessFrame::Ready(worker)),
        REFUSED => return Some(ProcessFrame::Refused(reason(bytes))),
        EVENT => return Some(ProcessFrame::Event(bytes.to_vec())),
        // The collector would silently drop a malformed snapshot.
        SNAPSHOT => decode(bytes).map(|_| WorkerMessage::Snapshot(bytes.to_vec()))?,
        EARLY => {
            let mut early = EarlyFailures::new(Nanos::ZERO);
            (early.finished, early.failed) = (long(bytes)?, long(bytes)?);
            while !bytes.is_empty() {
                let told = (sort(bytes)?, long(bytes)?);
                (early.classes.len() < early_failures::MAX_CLASSES).then(|| early.classes.push(told))?;
            }
            WorkerMessage::Early(early)
        }
        EXAMPLE => {
            let (sort, reused) = (sort(bytes)?, byte(bytes)? != 0);
            let name = match number(bytes)? {
                NO_NAME => None,
                name => Some(u16::try_from(name).ok()?),
            };
            let (code, at_ns) = (number(bytes)?, long(bytes)? as i64);
            let trace = trace(bytes)?;
            let why = cause(&part(bytes, CAUSE)?)?;
            let (sent, received) = (part(bytes, SHOWN)?, part(bytes, SHOWN)?);
            let values = used(bytes)?;
            WorkerMessage::Example(RawExample { sort, name, code, at_ns, why, sent, received, reused, trace, values })
        }
        OVER => WorkerMessage::Over { window: Nanos(long(bytes)?), interrupted: byte(bytes)? != 0 },
        BROKEN => WorkerMessage::Broken(reason(bytes)),
        _ => return None,
    };
    Some(ProcessFrame::Worker(worker, message))
}

/// Encodes the number of values, then the name of each, whether it was known, and the value.
fn used_bytes(values: &[RequestValue], body: &mut Vec<u8>) {
    body.push(values.len().min(255) as u8);
    for (name, value) in values.iter().take(255) {
        body.push(u8::from(value.is_some()));
        for part in [name.as_bytes(), value.as_deref().unwrap_or_default()] {
            let part = &part[..part.len().min(SHOWN)];
            body.extend((part.len() as u32).to_le_bytes());
            body.extend(part);
        }
    }
}

fn used(bytes: &mut &[u8]) -> Option<Vec<RequestValue>> {
    let many = byte(bytes)?;
    let one = |_| {
        let known = byte(bytes)? == 1;
        let name = String::from_utf8(part(bytes, SHOWN)?).ok()?;
        let value = part(bytes, SHOWN)?;
        Some((name, known.then_some(value)))
    };
    (0..many).map(one).collect()
}

/// Encodes a trace; all zeros, which no trace has as its id, if there is none.
fn trace_bytes(trace: Option<Trace>) -> [u8; 25] {
    let mut bytes = [0; 25];
    if let Some(Trace { id, span, sampled }) = trace {
        bytes[..16].copy_from_slice(&id.to_le_bytes());
        bytes[16..24].copy_from_slice(&span.to_le_bytes());
        bytes[24] = u8::from(sampled);
    }
    bytes
}

fn trace(bytes: &mut &[u8]) -> Option<Option<Trace>> {
    let (low, high, span, sampled) = (long(bytes)?, long(bytes)?, long(bytes)?, byte(bytes)? == 1);
    let id = u128::from(high) << 64 | u128::from(low);
    Some((id > 0).then_some(Trace { id, span, sampled }))
}

fn sort_bytes(sort: FailureClass) -> [u8; 7] {
    let errno = sort.errno.unwrap_or(0).to_le_bytes();
    let [a, b, c, d] = errno;
    [sort.kind as u8, sort.phase as u8, u8::from(sort.errno.is_some()), a, b, c, d]
}

fn sort(bytes: &mut &[u8]) -> Option<FailureClass> {
    let kind: FaultKind = *FaultKind::ALL.get(byte(bytes)? as usize)?;
    let phase: Phase = *Phase::ALL.get(byte(bytes)? as usize)?;
    let known = byte(bytes)? == 1;
    let errno = i32::try_from(number(bytes)?).ok().filter(|errno| *errno <= MAX_ERRNO)?;
    Some(FailureClass { kind, phase, errno: known.then_some(errno) })
}

/// Returns a reason as text, truncated to the maximum length.
fn reason(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(REASON)]).into_owned()
}

/// Reads length-prefixed bytes; `None` if there are more than `at_most`.
fn part(bytes: &mut &[u8], at_most: usize) -> Option<Vec<u8>> {
    let length = usize::try_from(number(bytes)?).ok().filter(|length| *length <= at_most)?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part.to_vec())
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*first))
}

fn long(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}
