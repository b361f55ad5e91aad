//! `--expect-json '$.code == 200'`: a path into a JSON body and the expected value.
//!
//! JSONPath (RFC 9535) without slices, unions and functions: names, indices (negative ones from the end), `*`, `..` and
//! filters (`Filter`). The path is followed by nothing (the value must exist), by a comparison, or by `contains`. If a
//! path leads to several values, one that satisfies the rule is enough, except for `!=`, which must hold for all of
//! them. Numbers are compared by all of their digits (`decimal`), and a body is searched in place ([`places`]).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use cause::{Cause, checks};
use serde_json::value::RawValue;

use super::filter::Filter;
use super::{decimal, places};

/// A path into a body.
#[derive(Debug, PartialEq)]
pub struct Place(Vec<Step>);

impl Place {
    /// Parses a path.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    pub fn parse(text: &str) -> Result<Place, String> {
        let wrong = |what: &str| format!("\"{text}\" {what}; write a path such as $.token or $.items[0].id");
        let rest = text.strip_prefix('$').ok_or_else(|| wrong("does not start with $"))?;
        match path(rest, DEEPEST).map_err(|what| wrong(&what))? {
            (path, "") => Ok(Place(path)),
            (_, rest) => Err(wrong(&format!("continues with \"{rest}\", which is not part of a path"))),
        }
    }

    /// Returns the same path applied to each item of a list, unless the path itself begins with list items.
    pub fn in_list(self) -> Place {
        let each = (!of_list(&self.0)).then_some(Step::All);
        Place(each.into_iter().chain(self.0).collect())
    }

    /// Passes the values that the path leads to in a body to `seen`.
    ///
    /// # Errors
    /// The body is not JSON.
    pub fn walk<'a>(&self, body: &'a [u8], seen: &mut dyn FnMut(&'a RawValue)) -> Result<(), serde_json::Error> {
        let [Step::Name(name), rest @ ..] = &self.0[..] else {
            walk(serde_json::from_slice(body)?, &self.0, seen);
            return Ok(());
        };
        // The common case `$.token`: the member is found while the body is parsed, in a single pass.
        if let Some(value) = places::member(body, name)? {
            walk(value, rest, seen);
        }
        Ok(())
    }
}

/// Checks that a path finds the same values in a body as in the whole parsed document.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(place: &str, body: &[u8]) {
    let Ok(place) = Place::parse(place) else { return };
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let is_json = place.walk(body, &mut |value| found.push(value.get())).is_ok();
    let whole = places::whole(body);
    whole.into_iter().for_each(|whole| walk(whole, &place.0, &mut |value| expected.push(value.get())));
    assert_eq!((is_json, found), (whole.is_some(), expected));
}

/// Returns `true` if a path begins with list items.
pub fn of_list(path: &[Step]) -> bool {
    matches!(path.first(), Some(Step::Index(_) | Step::All | Step::Where(_)))
}

/// An expected property of a JSON body.
#[derive(Debug, PartialEq)]
pub struct Json {
    /// The rule as written, and the path within it.
    rule: String,
    place: String,
    path: Vec<Step>,
    test: Option<(Compare, Wanted)>,
}

/// One step of a path.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// An object member.
    Name(String),
    /// An array item; negative indices count from the end.
    Index(i64),
    /// All items or members.
    All,
    /// The items or members that satisfy a filter.
    Where(Filter),
    /// The value and all its descendants.
    Within,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `==`.
    Equal,
    /// `!=`.
    Unequal,
    /// `<`.
    Less,
    /// `<=`.
    AtMost,
    /// `>`.
    Greater,
    /// `>=`.
    AtLeast,
    /// `contains`.
    Contains,
}

/// Operator signs, longer ones first.
const COMPARISONS: [(&str, Compare); 7] = [
    ("==", Compare::Equal),
    ("!=", Compare::Unequal),
    ("<=", Compare::AtMost),
    (">=", Compare::AtLeast),
    ("<", Compare::Less),
    (">", Compare::Greater),
    ("contains ", Compare::Contains),
];

