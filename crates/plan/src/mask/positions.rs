//! Positions of secrets in text. What a secret is follows from the grammar of the place it is in: URLs (`url`), header
//! lines, JSON, forms, pages, comparisons (`bodies`), Redis commands (`redis`) and SQL (`sql`).
//!
//! Each position is used to mask the secret there and to recognize its value elsewhere.

use std::collections::BTreeMap;
use std::ops::Range;

use super::blanks::Blanks;
use super::names::is_secret_header;
use super::{MASK, json, redis, slots};

/// Schemes of credentials, which are shown in front of them.
const SCHEMES: [&str; 7] = ["apikey", "basic", "bearer", "digest", "jwt", "negotiate", "token"];

/// The origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOrigin {
    /// A plan or command line: may have placeholders, and every secret in it is one.
    Plan,
    /// Sent by brunt: every secret in it is one.
    Sent,
    /// Received from a peer, whose ordinary words are not taken for secrets elsewhere.
    Received,
}

/// The secrets of a text, by position.
pub struct SecretSpans<'a> {
    text: &'a str,
    origin: TextOrigin,
    /// The JSON documents in the text, which stay valid.
    documents: Vec<Range<usize>>,
    found: Vec<(usize, usize)>,
    /// Quotes to add around masks of numbers in documents, by position, so that each mask is a string.
    quoted: BTreeMap<usize, &'a str>,
    known: Vec<&'a str>,
    /// The placeholders in secret positions.
    slots: Vec<&'a str>,
}

