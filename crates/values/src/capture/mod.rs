//! Values captured from a response for later requests.
//!
//! A capture names a source and optionally, after ` | `, an ending that selects one of several results:
//!
//! ```text
//! json $.items[?@.price < 10].id | last
//! css input[name=csrf] @value
//! xpath //item[price < 10]/@id
//! regex id=(\d+)
//! between 'name="csrf" value="' '"'
//! header Location
//! header Location regex code=([^&]+)
//! cookie session
//! status
//! body
//! trailer NAME
//! element 2
//! column id
//! rows
//! ```
//!
//! Each protocol defines which sources its responses have: `message` and `reply` are the bodies of WebSocket and Redis.
//!
//! Endings: `first` (the default), `last`, `nth N` (from 1), `random`, `all` (joined by commas), `count`, and `default
//! TEXT`, which is used if nothing is found. All of a path that leads to a single array are its items. JSON strings are taken without their quotes and texts of documents without
//! surrounding white space; everything else is taken unchanged.

mod captured;
mod counted_element;
mod css;
#[cfg(test)]
mod document_tests;
mod documents;
pub mod html;
mod rows;
pub mod source;
#[cfg(test)]
mod tests;
mod xpath;

use brunt_cause::{Cause, Complaint, captures, complaint};

use crate::template::{self, MOST_OF_A_VALUE};
pub use documents::BodyDocuments;
use source::{CaptureSource, SearchError};

pub use captured::{CaptureValue, CapturedValues, parse_captures, take_all};
pub use rows::ResultRows;

/// Name of the option for captures from the response of one URL (`NAME SOURCE`); not an option of a run.
pub const CAPTURE: &str = "capture";

/// A response, or the part received so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureInput<'a> {
    /// Status code.
    pub status: u16,
    /// Name of the status, if the protocol has names.
    pub status_name: &'a str,
    /// Head in HTTP/1 format.
    pub head: &'a [u8],
    /// Decoded body, or its counterpart in another protocol: a message, a reply.
    pub body: &'a [u8],
    /// Set if the response is nil.
    pub is_nil: bool,
    /// Trailers in HTTP/1 format, without a first line.
    pub trailers: &'a [u8],
    /// Rows of a database result; `None` for other protocols.
    pub rows: Option<&'a ResultRows>,
}

/// A parsed capture, which describes one value to take from a response.
#[derive(Debug)]
pub struct Capture {
    /// Capture as written by the user.
    text: String,
    source: CaptureSource,
    pick: CapturePick,
    default: Option<Vec<u8>>,
}

/// The part of a response that must have arrived before a capture can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponsePart {
    /// The head.
    Head,
    /// The whole body.
    Body,
    /// The trailers after the body.
    Trailers,
}

/// The choice among several results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CapturePick {
    First,
    Last,
    /// Position, counted from 1.
    Nth(usize),
    Random,
    All,
    Count,
}

/// Maximum number of results examined in one response.
const MOST: usize = 100_000;

impl Capture {
    /// Parses the text after the name of a capture.
    ///
    /// # Errors
    /// The capture is invalid; the error describes why and gives the correct syntax.
    pub fn parse(text: &str) -> Result<Capture, Complaint> {
        let (mut rest, mut pick, mut default) = (text.trim(), None, None);
        while let Some((before, ending)) = split_ending(rest) {
            match parse_ending(ending.trim())? {
                Some(CaptureEnding::Pick(which)) if pick.is_none() => pick = Some(which),
                Some(CaptureEnding::Default(text)) if default.is_none() => default = Some(text.into_bytes()),
                Some(_) => {
                    return Err(complaint!(
                        "`{ending}` is given more than once; give it once",
                        "`{ending}` 重复出现；只写一次"
                    ));
                }
                // In these languages, it may be an alternative.
                None if rest.starts_with("regex ") || rest.starts_with("xpath ") => break,
                None if template::is_change(ending.trim()) => {
                    let ending = ending.trim();
                    return Err(complaint!(
                        "`{ending}` does not belong to a capture; write it where the value is used, as in {{NAME | {ending}}}",
                        "`{ending}` 不属于提取规则；请写在使用该值的地方，例如 {{NAME | {ending}}}"
                    ));
                }
                None => break,
            }
            rest = before.trim_end();
        }
        let pick = pick.unwrap_or(CapturePick::First);
        let source = CaptureSource::parse(rest)?;
        let source = if pick == CapturePick::All { source.with_items() } else { source };
        Ok(Capture { text: text.trim().to_owned(), source, pick, default })
    }

