//! Filters of a path: `[?@.price < 10 && (@.size == 'L' || !@.sold)]` (RFC 9535 2.3.5), with a value on the right of a comparison.

use serde_json::value::RawValue;

use super::json::{Compare, Step, Wanted, passes, path, test, walk};

/// What an item or member must pass.
#[derive(Debug, PartialEq)]
pub enum Filter {
    /// Something stands at the path, and passes a comparison where there is one.
    Test(Vec<Step>, Option<(Compare, Wanted)>),
    /// All of them.
    All(Vec<Filter>),
    /// One of them.
    Any(Vec<Filter>),
    /// It not.
    Not(Box<Filter>),
}

impl Filter {
    /// Reads what a text begins with, from `[?` to the bracket that closes it, and answers what follows; filters within filters are
    /// no deeper than `deepest`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, deepest: usize) -> Result<(Filter, &str), String> {
        let reader = Reader { text };
        let deeper = deepest.checked_sub(1).ok_or_else(|| reader.wrong())?;
        let end = ends(text, &["]"]).first().copied().ok_or_else(|| reader.wrong())?;
        Ok((reader.any(&text[2..end], deeper)?, &text[end + 1..]))
    }

    /// Whether a value passes.
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
    /// All of it, for complaints.
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

    /// Parts with a sign between them.
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

/// Where a sign stands outside of quotes and of brackets that are opened in the text; a bracket closes those in front of it first.
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
