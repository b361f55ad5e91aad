//! `--expect-json '$.code == 200'`: a place in a JSON body and what must stand there.
//!
//! A small part of JSONPath (RFC 9535): names, indices (negative ones from the end) and `*`; then nothing (the place must
//! exist), a comparison, or `contains`. Where a path leads to several places, one that keeps the rule is enough; `!=`
//! must hold at all of them.

use std::cmp::Ordering;

use serde_json::Value;

use crate::kept::{Budget, Taken};

/// One rule.
#[derive(Debug, PartialEq)]
pub struct Json {
    /// As it was written, and the path in it.
    rule: String,
    place: String,
    path: Vec<Step>,
    test: Option<(Compare, Value)>,
}

/// One step of a path.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// A member of an object.
    Name(String),
    /// An item of an array; a negative one counts from its end.
    Index(i64),
    /// All of them.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Contains,
}

/// Longer spellings first.
const COMPARISONS: [(&str, Compare); 7] = [
    ("==", Compare::Equal),
    ("!=", Compare::Unequal),
    ("<=", Compare::AtMost),
    (">=", Compare::AtLeast),
    ("<", Compare::Less),
    (">", Compare::Greater),
    ("contains ", Compare::Contains),
];

/// A body that was read, and what it takes meanwhile.
pub struct Read {
    pub value: Value,
    _taken: Option<Taken>,
}

/// Why a body was not read.
pub enum Unread {
    NoJson,
    NoRoom,
}

/// A body so small takes nothing that counts.
const SMALL: usize = 64 << 10;
/// What a value or a member takes at most in memory, beside its text: growing arrays hold twice what they need.
const OF_EACH: usize = 64;

/// Reads a body. A few bytes of text may stand for many times as much in memory, which is taken from the budget first.
///
/// # Errors
/// It is no JSON, or there is no room for what it would come to.
pub fn read(body: &[u8], budget: &Budget) -> Result<Read, Unread> {
    let _taken = match body.len() {
        0..=SMALL => None,
        size => {
            let values = memchr::memchr3_iter(b',', b'[', b'{', body).count();
            Some(budget.take(size + values * OF_EACH).ok_or(Unread::NoRoom)?)
        }
    };
    let value = serde_json::from_slice(body).map_err(|_| Unread::NoJson)?;
    Ok(Read { value, _taken })
}

/// Where a path leads to several places, so many of their values are named.
const NAMED: usize = 3;

impl Json {
    /// Reads a rule.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Json, String> {
        let wrong = |what: &str| format!("\"{text}\" {what}; write a rule such as $.code == 200 or $.items[0].id");
        let mut rest = text.trim().strip_prefix('$').ok_or_else(|| wrong("does not begin with $"))?;
        let mut path = Vec::new();
        while let Some((step, after)) = step(rest).ok_or_else(|| wrong("has a path that cannot be read"))? {
            path.push(step);
            rest = after;
        }
        let rule = text.trim().to_owned();
        let place = rule[..rule.len() - rest.trim_end().len()].to_owned();
        let rest = rest.trim();
        if rest.is_empty() {
            return Ok(Json { rule, place, path, test: None });
        }
        if rest.starts_with('=') && !rest.starts_with("==") {
            return Err(format!("\"{text}\" has a single =; write == to compare: {place} =={}", &rest[1..]));
        }
        let (compare, value) = COMPARISONS
            .iter()
            .find_map(|(sign, compare)| Some((*compare, rest.strip_prefix(sign)?.trim())))
            .ok_or_else(|| wrong("has no comparison (==, !=, <, <=, >, >=, contains) behind its path"))?;
        if value.is_empty() {
            return Err(wrong("compares with nothing"));
        }
        let value = literal(value);
        let ordered = matches!(compare, Compare::Less | Compare::AtMost | Compare::Greater | Compare::AtLeast);
        if ordered && !value.is_number() {
            return Err(wrong("orders by something that is no number"));
        }
        Ok(Json { rule, place, path, test: Some((compare, value)) })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.rule
    }

    /// The way to the places it is about.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// What a body that does not keep the rule has in its place.
    pub fn why(&self, body: &Value) -> String {
        let mut found = Vec::new();
        collect(body, &self.path, &mut found);
        let rule = super::plain(&self.rule);
        match found.len() {
            0 => format!("expected {rule}, found nothing at {}", super::plain(&self.place)),
            n => {
                let shown = found.iter().take(NAMED).map(|value| super::plain(&value.to_string()));
                let more = if n > NAMED { format!(" and {} more", n - NAMED) } else { String::new() };
                format!("expected {rule}, found {}{more}", shown.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// True where a body keeps the rule.
    pub fn holds(&self, body: &Value) -> bool {
        let mut found = Vec::new();
        collect(body, &self.path, &mut found);
        match &self.test {
            None => !found.is_empty(),
            Some((Compare::Unequal, value)) => !found.is_empty() && !found.iter().any(|found| same(found, value)),
            Some((compare, value)) => found.iter().any(|found| passes(found, *compare, value)),
        }
    }
}

/// The next step and what follows it; `Some(None)` at the end of the path, None where it cannot be read.
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

/// JSON, or a text in single quotes or without any.
fn literal(text: &str) -> Value {
    let single = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match single {
        Some(inside) => Value::String(inside.to_owned()),
        None => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

fn collect<'a>(value: &'a Value, path: &[Step], found: &mut Vec<&'a Value>) {
    let Some((step, rest)) = path.split_first() else { return found.push(value) };
    match (step, value) {
        (Step::Name(name), Value::Object(map)) => {
            if let Some(value) = map.get(name) {
                collect(value, rest, found);
            }
        }
        (Step::Index(index), Value::Array(items)) => {
            let at = if *index < 0 { items.len() as i64 + index } else { *index };
            if let Some(value) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                collect(value, rest, found);
            }
        }
        (Step::All, Value::Array(items)) => items.iter().for_each(|value| collect(value, rest, found)),
        (Step::All, Value::Object(map)) => map.values().for_each(|value| collect(value, rest, found)),
        _ => {}
    }
}

/// Numbers are the same by their value: 1 and 1.0. Two whole ones are compared as such: a double has not all their digits.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() || y.is_f64() => x.as_f64() == y.as_f64(),
        _ => a == b,
    }
}

/// Which of two numbers is larger.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn whole(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn passes(found: &Value, compare: Compare, value: &Value) -> bool {
    let ordered = |test: fn(Ordering) -> bool| order(found, value).is_some_and(test);
    match compare {
        Compare::Equal => same(found, value),
        Compare::Unequal => !same(found, value),
        Compare::Less => ordered(Ordering::is_lt),
        Compare::AtMost => ordered(Ordering::is_le),
        Compare::Greater => ordered(Ordering::is_gt),
        Compare::AtLeast => ordered(Ordering::is_ge),
        Compare::Contains => match (found, value) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            (Value::Array(items), value) => items.iter().any(|item| same(item, value)),
            _ => false,
        },
    }
}
