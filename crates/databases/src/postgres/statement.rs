//! Statements: SQL encoded once into messages, with slots filled for every request.
//!
//! A text with slots is prepared on every connection when it is first used there, in the same write as its first
//! execution ("Extended Query"); each slot, and each literal containing slots, is a parameter sent as text, whose type
//! the server infers. A text without slots, a text with a slot inside a name, and every text with `--text` is a simple
//! query. Several statements of a text are one exchange and one server transaction either way.

use brunt_cause::{Complaint, complaint};
use std::sync::Arc;

use brunt_contract::{SlotContext, UsageError};

use super::codec::{put_message, put_text};
use super::dialect;
use crate::sql::{
    SqlChecks, SqlFragment, SqlPiece, SqlSlot, SqlSlots, StatementMode, braced, compile_fragments, escape_pairs,
    literal_template,
};

/// One exchange: one statement or several.
#[derive(Debug)]
pub struct PostgresScript {
    /// SQL as written by the user.
    pub shown: String,
    /// Checks of the answer.
    pub checks: Arc<SqlChecks>,
    form: ScriptForm,
}

#[derive(Debug)]
enum ScriptForm {
    /// A Query without slots, as a message.
    Fixed(Box<[u8]>),
    /// A Query with slots.
    Filled(Box<[SqlFragment]>),
    /// Executions of prepared statements.
    Prepared(Box<[StatementExecution]>),
}

#[derive(Debug)]
struct StatementExecution {
    /// Index of the prepared statement.
    number: u32,
    /// Beginning of Bind: unnamed portal, name of the statement, no formats (all text), number of parameters.
    bind: Box<[u8]>,
    parameters: Box<[SqlSlot]>,
}

/// The end of Bind: results in text format.
const RESULTS: [u8; 2] = [0; 2];
/// An Execute of the unnamed portal, for all rows.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
/// A Sync.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// The compiler state shared by all statements of a run.
#[derive(Debug, Default)]
pub struct PostgresCompiler {
    /// Parse messages of the statements to prepare.
    pub parses: Vec<Box<[u8]>>,
    texts: Vec<String>,
    /// Compiler of slots.
    pub slots: SqlSlots,
}

impl PostgresCompiler {
    /// Compiles the text of the option `place`; with `around`, enclosed in BEGIN and COMMIT.
    ///
    /// # Errors
    /// Returns what is wrong with the text or with a slot.
    pub fn script(
        &mut self,
        sql: &str,
        way: StatementMode,
        around: bool,
        place: &str,
    ) -> Result<PostgresScript, UsageError> {
        let wrong = |trouble: &Complaint| {
            let zh = trouble.zh();
            UsageError::new(place, complaint!("\"{sql}\": {trouble}", "“{sql}”：{zh}"))
        };
        let mut statements = dialect::statements(sql).map_err(|trouble| wrong(&trouble))?;
        if statements.is_empty() {
            return Err(wrong(&complaint!(
                "has no statement; add one, such as SELECT 1",
                "没有语句；请加上，例如 SELECT 1"
            )));
        }
        if around {
            statements.insert(0, vec![SqlPiece::Sql("BEGIN".to_owned())]);
            statements.push(vec![SqlPiece::Sql("COMMIT".to_owned())]);
        }
        let any = |test: fn(&SqlPiece) -> bool| statements.iter().flatten().any(test);
        let (plain, named) = (!any(|p| !matches!(p, SqlPiece::Sql(_))), any(|p| matches!(p, SqlPiece::Name(_))));
        if named && way == StatementMode::Prepared {
            return Err(wrong(&complaint!(
                "a slot inside a name cannot be a parameter of a prepared statement; leave out --prepared",
                "名称中的占位符不能作为预处理语句的参数；请去掉 --prepared"
            )));
        }
        let how = match way {
            StatementMode::Prepared => self.prepared(&statements, place)?,
            StatementMode::Auto if !plain && !named => self.prepared(&statements, place)?,
            _ => self.text(&statements, place)?,
        };
        Ok(PostgresScript { shown: sql.to_owned(), checks: Arc::default(), form: how })
    }

