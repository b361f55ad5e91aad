//! Recognition of sentences in records from before causes were stored, by their English text.

use crate::{Cause, CauseArgument, Sentence, all};

impl Cause {
    /// Returns the cause for a text from such a record; `None` if the text matches no sentence of that time.
    pub fn from_legacy_text(text: &str) -> Option<Cause> {
        let bare = text.strip_suffix('.').unwrap_or(text);
        all().filter(|sentence| sentence.before).find_map(|sentence| {
            let reworded = REWORDED.iter().filter(|(key, _)| *key == sentence.key).map(|(_, en)| *en);
            let mut texts = std::iter::once(sentence.en).chain(reworded);
            texts.find_map(|en| Some(Cause::of(sentence, match_arguments(bare, sentence, en)?)))
        })
    }
}

/// English texts that such records have for sentences that have since been reworded, by key.
const REWORDED: [(&str, &str); 12] = [
    ("reaching.no_connection", "{who} does not respond: {why}"),
    (
        "reaching.no_thread",
        "cannot start a thread: {why}; this user may have {limit} processes and threads, and brunt needs more than its {own}: raise the limit by 10 or more (ulimit -u), or use fewer workers (-w)",
    ),
    (
        "response.closed_without_a_word",
        "the connection was closed without a response; if this port uses TLS, write the scheme with TLS",
    ),
    (
        "tls.plain_http",
        "{host} does not use TLS on this port: it responded in plain HTTP; write the scheme without TLS (http://, ws://)",
    ),
    ("tls.no_tls", "{host} does not use TLS on this port; write the scheme without TLS"),
    (
        "tls.closed",
        "the connection was closed during the TLS handshake; if this port does not use TLS, write the scheme without TLS",
    ),
    ("proxy.no_password", "the proxy {proxy} requires a name and a password; write {option}"),
    ("reaching.none_like_within", "no message like {awaited} came within {time}"),
    ("reaching.none_like", "no message like {awaited} came in time"),
    ("tls.other_names", "the certificate of {host} is for another name: {names}"),
    (
        "tls.no_name",
        "the certificate of {host} is for no name: it has no subjectAltName, and its CN is ignored; create it with -addext {extension}, or skip the check with --insecure",
    ),
    (
        "tls.version_1",
        "the certificate of {host} is X.509 version 1, which has no host names; create it with -addext {extension}, or skip the check with --insecure",
    ),
];

/// Matches a text against the English text `en` of a sentence and returns the arguments; `None` if it does not match.
fn match_arguments(text: &str, sentence: &Sentence, en: &'static str) -> Option<Vec<CauseArgument>> {
    let (parts, last) = sentence.parts(en);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reworded_sentences_are_still_recognized() {
        for (key, en) in REWORDED {
            let sentence = all().find(|sentence| sentence.key == key).expect("a sentence of today");
            assert!(sentence.before && sentence.en != en, "{key} needs no second text");
            let filled =
                sentence.places.iter().fold(en.to_owned(), |text, place| text.replace(&format!("{{{place}}}"), "x"));
            let cause = Cause::from_legacy_text(&filled).unwrap_or_else(|| panic!("{filled}"));
            assert_eq!(cause.key(), key, "{filled}");
        }
    }
}
