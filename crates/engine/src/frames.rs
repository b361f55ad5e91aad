//! What a worker in another process tells, as frames: a length, then the worker's number, a kind and its content, all
//! little-endian. Snapshots are encoded already; what reads a frame believes nothing in it.

use std::io::{self, Read, Write};

use measure::Nanos;
use wire::{FaultKind, Phase};

use crate::early::EarlyFailures;
use crate::message::{Message, RawExample};
use crate::tally::{PHASES, Sort};

/// The longest frame: a second of all histograms at their fullest is far below.
const LONGEST: u32 = 16 << 20;

/// One frame.
pub(crate) enum Frame {
    /// The process is ready for a barrier.
    Ready(u32),
    /// A worker tells something.
    Told(u32, Message),
}

const SNAPSHOT: u8 = 0;
const EARLY: u8 = 1;
const EXAMPLE: u8 = 2;
const OVER: u8 = 3;
const BROKEN: u8 = 4;
const READY: u8 = 5;
/// In the place of a name's index.
const NO_NAME: u32 = u32::MAX;

/// Writes that the process is ready for a barrier.
pub(crate) fn write_ready(to: &mut dyn Write, barrier: u32) -> io::Result<()> {
    put(to, barrier, READY, &[])
}

/// Writes what a worker tells.
pub(crate) fn write(to: &mut dyn Write, worker: u32, message: &Message) -> io::Result<()> {
    match message {
        Message::Snapshot(bytes) => put(to, worker, SNAPSHOT, bytes),
        Message::Early(early) => {
            let mut body = Vec::new();
            body.extend(early.finished.to_le_bytes());
            body.extend(early.failed.to_le_bytes());
            for (sort, count) in &early.sorts {
                body.extend(sort_bytes(*sort));
                body.extend(count.to_le_bytes());
            }
            put(to, worker, EARLY, &body)
        }
        Message::Example(example) => {
            let mut body = sort_bytes(example.sort).to_vec();
            body.push(u8::from(example.reused));
            body.extend(example.name.map_or(NO_NAME, u32::from).to_le_bytes());
            body.extend(example.code.to_le_bytes());
            body.extend(example.at_ns.to_le_bytes());
            for part in [example.detail.as_bytes(), &example.sent, &example.received] {
                body.extend((part.len() as u32).to_le_bytes());
                body.extend(part);
            }
            put(to, worker, EXAMPLE, &body)
        }
        Message::Over { window, interrupted } => {
            let mut body = window.0.to_le_bytes().to_vec();
            body.push(u8::from(*interrupted));
            put(to, worker, OVER, &body)
        }
        Message::Broken(why) | Message::Lost { how: why, .. } => put(to, worker, BROKEN, why.as_bytes()),
    }
}

fn put(to: &mut dyn Write, worker: u32, kind: u8, body: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(body.len() + 9);
    frame.extend((body.len() as u32 + 5).to_le_bytes());
    frame.extend(worker.to_le_bytes());
    frame.push(kind);
    frame.extend(body);
    to.write_all(&frame)?;
    to.flush()
}

/// Reads the next frame; None at the end.
pub(crate) fn read(from: &mut dyn Read) -> io::Result<Option<Frame>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length);
    if !(5..=LONGEST).contains(&length) {
        return Err(io::Error::other("a frame of an impossible length"));
    }
    let mut frame = vec![0; length as usize];
    from.read_exact(&mut frame)?;
    parse(&frame).map(Some).ok_or_else(|| io::Error::other("a frame that means nothing"))
}

