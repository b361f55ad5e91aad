//! A condition over the values a user has taken out of responses: whether steps are done, and done again.
//!
//! ```text
//! state == 'open' and items > 0
//! not (next == '' or page >= pages)
//! message contains 'try again'
//! token
//! ```
//!
//! - Names are those of values; one that is not known yet is as an empty text, but orders, contains, begins and ends nothing.
//! - `'text'` or `"text"`, numbers as in JSON, and `true`, `false`, `null`, which stand for these words.
//! - `==` and `!=` compare with a text byte for byte (`code == '007'`), with a number as numbers (`code == 7`), and two values as
//!   numbers where both are, else as texts.
//! - `<`, `<=`, `>`, `>=` order numbers where both sides are, and texts by their bytes (dates as ISO 8601 writes them). A number without
//!   quotes orders numbers only.
//! - `contains`, `starts with` and `ends with` look for a text as it is.
//! - A name alone holds if its value is anything but empty, `false`, `null` or a number that is zero.
//! - `not`, then `and`, then `or`, and parentheses; `!`, `&&` and `||` mean the same.
//!
//! There is no arithmetic and there are no patterns: names may hold a `-`, and a capture by `regex` is the place for a pattern. Nothing is
//! allocated where a condition is asked, and the time is linear in its text and in the values. It is read by hand, as `evalexpr`, the crate
//! for this, is under the AGPL.

mod operand;
mod parse;
#[cfg(test)]
mod tests;

use operand::{Known, Operand};

/// A condition, its names resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Node);

impl Condition {
    /// Reads a condition; `names` are the values there are.
    ///
    /// # Errors
    /// In a sentence: what is wrong with it, and what would be right.
    pub fn parse(text: &str, names: &[impl AsRef<str>]) -> Result<Condition, String> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        parse::condition(text, &names).map(Condition)
    }

    /// Whether it holds; `look_up` has the value of a name by its index in the names it was read with. None: it is not known yet.
    pub fn holds<'v>(&self, look_up: impl Fn(u16) -> Option<&'v [u8]>) -> bool {
        self.0.holds(&look_up)
    }

    /// What it says wherever only some values may be known, whatever they are; None: it depends on them.
    pub fn always(&self, may_be_known: impl Fn(u16) -> bool) -> Option<bool> {
        self.0.always(&may_be_known)
    }

    /// The values it looks at, by the index of their names, in the order of its text; some more than once.
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
    /// A name alone.
    Is(u16),
    Compare(Operand, Comparison, Operand),
}

/// What stands between two operands.
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
    /// As deep as parentheses and `not` are nested, which the parser bounds.
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

/// What several say together, of which one that says `decides` is enough.
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
