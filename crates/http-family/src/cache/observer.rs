//! Evaluation of a response for its user's cache, as the response arrives.

use std::sync::Arc;

use super::{CachedResponse, Freshness, NeededParts};
use brunt_values::budget::{BudgetedBuffer, MemoryBudget};

/// Largest body that is stored, in bytes.
const LARGEST: usize = 1 << 20;

/// Effect of a response on the cache.
#[derive(Debug)]
pub enum CacheEffect {
    /// A response that may be stored.
    Store(Box<StorableResponse>),
    /// A 304 that confirms the stored response, with the metadata of the 304.
    Confirmed(Box<Freshness>, Arc<CachedResponse>),
    /// A response that invalidates the stored response for the same URL.
    Invalidate,
}

/// A response that may be stored.
#[derive(Debug, Default)]
pub struct StorableResponse {
    /// Freshness metadata.
    pub freshness: Freshness,
    /// Status code.
    pub status: u16,
    /// Head without cookies, if it is needed.
    pub head: Box<[u8]>,
    /// Body, if it is needed.
    pub body: BudgetedBuffer,
    /// Length of the body in bytes.
    pub size: u64,
    /// The parts that are needed.
    pub need: NeededParts,
    /// Set if the body did not fit.
    pub cut: bool,
}

/// Cache state of one response.
#[derive(Debug, Default)]
pub struct CacheObserver {
    /// The stored response that the request asked to validate.
    pub stored: Option<Arc<CachedResponse>>,
    effect: Option<CacheEffect>,
}

impl CacheObserver {
    /// Processes the head of a response to a request with this method. Returns the stored response if this one is a 304
    /// that confirms it.
    pub fn head(&mut self, method: &str, need: NeededParts, status: u16, text: &[u8]) -> Option<Arc<CachedResponse>> {
        let safe = matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
        match (status, self.stored.take()) {
            (304, Some(has)) => {
                self.effect = Some(CacheEffect::Confirmed(Box::new(Freshness::read(text)), Arc::clone(&has)));
                return Some(has);
            }
            (200, _) if method == "GET" => {
                let head = if need.head || need.body { without_cookies(text) } else { Box::default() };
                let need = NeededParts { head: need.head || need.body, ..need };
                let new = StorableResponse {
                    freshness: Freshness::read(text),
                    status,
                    head,
                    need,
                    ..StorableResponse::default()
                };
                self.effect = Some(CacheEffect::Store(Box::new(new)));
            }
            // RFC 9111 4.4: an unsafe method may have changed the stored resource.
            (200..=399, _) if !safe => self.effect = Some(CacheEffect::Invalidate),
            _ => {}
        }
        None
    }

    /// Processes a piece of the body.
    #[inline]
    pub fn feed(&mut self, piece: &[u8], budget: &MemoryBudget) {
        let Some(CacheEffect::Store(new)) = &mut self.effect else { return };
        new.size += piece.len() as u64;
        if new.need.body && !new.cut {
            new.cut = new.body.len() + piece.len() > LARGEST || !new.body.extend(piece, budget);
        }
    }

    /// Takes the effect on the cache, if any.
    pub fn take(&mut self) -> Option<CacheEffect> {
        self.effect.take()
    }
}

/// Returns a head without its `Set-Cookie` lines: cookies were stored when the response arrived.
fn without_cookies(head: &[u8]) -> Box<[u8]> {
    let cookie = |line: &[u8]| line.get(..11).is_some_and(|start| start.eq_ignore_ascii_case(b"set-cookie:"));
    let mut plain = Vec::with_capacity(head.len());
    for line in head.split_inclusive(|b| *b == b'\n').filter(|line| !cookie(line)) {
        plain.extend_from_slice(line);
    }
    plain.into()
}
