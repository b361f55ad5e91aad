//! Statements: SQL encoded once into packets, with slots filled for every request.
//!
//! A statement with slots is prepared on every connection, with each slot (and each literal containing slots) as a
//! parameter: integers as `BIGINT`, everything else as text. If a slot is part of a name, or with `--text`, the SQL is
//! built for every request instead; values are then quoted and escaped, so that both ways are equivalent.

use brunt_cause::complaint;
use brunt_contract::{SlotContext, UsageError};

use super::codec::{COM_QUERY, COM_STMT_EXECUTE, COM_STMT_PREPARE, WHOLE, close_packet, put_integer};
use crate::sql::{
    LiteralPart, SqlFragment, SqlPiece, SqlSlot, SqlSlots, StatementMode, braced, compile_fragments, escape_pairs,
    literal_template, yields_integer,
};

/// `MYSQL_TYPE_LONGLONG`, signed ("Column Definition, Field Types").
const BIGINT: [u8; 2] = [0x08, 0];
/// `MYSQL_TYPE_VAR_STRING`.
const TEXT: [u8; 2] = [0xfd, 0];

/// A statement ready to be sent.
#[derive(Debug)]
pub struct MysqlStatement {
    /// SQL as written by the user.
    pub shown: String,
    form: StatementForm,
}

#[derive(Debug)]
enum StatementForm {
    /// A `COM_QUERY` without slots, as packets, and the sequence number expected of the answer.
    Fixed(Box<[u8]>, u8),
    /// A `COM_QUERY` with slots.
    Filled(Box<[SqlFragment]>),
    /// A `COM_STMT_EXECUTE`.
    Execute(ExecuteTemplate),
}

#[derive(Debug)]
struct ExecuteTemplate {
    /// Index of the prepared statement.
    number: u32,
    /// The NULL bitmap (no parameter is NULL), the flag that types follow, and the types.
    first: Box<[u8]>,
    /// Parameter header of later executions, without types.
    later: Box<[u8]>,
    parameters: Box<[StatementParameter]>,
}

#[derive(Debug)]
struct StatementParameter {
    slot: SqlSlot,
    integer: bool,
}

/// The state of a prepared statement on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreparedStatement {
    /// Server's id of the statement; 0 if it could not be prepared.
    pub id: u32,
    /// Set once the types of its parameters have been sent.
    pub types_sent: bool,
}

/// The compiler state shared by all statements of a run.
#[derive(Debug, Default)]
pub struct MysqlCompiler {
    /// `COM_STMT_PREPARE` packets of the statements to prepare.
    pub prepares: Vec<Box<[u8]>>,
    texts: Vec<String>,
    /// Compiler of slots.
    pub slots: SqlSlots,
}

impl MysqlCompiler {
    /// Compiles one statement of the option `place`.
    ///
    /// # Errors
    /// Returns what is wrong with a slot, or that the statement cannot be prepared.
    pub fn statement(
        &mut self,
        pieces: &[SqlPiece],
        way: StatementMode,
        place: &str,
    ) -> Result<MysqlStatement, UsageError> {
        let shown = format_pieces(pieces);
        let plain = pieces.iter().all(|piece| matches!(piece, SqlPiece::Sql(_)));
        let named = pieces.iter().any(|piece| matches!(piece, SqlPiece::Name(_)));
        if named && way == StatementMode::Prepared {
            let trouble = complaint!(
                "a slot inside a name cannot be a parameter of a prepared statement; leave out --prepared",
                "名称中的占位符不能作为预处理语句的参数；请去掉 --prepared"
            );
            let zh = trouble.zh();
            return Err(UsageError::new(place, complaint!("\"{shown}\": {trouble}", "“{shown}”：{zh}")));
        }
        let how = match way {
            StatementMode::Text | StatementMode::Auto if plain || named || way == StatementMode::Text => {
                self.text(pieces, place)?
            }
            _ => StatementForm::Execute(self.execute(pieces, place)?),
        };
        Ok(MysqlStatement { shown, form: how })
    }

    fn text(&mut self, pieces: &[SqlPiece], place: &str) -> Result<StatementForm, UsageError> {
        if let [] | [SqlPiece::Sql(_)] = pieces {
            let (packets, number) = command(COM_QUERY, format_pieces(pieces).as_bytes());
            return Ok(StatementForm::Fixed(packets, number));
        }
        Ok(StatementForm::Filled(compile_fragments(pieces, &mut self.slots, place)?))
    }

