//! Statements: SQL encoded once into packets, with slots filled for every request.
//!
//! A statement with slots is prepared on every connection, with each slot (and each literal containing slots) as a
//! parameter: integers as `BIGINT`, everything else as text. If a slot is part of a name, or with `--text`, the SQL is
//! built for every request instead; values are then quoted and escaped, so that both ways mean the same.

use wire::{Complaint, Fill};

use super::codec::{COM_QUERY, COM_STMT_EXECUTE, COM_STMT_PREPARE, WHOLE, close_packet, put_integer};
use crate::sql::{Filled, Part, Piece, Slot, Slots, Way, braced, doubled, filled, gives_integer, template};

/// `MYSQL_TYPE_LONGLONG`, signed ("Column Definition, Field Types").
const BIGINT: [u8; 2] = [0x08, 0];
/// `MYSQL_TYPE_VAR_STRING`.
const TEXT: [u8; 2] = [0xfd, 0];

/// A statement ready to be sent.
#[derive(Debug)]
pub struct Statement {
    /// SQL as written by the user.
    pub shown: String,
    how: How,
}

#[derive(Debug)]
enum How {
    /// A `COM_QUERY` without slots, as packets, and the sequence number expected of the answer.
    Fixed(Box<[u8]>, u8),
    /// A `COM_QUERY` with slots.
    Filled(Box<[Filled]>),
    /// A `COM_STMT_EXECUTE`.
    Execute(Execute),
}

#[derive(Debug)]
struct Execute {
    /// Index of the prepared statement.
    number: u32,
    /// The NULL bitmap (no parameter is NULL), the flag that types follow, and the types.
    first: Box<[u8]>,
    /// Parameter header of later executions, without types.
    later: Box<[u8]>,
    parameters: Box<[Parameter]>,
}

#[derive(Debug)]
struct Parameter {
    slot: Slot,
    integer: bool,
}

/// The state of a prepared statement on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Server's id of the statement; 0 if it could not be prepared.
    pub id: u32,
    /// Set once the types of its parameters were sent.
    pub bound: bool,
}

/// The compiler state shared by all statements of a run.
#[derive(Debug, Default)]
pub struct Compiler {
    /// `COM_STMT_PREPARE` packets of the statements to prepare.
    pub prepares: Vec<Box<[u8]>>,
    texts: Vec<String>,
    /// Compiler of slots.
    pub slots: Slots,
}

impl Compiler {
    /// Compiles one statement of the option `place`.
    ///
    /// # Errors
    /// A description of what is wrong with a slot, or that the statement cannot be prepared.
    pub fn statement(&mut self, pieces: &[Piece], way: Way, place: &str) -> Result<Statement, Complaint> {
        let shown = shown(pieces);
        let plain = pieces.iter().all(|piece| matches!(piece, Piece::Sql(_)));
        let named = pieces.iter().any(|piece| matches!(piece, Piece::Name(_)));
        if named && way == Way::Prepared {
            let trouble = "a slot inside a name cannot be a parameter of a prepared statement; leave out --prepared";
            return Err(Complaint::new(place, format!("\"{shown}\": {trouble}")));
        }
        let how = match way {
            Way::Text | Way::Usual if plain || named || way == Way::Text => self.text(pieces, place)?,
            _ => How::Execute(self.execute(pieces, place)?),
        };
        Ok(Statement { shown, how })
    }

    fn text(&mut self, pieces: &[Piece], place: &str) -> Result<How, Complaint> {
        if let [] | [Piece::Sql(_)] = pieces {
            let (packets, number) = command(COM_QUERY, shown(pieces).as_bytes());
            return Ok(How::Fixed(packets, number));
        }
        Ok(How::Filled(filled(pieces, &mut self.slots, place)?))
    }

    fn execute(&mut self, pieces: &[Piece], place: &str) -> Result<Execute, Complaint> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        for piece in pieces {
            let (text, integer) = match piece {
                Piece::Sql(text) => {
                    sql.push_str(text);
                    continue;
                }
                // Eight bytes of a BIGINT.
                Piece::Value(slot) if gives_integer(slot) => (format!("{{{slot} u64le}}"), true),
                Piece::Value(slot) | Piece::Name(slot) => (braced(slot), false),
                Piece::Literal(parts) => (template(parts), false),
            };
            sql.push('?');
            parameters.push(Parameter { slot: self.slots.slot(&text, place)?, integer });
        }
        if parameters.len() > usize::from(u16::MAX) {
            let trouble =
                format!("{} slots are more parameters than a statement can have; use at most 65535", parameters.len());
            return Err(Complaint::new(place, trouble));
        }
        if sql.len() + 1 >= WHOLE {
            return Err(Complaint::new(
                place,
                "the statement is longer than 16 MiB, the limit for prepared ones; add --text",
            ));
        }
        let nulls = vec![0; parameters.len().div_ceil(8)];
        let types = parameters.iter().flat_map(|p| if p.integer { BIGINT } else { TEXT });
        let told = u8::from(!parameters.is_empty());
        let first: Vec<u8> = nulls.iter().copied().chain(std::iter::repeat_n(1, told.into())).chain(types).collect();
        let later: Vec<u8> = nulls.iter().copied().chain(std::iter::repeat_n(0, told.into())).collect();
        let number = self.texts.iter().position(|known| *known == sql).unwrap_or_else(|| {
            self.prepares.push(command(COM_STMT_PREPARE, sql.as_bytes()).0);
            self.texts.push(sql);
            self.texts.len() - 1
        });
        Ok(Execute { number: number as u32, first: first.into(), later: later.into(), parameters: parameters.into() })
    }
}

