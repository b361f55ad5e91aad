//! Secrets in the words of Redis commands.

use super::positions::SecretSpans;

/// Names in `CONFIG SET` (and `SENTINEL SET`) whose value is a secret.
const SETTINGS: [&str; 8] = [
    "requirepass",
    "masterauth",
    "auth-pass",
    "sentinel-pass",
    "tls-key-file-pass",
    "tls-client-key-file-pass",
    "sentinel-password",
    "replica-auth",
];

/// Marks the secrets of the command with these words, and the words to mask only here.
fn secrets<'a>(words: &[&'a str], spans: &mut SecretSpans<'a>) {
    let is = |at: usize, word: &str| words.get(at).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let find = |word: &str| (0..words.len()).find(|&at| is(at, word));
    // A name and a password, or only a password.
    let proof = |from: usize, to: usize, spans: &mut SecretSpans<'a>| {
        let given = words.get(from..to.min(words.len())).unwrap_or_default();
        given.iter().rev().skip(1).for_each(|name| spans.cover(name));
        given.last().into_iter().for_each(|password| spans.hide(password));
    };
    if is(0, "auth") {
        proof(1, words.len(), spans);
    } else if is(0, "hello") || is(0, "migrate") {
        if let Some(at) = find("auth") {
            proof(at + 1, at + if is(0, "hello") { 3 } else { 2 }, spans);
        }
        if let Some(at) = find("auth2") {
            proof(at + 1, at + 3, spans);
        }
    } else if (is(0, "config") || is(0, "sentinel")) && is(1, "set") {
        for at in 2..words.len().saturating_sub(1) {
            if SETTINGS.iter().any(|name| is(at, name)) {
                spans.hide(words[at + 1]);
            }
        }
    } else if is(0, "acl") && is(1, "setuser") {
        for rule in words.iter().skip(3).filter(|rule| rule.starts_with(['>', '<', '#', '!'])) {
            spans.hide(&rule[1..]);
        }
    }
}

/// Finds the secrets of commands as users write them: separated by `;`, each with an optional weight (`3x`) in front.
pub fn commands<'a>(spans: &mut SecretSpans<'a>, text: &'a str) {
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == ';' {
            secrets(&words, spans);
            words.clear();
            rest = rest[1..].trim_start();
            continue;
        }
        let (word, behind) = word(rest);
        let weight =
            words.is_empty() && word.len() < 8 && word.ends_with('x') && word.starts_with(|c: char| c.is_ascii_digit());
        if !weight {
            words.push(word);
        }
        rest = behind.trim_start();
    }
    secrets(&words, spans);
}

/// Splits off the first word, without its quotes.
fn word(text: &str) -> (&str, &str) {
    if let Some(quote) = text.chars().next().filter(|c| "\"'".contains(*c)) {
        let escaped = |at: &usize| text[1..*at + 1].bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1;
        let end = text[1..].match_indices(quote).map(|(at, _)| at).find(|at| !escaped(at));
        return end.map_or((&text[1..], ""), |end| (&text[1..=end], &text[end + 2..]));
    }
    let end = text.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(text.len());
    text.split_at(end)
}

/// Finds the secrets of commands in wire format: `*2`, then each word after its length.
pub fn replies<'a>(spans: &mut SecretSpans<'a>, text: &'a str) {
    let mut words: Vec<&str> = Vec::new();
    let mut is_word = false;
    for line in text.lines() {
        // This may be a command on a separate line, as typed in a terminal, or one quoted in a sentence.
        let number = |mark: char| {
            line.strip_prefix(mark).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        match () {
            () if number('*') => {
                secrets(&words, spans);
                words.clear();
                is_word = false;
            }
            () if number('$') => is_word = true,
            () if is_word => {
                words.push(line);
                is_word = false;
            }
            () => {
                secrets(&words, spans);
                words.clear();
                bare(spans, line);
            }
        }
    }
    secrets(&words, spans);
}

/// Finds the secrets of a command that is a whole line, or the text between backticks.
fn bare<'a>(spans: &mut SecretSpans<'a>, line: &'a str) {
    let quoted = line.split('`').skip(1).step_by(2);
    for text in std::iter::once(line).chain(quoted) {
        let first = text.split_whitespace().next().unwrap_or_default();
        if first.len() < text.trim().len() && ["AUTH", "HELLO", "CONFIG", "ACL", "MIGRATE", "SENTINEL"].contains(&first)
        {
            commands(spans, text);
        }
    }
}
