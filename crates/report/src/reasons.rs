//! Causes of failures in the reader's language.
//!
//! Records contain the cause of a failure next to its English text. Older records contain only the text, which is
//! matched against the sentences of earlier versions. Text without a match stays untranslated, because a partial
//! translation would be worse.

use std::borrow::Cow;

use brunt_cause::Cause;

use crate::Lang;

/// Returns the details of a failure in this language, from its cause if the record contains one, or else from its
/// English text.
pub fn reason<'a>(detail: &'a str, cause: Option<&Cause>, lang: Lang) -> Cow<'a, str> {
    if lang == Lang::En {
        return Cow::Borrowed(detail);
    }
    let told = match cause {
        Some(cause) => cause.zh(),
        None => Cause::from_legacy_text(detail).and_then(|cause| cause.zh()),
    };
    told.unwrap_or(Cow::Borrowed(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_with_and_without_causes_are_told_alike() {
        let cause = brunt_cause::connecting::no_connection("h:1", brunt_cause::connecting::refused("ECONNREFUSED"));
        let now = "no connection to h:1: Connection refused (ECONNREFUSED)";
        let before = "h:1 does not respond: Connection refused (ECONNREFUSED)";
        for (en, cause) in [(now, Some(&cause)), (now, None), (before, None)] {
            assert_eq!(reason(en, cause, Lang::En), en);
            assert_eq!(reason(en, cause, Lang::Zh), "无法连接 h:1：连接被拒绝（ECONNREFUSED）");
        }
    }

    #[test]
    fn the_words_of_a_peer_stay_as_they_are() {
        let words = "the response came after the timeout";
        assert_eq!(reason(words, Some(&brunt_cause::verbatim(words)), Lang::Zh), words);
        assert_eq!(reason("ERR unknown command 'X'", None, Lang::Zh), "ERR unknown command 'X'");
    }
}
