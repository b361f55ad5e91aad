//! Traced requests of one worker in one second: the slowest, and those exported as spans. Unused in a run without
//! traces.
//!
//! Ids are derived from the number of a request ([`crate::slot_values::SlotSource::repeat`]) after its completion, and
//! stored for only a few requests.

use brunt_contract::{FaultKind, Phase, Trace};
use brunt_measure::Nanos;
use brunt_record::{Failure, HasRank, Rank, RequestSpan, TraceId, TracedRequest, is_slow, keep_slowest};

use crate::decode::{number_of, word};
use crate::exchange::Exchange;
use crate::failure_class::{FailureClass, MAX_ERRNO, errno_name};
use crate::ids::RequestId;

/// Number of slowest requests kept per second, among the sampled requests and among the others.
pub(crate) const SLOWEST: usize = brunt_record::SLOWEST_OF_SECOND;
/// Maximum number of failed requests per second with spans.
const FAILED: usize = 64;
/// Maximum number of other sampled requests per second with spans.
const SAMPLED: usize = 256;
/// Maximum distance of a moment from the start of the window (nanoseconds: 73 years).
const FARTHEST: u64 = 1 << 61;

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptTrace {
    trace: Trace,
    name: u16,
    scenario: u8,
    request: RequestId,
    outcome: TracedOutcome,
    /// Latency as in the headline figures of the run.
    took: Nanos,
    intended: Nanos,
    started: Nanos,
    written: Nanos,
    /// Time of the first byte; zero if unknown.
    first_byte: Nanos,
    ended: Nanos,
}

