//! Masking of secrets by value: a value from a secret position in a plan or a message is masked wherever else it
//! occurs, including in messages from a server.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::positions::{SecretSpans, is_slot};
use super::{MASK, json, option_spans};
use crate::Plan;

/// Length up to which a word or number is so common that it is masked only between quotes and in binary messages.
const BETWEEN_QUOTES: usize = 3;
/// Length up to which a value may occur within a longer word, so that it is masked only as a separate word.
const ALONE: usize = 7;

/// Maximum number of known values; the signatures in a list of a million signed URLs are masked by position.
const MOST: usize = 4096;
/// Maximum number of secrets learnt from one received text.
const LEARNT: usize = 32;

/// The set of values that must not be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Values ordered by length, longest first, so that masking a shorter value does not split a longer one.
    values: BTreeSet<(Reverse<usize>, String)>,
}

impl Secrets {
    /// Collects the secrets of a plan: those of its URLs and options.
    pub fn of_plan(plan: &Plan) -> Secrets {
        let mut secrets = Secrets::default();
        for target in &plan.urls {
            secrets.learn_url(&target.url);
            secrets.options(&target.options);
        }
        secrets.options(&plan.options);
        plan.proxies.all().into_iter().for_each(|proxy| secrets.learn_url(proxy));
        secrets
    }