/// The expected value of a comparison.
#[derive(Debug, PartialEq)]
pub enum Wanted {
    /// `null`, `true` or `false`.
    Word(String),
    /// A number, as written.
    Number(String),
    /// A string, without its quotes.
    Text(Vec<u8>),
    /// An array.
    List(Vec<Wanted>),
    /// An object.
    Object(BTreeMap<Vec<u8>, Wanted>),
}

/// Maximum number of steps of a path, and maximum nesting depth of an expected value.
const DEEPEST: usize = 128;

/// Maximum depth that `..` descends.
const DEEPEST_WITHIN: usize = 32;

/// Maximum number of values named in a message if a path leads to several.
const NAMED: usize = 3;

impl Json {
    /// Parses a rule.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    pub fn parse(text: &str) -> Result<Json, String> {
        let wrong = |what: &str| format!("\"{text}\" {what}; write a rule such as $.code == 200 or $.items[0].id");
        let rest = text.trim().strip_prefix('$').ok_or_else(|| wrong("does not start with $"))?;
        let (path, rest) = path(rest, DEEPEST).map_err(|what| wrong(&what))?;
        let rule = text.trim().to_owned();
        let place = rule[..rule.len() - rest.trim_end().len()].to_owned();
        let rest = rest.trim();
        if rest.is_empty() {
            return Ok(Json { rule, place, path, test: None });
        }
        if rest.starts_with('=') && !rest.starts_with("==") {
            return Err(format!("\"{text}\" has a single =; write == to compare: {place} =={}", &rest[1..]));
        }
        let test = test(rest).map_err(|what| wrong(&what))?;
        Ok(Json { rule, place, path, test: Some(test) })
    }

    /// Returns the rule as written.
    pub fn text(&self) -> &str {
        &self.rule
    }

    /// Returns the path of the rule.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// Returns the cause of a mismatch, with the values that the body has instead.
    pub fn why(&self, body: &RawValue) -> Cause {
        let (mut shown, mut count) = (Vec::new(), 0);
        walk(body, &self.path, &mut |value| {
            count += 1;
            if count <= NAMED {
                shown.push(super::plain(&compact(value)));
            }
        });
        let rule = super::plain(&self.rule);
        if count == 0 {
            return checks::nothing_at(rule, super::plain(&self.place));
        }
        match count.saturating_sub(NAMED) {
            0 => checks::differs(rule, shown.join(", ")),
            more => checks::differs(rule, checks::and_more(shown.join(", "), more)),
        }
    }

    /// Returns `true` if a body satisfies the rule.
    pub fn holds(&self, body: &RawValue) -> bool {
        let (mut found, mut passed) = (0, 0);
        walk(body, &self.path, &mut |value| {
            found += 1;
            passed += usize::from(self.test.as_ref().is_none_or(|(compare, wanted)| passes(value, *compare, wanted)));
        });
        match self.test {
            Some((Compare::Unequal, _)) => found > 0 && passed == found,
            _ => passed > 0,
        }
    }
}

/// Parses a comparison with its expected value.
///
/// # Errors
/// A description of what is wrong with it.
pub(super) fn test(text: &str) -> Result<(Compare, Wanted), String> {
    let (compare, value) = COMPARISONS
        .iter()
        .find_map(|(sign, compare)| Some((*compare, text.strip_prefix(sign)?.trim())))
        .ok_or("has no comparison (==, !=, <, <=, >, >=, contains) after its path")?;
    if value.is_empty() {
        return Err("compares with nothing".into());
    }
    let value = literal(value).ok_or_else(|| format!("compares with JSON nested more than {DEEPEST} deep"))?;
    let ordered = matches!(compare, Compare::Less | Compare::AtMost | Compare::Greater | Compare::AtLeast);
    if ordered && !matches!(value, Wanted::Number(_)) {
        return Err("uses <, <=, > or >= with something that is not a number".into());
    }
    Ok((compare, value))
}

