//! The encoding of a worker's second. The bytes may come from another process, so each length is bounded, and no count
//! can overflow a sum over all workers.

use brunt_contract::{FaultKind, Phase};
use brunt_measure::Nanos;
use brunt_record::{Latency, MAX_CODES, RunPart};

use super::{LossCount, SecondCounts, WORDS, WorkerTally};
use crate::decode::{self, number_of, word};
use crate::failure_class::{FailureClass, MAX_ERRNO};
use crate::name_rows::{self, NameFigures};
use crate::named_checks;
use crate::traces::{self, TracesReport};

/// Maximum number of failure classes and loss causes in a second, far above any real number.
const SORTS: usize = 1 << 10;
/// Upper bound of the count of one class in a second of a worker, such that sums over some thousand workers do not
/// overflow.
const COUNTED: u64 = 1 << 52;
/// Maximum distance of a moment from the start of the window (nanoseconds: 73 years).
const FARTHEST: u64 = 1 << 61;

/// A decoded second of one worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub from_ns: i64,
    pub to_ns: i64,
    pub part: RunPart,
    /// The start of the window, on the worker's clock.
    pub window: Nanos,
    pub counts: SecondCounts,
    pub codes: Vec<(u32, u64)>,
    pub words: Vec<(u32, u64)>,
    pub failures: Vec<(FailureClass, u64)>,
    pub losses: Vec<LossCount>,
    pub unopened: Vec<LossCount>,
    pub failed_addresses: Vec<LossCount>,
    pub latency: Latency,
    pub named: Vec<NameFigures>,
    pub checks: Vec<brunt_record::CheckResults>,
    pub traces: TracesReport,
}

/// Encodes a second, with moments relative to `window`: little-endian words, then the histograms in their compact form.
pub(crate) fn encode(tally: &WorkerTally, (from, to): (Nanos, Nanos), part: RunPart, window: Nanos) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4096);
    let mut word = |w: u64| bytes.extend_from_slice(&w.to_le_bytes());
    word(from.0.wrapping_sub(window.0));
    word(to.0.wrapping_sub(window.0));
    word(part as u64);
    word(window.0);
    let mut counts = tally.counts;
    counts.each().for_each(|n| word(*n));
    for codes in [&tally.codes, &tally.closings] {
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
    for losses in [&tally.losses, &tally.failed_opens, &tally.failed_addresses] {
        encode_losses(losses, &mut bytes);
    }
    for (_, histogram) in tally.latency.all() {
        histogram.encode(&mut bytes);
    }
    traces::encode(tally.traces.as_deref(), window, &mut bytes);
    tally.checks.encode(&mut bytes);
    if let Some(named) = &tally.named {
        named.encode(&mut bytes);
    }
    bytes
}

/// Converts the start of the window in an encoded second to our clock.
pub(crate) fn translate(encoded: &mut [u8], ours: impl FnOnce(Nanos) -> Nanos) {
    if let Some(window) = encoded.get_mut(24..32).and_then(|bytes| bytes.first_chunk_mut::<8>()) {
        *window = ours(Nanos(u64::from_le_bytes(*window))).0.to_le_bytes();
    }
}

