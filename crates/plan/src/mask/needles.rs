//! Search of a text for secrets, in every form in which they are sent.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::readings::{Readings, end_of};

/// Length up to which a word or number is so common that it is masked only between quotes and in binary messages.
pub const BETWEEN_QUOTES: usize = 3;
/// Length up to which a value may occur within a longer word, so that it is masked only as a separate word.
const ALONE: usize = 7;
/// Maximum number of forms of values; the signatures in a list of a million signed URLs are masked by position.
const MOST: usize = 1 << 17;

/// A form in which a secret is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NeedleForm {
    /// As it is, in any notation that [`Readings`] knows.
    Plain,
    /// The beginning of a value that was too long to be kept.
    Beginning,
    /// The characters of its base64 encoding that depend on nothing in front of it or behind it.
    Base64,
    /// Hexadecimal digits.
    Hex,
}

/// A text to search for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Needle {
    /// The text.
    pub text: String,
    /// Its form.
    pub form: NeedleForm,
}

/// The first characters of a needle, in lower case.
type Beginning = [char; 3];

/// The texts to search for, by their beginnings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Needle>", into = "Vec<Needle>")]
pub struct Needles {
    all: BTreeMap<Beginning, BTreeSet<Needle>>,
    count: usize,
}

impl From<Vec<Needle>> for Needles {
    fn from(all: Vec<Needle>) -> Needles {
        let mut needles = Needles::default();
        all.into_iter().for_each(|needle| needles.insert(needle));
        needles
    }
}

impl From<Needles> for Vec<Needle> {
    fn from(needles: Needles) -> Vec<Needle> {
        needles.all.into_values().flatten().collect()
    }
}

impl Needles {
    /// Returns `true` if there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds those of another set.
    pub fn join(&mut self, others: &Needles) {
        others.all.values().flatten().for_each(|needle| self.insert(needle.clone()));
    }

    /// Adds a text to search for.
    pub fn insert(&mut self, needle: Needle) {
        let mut first = needle.text.chars().map(|c| c.to_ascii_lowercase());
        let beginning = std::array::from_fn(|_| first.next().unwrap_or_default());
        if self.count < MOST && self.all.entry(beginning).or_default().insert(needle) {
            self.count += 1;
        }
    }

    /// Passes every occurrence of a secret in a part of a text to `found`. In a string of JSON, none begins within an
    /// escape.
    pub fn find(&self, text: &str, part: Range<usize>, in_string: bool, mut found: impl FnMut(&Needle, Range<usize>)) {
        // The last occurrence that was extended; those within it are masked with it, and extending each would take
        // quadratic time.
        let (mut at, mut extended) = (part.start, 0..0);
        while at < part.end && !self.all.is_empty() {
            self.each_beginning((text, at), (Beginning::default(), 0), &mut |needle| {
                let end = end_of(text, at, &needle.text, needle.form != NeedleForm::Base64);
                let Some(end) = end.filter(|end| *end <= part.end) else { return };
                if extended.start <= at && end <= extended.end {
                    return;
                }
                let range = needle.range(&text[..part.end], at..end);
                if !matches!(needle.form, NeedleForm::Plain | NeedleForm::Hex) {
                    extended = range.clone();
                }
                let is_alone = || is_separate_value(&text[..range.start], &needle.text, &text[range.end..]);
                if needle.form != NeedleForm::Plain || is_alone() {
                    found(needle, range);
                }
            });
            let rest = &text[at..];
            at += match rest.as_bytes()[0] {
                b'\\' if in_string => {
                    let escape = if rest[1..].starts_with('u') { 6 } else { 2 };
                    rest.floor_char_boundary(escape).max(1)
                }
                _ => rest.chars().next().map_or(1, char::len_utf8),
            };
        }
    }

    /// Passes the needles whose first characters can be read at a position to `hear`, of which the first `known` are
    /// read.
    fn each_beginning(
        &self,
        (text, at): (&str, usize),
        (beginning, known): (Beginning, usize),
        hear: &mut dyn FnMut(&Needle),
    ) {
        for (c, end) in Readings::at(text, at).iter() {
            let (mut first, mut last) = (beginning, [char::MAX; 3]);
            first[known] = c.to_ascii_lowercase();
            last[..=known].copy_from_slice(&first[..=known]);
            if self.all.range(first..=last).next().is_none() {
                continue;
            }
            self.all.get(&first).into_iter().flatten().for_each(&mut *hear);
            if known + 1 < first.len() {
                self.each_beginning((text, *end), (first, known + 1), hear);
            }
        }
    }
}

