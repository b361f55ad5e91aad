//! `--expect-json '$.code == 200'`: a path into a JSON body and the expected value.
//!
//! JSONPath (RFC 9535) without unions and functions: names, indices (negative ones from the end), slices (`ItemSlice`),
//! `*`, `..` and filters (`PathFilter`). A comparison or `contains` may follow the path; without one, the value must exist. If a path
//! leads to several values, it is enough that one satisfies the rule, except for `!=`, which all of them must satisfy.
//! Numbers are compared exactly (`decimal`), and the body is searched in place ([`raw_json`]).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use brunt_cause::{Cause, Complaint, checks, complaint};
use serde_json::value::RawValue;

use super::filter::PathFilter;
use super::slice::ItemSlice;
use super::{decimal, raw_json};
use crate::steps::StepBudget;

/// A path into a body.
#[derive(Debug, PartialEq)]
pub struct BodyPath(Vec<PathStep>);

impl BodyPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The text is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<BodyPath, Complaint> {
        let wrong = |what: &Complaint| {
            let zh = what.zh();
            complaint!(
                "\"{text}\" {what}; write a path such as $.token or $.items[0].id",
                "“{text}”{zh}；请写路径，例如 $.token 或 $.items[0].id"
            )
        };
        let rest =
            text.strip_prefix('$').ok_or_else(|| wrong(&complaint!("does not start with $", "没有以 $ 开头")))?;
        match path(rest, DEEPEST).map_err(|what| wrong(&what))? {
            (path, "") => Ok(BodyPath(path)),
            (_, rest) => Err(wrong(&complaint!(
                "continues with \"{rest}\", which is not part of a path",
                "后面的“{rest}”不是路径的一部分"
            ))),
        }
    }

    /// Returns the same path applied to each item of a list, unless the path itself begins with list items.
    pub fn in_list(self) -> BodyPath {
        let each = (!begins_with_items(&self.0)).then_some(PathStep::Each);
        BodyPath(each.into_iter().chain(self.0).collect())
    }

    /// Returns `true` if the path leads to one value at most: it has only names and indices.
    pub fn leads_to_one(&self) -> bool {
        self.0.iter().all(|step| matches!(step, PathStep::Name(_) | PathStep::Index(_)))
    }

    /// Passes all values at the end of the path in a body to `seen`; not all of them if the budget is spent.
    ///
    /// # Errors
    /// The body is not JSON.
    pub fn visit<'a>(
        &self,
        body: &'a [u8],
        steps: &StepBudget,
        seen: &mut dyn FnMut(&'a RawValue),
    ) -> Result<(), serde_json::Error> {
        steps.spend(body.len() as u64);
        let [PathStep::Name(name), rest @ ..] = &self.0[..] else {
            PathWalk { steps, seen }.walk(serde_json::from_slice(body)?, &self.0);
            return Ok(());
        };
        // In the common case `$.token`, the member is found while parsing the body, in a single pass.
        if let Some(value) = raw_json::find_member(body, name)? {
            PathWalk { steps, seen }.walk(value, rest);
        }
        Ok(())
    }
}

/// Checks that a path finds the same values in a body as in the fully parsed document.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(place: &str, body: &[u8]) {
    let Ok(place) = BodyPath::parse(place) else { return };
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let steps = StepBudget::default();
    let is_json = place.visit(body, &steps, &mut |value| found.push(value.get())).is_ok();
    let whole = raw_json::parse_whole(body);
    whole.into_iter().for_each(|whole| walk(whole, &place.0, &steps, &mut |value| expected.push(value.get())));
    assert_eq!((is_json, found), (whole.is_some(), expected));
}

/// Returns `true` if a path begins with list items.
pub fn begins_with_items(path: &[PathStep]) -> bool {
    matches!(path.first(), Some(PathStep::Index(_) | PathStep::Slice(_) | PathStep::Each | PathStep::Filter(_)))
}

