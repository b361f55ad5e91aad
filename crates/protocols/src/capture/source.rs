//! Where a value is looked for.

use std::io::Write as _;

use memchr::memmem;

use super::Answer;
use super::css::Css;
use super::documents::Documents;
use super::xpath::XPath;
use crate::beside::captures::Captures;
use crate::verify::header::values;
use crate::verify::json::Place;
use crate::verify::places;

/// So much of what was there instead is told.
const SHOWN: usize = 120;
/// A pattern looks into the beginning of a body only.
const LOOKED_INTO: usize = 1 << 20;

/// Where.
#[derive(Debug)]
pub(super) enum Source {
    /// A place in a JSON body.
    Json(Place),
    /// The first group of a pattern, or all that it matches.
    Regex(Captures),
    /// Elements of HTML.
    Css(Css),
    /// What an expression finds in XML or HTML.
    XPath(XPath),
    /// Between two texts.
    Between(Vec<u8>, Vec<u8>),
    /// The values of a header field.
    Header(String),
    /// The values of cookies that are set.
    Cookie(String),
    /// The status code.
    Status,
    /// The whole body.
    Body,
}

const KINDS: &str = "json $.PATH, css SELECTOR, xpath EXPRESSION, regex PATTERN, between 'A' 'B', header NAME, cookie NAME, status or body";

impl Source {
    /// Reads a source.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Source, String> {
        let (word, rest) = text.split_once(' ').map_or((text, ""), |(word, rest)| (word, rest.trim()));
        let missing = || Err(format!("`{text}` says not what; write {KINDS}"));
        match (word, rest) {
            ("status", "") => Ok(Source::Status),
            ("body", "") => Ok(Source::Body),
            ("json" | "css" | "xpath" | "regex" | "between" | "header" | "cookie", "") => missing(),
            ("json", path) => Place::parse(path).map(Source::Json),
            ("regex", pattern) => Captures::new(unquoted(pattern)).map(Source::Regex),
            ("between", texts) => between(texts),
            ("header", name) => Ok(Source::Header(name.to_ascii_lowercase())),
            ("cookie", name) => Ok(Source::Cookie(name.to_owned())),
            ("css", selector) => Css::parse(selector).map(Source::Css),
            ("xpath", expression) => XPath::parse(expression).map(Source::XPath),
            _ => Err(format!("`{}` is no source of a value; write {KINDS}", short(text.as_bytes()))),
        }
    }

    /// True where it is in the body.
    pub fn is_of_body(&self) -> bool {
        !matches!(self, Source::Header(_) | Source::Cookie(_) | Source::Status)
    }

    /// Shows all that is found, in order, until `more` wants no more.
    ///
    /// # Errors
    /// The body is not what is looked into.
    pub fn find(
        &self,
        (answer, documents): (&Answer<'_>, &Documents<'_>),
        more: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), String> {
        match self {
            Source::Status => {
                let (mut digits, room) = ([0; 5], answer.status.checked_ilog10().unwrap_or(0) as usize + 1);
                // Five digits have room for any status.
                let _ = write!(&mut digits[..], "{}", answer.status);
                more(&digits[..room]);
            }
            Source::Body => _ = more(answer.body),
            Source::Header(name) => _ = values(answer.head, name).all(more),
            Source::Cookie(name) => {
                let mut set = cookies(answer.head).filter(|(set, _)| *set == name.as_bytes());
                _ = set.all(|(_, value)| more(value));
            }
            Source::Json(place) => {
                let Some(whole) = places::whole(answer.body) else {
                    return Err(format!("the body is no JSON: {}", short(answer.body)));
                };
                let mut goes_on = true;
                place.walk(whole, &mut |value| {
                    if goes_on {
                        let text = places::text(value);
                        goes_on = more(text.as_deref().unwrap_or(value.get().as_bytes()));
                    }
                });
            }
            Source::Css(css) => css.find(documents.html()?, more)?,
            Source::XPath(xpath) => xpath.find(documents.tree()?, more)?,
            Source::Regex(pattern) => {
                let body = &answer.body[..answer.body.len().min(LOOKED_INTO)];
                pattern.each(body, more);
            }
            Source::Between(left, right) => {
                let mut rest = answer.body;
                while let Some(at) = memmem::find(rest, left) {
                    rest = &rest[at + left.len()..];
                    let Some(end) = memmem::find(rest, right) else { break };
                    if !more(&rest[..end]) {
                        break;
                    }
                    rest = &rest[end..];
                }
            }
        }
        Ok(())
    }

    /// What was there instead of what was looked for.
    pub fn instead(&self, answer: &Answer<'_>) -> String {
        match self {
            Source::Header(_) => {
                let names =
                    answer.head.split(|&b| b == b'\n').skip(1).filter_map(|line| line.split(|&b| b == b':').next());
                let names: Vec<&[u8]> = names.map(<[u8]>::trim_ascii).filter(|name| !name.is_empty()).collect();
                format!("the response has {}", listed(&names))
            }
            Source::Cookie(_) => {
                let names: Vec<&[u8]> = cookies(answer.head).map(|(name, _)| name).collect();
                if names.is_empty() { "no cookie was set".into() } else { format!("set were {}", listed(&names)) }
            }
            _ if answer.body.is_empty() => "the body is empty".into(),
            _ => format!("the body is {}", short(answer.body)),
        }
    }
}

/// `'A' 'B'`
fn between(texts: &str) -> Result<Source, String> {
    let wrong = || format!("`{}` are no two texts; write between 'A' 'B'", short(texts.as_bytes()));
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

/// Names and values of the cookies that a head sets.
fn cookies(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    values(head, "set-cookie").filter_map(|line| {
        let pair = line.split(|&b| b == b';').next()?;
        let equals = memchr::memchr(b'=', pair)?;
        Some((pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii()))
    })
}

fn listed(names: &[&[u8]]) -> String {
    short(&names.join(&b", "[..]))
}

/// The text between quotes, where it stands between any.
pub(super) fn unquoted(text: &str) -> &str {
    let quoted = ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(text)
}

/// The beginning of something, on one line and harmless.
pub(super) fn short(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN)];
    let text = String::from_utf8_lossy(cut);
    let line = measure::plain::line(&text).into_owned();
    if cut.len() < bytes.len() { line + "…" } else { line }
}
