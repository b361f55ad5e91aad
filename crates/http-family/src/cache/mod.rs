//! Per-user response cache, like the private cache of a browser (RFC 9111).
//!
//! Each user has a separate cache. It stores one 200 response to a `GET` per URL, with only the parts of it that are
//! examined: a page resource that only has to exist costs a few hundred bytes. The size of each cache and the total
//! size of all caches are bounded. Beyond the bound, the least recently used responses are evicted first; a response
//! that still does not fit is not stored, which is counted.

mod freshness;
mod lookup;
mod observer;
#[cfg(test)]
mod tests;

use brunt_cause::complaint;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use brunt_contract::{OptionSpec, ProtocolConfig, UsageError, one};

pub use freshness::Freshness;
pub use lookup::CacheLookup;
pub use observer::{CacheEffect, CacheObserver, StorableResponse};

use brunt_values::budget::{MemoryBudget, Reservation};

/// Name of the `--cache` option.
pub const CACHE: &str = "cache";
/// Limit on the size of one user's cache, in bytes.
const USER_LIMIT: usize = 16 << 20;
/// Limit on the total size of all users' caches in a run, in bytes.
const TOTAL_LIMIT: usize = 256 << 20;
/// Estimated cost of an entry in addition to its texts, in bytes.
const OVERHEAD: usize = 320;

/// The `--cache` option.
pub const OPTION: OptionSpec = one(
    CACHE,
    "HOW",
    "In a flow: each user caches responses like a browser and does not request them again while fresh: \
            per-user, or per-iteration (starts empty each time)",
    "流程中：每个用户像浏览器一样缓存响应，未过期时不再请求：per-user，或 per-iteration（每次迭代开始时为空）",
);

thread_local! {
    /// Buffer for cache keys, so that a lookup does not allocate.
    static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lets all caches of a run share one budget; returns `true` if there are any.
pub fn share_budget<'a>(all: impl Iterator<Item = &'a mut CacheSettings>) -> bool {
    let mut shared = None;
    all.for_each(|settings| settings.budget = shared.get_or_insert(settings.budget.clone()).clone());
    shared.is_some()
}

/// Cache settings of a run, or of a request.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    per_iteration: bool,
    budget: MemoryBudget,
}

impl CacheSettings {
    /// Reads the option. Returns `None` if nothing is cached.
    ///
    /// # Errors
    /// Returns an error for an unknown value.
    pub fn read(config: &ProtocolConfig) -> Result<Option<CacheSettings>, UsageError> {
        let Some(word) = config.value(CACHE) else { return Ok(None) };
        let rule = |for_iteration| {
            Ok(Some(CacheSettings { per_iteration: for_iteration, budget: MemoryBudget::of(TOTAL_LIMIT) }))
        };
        match word {
            "per-user" | "yes" | "true" | "" => rule(false),
            "per-iteration" => rule(true),
            "no" | "false" => Ok(None),
            _ => {
                let trouble = complaint!(
                    "\"{word}\" is not a kind of cache; write per-user, per-iteration or no",
                    "“{word}”不是缓存方式；请写 per-user、per-iteration 或 no"
                );
                Err(UsageError::new(format!("--{CACHE}"), trouble))
            }
        }
    }
}

/// Parts of a response that are examined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeededParts {
    /// Header fields.
    pub head: bool,
    /// Body.
    pub body: bool,
    /// Trailers. No cache stores them, so such a response is always requested again.
    pub trailers: bool,
}

/// A stored response.
#[derive(Debug)]
pub struct CachedResponse {
    /// Status code.
    pub status: u16,
    /// Length of the body on the wire, in bytes.
    pub size: u64,
    /// Head without cookies, if it was needed.
    head: Option<Box<[u8]>>,
    /// Body, if it was needed.
    body: Option<Box<[u8]>>,
    taken: Reservation,
}

impl CachedResponse {
    fn has(&self, need: NeededParts) -> bool {
        !need.trailers && (self.head.is_some() || !need.head) && (self.body.is_some() || !need.body)
    }

    /// Returns the head; empty if it was not stored.
    pub fn head(&self) -> &[u8] {
        self.head.as_deref().unwrap_or_default()
    }

    /// Returns the body; empty if it was not stored.
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }
}

#[derive(Debug)]
struct CacheEntry {
    answer: Arc<CachedResponse>,
    freshness: Freshness,
    /// Values of the request fields named by `Vary`.
    vary_values: Box<[u8]>,
    /// Time of the request, in nanoseconds since 1970.
    requested_at: u64,
    /// Value of `Cache::uses` at the last use.
    last_used: u64,
}

/// The responses stored for one user.
#[derive(Debug, Default)]
pub struct Cache {
    entries: HashMap<Box<[u8]>, CacheEntry>,
    bytes: usize,
    uses: u64,
    /// Iteration of the user in which the entries were stored.
    iteration: u32,
}

/// A request about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRequest<'a> {
    /// Request head, including cookies.
    pub head: &'a [u8],
    /// Set if the request goes over TLS.
    pub secure: bool,
    /// Time of sending, in nanoseconds since 1970.
    pub at: u64,
    /// Current iteration of the user.
    pub iteration: u32,
}

