//! A search for a text in a body that arrives in pieces.
//!
//! Only the last bytes are kept between pieces, one fewer than the length of the text, so that a body of any size can
//! be searched without storing it.

use memchr::memmem::Finder;

/// Maximum number of body bytes shown if the expected text is missing.
pub const SHOWN: usize = 40;

/// A search in progress.
#[derive(Debug)]
pub struct TextSearch {
    tail: Vec<u8>,
    found: bool,
    /// First bytes of the body, for error messages.
    beginning: [u8; SHOWN],
    begun: u8,
}

impl Default for TextSearch {
    fn default() -> TextSearch {
        TextSearch { tail: Vec::new(), found: false, beginning: [0; SHOWN], begun: 0 }
    }
}

impl TextSearch {
    /// Searches the next piece of the body.
    pub fn feed(&mut self, piece: &[u8], text: &Finder<'static>) {
        if self.found {
            return;
        }
        self.keep_beginning(piece);
        let overlap = text.needle().len().saturating_sub(1);
        if text.find(piece).is_some() {
            self.found = true;
            return;
        }
        if piece.len() < overlap || !self.tail.is_empty() {
            let before = self.tail.len();
            self.tail.extend_from_slice(&piece[..piece.len().min(overlap)]);
            self.found = before > 0 && text.find(&self.tail).is_some();
        }
        if piece.len() >= overlap {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - overlap..]);
        } else {
            self.tail.drain(..self.tail.len().saturating_sub(overlap));
        }
    }

    fn keep_beginning(&mut self, piece: &[u8]) {
        let at = usize::from(self.begun);
        let n = piece.len().min(SHOWN - at);
        self.beginning[at..at + n].copy_from_slice(&piece[..n]);
        self.begun += n as u8;
    }

    /// Returns the first bytes of a body in which the text was not found.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning[..usize::from(self.begun)]
    }

    /// Marks a gap: the next piece does not continue the previous one, so the text cannot span both.
    pub fn mark_gap(&mut self) {
        self.tail.clear();
    }

    /// Returns `true` once the text has been found.
    pub fn found(&self) -> bool {
        self.found
    }
}
