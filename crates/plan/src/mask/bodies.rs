//! Secrets in bodies and options: JSON, `name=value`, comparisons, tags of pages, parts of forms.

use super::json::{self, ScalarKind};
use super::names::{describes_secret, is_doubtful, is_secret, is_secret_header};
use super::positions::{SecretSpans, TextOrigin};
use super::{slots, sql};

/// Operators of comparisons in checks and conditions.
const COMPARED: [&str; 4] = ["==", "!=", "=~", " contains "];

impl<'a> SecretSpans<'a> {
    /// Searches a piece of text outside of JSON documents.
    pub fn piece(&mut self, text: &'a str) {
        self.urls(text);
        self.pairs(text);
        self.comparisons(text);
        self.json_piece(text, false);
        self.tags(text);
        sql::literals(self, text);
    }

    /// Searches a complete JSON document, which masking keeps valid: values by their keys, and what single strings
    /// hold.
    pub fn document(&mut self, text: &'a str) {
        for scalar in json::scalars(text).into_iter().filter(|scalar| scalar.kind != ScalarKind::Key) {
            let first = self.count();
            let named = is_secret_header(scalar.name, scalar.text) && is_secret_value(scalar.name, scalar.text);
            let described = scalar.inside && scalar.kind == ScalarKind::Text && !describes_secret(scalar.name);
            match scalar.kind {
                ScalarKind::Number if named => {
                    self.know(scalar.text);
                    self.cover_number(scalar.text, "\"");
                }
                ScalarKind::Number | ScalarKind::Key => {}
                ScalarKind::Text if named => self.header_value(scalar.name, scalar.text),
                ScalarKind::Text if described => self.hide(scalar.text),
                ScalarKind::Text => self.string(scalar.text),
            }
            self.end_before_escapes(first);
        }
    }

    /// Searches the contents of a string of a document.
    fn string(&mut self, text: &'a str) {
        self.header(text);
        self.json_piece(text, true);
        self.urls(text);
        self.pairs(text);
        self.comparisons(text);
        sql::literals(self, text);
    }

    /// Searches for `name=value` anywhere: forms, cookies, words of a command, attributes, SQL columns.
    fn pairs(&mut self, text: &'a str) {
        let mut seen = 0;
        for (at, _) in text.match_indices('=') {
            let (before, after) = (&text[..at], &text[at + 1..]);
            if at < seen || before.ends_with(['=', '!', '<', '>']) || after.starts_with(['=', '~']) {
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
                None => unquoted(after, self.origin() == TextOrigin::Plan),
            };
            seen = at + 1 + value.len();
            if is_secret(name, value) {
                self.hide(value);
            }
        }
    }

    /// Searches for comparisons, `$.user.password == 'x'`. Outside of plans, only quoted text counts as a value.
    pub fn comparisons(&mut self, text: &'a str) {
        for (name, value) in compared(text, self.origin() == TextOrigin::Plan) {
            if is_secret(name, value) && is_secret_value(name, value) {
                self.hide(value);
            }
        }
    }

