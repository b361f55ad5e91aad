//! Sentences of records made before causes were stored: recognized by their English text.

use crate::{Cause, CauseArgument, Sentence, all};

impl Cause {
    /// Recognizes the cause in the text of such a record; `None` if it matches no sentence of that time.
    pub fn from_legacy_text(text: &str) -> Option<Cause> {
        let bare = text.strip_suffix('.').unwrap_or(text);
        all()
            .filter(|sentence| sentence.before)
            .find_map(|sentence| Some(Cause::of(sentence, match_arguments(bare, sentence)?)))
    }
}

/// Matches a text against a sentence and returns its arguments; `None` if it does not match.
fn match_arguments(text: &str, sentence: &Sentence) -> Option<Vec<CauseArgument>> {
    let (parts, last) = sentence.parts(sentence.en);
    let mut places = vec![CauseArgument::Words(String::new()); sentence.places.len()];
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
            places[open] = Cause::from_legacy_text(words)
                .map_or_else(|| CauseArgument::Words(words.to_owned()), CauseArgument::Cause);
        }
        (rest, open) = (&rest[at + before.len()..], Some(place));
    }
    rest.is_empty().then_some(places)
}