/// Parses the path at the beginning of a text and returns it with the remaining text; filters nest at most `deepest`
/// levels.
///
/// # Errors
/// A description of what is wrong with the path.
pub(super) fn path(text: &str, deepest: usize) -> Result<(Vec<Step>, &str), String> {
    let (mut path, mut rest) = (Vec::new(), text);
    loop {
        if let Some(behind) = rest.strip_prefix("..") {
            path.push(Step::Within);
            // `..name` is `..` followed by `.name`.
            rest = if behind.starts_with('[') { behind } else { &rest[1..] };
        }
        if rest.starts_with("[?") {
            let (filter, after) = Filter::parse(rest, deepest)?;
            path.push(Step::Where(filter));
            rest = after;
        } else if let Some((step, after)) = step(rest).ok_or("has a path that cannot be read")? {
            path.push(step);
            rest = after;
        } else {
            return Ok((path, rest));
        }
        if path.len() > DEEPEST {
            return Err(format!("has a path of more than {DEEPEST} steps"));
        }
    }
}

/// Parses the next step and returns it with the remaining text; `Some(None)` at the end of the path, `None` on a syntax
/// error.
fn step(text: &str) -> Option<Option<(Step, &str)>> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        if let (0, Some(after)) = (end, rest.strip_prefix('*')) {
            return Some(Some((Step::All, after)));
        }
        return (end > 0).then(|| Some((Step::Name(rest[..end].to_owned()), &rest[end..])));
    }
    let Some(rest) = text.strip_prefix('[') else { return Some(None) };
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (name, after) = rest[1..].split_once(quote)?;
        return Some(Some((Step::Name(name.to_owned()), after.strip_prefix(']')?)));
    }
    let (inside, after) = rest.split_once(']')?;
    let step = match inside.trim() {
        "*" => Step::All,
        index => Step::Index(index.parse().ok()?),
    };
    Some(Some((step, after)))
}

/// Parses a JSON value, or a text in single quotes or without quotes. `None` if the value is nested too deep.
fn literal(text: &str) -> Option<Wanted> {
    let single = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match single.map_or_else(|| places::whole(text.as_bytes()).ok_or(text), Err) {
        Ok(value) => wanted(value, DEEPEST),
        Err(text) => Some(Wanted::Text(text.into())),
    }
}

/// Converts an expected value; `None` if it is nested deeper than `deepest`.
fn wanted(value: &RawValue, deepest: usize) -> Option<Wanted> {
    let inner = deepest.checked_sub(1)?;
    match value.get().as_bytes()[0] {
        b'[' => {
            let mut list = Some(Vec::new());
            places::items(value, |item| {
                list = list.take().and_then(|mut list| {
                    list.push(wanted(item, inner)?);
                    Some(list)
                });
            });
            list.map(Wanted::List)
        }
        b'{' => {
            let mut object = Some(BTreeMap::new());
            places::members(value, |name, member| {
                object = object.take().and_then(|mut object| {
                    object.insert(name.to_vec(), wanted(member, inner)?);
                    Some(object)
                });
            });
            object.map(Wanted::Object)
        }
        _ => Some(match (places::text(value), places::number(value)) {
            (Some(text), _) => Wanted::Text(text),
            (None, Some(digits)) => Wanted::Number(digits.to_owned()),
            (None, None) => Wanted::Word(value.get().to_owned()),
        }),
    }
}

