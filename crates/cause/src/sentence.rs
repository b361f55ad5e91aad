//! A sentence in all languages, with placeholders for arguments.

/// A sentence in English and Chinese. `{name}` is a placeholder if `places` contains the name; other braces are
/// literal.
#[derive(Debug)]
pub struct Sentence {
    /// Key of the sentence in records: its area and its name, `tls.expired`.
    pub key: &'static str,
    /// Names of the placeholders, in the order of the arguments.
    pub places: &'static [&'static str],
    /// English text.
    pub en: &'static str,
    /// Simplified Chinese text.
    pub zh: &'static str,
    /// Set if records from before causes were stored may contain the English text.
    pub before: bool,
    /// Set if brunt itself is the reason: a limit of its own was reached.
    pub own: bool,
}

/// The sentence that consists only of third-party text.
pub(crate) static SAID: Sentence =
    Sentence { key: "said", places: &["words"], en: "{words}", zh: "{words}", before: false, own: false };

/// The placeholder for a sentence from a later version or a third-party protocol.
pub(crate) static UNKNOWN: Sentence = Sentence { key: "", places: &[], en: "", zh: "", before: false, own: false };

impl Sentence {
    /// Returns the sentence with this key.
    pub(crate) fn of(key: &str) -> &'static Sentence {
        super::all().chain([&SAID]).find(|sentence| sentence.key == key).unwrap_or(&UNKNOWN)
    }

    /// Splits a text of the sentence at its placeholders. Returns the text before each placeholder with the index of
    /// its argument, and the text after the last one.
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
