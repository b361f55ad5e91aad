//! UTF-8 validation of text that arrives in pieces: as early as possible, keeping at most one incomplete character.

use std::str::from_utf8;

/// The beginning of an incomplete character.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8Validator {
    begun: [u8; 4],
    have: u8,
}

impl Utf8Validator {
    /// Validates the next piece; returns `false` if it is not UTF-8.
    pub fn feed(&mut self, mut piece: &[u8]) -> bool {
        while self.have > 0 {
            let Some((&byte, rest)) = piece.split_first() else { return true };
            piece = rest;
            self.begun[usize::from(self.have)] = byte;
            self.have += 1;
            match from_utf8(&self.begun[..usize::from(self.have)]) {
                Ok(_) => self.have = 0,
                Err(wrong) if wrong.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        let Err(wrong) = from_utf8(piece) else { return true };
        if wrong.error_len().is_some() {
            return false;
        }
        let tail = &piece[wrong.valid_up_to()..];
        self.begun[..tail.len()].copy_from_slice(tail);
        self.have = tail.len() as u8;
        true
    }

    /// Returns `true` if no character is incomplete.
    pub fn is_whole(&self) -> bool {
        self.have == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judged(pieces: &[&[u8]]) -> bool {
        let mut utf8 = Utf8Validator::default();
        pieces.iter().all(|piece| utf8.feed(piece)) && utf8.is_whole()
    }

    #[test]
    fn what_cannot_become_a_character_is_refused_before_it_ends() {
        for (text, good) in [
            (&b"\xf0\x9f\x98"[..], true),
            (b"\xf4\x8f\xbf", true),
            (b"\xf4\x90", false),
            (b"\xed\xa0", false),
            (b"\xc0", false),
            (b"\xe0\x80", false),
            (b"\xff", false),
            (b"a\x80", false),
        ] {
            for cut in 0..=text.len() {
                let mut utf8 = Utf8Validator::default();
                assert_eq!(utf8.feed(&text[..cut]) && utf8.feed(&text[cut..]), good, "{text:x?} cut at {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_same_in_pieces_as_in_one(
            text in prop_oneof![
                ".{0,12}".prop_map(String::into_bytes),
                prop::collection::vec(prop::sample::select(&b"a\x80\xbf\xc3\xe2\x82\xac\xf0\x9f\xed\xa0\xf4\x90\xff"[..]), 0..12),
            ],
            a in any::<prop::sample::Index>(),
            b in any::<prop::sample::Index>(),
        ) {
            let (a, b) = (a.index(text.len() + 1), b.index(text.len() + 1));
            let (a, b) = (a.min(b), a.max(b));
            prop_assert_eq!(judged(&[&text[..a], &text[a..b], &text[b..]]), from_utf8(&text).is_ok());
        }
    }
}
