//! Positions of secrets in text: user info, query and fragment of URLs, header lines, `name=value`, JSON keys, form
//! parts. Redis and SQL are in separate modules.
//!
//! Each position is used to mask the secret there and to recognize its value elsewhere.

use super::names::{is_doubtful, is_secret, is_secret_header};
use super::{MASK, json, redis, sql};

/// The kind of text that is searched for JSON pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonScope {
    /// Any text, which may begin or end in the middle of a document.
    Piece,
    /// A complete document, without the contents of its strings.
    Document,
    /// The contents of a string in a document.
    Text,
}

/// The secrets of a text, by position.
pub struct SecretSpans<'a> {
    text: &'a str,
    found: Vec<(usize, usize)>,
    /// Quotes to add around masks of numbers in documents, by position, so that each mask is a string.
    quoted: Vec<(usize, &'a str)>,
    known: Vec<&'a str>,
}

/// Returns `true` for the placeholder of a value, `{token}`, and for the first word of a longer placeholder (`{csv
/// users.csv.password}`).
pub(super) fn is_slot(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('{').filter(|inside| inside.starts_with(|c: char| c.is_ascii_alphabetic()))
    else {
        return false;
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match inside.strip_suffix('}') {
        Some(inside) => !inside.contains(['{', '}', '"', ':']),
        None => inside.chars().all(word),
    }
}

impl<'a> SecretSpans<'a> {
    /// Creates an empty set of spans.
    pub fn none(text: &'a str) -> SecretSpans<'a> {
        SecretSpans { text, found: Vec::new(), quoted: Vec::new(), known: Vec::new() }
    }

    /// Finds the secrets in any text: an exchange, an option, a command.
    pub fn of_text(text: &'a str) -> SecretSpans<'a> {
        let mut spans = SecretSpans::none(text);
        let mut from = 0;
        for document in json::documents(text) {
            spans.any(&text[from..document.start]);
            spans.document(&text[document.clone()]);
            from = document.end;
        }
        spans.any(&text[from..]);
        spans
    }

    /// Searches a piece of text of any kind.
    fn any(&mut self, text: &'a str) {
        self.lines(text);
        self.urls(text);
        self.pairs(text);
        self.json(text, JsonScope::Piece);
        self.form_parts(text);
        self.inputs(text);
        redis::replies(self, text);
        sql::literals(self, text);
    }

    /// Searches a complete JSON document, which masking keeps valid: values by their keys, and the contents of single
    /// strings.
    fn document(&mut self, text: &'a str) {
        let first = self.found.len();
        self.json(text, JsonScope::Document);
        for inner in json::texts(text) {
            self.json(inner, JsonScope::Text);
            self.urls(inner);
            self.pairs(inner);
            sql::literals(self, inner);
        }
        for (from, to) in &mut self.found[first..] {
            // The backslash escapes the next character.
            *to -= usize::from(json::ends_in_escape(&self.text[*from..*to]));
        }
    }

    /// Finds the secrets in a URL, whose scheme may be missing.
    pub fn of_url(text: &'a str) -> SecretSpans<'a> {
        let mut spans = SecretSpans::none(text);
        spans.url(text);
        spans
    }

    /// Marks `part`, a slice of the text, as a secret to mask here and elsewhere.
    pub fn hide(&mut self, part: &'a str) {
        self.cover(part);
        self.known.push(part);
    }

    /// Marks `part` to be masked only here, because it may be an ordinary word elsewhere.
    pub fn cover(&mut self, part: &'a str) {
        if part.is_empty() || is_slot(part) {
            return;
        }
        let from = part.as_ptr() as usize - self.text.as_ptr() as usize;
        self.found.push((from, from + part.len()));
    }

    /// Returns the text with all positions masked.
    pub fn masked(mut self) -> String {
        self.found.sort_unstable();
        self.quoted.sort_unstable();
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        for (from, to) in self.found {
            if from >= at {
                let quote = self.quoted.binary_search_by_key(&from, |(at, _)| *at).map_or("", |at| self.quoted[at].1);
                shown.extend([&self.text[at..from], quote, MASK, quote]);
            }
            at = at.max(to);
        }
        shown + &self.text[at..]
    }

    /// Returns the secrets that must also be masked elsewhere.
    pub fn known(&self) -> &[&'a str] {
        &self.known
    }

    /// Searches request lines and header lines.
    fn lines(&mut self, text: &'a str) {
        for line in text.lines() {
            if let Some(target) = request_target(line) {
                self.url(target);
            } else {
                self.header(line);
            }
        }
    }

    /// Searches a header line, `Name: value`; the name of a pseudo-header begins with a colon.
    pub fn header(&mut self, line: &'a str) {
        let colon = line.bytes().skip(1).position(|b| b == b':').map(|at| at + 1);
        let Some((name, value)) = colon.map(|at| (&line[..at], line[at + 1..].trim())) else { return };
        let is_name = name.trim_end().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
        if !is_name || value.is_empty() {
            return;
        }
        if is_secret_header(name, value) {
            self.header_value(name, value);
        } else if name == ":path" {
            self.url(value);
        }
    }

    /// Masks the whole value of a secret header and remembers its secret parts.
    fn header_value(&mut self, name: &str, value: &'a str) {
        // `Bearer {token}`: the placeholder is not the value that is sent.
        if value.split_once(' ').is_some_and(|(_, rest)| is_slot(rest.trim())) {
            return;
        }
        self.cover(value);
        let name = name.trim();
        if name.to_ascii_lowercase().contains("cookie") {
            // Cookies may also have harmless values, such as a language.
            let pairs = value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim());
            // Set-Cookie has one pair; its path and other attributes are not secret.
            let set = name.to_ascii_lowercase().contains("set-cookie");
            let pairs = pairs.take(if set { 1 } else { usize::MAX });
            self.known.extend(pairs.filter(|value| value.len() >= 6));
            return;
        }
        match value.split_once(' ') {
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
                self.known.extend([value, rest.trim()]);
            }
            _ => self.known.push(value),
        }
    }

    /// Searches for URLs anywhere in the text.
    fn urls(&mut self, text: &'a str) {
        let mut from = 0;
        while let Some(at) = text[from..].find("://").map(|at| from + at) {
            let scheme = text[..at].bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b));
            let start = at - scheme.count();
            let ends = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
            let end = text[at..].find(ends).map_or(text.len(), |n| at + n);
            if start < at {
                self.url(&text[start..end]);
            }
            from = end.max(at + 3);
        }
    }

    /// Searches a URL, or a request target.
    fn url(&mut self, text: &'a str) {
        let start = text.find("://").map_or(0, |at| at + 3);
        let authority_end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let authority = &text[start..authority_end];
        // A password may contain one of these characters unescaped, in which case the text after the colon is not a
        // port.
        let port = authority.rsplit_once(':').map_or("", |(_, port)| port).trim_end_matches(']');
        let odd = (!authority.contains('@') && !port.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| text[authority_end..].rfind('@').map(|at| authority_end + at))
            .flatten();
        match odd.or(authority.rfind('@').map(|at| start + at)) {
            Some(at) => {
                self.user_info(&text[start..at]);
                self.path(&text[at..]);
            }
            None => self.path(&text[authority_end..]),
        }
    }

    /// Masks the user info of a URL.
    fn user_info(&mut self, text: &'a str) {
        // These are placeholders from brunt's own error messages.
        if matches!(text, ":password" | "name:password" | "user:password") {
            return;
        }
        self.cover(text);
        match text.split_once(':') {
            Some((_, password)) if !password.is_empty() => self.known.extend([text, password]),
            // This is a token and not a user name, which would not be secret elsewhere.
            _ if text.trim_end_matches(':').len() >= 16 => self.known.push(text.trim_end_matches(':')),
            _ => {}
        }
    }

    /// Searches path, query and fragment.
    fn path(&mut self, text: &'a str) {
        let (path, fragment) = text.split_once('#').unwrap_or((text, ""));
        self.cover(fragment);
        if let Some((_, query)) = path.split_once('?') {
            query.split('&').for_each(|pair| self.pair(pair));
        }
    }

    /// Masks the value of `name=value` if the name marks a secret.
    pub fn pair(&mut self, pair: &'a str) {
        if let Some((name, value)) = pair.split_once('=')
            && is_secret(name, value)
        {
            self.hide(value);
        }
    }

    /// Searches for `name=value` anywhere: forms, cookies, words of a command, SQL columns.
    fn pairs(&mut self, text: &'a str) {
        let mut seen = 0;
        for (at, _) in text.match_indices('=') {
            let (before, after) = (&text[..at], &text[at + 1..]);
            if at < seen || before.ends_with(['=', '!', '<', '>']) || after.starts_with('=') {
                continue;
            }
            let spaced = before.trim_end_matches([' ', '"', '`', '\'']);
            let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-.%[]$".contains(b);
            let name = &spaced[spaced.len() - spaced.bytes().rev().take_while(part).count()..];
            if !is_secret(name, "x") {
                continue;
            }
            let value = after.trim_start_matches(' ');
            let quote = value.chars().next().filter(|c| "\"'".contains(*c));
            let value = match quote {
                Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
                // With spaces around `=`, only quoted text counts as a value.
                None if spaced.len() < before.len() || value.len() < after.len() => continue,
                None => {
                    let end = after.find(|c: char| c.is_whitespace() || "&;\"'`<>\\".contains(c));
                    after[..end.unwrap_or(after.len())].trim_end_matches([',', '.', ')', ']', '}', ':'])
                }
            };
            seen = at + 1 + value.len();
            if is_secret(name, value) {
                self.hide(value);
            }
        }
    }

    /// Searches for `"name": value` anywhere, including within a JSON string (`\"name\": \"value\"`), and for all
    /// values of a list.
    fn json(&mut self, text: &'a str, kind: JsonScope) {
        for (at, _) in text.match_indices(':') {
            let before = text[..at].trim_end();
            if !before.ends_with(['"', '\'']) {
                continue;
            }
            let inner = before[..before.len() - 1].trim_end_matches('\\');
            let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-.$ ".contains(b);
            let name = &inner[inner.len() - inner.bytes().rev().take_while(part).count()..];
            if !is_secret_header(name, "x") {
                continue;
            }
            // In JSON within JSON, the quotes of the value are escaped as often as those of the name.
            let mark = &before[inner.len()..];
            if kind == JsonScope::Document && mark != "\"" {
                continue;
            }
            let value = text[at + 1..].trim_start();
            match value.strip_prefix('[') {
                Some(list) => {
                    let mut rest = list;
                    while let Some((text, behind)) = json_text(rest.trim_start_matches([',', ' ', '\n', '\r']), mark) {
                        self.json_value(name, text);
                        rest = behind;
                    }
                }
                None => match json_text(value, mark) {
                    Some((text, _)) => self.json_value(name, text),
                    None => {
                        let number = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
                        let (value, found) = (&value[..value.bytes().take_while(number).count()], self.found.len());
                        self.json_value(name, value);
                        if kind != JsonScope::Piece && self.found.len() > found {
                            self.quoted.push((self.found[found].0, mark));
                        }
                    }
                },
            }
        }
    }

    fn json_value(&mut self, name: &str, value: &'a str) {
        let random = || value.len() >= 6 && value.bytes().any(|b| b.is_ascii_digit());
        if is_secret_header(name, value) && (!is_doubtful(name) || random()) {
            self.header_value(name, value);
        }
    }

    /// Searches for HTML form fields with a secret value: `<input name="csrf" value="…">`.
    fn inputs(&mut self, text: &'a str) {
        for (at, _) in text.match_indices("<input") {
            let tag = beginning(&text[at..]);
            let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
            if let (Some(name), Some(value)) = (attribute(tag, "name"), attribute(tag, "value"))
                && is_secret(name, value)
            {
                self.hide(value);
            }
        }
    }

    /// Searches the parts of multipart/form-data.
    fn form_parts(&mut self, text: &'a str) {
        for (at, _) in text.match_indices("name=\"") {
            let rest = beginning(&text[at + 6..]);
            let Some((name, rest)) = rest.split_once('"') else { continue };
            let Some((head, body)) = rest.split_once("\n\r\n").or_else(|| rest.split_once("\n\n")) else { continue };
            // The name must belong to this part, not to a later one.
            if head.contains("\n--") || !is_secret(name, body) {
                continue;
            }
            let end = body.find("\r\n--").or_else(|| body.find("\n--")).unwrap_or(body.len());
            self.hide(&body[..end]);
        }
    }
}

/// Returns the value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let at = tag.match_indices(name).map(|(at, _)| at).find(|at| tag[..*at].ends_with(char::is_whitespace))?;
    let value = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next(),
        _ => value.split(char::is_whitespace).next(),
    }
}

/// Returns the part of a text that is searched for one form part. The bound keeps the time linear for a text with many
/// form parts.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(8192)]
}

/// Returns the JSON string at the beginning, which starts with this quote, and the rest. A truncated string extends to
/// the end.
fn json_text<'a>(value: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let inner = value.strip_prefix(mark)?;
    let ends = |at: &usize| {
        let escapes = inner[..*at].bytes().rev().take_while(|&b| b == b'\\').count();
        // A backslash at the same level escapes the quote.
        mark.len() > 1 || escapes.is_multiple_of(2)
    };
    let end = inner.match_indices(mark).map(|(at, _)| at).find(ends);
    Some(end.map_or((inner, ""), |end| (&inner[..end], &inner[end + mark.len()..])))
}

/// Returns the target of a request line.
fn request_target(line: &str) -> Option<&str> {
    let (before, version) = line.rsplit_once(' ')?;
    let (method, target) = before.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    (is_method && version.starts_with("HTTP/")).then_some(target)
}
