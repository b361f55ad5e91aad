//! Values taken out of a response for requests to come.
//!
//! A capture names a source and, behind ` | `, which of several to take:
//!
//! ```text
//! json $.items[?@.price < 10].id | last
//! css input[name=csrf] @value
//! xpath //item[price < 10]/@id
//! regex id=(\d+)
//! between 'name="csrf" value="' '"'
//! header Location
//! cookie session
//! status
//! body
//! trailer NAME
//! element 2
//! column id
//! rows
//! ```
//!
//! Which of them a protocol's responses have, it says itself: `message` and `reply` are what WebSocket and Redis have for a body.
//!
//! Endings: `first` (the usual), `last`, `nth N` (from 1), `random`, `all` (joined by commas), `count`, and `default TEXT`, which is
//! taken where nothing is found. Strings of JSON come without their quotes, texts of documents without the white space around them, all
//! else as it was written.

mod css;
#[cfg(test)]
mod document_tests;
mod documents;
pub mod html;
mod rows;
pub mod source;
mod taken;
#[cfg(test)]
mod tests;
mod xpath;

use cause::{Cause, captures};

use crate::template::MOST_OF_A_VALUE;
pub use documents::Documents;
use source::Source;

pub use rows::Rows;
pub use taken::{Taken, Value, take_all, wished};

/// What is taken out of the response of one URL: `NAME SOURCE`. It is no option of a run.
pub const CAPTURE: &str = "capture";

/// A response, or the part of it that is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// Its status code.
    pub status: u16,
    /// The same by its name, where it is told so.
    pub called: &'a str,
    /// Its head as HTTP/1 writes it.
    pub head: &'a [u8],
    /// Its body before its coding; what another protocol has in its place: a message, a reply.
    pub body: &'a [u8],
    /// It says that there is nothing.
    pub nothing: bool,
    /// What came behind the body, as HTTP/1 writes it below a first line.
    pub trailers: &'a [u8],
    /// What a database answered.
    pub rows: Option<&'a Rows>,
}

/// One value to be taken.
#[derive(Debug)]
pub struct Capture {
    /// As it was written.
    text: String,
    source: Source,
    pick: Pick,
    default: Option<Vec<u8>>,
}

/// What of a response must be there before something can be taken out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its head.
    Head,
    /// The whole body.
    Body,
    /// What comes behind that.
    Trailers,
}

/// Which of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    First,
    Last,
    /// From 1 on.
    Nth(usize),
    Random,
    All,
    Count,
}

/// So many values of one response are looked at.
const MOST: usize = 100_000;

impl Capture {
    /// Reads what stands behind a name.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<Capture, String> {
        let (mut rest, mut pick, mut default) = (text.trim(), None, None);
        while let Some((before, ending)) = last_ending(rest) {
            match ending_of(ending.trim())? {
                Some(Ending::Pick(which)) if pick.is_none() => pick = Some(which),
                Some(Ending::Default(text)) if default.is_none() => default = Some(text.into_bytes()),
                Some(_) => return Err(format!("`{ending}` is given more than once; write it once")),
                None => break,
            }
            rest = before.trim_end();
        }
        let source = Source::parse(rest)?;
        Ok(Capture { text: text.trim().to_owned(), source, pick: pick.unwrap_or(Pick::First), default })
    }

    /// The same over a list of what this is about: a path of JSON that names no item of it leads into each.
    ///
    /// # Errors
    /// As [`Capture::parse`], which has read it before.
    pub fn in_list(&self) -> Result<Capture, String> {
        let again = Capture::parse(&self.text)?;
        Ok(Capture { source: again.source.in_list(), ..again })
    }

    /// What it looks into, in one word: `json`, `header`.
    pub fn kind(&self) -> &'static str {
        self.source.kind()
    }

    /// The part of a response that it looks into.
    pub fn part(&self) -> Part {
        self.source.part()
    }

    /// Takes the value; random bits choose where any is asked for.
    ///
    /// # Errors
    /// Nothing was found, and what was there instead; or it is too long.
    pub fn take(&self, answer: &Answer<'_>, random: u64) -> Result<Vec<u8>, Cause> {
        self.take_of((answer, &Documents::of(answer.body)), random).map(|(value, _)| value)
    }

    /// The same, with the body of the answer as documents, which are then read once for all captures of it; and where the elements of a
    /// list end in the value (`all`), a comma behind each.
    ///
    /// # Errors
    /// As [`Capture::take`].
    pub fn take_of(
        &self,
        (answer, documents): (&Answer<'_>, &Documents<'_>),
        random: u64,
    ) -> Result<(Vec<u8>, Vec<u32>), Cause> {
        let mut ends = Vec::new();
        let (found, count) = self.found((answer, documents), random, &mut ends)?;
        match found.or_else(|| self.default.clone()) {
            Some(value) if value.len() > MOST_OF_A_VALUE => {
                Err(captures::too_long(self.shown(), value.len(), MOST_OF_A_VALUE))
            }
            Some(value) => Ok((value, ends)),
            None if count > 0 => Err(captures::found_only(self.shown(), count)),
            None => Err(captures::found_nothing(self.shown(), self.source.instead(answer))),
        }
    }

    /// The value, and how many were seen for it; none is held but what is taken. `ends`: where the elements of a list end in it.
    fn found(
        &self,
        from: (&Answer<'_>, &Documents<'_>),
        random: u64,
        ends: &mut Vec<u32>,
    ) -> Result<(Option<Vec<u8>>, usize), Cause> {
        let wanted = match self.pick {
            Pick::First => Some(0),
            Pick::Nth(n) => Some(n - 1),
            Pick::Random => match self.count(from)? {
                0 => return Ok((None, 0)),
                count => Some((random % count as u64) as usize),
            },
            Pick::Last | Pick::All => None,
            Pick::Count => return self.count(from).map(|count| (Some(count.to_string().into_bytes()), count)),
        };
        let (mut taken, mut count) = (Vec::new(), 0);
        self.source.find(from, &mut |value| {
            count += 1;
            match wanted {
                None if self.pick == Pick::Last => taken.clear(),
                None if taken.len() > MOST_OF_A_VALUE => return false,
                None if count > 1 => taken.push(b','),
                Some(wanted) if wanted + 1 > count => return count < MOST,
                _ => {}
            }
            taken.extend_from_slice(value);
            if self.pick == Pick::All {
                ends.push(taken.len() as u32);
            }
            wanted.is_none() && count < MOST
        })?;
        Ok(((count > wanted.unwrap_or(0)).then_some(taken), count))
    }

    fn count(&self, from: (&Answer<'_>, &Documents<'_>)) -> Result<usize, Cause> {
        let mut count = 0;
        self.source.find(from, &mut |_| {
            count += 1;
            count < MOST
        })?;
        Ok(count)
    }

    fn shown(&self) -> String {
        source::short(self.text.as_bytes())
    }
}

