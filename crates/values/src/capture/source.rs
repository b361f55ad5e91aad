//! The source of a captured value.

use std::io::Write as _;

use brunt_cause::{Cause, Complaint, captures, checks, complaint};
use memchr::memmem;
use serde_json::value::RawValue;

use super::css::CssSelector;
use super::documents::BodyDocuments;
use super::rows::{ColumnSelector, ResultRows};
use super::xpath::XPathExpression;
use super::{CaptureInput, ResponsePart};
use crate::group_captures::GroupCaptures;
use crate::steps::{OutOfSteps, StepBudget};
use crate::verify::header::{self, field_values};
use crate::verify::json::BodyPath;
use crate::verify::raw_json;

/// Maximum number of bytes of the actual content shown in an error.
const SHOWN: usize = 120;

/// The reason why a search for values did not come to its end.
#[derive(Debug)]
pub(super) enum SearchError {
    /// The body does not have the format of the source, or exceeds its bounds.
    Cause(Cause),
    /// The budget of all captures was spent.
    OutOfSteps,
}

impl From<Cause> for SearchError {
    fn from(cause: Cause) -> SearchError {
        SearchError::Cause(cause)
    }
}

impl From<OutOfSteps> for SearchError {
    fn from(_: OutOfSteps) -> SearchError {
        SearchError::OutOfSteps
    }
}

/// The source of a value.
#[derive(Debug)]
pub(super) enum CaptureSource {
    /// A JSON path into the body. If set, an array at its end is passed item by item.
    Json(BodyPath, bool),
    /// The first group of a pattern, or the whole match.
    Regex(GroupCaptures),
    /// Elements of HTML.
    Css(CssSelector),
    /// An XPath expression over XML or HTML.
    XPath(XPathExpression),
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
    Column(ColumnSelector),
    /// The number of rows.
    Rows,
    /// The first group of a pattern, or the whole match, in each value of another source.
    Matches(Box<CaptureSource>, GroupCaptures),
}

const KINDS: &str = "json $.PATH, css SELECTOR, xpath EXPRESSION, regex PATTERN, between 'A' 'B', header NAME, header NAME regex PATTERN, trailer NAME, \
    cookie NAME, status or body; other protocols have message, reply, element N, column NAME and rows";

const KINDS_ZH: &str = "json $.PATH、css SELECTOR、xpath EXPRESSION、regex PATTERN、between 'A' 'B'、header NAME、header NAME regex PATTERN、trailer NAME、\
    cookie NAME、status 或 body；其他协议还有 message、reply、element N、column NAME 和 rows";

