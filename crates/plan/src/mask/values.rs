//! Masking of secrets by value: a value from a secret position in a plan or a message is masked wherever else it
//! occurs, in every notation, including in messages from a server.

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::json::{self, ScalarKind};
use super::needles::{BETWEEN_QUOTES, Needle, NeedleForm, Needles, base64_forms, is_name};
use super::places::PlanPlace;
use super::positions::{SecretSpans, TextOrigin};
use super::readings::Readings;
use super::{MASK, names, slots};

/// Length from which the encoding of a value as base64 or hexadecimal is no ordinary word.
const ENCODED: usize = 5;

/// Maximum length of a value that is searched for; of longer ones, the beginning is.
const LONGEST: usize = 1024;
/// Maximum number of secrets learnt from one text of an exchange, so that a peer cannot make every later search slow.
const LEARNT: usize = 32;

/// The values that must not be shown. They travel with the plan to other machines, which mask what they record.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Secrets {
    needles: Needles,
    /// Names of the values of users that are secret.
    pub(super) variables: BTreeSet<String>,
}

impl Secrets {
    /// Collects the possible secrets of a command line that has not been parsed.
    pub fn of_words(words: &[String]) -> Secrets {
        let mut secrets = Secrets::default();
        for (at, word) in words.iter().enumerate() {
            secrets.learn(&SecretSpans::of_text(word, TextOrigin::Plan));
            secrets.learn_url(word);
            let (name, given) = match word.strip_prefix("--").and_then(|word| word.split_once('=')) {
                Some((name, value)) => (name, Some(value)),
                None => (word.trim_start_matches('-'), words.get(at + 1).map(String::as_str)),
            };
            if let Some(value) = given.filter(|_| word.starts_with('-')) {
                secrets.learn_option(name, value);
            }
        }
        secrets
    }

    /// Adds the secrets of a URL whose scheme may be missing.
    pub fn learn_url(&mut self, url: &str) {
        self.learn_place(PlanPlace::Url, url);
    }

    /// Adds the secrets of an option, by its long name.
    pub fn learn_option(&mut self, name: &str, value: &str) {
        match name {
            // These are file paths.
            "key" => {}
            "cookie" => self.learn_option("header", &format!("Cookie: {value}")),
            "user" | "proxy-user" if value.starts_with('@') && !value.contains(':') => {}
            "user" | "proxy-user" if value.contains(':') => self.pair(value),
            // `-u` is a URL here, and credentials in curl.
            "u" if is_pair(value) => self.pair(value),
            _ => self.learn_place(PlanPlace::Option(name), value),
        }
    }

    /// Adds the secrets of a text of a plan.
    pub(super) fn learn_place(&mut self, place: PlanPlace<'_>, text: &str) {
        if let Some(text) = with_variables(text, |name| std::env::var(name).ok()) {
            self.learn(&place.spans(&text));
        }
        self.learn(&place.spans(text));
        let variables = slots::slots(text).into_iter().filter_map(|slot| slot.strip_prefix("env "));
        for name in variables.map(slots::name_of).filter(|name| names::is_secret(name, "x1")) {
            std::env::var(name).into_iter().for_each(|value| self.learn_value(&value));
        }
    }

    /// Adds the secrets of another set.
    pub fn join(&mut self, others: &Secrets) {
        self.needles.join(&others.needles);
        self.variables.extend(others.variables.iter().cloned());
    }

    /// Returns `true` if the value of a user with this name is a secret.
    pub fn is_secret_variable(&self, name: &str) -> bool {
        names::is_secret(name, "x1") || self.variables.contains(name)
    }

    /// Adds the secrets found in a text.
    fn learn(&mut self, spans: &SecretSpans<'_>) {
        let most = if spans.origin() == TextOrigin::Plan { usize::MAX } else { LEARNT };
        spans.known().iter().take(most).for_each(|value| self.learn_value(value));
    }