    /// Collects the possible secrets of a command line that has not been parsed.
    pub fn of_words(words: &[String]) -> Secrets {
        let mut secrets = Secrets::default();
        for (at, word) in words.iter().enumerate() {
            secrets.learn(&SecretSpans::of_text(word));
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

    fn options(&mut self, options: &crate::PlanOptions) {
        for (name, values) in options {
            values.iter().for_each(|value| self.learn_option(name, value));
        }
    }

    /// Adds the secrets of a URL whose scheme may be missing.
    pub fn learn_url(&mut self, url: &str) {
        if let Some(url) = with_variables(url, |name| std::env::var(name).ok()) {
            self.learn_url(&url);
        }
        self.learn(&SecretSpans::of_url(url));
    }

    /// Adds the secrets of an option, by its long name.
    pub fn learn_option(&mut self, name: &str, value: &str) {
        if let Some(value) = with_variables(value, |name| std::env::var(name).ok()) {
            self.learn_option(name, &value);
        }
        match name {
            // These are file paths.
            "key" => {}
            "cookie" => self.learn(&option_spans("header", &format!("Cookie: {value}"))),
            "user" | "proxy-user" if value.starts_with('@') && !value.contains(':') => {}
            "user" | "proxy-user" if value.contains(':') => self.pair(value),
            _ => self.learn(&option_spans(name, value)),
        }
    }

    /// Adds the secrets of another set.
    pub fn join(&mut self, others: &Secrets) {
        others.values.iter().for_each(|(_, value)| self.add(value));
    }

    /// Adds the secrets found in a text.
    fn learn(&mut self, spans: &SecretSpans<'_>) {
        self.learn_values(spans.known());
    }

    /// Like [`Secrets::learn`], for a text from a peer: adds only the first ones, so that a peer cannot make every
    /// later search slow.
    fn learn_some(&mut self, spans: &SecretSpans<'_>) {
        self.learn_values(&spans.known()[..spans.known().len().min(LEARNT)]);
    }

    fn learn_values(&mut self, values: &[&str]) {
        for value in values {
            self.add(value);
            match value.split_once(' ') {
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
    }

    /// Adds the password and the whole pair of `name:password`, as written, percent-decoded and base64-encoded.
    fn pair(&mut self, pair: &str) {
        let decoded = percent_decoded(pair);
        for pair in [pair, &decoded] {
            let Some((_, password)) = pair.split_once(':') else { continue };
            self.add(password);
            self.add(pair);
            self.add(&STANDARD.encode(pair));
        }
    }

    fn add(&mut self, value: &str) {
        let slot = value.starts_with('{') && value.ends_with('}');
        // Punctuation alone is too common.
        let marks = !value.chars().any(char::is_alphanumeric);
        if marks || value == MASK || slot || is_slot(value) {
            return;
        }
        let in_json = value.replace('\\', "\\\\").replace('"', "\\\"");
        let shown = brunt_measure::sanitize::line(value).into_owned();
        for form in [value.to_owned(), percent_decoded(value), in_json, shown] {
            if !form.trim().is_empty() && self.values.len() < MOST {
                self.values.insert((Reverse(form.len()), form));
            }
        }
    }

    /// Returns the text with its secrets masked. JSON documents in the text stay valid.
    pub fn hide(&self, text: &str) -> String {
        if self.values.is_empty() {
            return text.to_owned();
        }
        let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
        for document in json::documents(text) {
            shown += &self.hide_in_text(&text[from..document.start]);
            shown += &self.hide_in_document(&text[document.clone()]);
            from = document.end;
        }
        shown + &self.hide_in_text(&text[from..])
    }

    fn hide_in_text(&self, text: &str) -> String {
        let all = self.values.iter().map(|(_, value)| value);
        all.fold(text.to_owned(), |shown, value| hidden_in(shown, value))
    }

    fn hide_in_document(&self, document: &str) -> String {
        let mut values: Vec<_> = self.values.iter().map(|(_, value)| value).collect();
        values.retain(|value| document.contains(value.as_str()));
        if values.is_empty() {
            return document.to_owned();
        }
        let text = |text: &str, is_key: bool| {
            // The value is matched with its quotes. Keys are left alone, because a short secret may also be the name of
            // a key.
            let quoted = format!("\"{text}\"");
            let meant = values.iter().filter(|value| !is_key || value.len() > ALONE);
            let shown = meant.fold(quoted, |shown, value| hidden_within(shown, value));
            shown[1..shown.len() - 1].to_owned()
        };
        let number = |number: &str| values.iter().any(|value| *value == number).then(|| MASK.to_owned());
        let shown = json::rewrite(document, text, number);
        // Secrets that span several strings of the document are masked, although this makes the document invalid.
        let pieces = values.iter().filter(|value| value.len() > ALONE && value.contains(['"', '{', '}', '[', ']']));
        pieces.fold(shown, |shown, value| hidden_in(shown, value))
    }

    /// Masks related texts: the known secrets, and those found by position in any of the texts.
    pub fn hide_all(&self, texts: &mut [&mut String]) {
        let mut known = self.clone();
        texts.iter().for_each(|text| known.learn_some(&SecretSpans::of_text(text)));
        for text in texts {
            **text = known.hide(&SecretSpans::of_text(text).masked());
        }
    }
}

fn hidden_in(text: String, value: &str) -> String {
    if text.contains(value) { hidden(&text, value) } else { text }
}

/// Like [`hidden_in`], for a JSON string with its quotes. If the result is not valid, the whole string is masked.
fn hidden_within(text: String, value: &str) -> String {
    let shown = hidden_in(text, value);
    if serde_json::from_str::<String>(&shown).is_ok() { shown } else { format!("\"{MASK}\"") }
}

fn hidden(text: &str, value: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(value) {
        let end = at + value.len();
        if at >= rest && is_separate_value(&text[..at], value, &text[end..]) {
            shown.push_str(&text[rest..at]);
            shown.push_str(MASK);
            rest = end;
        }
    }
    shown + &text[rest..]
}

/// Returns `true` if this occurrence of a secret is a separate value and not part of a word.
fn is_separate_value(before: &str, value: &str, behind: &str) -> bool {
    let (last, next) = (before.chars().next_back(), behind.chars().next());
    // `\x00` is an escaped byte in a binary message and not part of a word.
    let escaped = before.len() >= 4 && before.is_char_boundary(before.len() - 4) && {
        let mark = &before[before.len() - 4..];
        mark.starts_with("\\x") && mark[2..].bytes().all(|b| b.is_ascii_hexdigit())
    };
    let is_word = value.bytes().all(|b| b.is_ascii_alphabetic()) || value.bytes().all(|b| b.is_ascii_digit());
    match value.len() {
        0..=BETWEEN_QUOTES if is_word => {
            let quotes = |c: Option<char>| c.is_some_and(|c| "\"'`".contains(c));
            (escaped && behind.starts_with("\\x")) || (quotes(last) && quotes(next))
        }
        length if length <= ALONE => {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            escaped || (!is_part(last) && !is_part(next))
        }
        _ => true,
    }
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

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
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
        assert_eq!(of(&["--user", "a:p9"]).hide("p9 xp9 p9x"), "*** xp9 p9x");
    }

    #[test]
    fn what_was_sent_as_a_secret_is_hidden_in_the_answer() {
        let mut sent = "GET / HTTP/1.1\r\nX-Api-Key: k-918273\r\n\r\n".to_owned();
        let mut received = "HTTP/1.1 403 No\r\n\r\nno such thing as k-918273".to_owned();
        Secrets::default().hide_all(&mut [&mut sent, &mut received]);
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
}
