//! Filters of a path: `[?@.price < 10 && (@.size == 'L' || !@.sold)]` (RFC 9535 2.3.5), with a literal on the right of
//! a comparison.

use serde_json::value::RawValue;

use super::json::{Compare, Step, Wanted, passes, path, test, walk};

/// A condition on an array item or object member.
#[derive(Debug, PartialEq)]
pub enum Filter {
    /// The path leads to a value, which satisfies the comparison if there is one.
    Test(Vec<Step>, Option<(Compare, Wanted)>),
    /// All conditions hold.
    All(Vec<Filter>),
    /// Any of the conditions holds.
    Any(Vec<Filter>),
    /// The condition does not hold.
    Not(Box<Filter>),
}

impl Filter {
    /// Parses a filter at the beginning of a text, from `[?` to the closing bracket, and returns it with the remaining
    /// text. Filters nest at most `deepest` levels.
    ///
    /// # Errors
    /// A description of what is wrong with the filter.
    pub fn parse(text: &str, deepest: usize) -> Result<(Filter, &str), String> {
        let reader = Reader { text };
        let deeper = deepest.checked_sub(1).ok_or_else(|| reader.wrong())?;
        let end = ends(text, &["]"]).first().copied().ok_or_else(|| reader.wrong())?;
        Ok((reader.any(&text[2..end], deeper)?, &text[end + 1..]))
    }

    /// Returns `true` if a value satisfies the filter.
    pub fn holds(&self, value: &RawValue) -> bool {
        match self {
            Filter::Test(path, test) => {
                let mut holds = false;
                walk(value, path, &mut |found| {
                    holds = holds || test.as_ref().is_none_or(|(compare, wanted)| passes(found, *compare, wanted));
                });
                holds
            }
            Filter::All(all) => all.iter().all(|filter| filter.holds(value)),
            Filter::Any(any) => any.iter().any(|filter| filter.holds(value)),
            Filter::Not(filter) => !filter.holds(value),
        }
    }
}

struct Reader<'a> {
    /// Text of the whole filter, for error messages.
    text: &'a str,
}

impl Reader<'_> {
    fn wrong(&self) -> String {
        let text = self.text;
        format!("has a filter that cannot be read ({text}); write for instance [?@.price < 10 && @.stock > 0]")
    }

    fn any(&self, text: &str, deepest: usize) -> Result<Filter, String> {
        self.several(text, "||", Filter::Any, &|part| {
            self.several(part, "&&", Filter::All, &|part| self.one(part, deepest))
        })
    }

    /// Parses parts separated by an operator.
    fn several(
        &self,
        text: &str,
        sign: &str,
        together: fn(Vec<Filter>) -> Filter,
        one: &dyn Fn(&str) -> Result<Filter, String>,
    ) -> Result<Filter, String> {
        let (mut parts, mut from) = (Vec::new(), 0);
        for at in ends(text, &[sign]) {
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

    fn one(&self, text: &str, deepest: usize) -> Result<Filter, String> {
        let text = text.trim();
        let deeper = || deepest.checked_sub(1).ok_or_else(|| self.wrong());
        if let Some(rest) = text.strip_prefix('!') {
            return Ok(Filter::Not(Box::new(self.one(rest, deeper()?)?)));
        }
        if let Some(inside) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            return self.any(inside, deeper()?);
        }
        let (path, rest) = path(text.strip_prefix('@').ok_or_else(|| self.wrong())?, deepest)?;
        let test = match rest.trim() {
            "" => None,
            rest => Some(test(rest)?),
        };
        Ok(Filter::Test(path, test))
    }
}

/// Returns the positions of a sign outside of quotes and brackets; a closing bracket is matched with its opening
/// bracket first.
fn ends(text: &str, signs: &[&str]) -> Vec<usize> {
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
