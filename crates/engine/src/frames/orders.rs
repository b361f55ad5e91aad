//! Orders from the coordinator to a process of a run.

use std::io::{self, Read, Write};

use brunt_measure::Nanos;
use brunt_plan::{Bundle, Change};

use super::{byte, long, malformed, number, part, put, read_frame};
use crate::control::ScheduledChange;
use crate::processes::Task;

/// A frame of the coordinator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// A file of the plan: its path, and the number of bytes that follow.
    File(String, u64),
    /// The next bytes of the last file.
    Piece(Vec<u8>),
    /// An environment variable that the plan uses.
    Variable(String, String),
    /// The next bytes of the description of the run, which the engine does not interpret.
    Description(Vec<u8>),
    /// The share to take; preceded by the description, files and variables.
    Task(Task),
    /// The time at which the barrier with this index is released.
    Go(u32, Nanos),
    /// A change of the load.
    Change(ScheduledChange),
    /// The end of the run.
    Stop,
}

const FILE: u8 = 64;
const PIECE: u8 = 65;
const VARIABLE: u8 = 66;
const TASK: u8 = 67;
const GO: u8 = 68;
const STOP: u8 = 69;
const CHANGE: u8 = 70;
const WORDS: u8 = 71;

impl Order {
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let text =
            |first: &str, rest: &[u8]| [&(first.len() as u32).to_le_bytes()[..], first.as_bytes(), rest].concat();
        match self {
            Order::File(path, bytes) => put(to, 0, FILE, &text(path, &bytes.to_le_bytes())),
            Order::Piece(bytes) => put(to, 0, PIECE, bytes),
            Order::Variable(name, value) => put(to, 0, VARIABLE, &text(name, value.as_bytes())),
            Order::Description(bytes) => put(to, 0, WORDS, bytes),
            Order::Task(Task { from, to: end, of }) => {
                put(to, *end, TASK, &[from, of].map(|number| number.to_le_bytes()).concat())
            }
            Order::Go(barrier, at) => put(to, *barrier, GO, &at.0.to_le_bytes()),
            Order::Stop => put(to, 0, STOP, &[]),
            Order::Change(ScheduledChange { at, change }) => {
                let (kind, level) = match *change {
                    Change::Pause => (0, 0.0),
                    Change::Resume => (1, 0.0),
                    Change::Rate(rate) => (2, rate),
                    Change::Users(users) => (3, f64::from(users)),
                    Change::Drain => (4, 0.0),
                };
                put(to, kind, CHANGE, &[at.0.to_le_bytes(), level.to_bits().to_le_bytes()].concat())
            }
        }
    }

    /// Reads the next order; `None` at the end.
    pub fn read(from: &mut dyn Read) -> io::Result<Option<Order>> {
        let Some(frame) = read_frame(from)? else { return Ok(None) };
        Order::parse(&frame).map(Some).ok_or_else(malformed)
    }

    fn parse(mut frame: &[u8]) -> Option<Order> {
        let bytes = &mut frame;
        let (first, kind) = (number(bytes)?, byte(bytes)?);
        let mut text = || String::from_utf8(part(bytes, Bundle::LONGEST_NAME)?).ok();
        Some(match kind {
            FILE => Order::File(text()?, long(bytes)?),
            PIECE => Order::Piece(bytes.to_vec()),
            VARIABLE => Order::Variable(text()?, String::from_utf8(bytes.to_vec()).ok()?),
            WORDS => Order::Description(bytes.to_vec()),
            TASK => {
                let task = Task { from: number(bytes)?, to: first, of: number(bytes)? };
                Order::Task((task.from < task.to && task.to <= task.of).then_some(task)?)
            }
            GO => Order::Go(first, Nanos(long(bytes)?)),
            STOP => Order::Stop,
            CHANGE => {
                let (at, level) = (Nanos(long(bytes)?), f64::from_bits(long(bytes)?));
                let change = match first {
                    0 => Change::Pause,
                    1 => Change::Resume,
                    2 if level.is_finite() && level > 0.0 => Change::Rate(level),
                    3 => Change::Users(level as u32),
                    4 => Change::Drain,
                    _ => return None,
                };
                Order::Change(ScheduledChange { at, change: change.clamped() })
            }
            _ => return None,
        })
    }
}
