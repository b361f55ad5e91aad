//! Encodings of text files as editors, spreadsheets and shells write them, converted to UTF-8 piece by piece.

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8, with or without a byte-order mark.
    Utf8,
    /// UTF-16; `big` if the high byte comes first.
    Utf16 {
        /// Byte order.
        big: bool,
    },
    /// Windows-1252, of which the printable characters of Latin-1 are a part.
    Windows1252,
}

impl TextEncoding {
    /// Returns the encoding stated by a byte-order mark at the beginning of a text, and the length of the mark.
    pub fn of_mark(text: &[u8]) -> (TextEncoding, usize) {
        match text {
            [0xef, 0xbb, 0xbf, ..] => (TextEncoding::Utf8, 3),
            [0xff, 0xfe, ..] => (TextEncoding::Utf16 { big: false }, 2),
            [0xfe, 0xff, ..] => (TextEncoding::Utf16 { big: true }, 2),
            _ => (TextEncoding::Utf8, 0),
        }
    }

    /// Returns the encoding of a text by its beginning, and the length of its mark. Without a mark it is UTF-16 if
    /// every second byte tends to be zero, as of the digits, delimiters and Latin letters of a table; the other bytes
    /// are then zero in few characters only. Text in UTF-8 has no zero bytes.
    pub fn of_start(text: &[u8]) -> (TextEncoding, usize) {
        let (pairs, _) = text[..text.len().min(ENCODING_SAMPLE)].as_chunks::<2>();
        let zeros = |at: usize| pairs.iter().filter(|pair| pair[at] == 0).count();
        let is_wide = |high: usize, low: usize| 4 * high >= pairs.len() && high > 8 * low;
        match (TextEncoding::of_mark(text), (zeros(0), zeros(1))) {
            (stated @ (_, 1..), _) => stated,
            (_, (first, second)) if is_wide(second, first) => (TextEncoding::Utf16 { big: false }, 0),
            (_, (first, second)) if is_wide(first, second) => (TextEncoding::Utf16 { big: true }, 0),
            (stated, _) => stated,
        }
    }
}

/// Number of bytes from which an encoding is found out.
pub const ENCODING_SAMPLE: usize = 4 << 10;

/// Converts a whole text in UTF-16 to UTF-8, and strips a byte-order mark. Any other text stays as it is.
pub fn by_start(text: Vec<u8>) -> Vec<u8> {
    match TextEncoding::of_start(&text) {
        (TextEncoding::Utf8, 0) => text,
        (encoding, mark) => decoded(encoding, &text[mark..]),
    }
}

/// Converts a whole text without its mark to UTF-8.
pub fn decoded(encoding: TextEncoding, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    TextDecoder::new(encoding).decode(text, true, &mut out);
    out
}

/// A converter to UTF-8 that takes a text in pieces.
pub struct TextDecoder {
    encoding: TextEncoding,
    /// Bytes of a character that is not complete yet.
    rest: Vec<u8>,
}

impl TextDecoder {
    /// Creates a converter at the beginning of a text, after its mark.
    pub fn new(encoding: TextEncoding) -> TextDecoder {
        TextDecoder { encoding, rest: Vec::new() }
    }

    /// Appends a piece in UTF-8; `last` at the end of the text.
    pub fn decode(&mut self, piece: &[u8], last: bool, out: &mut Vec<u8>) {
        match self.encoding {
            TextEncoding::Utf8 => out.extend_from_slice(piece),
            TextEncoding::Windows1252 => piece.iter().for_each(|byte| push(windows_1252(*byte), out)),
            TextEncoding::Utf16 { big } => {
                self.rest.extend_from_slice(piece);
                let unit = |pair: &[u8; 2]| if big { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) };
                let mut units: Vec<u16> = self.rest.as_chunks().0.iter().map(unit).collect();
                // The second half of a character may be in the next piece.
                units.pop_if(|unit| !last && (0xd800..0xdc00).contains(unit));
                self.rest.drain(..2 * units.len());
                decode_utf16(units).for_each(|c| push(c.unwrap_or(REPLACEMENT_CHARACTER), out));
            }
        }
    }
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Returns a character of Windows-1252 as browsers read it: the five unassigned bytes are control characters.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..0xa0 => HIGH[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

/// A check of a text in pieces for UTF-8.
#[derive(Default)]
pub struct Utf8Check {
    /// Bytes of a character that is not complete yet.
    rest: Vec<u8>,
}

impl Utf8Check {
    /// Takes the next piece; returns `false` if the text is not UTF-8.
    pub fn accepts(&mut self, piece: &[u8], last: bool) -> bool {
        let joined;
        let whole = if self.rest.is_empty() {
            piece
        } else {
            joined = [&self.rest[..], piece].concat();
            &joined[..]
        };
        match std::str::from_utf8(whole) {
            Ok(_) => self.rest = Vec::new(),
            Err(wrong) if wrong.error_len().is_none() && !last => self.rest = whole[wrong.valid_up_to()..].to_vec(),
            Err(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_leads_to_the_same_text_however_it_is_cut() {
        let text = "é;𝄞\r\nx";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let marked = [
            [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat(),
            [b"\xff\xfe".as_slice(), &little].concat(),
            [b"\xfe\xff".as_slice(), &big].concat(),
        ];
        for bytes in marked {
            assert_eq!(by_start(bytes.clone()), text.as_bytes(), "{bytes:x?}");
            let (encoding, mark) = TextEncoding::of_mark(&bytes);
            for cut in mark..bytes.len() {
                let (mut decoder, mut out) = (TextDecoder::new(encoding), Vec::new());
                decoder.decode(&bytes[mark..cut], false, &mut out);
                decoder.decode(&bytes[cut..], true, &mut out);
                assert_eq!(out, text.as_bytes(), "{encoding:?} cut at {cut}");
            }
        }
        for (bytes, big) in [(&little, false), (&big, true)] {
            assert_eq!(TextEncoding::of_start(bytes), (TextEncoding::Utf16 { big }, 0), "{bytes:x?}");
        }
        assert_eq!(decoded(TextEncoding::Windows1252, b"caf\xe9 \x80\x93"), "café €“".as_bytes());
        assert_eq!(decoded(TextEncoding::Utf16 { big: false }, b"a\0\x00\xd8b"), "a\u{fffd}".as_bytes(), "cut off");
    }

    #[test]
    fn utf_8_is_told_from_others_however_it_is_cut() {
        let text = "aé𝄞".as_bytes();
        for cut in 0..=text.len() {
            let mut check = Utf8Check::default();
            assert!(check.accepts(&text[..cut], false) && check.accepts(&text[cut..], true), "{cut}");
        }
        assert!(!Utf8Check::default().accepts(b"caf\xe9", true) && !Utf8Check::default().accepts(b"\xe9a", false));
    }

    #[test]
    fn wide_text_without_a_mark_is_told_from_bytes() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let little = (TextEncoding::Utf16 { big: false }, 0);
        for text in ["a", "id,name\r\n1,Zoë\r\n", "编号,姓名\r\n1001,一一\r\n1002,王小明\r\n"] {
            assert_eq!(TextEncoding::of_start(&wide(text)), little, "{text}");
        }
        let other: [&[u8]; 6] = [b"", b"a", b"a,b\n1,2\n", b"a\0\0\0b\0\0\0", b"\0\0\0\0", "姓名".as_bytes()];
        for bytes in other {
            assert_eq!(TextEncoding::of_start(bytes), (TextEncoding::Utf8, 0), "{bytes:x?}");
        }
    }
}
