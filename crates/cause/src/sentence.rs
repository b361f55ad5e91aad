//! A sentence in all languages, with placeholders for arguments.

/// A sentence in English and Chinese. `{name}` is a placeholder if it is one of `places`; other braces are literal.
#[derive(Debug)]
pub struct Sentence {
    /// Key of the sentence in records: its area and its name, `tls.expired`.
    pub key: &'static str,
    /// Names of its placeholders, in the order of the arguments.
    pub places: &'static [&'static str],
    /// English.
    pub en: &'static str,
    /// Chinese (simplified).
    pub zh: &'static str,
    /// Set if records made before causes were stored may contain its English text.
    pub before: bool,
}

/// The sentence that consists of a third party's words.
pub(crate) static SAID: Sentence =
    Sentence { key: "said", places: &["words"], en: "{words}", zh: "{words}", before: false };

/// The sentence of a later version, or of a third-party protocol.
pub(crate) static UNKNOWN: Sentence = Sentence { key: "", places: &[], en: "", zh: "", before: false };

impl Sentence {
    /// Returns the sentence with this key.
    pub(crate) fn of(key: &str) -> &'static Sentence {
        super::all().chain([&SAID]).find(|sentence| sentence.key == key).unwrap_or(&UNKNOWN)
    }

    /// Splits a text of the sentence at its placeholders: the text before each with its index, and the text after the
    /// last.
    pub(crate) fn parts(&self, text: &'static str) -> (Vec<(&'static str, usize)>, &'static str) {
        let (mut parts, mut rest, mut from) = (Vec::new(), text, 0);
        while let Some(at) = rest[from..].find('{').map(|at| from + at) {
            let end = rest[at..].find('}').map(|end| at + end);
            let place = end.and_then(|end| self.places.iter().position(|place| *place == &rest[at + 1..end]));
            match (place, end) {
                (Some(place), Some(end)) => {
                    parts.push((&rest[..at], place));
                    (rest, from) = (&rest[end + 1..], 0);
                }
                _ => from = at + 1,
            }
        }
        (parts, rest)
    }
}