/// An expected property of a JSON body.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRule {
    /// The rule as written, and the path within it.
    rule: String,
    place: String,
    path: Vec<PathStep>,
    test: Option<(CompareOp, ExpectedValue)>,
    /// Why the text is not a rule: then it never holds.
    unreadable: Option<String>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathStep {
    /// An object member.
    Name(String),
    /// An array item; negative indices count from the end.
    Index(i64),
    /// Array items from one index up to another.
    Slice(ItemSlice),
    /// All items or members.
    Each,
    /// The items or members that satisfy a filter.
    Filter(PathFilter),
    /// The value and all its descendants.
    Descendants,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
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
const COMPARISONS: [(&str, CompareOp); 7] = [
    ("==", CompareOp::Equal),
    ("!=", CompareOp::Unequal),
    ("<=", CompareOp::AtMost),
    (">=", CompareOp::AtLeast),
    ("<", CompareOp::Less),
    (">", CompareOp::Greater),
    ("contains ", CompareOp::Contains),
];

/// The expected value of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedValue {
    /// `null`, `true` or `false`.
    Keyword(String),
    /// A number, as written.
    Number(String),
    /// A string, without its quotes.
    Text(Vec<u8>),
    /// An array.
    List(Vec<ExpectedValue>),
    /// An object.
    Object(BTreeMap<Vec<u8>, ExpectedValue>),
}

/// Maximum number of steps of a path, and maximum nesting depth of an expected value.
const DEEPEST: usize = 128;

/// Maximum depth to which `..` descends.
const DEEPEST_WITHIN: usize = 32;

/// Maximum number of values in a message if a path leads to several.
const NAMED: usize = 3;

impl JsonRule {
    /// Parses a rule.
    ///
    /// # Errors
    /// The text is invalid; the error describes why.
    pub fn parse(text: &str) -> Result<JsonRule, Complaint> {
        let wrong = |what: &Complaint| {
            let zh = what.zh();
            complaint!(
                "\"{text}\" {what}; write a rule such as $.code == 200 or $.items[0].id",
                "“{text}”{zh}；请写规则，例如 $.code == 200 或 $.items[0].id"
            )
        };
        let rest = text
            .trim()
            .strip_prefix('$')
            .ok_or_else(|| wrong(&complaint!("does not start with $", "没有以 $ 开头")))?;
        let (path, rest) = path(rest, DEEPEST).map_err(|what| wrong(&what))?;
        let rule = text.trim().to_owned();
        let place = rule[..rule.len() - rest.trim_end().len()].to_owned();
        let rest = rest.trim();
        if rest.is_empty() {
            return Ok(JsonRule { rule, place, path, test: None, unreadable: None });
        }
        if rest.starts_with('=') && !rest.starts_with("==") {
            return Err(complaint!(
                "\"{text}\" has a single =; write == to compare: {place} =={}",
                "“{text}”只有一个 =；比较请写 ==：{place} =={}",
                &rest[1..]
            ));
        }
        let test = parse_comparison(rest).map_err(|what| wrong(&what))?;
        Ok(JsonRule { rule, place, path, test: Some(test), unreadable: None })
    }

    /// Creates a rule that never holds, for a text that is not a rule with the values it was filled with.
    pub fn never(text: &str, why: String) -> JsonRule {
        let (rule, place) = (text.to_owned(), String::new());
        JsonRule { rule, place, path: Vec::new(), test: None, unreadable: Some(why) }
    }

    /// Returns the rule as written.
    pub fn text(&self) -> &str {
        &self.rule
    }

    /// Returns the path of the rule.
    pub fn path(&self) -> &[PathStep] {
        &self.path
    }

