//! The traces of the slowest requests of a second, of one worker. A run without traces has none of this.
//!
//! Ids follow from the number of a request ([`crate::filling::FillSource::again`]): they are made once it is over, and kept of a few.

use measure::Nanos;
use record::{Rank, Ranks, TraceId, Traced, is_slow, keep_slowest};
use wire::{FaultKind, Trace};

use crate::exchange::{Exchange, Standing};
use crate::tally::{number_of, word};

/// So many requests of a second are kept of those that are sampled, and as many of the others.
pub(crate) const SLOWEST: usize = 8;
/// So far from the start of the window a moment may be (nanoseconds: 73 years).
const FARTHEST: u64 = 1 << 61;

/// A request that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub trace: Trace,
    pub name: u16,
    pub code: u32,
    pub timed_out: bool,
    /// Its latency, as the headline of the run has it.
    pub took: Nanos,
    pub intended: Nanos,
    pub started: Nanos,
    /// Zero: not known.
    pub first_byte: Nanos,
    pub ended: Nanos,
}

impl Ranks for Kept {
    fn rank(&self) -> Rank {
        Rank { sampled: self.trace.sampled, name: self.name, took: self.took.0 }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub code: u32,
    pub fault: Option<FaultKind>,
}

impl Kept {
    /// An exchange that ended at `now`; `open`: its latency counts from when it was due.
    pub fn of(x: &Exchange, trace: Trace, outcome: Outcome, (open, now): (bool, Nanos)) -> Kept {
        let started = if x.state == Standing::Waiting { now } else { x.started };
        Kept {
            trace,
            name: x.name,
            code: outcome.code,
            timed_out: outcome.fault == Some(FaultKind::Timeout),
            took: now - if open { x.intended } else { started },
            intended: x.intended,
            started,
            first_byte: x.first_byte,
            ended: now,
        }
    }
}

/// What is kept of a second.
#[derive(Debug)]
pub(crate) struct Traces {
    slowest: Vec<Kept>,
}

impl Traces {
    /// Nothing yet.
    pub fn new() -> Traces {
        Traces { slowest: Vec::with_capacity(2 * SLOWEST) }
    }

    /// A request is over that has a latency, or timed out.
    #[inline]
    pub fn see(&mut self, kept: Kept) {
        if is_slow(&self.slowest, kept.rank(), SLOWEST) {
            keep_slowest(&mut self.slowest, kept, SLOWEST);
        }
    }

    /// Forgets the second.
    pub fn clear(&mut self) {
        self.slowest.clear();
    }
}

/// Appends them; moments count from `window`.
pub(crate) fn encode(traces: Option<&Traces>, window: Nanos, bytes: &mut Vec<u8>) {
    let mut word = |w: u64| bytes.extend_from_slice(&w.to_le_bytes());
    let slowest = traces.map_or(&[][..], |traces| &traces.slowest);
    word(slowest.len() as u64);
    for kept in slowest {
        let Trace { id, span, sampled } = kept.trace;
        [(id >> 64) as u64, id as u64, span].into_iter().for_each(&mut word);
        let flags = u64::from(sampled) | u64::from(kept.timed_out) << 1 | u64::from(kept.first_byte > Nanos::ZERO) << 2;
        word(flags | u64::from(kept.name) << 16 | u64::from(kept.code) << 32);
        word(kept.took.0);
        let moments = [kept.intended, kept.started, kept.first_byte, kept.ended];
        moments.into_iter().for_each(|at| word(at.0.wrapping_sub(window.0)));
    }
}

/// One request on its way to the collector, its moments since the start of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    trace: Trace,
    name: u16,
    code: u32,
    timed_out: bool,
    took: u64,
    intended: i64,
    started: i64,
    first_byte: Option<i64>,
    ended: i64,
}

/// Decodes what [`encode`] wrote; None where the bytes are no such thing.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Vec<Told>> {
    (0..number_of(bytes, 2 * SLOWEST)?).map(|_| decode_one(bytes)).collect()
}

fn decode_one(bytes: &mut &[u8]) -> Option<Told> {
    let moment = |bytes: &mut &[u8]| word(bytes).map(|at| at as i64).filter(|at| at.unsigned_abs() <= FARTHEST);
    let id = u128::from(word(bytes)?) << 64 | u128::from(word(bytes)?);
    let (span, packed, took) = (word(bytes)?, word(bytes)?, word(bytes)?);
    let (intended, started) = (moment(bytes)?, moment(bytes)?);
    // Where it is not known, that is no moment.
    let known = packed & 4 != 0;
    let first_byte = if known { Some(moment(bytes)?) } else { word(bytes).map(|_| None)? };
    let told = Told {
        trace: Trace { id, span, sampled: packed & 1 != 0 },
        name: (packed >> 16) as u16,
        code: (packed >> 32) as u32,
        timed_out: packed & 2 != 0,
        took,
        intended,
        started,
        first_byte,
        ended: moment(bytes)?,
    };
    (took <= FARTHEST).then_some(told)
}

/// What a request is looked up by.
pub(crate) fn id(trace: Trace) -> TraceId {
    TraceId { id: format!("{:032x}", trace.id), span: format!("{:016x}", trace.span), sampled: trace.sampled }
}

impl Told {
    /// As records have it.
    pub fn traced(&self, by_name: bool, status: String) -> Traced {
        Traced {
            trace: id(self.trace),
            name: by_name.then_some(self.name),
            status,
            timed_out: self.timed_out,
            latency_ns: self.took,
            scheduled_ns: self.intended,
            sent_ns: self.started,
            first_byte_ns: self.first_byte,
            ended_ns: self.ended,
        }
    }

    /// The status code of its response; 0: none.
    pub fn code(&self) -> u32 {
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_survives_its_encoding_and_no_cut_of_it_is_taken() {
        let mut traces = Traces::new();
        let trace = Trace { id: u128::MAX - 1, span: 7, sampled: true };
        let mut x = Exchange::due(Nanos(90), Nanos(95), 0, 3, 0);
        (x.started, x.state) = (Nanos(120), Standing::InFlight);
        for took in 0..20 {
            let outcome = Outcome { code: 200, fault: (took == 19).then_some(FaultKind::Timeout) };
            traces.see(Kept::of(&x, trace, outcome, (true, Nanos(200 + took))));
        }
        let mut bytes = Vec::new();
        encode(Some(&traces), Nanos(100), &mut bytes);
        let told = decode(&mut &*bytes).expect("whole");
        assert_eq!(told.len(), SLOWEST);
        let slowest = told.iter().max_by_key(|told| told.took).expect("some").traced(true, "200".into());
        assert_eq!((slowest.latency_ns, slowest.scheduled_ns, slowest.sent_ns, slowest.ended_ns), (129, -10, 20, 119));
        assert_eq!((slowest.first_byte_ns, slowest.timed_out, slowest.name), (None, true, Some(3)));
        assert_eq!((&*slowest.trace.id, &*slowest.trace.span), (&*format!("{}e", "f".repeat(31)), "0000000000000007"));
        (1..bytes.len()).for_each(|cut| assert_eq!(decode(&mut &bytes[..cut]), None, "cut at {cut}"));
        let mut nothing = Vec::new();
        encode(None, Nanos(100), &mut nothing);
        assert_eq!(decode(&mut &*nothing), Some(Vec::new()));
    }
}