impl Statement {
    /// Appends the packets of one execution; returns the sequence number expected of the answer.
    #[inline]
    pub fn put(&self, fill: &Fill, ready: &mut [Ready], out: &mut Vec<u8>) -> u8 {
        let from = out.len();
        match &self.how {
            How::Fixed(packets, number) => {
                out.extend_from_slice(packets);
                return *number;
            }
            How::Filled(pieces) => {
                out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]);
                pieces.iter().for_each(|piece| piece.put(fill, out, escape));
            }
            How::Execute(execute) => execute.put(fill, ready, out),
        }
        close_packet(from, out)
    }

    /// Returns the index of the statement that must be prepared before this one can be executed, if any.
    #[inline]
    pub fn unprepared(&self, ready: &[Ready]) -> Option<usize> {
        match &self.how {
            How::Execute(execute) if ready.get(execute.number as usize).is_some_and(|r| r.id == 0) => {
                Some(execute.number as usize)
            }
            _ => None,
        }
    }

    /// Forgets that parameter types were sent, because a failed execution may have failed before they were read.
    pub fn unbind(&self, ready: &mut [Ready]) {
        if let How::Execute(execute) = &self.how
            && let Some(ready) = ready.get_mut(execute.number as usize)
        {
            ready.bound = false;
        }
    }
}

impl Execute {
    #[inline]
    fn put(&self, fill: &Fill, ready: &mut [Ready], out: &mut Vec<u8>) {
        let Some(ready) = ready.get_mut(self.number as usize) else { return };
        let id = ready.id.to_le_bytes();
        // No cursor, one iteration ("COM_STMT_EXECUTE").
        out.extend_from_slice(&[0, 0, 0, 0, COM_STMT_EXECUTE, id[0], id[1], id[2], id[3], 0, 1, 0, 0, 0]);
        out.extend_from_slice(if ready.bound { &self.later } else { &self.first });
        ready.bound = true;
        for parameter in &self.parameters {
            if parameter.integer {
                parameter.slot.fill(fill, out);
            } else {
                put_text(&parameter.slot, fill, out);
            }
        }
    }
}

/// Appends a length-encoded string, optimized for short strings with a one-byte length.
#[inline]
fn put_text(slot: &Slot, fill: &Fill, out: &mut Vec<u8>) {
    let from = out.len();
    out.push(0);
    slot.fill(fill, out);
    let size = out.len() - from - 1;
    if size <= 0xfa {
        out[from] = size as u8;
        return;
    }
    let end = out.len();
    put_integer(size, out);
    let extra = out.len() - end - 1;
    let mut length = [0; 9];
    length[..=extra].copy_from_slice(&out[end..]);
    out.truncate(end);
    out.splice(from..=from, length[..=extra].iter().copied());
}

/// Returns a command and its argument as packets, and the sequence number expected of the answer.
pub fn command(command: u8, argument: &[u8]) -> (Box<[u8]>, u8) {
    let mut out = vec![0, 0, 0, 0, command];
    out.extend_from_slice(argument);
    let number = close_packet(0, &mut out);
    (out.into(), number)
}

/// Escapes the bytes from `from` on for a quoted literal ("String Literals").
fn escape(from: usize, out: &mut Vec<u8>) {
    doubled(from, out, |byte| match byte {
        b'\'' | b'"' | b'\\' => Some([b'\\', byte]),
        0 => Some(*b"\\0"),
        _ => None,
    });
}

/// Formats pieces for people.
fn shown(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Sql(sql) => text.push_str(sql),
            Piece::Value(slot) | Piece::Name(slot) => text.push_str(&braced(slot)),
            Piece::Literal(parts) => {
                let inner: String = parts
                    .iter()
                    .map(|part| match part {
                        Part::Text(text) => text.clone(),
                        Part::Slot(slot) => braced(slot),
                    })
                    .collect();
                text.push_str(&format!("'{inner}'"));
            }
        }
    }
    text
}
