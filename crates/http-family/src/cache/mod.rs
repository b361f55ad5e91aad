//! Per-user response cache, like the private cache of a browser (RFC 9111).
//!
//! Each user has its own cache. It stores one 200 response to a `GET` per URL, with the parts of it that are looked at:
//! a resource of a page that only has to be there costs a few hundred bytes. Each cache and all caches together are
//! bounded. Beyond the bound the least recently used responses are evicted first; what still does not fit is not
//! stored, and that is counted.

mod asking;
mod judged;
mod said;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use wire::{Asked, Complaint, OptionSpec, one};

pub use asking::Asking;
pub use judged::{Heard, Judged, New};
pub use said::Said;

use values::kept::{Budget, Taken};

/// Name of the option.
pub const CACHE: &str = "cache";
/// Bound of one user's cache, in bytes.
const OF_A_USER: usize = 16 << 20;
/// Bound of all users' caches of a run, in bytes.
const OF_ALL: usize = 256 << 20;
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

/// Cache settings of a run.
#[derive(Clone, Debug)]
pub struct Rule {
    for_iteration: bool,
    budget: Budget,
}

impl Rule {
    /// Reads the option. Returns `None` if nothing is to be cached.
    ///
    /// # Errors
    /// Returns an error for an unknown value.
    pub fn read(asked: &Asked) -> Result<Option<Rule>, Complaint> {
        let Some(word) = asked.value(CACHE) else { return Ok(None) };
        let rule = |for_iteration| Ok(Some(Rule { for_iteration, budget: Budget::of(OF_ALL) }));
        match word {
            "per-user" | "yes" | "true" | "" => rule(false),
            "per-iteration" => rule(true),
            "no" | "false" => Ok(None),
            _ => {
                let trouble = format!("\"{word}\" is not a kind of cache; write per-user, per-iteration or no");
                Err(Complaint::new(format!("--{CACHE}"), trouble))
            }
        }
    }
}

/// Parts of a response that are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Header fields.
    pub head: bool,
    /// Body.
    pub body: bool,
    /// Trailers. No cache stores them, so such a response is always requested again.
    pub trailers: bool,
}

/// A stored response.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Length of the body on the wire, in bytes.
    pub size: u64,
    /// Head without cookies, if it was needed.
    head: Option<Box<[u8]>>,
    /// Body, if it was needed.
    body: Option<Box<[u8]>>,
    taken: Taken,
}

