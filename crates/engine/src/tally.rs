//! What one worker counted in one second, and its encoding.
//!
//! Counting allocates nothing: histograms and lists are kept and cleared. The encoding is the only thing that leaves a
//! worker, so that a worker may as well be another process or machine.

use std::ops::{Deref, DerefMut};

use measure::{Histogram, Nanos};
use record::{Bytes, CODES, Connections, Heartbeats, Latency, Part};
use wire::{FaultKind, Phase};

use crate::named::{self, ByName, Named};

/// Failures of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sort {
    pub kind: FaultKind,
    pub phase: Phase,
    pub errno: Option<i32>,
}

/// What a worker counted in a second: what adds up, each written down where the record keeps it, and what does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub sums: record::Counts,
    pub bytes: Bytes,
    pub connections: Connections,
    pub heartbeats: Heartbeats,
    pub apart: Apart,
}

record::counts! {
    /// What of several workers is put together otherwise than by adding.
    pub(crate) struct Apart {
        /// At the end of the second, as in [`record::Second`].
        users, in_flight, waiting, open,
        /// How long connections took that were opened before a common start.
        ahead_ns,
        /// How the thread ran: time on a core, ready without one, periods of its CPU quota, and those in which it was used up.
        busiest_cpu_ns, ready_ns, periods, throttled,
        /// The first and the last success, since the second's beginning and plus one; zero: there was none.
        first_success, last_success,
        /// How long requests had been in flight without a break at the first success, else at the second's end, plus one; zero:
        /// none was.
        busy_for,
        /// Time integral of the requests in flight.
        area_ns,
        /// Summed service of those that ended.
        service_ns,
        /// Boundary limits: time already spent by those in flight at the beginning, and at the end.
        before_ns, after_ns,
    }
}

impl Deref for Counts {
    type Target = record::Counts;
    fn deref(&self) -> &record::Counts {
        &self.sums
    }
}

impl DerefMut for Counts {
    fn deref_mut(&mut self) -> &mut record::Counts {
        &mut self.sums
    }
}

impl Counts {
    /// All numbers, in the order they are encoded in.
    fn each(&mut self) -> impl Iterator<Item = &mut u64> {
        let sums = self.sums.each_mut().chain(self.bytes.each_mut());
        let more = self.connections.each_mut().chain(self.heartbeats.each_mut());
        sums.chain(more).chain(self.apart.each_mut())
    }
}

impl Counts {
    /// An answer too many: nobody asked for it, and it may have been taken for another's.
    #[cold]
    pub fn stray(&mut self) {
        self.unsolicited += 1;
        self.strays += 1;
    }
}

/// What one worker counted since the last roll.
#[derive(Debug)]
pub(crate) struct Tally {
    pub counts: Counts,
    pub latency: Latency,
    pub codes: Vec<(u32, u64)>,
    /// What peers said of how connections and exchanges end.
    pub words: Vec<(u32, u64)>,
    pub failures: Vec<(Sort, u64)>,
    /// Connections that are part of the plan and were lost, by what ended them.
    pub losses: Vec<Loss>,
    /// Connections that did not come to stand and failed no request, by why.
    pub unopened: Vec<Loss>,
    /// The same by name, where the run has several.
    pub named: Option<Box<ByName>>,
}

/// Connections lost in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub kind: FaultKind,
    pub phase: Phase,
    pub errno: Option<i32>,
    /// What is known beyond the kind: the peer's last words.
    pub detail: String,
    pub count: u64,
}

/// The code of those beyond the first [`CODES`] of a second; no protocol has it.
pub(crate) const OTHER: u32 = u32::MAX;

/// So many ways of losing a connection are told apart in a second, and so many bytes of their words are kept: peers choose
/// the words, and could choose others each time.
const WAYS: usize = 16;
const WORDS: usize = 160;

impl Tally {
    /// Of a run with so many names.
    pub fn new(names: usize) -> Tally {
        Tally {
            named: ByName::of(names),
            counts: Counts::default(),
            latency: Latency::default(),
            codes: Vec::with_capacity(16),
            words: Vec::new(),
            failures: Vec::with_capacity(16),
            losses: Vec::new(),
            unopened: Vec::new(),
        }
    }

    /// An answer to a request of this name carried a status code; 0: none.
    #[inline]
    pub fn code(&mut self, name: u16, code: u32) {
        count_code(&mut self.codes, code);
        if let Some(named) = &mut self.named {
            named.code(name, code);
        }
    }

