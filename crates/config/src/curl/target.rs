//! URL parsing as in curl: globs, missing schemes, and the path that is sent.
//!
//! curl sends a path almost unmodified: it only resolves `.` and `..` and encodes non-ASCII characters. brunt follows
//! the URL standard of browsers, which encodes more. If the results differ, the request target is set explicitly.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_protocols::template::slot_length;
use url::Url;

/// Maximum number of URLs of one glob; more are considered a mistake.
const MOST: usize = 1000;

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
pub struct CurlTarget {
    /// `http` or `https`.
    pub scheme: String,
    /// `user:password`, still encoded.
    pub user: Option<String>,
    /// Host and port as written.
    pub authority: String,
    /// The path as curl sends it, including the leading slash.
    pub path: String,
    /// The text after `?`.
    pub query: Option<String>,
}

impl CurlTarget {
    /// Parses a URL.
    ///
    /// # Errors
    /// curl or brunt rejects a part of the URL.
    pub fn parse(text: &str, as_is: bool, place: &str) -> Result<CurlTarget, UsageError> {
        let wrong = |trouble: Complaint| {
            let zh = trouble.zh();
            UsageError::new(place, complaint!("the URL `{}` {trouble}", "URL `{}` {zh}", brunt_plan::mask::url(text)))
        };
        if outside_slots(text).any(|c| c <= ' ' || c == '\x7f') {
            return Err(wrong(complaint!(
                "contains a space or another character that ends it; write %20",
                "含有空格或其他使其中断的字符；请写 %20"
            )));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(wrong(complaint!(
                "is neither http nor https; only these are supported in curl commands",
                "既不是 http 也不是 https；curl 命令只支持这两种"
            )));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host.to_owned()),
            None => (None, authority.to_owned()),
        };
        if authority.is_empty() || authority.starts_with(':') {
            return Err(wrong(complaint!("has no host", "缺少主机")));
        }
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (rest, None),
        };
        let path = if as_is { path.to_owned() } else { without_dots(path) };
        let path = if path.is_empty() { "/".to_owned() } else { ascii(&path) };
        Ok(CurlTarget { scheme, user, authority, path, query })
    }

    /// Appends to the query.
    pub fn add_query(&mut self, more: &str) {
        match &mut self.query {
            Some(query) if query.is_empty() => query.push_str(more),
            Some(query) => *query = format!("{query}&{more}"),
            None => self.query = Some(more.to_owned()),
        }
    }

    /// Returns the request target.
    pub fn line(&self) -> String {
        self.query.as_ref().map_or_else(|| self.path.clone(), |query| format!("{}?{query}", self.path))
    }

    /// Returns the whole URL, without user info.
    pub fn url(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority, self.line())
    }

    /// Returns the host without its port or brackets.
    pub fn host(&self) -> &str {
        let host = match self.authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => host,
            _ => &self.authority,
        };
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns the host as written, with its port, if brunt would send it differently from curl, in lower case.
    pub fn differing_host(&self) -> Option<String> {
        let url = Url::parse(&self.url()).ok()?;
        let (written, ours) = (self.host(), url.host_str()?);
        let differs = written != ours && written.eq_ignore_ascii_case(ours);
        differs.then(|| url.port().map_or_else(|| written.to_owned(), |port| format!("{written}:{port}")))
    }

    /// Returns the request target of curl if brunt would send a different one.
    pub fn differing_line(&self) -> Option<String> {
        let line = self.line();
        let url = Url::parse(&self.url()).ok()?;
        let ours = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        (ours != line).then_some(line)
    }
}

/// Iterates over the characters outside of placeholders (`{random 1..9}`).
fn outside_slots(text: &str) -> impl Iterator<Item = char> {
    let mut inside = 0;
    text.char_indices().filter_map(move |(at, c)| {
        if c == '{' && at >= inside {
            inside = at + slot_length(&text[at..]).unwrap_or_default();
        }
        (at >= inside).then_some(c)
    })
}

/// Removes dot segments (RFC 3986 5.2.4): `/a/../b/./c` becomes `/b/c`.
fn without_dots(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." if last => out.push(""),
            "." => {}
            ".." => {
                out.pop();
                if last {
                    out.push("");
                }
            }
            segment => out.push(segment),
        }
    }
    out.iter().map(|segment| format!("/{segment}")).collect()
}

fn ascii(path: &str) -> String {
    let encoded = |c: char| c.encode_utf8(&mut [0; 4]).bytes().map(|b| format!("%{b:02x}")).collect::<String>();
    path.chars().map(|c| if c.is_ascii() { c.to_string() } else { encoded(c) }).collect()
}

