//! What processes of a run and their coordinator tell each other, as frames: a length, then a number (mostly of a worker), a
//! kind and its content, all little-endian. Snapshots are encoded already; what reads a frame believes nothing in it.
//!
//! Before the first frame each side says hello in a line that people can read, so that whoever is called by mistake, or is
//! another brunt, is told in a sentence.

use std::io::{self, BufRead, Read, Write};

use measure::Nanos;
use plan::Change;
use wire::{FaultKind, Phase};

use crate::api::Task;
use crate::control::Stamped;
use crate::early::EarlyFailures;
use crate::message::{Message, RawExample};
use crate::tally::{PHASES, Sort};

/// The longest frame: a second of all histograms at their fullest is far below.
const LONGEST: u32 = 16 << 20;
/// So much memory is taken for a frame before its bytes are there.
const MEMORY: u32 = 64 << 10;

/// What these frames mean; another number on the other side, and nothing is said.
const VERSION: u32 = 1;
const HELLO: &str = "brunt-link";
/// A hello is shorter, and so much of what is none is quoted.
const HELLO_BOUND: u64 = 100;

/// One frame of a process.
pub(crate) enum Frame {
    /// The process is ready for a barrier.
    Ready(u32),
    /// A worker tells something.
    Told(u32, Message),
    /// The process cannot take its share, and why.
    Refused(String),
}

/// One frame of the coordinator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// A file of the plan: its path, and how many bytes of it follow.
    File(String, u64),
    /// Of the last file the next bytes.
    Piece(Vec<u8>),
    /// A variable of the environment that the plan takes.
    Variable(String, String),
    /// The share to take, and what is run in the words of whoever takes it; files and variables came before.
    Task(Task, String),
    /// The barrier is over at this moment.
    Go(u32, Nanos),
    /// The load changes.
    Change(Stamped),
    /// Ends the run.
    Stop,
}

const SNAPSHOT: u8 = 0;
const EARLY: u8 = 1;
const EXAMPLE: u8 = 2;
const OVER: u8 = 3;
const BROKEN: u8 = 4;
const READY: u8 = 5;
const REFUSED: u8 = 6;

const FILE: u8 = 64;
const PIECE: u8 = 65;
const VARIABLE: u8 = 66;
const TASK: u8 = 67;
const GO: u8 = 68;
const STOP: u8 = 69;
const CHANGE: u8 = 70;
/// In the place of a name's index.
const NO_NAME: u32 = u32::MAX;

/// Writes that the process is ready for a barrier.
pub(crate) fn write_ready(to: &mut dyn Write, barrier: u32) -> io::Result<()> {
    put(to, barrier, READY, &[])
}

/// Says hello.
pub(crate) fn write_hello(to: &mut dyn Write) -> io::Result<()> {
    to.write_all(format!("{HELLO} {VERSION} {}\n", env!("CARGO_PKG_VERSION")).as_bytes())?;
    to.flush()
}

/// Reads the hello of the other side; an error says in a sentence why no frame of it would be understood.
pub(crate) fn read_hello(from: &mut dyn BufRead) -> io::Result<()> {
    let mut line = Vec::new();
    from.take(HELLO_BOUND).read_until(b'\n', &mut line)?;
    let said = measure::plain::bytes(line.trim_ascii_end());
    let mut words = said.split(' ');
    let (word, version, brunt) = (words.next(), words.next().and_then(|v| v.parse().ok()), words.next().unwrap_or("?"));
    match (word, version) {
        (Some(HELLO), Some(VERSION)) => Ok(()),
        (Some(HELLO), Some(other)) => Err(io::Error::other(format!(
            "it is brunt {brunt} with version {other} of the link between processes, and this is brunt {} with version {VERSION}; run \
             the same brunt on both sides",
            env!("CARGO_PKG_VERSION")
        ))),
        _ if said.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Err(io::Error::other(format!(
            "it said `{said}` where a brunt says `{HELLO} {VERSION}`; there is something else than brunt at the other end"
        ))),
    }
}

