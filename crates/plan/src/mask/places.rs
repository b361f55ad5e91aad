//! Where secrets stand in text: user info, query and fragment of URLs, header lines, `name=value`, keys of JSON, parts of
//! forms; what Redis and SQL write is in their own files.
//!
//! Each place is found once and serves twice: to hide what stands there, and to know it wherever else it turns up.

use super::names::{is_doubtful, is_secret, is_secret_header};
use super::{MASK, json, redis, sql};

/// What is read as JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Json {
    /// Any text: it may begin or end in the middle of a document.
    Piece,
    /// A whole document, without what stands in its texts.
    Document,
    /// What stands in a text of a document.
    Text,
}

/// The secrets of a text, by where they stand.
pub struct Spans<'a> {
    text: &'a str,
    found: Vec<(usize, usize)>,
    /// The quotes of numbers in documents, by where they begin: what takes their place is a text.
    quoted: Vec<(usize, &'a str)>,
    known: Vec<&'a str>,
}

/// True of `{token}`, which stands for a value, and of the first word of a slot that has several (`{csv users.csv.password}`).
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

impl<'a> Spans<'a> {
    /// None yet.
    pub fn none(text: &'a str) -> Spans<'a> {
        Spans { text, found: Vec::new(), quoted: Vec::new(), known: Vec::new() }
    }

    /// Of any text: what was said, sent or received, an option, a command.
    pub fn of_text(text: &'a str) -> Spans<'a> {
        let mut spans = Spans::none(text);
        let mut from = 0;
        for document in json::documents(text) {
            spans.any(&text[from..document.start]);
            spans.document(&text[document.clone()]);
            from = document.end;
        }
        spans.any(&text[from..]);
        spans
    }

    /// A piece of text of any kind.
    fn any(&mut self, text: &'a str) {
        self.lines(text);
        self.urls(text);
        self.pairs(text);
        self.json(text, Json::Piece);
        self.form_parts(text);
        self.inputs(text);
        redis::replies(self, text);
        sql::literals(self, text);
    }

    /// A whole document of JSON, which stays one: values by their keys, and what stands in single texts.
    fn document(&mut self, text: &'a str) {
        let first = self.found.len();
        self.json(text, Json::Document);
        for inner in json::texts(text) {
            self.json(inner, Json::Text);
            self.urls(inner);
            self.pairs(inner);
            sql::literals(self, inner);
        }
        for (from, to) in &mut self.found[first..] {
            // The backslash belongs to what comes next.
            *to -= usize::from(json::ends_in_escape(&self.text[*from..*to]));
        }
    }

    /// Of a URL whose scheme may be missing.
    pub fn of_url(text: &'a str) -> Spans<'a> {
        let mut spans = Spans::none(text);
        spans.url(text);
        spans
    }

    /// `part`, a piece of the text, is a secret, and would be one elsewhere.
    pub fn hide(&mut self, part: &'a str) {
        self.cover(part);
        self.known.push(part);
    }

    /// `part` is not to be shown here; elsewhere it may be an ordinary word.
    pub fn cover(&mut self, part: &'a str) {
        if part.is_empty() || is_slot(part) {
            return;
        }
        let from = part.as_ptr() as usize - self.text.as_ptr() as usize;
        self.found.push((from, from + part.len()));
    }

    /// The text with stars in the places found.
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

    /// What was found that would be a secret elsewhere, too.
    pub fn known(&self) -> &[&'a str] {
        &self.known
    }

    /// Request lines and header lines.
    fn lines(&mut self, text: &'a str) {
        for line in text.lines() {
            if let Some(target) = request_target(line) {
                self.url(target);
            } else {
                self.header(line);
            }
        }
    }

    /// A header line, `Name: value`; one of a pseudo header begins with a colon.
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

    /// The value of a secret header: hidden as a whole, known by the parts that are secret.
    fn header_value(&mut self, name: &str, value: &'a str) {
        // `Bearer {token}`: what is sent is not known to who reads it.
        if value.split_once(' ').is_some_and(|(_, rest)| is_slot(rest.trim())) {
            return;
        }
        self.cover(value);
        let name = name.trim();
        if name.to_ascii_lowercase().contains("cookie") {
            // A cookie may hold a language as well.
            let pairs = value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim());
            // What a server sets is one pair; its path and its end are no secrets.
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

    /// URLs anywhere in the text.
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

    /// One URL, or the target of a request.
    fn url(&mut self, text: &'a str) {
        let start = text.find("://").map_or(0, |at| at + 3);
        let authority_end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let authority = &text[start..authority_end];
        // A password with one of these marks as it is: what seems to be the port is none.
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

    /// What stands before the host.
    fn user_info(&mut self, text: &'a str) {
        // Our own sentences say how a URL is written.
        if matches!(text, ":password" | "name:password" | "user:password") {
            return;
        }
        self.cover(text);
        match text.split_once(':') {
            Some((_, password)) if !password.is_empty() => self.known.extend([text, password]),
            // A token instead of a user; a user is none elsewhere.
            _ if text.trim_end_matches(':').len() >= 16 => self.known.push(text.trim_end_matches(':')),
            _ => {}
        }
    }

    /// Path, query and fragment.
    fn path(&mut self, text: &'a str) {
        let (path, fragment) = text.split_once('#').unwrap_or((text, ""));
        self.cover(fragment);
        if let Some((_, query)) = path.split_once('?') {
            query.split('&').for_each(|pair| self.pair(pair));
        }
    }

    /// `name=value`.
    pub fn pair(&mut self, pair: &'a str) {
        if let Some((name, value)) = pair.split_once('=')
            && is_secret(name, value)
        {
            self.hide(value);
        }
    }

    /// `name=value` anywhere: forms, cookies, words of a command, columns of SQL.
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
                // With blanks around it only what is quoted is a value.
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

    /// `"name": value` anywhere, also within a text of JSON (`\"name\": \"value\"`), with all values of a list.
    fn json(&mut self, text: &'a str, kind: Json) {
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
            // As many backslashes as before the quotes of the name: JSON within JSON.
            let mark = &before[inner.len()..];
            if kind == Json::Document && mark != "\"" {
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
                        if kind != Json::Piece && self.found.len() > found {
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

    /// Fields of HTML forms that hold a secret already: `<input name="csrf" value="…">`.
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

    /// Parts of forms as multipart/form-data has them.
    fn form_parts(&mut self, text: &'a str) {
        for (at, _) in text.match_indices("name=\"") {
            let rest = beginning(&text[at + 6..]);
            let Some((name, rest)) = rest.split_once('"') else { continue };
            let Some((head, body)) = rest.split_once("\n\r\n").or_else(|| rest.split_once("\n\n")) else { continue };
            // Of this part, and not a later one.
            if head.contains("\n--") || !is_secret(name, body) {
                continue;
            }
            let end = body.find("\r\n--").or_else(|| body.find("\n--")).unwrap_or(body.len());
            self.hide(&body[..end]);
        }
    }
}

/// The value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let at = tag.match_indices(name).map(|(at, _)| at).find(|at| tag[..*at].ends_with(char::is_whitespace))?;
    let value = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next(),
        _ => value.split(char::is_whitespace).next(),
    }
}

/// As much of a text as a part of a form is looked for in: whoever writes many of them must not cost more than their length.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(8192)]
}

/// The text of JSON that begins here between such quotes, and what follows it; one that is cut off goes to the end.
fn json_text<'a>(value: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let inner = value.strip_prefix(mark)?;
    let ends = |at: &usize| {
        let escapes = inner[..*at].bytes().rev().take_while(|&b| b == b'\\').count();
        // A backslash of its own level escapes the quote.
        mark.len() > 1 || escapes.is_multiple_of(2)
    };
    let end = inner.match_indices(mark).map(|(at, _)| at).find(ends);
    Some(end.map_or((inner, ""), |end| (&inner[..end], &inner[end + mark.len()..])))
}

/// The target of a request line.
fn request_target(line: &str) -> Option<&str> {
    let (before, version) = line.rsplit_once(' ')?;
    let (method, target) = before.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    (is_method && version.starts_with("HTTP/")).then_some(target)
}
