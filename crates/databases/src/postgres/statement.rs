//! Statements: SQL encoded once into messages, with slots filled for every request.
//!
//! A text with slots is prepared on every connection when it is first used there, in the same write as its first
//! execution ("Extended Query"); each slot, and each literal containing slots, is a parameter sent as text, whose type
//! the server infers. A text without slots, a text with a slot inside a name, and every text with `--text` is a simple
//! query. Several statements of a text are one exchange and one server transaction either way.

use std::sync::Arc;

use wire::{Complaint, Fill};

use super::codec::{put, text};
use super::dialect;
use crate::sql::{Checks, Filled, Piece, Slot, Slots, Way, braced, doubled, filled, template};

/// One exchange: one statement or several.
#[derive(Debug)]
pub struct Script {
    /// SQL as written by the user.
    pub shown: String,
    /// Checks of the answer.
    pub checks: Arc<Checks>,
    how: How,
}

#[derive(Debug)]
enum How {
    /// A Query without slots, as a message.
    Fixed(Box<[u8]>),
    /// A Query with slots.
    Filled(Box<[Filled]>),
    /// Executions of prepared statements.
    Prepared(Box<[Execution]>),
}

#[derive(Debug)]
struct Execution {
    /// Index of the prepared statement.
    number: u32,
    /// Beginning of Bind: unnamed portal, name of the statement, no formats (all text), number of parameters.
    bind: Box<[u8]>,
    parameters: Box<[Slot]>,
}

/// The end of Bind: results in text format.
const RESULTS: [u8; 2] = [0; 2];
/// An Execute of the unnamed portal, for all rows.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
/// A Sync.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// The compiler state shared by all statements of a run.
#[derive(Debug, Default)]
pub struct Compiler {
    /// Parse messages of the statements to prepare.
    pub parses: Vec<Box<[u8]>>,
    texts: Vec<String>,
    /// Compiler of slots.
    pub slots: Slots,
}

impl Compiler {
    /// Compiles the text of the option `place`; with `around`, enclosed in BEGIN and COMMIT.
    ///
    /// # Errors
    /// A description of what is wrong with the text or with a slot.
    pub fn script(&mut self, sql: &str, way: Way, around: bool, place: &str) -> Result<Script, Complaint> {
        let wrong = |trouble: &str| Complaint::new(place, format!("\"{sql}\": {trouble}"));
        let mut statements = dialect::statements(sql).map_err(|trouble| wrong(&trouble))?;
        if statements.is_empty() {
            return Err(wrong("has no statement; write one, for instance SELECT 1"));
        }
        if around {
            statements.insert(0, vec![Piece::Sql("BEGIN".to_owned())]);
            statements.push(vec![Piece::Sql("COMMIT".to_owned())]);
        }
        let any = |test: fn(&Piece) -> bool| statements.iter().flatten().any(test);
        let (plain, named) = (!any(|p| !matches!(p, Piece::Sql(_))), any(|p| matches!(p, Piece::Name(_))));
        if named && way == Way::Prepared {
            return Err(wrong(
                "a slot inside a name cannot be a parameter of a prepared statement; leave out --prepared",
            ));
        }
        let how = match way {
            Way::Prepared => self.prepared(&statements, place)?,
            Way::Usual if !plain && !named => self.prepared(&statements, place)?,
            _ => self.text(&statements, place)?,
        };
        Ok(Script { shown: sql.to_owned(), checks: Arc::default(), how })
    }

    fn prepared(&mut self, statements: &[Vec<Piece>], place: &str) -> Result<How, Complaint> {
        let executions =
            statements.iter().map(|pieces| self.execution(pieces, place)).collect::<Result<Vec<_>, _>>()?;
        Ok(How::Prepared(executions.into()))
    }

