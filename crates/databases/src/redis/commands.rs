//! A parser of command lines into commands and words: `SET key:{counter} "a\r\n" '{"as": "it is"}'; EXPIRE …`.
//!
//! Words are separated by white space, except within a slot. Double quotes support escapes and slots, single quotes
//! neither, as in a shell. A `;` at the end of a bare word ends a command: all commands of a line are one exchange.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;

/// The quoting of a piece of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuoteStyle {
    /// No quotes; slots are recognized.
    Bare,
    /// Double quotes; escapes and slots are recognized.
    Double,
    /// Single quotes; literal.
    Single,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPiece {
    /// Text without its quotes.
    pub text: String,
    /// Quoting of the text.
    pub quote: QuoteStyle,
}

/// The pieces of a word: several if quotes begin or end inside it.
pub type CommandWord = Vec<WordPiece>;

/// Splits a line into commands of at least one word.
///
/// # Errors
/// Returns a usage error for an unclosed quote or a command without words.
pub fn split_commands(line: &str, place: &str) -> Result<Vec<Vec<CommandWord>>, UsageError> {
    let wrong = |trouble: &Complaint| {
        let zh = trouble.zh();
        Err(UsageError::new(place, complaint!("\"{line}\" {trouble}", "“{line}”{zh}")))
    };
    let mut commands = vec![Vec::new()];
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after, ends) = match parse_word(rest) {
            Ok(read) => read,
            Err(trouble) => return wrong(&trouble),
        };
        let command = commands.last_mut().map_or(0, |command| {
            command.extend((!word.is_empty()).then_some(word));
            command.len()
        });
        if ends && command == 0 {
            return wrong(&complaint!(
                "has a `;` with no command before it; write commands between them, or quote it",
                "的 `;` 之前没有命令；请在其间写命令，或给它加引号"
            ));
        }
        rest = after.trim_start();
        if ends && !rest.is_empty() {
            commands.push(Vec::new());
        }
    }
    if commands[0].is_empty() {
        wrong(&complaint!("has no command; use, for example, GET key", "没有命令；请写，例如 GET key"))
    } else {
        Ok(commands)
    }
}

/// Parses the first word of a text; returns it with the remaining text and whether it ends its command.
fn parse_word(text: &str) -> Result<(CommandWord, &str, bool), Complaint> {
    let (mut word, mut rest) = (CommandWord::new(), text);
    loop {
        match rest.chars().next() {
            None => return Ok((word, rest, false)),
            Some(c) if c.is_whitespace() => return Ok((word, rest, false)),
            Some('"') => {
                let end = closing_quote(&rest[1..]).ok_or_else(|| {
                    complaint!(
                        "has a \" that is not closed; write another \" after it",
                        "的 \" 没有闭合；请在后面再写一个 \""
                    )
                })?;
                word.push(WordPiece { text: rest[1..=end].to_owned(), quote: QuoteStyle::Double });
                rest = &rest[end + 2..];
            }
            Some('\'') => {
                let end = rest[1..].find('\'').ok_or_else(|| {
                    complaint!(
                        "has a ' that is not closed; write another ' after it",
                        "的 ' 没有闭合；请在后面再写一个 '"
                    )
                })?;
                word.push(WordPiece { text: rest[1..=end].to_owned(), quote: QuoteStyle::Single });
                rest = &rest[end + 2..];
            }
            Some(_) => {
                let (end, ends) = bare_end(rest);
                word.extend((end > 0).then(|| WordPiece { text: rest[..end].to_owned(), quote: QuoteStyle::Bare }));
                rest = &rest[end + usize::from(ends)..];
                if ends {
                    return Ok((word, rest, true));
                }
            }
        }
    }
}

/// Returns the position of the closing quote.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// Returns the end of a bare piece, and whether a `;` there ends the command. Braces are read as in templates: doubled
/// braces are literal, even inside a slot, where they occur in pairs.
fn bare_end(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    // Number of open literal braces for each open slot.
    let mut slots: Vec<u32> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let doubled = bytes.get(at + 1) == Some(&bytes[at]);
        match (bytes[at], slots.last_mut()) {
            (b'{', open) if doubled => {
                open.into_iter().for_each(|open| *open += 1);
                at += 1;
            }
            (b'{', _) => slots.push(0),
            (b'}', Some(0)) => drop(slots.pop()),
            (b'}', Some(open)) if doubled => {
                *open -= 1;
                at += 1;
            }
            (b'}', None) if doubled => at += 1,
            (b'"' | b'\'', None) => return (at, false),
            (b';', None) if text[at + 1..].chars().next().is_none_or(char::is_whitespace) => return (at, true),
            (byte, None) if byte.is_ascii_whitespace() => return (at, false),
            _ => {}
        }
        at += 1;
    }
    (at, false)
}