    /// Returns the same capture applied to a list of responses: a JSON path that names no item is evaluated in each
    /// item.
    ///
    /// # Errors
    /// See [`Capture::parse`]; not expected, because it has already accepted the text.
    pub fn in_list(&self) -> Result<Capture, Complaint> {
        let again = Capture::parse(&self.text)?;
        Ok(Capture { source: again.source.in_list(), ..again })
    }

    /// Returns the kind of the source in one word: `json`, `header`.
    pub fn kind(&self) -> &'static str {
        self.source.kind()
    }

    /// Returns the part of a response that the capture reads.
    pub fn part(&self) -> ResponsePart {
        self.source.part()
    }

    /// Takes the value; with the ending `random`, the argument `random` selects the result.
    ///
    /// # Errors
    /// No result was found (the error describes what the response contains instead), there were too few results, or the
    /// value is too long.
    pub fn take(&self, answer: &CaptureInput<'_>, random: u64) -> Result<Vec<u8>, Cause> {
        self.take_with_documents((answer, &BodyDocuments::of(answer.body)), random).map(|(value, _)| value)
    }

    /// Like [`Capture::take`], but with a [`BodyDocuments`] shared by all captures of the response, so that its body is
    /// parsed once. With the ending `all`, also returns the end offset of each element within the value, excluding the
    /// comma after it.
    ///
    /// # Errors
    /// See [`Capture::take`].
    pub fn take_with_documents(
        &self,
        (answer, documents): (&CaptureInput<'_>, &BodyDocuments<'_>),
        random: u64,
    ) -> Result<(Vec<u8>, Vec<u32>), Cause> {
        let mut ends = Vec::new();
        let evaluated = self.evaluate((answer, documents), random, &mut ends);
        let (found, count) = evaluated.map_err(|error| match error {
            SearchError::Cause(cause) => cause,
            SearchError::OutOfSteps => captures::out_of_steps(self.excerpt()),
        })?;
        // A list keeps a place for NULL; a single value that is NULL is none.
        let is_null = found.is_some() && !self.takes_all() && self.source.is_null(answer, count - 1);
        match found.filter(|_| !is_null).or_else(|| self.default.clone()) {
            Some(value) if value.len() > MOST_OF_A_VALUE => {
                Err(captures::too_long(self.excerpt(), value.len(), MOST_OF_A_VALUE))
            }
            Some(value) => Ok((value, ends)),
            None if is_null => Err(captures::null(self.excerpt())),
            None if count > 0 => Err(captures::found_only(self.excerpt(), count)),
            None => Err(captures::found_nothing(self.excerpt(), self.source.describe_found(answer))),
        }
    }

    fn takes_all(&self) -> bool {
        matches!(self.pick, CapturePick::All | CapturePick::Count)
    }

    /// Returns the value and the number of results examined; only the selected result is kept, which is the last one
    /// examined. `ends` receives the end offsets of list elements.
    fn evaluate(
        &self,
        from: (&CaptureInput<'_>, &BodyDocuments<'_>),
        random: u64,
        ends: &mut Vec<u32>,
    ) -> Result<(Option<Vec<u8>>, usize), SearchError> {
        let wanted = match self.pick {
            CapturePick::First => Some(0),
            CapturePick::Nth(n) => Some(n - 1),
            CapturePick::Random => match self.count(from)? {
                0 => return Ok((None, 0)),
                count => Some((random % count as u64) as usize),
            },
            CapturePick::Last | CapturePick::All => None,
            CapturePick::Count => return self.count(from).map(|count| (Some(count.to_string().into_bytes()), count)),
        };
        let (mut taken, mut count) = (Vec::new(), 0);
        self.source.find(from, &mut |value| {
            count += 1;
            match wanted {
                None if self.pick == CapturePick::Last => taken.clear(),
                None if taken.len() > MOST_OF_A_VALUE => return false,
                None if count > 1 => taken.push(b','),
                Some(wanted) if wanted + 1 > count => return count < MOST,
                _ => {}
            }
            taken.extend_from_slice(value);
            if self.pick == CapturePick::All {
                ends.push(taken.len() as u32);
            }
            wanted.is_none() && count < MOST
        })?;
        Ok(((count > wanted.unwrap_or(0)).then_some(taken), count))
    }

    fn count(&self, from: (&CaptureInput<'_>, &BodyDocuments<'_>)) -> Result<usize, SearchError> {
        let mut count = 0;
        self.source.find(from, &mut |_| {
            count += 1;
            count < MOST
        })?;
        Ok(count)
    }

    fn excerpt(&self) -> String {
        source::excerpt(self.text.as_bytes())
    }
}