    fn execution(&mut self, pieces: &[Piece], place: &str) -> Result<Execution, Complaint> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        for piece in pieces {
            let value = match piece {
                Piece::Sql(text) => {
                    sql.push_str(text);
                    continue;
                }
                Piece::Value(slot) | Piece::Name(slot) => braced(slot),
                Piece::Literal(parts) => template(parts),
            };
            parameters.push(self.slots.slot(&value, place)?);
            sql.push_str(&format!("${}", parameters.len()));
        }
        let Ok(count) = i16::try_from(parameters.len()) else {
            let trouble =
                format!("{} slots are more parameters than a statement can have; use at most 32767", parameters.len());
            return Err(Complaint::new(place, trouble));
        };
        let number = self.texts.iter().position(|known| *known == sql).unwrap_or_else(|| {
            let mut message = Vec::new();
            put(b'P', &mut message, |out| {
                text(format!("s{}", self.texts.len()).as_bytes(), out);
                text(sql.as_bytes(), out);
                out.extend_from_slice(&[0; 2]);
            });
            self.parses.push(message.into());
            self.texts.push(sql);
            self.texts.len() - 1
        });
        let bind = [format!("\0s{number}\0\0\0").as_bytes(), &count.to_be_bytes()].concat();
        Ok(Execution { number: number as u32, bind: bind.into(), parameters: parameters.into() })
    }

    fn text(&mut self, statements: &[Vec<Piece>], place: &str) -> Result<How, Complaint> {
        let filled = filled(&statements.join(&Piece::Sql("; ".to_owned())), &mut self.slots, place)?;
        if let [Filled::Sql(sql)] = &filled[..] {
            let mut message = Vec::new();
            put(b'Q', &mut message, |out| text(sql, out));
            return Ok(How::Fixed(message.into()));
        }
        Ok(How::Filled(filled))
    }
}

impl Script {
    /// Returns `true` if the messages end with a Sync, which a COPY swallows.
    pub fn syncs(&self) -> bool {
        matches!(self.how, How::Prepared(_))
    }

    /// Appends the messages of one exchange, including those that prepare statements not yet prepared on this
    /// connection (`ready`); `prepare` is called for each of these, in order.
    #[inline]
    pub fn put(
        &self,
        fill: &Fill,
        parses: &[Box<[u8]>],
        ready: &mut [bool],
        mut prepare: impl FnMut(u32),
        out: &mut Vec<u8>,
    ) {
        match &self.how {
            How::Fixed(message) => out.extend_from_slice(message),
            How::Filled(pieces) => put(b'Q', out, |out| {
                pieces.iter().for_each(|piece| piece.put(fill, out, escape));
                out.push(0);
            }),
            How::Prepared(executions) => {
                for execution in executions {
                    let number = execution.number as usize;
                    if let (Some(ready), Some(parse)) = (ready.get_mut(number), parses.get(number))
                        && !std::mem::replace(ready, true)
                    {
                        out.extend_from_slice(parse);
                        prepare(execution.number);
                    }
                    execution.put(fill, out);
                }
                out.extend_from_slice(SYNC);
            }
        }
    }
}

impl Execution {
    #[inline]
    fn put(&self, fill: &Fill, out: &mut Vec<u8>) {
        put(b'B', out, |out| {
            out.extend_from_slice(&self.bind);
            for slot in &self.parameters {
                let from = out.len();
                out.extend_from_slice(&[0; 4]);
                slot.fill(fill, out);
                let size = (out.len() - from - 4) as u32;
                out[from..from + 4].copy_from_slice(&size.to_be_bytes());
            }
            out.extend_from_slice(&RESULTS);
        });
        out.extend_from_slice(EXECUTE);
    }
}

/// Doubles the quotes in the bytes from `from` on, for a standard string; zero bytes, which no text may contain, are
/// removed.
fn escape(from: usize, out: &mut Vec<u8>) {
    if out[from..].contains(&0) {
        let mut at = 0;
        out.retain(|byte| {
            at += 1;
            at <= from || *byte != 0
        });
    }
    doubled(from, out, |byte| (byte == b'\'').then_some(*b"''"));
}
