//! Sanitizing of untrusted text: invisible characters and those that would move the cursor, colour the screen or
//! reverse the writing direction are shown as escapes such as `\x1b` or `\u{202e}`; every visible character of every
//! script is kept.
//!
//! This is the only definition of these characters. It is used for everything shown: responses of servers, and the
//! content of records, plans and files.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Sanitizes bytes as text of several lines; invalid UTF-8 is written as `\xff`.
pub fn bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        append(&mut shown, chunk.valid(), true);
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Sanitizes text and keeps its line breaks.
pub fn text(text: &str) -> Cow<'_, str> {
    sanitize(text, true)
}

/// Sanitizes text as a single line: line breaks are shown as `\n`.
pub fn line(text: &str) -> Cow<'_, str> {
    sanitize(text, false)
}

/// Like [`text`], but keeps colour codes of the form `ESC [ digits m`.
pub fn text_with_colors(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return self::text(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split('\x1b');
    append(&mut shown, parts.next().unwrap_or_default(), true);
    for part in parts {
        let digits = part.strip_prefix('[').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        let (mark, rest) = match part.as_bytes().get(digits + 1) {
            Some(b'm') if digits > 0 => part.split_at(digits + 2),
            _ => ("", part),
        };
        shown.push_str(if mark.is_empty() { "\\x1b" } else { "\x1b" });
        shown.push_str(mark);
        append(&mut shown, rest, true);
    }
    Cow::Owned(shown)
}

/// Returns `true` for invisible characters: controls (C0, C1), direction marks and overrides, line and paragraph
/// separators, zero-width characters, tags.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}')
}

fn sanitize(text: &str, lines: bool) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    append(&mut shown, text, lines);
    Cow::Owned(shown)
}

fn append(shown: &mut String, text: &str, lines: bool) {
    let mut before = '\0';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = rest.clone().next();
        match c {
            '\n' | '\t' if lines => shown.push(c),
            // A lone carriage return would move the cursor to the beginning of the line and overwrite it.
            '\r' if lines && next == Some('\n') => shown.push(c),
            '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            // Indic and Persian scripts and joined emoji need them; next to ASCII they are merely invisible.
            '\u{200c}' | '\u{200d}' if joins(before) && next.is_some_and(joins) => shown.push(c),
            c if !is_invisible(c) => shown.push(c),
            c if c.is_ascii() => shown.push_str(&format!("\\x{:02x}", c as u32)),
            c => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
        before = c;
    }
}

fn joins(c: char) -> bool {
    !c.is_ascii() && !is_invisible(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_is_shown_and_what_is_seen_stays() {
        let table = [
            ("a\x1b[2J\x07\x7f", "a\\x1b[2J\\x07\\x7f"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("user\u{202e}gnp.exe\u{2066}", "user\\u{202e}gnp.exe\\u{2066}"),
            ("a\u{200b}b\u{feff}\u{2028}c\u{ad}", "a\\u{200b}b\\u{feff}\\u{2028}c\\u{ad}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("请求失败，再来 émoji 👍🏽 ✈\u{fe0f}", "请求失败，再来 émoji 👍🏽 ✈\u{fe0f}"),
            ("👩\u{200d}💻 می\u{200c}خواهم", "👩\u{200d}💻 می\u{200c}خواهم"),
            ("pass\u{200d}word", "pass\\u{200d}word"),
            ("one\r\ntwo\n\tthree", "one\r\ntwo\n\tthree"),
            ("real\rforged", "real\\rforged"),
        ];
        for (raw, shown) in table {
            assert_eq!(text(raw), shown, "{raw:?}");
            assert_eq!(bytes(raw.as_bytes()), shown, "{raw:?}");
        }
        assert_eq!(line("one\r\ntwo\tthree"), "one\\r\\ntwo\\tthree");
        assert_eq!(bytes(b"a\x00\xff\xc3\xa9\xc3"), "a\\x00\\xff\u{e9}\\xc3");
    }

    #[test]
    fn colours_stay_and_nothing_else_of_a_terminal_does() {
        assert_eq!(text_with_colors("\x1b[31mred\x1b[0m \x07"), "\x1b[31mred\x1b[0m \\x07");
        for sequence in ["\x1b[2J", "\x1b]0;title\x07", "\x1b[m", "\x1b", "\x1b[31;1m", "\x1b[", "\x1b[3"] {
            assert!(!text_with_colors(sequence).contains('\x1b'), "{sequence:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left_and_showing_twice_changes_nothing(raw in any::<String>()) {
            let once = line(&raw).into_owned();
            let acts = |c: char| is_invisible(c) && c != '\u{200c}' && c != '\u{200d}';
            prop_assert!(!once.contains(acts));
            prop_assert_eq!(&line(&once), &once);
            let kept = text(&raw).into_owned();
            prop_assert_eq!(&text(&kept), &kept);
            prop_assert!(!text_with_colors(&raw).contains(|c: char| c.is_control() && !"\x1b\n\r\t".contains(c)));
        }
    }
}
