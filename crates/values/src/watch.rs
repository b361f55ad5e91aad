//! Looks for a text in a body that arrives in pieces.
//!
//! Only the last few bytes are remembered between pieces, one fewer than the text has: a body of any size can be
//! searched, and none is kept.

use memchr::memmem::Finder;

/// So many bytes of a body are shown where it lacks what was expected.
pub const SHOWN: usize = 40;

/// A search under way.
#[derive(Debug)]
pub struct Watch {
    tail: Vec<u8>,
    found: bool,
    /// The first bytes, to say what was there instead.
    beginning: [u8; SHOWN],
    begun: u8,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { tail: Vec::new(), found: false, beginning: [0; SHOWN], begun: 0 }
    }
}

impl Watch {
    /// Takes the next piece of the body.
    pub fn feed(&mut self, piece: &[u8], text: &Finder<'static>) {
        if self.found {
            return;
        }
        self.begin(piece);
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

    fn begin(&mut self, piece: &[u8]) {
        let at = usize::from(self.begun);
        let n = piece.len().min(SHOWN - at);
        self.beginning[at..at + n].copy_from_slice(&piece[..n]);
        self.begun += n as u8;
    }

    /// The first bytes of a body in which the text was not found.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning[..usize::from(self.begun)]
    }

    /// What comes next does not follow what came: the text does not lie across.
    pub fn pause(&mut self) {
        self.tail.clear();
    }

    /// True once the text was seen.
    pub fn found(&self) -> bool {
        self.found
    }
}