enum CaptureEnding {
    Pick(CapturePick),
    Default(String),
}

/// Splits a text at its last ` | `; a quoted default may contain one.
fn split_ending(text: &str) -> Option<(&str, &str)> {
    let quoted = ["'", "\""].into_iter().find_map(|quote| {
        let at = text.find(&format!(" | default {quote}")).filter(|_| text.ends_with(quote))?;
        Some((&text[..at], &text[at + 3..]))
    });
    quoted.or_else(|| text.rsplit_once(" | "))
}

/// Parses an ending; `None` if the text is not an ending and therefore belongs to the source.
fn parse_ending(text: &str) -> Result<Option<CaptureEnding>, Complaint> {
    let (word, rest) = text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
    Ok(Some(match (word, rest) {
        ("first", "") => CaptureEnding::Pick(CapturePick::First),
        ("last", "") => CaptureEnding::Pick(CapturePick::Last),
        ("random", "") => CaptureEnding::Pick(CapturePick::Random),
        ("all", "") => CaptureEnding::Pick(CapturePick::All),
        ("count", "") => CaptureEnding::Pick(CapturePick::Count),
        ("nth", number) => match number.parse() {
            Ok(n @ 1..) => CaptureEnding::Pick(CapturePick::Nth(n)),
            _ => {
                return Err(complaint!(
                    "`{text}` is not a position; use, for example, `nth 2`, counted from 1",
                    "`{text}` 不是位置；请写，例如 `nth 2`，从 1 数起"
                ));
            }
        },
        ("default", text) => CaptureEnding::Default(source::unquoted(text).to_owned()),
        _ => return Ok(None),
    }))
}

/// Returns `true` for a name of letters, digits, `_` and `-` that does not begin with a digit or `-`.
pub fn is_word(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Checks that a captured value may have this name.
///
/// # Errors
/// The name is invalid; the error describes why.
pub fn valid_name(name: &str) -> Result<(), Complaint> {
    if !is_word(name) {
        return Err(complaint!(
            "`{name}` cannot be the name of a value; use letters, digits, _ and -, starting with a \
            letter",
            "`{name}` 不能用作值的名称；请用字母、数字、_ 和 -，并以字母开头"
        ));
    }
    if template::is_reserved(name) {
        return Err(complaint!(
            "`{name}` is the name of a slot ({{{name}}}); use another name",
            "`{name}` 是占位符（{{{name}}}）的名称；请换一个名称"
        ));
    }
    Ok(())
}

/// Checks that any text can be parsed as a capture and any bytes as a response without a panic, and that no value is
/// too long.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(text: &str, head: &[u8], body: &[u8]) {
    crate::verify::json::oracle(text.trim_start_matches("json "), body);
    let Ok(capture) = Capture::parse(text) else { return };
    let answer = CaptureInput { status: 200, head, body, trailers: head, ..CaptureInput::default() };
    for random in [0, u64::MAX] {
        match capture.take(&answer, random) {
            Ok(value) => assert!(value.len() <= MOST_OF_A_VALUE),
            Err(why) => assert!(!why.en().contains(['\n', '\u{1b}']), "{why:?}"),
        }
    }
}