/// Passes the values at the end of a JSON path to `more`, or with `items` those of the lists there.
fn json_values(
    place: &BodyPath,
    items: bool,
    body: &[u8],
    steps: &StepBudget,
    more: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(), SearchError> {
    let mut goes_on = true;
    let mut one = |value: &RawValue| {
        if goes_on && steps.spend(value.get().len() as u64) {
            let text = raw_json::string_bytes(value);
            goes_on = more(text.as_deref().unwrap_or(value.get().as_bytes()));
        }
    };
    let read = place.visit(body, steps, &mut |value| {
        if items && value.get().starts_with('[') {
            raw_json::for_each_item(value, &mut one);
        } else {
            one(value);
        }
    });
    steps.result()?;
    read.map_err(|_| captures::no_json(excerpt(body)).into())
}

/// Passes the element of a JSON list with this number, counted from 1, to `more`, unless it is null.
fn element(number: usize, body: &[u8], more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), SearchError> {
    let Some(whole) = raw_json::parse_whole(body).filter(|_| body.starts_with(b"[")) else {
        return Err(captures::no_list(excerpt(body)).into());
    };
    let mut at = 0;
    raw_json::for_each_item(whole, |item| {
        at += 1;
        if at == number && item.get() != "null" {
            let text = raw_json::string_bytes(item);
            more(text.as_deref().unwrap_or(item.get().as_bytes()));
        }
    });
    Ok(())
}

impl CaptureSource {
    /// See [`super::Capture::in_list`].
    pub fn in_list(self) -> CaptureSource {
        match self {
            CaptureSource::Json(place, _) => CaptureSource::Json(place.in_list(), false),
            other => other,
        }
    }

    /// Returns the same source, of which an array is passed item by item if no other value can be found beside it.
    pub fn with_items(self) -> CaptureSource {
        match self {
            CaptureSource::Json(place, _) => {
                let items = place.leads_to_one();
                CaptureSource::Json(place, items)
            }
            other => other,
        }
    }

    /// Parses a source.
    ///
    /// # Errors
    /// The source is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<CaptureSource, Complaint> {
        let (word, rest) = text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
        let missing = || Err(complaint!("`{text}` is incomplete; use {KINDS}", "`{text}` 不完整；请用 {KINDS_ZH}"));
        match (word, rest) {
            ("status", "") => Ok(CaptureSource::Status),
            ("body" | "message" | "reply", "") => Ok(CaptureSource::Body),
            ("rows", "") => Ok(CaptureSource::Rows),
            ("json" | "css" | "xpath" | "regex" | "between" | "header" | "cookie", "") => missing(),
            ("trailer" | "element" | "column", "") => missing(),
            ("header" | "trailer" | "cookie", name) if name.contains(' ') => parse_matches(word, name),
            ("trailer", name) => Ok(CaptureSource::Trailer(name.to_ascii_lowercase())),
            ("column", name) => Ok(CaptureSource::Column(ColumnSelector::parse(unquoted(name)))),
            ("element", number) => match number.parse() {
                Ok(number @ 1..) => Ok(CaptureSource::Element(number)),
                _ => Err(complaint!(
                    "`{number}` is not the position of an element; use, for example, element 2, \
                    counted from 1",
                    "`{number}` 不是元素的位置；请写，例如 element 2，从 1 数起"
                )),
            },
            ("json", path) => BodyPath::parse(path).map(|path| CaptureSource::Json(path, false)),
            ("regex", pattern) => GroupCaptures::new(unquoted(pattern)).map(CaptureSource::Regex),
            ("between", texts) => parse_between(texts),
            ("header", name) => Ok(CaptureSource::Header(name.to_ascii_lowercase())),
            ("cookie", name) => Ok(CaptureSource::Cookie(name.to_owned())),
            ("css", selector) => CssSelector::parse(selector).map(CaptureSource::Css),
            ("xpath", expression) => XPathExpression::parse(expression).map(CaptureSource::XPath),
            _ => Err(complaint!(
                "`{}` is not a source of a value; use {KINDS}",
                "`{}` 不是值的来源；请用 {KINDS_ZH}",
                excerpt(text.as_bytes())
            )),
        }
    }

    /// Returns the part of a response that the source reads.
    pub fn part(&self) -> ResponsePart {
        match self {
            CaptureSource::Header(_) | CaptureSource::Cookie(_) | CaptureSource::Status => ResponsePart::Head,
            CaptureSource::Trailer(_) => ResponsePart::Trailers,
            CaptureSource::Matches(within, _) => within.part(),
            _ => ResponsePart::Body,
        }
    }

    /// Returns the kind of the source in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            CaptureSource::Json(..) => "json",
            CaptureSource::Css(_) => "css",
            CaptureSource::XPath(_) => "xpath",
            CaptureSource::Regex(_) => "regex",
            CaptureSource::Between(..) => "between",
            CaptureSource::Header(_) => "header",
            CaptureSource::Cookie(_) => "cookie",
            CaptureSource::Status => "status",
            CaptureSource::Body => "body",
            CaptureSource::Trailer(_) => "trailer",
            CaptureSource::Element(_) => "element",
            CaptureSource::Column(_) => "column",
            CaptureSource::Rows => "rows",
            CaptureSource::Matches(within, _) => within.kind(),
        }
    }

    /// Passes all results to `more` in order, until `more` returns `false`.
    ///
    /// # Errors
    /// The body does not have the format of the source, or the search takes too long.
    pub fn find(
        &self,
        (answer, documents): (&CaptureInput<'_>, &BodyDocuments<'_>),
        more: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), SearchError> {
        let steps = &documents.steps;
        match self {
            CaptureSource::Status if !answer.status_name.is_empty() => _ = more(answer.status_name.as_bytes()),
            CaptureSource::Status => {
                let (mut digits, room) = ([0; 5], answer.status.checked_ilog10().unwrap_or(0) as usize + 1);
                // Five digits hold any `u16`.
                let _ = write!(&mut digits[..], "{}", answer.status);
                more(&digits[..room]);
            }
            CaptureSource::Body if answer.is_nil => {}
            CaptureSource::Body => _ = more(answer.body),
            CaptureSource::Trailer(name) => _ = field_values(answer.trailers, name).all(more),
            CaptureSource::Rows => _ = more(answer.rows.map_or(0, ResultRows::count).to_string().as_bytes()),
            CaptureSource::Column(column) => {
                if let Some(rows) = answer.rows {
                    rows.each_value(column, more)?;
                }
            }
            CaptureSource::Element(number) => element(*number, answer.body, more)?,
            CaptureSource::Header(name) => _ = field_values(answer.head, name).all(more),
            CaptureSource::Cookie(name) => {
                let mut set = set_cookies(answer.head).filter(|(set, _)| *set == name.as_bytes());
                _ = set.all(|(_, value)| more(value));
            }
            CaptureSource::Json(place, items) => json_values(place, *items, answer.body, steps, more)?,
            CaptureSource::Css(css) => css.find(documents.html()?, steps, more)?,
            CaptureSource::XPath(xpath) => xpath.find(documents.tree()?, steps, more)?,
            CaptureSource::Regex(pattern) => pattern.each(answer.body, steps, more)?,
            CaptureSource::Between(left, right) => texts_between((left, right), answer.body, more),
            CaptureSource::Matches(within, pattern) => {
                let mut goes_on = true;
                within.find((answer, documents), &mut |value| {
                    let searched = pattern.each(value, steps, &mut |found| {
                        goes_on = more(found);
                        goes_on
                    });
                    goes_on && searched.is_ok()
                })?;
                steps.result()?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the result with this number, counted from 0, is NULL.
    pub fn is_null(&self, answer: &CaptureInput<'_>, number: usize) -> bool {
        let CaptureSource::Column(column) = self else { return false };
        answer.rows.is_some_and(|rows| rows.is_null(column, number))
    }

    /// Describes what the response contains instead of the value.
    pub fn describe_found(&self, answer: &CaptureInput<'_>) -> Cause {
        match self {
            CaptureSource::Header(_) => {
                header::describe_names(captures::has_headers, captures::has_no_header(), answer.head)
            }
            CaptureSource::Cookie(_) => {
                let names: Vec<&[u8]> = set_cookies(answer.head).map(|(name, _)| name).collect();
                match names.is_empty() {
                    true => captures::has_no_cookie().into(),
                    false => captures::has_cookies(excerpt(&names.join(&b", "[..]))),
                }
            }
            CaptureSource::Matches(within, _) => {
                let mut found = None;
                // Headers, trailers and cookies can always be searched.
                let _ = within.find((answer, &BodyDocuments::of(b"")), &mut |value| {
                    found = Some(captures::value(excerpt(value)));
                    false
                });
                found.unwrap_or_else(|| within.describe_found(answer))
            }
            CaptureSource::Trailer(_) => {
                header::describe_names(checks::trailers, checks::no_trailers(), answer.trailers)
            }
            CaptureSource::Column(_) | CaptureSource::Rows => {
                answer.rows.map_or_else(|| captures::no_rows().into(), ResultRows::describe)
            }
            _ if answer.is_nil => captures::nil().into(),
            _ if answer.body.is_empty() => captures::empty().into(),
            _ => captures::body(excerpt(answer.body)),
        }
    }
}

/// Parses `NAME regex PATTERN`, after the word for the kind of the source.
fn parse_matches(kind: &str, text: &str) -> Result<CaptureSource, Complaint> {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let Some(pattern) = rest.trim_start().strip_prefix("regex ").map(str::trim).filter(|text| !text.is_empty()) else {
        let shown = excerpt(text.as_bytes());
        return Err(complaint!(
            "`{shown}` is more than the name of a {kind}; for a part of its value, write {kind} {name} regex PATTERN",
            "`{shown}` 不只是 {kind} 的名称；若只取其值的一部分，请写 {kind} {name} regex PATTERN"
        ));
    };
    let within = CaptureSource::parse(&format!("{kind} {name}"))?;
    Ok(CaptureSource::Matches(Box::new(within), GroupCaptures::new(unquoted(pattern))?))
}

/// Parses `'A' 'B'`.
fn parse_between(texts: &str) -> Result<CaptureSource, Complaint> {
    let wrong = || {
        complaint!(
            "`{}` is not two texts; write between 'A' 'B'",
            "`{}` 不是两段文本；请写 between 'A' 'B'",
            excerpt(texts.as_bytes())
        )
    };
    let quote = texts.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(wrong)?;
    let (left, rest) = texts[1..].split_once(quote).ok_or_else(wrong)?;
    let rest = rest.trim();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(wrong)?;
    let right = rest[1..].strip_suffix(quote).ok_or_else(wrong)?;
    if left.is_empty() || right.is_empty() {
        return Err(wrong());
    }
    Ok(CaptureSource::Between(left.into(), right.into()))
}

/// Returns the names and values of the cookies set by a response head.
fn set_cookies(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    field_values(head, "set-cookie").filter_map(|line| {
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

/// Returns the beginning of a text on one line, with control characters replaced.
pub fn excerpt(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN)];
    let text = String::from_utf8_lossy(cut);
    let line = brunt_measure::sanitize::line(&text).into_owned();
    if cut.len() < bytes.len() { line + "…" } else { line }
}

/// Passes the texts between `left` and `right` to `more`, in order.
fn texts_between((left, right): (&[u8], &[u8]), text: &[u8], more: &mut dyn FnMut(&[u8]) -> bool) {
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
