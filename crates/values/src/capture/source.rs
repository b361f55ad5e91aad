//! The source of a captured value.

use std::io::Write as _;

use cause::{Cause, captures, checks};
use memchr::memmem;

use super::css::Css;
use super::documents::Documents;
use super::rows::{Column, Rows};
use super::xpath::XPath;
use super::{Answer, Part};
use crate::beside::captures::Captures;
use crate::verify::header::{self, values};
use crate::verify::json::Place;
use crate::verify::places;

/// Maximum number of bytes shown of the content that was found instead.
const SHOWN: usize = 120;
/// Maximum number of body bytes that a pattern searches.
const LOOKED_INTO: usize = 1 << 20;

/// The source of a value.
#[derive(Debug)]
pub(super) enum Source {
    /// A JSON path into the body.
    Json(Place),
    /// The first group of a pattern, or the whole match.
    Regex(Captures),
    /// Elements of HTML.
    Css(Css),
    /// An XPath expression over XML or HTML.
    XPath(XPath),
    /// The text between two texts.
    Between(Vec<u8>, Vec<u8>),
    /// The values of a header field.
    Header(String),
    /// The values of cookies set by the response.
    Cookie(String),
    /// The status code.
    Status,
    /// The whole body.
    Body,
    /// The values of a trailer field.
    Trailer(String),
    /// One element of a list, counted from 1.
    Element(usize),
    /// A column of all rows, by name or number.
    Column(Column),
    /// The number of rows.
    Rows,
}

const KINDS: &str = "json $.PATH, css SELECTOR, xpath EXPRESSION, regex PATTERN, between 'A' 'B', header NAME, trailer NAME, cookie NAME, \
    status or body; other protocols have message, reply, element N, column NAME and rows";

impl Source {
    /// See [`super::Capture::in_list`].
    pub fn in_list(self) -> Source {
        match self {
            Source::Json(place) => Source::Json(place.in_list()),
            other => other,
        }
    }

