//! A sentence in every language, with places to be filled.

/// A sentence in English and Chinese. `{name}` is a place, where it is one of `places`; other braces stand for themselves.
#[derive(Debug)]
pub struct Sentence {
    /// What it is called in records: its area and its name, `tls.expired`.
    pub key: &'static str,
    /// The names of its places, in the order in which they are given.
    pub places: &'static [&'static str],
    /// English.
    pub en: &'static str,
    /// Chinese (simplified).
    pub zh: &'static str,
    /// Records made before causes may hold it in English alone.
    pub before: bool,
}

/// The words of somebody else.
pub(crate) static SAID: Sentence =
    Sentence { key: "said", places: &["words"], en: "{words}", zh: "{words}", before: false };

/// A sentence of a later brunt, or of a protocol that is not among brunt's own.
pub(crate) static UNKNOWN: Sentence = Sentence { key: "", places: &[], en: "", zh: "", before: false };

impl Sentence {
    /// The sentence of a key.
    pub(crate) fn of(key: &str) -> &'static Sentence {
        super::all().chain([&SAID]).find(|sentence| sentence.key == key).unwrap_or(&UNKNOWN)
    }

    /// A text of it, cut at its places: what stands before each, and the number of that place; then what follows the last.
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
