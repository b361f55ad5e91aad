//! A condition over the values that a user has captured from responses. Decides whether steps run, and whether they run
//! again.
//!
//! ```text
//! state == 'open' and items > 0
//! not (next == '' or page >= pages)
//! message contains 'try again'
//! token
//! ```
//!
//! - Names are names of values. A value that is not known yet compares as an empty text, but orders, contains, begins
//!   and ends nothing.
//! - `'text'` or `"text"`, numbers as in JSON, and `true`, `false`, `null`, which are read as these texts.
//! - `==` and `!=` compare with a text byte for byte (`code == '007'`), with a number as numbers (`code == 7`), and two
//!   values as numbers if both are numbers, otherwise as texts.
//! - `<`, `<=`, `>`, `>=` order numbers if both sides are numbers, and texts by their bytes (ISO 8601 dates, for
//!   example). A number without quotes is only ordered against numbers.
//! - `contains`, `starts with` and `ends with` search for a literal text.
//! - A name alone holds unless its value is empty, `false`, `null` or a number equal to zero.
//! - `not`, then `and`, then `or`, and parentheses; `!`, `&&` and `||` mean the same.
//!
//! There is no arithmetic and there are no patterns: names may contain a `-`, and a `regex` capture is the place for a
//! pattern. Evaluation does not allocate and is linear in the text of the condition and in the values. The parser is
//! hand-written because the crate for this, `evalexpr`, is under the AGPL.

mod operand;
mod parse;
#[cfg(test)]
mod tests;

use operand::{Known, Operand};

/// A condition whose names are resolved to value indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Node);

impl Condition {
    /// Parses a condition; `names` are the names of all values.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what would be right.
    pub fn parse(text: &str, names: &[impl AsRef<str>]) -> Result<Condition, String> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        parse::condition(text, &names).map(Condition)
    }

    /// Evaluates the condition. `look_up` returns the value for an index into the names given to [`Condition::parse`],
    /// or `None` if it is not known yet.
    pub fn holds<'v>(&self, look_up: impl Fn(u16) -> Option<&'v [u8]>) -> bool {
        self.0.holds(&look_up)
    }

    /// Returns the result if it is the same whatever the values are, given which of them may be known; `None` if it
    /// depends on the values.
    pub fn always(&self, may_be_known: impl Fn(u16) -> bool) -> Option<bool> {
        self.0.always(&may_be_known)
    }

    /// Returns the indices of the values that the condition reads, in the order of its text; an index may occur more
    /// than once.
    pub fn values(&self) -> Vec<u16> {
        let mut values = Vec::new();
        self.0.values(&mut values);
        values
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    /// A bare name.
    Is(u16),
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

impl Node {
    /// Evaluates the node. The recursion is as deep as parentheses and `not` are nested, which the parser bounds.
    fn holds<'v>(&self, look_up: &dyn Fn(u16) -> Option<&'v [u8]>) -> bool {
        match self {
            Node::All(nodes) => nodes.iter().all(|node| node.holds(look_up)),
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(look_up)),
            Node::Not(node) => !node.holds(look_up),
            Node::Is(value) => look_up(*value).is_some_and(operand::is_something),
            Node::Compare(left, comparison, right) => comparison.holds(left.known(look_up), right.known(look_up)),
        }
    }

    fn always(&self, known: &dyn Fn(u16) -> bool) -> Option<bool> {
        match self {
            Node::All(nodes) => always_of(nodes, known, false),
            Node::Any(nodes) => always_of(nodes, known, true),
            Node::Not(node) => node.always(known).map(|holds| !holds),
            Node::Is(_) | Node::Compare(..) => {
                let mut values = Vec::new();
                self.values(&mut values);
                values.iter().all(|value| !known(*value)).then(|| self.holds(&|_| None))
            }
        }
    }

    fn values(&self, into: &mut Vec<u16>) {
        match self {
            Node::All(nodes) | Node::Any(nodes) => nodes.iter().for_each(|node| node.values(into)),
            Node::Not(node) => node.values(into),
            Node::Is(value) => into.push(*value),
            Node::Compare(left, _, right) => {
                into.extend([left, right].into_iter().filter_map(Operand::value));
            }
        }
    }
}

/// Combines the constant results of several nodes; a single `decides` settles the result.
fn always_of(nodes: &[Node], known: &dyn Fn(u16) -> bool, decides: bool) -> Option<bool> {
    let all: Vec<Option<bool>> = nodes.iter().map(|node| node.always(known)).collect();
    if all.contains(&Some(decides)) {
        return Some(decides);
    }
    all.iter().all(Option::is_some).then_some(!decides)
}

impl Comparison {
    fn holds(self, left: Known<'_>, right: Known<'_>) -> bool {
        match self {
            Comparison::Equal => left.equals(right),
            Comparison::Unequal => !left.equals(right),
            Comparison::Less => left.order(right).is_some_and(|order| order.is_lt()),
            Comparison::AtMost => left.order(right).is_some_and(|order| order.is_le()),
            Comparison::More => left.order(right).is_some_and(|order| order.is_gt()),
            Comparison::AtLeast => left.order(right).is_some_and(|order| order.is_ge()),
            Comparison::Contains => {
                left.both(right).is_some_and(|(all, part)| memchr::memmem::find(all, part).is_some())
            }
            Comparison::StartsWith => left.both(right).is_some_and(|(all, part)| all.starts_with(part)),
            Comparison::EndsWith => left.both(right).is_some_and(|(all, part)| all.ends_with(part)),
        }
    }
}