    /// Returns the cause of a mismatch, with the values found in the body.
    pub fn mismatch(&self, body: &RawValue, steps: &StepBudget) -> Cause {
        if let Some(why) = &self.unreadable {
            return checks::rule_unreadable(super::one_line(why));
        }
        let (mut shown, mut count) = (Vec::new(), 0);
        walk(body, &self.path, steps, &mut |value| {
            count += 1;
            if count <= NAMED {
                shown.push(super::one_line(&excerpt(value)));
            }
        });
        let rule = super::one_line(&self.rule);
        if count == 0 {
            return checks::nothing_at(rule, super::one_line(&self.place));
        }
        match count.saturating_sub(NAMED) {
            0 => checks::differs(rule, shown.join(", ")),
            more => checks::differs(rule, checks::and_more(shown.join(", "), more)),
        }
    }

    /// Returns `true` if a body satisfies the rule; means nothing if the budget is spent.
    pub fn holds(&self, body: &RawValue, steps: &StepBudget) -> bool {
        if self.unreadable.is_some() {
            return false;
        }
        let (mut found, mut passed) = (0, 0);
        walk(body, &self.path, steps, &mut |value| {
            let satisfied = |(compare, wanted): &(CompareOp, ExpectedValue)| satisfies(value, *compare, wanted, steps);
            found += 1;
            passed += usize::from(self.test.as_ref().is_none_or(satisfied));
        });
        match self.test {
            Some((CompareOp::Unequal, _)) => found > 0 && passed == found,
            _ => passed > 0,
        }
    }
}

/// Parses a comparison operator and the expected value.
///
/// # Errors
/// The text is invalid; the error describes why.
pub(super) fn parse_comparison(text: &str) -> Result<(CompareOp, ExpectedValue), Complaint> {
    let (compare, value) = COMPARISONS
        .iter()
        .find_map(|(sign, compare)| Some((*compare, text.strip_prefix(sign)?.trim())))
        .ok_or(complaint!(
            "has no comparison (==, !=, <, <=, >, >=, contains) after its path",
            "的路径之后没有比较运算符（==、!=、<、<=、>、>=、contains）"
        ))?;
    if value.is_empty() {
        return Err(complaint!("compares with nothing", "没有写要比较的值"));
    }
    let value = parse_literal(value).ok_or_else(|| {
        complaint!("compares with JSON nested more than {DEEPEST} deep", "所比较的 JSON 嵌套超过 {DEEPEST} 层")
    })?;
    let ordered = matches!(compare, CompareOp::Less | CompareOp::AtMost | CompareOp::Greater | CompareOp::AtLeast);
    if ordered && !matches!(value, ExpectedValue::Number(_)) {
        return Err(complaint!(
            "uses <, <=, > or >= with something that is not a number",
            "对非数字使用了 <、<=、> 或 >="
        ));
    }
    Ok((compare, value))
}

/// Parses the path at the beginning of a text and returns it with the remaining text. Filters nest at most `deepest`
/// levels.
///
/// # Errors
/// The path is invalid; the error describes why.
pub(super) fn path(text: &str, deepest: usize) -> Result<(Vec<PathStep>, &str), Complaint> {
    let (mut path, mut rest) = (Vec::new(), text);
    loop {
        if let Some(behind) = rest.strip_prefix("..") {
            path.push(PathStep::Descendants);
            // `..name` is `..` followed by `.name`.
            rest = if behind.starts_with('[') { behind } else { &rest[1..] };
        }
        if rest.starts_with("[?") {
            let (filter, after) = PathFilter::parse(rest, deepest)?;
            path.push(PathStep::Filter(filter));
            rest = after;
        } else if let Some((step, after)) =
            parse_step(rest).ok_or(complaint!("has a path that cannot be read", "的路径无法解析"))?
        {
            path.push(step);
            rest = after;
        } else {
            return Ok((path, rest));
        }
        if path.len() > DEEPEST {
            return Err(complaint!("has a path of more than {DEEPEST} steps", "的路径超过 {DEEPEST} 步"));
        }
    }
}

