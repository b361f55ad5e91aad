//! From the SQL of the command line to packets: encoded once, slots filled for every request.
//!
//! A statement with slots is prepared on every connection, each slot (and each literal with slots inside) a parameter:
//! integers as `BIGINT`, all else as text. Where a slot stands inside a name, or where `--text` says so, the SQL is put
//! together for every request instead; values are then quoted and escaped, so that both ways mean the same.

use wire::{Complaint, Fill};

use super::codec::{COM_QUERY, COM_STMT_EXECUTE, COM_STMT_PREPARE, WHOLE, close_packet, put_integer};
use super::sql::{Part, Piece};
use crate::template::Template;

/// `MYSQL_TYPE_LONGLONG`, signed ("Column Definition, Field Types").
const BIGINT: [u8; 2] = [0x08, 0];
/// `MYSQL_TYPE_VAR_STRING`.
const TEXT: [u8; 2] = [0xfd, 0];

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Prepared where there are parameters.
    Usual,
    /// All prepared.
    Prepared,
    /// All as text.
    Text,
}

/// A statement ready to send.
#[derive(Debug)]
pub struct Statement {
    /// As the user wrote it, for people.
    pub shown: String,
    how: How,
}

#[derive(Debug)]
enum How {
    /// A `COM_QUERY` without slots, as packets, and the number of the packet that must come back.
    Fixed(Box<[u8]>, u8),
    /// A `COM_QUERY` with slots.
    Filled(Box<[Filled]>),
    /// A `COM_STMT_EXECUTE`.
    Execute(Execute),
}

#[derive(Debug)]
enum Filled {
    Sql(Box<[u8]>),
    /// Inside quotes that stand in the SQL around it.
    Quoted(Slot),
    /// Digits, or part of a name.
    Bare(Slot),
}

/// A template that differs in its random bits from the others of the same exchange.
#[derive(Debug)]
struct Slot {
    template: Template,
    salt: u64,
}

#[derive(Debug)]
struct Execute {
    /// Which of the prepared statements.
    number: u32,
    /// Which parameters are NULL (none), that types follow, and the types.
    first: Box<[u8]>,
    /// The same where the types are known: none follow.
    later: Box<[u8]>,
    parameters: Box<[Parameter]>,
}

#[derive(Debug)]
struct Parameter {
    slot: Slot,
    integer: bool,
}

/// What is known of a statement to prepare on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// The server's name for it; 0 where it could not be prepared.
    pub id: u32,
    /// The types of its parameters were told.
    pub bound: bool,
}

/// What compiling statements collects.
#[derive(Debug, Default)]
pub struct Compiler {
    /// `COM_STMT_PREPARE` of each statement to prepare, as packets.
    pub prepares: Vec<Box<[u8]>>,
    texts: Vec<String>,
    slots: u64,
}