/// Expands the globs `{a,b}` and `[1-3]` in a URL, but not IPv6 addresses in brackets and placeholders. A backslash
/// before a brace or a bracket makes it literal, as browsers write it in copied commands.
///
/// # Errors
/// A glob is invalid or expands to too many URLs.
pub fn globbed(text: &str, place: &str) -> Result<Vec<String>, UsageError> {
    let host = text.find("://").map_or(0, |at| at + 3);
    let start = text[host..].find(']').filter(|_| text[host..].starts_with('[')).map_or(0, |end| host + end + 1);
    let mut all = vec![text[..start].to_owned()];
    let mut rest = &text[start..];
    while let Some(at) = rest.find(['{', '[', '\\']) {
        if rest[at..].starts_with('\\') {
            let (literal, length) = escaped(&rest[at..]);
            let before = &rest[..at];
            all.iter_mut().for_each(|start| start.extend([before, &literal]));
            rest = &rest[at + length..];
            continue;
        }
        if let Some(length) = slot_length(&rest[at..]) {
            let (slot, behind) = rest.split_at(at + length);
            all.iter_mut().for_each(|start| start.push_str(slot));
            rest = behind;
            continue;
        }
        let (before, glob) = rest.split_at(at);
        let close = if glob.starts_with('{') { '}' } else { ']' };
        let wrong = || {
            let trouble = complaint!(
                "the URL `{}` has a {} that does not open a list; add -g to send it literally",
                "URL `{}` 中的 {} 没有构成列表；若要原样发送请加 -g",
                brunt_plan::mask::url(text),
                &glob[..1]
            );
            UsageError::new(place, trouble)
        };
        let (values, end) = match close {
            '}' => alternatives(glob).map(|(values, end)| (Some(values), end)).ok_or_else(wrong)?,
            _ => glob.find(close).map(|end| (range(&glob[1..end]), end)).ok_or_else(wrong)?,
        };
        let values: Vec<String> = values.filter(|values| !values.is_empty()).ok_or_else(wrong)?;
        if all.len() * values.len() > MOST {
            let trouble = complaint!(
                "the URL expands to more than {MOST} URLs; use --urls FILE for so many",
                "该 URL 展开后超过 {MOST} 个；这么多请用 --urls FILE"
            );
            return Err(UsageError::new(place, trouble));
        }
        all = all.iter().flat_map(|start| values.iter().map(move |v| format!("{start}{before}{v}"))).collect();
        rest = &glob[end + 1..];
    }
    Ok(all.into_iter().map(|start| start + rest).collect())
}

/// Returns the text that a backslash and what follows stand for, and their length: a literal brace or bracket, or the
/// backslash itself. If the literal text would be a placeholder, it is written as a literal one.
fn escaped(text: &str) -> (String, usize) {
    let is_special = |text: &str| text.starts_with(['{', '}', '[', ']']);
    if !is_special(&text[1..]) {
        return (text[..1].to_owned(), 1);
    }
    let (mut plain, mut lengths, mut rest) = (String::new(), Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let backslash = usize::from(c == '\\' && is_special(&rest[1..]));
        let length = rest[backslash..].chars().next().map_or(0, char::len_utf8);
        plain.push_str(&rest[backslash..backslash + length]);
        rest = &rest[backslash + length..];
        lengths.push((plain.len(), text.len() - rest.len()));
    }
    match slot_length(&plain) {
        Some(slot) => {
            let length = lengths.iter().find(|(reached, _)| *reached == slot).map_or(2, |(_, length)| *length);
            (format!("{{{}}}", &plain[..slot]), length)
        }
        None => (text[1..2].to_owned(), 2),
    }
}

/// Returns the alternatives of `{a,b}` at the beginning of a text, and the offset of its closing brace. A backslash
/// makes the next character literal.
fn alternatives(glob: &str) -> Option<(Vec<String>, usize)> {
    let (mut values, mut value, mut literal) = (Vec::new(), String::new(), false);
    for (at, c) in glob.char_indices().skip(1) {
        match c {
            c if literal => {
                value.push(c);
                literal = false;
            }
            '\\' => literal = true,
            ',' => values.push(std::mem::take(&mut value)),
            '}' => {
                values.push(value);
                return Some((values, at));
            }
            c => value.push(c),
        }
    }
    None
}

/// Expands `1-10`, `001-100:5` or `a-z`.
fn range(inside: &str) -> Option<Vec<String>> {
    let (span, step) = inside.split_once(':').unwrap_or((inside, "1"));
    let step: usize = step.parse().ok().filter(|step| *step > 0)?;
    let (from, to) = span.split_once('-')?;
    if let (Ok(low), Ok(high)) = (from.parse::<u64>(), to.parse::<u64>()) {
        let width = if from.starts_with('0') { from.len() } else { 0 };
        let few = low <= high && (high - low) / step as u64 <= MOST as u64;
        return few.then(|| (low..=high).step_by(step).map(|n| format!("{n:0width$}")).collect());
    }
    let mut ends = [from, to].map(|end| end.parse::<char>().ok().filter(char::is_ascii_alphabetic)).into_iter();
    let (low, high) = (ends.next()??, ends.next()??);
    (low <= high && low.is_ascii_lowercase() == high.is_ascii_lowercase())
        .then(|| (low..=high).step_by(step).map(String::from).collect())
}