enum Ending {
    Pick(Pick),
    Default(String),
}

/// What stands in front of the last ` | ` and behind it; a quoted text may hold one.
fn last_ending(text: &str) -> Option<(&str, &str)> {
    let quoted = ["'", "\""].into_iter().find_map(|quote| {
        let at = text.find(&format!(" | default {quote}")).filter(|_| text.ends_with(quote))?;
        Some((&text[..at], &text[at + 3..]))
    });
    quoted.or_else(|| text.rsplit_once(" | "))
}

/// None: it is none, and belongs to what stands before it.
fn ending_of(text: &str) -> Result<Option<Ending>, String> {
    let (word, rest) = text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
    Ok(Some(match (word, rest) {
        ("first", "") => Ending::Pick(Pick::First),
        ("last", "") => Ending::Pick(Pick::Last),
        ("random", "") => Ending::Pick(Pick::Random),
        ("all", "") => Ending::Pick(Pick::All),
        ("count", "") => Ending::Pick(Pick::Count),
        ("nth", number) => match number.parse() {
            Ok(n @ 1..) => Ending::Pick(Pick::Nth(n)),
            _ => return Err(format!("`{text}` is not a position; write for instance `nth 2`, counted from 1")),
        },
        ("default", text) => Ending::Default(source::unquoted(text).to_owned()),
        _ => return Ok(None),
    }))
}

/// True of letters, digits, `_` and `-`, of which the first is no digit.
pub fn is_word(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether steps may call a value so.
///
/// # Errors
/// What is wrong with the name.
pub fn valid_name(name: &str) -> Result<(), String> {
    if !is_word(name) {
        return Err(format!(
            "`{name}` cannot be the name of a value; use letters, digits, _ and -, starting with a \
            letter"
        ));
    }
    if crate::template::is_reserved(name) {
        return Err(format!("`{name}` is the name of a slot ({{{name}}}); use another name"));
    }
    Ok(())
}

/// Any text may be read as a capture, and any bytes as a response: no panic, and no value that is too long.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(text: &str, head: &[u8], body: &[u8]) {
    crate::verify::json::oracle(text.trim_start_matches("json "), body);
    let Ok(capture) = Capture::parse(text) else { return };
    let answer = Answer { status: 200, head, body, trailers: head, ..Answer::default() };
    for random in [0, u64::MAX] {
        match capture.take(&answer, random) {
            Ok(value) => assert!(value.len() <= MOST_OF_A_VALUE),
            Err(why) => assert!(!why.en().contains(['\n', '\u{1b}']), "{why:?}"),
        }
    }
}