    /// The peer said how a connection or an exchange ends.
    #[cold]
    pub fn word(&mut self, word: u32) {
        count_code(&mut self.words, word);
    }

    /// A success of a request of the warm-up.
    pub fn finished_of_warmup(&mut self, name: u16) {
        self.counts.finished_of_warmup += 1;
        if let Some(named) = &mut self.named {
            named.counts(name).finished_of_warmup += 1;
        }
    }

    /// A failure.
    pub fn failure(&mut self, name: u16, sort: Sort) {
        self.counts.failed += 1;
        if let Some(named) = &mut self.named {
            named.counts(name).failed += 1;
        }
        match self.failures.iter_mut().find(|(s, _)| *s == sort) {
            Some((_, n)) => *n += 1,
            None => self.failures.push((sort, 1)),
        }
    }

    /// A connection that is part of the plan is lost.
    #[cold]
    pub fn lost(&mut self, kind: FaultKind, errno: Option<i32>, detail: &str) {
        self.counts.connections.lost += 1;
        add_loss(&mut self.losses, Sort { kind, phase: Phase::Hold, errno }, detail);
    }

    /// A connection did not come to stand, and no request fails by it.
    #[cold]
    pub fn not_opened(&mut self, sort: Sort, detail: &str) {
        add_loss(&mut self.unopened, sort, detail);
    }

    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.latency.all_mut().into_iter().for_each(Histogram::clear);
        self.codes.clear();
        self.words.clear();
        self.failures.clear();
        self.losses.clear();
        self.unopened.clear();
        if let Some(named) = &mut self.named {
            named.clear();
        }
    }

    /// True where nothing at all was counted (gauges aside).
    pub fn is_idle(&self) -> bool {
        let c = &self.counts;
        let requests = c.due + c.sent + c.finished + c.failed + c.censored + c.warmup + c.finished_of_warmup;
        let Connections { opened, failed, lost, refused, .. } = c.connections;
        let connections = opened + failed + lost + refused + c.bytes.received;
        let beats = c.heartbeats.sent + c.heartbeats.answered + c.heartbeats.missed + c.heartbeats.open;
        requests + connections + beats == 0
    }
}

/// Counts a status code, of which [`CODES`] are told apart.
#[inline]
pub(crate) fn count_code(codes: &mut Vec<(u32, u64)>, code: u32) {
    if code == 0 {
        return;
    }
    match codes.iter().position(|(c, _)| *c == code) {
        Some(at) => codes[at].1 += 1,
        None if codes.len() < CODES || code == OTHER => codes.push((code, 1)),
        None => count_code(codes, OTHER),
    }
}

/// Adds to those lost in the same way.
fn add_loss(losses: &mut Vec<Loss>, sort: Sort, detail: &str) {
    let cut = detail.floor_char_boundary(WORDS);
    let full = losses.len() >= WAYS;
    let Sort { kind, phase, errno } = sort;
    let mut known = losses.iter_mut().filter(|loss| (loss.kind, loss.phase, loss.errno) == (kind, phase, errno));
    match known.find(|loss| loss.detail == detail[..cut] || (full && loss.detail.is_empty())) {
        Some(loss) => loss.count += 1,
        None => {
            let detail = if full { String::new() } else { detail[..cut].to_owned() };
            losses.push(Loss { kind, phase, errno, detail, count: 1 });
        }
    }
}

/// One worker's second on its way to the collector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub from_ns: i64,
    pub to_ns: i64,
    pub part: Part,
    /// The start of the window, on the worker's clock.
    pub window: Nanos,
    pub counts: Counts,
    pub codes: Vec<(u32, u64)>,
    pub words: Vec<(u32, u64)>,
    pub failures: Vec<(Sort, u64)>,
    pub losses: Vec<Loss>,
    pub unopened: Vec<Loss>,
    pub latency: Latency,
    pub named: Vec<Named>,
}