    /// Adds a secret: the whole value, and a password in it that is sent alone.
    pub fn learn_value(&mut self, value: &str) {
        self.add(value);
        match value.split_once(' ') {
            // The credentials behind their scheme.
            Some((_, rest)) if super::positions::has_scheme(value) => self.add(rest.trim()),
            Some(_) => {}
            None if value.contains(':') => self.pair(value),
            // Basic authentication sends name and password in base64.
            None => {
                let plain = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                if let Some(pair) = plain.filter(|text| text.contains(':')) {
                    self.pair(&pair);
                }
            }
        }
    }

    /// Adds the password and the whole pair of `name:password`.
    fn pair(&mut self, pair: &str) {
        for pair in [pair, &decoded(pair)] {
            let Some((_, password)) = pair.split_once(':').filter(|_| slots::slots(pair).is_empty()) else { continue };
            self.add(password);
            self.add(pair);
            self.needles.insert(Needle { text: STANDARD.encode(pair), form: NeedleForm::Base64 });
        }
    }

    /// Adds many values as they are, because of all their forms there would be too many.
    pub fn learn_plainly(&mut self, value: &str) {
        self.needles.insert(Needle { text: value.to_owned(), form: NeedleForm::Plain });
    }

    /// Adds a value in all its forms.
    fn add(&mut self, value: &str) {
        let cut = value.strip_suffix('…').or((value.len() > LONGEST).then_some(value));
        if let Some(beginning) = cut {
            let beginning = &beginning[..beginning.floor_char_boundary(LONGEST)];
            self.needles.insert(Needle { text: beginning.to_owned(), form: NeedleForm::Beginning });
            return;
        }
        for value in [value, &decoded(value), &value.replace('+', " ")] {
            let value = value.trim();
            // Punctuation alone is too common.
            if value == MASK || !value.chars().any(char::is_alphanumeric) {
                continue;
            }
            self.needles.insert(Needle { text: value.to_owned(), form: NeedleForm::Plain });
            if value.len() >= ENCODED {
                base64_forms(value).for_each(|text| self.needles.insert(Needle { text, form: NeedleForm::Base64 }));
                let text = value.bytes().map(|byte| format!("{byte:02x}")).collect();
                self.needles.insert(Needle { text, form: NeedleForm::Hex });
            }
        }
    }

    /// Returns the text with its secrets masked. JSON documents in the text stay valid.
    pub fn hide(&self, text: &str) -> String {
        let mut spans = SecretSpans::none(text, TextOrigin::Plan);
        self.mark(&mut spans);
        spans.masked()
    }

    /// Masks related texts: the known secrets, and those found by position in any of the texts.
    pub fn hide_all(&self, texts: &mut [(&mut String, TextOrigin)]) {
        let mut learnt = Secrets::default();
        texts.iter().for_each(|(text, origin)| learnt.learn(&SecretSpans::of_text(text, *origin)));
        for (text, origin) in texts {
            let mut spans = SecretSpans::of_text(text, *origin);
            self.mark(&mut spans);
            learnt.mark(&mut spans);
            let shown = spans.masked();
            **text = shown;
        }
    }

    /// Marks the secrets in a text.
    pub(super) fn mark(&self, spans: &mut SecretSpans<'_>) {
        if self.needles.is_empty() {
            return;
        }
        let text = spans.text();
        for part in spans.between_documents() {
            self.needles.find(text, part, false, |needle, range| {
                if !(needle.is_word() && is_name(&text[..range.start], &text[range.end..])) {
                    spans.cover_range(range);
                }
            });
        }
        for document in spans.documents().to_vec() {
            self.mark_document(spans, document);
        }
    }

