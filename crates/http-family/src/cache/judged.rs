//! What an answer that is being read is to the cache of its user.

use std::sync::Arc;

use super::{Answer, Need, Said};
use values::kept::{Budget, Kept};

/// The largest body that is kept.
const LARGEST: usize = 1 << 20;

/// What became of an answer.
#[derive(Debug)]
pub enum Heard {
    /// It may be kept.
    New(Box<New>),
    /// The one that is kept is still good (304), and this was said with it.
    Confirmed(Box<Said>, Arc<Answer>),
    /// What is kept under its URL is good no more.
    Superseded,
}

/// An answer that may be kept.
#[derive(Debug, Default)]
pub struct New {
    /// How long it is good.
    pub said: Said,
    /// Its status code.
    pub status: u16,
    /// Its head without cookies, where that is looked at.
    pub head: Box<[u8]>,
    /// Its body, likewise.
    pub body: Kept,
    /// How long that was.
    pub size: u64,
    /// What is looked at.
    pub need: Need,
    /// There was no room for all of the body.
    pub cut: bool,
}

/// One answer, in the eyes of a cache.
#[derive(Debug, Default)]
pub struct Judged {
    /// What its user has, and asked about.
    pub has: Option<Arc<Answer>>,
    heard: Option<Heard>,
}

impl Judged {
    /// The head is there, of an answer to this method. What comes back is the answer that is kept, where this one says that it is good.
    pub fn head(&mut self, method: &str, need: Need, status: u16, text: &[u8]) -> Option<Arc<Answer>> {
        let safe = matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
        match (status, self.has.take()) {
            (304, Some(has)) => {
                self.heard = Some(Heard::Confirmed(Box::new(Said::read(text)), Arc::clone(&has)));
                return Some(has);
            }
            (200, _) if method == "GET" => {
                let head = if need.head || need.body { without_cookies(text) } else { Box::default() };
                let need = Need { head: need.head || need.body, ..need };
                let new = New { said: Said::read(text), status, head, need, ..New::default() };
                self.heard = Some(Heard::New(Box::new(new)));
            }
            // 4.4: what changes something may have changed what is kept.
            (200..=399, _) if !safe => self.heard = Some(Heard::Superseded),
            _ => {}
        }
        None
    }

    /// A piece of the body.
    #[inline]
    pub fn feed(&mut self, piece: &[u8], budget: &Budget) {
        let Some(Heard::New(new)) = &mut self.heard else { return };
        new.size += piece.len() as u64;
        if new.need.body && !new.cut {
            new.cut = new.body.len() + piece.len() > LARGEST || !new.body.add(piece, budget);
        }
    }

    /// What it came to.
    pub fn take(&mut self) -> Option<Heard> {
        self.heard.take()
    }
}

/// A head without what it sets for its user: that was done when it came.
fn without_cookies(head: &[u8]) -> Box<[u8]> {
    let cookie = |line: &[u8]| line.get(..11).is_some_and(|start| start.eq_ignore_ascii_case(b"set-cookie:"));
    let mut plain = Vec::with_capacity(head.len());
    for line in head.split_inclusive(|b| *b == b'\n').filter(|line| !cookie(line)) {
        plain.extend_from_slice(line);
    }
    plain.into()
}