/// Encodes a second, whose moments count from `window`: little-endian words, then the histograms in their compact form.
pub(crate) fn encode(tally: &Tally, (from, to): (Nanos, Nanos), part: Part, window: Nanos) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4096);
    let mut word = |w: u64| bytes.extend_from_slice(&w.to_le_bytes());
    word(from.0.wrapping_sub(window.0));
    word(to.0.wrapping_sub(window.0));
    word(part as u64);
    word(window.0);
    let mut counts = tally.counts;
    counts.each().for_each(|n| word(*n));
    for codes in [&tally.codes, &tally.words] {
        word(codes.len() as u64);
        for (code, n) in codes {
            word(u64::from(*code));
            word(*n);
        }
    }
    word(tally.failures.len() as u64);
    for (sort, n) in &tally.failures {
        word(sort.kind as u64 | (sort.phase as u64) << 8 | u64::from(sort.errno.is_some()) << 16);
        word(sort.errno.unwrap_or(0) as u64);
        word(*n);
    }
    for losses in [&tally.losses, &tally.unopened] {
        encode_losses(losses, &mut bytes);
    }
    for (_, histogram) in tally.latency.all() {
        histogram.encode(&mut bytes);
    }
    if let Some(named) = &tally.named {
        named.encode(&mut bytes);
    }
    bytes
}

/// Translates the moment that an encoded second holds: the start of its window.
pub(crate) fn translate(encoded: &mut [u8], ours: impl FnOnce(Nanos) -> Nanos) {
    if let Some(window) = encoded.get_mut(24..32).and_then(|bytes| bytes.first_chunk_mut::<8>()) {
        *window = ours(Nanos(u64::from_le_bytes(*window))).0.to_le_bytes();
    }
}

/// The numbers first, then the words.
fn encode_losses(losses: &[Loss], bytes: &mut Vec<u8>) {
    let mut word = |w: u64| bytes.extend_from_slice(&w.to_le_bytes());
    word(losses.len() as u64);
    for loss in losses {
        word(loss.kind as u64 | (loss.phase as u64) << 8 | u64::from(loss.errno.is_some()) << 16);
        word(loss.errno.unwrap_or(0) as u64);
        word(loss.count);
        word(loss.detail.len() as u64);
    }
    losses.iter().for_each(|loss| bytes.extend_from_slice(loss.detail.as_bytes()));
}

/// In the order of their numbers.
pub(crate) const PHASES: [Phase; 8] = [
    Phase::Resolve,
    Phase::Wait,
    Phase::Connect,
    Phase::Tls,
    Phase::Greeting,
    Phase::FirstByte,
    Phase::Transfer,
    Phase::Hold,
];

pub(crate) fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

fn losses(bytes: &mut &[u8]) -> Option<Vec<Loss>> {
    let mut losses = Vec::new();
    for _ in 0..word(bytes)? {
        let (packed, errno, count, len) = (word(bytes)?, word(bytes)? as i32, word(bytes)?, word(bytes)?);
        let kind = *FaultKind::ALL.get(packed as usize & 0xff)?;
        let phase = *PHASES.get(packed as usize >> 8 & 0xff)?;
        let errno = (packed >> 16 & 1 == 1).then_some(errno);
        losses.push((Loss { kind, phase, errno, detail: String::new(), count }, usize::try_from(len).ok()?));
    }
    let mut all = Vec::with_capacity(losses.len());
    for (loss, len) in losses {
        let (words, rest) = bytes.split_at_checked(len)?;
        *bytes = rest;
        all.push(Loss { detail: String::from_utf8(words.to_vec()).ok()?, ..loss });
    }
    Some(all)
}

fn codes(bytes: &mut &[u8]) -> Option<Vec<(u32, u64)>> {
    let mut codes = Vec::new();
    for _ in 0..word(bytes)? {
        codes.push((word(bytes)? as u32, word(bytes)?));
    }
    Some(codes)
}

/// Decodes a second; None where the bytes are not one.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Snapshot> {
    let bytes = &mut bytes;
    let (from_ns, to_ns) = (word(bytes)? as i64, word(bytes)? as i64);
    let part = [Part::Warmup, Part::Window, Part::Drain].into_iter().nth(word(bytes)? as usize)?;
    let window = Nanos(word(bytes)?);
    let mut counts = Counts::default();
    for n in counts.each() {
        *n = word(bytes)?;
    }
    let (codes, words) = (codes(bytes)?, codes(bytes)?);
    let mut failures = Vec::new();
    for _ in 0..word(bytes)? {
        let (packed, errno, n) = (word(bytes)?, word(bytes)? as i32, word(bytes)?);
        let kind = *FaultKind::ALL.get(packed as usize & 0xff)?;
        let phase = *PHASES.get(packed as usize >> 8 & 0xff)?;
        failures.push((Sort { kind, phase, errno: (packed >> 16 & 1 == 1).then_some(errno) }, n));
    }
    let (losses, unopened) = (losses(bytes)?, losses(bytes)?);
    let mut latency = Latency::default();
    for histogram in latency.all_mut() {
        histogram.decode_into(bytes)?;
    }
    let named = named::decode(bytes)?;
    Some(Snapshot { from_ns, to_ns, part, window, counts, codes, words, failures, losses, unopened, latency, named })
}