    /// Searches for `"name": value` in a part of a document, including within a JSON string (`\"name\": \"value\"`,
    /// `in_string`), and for all values of a list.
    fn json_piece(&mut self, text: &'a str, in_string: bool) {
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
            let value = text[at + 1..].trim_start();
            let mut texts = |from: &'a str| {
                let mut rest = from;
                while let Some((text, behind)) = json_text(rest.trim_start_matches([',', ' ', '\n', '\r']), mark) {
                    if is_secret_value(name, text) && is_secret_header(name, text) {
                        self.header_value(name, text);
                    }
                    rest = if value.starts_with('[') { behind } else { "" };
                }
            };
            match value.strip_prefix('[') {
                Some(list) => texts(list),
                None if value.starts_with(mark) => texts(value),
                None => self.number_piece(name, value, if in_string { mark } else { "" }),
            }
        }
    }

    fn number_piece(&mut self, name: &str, value: &'a str, quote: &'a str) {
        let digits = value.bytes().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
        let number = &value[..digits];
        if digits > 0 && is_secret_header(name, number) && is_secret_value(name, number) {
            self.know(number);
            self.cover_number(number, quote);
        }
    }

    /// Searches the tags of a page for fields with a secret value: `<input name="csrf" value="…">`, `<meta
    /// name="csrf-token" content="…">`, and for elements with one: `<password>…</password>`.
    fn tags(&mut self, text: &'a str) {
        for (at, _) in text.match_indices('<') {
            let tag = beginning(&text[at..], 1024);
            if !tag[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
                continue;
            }
            let end = tag.find('>').unwrap_or(tag.len());
            self.element(&tag[1..end], &text[at + (end + 1).min(tag.len())..]);
            let tag = &tag[..end];
            let name = || ["name", "id", "property"].into_iter().find_map(|name| attribute(tag, name));
            for value in ["value", "content"].into_iter().filter_map(|name| attribute(tag, name)) {
                let secret = name().is_some_and(|name| is_secret(name, value));
                if secret || attribute(tag, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("password")) {
                    self.hide(value);
                }
            }
        }
    }

    /// Masks the text behind a tag, if the name of its element is that of a secret: `soap:Password`.
    fn element(&mut self, tag: &str, behind: &'a str) {
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        let value = beginning(behind, 8192);
        let value = &value[..value.find('<').unwrap_or(value.len())];
        let is_empty = tag.ends_with('/') || value.trim().is_empty();
        let name = name.rsplit(':').next().unwrap_or(name);
        // Keys of property lists and of stored objects are names.
        if !is_empty && !name.eq_ignore_ascii_case("key") && is_secret(name, value) && is_secret_value(name, value) {
            self.hide(value);
        }
    }

    /// Searches a form, `a=1&b=2`, whose values may have spaces and line breaks.
    pub fn form(&mut self, text: &'a str) {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.%[]$ ".contains(&b));
        for (name, value) in pairs.filter(|(name, _)| is_name(name)) {
            if is_secret(name.trim(), value) {
                self.hide(value);
            }
        }
    }

    /// Searches an option `name=value` of a form, whose value goes to the end, or to its type.
    pub fn form_field(&mut self, text: &'a str) {
        let Some((name, value)) = text.split_once('=') else { return };
        if is_secret(name.trim(), value) {
            self.hide(value.split(";type=").next().unwrap_or_default());
        }
    }

    /// Searches the parts of multipart/form-data.
    pub fn form_parts(&mut self, text: &'a str) {
        for (at, _) in text.match_indices("name=\"") {
            let rest = beginning(&text[at + 6..], 8192);
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

/// Returns the names and values of comparisons; values without quotes only if `bare` is set.
pub fn compared(text: &str, bare: bool) -> Vec<(&str, &str)> {
    let signs = COMPARED.into_iter().flat_map(|sign| text.match_indices(sign));
    let both = |(at, sign): (usize, &str)| {
        let path = text[..at].trim_end().trim_end_matches(['"', '\'', ']']);
        let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-$".contains(b);
        let name = &path[path.len() - path.bytes().rev().take_while(part).count()..];
        let value = text[at + sign.len()..].trim_start_matches(['=', ' ']);
        let value = match value.chars().next().filter(|c| "\"'".contains(*c)) {
            Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
            None => {
                let ends = ["&&", "||", " and ", " or ", "]", ")"].into_iter().filter_map(|end| value.find(end));
                value[..ends.min().filter(|_| bare).unwrap_or(if bare { value.len() } else { 0 })].trim()
            }
        };
        (!matches!(value, "" | "true" | "false" | "null")).then_some((name, value))
    };
    signs.filter_map(both).collect()
}

/// Returns `false` for an ordinary value whose name is just as often used for harmless ones.
fn is_secret_value(name: &str, value: &str) -> bool {
    !is_doubtful(name) || (value.len() >= 6 && value.bytes().any(|b| b.is_ascii_digit()))
}

/// Returns the value of an attribute of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let values = tag.match_indices(name).filter(|(at, _)| tag[..*at].ends_with(char::is_whitespace));
    let mut values = values.filter_map(|(at, _)| tag[at + name.len()..].trim_start().strip_prefix('='));
    let value = values.next()?.trim_start();
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next(),
        _ => value.split(char::is_whitespace).next(),
    }
}

/// Returns the value without quotes at the beginning of a text. In a plan, a placeholder is part of it as a whole, whatever
/// characters it has.
fn unquoted(text: &str, in_plan: bool) -> &str {
    let (mut end, mut placed) = (0, 0);
    while let Some(next) = text[end..].chars().next() {
        if let Some(slot) = slots::slot_at(&text[end..]).filter(|_| in_plan) {
            (end, placed) = (end + slot.len(), end + slot.len());
            continue;
        }
        if next.is_whitespace() || "&;\"'`<>\\".contains(next) {
            break;
        }
        end += next.len_utf8();
    }
    let behind = text[placed..end].trim_end_matches([',', '.', ')', ']', '}', ':']);
    &text[..placed + behind.len()]
}

/// Returns the part of a text that is searched for one tag or form part. The bound keeps the time linear for a text
/// with many.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns the JSON string at the beginning, which starts with this quote, and the rest. A truncated string extends to
/// the end.
fn json_text<'a>(value: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let inner = value.strip_prefix(mark)?;
    let ends = |at: &usize| {
        let escapes = inner[..*at].bytes().rev().take_while(|&b| b == b'\\').count();
        // Each level of JSON in JSON doubles the backslashes, and adds one for the quote.
        escapes.is_multiple_of(2 * mark.len())
    };
    let end = inner.match_indices(mark).map(|(at, _)| at).find(ends);
    Some(end.map_or((inner, ""), |end| (&inner[..end], &inner[end + mark.len()..])))
}