impl Answer {
    fn has(&self, need: Need) -> bool {
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
struct Entry {
    answer: Arc<Answer>,
    said: Said,
    /// Values of the request fields named by `Vary`.
    selecting: Box<[u8]>,
    /// Time of the request, in nanoseconds since 1970.
    asked: u64,
    /// Value of `Cache::uses` at the last use.
    used: u64,
}

/// The responses stored for one user.
#[derive(Debug, Default)]
pub struct Cache {
    entries: HashMap<Box<[u8]>, Entry>,
    bytes: usize,
    uses: u64,
    /// Iteration in which the entries were stored.
    iteration: u32,
}

/// A request about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
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
type Line = (&'static str, Box<[u8]>);

/// A conditional request that validates a stored response.
#[derive(Debug)]
pub struct Condition {
    /// The stored response.
    pub answer: Arc<Answer>,
    /// `If-None-Match` and `If-Modified-Since`, as far as they apply.
    pub lines: [Option<Line>; 2],
}

impl Condition {
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
    fn is_of(&self, rule: &Rule, iteration: u32) -> bool {
        !rule.for_iteration || self.iteration == iteration
    }

    fn entry(&self, rule: &Rule, sent: Sent<'_>, need: Need) -> Option<(&Entry, bool)> {
        if self.entries.is_empty() || !self.is_of(rule, sent.iteration) {
            return None;
        }
        let asking = Asking::read(sent.head)?;
        let entry = KEY.with_borrow_mut(|key| {
            asking::key(sent.head, sent.secure, key)?;
            self.entries.get(&**key)
        })?;
        let same = entry.said.vary.is_empty() || *entry.selecting == *asking.selecting(&entry.said.vary);
        (same && entry.answer.has(need)).then_some((entry, asking.anew))
    }

    /// Returns the stored response if it is fresh and has the parts in `need`, so that the request need not be sent.
    pub fn fresh(&mut self, rule: &Rule, sent: Sent<'_>, need: Need) -> Option<Arc<Answer>> {
        let (entry, anew) = self.entry(rule, sent, need)?;
        let answer = (!anew && entry.said.is_fresh(entry.asked, sent.at)).then(|| Arc::clone(&entry.answer))?;
        self.use_of(sent);
        Some(answer)
    }

    fn use_of(&mut self, sent: Sent<'_>) {
        self.uses += 1;
        let uses = self.uses;
        KEY.with_borrow_mut(|key| {
            if asking::key(sent.head, sent.secure, key).is_some() {
                self.entries.get_mut(&**key).into_iter().for_each(|entry| entry.used = uses);
            }
        });
    }

    /// Returns the condition to send if there is a stored response that can be validated.
    pub fn condition(&self, rule: &Rule, sent: Sent<'_>, need: Need) -> Option<Condition> {
        let (entry, _) = self.entry(rule, sent, need)?;
        let line = |name, text: &Option<Box<[u8]>>| text.as_ref().map(|text| (name, text.clone()));
        let lines = [line("If-None-Match", &entry.said.etag), line("If-Modified-Since", &entry.said.modified)];
        lines.iter().any(Option::is_some).then(|| Condition { answer: Arc::clone(&entry.answer), lines })
    }

    /// Applies the effect of a response. Returns `false` if there was no room to store it.
    pub fn learn(&mut self, rule: &Rule, sent: Sent<'_>, heard: Heard) -> bool {
        if !self.is_of(rule, sent.iteration) {
            (self.entries, self.bytes) = (HashMap::new(), 0);
        }
        self.iteration = sent.iteration;
        let mut key = KEY.with_borrow_mut(std::mem::take);
        let kept = match asking::key(sent.head, sent.secure, &mut key) {
            Some(()) => self.learn_of(rule, sent, &key, heard),
            None => true,
        };
        KEY.set(key);
        kept
    }

    fn learn_of(&mut self, rule: &Rule, sent: Sent<'_>, key: &[u8], heard: Heard) -> bool {
        match heard {
            Heard::Superseded => {
                self.remove(key);
                true
            }
            Heard::Confirmed(said, answer) => {
                let Some(entry) = self.entries.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.answer, &answer)) else {
                    return true;
                };
                entry.said = std::mem::take(&mut entry.said).confirmed(*said);
                entry.asked = sent.at;
                self.use_of(sent);
                true
            }
            Heard::New(new) => {
                self.remove(key);
                match Asking::read(sent.head).filter(|_| new.said.is_worth_keeping(sent.at)) {
                    Some(asking) => self.keep(rule, (sent, &asking), key, *new),
                    None => true,
                }
            }
        }
    }

    fn keep(&mut self, rule: &Rule, (sent, asking): (Sent<'_>, &Asking<'_>), key: &[u8], new: New) -> bool {
        let New { said, status, head, body, size, need, cut } = new;
        if cut {
            return false;
        }
        let selecting = if said.vary.is_empty() { Box::default() } else { asking.selecting(&said.vary) };
        let head = need.head.then_some(head);
        let body: Option<Box<[u8]>> = need.body.then(|| Box::from(&*body));
        let looked_at = head.as_ref().map_or(0, |head| head.len()) + body.as_ref().map_or(0, |body| body.len());
        let bytes = OVERHEAD + key.len() + said.size() + selecting.len() + looked_at;
        while self.bytes + bytes > OF_A_USER && self.remove_oldest() {}
        let Some(taken) = rule.budget.take(bytes).filter(|_| bytes <= OF_A_USER) else { return false };
        self.uses += 1;
        self.bytes += bytes;
        let answer = Arc::new(Answer { status, size, head, body, taken });
        let entry = Entry { answer, said, selecting, asked: sent.at, used: self.uses };
        self.entries.insert(key.into(), entry);
        true
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.answer.taken.bytes();
        }
    }

    fn remove_oldest(&mut self) -> bool {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        oldest.iter().for_each(|key| self.remove(key));
        oldest.is_some()
    }
}
