//! Placeholders for values in texts, and the values that a request uses.

use super::{CAPTURE, CHECK_NAMES};
use crate::WeightedUrl;

/// A piece of a text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPiece<'a> {
    /// Literal text.
    Text(&'a str),
    /// The value with this name, written `{name}`.
    Value(&'a str),
}

/// Splits a text into pieces: `{name}` is a value if it is one of `names`; everything else is literal.
pub fn pieces<'a>(text: &'a str, names: &[String]) -> Vec<TextPiece<'a>> {
    let (mut all, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(at) = rest[from..].find('{').map(|at| at + from) {
        let name = rest[at + 1..].split('}').next().unwrap_or_default();
        let closes = rest.len() > at + 1 + name.len();
        if !closes || !names.iter().any(|known| known == name) {
            from = at + 1;
            continue;
        }
        all.extend((at > 0).then(|| TextPiece::Text(&rest[..at])));
        all.push(TextPiece::Value(name));
        (rest, from) = (&rest[at + name.len() + 2..], 0);
    }
    all.extend((!rest.is_empty()).then_some(TextPiece::Text(rest)));
    all
}

/// Returns the indices of the values that a request to a URL uses: those that occur as `{name}` or `{name | url}` in
/// the URL, its options or the common options.
pub fn values_of(url: &WeightedUrl, of_all: &crate::PlanOptions, names: &[String]) -> Vec<u16> {
    let own = url.options.iter().filter(|(option, _)| ![CAPTURE, CHECK_NAMES].contains(&option.as_str()));
    let others = of_all.iter().filter(|(option, _)| !url.options.contains_key(*option));
    let texts: Vec<&str> =
        own.chain(others).flat_map(|(_, values)| values).chain([&url.url]).map(String::as_str).collect();
    let stands = |name: &String| {
        let begins = format!("{{{name}");
        texts.iter().any(|text| {
            let mut found = text.match_indices(&begins);
            found.any(|(at, _)| text[at + begins.len()..].trim_start_matches(' ').starts_with(['}', '|']))
        })
    };
    names.iter().enumerate().filter(|(_, name)| stands(name)).map(|(at, _)| at as u16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_made_of_the_values_that_stand_in_it() {
        let options = |pairs: &[(&str, &str)]| -> crate::PlanOptions {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect()
        };
        let names = ["a", "b", "c", "d", "ab"].map(str::to_owned);
        let url = WeightedUrl {
            options: options(&[("header", "X: {b | url}"), (CAPTURE, "d json $.{d}")]),
            ..WeightedUrl::plain("http://h/{ab}".to_owned())
        };
        let of_all = options(&[("header", "X: {a}"), ("data", "{base64 {c}:x}")]);
        assert_eq!(values_of(&url, &of_all, &names), [1, 2, 4]);
    }

    #[test]
    fn values_stand_in_texts_where_they_are_known() {
        let names = ["a".to_owned(), "b".to_owned()];
        let all = |text| pieces(text, &names);
        assert_eq!(
            all("x{a}{b}y"),
            [TextPiece::Text("x"), TextPiece::Value("a"), TextPiece::Value("b"), TextPiece::Text("y")]
        );
        assert_eq!(all("{c}{{a}}"), [TextPiece::Text("{c}{"), TextPiece::Value("a"), TextPiece::Text("}")]);
        for text in ["{", "{a", "a}", "{ a }", "{é}"] {
            assert_eq!(all(text), [TextPiece::Text(text)]);
        }
        assert_eq!(all(""), []);
    }
}
