//! What a user keeps of responses and does not ask for again, as the private cache of a browser does (RFC 9111).
//!
//! A cache is one user's. Under each URL one answer of 200 to a `GET` is kept, and of its body only what somebody looks into: of what only has
//! to be there (the resources of a page) a few hundred bytes. It is bounded, and so are those of all users together; beyond that the answers
//! used longest ago go first, and then nothing more is kept, which is counted.

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

/// The option.
pub const CACHE: &str = "cache";
/// Bytes of one user's answers.
const OF_A_USER: usize = 16 << 20;
/// Bytes of the answers of all users of a run.
const OF_ALL: usize = 256 << 20;
/// What an answer costs beside its texts.
const OVERHEAD: usize = 320;

/// The option.
pub const OPTION: OptionSpec = one(
    CACHE,
    "HOW",
    "In a flow: each user caches responses like a browser and does not request them again while fresh: \
            per-user, or per-iteration (starts empty each time)",
    "流程中：每个用户像浏览器一样缓存响应，未过期时不再请求：per-user，或 per-iteration（每次迭代开始时为空）",
);

thread_local! {
    /// What an answer is looked for under: looking allocates nothing.
    static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How users keep answers.
#[derive(Clone, Debug)]
pub struct Rule {
    for_iteration: bool,
    budget: Budget,
}

impl Rule {
    /// Reads the option; None: nothing is kept.
    ///
    /// # Errors
    /// A word that is none of those it may be.
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

/// What is looked at of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Lines of its head.
    pub head: bool,
    /// Its body.
    pub body: bool,
    /// What came behind that, which no cache keeps: it is asked for anew.
    pub trailers: bool,
}

/// An answer that is kept.
#[derive(Debug)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Bytes of its body as it came.
    pub size: u64,
    /// Its head, without cookies, where it was looked at.
    head: Option<Box<[u8]>>,
    /// Its body, likewise.
    body: Option<Box<[u8]>>,
    taken: Taken,
}

impl Answer {
    fn has(&self, need: Need) -> bool {
        !need.trailers && (self.head.is_some() || !need.head) && (self.body.is_some() || !need.body)
    }

    /// Its head; empty where nobody looks at it.
    pub fn head(&self) -> &[u8] {
        self.head.as_deref().unwrap_or_default()
    }

    /// Its body, likewise.
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }
}

#[derive(Debug)]
struct Entry {
    answer: Arc<Answer>,
    said: Said,
    /// What the request said of the fields that it depends on.
    selecting: Box<[u8]>,
    /// Nanoseconds since 1970.
    asked: u64,
    /// Uses of the cache before its last one.
    used: u64,
}

/// The answers that one user keeps.
#[derive(Debug, Default)]
pub struct Cache {
    entries: HashMap<Box<[u8]>, Entry>,
    bytes: usize,
    uses: u64,
    /// The iteration that they are of.
    iteration: u32,
}

/// A request as it would leave, and when.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Its head, cookies and all.
    pub head: &'a [u8],
    /// Over TLS.
    pub secure: bool,
    /// Nanoseconds since 1970.
    pub at: u64,
    /// The iteration that its user is in.
    pub iteration: u32,
}

/// A line of a request: its name, and its value.
type Line = (&'static str, Box<[u8]>);

/// What is asked of whoever made an answer, to hear whether it is still good.
#[derive(Debug)]
pub struct Condition {
    /// The answer.
    pub answer: Arc<Answer>,
    /// Lines of the request.
    pub lines: [Option<Line>; 2],
}

impl Condition {
    /// Puts its lines into a request as HTTP/1 writes it, which begins at `from`.
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

    /// The answer to a request that need not be sent; what is looked at of it is there.
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

    /// What is asked beside where there is an answer that may still be good.
    pub fn condition(&self, rule: &Rule, sent: Sent<'_>, need: Need) -> Option<Condition> {
        let (entry, _) = self.entry(rule, sent, need)?;
        let line = |name, text: &Option<Box<[u8]>>| text.as_ref().map(|text| (name, text.clone()));
        let lines = [line("If-None-Match", &entry.said.etag), line("If-Modified-Since", &entry.said.modified)];
        lines.iter().any(Option::is_some).then(|| Condition { answer: Arc::clone(&entry.answer), lines })
    }

    /// Takes in what an answer to a request came to; false: there was no room for it.
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