/// Requests in flight, integrated over time (for Little's law).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    pub now: u64,
    /// Since when there was at least one.
    pub busy_since: Nanos,
    /// Sum of their starts.
    starts: u64,
    area: u64,
    last: Nanos,
    /// Time already spent by those in flight when the second began.
    before: u64,
}

impl InFlight {
    pub fn begin(at: Nanos) -> InFlight {
        InFlight { last: at, ..InFlight::default() }
    }

    #[inline]
    fn advance(&mut self, at: Nanos) {
        self.area += self.now * (at - self.last).0;
        self.last = self.last.max(at);
    }
    #[inline]
    pub fn start(&mut self, at: Nanos) {
        self.advance(at);
        if self.now == 0 {
            self.busy_since = at;
        }
        self.now += 1;
        self.starts = self.starts.wrapping_add(at.0);
    }
    #[inline]
    pub fn end(&mut self, started: Nanos, at: Nanos) {
        self.advance(at);
        self.now -= 1;
        self.starts = self.starts.wrapping_sub(started.0);
    }
    /// Closes the second at `at`: area, and time spent before and after by those in flight at its ends.
    pub fn roll(&mut self, at: Nanos) -> (u64, u64, u64) {
        self.advance(at);
        let after = self.now.wrapping_mul(at.0).wrapping_sub(self.starts);
        let rolled = (self.area, self.before, after);
        (self.area, self.before) = (0, after);
        rolled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart_up_to_a_bound_and_add_up() {
        let mut tally = Tally::new(1);
        (1..=10_000).for_each(|code| tally.code(0, code));
        tally.code(0, 1);
        (1..=10_000).for_each(|word| tally.word(word));
        let snapshot = decode(&encode(&tally, (Nanos(0), Nanos(1)), Part::Window, Nanos(0))).expect("a second");
        assert_eq!((&snapshot.codes, &snapshot.words), (&tally.codes, &tally.words));
        assert_eq!((tally.words.len(), tally.words[CODES]), (CODES + 1, (OTHER, 10_000 - CODES as u64)));
        assert!(tally.codes.len() <= CODES + 1, "{}", tally.codes.len());
        assert_eq!(tally.codes.iter().map(|(_, n)| n).sum::<u64>(), 10_001);
        assert_eq!((tally.codes[0], tally.codes[CODES].0), ((1, 2), OTHER));
    }

    #[test]
    fn losses_are_told_apart_by_their_words_up_to_a_bound_and_survive_their_encoding() {
        let mut tally = Tally::new(1);
        for _ in 0..2 {
            tally.lost(FaultKind::Closed, None, "the server closed with 1001 (going away)");
        }
        tally.lost(FaultKind::Reset, Some(libc::ECONNRESET), "");
        for n in 0..40 {
            tally.lost(FaultKind::Closed, None, &format!("the server closed with {} (private)", 4000 + n));
        }
        let refused = Sort { kind: FaultKind::WrongStatus, phase: Phase::Greeting, errno: None };
        (0..3).for_each(|_| tally.not_opened(refused, "1040 too many connections"));
        tally.not_opened(Sort { phase: Phase::Tls, ..refused }, "1040 too many connections");
        let snapshot = decode(&encode(&tally, (Nanos(0), Nanos(1)), Part::Window, Nanos(0))).expect("a second");
        assert_eq!((&snapshot.losses, &snapshot.unopened), (&tally.losses, &tally.unopened));
        assert_eq!(tally.unopened.iter().map(|loss| loss.count).collect::<Vec<_>>(), [3, 1]);
        assert_eq!((snapshot.losses[0].count, snapshot.losses[1].errno), (2, Some(libc::ECONNRESET)));
        assert_eq!(snapshot.losses.iter().map(|loss| loss.count).sum::<u64>(), snapshot.counts.connections.lost);
        assert!(snapshot.losses.len() <= WAYS + 1, "{}", snapshot.losses.len());
        tally.lost(FaultKind::Closed, None, &"é".repeat(WORDS));
        tally.clear();
        assert!(tally.losses.is_empty() && tally.unopened.is_empty());
    }
}