    /// Parses a source.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    pub fn parse(text: &str) -> Result<Source, String> {
        let (word, rest) = text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
        let missing = || Err(format!("`{text}` is incomplete; write {KINDS}"));
        match (word, rest) {
            ("status", "") => Ok(Source::Status),
            ("body" | "message" | "reply", "") => Ok(Source::Body),
            ("rows", "") => Ok(Source::Rows),
            ("json" | "css" | "xpath" | "regex" | "between" | "header" | "cookie", "") => missing(),
            ("trailer" | "element" | "column", "") => missing(),
            ("trailer", name) => Ok(Source::Trailer(name.to_ascii_lowercase())),
            ("column", name) => Ok(Source::Column(Column::parse(unquoted(name)))),
            ("element", number) => match number.parse() {
                Ok(number @ 1..) => Ok(Source::Element(number)),
                _ => Err(format!(
                    "`{number}` is not the position of an element; write for instance element 2, \
                    counted from 1"
                )),
            },
            ("json", path) => Place::parse(path).map(Source::Json),
            ("regex", pattern) => Captures::new(unquoted(pattern)).map(Source::Regex),
            ("between", texts) => between(texts),
            ("header", name) => Ok(Source::Header(name.to_ascii_lowercase())),
            ("cookie", name) => Ok(Source::Cookie(name.to_owned())),
            ("css", selector) => Css::parse(selector).map(Source::Css),
            ("xpath", expression) => XPath::parse(expression).map(Source::XPath),
            _ => Err(format!("`{}` is not a source of a value; write {KINDS}", short(text.as_bytes()))),
        }
    }

    /// Returns the part of a response that the source reads.
    pub fn part(&self) -> Part {
        match self {
            Source::Header(_) | Source::Cookie(_) | Source::Status => Part::Head,
            Source::Trailer(_) => Part::Trailers,
            _ => Part::Body,
        }
    }

    /// Returns the kind of the source in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Source::Json(_) => "json",
            Source::Css(_) => "css",
            Source::XPath(_) => "xpath",
            Source::Regex(_) => "regex",
            Source::Between(..) => "between",
            Source::Header(_) => "header",
            Source::Cookie(_) => "cookie",
            Source::Status => "status",
            Source::Body => "body",
            Source::Trailer(_) => "trailer",
            Source::Element(_) => "element",
            Source::Column(_) => "column",
            Source::Rows => "rows",
        }
    }

    /// Passes all results to `more` in order, until `more` returns `false`.
    ///
    /// # Errors
    /// The body does not have the format that the source reads.
    pub fn find(
        &self,
        (answer, documents): (&Answer<'_>, &Documents<'_>),
        more: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Cause> {
        match self {
            Source::Status if !answer.called.is_empty() => _ = more(answer.called.as_bytes()),
            Source::Status => {
                let (mut digits, room) = ([0; 5], answer.status.checked_ilog10().unwrap_or(0) as usize + 1);
                // Five digits hold any `u16`.
                let _ = write!(&mut digits[..], "{}", answer.status);
                more(&digits[..room]);
            }
            Source::Body if answer.nothing => {}
            Source::Body => _ = more(answer.body),
            Source::Trailer(name) => _ = values(answer.trailers, name).all(more),
            Source::Rows => _ = more(answer.rows.map_or(0, Rows::count).to_string().as_bytes()),
            Source::Column(column) => {
                if let Some(rows) = answer.rows {
                    rows.each(column, more)?;
                }
            }
            Source::Element(number) => {
                let Some(whole) = places::whole(answer.body).filter(|_| answer.body.starts_with(b"[")) else {
                    return Err(captures::no_list(short(answer.body)));
                };
                let mut at = 0;
                places::items(whole, |item| {
                    at += 1;
                    if at == *number && item.get() != "null" {
                        let text = places::text(item);
                        more(text.as_deref().unwrap_or(item.get().as_bytes()));
                    }
                });
            }
            Source::Header(name) => _ = values(answer.head, name).all(more),
            Source::Cookie(name) => {
                let mut set = cookies(answer.head).filter(|(set, _)| *set == name.as_bytes());
                _ = set.all(|(_, value)| more(value));
            }
            Source::Json(place) => {
                let mut goes_on = true;
                let read = place.walk(answer.body, &mut |value| {
                    if goes_on {
                        let text = places::text(value);
                        goes_on = more(text.as_deref().unwrap_or(value.get().as_bytes()));
                    }
                });
                read.map_err(|_| captures::no_json(short(answer.body)))?;
            }
            Source::Css(css) => css.find(documents.html()?, more)?,
            Source::XPath(xpath) => xpath.find(documents.tree()?, more)?,
            Source::Regex(pattern) => {
                let body = &answer.body[..answer.body.len().min(LOOKED_INTO)];
                pattern.each(body, more);
            }
            Source::Between(left, right) => standing_between((left, right), answer.body, more),
        }
        Ok(())
    }

    /// Describes what was found instead.
    pub fn instead(&self, answer: &Answer<'_>) -> Cause {
        match self {
            Source::Header(_) => header::told(captures::has_headers, captures::has_no_header(), answer.head),
            Source::Cookie(_) => {
                let names: Vec<&[u8]> = cookies(answer.head).map(|(name, _)| name).collect();
                match names.is_empty() {
                    true => captures::has_no_cookie().into(),
                    false => captures::has_cookies(short(&names.join(&b", "[..]))),
                }
            }
            Source::Trailer(_) => header::told(checks::trailers, checks::no_trailers(), answer.trailers),
            Source::Column(_) | Source::Rows => answer.rows.map_or_else(|| captures::no_rows().into(), Rows::told),
            _ if answer.nothing => captures::nil().into(),
            _ if answer.body.is_empty() => captures::empty().into(),
            _ => captures::body(short(answer.body)),
        }
    }
}

/// Parses `'A' 'B'`.
fn between(texts: &str) -> Result<Source, String> {
    let wrong = || format!("`{}` is not two texts; write between 'A' 'B'", short(texts.as_bytes()));
    let quote = texts.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(wrong)?;
    let (left, rest) = texts[1..].split_once(quote).ok_or_else(wrong)?;
    let rest = rest.trim();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(wrong)?;
    let right = rest[1..].strip_suffix(quote).ok_or_else(wrong)?;
    if left.is_empty() || right.is_empty() {
        return Err(wrong());
    }
    Ok(Source::Between(left.into(), right.into()))
}

/// Returns the names and values of the cookies set by a head.
fn cookies(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    values(head, "set-cookie").filter_map(|line| {
        let pair = line.split(|&b| b == b';').next()?;
        let equals = memchr::memchr(b'=', pair)?;
        Some((pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii()))
    })
}

/// Strips quotes around a text, if there are any.
pub(super) fn unquoted(text: &str) -> &str {
    let quoted = ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(text)
}

/// Returns the beginning of a text on one line, with control characters made harmless.
pub fn short(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN)];
    let text = String::from_utf8_lossy(cut);
    let line = measure::plain::line(&text).into_owned();
    if cut.len() < bytes.len() { line + "…" } else { line }
}

/// Passes the texts between `left` and `right` to `more`, in order.
fn standing_between((left, right): (&[u8], &[u8]), text: &[u8], more: &mut dyn FnMut(&[u8]) -> bool) {
    let mut rest = text;
    while let Some(at) = memmem::find(rest, left) {
        rest = &rest[at + left.len()..];
        let Some(end) = memmem::find(rest, right) else { break };
        if !more(&rest[..end]) {
            break;
        }
        rest = &rest[end..];
    }
}