fn parse(mut frame: &[u8]) -> Option<Frame> {
    let bytes = &mut frame;
    let worker = number(bytes)?;
    let message = match byte(bytes)? {
        READY => return Some(Frame::Ready(worker)),
        SNAPSHOT => Message::Snapshot(bytes.to_vec()),
        EARLY => {
            let mut early = EarlyFailures::set(Nanos::ZERO);
            (early.finished, early.failed) = (long(bytes)?, long(bytes)?);
            while !bytes.is_empty() {
                early.sorts.push((sort(bytes)?, long(bytes)?));
            }
            Message::Early(early)
        }
        EXAMPLE => {
            let (sort, reused) = (sort(bytes)?, byte(bytes)? != 0);
            let name = match number(bytes)? {
                NO_NAME => None,
                name => Some(u16::try_from(name).ok()?),
            };
            let (code, at_ns) = (number(bytes)?, long(bytes)? as i64);
            let (detail, sent, received) = (String::from_utf8(part(bytes)?).ok()?, part(bytes)?, part(bytes)?);
            Message::Example(RawExample { sort, name, code, at_ns, detail, sent, received, reused })
        }
        OVER => Message::Over { window: Nanos(long(bytes)?), interrupted: byte(bytes)? != 0 },
        BROKEN => Message::Broken(String::from_utf8_lossy(bytes).into_owned()),
        _ => return None,
    };
    Some(Frame::Told(worker, message))
}

fn sort_bytes(sort: Sort) -> [u8; 7] {
    let errno = sort.errno.unwrap_or(0).to_le_bytes();
    let [a, b, c, d] = errno;
    [sort.kind as u8, sort.phase as u8, u8::from(sort.errno.is_some()), a, b, c, d]
}

fn sort(bytes: &mut &[u8]) -> Option<Sort> {
    let kind: FaultKind = *FaultKind::ALL.get(byte(bytes)? as usize)?;
    let phase: Phase = *PHASES.get(byte(bytes)? as usize)?;
    let (known, errno) = (byte(bytes)? == 1, number(bytes)? as i32);
    Some(Sort { kind, phase, errno: known.then_some(errno) })
}

fn part(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let length = number(bytes)? as usize;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages() -> Vec<Message> {
        let sort = Sort { kind: FaultKind::Refused, phase: Phase::Connect, errno: Some(libc::ECONNREFUSED) };
        let mut early = EarlyFailures::set(Nanos::ZERO);
        (early.finished, early.failed, early.sorts) = (3, 4, vec![(sort, 3), (Sort { errno: None, ..sort }, 1)]);
        let (detail, sent, received) = ("why".to_owned(), vec![1, 2], vec![]);
        let of = Sort { errno: None, ..sort };
        let named =
            RawExample { sort: of, name: Some(1000), code: 503, at_ns: -1, detail, sent, received, reused: true };
        vec![
            Message::Snapshot(vec![7; 300]),
            Message::Early(early),
            Message::Early(EarlyFailures::set(Nanos::ZERO)),
            Message::Example(RawExample { sort, name: None, code: 0, at_ns: 7, ..named.clone() }),
            Message::Example(named),
            Message::Over { window: Nanos(12), interrupted: true },
            Message::Broken("gone".into()),
        ]
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut bytes = Vec::new();
        write_ready(&mut bytes, 1).unwrap();
        for (worker, message) in messages().iter().enumerate() {
            write(&mut bytes, worker as u32, message).unwrap();
        }
        let from = &mut bytes.as_slice();
        assert!(matches!(read(from).unwrap(), Some(Frame::Ready(1))));
        for (worker, message) in messages().iter().enumerate() {
            let Some(Frame::Told(who, what)) = read(from).unwrap() else { panic!("a frame is missing") };
            assert_eq!((who, format!("{what:?}")), (worker as u32, format!("{message:?}")));
        }
        assert!(read(from).unwrap().is_none());
    }

    #[test]
    fn a_frame_that_is_cut_off_is_an_error_and_no_frame() {
        let mut whole = Vec::new();
        write(&mut whole, 0, &messages()[3]).unwrap();
        for cut in 4..whole.len() {
            assert!(read(&mut &whole[..cut]).is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_no_frame_or_some_frame_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut from = bytes.as_slice();
            while let Ok(Some(_)) = read(&mut from) {}
        }
    }
}