    fn execute(&mut self, pieces: &[SqlPiece], place: &str) -> Result<ExecuteTemplate, UsageError> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        for piece in pieces {
            let (text, integer) = match piece {
                SqlPiece::Sql(text) => {
                    sql.push_str(text);
                    continue;
                }
                // Eight bytes of a BIGINT.
                SqlPiece::Value(slot) if yields_integer(slot) => (format!("{{{slot} u64le}}"), true),
                SqlPiece::Value(slot) | SqlPiece::Name(slot) => (braced(slot), false),
                SqlPiece::Literal(parts) => (literal_template(parts), false),
            };
            sql.push('?');
            parameters.push(StatementParameter { slot: self.slots.slot(&text, place)?, integer });
        }
        if parameters.len() > usize::from(u16::MAX) {
            let trouble = complaint!(
                "{} slots are more parameters than a statement can have; use at most 65535",
                "{} 个占位符超过一条语句的参数上限；最多用 65535 个",
                parameters.len()
            );
            return Err(UsageError::new(place, trouble));
        }
        if sql.len() + 1 >= WHOLE {
            return Err(UsageError::new(
                place,
                complaint!(
                    "the statement is longer than 16 MiB, the limit for prepared ones; add --text",
                    "语句超过预处理语句的上限 16 MiB；请加 --text"
                ),
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
        Ok(ExecuteTemplate {
            number: number as u32,
            first: first.into(),
            later: later.into(),
            parameters: parameters.into(),
        })
    }
}

impl MysqlStatement {
    /// Appends the packets of one execution; returns the sequence number expected of the answer.
    #[inline]
    pub fn append(&self, context: &SlotContext, ready: &mut [PreparedStatement], out: &mut Vec<u8>) -> u8 {
        let from = out.len();
        match &self.form {
            StatementForm::Fixed(packets, number) => {
                out.extend_from_slice(packets);
                return *number;
            }
            StatementForm::Filled(pieces) => {
                out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]);
                pieces.iter().for_each(|piece| piece.append(context, out, escape));
            }
            StatementForm::Execute(execute) => execute.append(context, ready, out),
        }
        close_packet(from, out)
    }

    /// Returns the index of the statement that must be prepared before this one can be executed, if any.
    #[inline]
    pub fn unprepared(&self, ready: &[PreparedStatement]) -> Option<usize> {
        match &self.form {
            StatementForm::Execute(execute) if ready.get(execute.number as usize).is_some_and(|r| r.id == 0) => {
                Some(execute.number as usize)
            }
            _ => None,
        }
    }

    /// Marks the parameter types as not sent, because an execution may have failed before the server read them.
    pub fn unbind(&self, ready: &mut [PreparedStatement]) {
        if let StatementForm::Execute(execute) = &self.form
            && let Some(ready) = ready.get_mut(execute.number as usize)
        {
            ready.types_sent = false;
        }
    }
}

impl ExecuteTemplate {
    #[inline]
    fn append(&self, context: &SlotContext, ready: &mut [PreparedStatement], out: &mut Vec<u8>) {
        let Some(ready) = ready.get_mut(self.number as usize) else { return };
        let id = ready.id.to_le_bytes();
        // No cursor, one iteration ("COM_STMT_EXECUTE").
        out.extend_from_slice(&[0, 0, 0, 0, COM_STMT_EXECUTE, id[0], id[1], id[2], id[3], 0, 1, 0, 0, 0]);
        out.extend_from_slice(if ready.types_sent { &self.later } else { &self.first });
        ready.types_sent = true;
        for parameter in &self.parameters {
            if parameter.integer {
                parameter.slot.fill(context, out);
            } else {
                put_text(&parameter.slot, context, out);
            }
        }
    }
}

/// Appends a length-encoded string; optimized for short strings, whose length takes one byte.
#[inline]
fn put_text(slot: &SqlSlot, context: &SlotContext, out: &mut Vec<u8>) {
    let from = out.len();
    out.push(0);
    slot.fill(context, out);
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
    escape_pairs(from, out, |byte| match byte {
        b'\'' | b'"' | b'\\' => Some([b'\\', byte]),
        0 => Some(*b"\\0"),
        _ => None,
    });
}

/// Formats pieces for display.
fn format_pieces(pieces: &[SqlPiece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            SqlPiece::Sql(sql) => text.push_str(sql),
            SqlPiece::Value(slot) | SqlPiece::Name(slot) => text.push_str(&braced(slot)),
            SqlPiece::Literal(parts) => {
                let inner: String = parts
                    .iter()
                    .map(|part| match part {
                        LiteralPart::Text(text) => text.clone(),
                        LiteralPart::Slot(slot) => braced(slot),
                    })
                    .collect();
                text.push_str(&format!("'{inner}'"));
            }
        }
    }
    text
}