    fn mark_document(&self, spans: &mut SecretSpans<'_>, document: Range<usize>) {
        let text = spans.text();
        let mut scalars = Vec::new();
        for scalar in json::scalars(&text[document.clone()]) {
            let from = scalar.text.as_ptr() as usize - text.as_ptr() as usize;
            let (range, first) = (from..from + scalar.text.len(), spans.count());
            self.needles.find(text, range.clone(), true, |needle, found| match scalar.kind {
                // A secret may also be the name of a key.
                ScalarKind::Key if needle.is_word() => {}
                ScalarKind::Number if found == range && found.len() > BETWEEN_QUOTES => {
                    spans.cover_number(scalar.text, "\"");
                }
                ScalarKind::Number => {}
                ScalarKind::Key | ScalarKind::Text => spans.cover_range(found),
            });
            spans.end_before_escapes(first);
            scalars.push((scalar, range));
        }
        // A secret that is a part of a document itself.
        self.needles.find(text, document, false, |needle, found| {
            let is_part = needle.is_part_of_json();
            let in_scalar = || scalars.iter().any(|(_, range)| range.start <= found.start && found.end <= range.end);
            if is_part && !in_scalar() {
                let inside = scalars.iter().filter(|(_, range)| range.start < found.end && found.start < range.end);
                for (scalar, range) in inside.filter(|(scalar, _)| scalar.kind != ScalarKind::Key) {
                    match scalar.kind {
                        ScalarKind::Number => spans.cover_number(scalar.text, "\""),
                        _ => spans.cover_range(range.clone()),
                    }
                }
            }
        });
    }
}

/// Returns `true` for `name:password`, which is no URL and no host with a port.
fn is_pair(text: &str) -> bool {
    let port = |rest: &str| rest.split('/').next().is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    text.split_once(':').is_some_and(|(name, rest)| !name.contains('[') && !rest.starts_with("//") && !port(rest))
}

/// Replaces the placeholders of environment variables (`{env TOKEN}`); `None` if there are none.
fn with_variables(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut filled, mut rest, mut any) = (String::new(), text, false);
    while let Some((before, behind)) = rest.split_once("{env ") {
        let (words, after) = behind.split_once('}')?;
        let name = words.split('|').next().unwrap_or_default().trim();
        let value = value(name).filter(|value| !value.contains("{env "));
        any |= value.is_some();
        filled = filled + before + &value.unwrap_or_default();
        rest = after;
    }
    any.then(|| filled + rest)
}