    fn prepared(&mut self, statements: &[Vec<SqlPiece>], place: &str) -> Result<ScriptForm, UsageError> {
        let executions =
            statements.iter().map(|pieces| self.execution(pieces, place)).collect::<Result<Vec<_>, _>>()?;
        Ok(ScriptForm::Prepared(executions.into()))
    }

    fn execution(&mut self, pieces: &[SqlPiece], place: &str) -> Result<StatementExecution, UsageError> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        for piece in pieces {
            let value = match piece {
                SqlPiece::Sql(text) => {
                    sql.push_str(text);
                    continue;
                }
                SqlPiece::Value(slot) | SqlPiece::Name(slot) => braced(slot),
                SqlPiece::Literal(parts) => literal_template(parts),
            };
            parameters.push(self.slots.slot(&value, place)?);
            sql.push_str(&format!("${}", parameters.len()));
        }
        let Ok(count) = i16::try_from(parameters.len()) else {
            let trouble = complaint!(
                "{} slots are more parameters than a statement can have; use at most 32767",
                "{} 个占位符超过一条语句的参数上限；最多用 32767 个",
                parameters.len()
            );
            return Err(UsageError::new(place, trouble));
        };
        let number = self.texts.iter().position(|known| *known == sql).unwrap_or_else(|| {
            let mut message = Vec::new();
            put_message(b'P', &mut message, |out| {
                put_text(format!("s{}", self.texts.len()).as_bytes(), out);
                put_text(sql.as_bytes(), out);
                out.extend_from_slice(&[0; 2]);
            });
            self.parses.push(message.into());
            self.texts.push(sql);
            self.texts.len() - 1
        });
        let bind = [format!("\0s{number}\0\0\0").as_bytes(), &count.to_be_bytes()].concat();
        Ok(StatementExecution { number: number as u32, bind: bind.into(), parameters: parameters.into() })
    }

    fn text(&mut self, statements: &[Vec<SqlPiece>], place: &str) -> Result<ScriptForm, UsageError> {
        let filled = compile_fragments(&statements.join(&SqlPiece::Sql("; ".to_owned())), &mut self.slots, place)?;
        if let [SqlFragment::Sql(sql)] = &filled[..] {
            let mut message = Vec::new();
            put_message(b'Q', &mut message, |out| put_text(sql, out));
            return Ok(ScriptForm::Fixed(message.into()));
        }
        Ok(ScriptForm::Filled(filled))
    }
}

impl PostgresScript {
    /// Returns `true` if the messages end with a Sync, which a COPY discards.
    pub fn ends_with_sync(&self) -> bool {
        matches!(self.form, ScriptForm::Prepared(_))
    }

    /// Appends the messages of one exchange, including those that prepare statements not yet prepared on this
    /// connection (`ready`); `prepare` is called for each of these, in order.
    #[inline]
    pub fn append(
        &self,
        context: &SlotContext,
        parses: &[Box<[u8]>],
        ready: &mut [bool],
        mut prepare: impl FnMut(u32),
        out: &mut Vec<u8>,
    ) {
        match &self.form {
            ScriptForm::Fixed(message) => out.extend_from_slice(message),
            ScriptForm::Filled(pieces) => put_message(b'Q', out, |out| {
                pieces.iter().for_each(|piece| piece.append(context, out, escape));
                out.push(0);
            }),
            ScriptForm::Prepared(executions) => {
                for execution in executions {
                    let number = execution.number as usize;
                    if let (Some(ready), Some(parse)) = (ready.get_mut(number), parses.get(number))
                        && !std::mem::replace(ready, true)
                    {
                        out.extend_from_slice(parse);
                        prepare(execution.number);
                    }
                    execution.append(context, out);
                }
                out.extend_from_slice(SYNC);
            }
        }
    }
}

impl StatementExecution {
    #[inline]
    fn append(&self, context: &SlotContext, out: &mut Vec<u8>) {
        put_message(b'B', out, |out| {
            out.extend_from_slice(&self.bind);
            for slot in &self.parameters {
                let from = out.len();
                out.extend_from_slice(&[0; 4]);
                slot.fill(context, out);
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
    escape_pairs(from, out, |byte| (byte == b'\'').then_some(*b"''"));
}