impl Needle {
    /// Returns `true` for an ordinary word.
    pub fn is_word(&self) -> bool {
        self.form == NeedleForm::Plain && self.text.chars().all(|c| c.is_ascii_alphabetic() || "-_".contains(c))
    }

    /// Returns `true` for a text that may be a part of a document of JSON.
    pub fn is_part_of_json(&self) -> bool {
        self.text.len() > ALONE && self.text.contains(['"', '{', '}', '[', ']'])
    }

    /// Returns the range to mask for an occurrence: of base64, all that is encoded with the secret, and of a value that
    /// is not known to its end, all that may belong to it.
    fn range(&self, text: &str, found: Range<usize>) -> Range<usize> {
        match self.form {
            NeedleForm::Plain | NeedleForm::Hex => return found,
            NeedleForm::Beginning => {
                let ends = |c: char| c.is_whitespace() || "\"'\\<>&,;…".contains(c);
                let more = text[found.end..].find(ends).unwrap_or(text.len() - found.end);
                return found.start..found.end + more;
            }
            NeedleForm::Base64 => {}
        }
        let coded = |b: &u8| b.is_ascii_alphanumeric() || *b == b'+';
        let before = text[..found.start].bytes().rev().take_while(coded).count();
        let behind = text[found.end..].bytes().take_while(|b| coded(b) || *b == b'=').count();
        found.start - before..found.end + behind
    }
}

/// Returns the parts of the base64 encodings of texts that contain `value` which are the same in all of them, one for
/// each position in a group of three bytes, in both alphabets.
pub fn base64_forms(value: &str) -> impl Iterator<Item = String> {
    let of_offset = |offset: usize| {
        let coded = STANDARD.encode([&[0; 2][..offset], value.as_bytes()].concat());
        let (from, to) = ((offset * 8).div_ceil(6), (offset + value.len()) * 8 / 6);
        coded[from..to].to_owned()
    };
    let forms = (0..3).map(of_offset).collect::<Vec<_>>().into_iter();
    forms.flat_map(|form| {
        let safe = form.replace('+', "-").replace('/', "_");
        [form, safe]
    })
}

/// Returns `true` if what is between these texts is a name in a form or a tag, and not a value.
pub fn is_name(before: &str, behind: &str) -> bool {
    let begins = before.is_empty() || before.ends_with(['&', '?', ';', '\n', ' ', '"', '\'']);
    let named = ["name=\"", "type=\"", "id=\"", "for=\""].into_iter().any(|attribute| before.ends_with(attribute));
    named || (begins && behind.starts_with('=') && !behind.starts_with("=="))
}

/// Returns `true` if a text ends with a mark and this many hexadecimal digits.
fn ends_in(text: &str, mark: &str, digits: usize) -> bool {
    let number = text.len().checked_sub(digits).and_then(|at| text.get(at..));
    let is_hex = number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_hexdigit()));
    is_hex && text[..text.len() - digits].ends_with(mark)
}

/// Returns `true` if this occurrence of a secret is a separate value and not part of a word.
fn is_separate_value(before: &str, value: &str, behind: &str) -> bool {
    let (last, next) = (before.chars().next_back(), behind.chars().next());
    // An escaped character, such as `\x00` in a binary message, is not part of a word.
    let escaped = [("\\x", 2), ("\\u", 4), ("%", 2)].into_iter().any(|(mark, digits)| ends_in(before, mark, digits))
        || ["\\n", "\\r", "\\t"].into_iter().any(|escape| before.ends_with(escape));
    let is_word = value.bytes().all(|b| b.is_ascii_alphabetic()) || value.bytes().all(|b| b.is_ascii_digit());
    match value.len() {
        0..=BETWEEN_QUOTES if is_word => {
            let quotes = |c: Option<char>| c.is_some_and(|c| "\"'`".contains(c));
            (escaped && behind.starts_with("\\x")) || (quotes(last) && quotes(next))
        }
        length if length <= ALONE => {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            escaped || (!is_part(last) && !is_part(next))
        }
        _ => true,
    }
}
