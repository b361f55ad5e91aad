//! Sentences of records made before causes were stored: recognized by their English text.

use crate::{Cause, Place, Sentence, all};

impl Cause {
    /// Recognizes the cause in the text of such a record; `None` if it matches no sentence of that time.
    pub fn before(text: &str) -> Option<Cause> {
        let bare = text.strip_suffix('.').unwrap_or(text);
        all().filter(|sentence| sentence.before).find_map(|sentence| Some(Cause::of(sentence, places(bare, sentence)?)))
    }
}

/// Matches a text against a sentence and returns its arguments; `None` if it is another text.
fn places(text: &str, sentence: &Sentence) -> Option<Vec<Place>> {
    let (parts, last) = sentence.parts(sentence.en);
    let mut places = vec![Place::Words(String::new()); sentence.places.len()];
    let (mut rest, mut open) = (text, None);
    for (before, place) in parts.into_iter().chain([(last, usize::MAX)]) {
        let at = match open {
            None => rest.starts_with(before).then_some(0)?,
            Some(_) if place == usize::MAX => {
                rest.len().checked_sub(before.len()).filter(|_| rest.ends_with(before))?
            }
            Some(_) => rest.find(before)?,
        };
        if let Some(open) = open {
            let words = rest.get(..at).filter(|words| !words.is_empty())?;
            places[open] = Cause::before(words).map_or_else(|| Place::Words(words.to_owned()), Place::Cause);
        }
        (rest, open) = (&rest[at + before.len()..], Some(place));
    }
    rest.is_empty().then_some(places)
}
