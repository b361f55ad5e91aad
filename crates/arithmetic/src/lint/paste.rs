//! Pasted text as lines: whatever bytes they are, and without what a terminal would have acted on.

use std::borrow::Cow;

/// A line of pasted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastedLine {
    /// Number of the line in the file, from 1.
    pub number: usize,
    /// Text without escape sequences, without what quotes it (leading blanks, `>`, `#`, `*` and backticks), and without
    /// what makes it bold or breaks it on a page (`**`, `<br>`).
    pub text: String,
}

/// Text pasted from somewhere, as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastedText {
    /// All lines that are not blank, in order.
    pub lines: Vec<PastedLine>,
}

impl PastedText {
    /// Reads bytes of any kind: UTF-8 with errors replaced, or UTF-16 with a byte order mark, as PowerShell writes it.
    pub fn read(bytes: &[u8]) -> PastedText {
        let text = decode(bytes);
        let plain = without_markup(&without_escapes(&text));
        // A tool that rewrites its progress line ends it with a carriage return.
        let lines =
            plain.split('\n').enumerate().flat_map(|(at, line)| line.split('\r').map(move |part| (at + 1, part)));
        let lines = lines.filter_map(|(number, text)| {
            let text =
                text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '#' | '*' | '`' | '\u{feff}'));
            let text = text.trim_end().to_owned();
            (!text.is_empty()).then_some(PastedLine { number, text })
        });
        PastedText { lines: lines.collect() }
    }
}

fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let units = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        Cow::Owned(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Removes what makes text bold in Markdown, and breaks lines where a page does.
fn without_markup(text: &str) -> String {
    ["<br>", "<br/>", "<br />"].iter().fold(text.replace("**", ""), |text, tag| text.replace(tag, "\r"))
}

/// Removes the escape sequences of terminals: `ESC [ … letter`, `ESC ] … BEL`, and an escape with one character.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.as_bytes().first() {
            Some(b'[') => part[1..].split_once(|c: char| ('@'..='~').contains(&c)).map_or("", |(_, rest)| rest),
            Some(b']') => part.split_once('\x07').map_or("", |(_, rest)| rest),
            _ => part.char_indices().nth(1).map_or("", |(at, _)| &part[at..]),
        };
        plain.push_str(rest);
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<(usize, String)> {
        PastedText::read(bytes).lines.into_iter().map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn lines_lose_what_quotes_them_and_what_acts() {
        let read = texts(b"a\n\n * # > `b`\r\nhalf\rwhole\n\x1b[1;32mgreen\x1b[0m \x1b]0;title\x07end\x1b");
        let wanted = [(1, "a"), (3, "b`"), (4, "half"), (4, "whole"), (5, "green end")];
        assert_eq!(read, wanted.map(|(number, text)| (number, text.to_owned())));
    }

    #[test]
    fn lines_lose_what_a_page_draws() {
        let read = texts(b"a: **5** of 6<br/>\n**b**: 7<br>c: 8<br />d\n");
        let wanted = [(1, "a: 5 of 6"), (2, "b: 7"), (2, "c: 8"), (2, "d")];
        assert_eq!(read, wanted.map(|(number, text)| (number, text.to_owned())));
    }

    #[test]
    fn other_encodings_are_read() {
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("qps 5".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(texts(&utf16), [(1, "qps 5".to_owned())]);
        assert_eq!(texts(b"a\xffb"), [(1, "a\u{fffd}b".to_owned())]);
    }
}