/// Parses the next step and returns it with the remaining text; `Some(None)` at the end of the path, `None` on a syntax
/// error.
fn parse_step(text: &str) -> Option<Option<(PathStep, &str)>> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
        if let (0, Some(after)) = (end, rest.strip_prefix('*')) {
            return Some(Some((PathStep::Each, after)));
        }
        return (end > 0).then(|| Some((PathStep::Name(rest[..end].to_owned()), &rest[end..])));
    }
    let Some(rest) = text.strip_prefix('[') else { return Some(None) };
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (name, after) = rest[1..].split_once(quote)?;
        return Some(Some((PathStep::Name(name.to_owned()), after.strip_prefix(']')?)));
    }
    let (inside, after) = rest.split_once(']')?;
    let step = match inside.trim() {
        "*" => PathStep::Each,
        slice if slice.contains(':') => PathStep::Slice(ItemSlice::parse(slice)?),
        index => PathStep::Index(index.parse().ok()?),
    };
    Some(Some((step, after)))
}

/// Parses a JSON value, or a text in single quotes or without quotes. `None` if the value is nested too deeply.
fn parse_literal(text: &str) -> Option<ExpectedValue> {
    let single = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match single.map_or_else(|| raw_json::parse_whole(text.as_bytes()).ok_or(text), Err) {
        Ok(value) => expected_value(value, DEEPEST),
        Err(text) => Some(ExpectedValue::Text(text.into())),
    }
}

/// Converts an expected value; `None` if it is nested deeper than `deepest`.
fn expected_value(value: &RawValue, deepest: usize) -> Option<ExpectedValue> {
    let inner = deepest.checked_sub(1)?;
    match value.get().as_bytes()[0] {
        b'[' => {
            let mut list = Some(Vec::new());
            raw_json::for_each_item(value, |item| {
                list = list.take().and_then(|mut list| {
                    list.push(expected_value(item, inner)?);
                    Some(list)
                });
            });
            list.map(ExpectedValue::List)
        }
        b'{' => {
            let mut object = Some(BTreeMap::new());
            raw_json::for_each_member(value, |name, member| {
                object = object.take().and_then(|mut object| {
                    object.insert(name.to_vec(), expected_value(member, inner)?);
                    Some(object)
                });
            });
            object.map(ExpectedValue::Object)
        }
        _ => Some(match (raw_json::string_bytes(value), raw_json::number_text(value)) {
            (Some(text), _) => ExpectedValue::Text(text),
            (None, Some(digits)) => ExpectedValue::Number(digits.to_owned()),
            (None, None) => ExpectedValue::Keyword(value.get().to_owned()),
        }),
    }
}

/// Passes the values at the end of a path to `seen`; not all of them if the budget is spent.
pub(super) fn walk<'a>(value: &'a RawValue, path: &[PathStep], steps: &StepBudget, seen: &mut dyn FnMut(&'a RawValue)) {
    PathWalk { steps, seen }.walk(value, path);
}

/// A search for the values at the end of a path. Each value is read again on each level of the path, so that the search
/// takes no memory; what is read costs steps.
struct PathWalk<'s, 'a> {
    steps: &'s StepBudget,
    seen: &'s mut dyn FnMut(&'a RawValue),
}

impl<'a> PathWalk<'_, 'a> {
    fn walk(&mut self, value: &'a RawValue, path: &[PathStep]) {
        let Some((step, rest)) = path.split_first() else { return (self.seen)(value) };
        if !self.steps.spend(value.get().len() as u64) {
            return;
        }
        match step {
            PathStep::Name(name) => {
                let mut member = None;
                raw_json::for_each_member(value, |at, value| {
                    if at == name.as_bytes() {
                        member = Some(value);
                    }
                });
                member.into_iter().for_each(|value| self.walk(value, rest));
            }
            PathStep::Index(index) => self.item(value, *index, rest),
            PathStep::Slice(slice) => slice.visit(value, &mut |item| self.walk(item, rest)),
            PathStep::Each => visit_children(value, &mut |inner| self.walk(inner, rest)),
            PathStep::Filter(filter) => visit_children(value, &mut |inner| {
                if filter.holds(inner, self.steps) {
                    self.walk(inner, rest);
                }
            }),
            PathStep::Descendants => self.descendants(value, rest, DEEPEST_WITHIN),
        }
    }

    fn item(&mut self, value: &'a RawValue, index: i64, rest: &[PathStep]) {
        let mut count = 0;
        if index < 0 {
            self.steps.spend(value.get().len() as u64);
            raw_json::for_each_item(value, |_| count += 1);
        }
        let (wanted, mut at) = (count + index, 0);
        raw_json::for_each_item(value, |item| {
            if at == wanted {
                self.walk(item, rest);
            }
            at += 1;
        });
    }

    /// Continues with `rest` from a value and from its descendants down to the depth `deepest`.
    fn descendants(&mut self, value: &'a RawValue, rest: &[PathStep], deepest: usize) {
        self.walk(value, rest);
        if deepest > 0 && self.steps.spend(value.get().len() as u64) {
            visit_children(value, &mut |inner| self.descendants(inner, rest, deepest - 1));
        }
    }
}

