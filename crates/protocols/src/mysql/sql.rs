//! SQL as far as its slots need it: where statements end, what is quoted, and where a `{slot}` stands.
//!
//! A `{` begins a slot where a letter follows, so that JSON in a literal stays as it is; `{{` is a brace before a letter.
//! Comments are passed over. Left out: DELIMITER (a statement that creates a routine is never cut) and
//! NO_BACKSLASH_ESCAPES.

/// One piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Sql(String),
    /// A slot that stands for a whole value: what is between its braces.
    Value(String),
    /// A quoted literal with slots inside.
    Literal(Vec<Part>),
    /// A slot inside a name, which can be no parameter.
    Name(String),
}

/// A part of a quoted literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// What the characters mean, escapes undone.
    Text(String),
    /// What is between the braces of a slot.
    Slot(String),
}

/// Cuts a text into statements and each into pieces; empty statements are left out.
///
/// # Errors
/// What is wrong with the text.
pub fn statements(text: &str) -> Result<Vec<Vec<Piece>>, String> {
    let mut scan = Scan { text, at: 0, sql: String::new(), pieces: Vec::new(), all: Vec::new() };
    let whole = creates_routine(text);
    while let Some(next) = scan.peek() {
        match next {
            ';' if !whole => {
                scan.at += 1;
                scan.end_statement();
            }
            '\'' | '"' => scan.literal(next)?,
            '`' => scan.name_in_backticks()?,
            '?' => {
                return Err(
                    "? is filled by nobody; write a slot in its place, as in {counter} or {random 1..1000}".into()
                );
            }
            '{' => scan.bare_brace()?,
            _ if scan.comment() => {}
            _ => scan.copy(next),
        }
    }
    scan.end_statement();
    Ok(scan.all)
}

/// Bodies of routines hold semicolons of their own.
fn creates_routine(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace().map(str::to_ascii_lowercase);
    matches!(words.next().as_deref(), Some("create"))
        && words.take(6).any(|w| matches!(w.as_str(), "procedure" | "function" | "trigger" | "event"))
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    sql: String,
    pieces: Vec<Piece>,
    all: Vec<Vec<Piece>>,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn copy(&mut self, c: char) {
        self.sql.push(c);
        self.at += c.len_utf8();
    }

    fn end_sql(&mut self) {
        if !self.sql.is_empty() {
            let sql = std::mem::take(&mut self.sql);
            self.pieces.push(Piece::Sql(sql));
        }
    }

    fn end_statement(&mut self) {
        if self.pieces.is_empty() {
            self.sql = self.sql.trim_start().to_owned();
        }
        self.sql.truncate(self.sql.trim_end().len());
        self.end_sql();
        if !self.pieces.is_empty() {
            self.all.push(std::mem::take(&mut self.pieces));
        }
    }

    /// Passes over a comment that begins here.
    fn comment(&mut self) -> bool {
        let rest = self.rest();
        let line = rest.starts_with('#')
            || rest.strip_prefix("--").is_some_and(|r| r.is_empty() || r.starts_with([' ', '\t', '\n']));
        // `/*!` and `/*+` are no comments but code and hints: they stay.
        let size = if line {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") && !rest.starts_with("/*!") && !rest.starts_with("/*+") {
            rest[2..].find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            return false;
        };
        self.at += size;
        self.sql.push(' ');
        true
    }

    /// What is between the braces where a slot begins here, and the size of it all.
    fn slot(&self) -> Result<Option<(String, usize)>, String> {
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
        Err(format!("the slot \"{shown}\" has no end; write }} behind it, or {{{{ for a brace before a letter"))
    }

    /// A brace outside of quotes.
    fn bare_brace(&mut self) -> Result<(), String> {
        if let Some((slot, size)) = self.slot()? {
            let before = self.sql.chars().next_back().or(match self.pieces.last() {
                Some(Piece::Name(_)) => Some('_'),
                _ => None,
            });
            self.at += size;
            // `{user}.t`, `t.{user}` and `@{user}` are names too.
            let in_name =
                |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '{' | '.'));
            let named = in_name(before) || before == Some('@') || in_name(self.peek());
            let piece = if named { Piece::Name(slot) } else { Piece::Value(slot) };
            self.end_sql();
            self.pieces.push(piece);
            return Ok(());
        }
        self.at += usize::from(self.rest().starts_with("{{"));
        self.copy('{');
        Ok(())
    }

    fn name_in_backticks(&mut self) -> Result<(), String> {
        self.copy('`');
        loop {
            match self.peek() {
                None => return Err("a ` has no other behind it; write both".into()),
                Some('`') => {
                    self.copy('`');
                    return Ok(());
                }
                Some('{') => match self.slot()? {
                    Some((slot, size)) => {
                        self.at += size;
                        self.end_sql();
                        self.pieces.push(Piece::Name(slot));
                    }
                    None => self.copy('{'),
                },
                Some(c) => self.copy(c),
            }
        }
    }

    /// A literal in quotes: as it is where it has no slots.
    fn literal(&mut self, quote: char) -> Result<(), String> {
        let from = self.at;
        self.at += 1;
        let (mut parts, mut text, mut slots) = (Vec::new(), String::new(), false);
        loop {
            let rest = self.rest();
            let Some(c) = self.peek() else { return Err(format!("a {quote} has no other behind it; write both")) };
            if c == '{'
                && let Some((slot, size)) = self.slot()?
            {
                self.at += size;
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(Part::Slot(slot));
                slots = true;
                continue;
            }
            let next = rest.chars().nth(1);
            let doubled = c == quote && next == Some(quote);
            self.at += match c {
                '{' if next == Some('{') => 2,
                '\\' => 1 + next.map_or(0, char::len_utf8),
                _ if doubled => 2,
                c => c.len_utf8(),
            };
            match c {
                '\\' => text.push_str(&escaped(next)),
                c if c == quote && !doubled => break,
                c => text.push(c),
            }
        }
        if slots {
            parts.push(Part::Text(text));
            parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
            self.end_sql();
            self.pieces.push(Piece::Literal(parts));
        } else {
            // `{{` is one brace here too.
            self.sql.push_str(&braces_undone(&self.text[from..self.at]));
        }
        Ok(())
    }
}

/// `{{` before a letter, or anything else, is one brace.
fn braces_undone(text: &str) -> String {
    text.replace("{{", "{")
}

/// What a backslash and a character mean ("String Literals", special character escape sequences).
fn escaped(c: Option<char>) -> String {
    match c {
        None => String::new(),
        Some('0') => "\0".into(),
        Some('b') => "\u{8}".into(),
        Some('n') => "\n".into(),
        Some('r') => "\r".into(),
        Some('t') => "\t".into(),
        Some('Z') => "\u{1a}".into(),
        // For patterns: the backslash stays.
        Some(c @ ('%' | '_')) => format!("\\{c}"),
        Some(c) => c.to_string(),
    }
}