impl HasRank for KeptTrace {
    fn rank(&self) -> Rank {
        Rank { sampled: self.trace.sampled, name: self.name, took: self.took.0 }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracedOutcome {
    pub code: u32,
    pub failed: Option<FailureClass>,
}

impl TracedOutcome {
    /// Returns `true` if the request has a latency, or a lower bound of one.
    fn is_ranked(self) -> bool {
        self.failed.is_none_or(|sort| sort.kind == FaultKind::Timeout)
    }
}

impl KeptTrace {
    /// Creates the entry of an exchange that ended at `now`; `open` is set if its latency counts from when it was due.
    pub fn of(x: &Exchange, trace: Trace, outcome: TracedOutcome, (open, now): (bool, Nanos)) -> KeptTrace {
        let started = if x.is_started() { x.started } else { now };
        KeptTrace {
            trace,
            name: x.name,
            scenario: x.user.scenario().0 as u8,
            request: x.request,
            outcome,
            took: now - if open { x.intended } else { started },
            intended: x.intended,
            started,
            written: x.written.max(started),
            first_byte: x.first_byte,
            ended: now,
        }
    }
}

/// A uniform random sample of bounded size.
#[derive(Debug)]
struct Reservoir {
    kept: Vec<KeptTrace>,
    most: usize,
    came: u64,
}

impl Reservoir {
    fn of(most: usize) -> Reservoir {
        Reservoir { kept: Vec::with_capacity(most), most, came: 0 }
    }

    /// Adds a candidate. Each is kept with the same probability (algorithm R), using its span id as the random number.
    #[inline]
    fn take(&mut self, kept: KeptTrace) {
        self.came += 1;
        if self.kept.len() < self.most {
            return self.kept.push(kept);
        }
        let at = ((u128::from(kept.trace.span) * u128::from(self.came)) >> 64) as usize;
        if let Some(place) = self.kept.get_mut(at) {
            *place = kept;
        }
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.came = 0;
    }
}

/// The traced requests of a second.
#[derive(Debug)]
pub(crate) struct TraceSelection {
    /// Sampling threshold for requests that cannot carry a trace.
    pub implicit_below: Option<u64>,
    slowest: Vec<KeptTrace>,
    failed: Reservoir,
    sampled: Reservoir,
}

impl TraceSelection {
    /// Creates an empty selection.
    pub fn new(unsaid: Option<u64>) -> TraceSelection {
        let slowest = Vec::with_capacity(2 * SLOWEST);
        TraceSelection {
            implicit_below: unsaid,
            slowest,
            failed: Reservoir::of(FAILED),
            sampled: Reservoir::of(SAMPLED),
        }
    }

    /// Records a completed request.
    #[inline]
    pub fn record(&mut self, kept: KeptTrace) {
        if kept.outcome.is_ranked() && is_slow(&self.slowest, kept.rank(), SLOWEST) {
            keep_slowest(&mut self.slowest, kept, SLOWEST);
        }
        match kept.outcome.failed {
            Some(_) => self.failed.take(kept),
            None if kept.trace.sampled => self.sampled.take(kept),
            None => {}
        }
    }

    /// Clears the requests of the second.
    pub fn clear(&mut self) {
        self.slowest.clear();
        self.failed.clear();
        self.sampled.clear();
    }
}

/// Appends the traces; moments count from `window`.
pub(crate) fn encode(traces: Option<&TraceSelection>, window: Nanos, bytes: &mut Vec<u8>) {
    let Some(TraceSelection { slowest, failed, sampled, .. }) = traces else {
        return bytes.extend_from_slice(&[0; 8 * 4]);
    };
    for kept in [slowest, &failed.kept, &sampled.kept] {
        bytes.extend_from_slice(&(kept.len() as u64).to_le_bytes());
        kept.iter().for_each(|kept| encode_one(kept, window, bytes));
    }
    bytes.extend_from_slice(&(failed.came + sampled.came).to_le_bytes());
}

fn encode_one(kept: &KeptTrace, window: Nanos, bytes: &mut Vec<u8>) {
    let mut word = |w: u64| bytes.extend_from_slice(&w.to_le_bytes());
    let (Trace { id, span, sampled }, TracedOutcome { code, failed }) = (kept.trace, kept.outcome);
    [(id >> 64) as u64, id as u64, span].into_iter().for_each(&mut word);
    let flags = u64::from(sampled) | u64::from(failed.is_some()) << 1 | u64::from(kept.first_byte > Nanos::ZERO) << 2;
    word(flags | u64::from(kept.scenario) << 8 | u64::from(kept.name) << 16 | u64::from(code) << 32);
    let sort = failed.map_or(0, |sort| {
        let errno = sort.errno.map_or(0, |errno| (errno as u64 & 0xffff) << 16 | 1 << 15);
        sort.kind as u64 | (sort.phase as u64) << 8 | errno
    });
    word(u64::from(kept.request.0) << 32 | sort);
    word(kept.took.0);
    let moments = [kept.intended, kept.started, kept.written, kept.first_byte, kept.ended];
    moments.into_iter().for_each(|at| word(at.0.wrapping_sub(window.0)));
}

/// The decoded traces of a worker's second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TracesReport {
    pub slowest: Vec<ReportedRequest>,
    failed: Vec<ReportedRequest>,
    sampled: Vec<ReportedRequest>,
    /// Total number of candidates for the previous two fields.
    seen: u64,
}

/// A decoded request, with moments relative to the start of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedRequest {
    trace: Trace,
    name: u16,
    scenario: u8,
    request: RequestId,
    code: u32,
    failed: Option<FailureClass>,
    took: u64,
    intended: i64,
    started: i64,
    written: i64,
    first_byte: Option<i64>,
    ended: i64,
}

/// Decodes the output of [`encode`]; `None` if the bytes are malformed.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<TracesReport> {
    let list = |bytes: &mut &[u8], most| {
        (0..number_of(bytes, most)?).map(|_| decode_one(bytes)).collect::<Option<Vec<ReportedRequest>>>()
    };
    let (slowest, failed, sampled) = (list(bytes, 2 * SLOWEST)?, list(bytes, FAILED)?, list(bytes, SAMPLED)?);
    Some(TracesReport { slowest, failed, sampled, seen: word(bytes).filter(|came| *came <= FARTHEST)? })
}