/// Writes why the process takes no share.
pub(crate) fn write_refusal(to: &mut dyn Write, why: &str) -> io::Result<()> {
    put(to, 0, REFUSED, why.as_bytes())
}

impl Order {
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let text =
            |first: &str, rest: &[u8]| [&(first.len() as u32).to_le_bytes()[..], first.as_bytes(), rest].concat();
        match self {
            Order::File(path, bytes) => put(to, 0, FILE, &text(path, &bytes.to_le_bytes())),
            Order::Piece(bytes) => put(to, 0, PIECE, bytes),
            Order::Variable(name, value) => put(to, 0, VARIABLE, &text(name, value.as_bytes())),
            Order::Task(Task { from, to: end, of }, words) => {
                let [a, b] = [from, of].map(|number| number.to_le_bytes());
                put(to, *end, TASK, &[&a[..], &b[..], words.as_bytes()].concat())
            }
            Order::Go(barrier, at) => put(to, *barrier, GO, &at.0.to_le_bytes()),
            Order::Stop => put(to, 0, STOP, &[]),
            Order::Change(Stamped { at, change }) => {
                let (kind, level) = match *change {
                    Change::Pause => (0, 0.0),
                    Change::Resume => (1, 0.0),
                    Change::Rate(rate) => (2, rate),
                    Change::Users(users) => (3, f64::from(users)),
                };
                put(to, kind, CHANGE, &[at.0.to_le_bytes(), level.to_bits().to_le_bytes()].concat())
            }
        }
    }

    /// The next one; None at the end.
    pub fn read(from: &mut dyn Read) -> io::Result<Option<Order>> {
        let Some(frame) = whole(from)? else { return Ok(None) };
        Order::parse(&frame).map(Some).ok_or_else(nonsense)
    }

    fn parse(mut frame: &[u8]) -> Option<Order> {
        let bytes = &mut frame;
        let (first, kind) = (number(bytes)?, byte(bytes)?);
        let mut text = || String::from_utf8(part(bytes)?).ok();
        Some(match kind {
            FILE => Order::File(text()?, long(bytes)?),
            PIECE => Order::Piece(bytes.to_vec()),
            VARIABLE => Order::Variable(text()?, String::from_utf8(bytes.to_vec()).ok()?),
            TASK => {
                let task = Task { from: number(bytes)?, to: first, of: number(bytes)? };
                let sound = task.from < task.to && task.to <= task.of;
                Order::Task(task, String::from_utf8(bytes.to_vec()).ok().filter(|_| sound)?)
            }
            GO => Order::Go(first, Nanos(long(bytes)?)),
            STOP => Order::Stop,
            CHANGE => {
                let (at, level) = (Nanos(long(bytes)?), f64::from_bits(long(bytes)?));
                let change = match first {
                    0 => Change::Pause,
                    1 => Change::Resume,
                    2 => Change::Rate(level),
                    3 => Change::Users(level as u32),
                    _ => return None,
                };
                Order::Change(Stamped { at, change })
            }
            _ => return None,
        })
    }
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

/// Reads the next frame of a process; None at the end.
pub(crate) fn read(from: &mut dyn Read) -> io::Result<Option<Frame>> {
    let Some(frame) = whole(from)? else { return Ok(None) };
    parse(&frame).map(Some).ok_or_else(nonsense)
}

fn nonsense() -> io::Error {
    io::Error::other("it sent a frame that means nothing")
}

/// The next frame without its length; None at the end.
fn whole(from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length);
    if !(5..=LONGEST).contains(&length) {
        return Err(io::Error::other("it sent a frame of an impossible length"));
    }
    // Memory is taken for what comes, not for what is announced.
    let mut frame = Vec::with_capacity(length.min(MEMORY) as usize);
    if from.take(u64::from(length)).read_to_end(&mut frame)? < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(frame))
}

