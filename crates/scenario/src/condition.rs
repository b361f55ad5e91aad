//! Conditions over the values that a user has captured from responses. They decide whether steps run, and whether loops
//! continue.
//!
//! ```text
//! state == 'open' and items > 0
//! not (next == '' or page >= pages)
//! message contains 'try again'
//! token
//! ```
//!
//! - Names refer to values. A value that is not known yet equals the empty text; all comparisons with it other than
//!   `==` and `!=` are false.
//! - Literals are `'text'` or `"text"`, numbers as in JSON, and `true`, `false`, `null`, which stand for these texts.
//! - `==` and `!=` compare byte for byte with a text (`code == '007'`) and numerically with a number (`code == 7`). Two
//!   values are compared numerically if both are numbers, otherwise as texts.
//! - `<`, `<=`, `>`, `>=` order numbers if both sides are numbers, and texts by their bytes (ISO 8601 dates, for
//!   example). An unquoted number is ordered only against numbers.
//! - `contains`, `starts with` and `ends with` search for a literal text.
//! - A name alone is true unless its value is empty, `false`, `null` or a number equal to zero.
//! - `not` binds more tightly than `and`, and `and` more tightly than `or`; parentheses group. `!`, `&&` and `||` are
//!   synonyms.
//!
//! There is no arithmetic, because names may contain `-`, and there are no patterns, because `regex` captures serve
//! that purpose. Evaluation does not allocate, and takes time linear in the length of the condition and of the values.
//! The parser is hand-written because the obvious crate, `evalexpr`, is licensed under the AGPL.

mod operand;
mod parse;
#[cfg(test)]
mod tests;

use brunt_cause::Complaint;
use operand::{Operand, ResolvedOperand};

/// A condition whose names are resolved to value indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(ConditionNode);

impl Condition {
    /// Parses a condition. `names` lists the names of all values.
    ///
    /// # Errors
    /// A sentence that states the mistake and how to correct it.
    pub fn parse(text: &str, names: &[impl AsRef<str>]) -> Result<Condition, Complaint> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        parse::condition(text, &names).map(Condition)
    }

    /// Evaluates the condition. `look_up` returns the value for an index into the names given to [`Condition::parse`],
    /// or `None` if it is not known yet.
    pub fn holds<'v>(&self, look_up: impl Fn(u16) -> Option<&'v [u8]>) -> bool {
        self.0.holds(&look_up)
    }

    /// Returns the result if it does not depend on the values, given which of them may be known; `None` if it does.
    pub fn constant_result(&self, may_be_known: impl Fn(u16) -> bool) -> Option<bool> {
        self.0.constant_result(&may_be_known)
    }

    /// Returns the indices of the values that the condition reads, in the order in which they occur; an index may occur
    /// more than once.
    pub fn value_indices(&self) -> Vec<u16> {
        let mut values = Vec::new();
        self.0.collect_values(&mut values);
        values
    }
}

#[derive(Clone, Debug, PartialEq)]
enum ConditionNode {
    All(Vec<ConditionNode>),
    Any(Vec<ConditionNode>),
    Not(Box<ConditionNode>),
    /// A bare name.
    Value(u16),
    Compare(Operand, Comparison, Operand),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Contains,
    StartsWith,
    EndsWith,
}

impl ConditionNode {
    /// Evaluates the node. The parser bounds the nesting depth, and thus the recursion.
    fn holds<'v>(&self, look_up: &dyn Fn(u16) -> Option<&'v [u8]>) -> bool {
        match self {
            ConditionNode::All(nodes) => nodes.iter().all(|node| node.holds(look_up)),
            ConditionNode::Any(nodes) => nodes.iter().any(|node| node.holds(look_up)),
            ConditionNode::Not(node) => !node.holds(look_up),
            ConditionNode::Value(value) => look_up(*value).is_some_and(operand::is_truthy),
            ConditionNode::Compare(left, comparison, right) => {
                comparison.holds(left.resolve(look_up), right.resolve(look_up))
            }
        }
    }

    fn constant_result(&self, known: &dyn Fn(u16) -> bool) -> Option<bool> {
        match self {
            ConditionNode::All(nodes) => combine_constants(nodes, known, false),
            ConditionNode::Any(nodes) => combine_constants(nodes, known, true),
            ConditionNode::Not(node) => node.constant_result(known).map(|holds| !holds),
            ConditionNode::Value(_) | ConditionNode::Compare(..) => {
                let mut values = Vec::new();
                self.collect_values(&mut values);
                values.iter().all(|value| !known(*value)).then(|| self.holds(&|_| None))
            }
        }
    }

    fn collect_values(&self, into: &mut Vec<u16>) {
        match self {
            ConditionNode::All(nodes) | ConditionNode::Any(nodes) => {
                nodes.iter().for_each(|node| node.collect_values(into))
            }
            ConditionNode::Not(node) => node.collect_values(into),
            ConditionNode::Value(value) => into.push(*value),
            ConditionNode::Compare(left, _, right) => {
                into.extend([left, right].into_iter().filter_map(Operand::value_index));
            }
        }
    }
}

/// Combines the constant results of several nodes; a single result equal to `decides` is decisive.
fn combine_constants(nodes: &[ConditionNode], known: &dyn Fn(u16) -> bool, decides: bool) -> Option<bool> {
    let all: Vec<Option<bool>> = nodes.iter().map(|node| node.constant_result(known)).collect();
    if all.contains(&Some(decides)) {
        return Some(decides);
    }
    all.iter().all(Option::is_some).then_some(!decides)
}

impl Comparison {
    fn holds(self, left: ResolvedOperand<'_>, right: ResolvedOperand<'_>) -> bool {
        match self {
            Comparison::Equal => left.equals(right),
            Comparison::Unequal => !left.equals(right),
            Comparison::Less => left.order(right).is_some_and(|order| order.is_lt()),
            Comparison::AtMost => left.order(right).is_some_and(|order| order.is_le()),
            Comparison::More => left.order(right).is_some_and(|order| order.is_gt()),
            Comparison::AtLeast => left.order(right).is_some_and(|order| order.is_ge()),
            Comparison::Contains => {
                left.both_bytes(right).is_some_and(|(all, part)| memchr::memmem::find(all, part).is_some())
            }
            Comparison::StartsWith => left.both_bytes(right).is_some_and(|(all, part)| all.starts_with(part)),
            Comparison::EndsWith => left.both_bytes(right).is_some_and(|(all, part)| all.ends_with(part)),
        }
    }
}