/// Passes the values at the end of a path to `seen`.
pub(super) fn walk<'a>(value: &'a RawValue, path: &[Step], seen: &mut dyn FnMut(&'a RawValue)) {
    let Some((step, rest)) = path.split_first() else { return seen(value) };
    match step {
        Step::Name(name) => {
            let mut member = None;
            places::members(value, |at, value| {
                if at == name.as_bytes() {
                    member = Some(value);
                }
            });
            member.into_iter().for_each(|value| walk(value, rest, seen));
        }
        Step::Index(index) => {
            let mut count = 0;
            if *index < 0 {
                places::items(value, |_| count += 1);
            }
            let (wanted, mut at) = (count + index, 0);
            places::items(value, |item| {
                if at == wanted {
                    walk(item, rest, seen);
                }
                at += 1;
            });
        }
        Step::All => each(value, &mut |inner| walk(inner, rest, seen)),
        Step::Where(filter) => each(value, &mut |inner| {
            if filter.holds(inner) {
                walk(inner, rest, seen);
            }
        }),
        Step::Within => within(value, rest, DEEPEST_WITHIN, seen),
    }
}

/// Passes the items or members of a value to `seen`.
fn each<'a>(value: &'a RawValue, seen: &mut dyn FnMut(&'a RawValue)) {
    places::items(value, &mut *seen);
    places::members(value, |_, member| seen(member));
}

/// Continues from a value and from its descendants down to this depth.
fn within<'a>(value: &'a RawValue, rest: &[Step], deepest: usize, seen: &mut dyn FnMut(&'a RawValue)) {
    walk(value, rest, seen);
    if deepest > 0 {
        each(value, &mut |inner| within(inner, rest, deepest - 1, seen));
    }
}

/// Compares with an expected value; numbers are equal by value, such as 1 and 1.0.
fn same(found: &RawValue, wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Word(word) => found.get() == word,
        Wanted::Number(digits) => places::number(found).is_some_and(|found| decimal::compare(found, digits).is_eq()),
        Wanted::Text(text) => places::text(found).is_some_and(|found| found == *text),
        Wanted::List(list) => {
            let (mut at, mut alike) = (0, found.get().starts_with('['));
            places::items(found, |item| {
                alike = alike && list.get(at).is_some_and(|wanted| same(item, wanted));
                at += 1;
            });
            alike && at == list.len()
        }
        Wanted::Object(object) => {
            let (mut alike, mut unknown) = (BTreeMap::new(), !found.get().starts_with('{'));
            places::members(found, |name, value| match object.get_key_value(name) {
                // With duplicate names the last one counts.
                Some((name, wanted)) => _ = alike.insert(name, same(value, wanted)),
                None => unknown = true,
            });
            !unknown && alike.len() == object.len() && alike.into_values().all(|alike| alike)
        }
    }
}

pub(super) fn passes(found: &RawValue, compare: Compare, wanted: &Wanted) -> bool {
    let ordered = |test: fn(Ordering) -> bool| match (places::number(found), wanted) {
        (Some(found), Wanted::Number(digits)) => test(decimal::compare(found, digits)),
        _ => false,
    };
    match compare {
        Compare::Equal => same(found, wanted),
        Compare::Unequal => !same(found, wanted),
        Compare::Less => ordered(Ordering::is_lt),
        Compare::AtMost => ordered(Ordering::is_le),
        Compare::Greater => ordered(Ordering::is_gt),
        Compare::AtLeast => ordered(Ordering::is_ge),
        Compare::Contains => match (places::text(found), wanted) {
            (Some(text), Wanted::Text(part)) => memchr::memmem::find(&text, part).is_some(),
            _ => {
                let mut there = false;
                places::items(found, |item| there = there || same(item, wanted));
                there
            }
        },
    }
}

/// Returns the beginning of a value, as far as it is shown, without white space between tokens.
fn compact(value: &RawValue) -> String {
    if let Some(text) = places::text(value) {
        let text = String::from_utf8_lossy(&text);
        return serde_json::to_string(&text).unwrap_or_default();
    }
    let (mut inside, mut escaped) = (false, false);
    let kept = value.get().chars().filter(|c| {
        let kept = inside || !c.is_ascii_whitespace();
        match c {
            '"' if !escaped => inside = !inside,
            _ => {}
        }
        escaped = inside && !escaped && *c == '\\';
        kept
    });
    kept.take(4 * super::SHOWN).collect()
}
