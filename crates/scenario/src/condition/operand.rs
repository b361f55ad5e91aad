//! Operands of comparisons: values, texts and numbers.

use std::cmp::Ordering;

/// Maximum length of a text that is parsed as a number, in bytes.
const LONGEST_NUMBER: usize = 64;

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// The value with this index.
    Value(u16),
    /// A quoted text, or a keyword that is read as a text.
    Text(Box<str>),
    /// A number and its original spelling.
    Number(ConditionNumber, Box<str>),
}

/// A number. Integers are exact, so that identifiers with many digits stay distinct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ConditionNumber {
    Whole(i128),
    Other(f64),
}

/// One side of a comparison, resolved for one user.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResolvedOperand<'a> {
    /// `None` if the value is not known yet.
    Value(Option<&'a [u8]>),
    Text(&'a [u8]),
    Number(ConditionNumber, &'a [u8]),
}

impl Operand {
    /// Returns the index of the value, if the operand is one.
    pub(super) fn value_index(&self) -> Option<u16> {
        match self {
            Operand::Value(value) => Some(*value),
            Operand::Text(_) | Operand::Number(..) => None,
        }
    }

    pub(super) fn resolve<'a, 'v: 'a>(&'a self, look_up: &dyn Fn(u16) -> Option<&'v [u8]>) -> ResolvedOperand<'a> {
        match self {
            Operand::Value(value) => ResolvedOperand::Value(look_up(*value)),
            Operand::Text(text) => ResolvedOperand::Text(text.as_bytes()),
            Operand::Number(number, text) => ResolvedOperand::Number(*number, text.as_bytes()),
        }
    }
}

impl<'a> ResolvedOperand<'a> {
    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            ResolvedOperand::Value(value) => value,
            ResolvedOperand::Text(text) | ResolvedOperand::Number(_, text) => Some(text),
        }
    }

    fn number(self) -> Option<ConditionNumber> {
        match self {
            ResolvedOperand::Number(number, _) => Some(number),
            ResolvedOperand::Value(_) | ResolvedOperand::Text(_) => self.bytes().and_then(ConditionNumber::of),
        }
    }

    /// Returns the bytes of both sides, if both are known.
    pub(super) fn both_bytes(self, other: ResolvedOperand<'a>) -> Option<(&'a [u8], &'a [u8])> {
        Some((self.bytes()?, other.bytes()?))
    }

    pub(super) fn equals(self, other: ResolvedOperand<'a>) -> bool {
        let texts = || self.bytes().unwrap_or_default() == other.bytes().unwrap_or_default();
        let numbers = || matches!((self.number(), other.number()), (Some(a), Some(b)) if a.order(b).is_eq());
        match (self, other) {
            (ResolvedOperand::Text(_), _) | (_, ResolvedOperand::Text(_)) => texts(),
            (ResolvedOperand::Number(..), _) | (_, ResolvedOperand::Number(..)) => numbers(),
            (ResolvedOperand::Value(_), ResolvedOperand::Value(_)) => texts() || numbers(),
        }
    }

    /// Compares both sides; `None` if either is not known, or if the two cannot be ordered.
    pub(super) fn order(self, other: ResolvedOperand<'a>) -> Option<Ordering> {
        let (left, right) = self.both_bytes(other)?;
        match (self, other, self.number(), other.number()) {
            (.., Some(left), Some(right)) => Some(left.order(right)),
            (ResolvedOperand::Number(..), ..) | (_, ResolvedOperand::Number(..), ..) => None,
            _ => Some(left.cmp(right)),
        }
    }
}

impl ConditionNumber {
    /// Parses a JSON number; leading zeros and surrounding whitespace are accepted.
    pub(super) fn of(bytes: &[u8]) -> Option<ConditionNumber> {
        let text = bytes.trim_ascii();
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let plain = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
        if text.len() > LONGEST_NUMBER || !digits.first()?.is_ascii_digit() || !digits.iter().all(plain) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let whole = text.parse().ok().map(ConditionNumber::Whole);
        whole.or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(ConditionNumber::Other))
    }

    fn order(self, other: ConditionNumber) -> Ordering {
        match (self, other) {
            (ConditionNumber::Whole(left), ConditionNumber::Whole(right)) => left.cmp(&right),
            // Neither is ever NaN.
            _ => self.approximate().partial_cmp(&other.approximate()).unwrap_or(Ordering::Equal),
        }
    }

    fn approximate(self) -> f64 {
        match self {
            ConditionNumber::Whole(number) => number as f64,
            ConditionNumber::Other(number) => number,
        }
    }
}

/// Returns `false` for an empty value, `false`, `null` and zero.
pub(super) fn is_truthy(value: &[u8]) -> bool {
    let zero = || ConditionNumber::of(value).is_some_and(|number| number.order(ConditionNumber::Whole(0)).is_eq());
    !matches!(value, b"" | b"false" | b"null") && !zero()
}