/// A header line: name and value.
type ConditionLine = (&'static str, Box<[u8]>);

/// A conditional request that validates a stored response.
#[derive(Debug)]
pub struct Revalidation {
    /// The stored response.
    pub response: Arc<CachedResponse>,
    /// `If-None-Match` and `If-Modified-Since`, as far as they apply.
    pub lines: [Option<ConditionLine>; 2],
}

impl Revalidation {
    /// Inserts the lines into the HTTP/1 request that begins at `from`.
    pub fn put_into(&self, request: &mut Vec<u8>, from: usize) {
        let Some(end) = memchr::memmem::find(&request[from..], b"\r\n\r\n") else { return };
        let at = from + end + 2;
        let mut lines = Vec::new();
        for (name, value) in self.lines.iter().flatten() {
            lines.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        request.splice(at..at, lines);
    }
}

impl Cache {
    fn is_of(&self, rule: &CacheSettings, iteration: u32) -> bool {
        !rule.per_iteration || self.iteration == iteration
    }

    fn entry(&self, rule: &CacheSettings, sent: OutgoingRequest<'_>, need: NeededParts) -> Option<(&CacheEntry, bool)> {
        if self.entries.is_empty() || !self.is_of(rule, sent.iteration) {
            return None;
        }
        let asking = CacheLookup::read(sent.head)?;
        let entry = KEY.with_borrow_mut(|key| {
            lookup::key(sent.head, sent.secure, key)?;
            self.entries.get(&**key)
        })?;
        let same = entry.freshness.vary.is_empty() || *entry.vary_values == *asking.vary_values(&entry.freshness.vary);
        (same && entry.answer.has(need)).then_some((entry, asking.revalidates))
    }

    /// Returns the stored response if it is fresh and has the parts in `need`, so that the request need not be sent.
    pub fn fresh(
        &mut self,
        rule: &CacheSettings,
        sent: OutgoingRequest<'_>,
        need: NeededParts,
    ) -> Option<Arc<CachedResponse>> {
        let (entry, anew) = self.entry(rule, sent, need)?;
        let answer =
            (!anew && entry.freshness.is_fresh(entry.requested_at, sent.at)).then(|| Arc::clone(&entry.answer))?;
        self.touch(sent);
        Some(answer)
    }

    fn touch(&mut self, sent: OutgoingRequest<'_>) {
        self.uses += 1;
        let uses = self.uses;
        KEY.with_borrow_mut(|key| {
            if lookup::key(sent.head, sent.secure, key).is_some() {
                self.entries.get_mut(&**key).into_iter().for_each(|entry| entry.last_used = uses);
            }
        });
    }

    /// Returns the condition to send if there is a stored response that can be validated.
    pub fn revalidation(
        &self,
        rule: &CacheSettings,
        sent: OutgoingRequest<'_>,
        need: NeededParts,
    ) -> Option<Revalidation> {
        let (entry, _) = self.entry(rule, sent, need)?;
        let line = |name, text: &Option<Box<[u8]>>| text.as_ref().map(|text| (name, text.clone()));
        let lines =
            [line("If-None-Match", &entry.freshness.etag), line("If-Modified-Since", &entry.freshness.last_modified)];
        lines.iter().any(Option::is_some).then(|| Revalidation { response: Arc::clone(&entry.answer), lines })
    }

    /// Applies the effect of a response. Returns `false` if there was no room to store it.
    pub fn learn(&mut self, rule: &CacheSettings, sent: OutgoingRequest<'_>, heard: CacheEffect) -> bool {
        if !self.is_of(rule, sent.iteration) {
            (self.entries, self.bytes) = (HashMap::new(), 0);
        }
        self.iteration = sent.iteration;
        let mut key = KEY.with_borrow_mut(std::mem::take);
        let kept = match lookup::key(sent.head, sent.secure, &mut key) {
            Some(()) => self.apply(rule, sent, &key, heard),
            None => true,
        };
        KEY.set(key);
        kept
    }

    fn apply(&mut self, rule: &CacheSettings, sent: OutgoingRequest<'_>, key: &[u8], heard: CacheEffect) -> bool {
        match heard {
            CacheEffect::Invalidate => {
                self.remove(key);
                true
            }
            CacheEffect::Confirmed(said, answer) => {
                let Some(entry) = self.entries.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.answer, &answer)) else {
                    return true;
                };
                entry.freshness = std::mem::take(&mut entry.freshness).updated_by(*said);
                entry.requested_at = sent.at;
                self.touch(sent);
                true
            }
            CacheEffect::Store(new) => {
                self.remove(key);
                match CacheLookup::read(sent.head).filter(|_| new.freshness.is_worth_keeping(sent.at)) {
                    Some(asking) => self.store(rule, (sent, &asking), key, *new),
                    None => true,
                }
            }
        }
    }

    fn store(
        &mut self,
        rule: &CacheSettings,
        (sent, asking): (OutgoingRequest<'_>, &CacheLookup<'_>),
        key: &[u8],
        new: StorableResponse,
    ) -> bool {
        let StorableResponse { freshness: said, status, head, body, size, need, cut } = new;
        if cut {
            return false;
        }
        let selecting = if said.vary.is_empty() { Box::default() } else { asking.vary_values(&said.vary) };
        let head = need.head.then_some(head);
        let body: Option<Box<[u8]>> = need.body.then(|| Box::from(&*body));
        let looked_at = head.as_ref().map_or(0, |head| head.len()) + body.as_ref().map_or(0, |body| body.len());
        let bytes = OVERHEAD + key.len() + said.size() + selecting.len() + looked_at;
        while self.bytes + bytes > USER_LIMIT && self.remove_oldest() {}
        let Some(taken) = rule.budget.reserve(bytes).filter(|_| bytes <= USER_LIMIT) else { return false };
        self.uses += 1;
        self.bytes += bytes;
        let answer = Arc::new(CachedResponse { status, size, head, body, taken });
        let entry =
            CacheEntry { answer, freshness: said, vary_values: selecting, requested_at: sent.at, last_used: self.uses };
        self.entries.insert(key.into(), entry);
        true
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.answer.taken.bytes();
        }
    }

    fn remove_oldest(&mut self) -> bool {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used).map(|(key, _)| key.clone());
        oldest.iter().for_each(|key| self.remove(key));
        oldest.is_some()
    }
}
