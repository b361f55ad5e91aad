//! SQL as far as its slots need it: where statements end, what is quoted, and where a `{slot}` stands.
//!
//! "Lexical Structure" of PostgreSQL's documentation: standard strings (a backslash is itself), `E'…'` strings, quoted
//! names, dollar quotes, nested comments. A `{` begins a slot where a letter follows, so that JSON in a literal stays as it
//! is; `{{` is a brace before a letter. `E'…'` and dollar quotes hold no slots.

/// One piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Sql(String),
    /// A slot that stands for a whole value.
    Value(String),
    /// A literal with slots inside: a template for its content.
    Literal(String),
    /// A slot inside a name, which can be no parameter.
    Name(String),
}

/// Cuts a text into statements and each into pieces; empty statements are left out.
///
/// # Errors
/// What is wrong with the text.
pub fn statements(text: &str) -> Result<Vec<Vec<Piece>>, String> {
    let mut scan = Scan { text, at: 0, sql: String::new(), pieces: Vec::new(), all: Vec::new() };
    while let Some(next) = scan.peek() {
        let rest = scan.rest();
        match next {
            ';' => {
                scan.at += 1;
                scan.end_statement();
            }
            '\'' if scan.sql.ends_with(['e', 'E']) && !scan.in_word(1) => scan.escaped_string()?,
            '\'' => scan.literal()?,
            '"' => scan.quoted_name()?,
            '$' if !scan.in_word(0) && scan.dollar_quote()? => {}
            '$' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) && !scan.in_word(0) => {
                return Err("$1 is filled by nobody; write a slot in its place, as in {counter}".into());
            }
            '{' => scan.bare_brace()?,
            _ if scan.comment() => {}
            _ => scan.copy(next),
        }
    }
    scan.end_statement();
    Ok(scan.all)
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

    fn copy_bytes(&mut self, count: usize) {
        self.sql.push_str(&self.text[self.at..self.at + count]);
        self.at += count;
    }

    /// Whether what was copied, but for the last `but` characters, ends inside a word.
    fn in_word(&self, but: usize) -> bool {
        self.sql.chars().rev().nth(but).is_some_and(is_word)
    }

    fn end_sql(&mut self) {
        let sql = std::mem::take(&mut self.sql);
        let sql = if self.pieces.is_empty() { sql.trim_start() } else { &sql };
        if !sql.is_empty() {
            self.pieces.push(Piece::Sql(sql.to_owned()));
        }
    }

    fn end_statement(&mut self) {
        self.sql.truncate(self.sql.trim_end().len());
        self.end_sql();
        if !self.pieces.is_empty() {
            self.all.push(std::mem::take(&mut self.pieces));
        }
    }

    /// Passes over a comment that begins here; comments nest.
    fn comment(&mut self) -> bool {
        let rest = self.rest();
        let size = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            let (mut depth, mut at) = (0, 0);
            loop {
                let here = &rest.as_bytes()[at..];
                match here {
                    [] => break at,
                    [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
                    [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
                    _ => at += 1,
                }
                if depth == 0 {
                    break at;
                }
            }
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
                return Ok(Some((rest[..=at].to_owned(), at + 1)));
            }
        }
        let shown: String = rest.chars().take(20).collect();
        Err(format!("the slot \"{shown}\" has no end; write }} behind it, or {{{{ for a brace before a letter"))
    }

    /// A brace outside of quotes.
    fn bare_brace(&mut self) -> Result<(), String> {
        let Some((slot, size)) = self.slot()? else {
            self.at += usize::from(self.rest().starts_with("{{"));
            self.copy('{');
            return Ok(());
        };
        let name_before = self.sql.is_empty() && matches!(self.pieces.last(), Some(Piece::Name(_)));
        let named = name_before || self.in_word(0);
        self.at += size;
        let followed = self.peek().is_some_and(|c| is_word(c) || c == '{');
        self.end_sql();
        self.pieces.push(if named || followed { Piece::Name(slot) } else { Piece::Value(slot) });
        Ok(())
    }

    fn quoted_name(&mut self) -> Result<(), String> {
        self.copy('"');
        loop {
            match self.peek() {
                None => return Err("a \" has no other behind it; write both".into()),
                Some('"') => {
                    self.copy('"');
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

    /// A standard string: as it is where it has no slots, else a template.
    fn literal(&mut self) -> Result<(), String> {
        let (mut template, mut plain, mut slots) = (String::new(), String::from("'"), false);
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(c) = self.peek() else { return Err("a ' has no other behind it; write both".into()) };
            if c == '{'
                && let Some((slot, size)) = self.slot()?
            {
                template.push_str(&slot);
                slots = true;
                self.at += size;
                continue;
            }
            let doubled = rest.starts_with("''") || rest.starts_with("{{");
            self.at += if doubled { 2 } else { c.len_utf8() };
            if c == '\'' && !doubled {
                break;
            }
            plain.push_str(if c == '\'' { "''" } else { &rest[..c.len_utf8()] });
            match c {
                '{' | '}' => template.extend([c, c]),
                _ => template.push(c),
            }
        }
        if slots {
            self.end_sql();
            self.pieces.push(Piece::Literal(template));
        } else {
            self.sql.push_str(&plain);
            self.sql.push('\'');
        }
        Ok(())
    }

    /// `E'…'`, whose E is copied already: a backslash takes the next character with it.
    fn escaped_string(&mut self) -> Result<(), String> {
        let mut escaped = false;
        let end = self.rest()[1..].bytes().position(|byte| {
            let closes = byte == b'\'' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let end = end.ok_or("a ' has no other behind it; write both")?;
        self.copy_bytes(end + 2);
        Ok(())
    }

    /// `$$…$$` or `$tag$…$tag$`, where one begins here.
    fn dollar_quote(&mut self) -> Result<bool, String> {
        let rest = self.rest();
        let Some(tag) = rest[1..].find('$').map(|end| &rest[..end + 2]) else { return Ok(false) };
        let inner = &tag[1..tag.len() - 1];
        if inner.starts_with(|c: char| c.is_ascii_digit()) || !inner.chars().all(is_word) {
            return Ok(false);
        }
        let end = rest[tag.len()..].find(tag).ok_or_else(|| format!("{tag} has no other behind it; write both"))?;
        self.copy_bytes(end + 2 * tag.len());
        Ok(true)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