/// Encodes losses: the numbers first, then the texts.
fn encode_losses(losses: &[LossCount], bytes: &mut Vec<u8>) {
    let mut word = |w: u64| bytes.extend_from_slice(&w.to_le_bytes());
    word(losses.len() as u64);
    for loss in losses {
        word(loss.kind as u64 | (loss.phase as u64) << 8 | u64::from(loss.errno.is_some()) << 16);
        word(loss.errno.unwrap_or(0) as u64);
        word(loss.count);
        word(loss.detail.len() as u64);
    }
    for loss in losses {
        bytes.extend_from_slice(loss.detail.as_bytes());
        let cause = decode::cause_bytes(loss.cause.as_ref());
        bytes.extend_from_slice(&(cause.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&cause);
    }
}

/// Reads the count of one class.
fn count(bytes: &mut &[u8]) -> Option<u64> {
    word(bytes).filter(|count| *count <= COUNTED)
}

fn errno(bytes: &mut &[u8]) -> Option<i32> {
    i32::try_from(word(bytes)?).ok().filter(|errno| *errno <= MAX_ERRNO)
}

fn losses(bytes: &mut &[u8]) -> Option<Vec<LossCount>> {
    let mut losses = Vec::new();
    for _ in 0..number_of(bytes, SORTS)? {
        let (packed, errno, count, len) = (word(bytes)?, errno(bytes)?, count(bytes)?, number_of(bytes, WORDS)?);
        let kind = *FaultKind::ALL.get(packed as usize & 0xff)?;
        let phase = *Phase::ALL.get(packed as usize >> 8 & 0xff)?;
        let errno = (packed >> 16 & 1 == 1).then_some(errno);
        losses.push((LossCount { kind, phase, errno, detail: String::new(), cause: None, count }, len));
    }
    let mut all = Vec::with_capacity(losses.len());
    for (loss, len) in losses {
        let mut words = |len| {
            let (words, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            Some(words)
        };
        let detail = String::from_utf8(words(len)?.to_vec()).ok()?;
        let len = words(8)?.first_chunk::<8>().map(|len| u64::from_le_bytes(*len) as usize)?;
        all.push(LossCount { detail, cause: decode::cause(words(len)?)?, ..loss });
    }
    Some(all)
}

fn codes(bytes: &mut &[u8]) -> Option<Vec<(u32, u64)>> {
    let mut codes = Vec::new();
    for _ in 0..number_of(bytes, MAX_CODES + 1)? {
        codes.push((u32::try_from(word(bytes)?).ok()?, count(bytes)?));
    }
    Some(codes)
}

/// Decodes a second; `None` if the bytes are malformed.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Snapshot> {
    let bytes = &mut bytes;
    let (from_ns, to_ns) = (word(bytes)? as i64, word(bytes)? as i64);
    let part = [RunPart::Warmup, RunPart::Window, RunPart::Drain].into_iter().nth(word(bytes)? as usize)?;
    let window = Nanos(word(bytes)?);
    let moments = [from_ns, to_ns].iter().all(|ns| ns.unsigned_abs() <= FARTHEST);
    let mut counts = SecondCounts::default();
    for n in counts.each() {
        *n = word(bytes)?;
    }
    let apart = counts.apart;
    let ends = [apart.first_success, apart.last_success, apart.first_failure, apart.last_failure];
    let spans = ends.iter().chain([&apart.busy_for]).all(|ns| *ns <= FARTHEST);
    let gauges = [apart.users, apart.in_flight, apart.waiting, apart.open].iter().all(|n| u32::try_from(*n).is_ok());
    if !moments || !spans || !gauges || to_ns < from_ns {
        return None;
    }
    let (codes, words) = (codes(bytes)?, codes(bytes)?);
    let mut failures = Vec::new();
    for _ in 0..number_of(bytes, SORTS)? {
        let (packed, errno, n) = (word(bytes)?, errno(bytes)?, count(bytes)?);
        let kind = *FaultKind::ALL.get(packed as usize & 0xff)?;
        let phase = *Phase::ALL.get(packed as usize >> 8 & 0xff)?;
        failures.push((FailureClass { kind, phase, errno: (packed >> 16 & 1 == 1).then_some(errno) }, n));
    }
    let (losses, unopened, failed_addresses) = (losses(bytes)?, losses(bytes)?, losses(bytes)?);
    let mut latency = Latency::default();
    for histogram in latency.all_mut() {
        histogram.decode_into(bytes)?;
        (histogram.count() <= COUNTED).then_some(())?;
    }
    let traces = traces::decode(bytes)?;
    let (checks, named) = (named_checks::decode(bytes)?, name_rows::decode(bytes)?);
    Some(Snapshot {
        from_ns,
        to_ns,
        part,
        window,
        counts,
        codes,
        words,
        failures,
        losses,
        unopened,
        failed_addresses,
        latency,
        named,
        checks,
        traces,
    })
}
