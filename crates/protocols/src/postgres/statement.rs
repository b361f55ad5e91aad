//! From the SQL of the command line to messages: encoded once, slots filled for every request.
//!
//! A text with slots is prepared on every connection when it is first used there, in the same write as its first execution
//! ("Extended Query"); each slot, and each literal with slots inside, is a parameter sent as text, whose type the server
//! infers. A text without slots, or one with a slot inside a name, or all with `--text`, is a simple query. Several
//! statements of a text are one exchange and one transaction of the server's either way.

use wire::{Complaint, Fill};

use super::codec::{put, text};
use super::sql::{self, Piece};
use crate::template::Template;

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Prepared where there are slots.
    Usual,
    /// All prepared.
    Prepared,
    /// All as text.
    Text,
}

/// One exchange: one statement or several.
#[derive(Debug)]
pub struct Script {
    /// As the user wrote it, for people.
    pub shown: String,
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
enum Filled {
    Sql(Box<[u8]>),
    /// Inside quotes that stand in the SQL around it.
    Quoted(Slot),
    /// Digits, or part of a name.
    Bare(Slot),
}

/// A template that differs in its random bits from the others of the run.
#[derive(Debug)]
struct Slot {
    template: Template,
    salt: u64,
}

#[derive(Debug)]
struct Execution {
    /// Which of the prepared statements.
    number: u32,
    /// The start of Bind: unnamed portal, name of the statement, no formats (all text), the number of parameters.
    bind: Box<[u8]>,
    parameters: Box<[Slot]>,
}

/// The end of Bind: results in text.
const RESULTS: [u8; 2] = [0; 2];
/// Execute of the unnamed portal, all rows.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
/// Sync.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// What compiling collects.
#[derive(Debug, Default)]
pub struct Compiler {
    /// Parse of each statement to prepare, as messages.
    pub parses: Vec<Box<[u8]>>,
    texts: Vec<String>,
    slots: u64,
}

impl Compiler {
    /// Compiles the text of the option `place`; with `around`, BEGIN and COMMIT stand around it.
    ///
    /// # Errors
    /// What is wrong with the text or with a slot.
    pub fn script(&mut self, sql: &str, way: Way, around: bool, place: &str) -> Result<Script, Complaint> {
        let wrong = |trouble: &str| Complaint::new(place, format!("\"{sql}\": {trouble}"));
        let mut statements = sql::statements(sql).map_err(|trouble| wrong(&trouble))?;
        if statements.is_empty() {
            return Err(wrong("holds no statement; write one, for instance SELECT 1"));
        }
        if around {
            statements.insert(0, vec![Piece::Sql("BEGIN".to_owned())]);
            statements.push(vec![Piece::Sql("COMMIT".to_owned())]);
        }
        let any = |test: fn(&Piece) -> bool| statements.iter().flatten().any(test);
        let (plain, named) = (!any(|p| !matches!(p, Piece::Sql(_))), any(|p| matches!(p, Piece::Name(_))));
        if named && way == Way::Prepared {
            return Err(wrong(
                "a slot inside a name can be no parameter of a prepared statement; leave out --prepared",
            ));
        }
        let how = match way {
            Way::Prepared => self.prepared(&statements, place)?,
            Way::Usual if !plain && !named => self.prepared(&statements, place)?,
            _ => self.text(&statements, place)?,
        };
        Ok(Script { shown: sql.to_owned(), how })
    }

    fn prepared(&mut self, statements: &[Vec<Piece>], place: &str) -> Result<How, Complaint> {
        let executions =
            statements.iter().map(|pieces| self.execution(pieces, place)).collect::<Result<Vec<_>, _>>()?;
        Ok(How::Prepared(executions.into()))
    }

    fn execution(&mut self, pieces: &[Piece], place: &str) -> Result<Execution, Complaint> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Sql(text) => sql.push_str(text),
                Piece::Value(slot) | Piece::Literal(slot) | Piece::Name(slot) => {
                    parameters.push(self.slot(slot, place)?);
                    sql.push_str(&format!("${}", parameters.len()));
                }
            }
        }
        let Ok(count) = i16::try_from(parameters.len()) else {
            let trouble =
                format!("{} slots are more parameters than a statement has; write up to 32767", parameters.len());
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
        let mut filled = Vec::new();
        let mut sql = Vec::new();
        for (n, pieces) in statements.iter().enumerate() {
            sql.extend_from_slice(if n > 0 { b"; " } else { b"" });
            for piece in pieces {
                let slot = match piece {
                    Piece::Sql(text) => {
                        sql.extend_from_slice(text.as_bytes());
                        continue;
                    }
                    Piece::Name(slot) => Filled::Bare(self.slot(slot, place)?),
                    Piece::Value(slot) if is_integer(slot) => Filled::Bare(self.slot(slot, place)?),
                    Piece::Value(slot) | Piece::Literal(slot) => Filled::Quoted(self.slot(slot, place)?),
                };
                let quoted = matches!(slot, Filled::Quoted(_));
                sql.extend_from_slice(if quoted { b"'" } else { b"" });
                filled.push(Filled::Sql(std::mem::take(&mut sql).into()));
                filled.push(slot);
                sql.extend_from_slice(if quoted { b"'" } else { b"" });
            }
        }
        if filled.is_empty() {
            let mut message = Vec::new();
            put(b'Q', &mut message, |out| text(&sql, out));
            return Ok(How::Fixed(message.into()));
        }
        filled.push(Filled::Sql(sql.into()));
        Ok(How::Filled(filled.into()))
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

impl Script {
    /// True where a Sync ends what is sent, which a COPY swallows.
    pub fn syncs(&self) -> bool {
        matches!(self.how, How::Prepared(_))
    }

    /// Appends the messages of one exchange. Statements not prepared yet on this connection (`ready`) are, in passing;
    /// `prepare` hears which, in order.
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
                pieces.iter().for_each(|piece| piece.put(fill, out));
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

/// Doubles the quotes of what stands from `from` on, for a standard string; a zero byte, which no text may have, is left
/// out.
fn escape(from: usize, out: &mut Vec<u8>) {
    let mut at = from;
    while let Some(next) = out[at..].iter().position(|byte| matches!(byte, b'\'' | 0)) {
        if out[at + next] == 0 {
            out.remove(at + next);
            at += next;
        } else {
            out.insert(at + next, b'\'');
            at += next + 2;
        }
    }
}

/// True for slots that give digits, which stand in SQL as they are.
fn is_integer(slot: &str) -> bool {
    let mut words = slot.trim_matches(['{', '}']).split_ascii_whitespace();
    match words.next() {
        Some("counter" | "user" | "time") => true,
        Some("random") => slot.contains(".."),
        _ => false,
    }
}