fn decode_one(bytes: &mut &[u8]) -> Option<ReportedRequest> {
    let moment = |bytes: &mut &[u8]| word(bytes).map(|at| at as i64).filter(|at| at.unsigned_abs() <= FARTHEST);
    let id = u128::from(word(bytes)?) << 64 | u128::from(word(bytes)?);
    let (span, packed, what, took) = (word(bytes)?, word(bytes)?, word(bytes)?, word(bytes)?);
    let (intended, started, written) = (moment(bytes)?, moment(bytes)?, moment(bytes)?);
    // Zero stands for an unknown first byte.
    let first_byte = if packed & 4 != 0 { Some(moment(bytes)?) } else { word(bytes).map(|_| None)? };
    let told = ReportedRequest {
        trace: Trace { id, span, sampled: packed & 1 != 0 },
        name: (packed >> 16) as u16,
        scenario: (packed >> 8) as u8,
        request: RequestId((what >> 32) as u32),
        code: (packed >> 32) as u32,
        failed: if packed & 2 != 0 { Some(sort(what as u32)?) } else { None },
        took,
        intended,
        started,
        written,
        first_byte,
        ended: moment(bytes)?,
    };
    (took <= FARTHEST).then_some(told)
}

fn sort(packed: u32) -> Option<FailureClass> {
    let kind = *FaultKind::ALL.get(packed as usize & 0xff)?;
    let phase = *Phase::ALL.get(packed as usize >> 8 & 0x7f)?;
    let errno = i32::try_from(packed >> 16).ok().filter(|errno| *errno <= MAX_ERRNO)?;
    Some(FailureClass { kind, phase, errno: (packed >> 15 & 1 == 1).then_some(errno) })
}

/// Returns the lookup id of a request.
pub(crate) fn id(trace: Trace) -> TraceId {
    TraceId { id: format!("{:032x}", trace.id), span: format!("{:016x}", trace.span), sampled: trace.sampled }
}

impl ReportedRequest {
    /// Converts the request to the record format.
    pub fn traced(&self, by_name: bool, code_name: &dyn Fn(u32) -> String) -> TracedRequest {
        TracedRequest {
            trace: id(self.trace),
            name: by_name.then_some(self.name),
            status: self.status(code_name),
            timed_out: self.failed.is_some(),
            latency_ns: self.took,
            scheduled_ns: self.intended,
            sent_ns: self.started,
            first_byte_ns: self.first_byte,
            ended_ns: self.ended,
        }
    }

    fn status(&self, code_name: &dyn Fn(u32) -> String) -> String {
        if self.code == 0 { String::new() } else { code_name(self.code) }
    }

    /// Converts the request to a span; `slow` is set if it is among the slowest.
    fn span(&self, slow: bool, code_name: &dyn Fn(u32) -> String) -> RequestSpan {
        let failure = |sort: FailureClass| Failure {
            kind: sort.kind.name().into(),
            phase: sort.phase.name().into(),
            errno: sort.errno.map(errno_name),
            count: 1,
        };
        RequestSpan {
            trace: self.trace.id,
            span: self.trace.span,
            sampled: self.trace.sampled,
            slow,
            name: self.name,
            scenario: self.scenario,
            request: self.request.0,
            status: self.status(code_name),
            failure: self.failed.map(failure),
            scheduled_ns: self.intended,
            started_ns: self.started,
            written_ns: self.written,
            first_byte_ns: self.first_byte,
            ended_ns: self.ended,
        }
    }
}