impl Compiler {
    /// Compiles one statement of the option `place`.
    ///
    /// # Errors
    /// What is wrong with a slot, or that the statement cannot be prepared.
    pub fn statement(&mut self, pieces: &[Piece], way: Way, place: &str) -> Result<Statement, Complaint> {
        let shown = shown(pieces);
        let plain = pieces.iter().all(|piece| matches!(piece, Piece::Sql(_)));
        let named = pieces.iter().any(|piece| matches!(piece, Piece::Name(_)));
        if named && way == Way::Prepared {
            let trouble = "a slot inside a name can be no parameter of a prepared statement; leave out --prepared";
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
        let mut filled = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Sql(sql) => filled.push(Filled::Sql(sql.as_bytes().into())),
                Piece::Name(slot) => filled.push(Filled::Bare(self.slot(&braced(slot), place)?)),
                Piece::Value(slot) if as_integer(slot).is_some() => {
                    filled.push(Filled::Bare(self.slot(&braced(slot), place)?));
                }
                Piece::Value(slot) => self.quoted(&[Part::Slot(slot.clone())], &mut filled, place)?,
                Piece::Literal(parts) => self.quoted(parts, &mut filled, place)?,
            }
        }
        Ok(How::Filled(filled.into()))
    }

    fn quoted(&mut self, parts: &[Part], filled: &mut Vec<Filled>, place: &str) -> Result<(), Complaint> {
        let mut sql = b"'".to_vec();
        for part in parts {
            match part {
                Part::Text(text) => {
                    let from = sql.len();
                    sql.extend_from_slice(text.as_bytes());
                    escape(from, &mut sql);
                }
                Part::Slot(slot) => {
                    filled.push(Filled::Sql(std::mem::take(&mut sql).into()));
                    filled.push(Filled::Quoted(self.slot(&braced(slot), place)?));
                }
            }
        }
        sql.push(b'\'');
        filled.push(Filled::Sql(sql.into()));
        Ok(())
    }

    fn execute(&mut self, pieces: &[Piece], place: &str) -> Result<Execute, Complaint> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        for piece in pieces {
            let (text, integer) = match piece {
                Piece::Sql(text) => {
                    sql.push_str(text);
                    continue;
                }
                Piece::Value(slot) | Piece::Name(slot) => match as_integer(slot) {
                    Some(integer) => (integer, true),
                    None => (braced(slot), false),
                },
                Piece::Literal(parts) => (template(parts), false),
            };
            sql.push('?');
            parameters.push(Parameter { slot: self.slot(&text, place)?, integer });
        }
        if parameters.len() > usize::from(u16::MAX) {
            let trouble =
                format!("{} slots are more parameters than a statement has; write up to 65535", parameters.len());
            return Err(Complaint::new(place, trouble));
        }
        if sql.len() + 1 >= WHOLE {
            return Err(Complaint::new(
                place,
                "the statement is longer than 16 MiB, which is not prepared here; give --text",
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

    fn slot(&mut self, text: &str, place: &str) -> Result<Slot, Complaint> {
        self.slots += 1;
        // The odd number of splitmix64's increment: no two slots share their random bits.
        let salt = self.slots.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(Slot { template: Template::parse(text, place)?, salt })
    }
}

impl Slot {
    #[inline]
    fn fill(&self, fill: &Fill, out: &mut Vec<u8>) {
        self.template.fill(&Fill { random: fill.random.wrapping_add(self.salt), ..*fill }, out);
    }
}

impl Statement {
    /// Appends the packets of one execution; answers the number of the packet that must come back.
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
                pieces.iter().for_each(|piece| piece.put(fill, out));
            }
            How::Execute(execute) => execute.put(fill, ready, out),
        }
        close_packet(from, out)
    }

    /// Which statement must be prepared before this one can be executed, if any.
    #[inline]
    pub fn unprepared(&self, ready: &[Ready]) -> Option<usize> {
        match &self.how {
            How::Execute(execute) if ready.get(execute.number as usize).is_some_and(|r| r.id == 0) => {
                Some(execute.number as usize)
            }
            _ => None,
        }
    }

    /// Forgets that the types of parameters were told: an execution that failed may have failed before they were read.
    pub fn unbind(&self, ready: &mut [Ready]) {
        if let How::Execute(execute) = &self.how
            && let Some(ready) = ready.get_mut(execute.number as usize)
        {
            ready.bound = false;
        }
    }
}

impl Filled {
    fn put(&self, fill: &Fill, out: &mut Vec<u8>) {
        match self {
            Filled::Sql(sql) => out.extend_from_slice(sql),
            Filled::Bare(slot) => slot.fill(fill, out),
            Filled::Quoted(slot) => {
                let from = out.len();
                slot.fill(fill, out);
                escape(from, out);
            }
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

/// A length-encoded string: most are short, and their length is one byte.
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

/// A command and its argument as packets, and the number of the packet that must come back.
pub fn command(command: u8, argument: &[u8]) -> (Box<[u8]>, u8) {
    let mut out = vec![0, 0, 0, 0, command];
    out.extend_from_slice(argument);
    let number = close_packet(0, &mut out);
    (out.into(), number)
}

/// Escapes what stands from `from` on, for a literal in quotes ("String Literals").
fn escape(from: usize, out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'\'' | b'"' | b'\\' | 0);
    let mut at = from;
    while let Some(next) = out[at..].iter().position(special) {
        let byte = out[at + next];
        out[at + next] = b'\\';
        out.insert(at + next + 1, if byte == 0 { b'0' } else { byte });
        at += next + 2;
    }
}

/// A slot alone, as a template.
fn braced(slot: &str) -> String {
    format!("{{{slot}}}")
}

/// A literal as a template: braces that are none of slots are doubled.
fn template(parts: &[Part]) -> String {
    let written = |part: &Part| match part {
        Part::Text(text) => text.replace('{', "{{").replace('}', "}}"),
        Part::Slot(slot) => braced(slot),
    };
    parts.iter().map(written).collect()
}

/// The template of a slot that gives an integer, as the eight bytes of a BIGINT; None for slots that give text.
fn as_integer(slot: &str) -> Option<String> {
    let mut words = slot.split_ascii_whitespace();
    let whole = match words.next()? {
        "counter" | "user" | "time" => true,
        "random" => slot.contains(".."),
        _ => false,
    };
    let text = format!("{{{slot} u64le}}");
    (whole && Template::parse(&text, "").is_ok()).then_some(text)
}

/// The pieces as people read them.
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