impl<'a> SecretSpans<'a> {
    /// Creates an empty set of spans.
    pub fn none(text: &'a str, origin: TextOrigin) -> SecretSpans<'a> {
        let (found, known, slots) = (Vec::new(), Vec::new(), Vec::new());
        SecretSpans { text, origin, documents: json::documents(text), found, quoted: BTreeMap::new(), known, slots }
    }

    /// Finds the secrets in any text: an exchange, an option, a command.
    pub fn of_text(text: &'a str, origin: TextOrigin) -> SecretSpans<'a> {
        let mut spans = SecretSpans::none(text, origin);
        spans.lines(text);
        spans.form_parts(text);
        redis::replies(&mut spans, text);
        spans.between_documents().into_iter().for_each(|part| spans.piece(&text[part]));
        spans.documents().to_vec().into_iter().for_each(|part| spans.document(&text[part]));
        spans
    }

    /// Finds the secrets in a URL, whose scheme may be missing.
    pub fn of_url(text: &'a str) -> SecretSpans<'a> {
        let mut spans = SecretSpans::none(text, TextOrigin::Plan);
        spans.url(text);
        spans
    }

    /// Finds the secrets in the value of a header line, option or variable with this name.
    pub fn of_value(name: &str, value: &'a str) -> SecretSpans<'a> {
        if !is_secret_header(name, value) {
            return SecretSpans::of_text(value, TextOrigin::Plan);
        }
        SecretSpans::whole(value)
    }

    /// Marks a whole text.
    pub fn whole(text: &'a str) -> SecretSpans<'a> {
        let mut spans = SecretSpans::none(text, TextOrigin::Plan);
        spans.hide(text);
        spans
    }

    /// Returns the text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the origin of the text.
    pub fn origin(&self) -> TextOrigin {
        self.origin
    }

    /// Returns the JSON documents in the text.
    pub fn documents(&self) -> &[Range<usize>] {
        &self.documents
    }

    /// Returns the parts of the text that are in no document.
    pub fn between_documents(&self) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.documents.iter().map(|document| document.end));
        let ends = self.documents.iter().map(|document| document.start).chain([self.text.len()]);
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Marks `part`, a slice of the text, as a secret to mask here and elsewhere.
    pub fn hide(&mut self, part: &'a str) {
        self.cover(part);
        self.know(part);
    }

    /// Marks `part` as a secret to mask elsewhere.
    pub fn know(&mut self, part: &'a str) {
        let is_secret = !part.is_empty()
            && match self.origin {
                TextOrigin::Plan => slots::slots(self.with_whole_slot(part)).is_empty(),
                TextOrigin::Sent => true,
                TextOrigin::Received => looks_random(part),
            };
        if is_secret {
            self.known.push(part);
        }
    }

    /// Returns the placeholder that begins with `part`, because a value may be cut where its placeholder has a space.
    fn with_whole_slot(&self, part: &'a str) -> &'a str {
        slots::slot_at(&self.text[self.position(part)..]).filter(|slot| slot.len() > part.len()).unwrap_or(part)
    }

    /// Returns the position of a part of the text.
    fn position(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// Marks `part` to be masked only here, because it may be an ordinary word elsewhere. Placeholders stay.
    pub fn cover(&mut self, part: &'a str) {
        if part.is_empty() {
            return;
        }
        let part = if self.origin == TextOrigin::Plan { self.with_whole_slot(part) } else { part };
        let slots = if self.origin == TextOrigin::Plan { slots::slots(part) } else { Vec::new() };
        if slots.is_empty() {
            let from = self.position(part);
            return self.cover_range(from..from + part.len());
        }
        self.slots.extend(slots);
        for text in slots::outside(part).filter(|text| text.contains(char::is_alphanumeric)) {
            let from = self.position(text);
            self.cover_range(from..from + text.len());
        }
    }

    /// Marks a range of the text to be masked.
    pub fn cover_range(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.found.push((range.start, range.end));
        }
    }

    /// Marks a number of a document, which becomes a string between these quotes.
    pub fn cover_number(&mut self, number: &'a str, quote: &'a str) {
        let from = self.position(number);
        self.cover_range(from..from + number.len());
        self.quoted.insert(from, quote);
    }

    /// Shortens the marks from the `first` on that end between a backslash and the character it escapes.
    pub fn end_before_escapes(&mut self, first: usize) {
        for (from, to) in &mut self.found[first..] {
            *to -= usize::from(json::ends_in_escape(&self.text[*from..*to]));
        }
    }

    /// Returns the number of marks.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns the marked ranges in order, overlapping ones merged.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut found = self.found.clone();
        found.sort_unstable();
        let mut merged: Vec<Range<usize>> = Vec::new();
        for (from, to) in found {
            match merged.last_mut().filter(|last| from < last.end) {
                Some(last) => last.end = last.end.max(to),
                None => merged.push(from..to),
            }
        }
        merged
    }

    /// Returns the text with all positions masked.
    pub fn masked(&self) -> String {
        self.replaced(|range| {
            let quote = self.quoted.get(&range.start).copied().unwrap_or_default();
            format!("{quote}{MASK}{quote}")
        })
    }

    /// Returns the text with a named blank for each secret.
    pub fn blanked(&self, blanks: &mut Blanks) -> String {
        self.replaced(|range| blanks.name(&self.text[range]))
    }

    fn replaced(&self, mut replacement: impl FnMut(Range<usize>) -> String) -> String {
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        for range in self.ranges() {
            shown += &self.text[at..range.start];
            at = range.end;
            shown += &replacement(range);
        }
        shown + &self.text[at..]
    }

    /// Returns the secrets that must also be masked elsewhere.
    pub fn known(&self) -> &[&'a str] {
        &self.known
    }

    /// Returns the placeholders in secret positions, without their braces.
    pub fn slots(&self) -> &[&'a str] {
        &self.slots
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
        // A line of a page may end a label with a colon.
        if !is_name || value.starts_with('<') {
            return;
        }
        if is_secret_header(name, value) {
            self.header_value(name, value);
        } else if name == ":path" {
            self.url(value);
        }
    }

    /// Masks the value of a secret header, but not the scheme of credentials, and remembers its secret parts.
    pub fn header_value(&mut self, name: &str, value: &'a str) {
        let name = name.trim().to_ascii_lowercase();
        if name.contains("cookie") {
            return self.cookies(value, name.contains("set-cookie"));
        }
        match value.split_once(' ') {
            Some((_, rest)) if has_scheme(value) => self.hide(rest.trim()),
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
                self.hide(value);
                self.know(rest.trim());
            }
            _ => self.hide(value),
        }
    }

    /// Masks cookies. They may also have harmless values, such as a language, so that only long ones are remembered.
    fn cookies(&mut self, value: &'a str, set: bool) {
        let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
        // Set-Cookie has one pair; its path and other attributes are not secret.
        let values = pairs.map(|(_, value)| value.trim()).take(if set { 1 } else { usize::MAX });
        if self.origin == TextOrigin::Plan && !slots::slots(value).is_empty() {
            values.clone().for_each(|value| self.cover(value));
        } else {
            self.cover(value);
        }
        values.filter(|value| value.len() >= 6).for_each(|value| self.know(value));
    }
}

/// Returns `true` for credentials behind their scheme, `Bearer x`.
pub fn has_scheme(value: &str) -> bool {
    value.split_once(' ').is_some_and(|(scheme, _)| SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

/// Returns `true` for a value that is no ordinary word.
fn looks_random(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.contains(is);
    let mixed = has(|c| c.is_lowercase()) && value.chars().skip(1).any(char::is_uppercase);
    value.len() >= 6 && (mixed || has(|c| !c.is_alphabetic()))
}

/// Returns the target of a request line.
fn request_target(line: &str) -> Option<&str> {
    let (before, version) = line.rsplit_once(' ')?;
    let (method, target) = before.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    (is_method && version.starts_with("HTTP/")).then_some(target)
}