fn parse(mut frame: &[u8]) -> Option<Frame> {
    let bytes = &mut frame;
    let worker = number(bytes)?;
    let message = match byte(bytes)? {
        READY => return Some(Frame::Ready(worker)),
        REFUSED => return Some(Frame::Refused(String::from_utf8_lossy(bytes).into_owned())),
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

    fn orders() -> Vec<Order> {
        vec![
            Order::File("a/b.csv".into(), 7),
            Order::Piece(vec![0, 1, 255]),
            Order::Variable("TOKEN".into(), "söme".into()),
            Order::Task(Task { from: 2, to: 5, of: 9 }, "{}".into()),
            Order::Go(1, Nanos(u64::MAX)),
            Order::Change(Stamped { at: Nanos(5), change: Change::Rate(0.1) }),
            Order::Change(Stamped { at: Nanos(6), change: Change::Users(u32::MAX) }),
            Order::Change(Stamped { at: Nanos(7), change: Change::Pause }),
            Order::Change(Stamped { at: Nanos(8), change: Change::Resume }),
            Order::Stop,
        ]
    }

    #[test]
    fn what_the_coordinator_writes_is_read_again_and_nothing_of_it_cut_off() {
        let mut bytes = Vec::new();
        orders().iter().for_each(|order| order.write(&mut bytes).unwrap());
        let mut from = bytes.as_slice();
        for order in orders() {
            assert_eq!(Order::read(&mut from).unwrap(), Some(order));
        }
        assert_eq!(Order::read(&mut from).unwrap(), None);
        for order in orders() {
            let mut whole = Vec::new();
            order.write(&mut whole).unwrap();
            assert!((4..whole.len()).all(|cut| Order::read(&mut &whole[..cut]).is_err()), "{order:?}");
        }
        for task in [Task { from: 3, to: 3, of: 9 }, Task { from: 0, to: 3, of: 2 }] {
            let mut impossible = Vec::new();
            Order::Task(task, String::new()).write(&mut impossible).unwrap();
            assert!(Order::read(&mut impossible.as_slice()).is_err(), "{task:?}");
        }
    }

    #[test]
    fn another_version_and_another_program_are_told_in_a_sentence() {
        let read = |said: &str| read_hello(&mut said.as_bytes()).map_err(|error| error.to_string());
        let mut hello = Vec::new();
        write_hello(&mut hello).unwrap();
        assert_eq!(read_hello(&mut hello.as_slice()).map_err(|error| error.to_string()), Ok(()));
        let said = read("brunt-link 7 9.9.9\n").unwrap_err();
        let ours = env!("CARGO_PKG_VERSION");
        assert!(
            said.contains("is brunt 9.9.9 with version 7 of")
                && said.contains(&format!("brunt {ours} with version 1;")),
            "{said}"
        );
        let said = read("Welcome to \u{1b}[1mDebian\n").unwrap_err();
        assert!(said.contains("said `Welcome to ") && said.contains("where a brunt says `brunt-link 1`"), "{said}");
        assert!(!said.contains('\u{1b}'), "the text of others acts on no screen");
        assert!(read("").is_err() && read("brunt-link x\n").is_err());
        let endless = read(&"x".repeat(1 << 20)).unwrap_err();
        assert!(endless.len() < 300, "{endless}");
    }

    #[test]
    fn an_announced_length_takes_no_memory() {
        struct Announces(usize);
        impl Read for Announces {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                assert!(into.len() <= MEMORY as usize, "room for {} bytes that never came", into.len());
                let rest = &LONGEST.to_le_bytes()[self.0.min(4)..];
                let n = rest.len().min(into.len());
                into[..n].copy_from_slice(&rest[..n]);
                self.0 += n;
                Ok(n)
            }
        }
        assert_eq!(read(&mut Announces(0)).err().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
        let too_long = [(LONGEST + 1).to_le_bytes(), [0; 4]].concat();
        assert!(read(&mut too_long.as_slice()).is_err_and(|error| error.to_string().contains("impossible length")));
    }

    proptest! {
        #[test]
        fn garbage_is_no_frame_or_some_frame_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut from = bytes.as_slice();
            while let Ok(Some(_)) = read(&mut from) {}
            let mut from = bytes.as_slice();
            while let Ok(Some(_)) = Order::read(&mut from) {}
            let _ = read_hello(&mut bytes.as_slice());
        }
    }
}