/// Returns a value without the notation of the place it was found in: percent-encoding, escapes, entities.
fn decoded(text: &str) -> String {
    let (mut plain, mut at) = (String::with_capacity(text.len()), 0);
    while at < text.len() {
        let readings = Readings::at(text, at);
        let escaped = text[at..].starts_with(['%', '\\', '&']);
        let reading = if escaped { readings.iter().last() } else { readings.iter().next() };
        let Some((c, end)) = reading else { break };
        plain.push(*c);
        at = *end;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Secrets {
        Secrets::of_words(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn a_value_is_hidden_wherever_it_turns_up() {
        let secrets =
            of(&["-H", "Authorization: Bearer eyJhbGciOi", "--user", "ann:p%40ss wor", "redis://u:R3d%40s!@h/"]);
        for (said, shown) in [
            ("no such token: eyJhbGciOi", "no such token: ***"),
            ("got xxeyJhbGciOixx", "got xx***xx"),
            ("args: 'u' 'R3d@s!'", "args: 'u' '***'"),
            ("R3d%40s! was refused", "*** was refused"),
            ("basic YW5uOnAlNDBzcyB3b3I= and p@ss wor", "basic *** and ***"),
        ] {
            assert_eq!(secrets.hide(said), shown);
        }
    }

    #[test]
    fn short_values_are_hidden_where_they_stand_alone() {
        let secrets = of(&["--user", "a:root", "--user", "a:pw"]);
        assert_eq!(secrets.hide("uprooted root: 'root' \\x0broot\\x00"), "uprooted ***: '***' \\x0b***\\x00");
        assert_eq!(secrets.hide("pw, 'pw', \\x08pw\\x00"), "pw, '***', \\x08***\\x00");
        assert_eq!(secrets.hide("%22root%22 \\u0022root \\nroot"), "%22***%22 \\u0022*** \\n***");
        assert_eq!(of(&["--user", "a:p9"]).hide("p9 xp9 p9x"), "*** xp9 p9x");
    }

    #[test]
    fn what_was_sent_as_a_secret_is_hidden_in_the_answer() {
        let mut sent = "GET / HTTP/1.1\r\nX-Api-Key: k-918273\r\n\r\n".to_owned();
        let mut received = "HTTP/1.1 403 No\r\n\r\nno such thing as k-918273".to_owned();
        Secrets::default().hide_all(&mut [(&mut sent, TextOrigin::Sent), (&mut received, TextOrigin::Received)]);
        assert!(!sent.contains("918273") && received.ends_with("no such thing as ***"), "{sent} {received}");
    }

    #[test]
    fn what_a_variable_holds_is_a_secret_where_its_slot_stands_in_a_secret_place() {
        let known = |name: &str| (name == "TOKEN").then(|| "sesame-4711".to_owned());
        let filled = |text: &str| with_variables(text, known);
        assert_eq!(filled("X-Api-Key: {env TOKEN | url}!").as_deref(), Some("X-Api-Key: sesame-4711!"));
        assert_eq!((filled("{env NONE}"), filled("{uuid}"), filled("{env TOKEN")), (None, None, None));
        let path = std::env::var("PATH").expect("every process has one");
        let secrets = of(&["-H", "Authorization: Bearer {env PATH}", "-H", "X-Note: {env HOME}"]);
        assert_eq!(secrets.hide(&format!("said {path} to it")), "said *** to it");
        assert_eq!(secrets.hide("said {env PATH} to it"), "said {env PATH} to it");
    }

    #[test]
    fn masks_and_slots_are_no_secrets() {
        assert!(of(&["-H", "X-Token: ***", "--user", "{name}:{word}"]).hide("*** {word}") == "*** {word}");
    }

    #[test]
    fn a_value_is_hidden_in_every_form_it_is_sent_in() {
        let secrets = of(&["-H", "X-Api-Key: s3cr3t/9+Zq \"x\""]);
        for (said, shown) in [
            ("q=s3cr3t%2F9%2BZq%20%22x%22&n=1", "q=***&n=1"),
            ("q=s3cr3t%2f9%2bZq+%22x%22&n=1", "q=***&n=1"),
            (r#"{"a":"s3cr3t\/9+Zq \"x\"","n":1}"#, r#"{"a":"***","n":1}"#),
            (r#"{"a":"{\"b\":\"s3cr3t/9+Zq \\\"x\\\"\"}"}"#, r#"{"a":"{\"b\":\"***\"}"}"#),
            (r#"{"s3cr3t/9+Zq \"x\"":1}"#, r#"{"***":1}"#),
            ("<a title='s3cr3t/9+Zq &quot;x&quot;'>", "<a title='***'>"),
            ("S3CR3T/9+ZQ \"X\"", "***"),
            ("Basic YW5uOnMzY3IzdC85K1pxICJ4Ig==, or", "Basic ***, or"),
            ("x=czNjcjN0LzkrWnEgIngi.y", "x=***.y"),
            ("7333637233742f392b5a7120227822", "***"),
        ] {
            assert_eq!(secrets.hide(said), shown);
        }
        for before in ["", "a", "ab", "abc"] {
            for alphabet in [&STANDARD, &base64::engine::general_purpose::URL_SAFE_NO_PAD] {
                let coded = alphabet.encode(format!("{before}s3cr3t/9+Zq \"x\"!!!"));
                let shown = secrets.hide(&format!("got {coded} here"));
                assert!(shown.starts_with("got ***") && shown.ends_with("*** here"), "{coded}: {shown}");
            }
        }
    }

    #[test]
    fn words_stay_where_they_are_names() {
        let secrets = of(&["--user", "ann:password", "-H", "X-Token: identity"]);
        for text in [
            "user=ann&password={pw}&identity=3",
            r#"{"password":[],"identity":{"password":1}}"#,
            r#"<input type="password" name="identity" id='x'>"#,
            "Content-Disposition: form-data; name=\"password\"",
        ] {
            assert_eq!(secrets.hide(text), text);
        }
        assert_eq!(secrets.hide(r#"{"a":"password"} q=identity"#), r#"{"a":"***"} q=***"#);
    }

    #[test]
    fn words_of_a_peer_are_masked_in_their_place_alone() {
        let mut received = r#"{"token":"string","type":"string","key":"a1b2c3","is":"a1b2c3"}"#.to_owned();
        Secrets::default().hide_all(&mut [(&mut received, TextOrigin::Received)]);
        assert_eq!(received, r#"{"token":"***","type":"string","key":"***","is":"***"}"#);
    }
}