/// Passes the items or members of a value to `seen`.
fn visit_children<'a>(value: &'a RawValue, seen: &mut dyn FnMut(&'a RawValue)) {
    raw_json::for_each_item(value, &mut *seen);
    raw_json::for_each_member(value, |_, member| seen(member));
}

/// Compares with an expected value. Numbers are compared by value: 1 equals 1.0.
fn equals(found: &RawValue, wanted: &ExpectedValue, steps: &StepBudget) -> bool {
    if !steps.spend(found.get().len() as u64) {
        return false;
    }
    match wanted {
        ExpectedValue::Keyword(word) => found.get() == word,
        ExpectedValue::Number(digits) => {
            raw_json::number_text(found).is_some_and(|found| decimal::compare(found, digits).is_eq())
        }
        ExpectedValue::Text(text) => raw_json::string_bytes(found).is_some_and(|found| found == *text),
        ExpectedValue::List(list) => {
            let (mut at, mut alike) = (0, found.get().starts_with('['));
            raw_json::for_each_item(found, |item| {
                alike = alike && list.get(at).is_some_and(|wanted| equals(item, wanted, steps));
                at += 1;
            });
            alike && at == list.len()
        }
        ExpectedValue::Object(object) => {
            let (mut alike, mut unknown) = (BTreeMap::new(), !found.get().starts_with('{'));
            raw_json::for_each_member(found, |name, value| match object.get_key_value(name) {
                // Of duplicate names, the last one counts.
                Some((name, wanted)) => _ = alike.insert(name, equals(value, wanted, steps)),
                None => unknown = true,
            });
            !unknown && alike.len() == object.len() && alike.into_values().all(|alike| alike)
        }
    }
}

pub(super) fn satisfies(found: &RawValue, compare: CompareOp, wanted: &ExpectedValue, steps: &StepBudget) -> bool {
    let ordered = |test: fn(Ordering) -> bool| match (raw_json::number_text(found), wanted) {
        (Some(found), ExpectedValue::Number(digits)) => test(decimal::compare(found, digits)),
        _ => false,
    };
    match compare {
        CompareOp::Equal => equals(found, wanted, steps),
        CompareOp::Unequal => !equals(found, wanted, steps),
        CompareOp::Less => ordered(Ordering::is_lt),
        CompareOp::AtMost => ordered(Ordering::is_le),
        CompareOp::Greater => ordered(Ordering::is_gt),
        CompareOp::AtLeast => ordered(Ordering::is_ge),
        CompareOp::Contains if !steps.spend(found.get().len() as u64) => false,
        CompareOp::Contains => match (raw_json::string_bytes(found), wanted) {
            (Some(text), ExpectedValue::Text(part)) => memchr::memmem::find(&text, part).is_some(),
            _ => {
                let mut there = false;
                raw_json::for_each_item(found, |item| there = there || equals(item, wanted, steps));
                there
            }
        },
    }
}

/// Returns the beginning of a value for messages, without white space between tokens.
fn excerpt(value: &RawValue) -> String {
    if let Some(text) = raw_json::string_bytes(value) {
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
