//! Filters of a path: `[?@.price < 10 && (@.size == 'L' || !@.sold)]` (RFC 9535 2.3.5), with a literal on the right of
//! a comparison.

use brunt_cause::{Complaint, complaint};
use serde_json::value::RawValue;

use super::json::{CompareOp, ExpectedValue, PathStep, parse_comparison, path, satisfies, walk};
use crate::steps::StepBudget;

/// A condition on an array item or object member.
#[derive(Clone, Debug, PartialEq)]
pub enum PathFilter {
    /// The path leads to a value that satisfies the comparison, if there is one.
    Comparison(Vec<PathStep>, Option<(CompareOp, ExpectedValue)>),
    /// All conditions hold.
    All(Vec<PathFilter>),
    /// Any of the conditions holds.
    Any(Vec<PathFilter>),
    /// The condition does not hold.
    Not(Box<PathFilter>),
}

impl PathFilter {
    /// Parses a filter at the beginning of a text, from `[?` to the closing bracket, and returns it with the remaining
    /// text. Filters nest at most `deepest` levels.
    ///
    /// # Errors
    /// The filter is invalid; the error describes why.
    pub fn parse(text: &str, deepest: usize) -> Result<(PathFilter, &str), Complaint> {
        let reader = FilterReader { text };
        let deeper = deepest.checked_sub(1).ok_or_else(|| reader.error())?;
        let end = sign_positions(text, &["]"]).first().copied().ok_or_else(|| reader.error())?;
        Ok((reader.any(&text[2..end], deeper)?, &text[end + 1..]))
    }

    /// Returns `true` if a value satisfies the filter.
    pub fn holds(&self, value: &RawValue, steps: &StepBudget) -> bool {
        match self {
            PathFilter::Comparison(path, test) => {
                let mut holds = false;
                walk(value, path, steps, &mut |found| {
                    let satisfied =
                        |(compare, wanted): &(CompareOp, ExpectedValue)| satisfies(found, *compare, wanted, steps);
                    holds = holds || test.as_ref().is_none_or(satisfied);
                });
                holds
            }
            PathFilter::All(all) => all.iter().all(|filter| filter.holds(value, steps)),
            PathFilter::Any(any) => any.iter().any(|filter| filter.holds(value, steps)),
            PathFilter::Not(filter) => !filter.holds(value, steps),
        }
    }
}

struct FilterReader<'a> {
    /// Text of the whole filter, for error messages.
    text: &'a str,
}

impl FilterReader<'_> {
    fn error(&self) -> Complaint {
        let text = self.text;
        complaint!(
            "has a filter that cannot be read ({text}); use, for example, [?@.price < 10 && @.stock > 0]",
            "的过滤条件无法解析（{text}）；请写，例如 [?@.price < 10 && @.stock > 0]"
        )
    }

    fn any(&self, text: &str, deepest: usize) -> Result<PathFilter, Complaint> {
        self.several(text, "||", PathFilter::Any, &|part| {
            self.several(part, "&&", PathFilter::All, &|part| self.one(part, deepest))
        })
    }

    /// Parses parts separated by an operator.
    fn several(
        &self,
        text: &str,
        sign: &str,
        together: fn(Vec<PathFilter>) -> PathFilter,
        one: &dyn Fn(&str) -> Result<PathFilter, Complaint>,
    ) -> Result<PathFilter, Complaint> {
        let (mut parts, mut from) = (Vec::new(), 0);
        for at in sign_positions(text, &[sign]) {
            parts.push(one(&text[from..at])?);
            from = at + sign.len();
        }
        let last = one(&text[from..])?;
        if parts.is_empty() {
            return Ok(last);
        }
        parts.push(last);
        Ok(together(parts))
    }

    fn one(&self, text: &str, deepest: usize) -> Result<PathFilter, Complaint> {
        let text = text.trim();
        let deeper = || deepest.checked_sub(1).ok_or_else(|| self.error());
        if let Some(rest) = text.strip_prefix('!') {
            return Ok(PathFilter::Not(Box::new(self.one(rest, deeper()?)?)));
        }
        if let Some(inside) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            return self.any(inside, deeper()?);
        }
        let (path, rest) = path(text.strip_prefix('@').ok_or_else(|| self.error())?, deepest)?;
        let test = match rest.trim() {
            "" => None,
            rest => Some(parse_comparison(rest)?),
        };
        Ok(PathFilter::Comparison(path, test))
    }
}

/// Returns the positions of the signs outside of quotes and brackets; the closing bracket of a pair counts as outside.
fn sign_positions(text: &str, signs: &[&str]) -> Vec<usize> {
    let (mut quote, mut open, mut found) = (None, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) => quote = (c != q).then_some(q),
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '(' | '{') => open += 1,
            (None, ']' | ')' | '}') => open -= 1,
            _ => {}
        }
        if quote.is_none() && open == 0 && signs.iter().any(|sign| text[at..].starts_with(sign)) {
            found.push(at);
        }
    }
    found
}
