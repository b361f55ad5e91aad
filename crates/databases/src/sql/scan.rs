//! A scanner that reads SQL text once from the beginning and splits it into copied text, skipped comments and slots.
//!
//! A `{` begins a slot if a letter follows, so that JSON in a literal remains unchanged; `{{` is a literal brace before
//! a letter. The end of a statement, quotes and comments differ between databases, so each database has its own
//! scanning loop.

use brunt_cause::{Complaint, complaint};

/// One piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlPiece {
    /// Literal SQL.
    Sql(String),
    /// A slot that is a whole value; holds the text between its braces.
    Value(String),
    /// A quoted literal containing slots.
    Literal(Vec<LiteralPart>),
    /// A slot within a name, which cannot be a parameter.
    Name(String),
}

/// A part of a quoted literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralPart {
    /// Text with escapes decoded.
    Text(String),
    /// The text between the braces of a slot.
    Slot(String),
}

/// The scanner state: the position in the text, and the result so far.
#[derive(Debug)]
pub struct SqlScanner<'a> {
    text: &'a str,
    at: usize,
    sql: String,
    pieces: Vec<SqlPiece>,
    all: Vec<Vec<SqlPiece>>,
}

impl<'a> SqlScanner<'a> {
    /// Creates a scanner at the beginning of a text.
    pub fn new(text: &'a str) -> SqlScanner<'a> {
        SqlScanner { text, at: 0, sql: String::new(), pieces: Vec::new(), all: Vec::new() }
    }

    /// Returns the remaining text.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Returns the next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the copied text of the current piece.
    pub fn copied(&self) -> &str {
        &self.sql
    }

    /// Copies `bytes` bytes unchanged.
    pub fn copy(&mut self, bytes: usize) {
        self.sql.push_str(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
    }

    /// Skips a comment of `bytes` bytes; a blank separates the words around it.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        self.sql.push(' ');
    }

    /// Ends a statement at a separator character.
    pub fn end_statement(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
        self.sql.truncate(self.sql.trim_end().len());
        self.end_sql();
        if !self.pieces.is_empty() {
            self.all.push(std::mem::take(&mut self.pieces));
        }
    }

    /// Returns the statements, each in pieces; empty statements are dropped.
    pub fn statements(mut self) -> Vec<Vec<SqlPiece>> {
        self.end_statement();
        self.all
    }

    fn end_sql(&mut self) {
        let sql = std::mem::take(&mut self.sql);
        let sql = if self.pieces.is_empty() { sql.trim_start() } else { &sql };
        if !sql.is_empty() {
            self.pieces.push(SqlPiece::Sql(sql.to_owned()));
        }
    }

    fn push(&mut self, piece: SqlPiece) {
        self.end_sql();
        self.pieces.push(piece);
    }

    /// Returns the text between the braces of a slot that begins here, and the size of the whole slot.
    fn slot(&self) -> Result<Option<(String, usize)>, Complaint> {
        let rest = self.rest();
        if !rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Ok(None);
        }
        let mut depth = 0;
        for (at, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                return Ok(Some((rest[1..at].to_owned(), at + 1)));
            }
        }
        let shown: String = rest.chars().take(20).collect();
        Err(complaint!(
            "the slot \"{shown}\" is not closed; write }} after it, or {{{{ for a brace before a letter",
            "占位符“{shown}”没有结束；请在其后写 }}，字母前的花括号本身请写作 {{{{"
        ))
    }

    /// Handles a brace outside of quotes. `sigils` are characters that precede a name.
    ///
    /// # Errors
    /// Returns an error if the brace begins a slot that is not closed.
    pub fn bare_brace(&mut self, sigils: &[char]) -> Result<(), Complaint> {
        let Some((slot, size)) = self.slot()? else {
            self.at += usize::from(self.rest().starts_with("{{"));
            self.copy(1);
            return Ok(());
        };
        let before = match (self.sql.chars().next_back(), self.pieces.last()) {
            (None, Some(SqlPiece::Name(_))) => Some('_'),
            (before, _) => before,
        };
        self.at += size;
        // The slots in `{user}.t` and `t.{user}` are names too.
        let in_name = |c: char| is_word(c) || matches!(c, '{' | '.');
        let named = before.is_some_and(|c| in_name(c) || sigils.contains(&c)) || self.peek().is_some_and(in_name);
        self.push(if named { SqlPiece::Name(slot) } else { SqlPiece::Value(slot) });
        Ok(())
    }

    /// Scans a quoted name.
    ///
    /// # Errors
    /// Returns an error if the name, or a slot inside it, is not closed.
    pub fn quoted_name(&mut self, quote: char) -> Result<(), Complaint> {
        self.copy(quote.len_utf8());
        loop {
            match self.peek() {
                None => return Err(unclosed_error(quote)),
                Some('{') => match self.slot()? {
                    Some((slot, size)) => {
                        self.at += size;
                        self.push(SqlPiece::Name(slot));
                    }
                    None => self.copy(1),
                },
                Some(c) => {
                    self.copy(c.len_utf8());
                    if c == quote {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Scans a quoted literal, which stays unchanged if it has no slots. `escaped` decodes a backslash followed by a
    /// character; `None` if backslashes are literal.
    ///
    /// # Errors
    /// Returns an error if the literal, or a slot inside it, is not closed.
    pub fn literal(&mut self, quote: char, escaped: Option<fn(char) -> String>) -> Result<(), Complaint> {
        let from = self.at;
        self.at += 1;
        let (mut parts, mut text, mut slots) = (Vec::new(), String::new(), false);
        loop {
            let Some(c) = self.peek() else { return Err(unclosed_error(quote)) };
            if c == '{'
                && let Some((slot, size)) = self.slot()?
            {
                self.at += size;
                parts.push(LiteralPart::Text(std::mem::take(&mut text)));
                parts.push(LiteralPart::Slot(slot));
                slots = true;
                continue;
            }
            self.at += c.len_utf8();
            let next = self.peek();
            match (c, escaped) {
                ('\\', Some(escaped)) => {
                    self.at += next.map_or(0, char::len_utf8);
                    text.extend(next.map(escaped));
                    continue;
                }
                _ if c == quote && next != Some(quote) => break,
                _ if c == quote || (c == '{' && next == Some('{')) => self.at += 1,
                _ => {}
            }
            text.push(c);
        }
        if slots {
            parts.push(LiteralPart::Text(text));
            parts.retain(|part| !matches!(part, LiteralPart::Text(text) if text.is_empty()));
            self.push(SqlPiece::Literal(parts));
        } else {
            // Here too, `{{` is one brace.
            self.sql.push_str(&self.text[from..self.at].replace("{{", "{"));
        }
        Ok(())
    }
}

/// Returns the error message for an unclosed quote.
pub fn unclosed_error(quote: impl std::fmt::Display) -> Complaint {
    complaint!("a {quote} has no matching end; write both", "{quote} 没有对应的结尾；请两端都写")
}

/// Returns `true` for word characters.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