impl TracesReport {
    /// Returns the spans, one per request, and the number of further failures and sampled requests.
    pub fn spans(&self, code_name: &dyn Fn(u32) -> String) -> brunt_record::RequestSpans {
        let slow = |told: &ReportedRequest| self.slowest.iter().any(|slow| slow.trace == told.trace);
        let chosen = || self.failed.iter().chain(&self.sampled);
        let mut spans: Vec<RequestSpan> = chosen().map(|told| told.span(slow(told), code_name)).collect();
        let left_out = self.seen.saturating_sub(spans.len() as u64);
        let others = self.slowest.iter().filter(|told| !chosen().any(|other| other.trace == told.trace));
        let before = spans.len();
        spans.extend(others.map(|told| told.span(true, code_name)));
        // Sampled or timed-out requests among the slowest were left out of the others.
        let back = spans[before..].iter().filter(|span| span.sampled || span.failure.is_some()).count() as u64;
        brunt_record::RequestSpans { spans, left_out: left_out.saturating_sub(back) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::ExchangeState;
    use crate::ids::UserId;

    #[test]
    fn what_is_kept_survives_its_encoding_and_no_cut_of_it_is_taken() {
        let mut traces = TraceSelection::new(None);
        let trace = Trace { id: u128::MAX - 1, span: 7, sampled: true };
        let mut x = Exchange::due(Nanos(90), Nanos(95), RequestId(0), 3, UserId(0));
        (x.started, x.state) = (Nanos(120), ExchangeState::InFlight);
        for took in 0..20 {
            let timeout =
                FailureClass { kind: FaultKind::Timeout, phase: brunt_contract::Phase::FirstByte, errno: Some(7) };
            let outcome = TracedOutcome { code: 200, failed: (took == 19).then_some(timeout) };
            traces.record(KeptTrace::of(&x, trace, outcome, (true, Nanos(200 + took))));
        }
        let mut bytes = Vec::new();
        encode(Some(&traces), Nanos(100), &mut bytes);
        let whole = decode(&mut &*bytes).expect("whole");
        assert_eq!((whole.slowest.len(), whole.failed.len(), whole.sampled.len(), whole.seen), (SLOWEST, 1, 19, 20));
        let name = |code: u32| code.to_string();
        let slowest = whole.slowest.iter().max_by_key(|told| told.took).expect("some").traced(true, &name);
        let failure = whole.failed[0].span(true, &name).failure.expect("it failed");
        assert_eq!(
            (&*failure.kind, &*failure.phase, failure.errno.as_deref()),
            ("timeout", "first_byte", Some("errno 7"))
        );
        assert_eq!((slowest.latency_ns, slowest.scheduled_ns, slowest.sent_ns, slowest.ended_ns), (129, -10, 20, 119));
        assert_eq!((slowest.first_byte_ns, slowest.timed_out, slowest.name), (None, true, Some(3)));
        assert_eq!((&*slowest.trace.id, &*slowest.trace.span), (&*format!("{}e", "f".repeat(31)), "0000000000000007"));
        (1..bytes.len()).for_each(|cut| assert_eq!(decode(&mut &bytes[..cut]), None, "cut at {cut}"));
        let mut nothing = Vec::new();
        encode(None, Nanos(100), &mut nothing);
        assert_eq!(decode(&mut &*nothing), Some(TracesReport::default()));
    }

    #[test]
    fn of_many_that_are_sampled_a_fair_choice_has_spans_and_the_rest_is_counted() {
        let mut rng = brunt_measure::Rng::new(1);
        let mut traces = TraceSelection::new(None);
        let x = Exchange {
            state: ExchangeState::InFlight,
            ..Exchange::due(Nanos(100), Nanos(100), RequestId(0), 0, UserId(0))
        };
        let outcome = TracedOutcome { code: 200, failed: None };
        for n in 0..10_000 {
            let trace = Trace { id: 1 + n, span: rng.next_u64(), sampled: true };
            traces.record(KeptTrace::of(&x, trace, outcome, (true, Nanos(200))));
        }
        let mut bytes = Vec::new();
        encode(Some(&traces), Nanos(100), &mut bytes);
        let told = decode(&mut &*bytes).expect("whole").spans(&|code| code.to_string());
        let late = told.spans.iter().filter(|span| span.trace > 5_000).count();
        assert!((SAMPLED..=SAMPLED + SLOWEST).contains(&told.spans.len()) && (90..170).contains(&late), "{late}");
        assert_eq!(told.left_out + told.spans.len() as u64, 10_000);
    }
}
