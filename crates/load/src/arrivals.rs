//! Open load: the times at which arrivals are due, independent of the server's behaviour.
//!
//! Constant and burst arrivals are numbered across the whole run, and worker k of T takes those with i ≡ k (mod T), so
//! the shares add up exactly. Poisson arrivals are T independent streams of rate λ/T, whose union is also Poisson
//! (MEASUREMENT 1.5). A fixed number of arrivals applies to the union, not to each stream (`counted_arrivals`).
//! Numbering restarts at the end of the warm-up, so the warm-up never affects the arrivals after it.

use brunt_measure::{Nanos, Rng};
use brunt_plan::{Arrivals, Change, Load, Share, Stage};

use crate::counted_arrivals::CountedArrivals;
use crate::curve::Curve;
use crate::ends;

const SECOND: u64 = 1_000_000_000;

/// A non-decreasing sequence of due times, in nanoseconds since the start of the run (warm-up included).
pub trait Schedule: Send {
    /// Returns the due time of the next arrival; `None` if there are no more.
    fn next_due(&mut self) -> Option<Nanos>;
    /// Changes the rate from `at` on. Every share must apply the same changes, in chronological order. Returns the new
    /// due time of the arrival returned last, which is unchanged if it is before `at`.
    fn change(&mut self, at: Nanos, change: Change) -> Option<Nanos>;
    /// Takes all remaining arrivals due between `from` (the end of the warm-up) and `until`, in at most a few thousand
    /// lumps. `lump` receives the due time of the last arrival of each lump and the number of arrivals. The total is
    /// the integral of the rate, without randomness.
    fn take_rest(&mut self, from: Nanos, until: Nanos, lump: &mut dyn FnMut(Nanos, u64));
}

/// Maximum number of lumps.
const LUMPS: u64 = 4096;

/// Divides a number into lumps. `lump` receives the cumulative number at the end of each lump, and the size of the
/// lump.
pub(crate) fn in_lumps(number: u64, mut lump: impl FnMut(u64, u64)) {
    let lumps = number.min(LUMPS);
    let until = |lump: u64| (u128::from(number) * u128::from(lump) / u128::from(lumps.max(1))) as u64;
    (0..lumps).for_each(|at| lump(until(at + 1), until(at + 1) - until(at)));
}

/// The arrivals of one share of an open load.
///
/// During the warm-up, the `from` rate of the first stage holds. `requests` counts arrivals after the warm-up, over all
/// shares. `duration` bounds the arrivals to [0, warmup + duration); without it, the run ends with its stages, but a
/// single stage bounded by `requests` continues at its rate. A closed load has no arrivals.
pub fn arrivals(
    load: &Load,
    warmup: Nanos,
    requests: Option<u64>,
    duration: Option<Nanos>,
    share: Share,
    seed: u64,
) -> Box<dyn Schedule> {
    let Load::Open { stages, arrivals } = load else {
        return Box::new(std::iter::empty::<Nanos>());
    };
    let end = ends(stages, warmup, requests, duration).unwrap_or(Nanos::MAX);
    match arrivals {
        Arrivals::Poisson => match requests {
            None => Box::new(PoissonArrivals::whole(stages, warmup, end, share, seed)),
            Some(requests) => Box::new(CountedArrivals::new(stages, warmup, requests, end, share, seed)),
        },
        Arrivals::Constant => Box::new(NumberedArrivals::new(stages, warmup, requests, end, share, (on_time, 1))),
        Arrivals::Burst => Box::new(NumberedArrivals::new(stages, warmup, requests, end, share, (at_once, SECOND))),
    }
}

impl Schedule for std::iter::Empty<Nanos> {
    fn next_due(&mut self) -> Option<Nanos> {
        None
    }
    fn change(&mut self, _at: Nanos, _change: Change) -> Option<Nanos> {
        None
    }
    fn take_rest(&mut self, _from: Nanos, _until: Nanos, _lump: &mut dyn FnMut(Nanos, u64)) {}
}

pub(crate) fn first_rate(stages: &[Stage]) -> f64 {
    stages.first().map_or(0.0, |stage| stage.from)
}

/// Independent arrivals: between two arrivals of the whole run, the integral of the rate grows by an exponential step
/// of mean 1.
pub(crate) struct PoissonArrivals {
    curve: Curve,
    rng: Rng,
    /// Sum of the exponential steps so far, in arrivals of this share.
    reached: f64,
    shares: f64,
    /// Set if the reached arrival is beyond the end or was not returned yet; a change of the rate may move it before
    /// the end.
    ahead: bool,
}

impl PoissonArrivals {
    /// Creates the arrivals of the warm-up and the stages.
    fn whole(stages: &[Stage], warmup: Nanos, end: Nanos, share: Share, seed: u64) -> PoissonArrivals {
        // Poisson arrivals are memoryless, so the warm-up and the stages can form one curve.
        let mut curve = Curve::level(first_rate(stages), Nanos::ZERO, warmup);
        curve.append_stages(stages, warmup, end);
        PoissonArrivals::along(curve, share, seed)
    }

    /// A share of the arrivals along a curve.
    pub(crate) fn along(curve: Curve, share: Share, seed: u64) -> PoissonArrivals {
        let rng = Rng::new(seed).fork(u64::from(share.index));
        PoissonArrivals { curve, rng, reached: 0.0, shares: f64::from(share.of), ahead: false }
    }
}

impl Schedule for PoissonArrivals {
    fn next_due(&mut self) -> Option<Nanos> {
        if !self.ahead {
            self.reached += self.rng.exponential();
        }
        let due = self.curve.time_of(self.reached * self.shares);
        self.ahead = due.is_none();
        due
    }

    fn change(&mut self, at: Nanos, change: Change) -> Option<Nanos> {
        self.curve.change(at, change);
        // The change affects the time of the arrival, but not the distance to it in expected arrivals.
        self.ahead = self.reached > 0.0;
        self.next_due()
    }

    /// Uses the expected number of arrivals in place of a random one.
    fn take_rest(&mut self, from: Nanos, until: Nanos, lump: &mut dyn FnMut(Nanos, u64)) {
        let began = self.reached.max(self.curve.due_by(from) / self.shares);
        let rest = (self.curve.due_by(until) / self.shares - began).max(0.0);
        let (number, end) = (rest.round() as u64, self.curve.end_by(until));
        in_lumps(number, |so_far, many| {
            self.reached = began + rest * (so_far as f64 / number as f64);
            let last = self.curve.time_of(self.reached * self.shares);
            lump(last.unwrap_or(Nanos::MAX).min(end), many);
        });
        self.ahead = false;
    }
}

/// Numbered arrivals: the time of each depends only on its number.
struct NumberedArrivals {
    warming: Curve,
    curve: Curve,
    warmup: Nanos,
    share: Share,
    /// Number of the next arrival of this share, counted from the start of the warm-up or from its end.
    next: u64,
    in_warmup: bool,
    /// Number of arrivals after the warm-up, over all shares.
    requests: u64,
    time_of: TimeOf,
    /// `in_warmup` and `next` of the arrival returned last.
    drawn: (bool, u64),
    due: Option<Nanos>,
    /// Granularity of changes, in nanoseconds. They take effect at the next multiple, so that no past burst is undone.
    grain: u64,
}

/// A function from an arrival's number to its time, on a curve that began at a given time.
type TimeOf = fn(curve: &mut Curve, i: u64, began: Nanos) -> Option<Nanos>;

impl NumberedArrivals {
    fn new(
        stages: &[Stage],
        warmup: Nanos,
        requests: Option<u64>,
        end: Nanos,
        share: Share,
        (time_of, grain): (TimeOf, u64),
    ) -> Self {
        NumberedArrivals {
            warming: Curve::level(first_rate(stages), Nanos::ZERO, warmup),
            curve: Curve::of_stages(stages, warmup, end),
            warmup,
            share,
            next: u64::from(share.index),
            in_warmup: true,
            requests: requests.unwrap_or(u64::MAX),
            time_of,
            drawn: (true, u64::from(share.index)),
            due: None,
            grain,
        }
    }

    fn draw(&mut self) -> Option<Nanos> {
        if self.in_warmup {
            if let Some(due) = (self.time_of)(&mut self.warming, self.next, Nanos::ZERO) {
                self.next += u64::from(self.share.of);
                return Some(due);
            }
            (self.in_warmup, self.next) = (false, u64::from(self.share.index));
        }
        if self.next >= self.requests {
            return None;
        }
        let due = (self.time_of)(&mut self.curve, self.next, self.warmup)?;
        self.next += u64::from(self.share.of);
        Some(due)
    }

    /// Returns when a change takes effect on a curve that began at a given time.
    fn effect(&self, at: Nanos, began: Nanos) -> Nanos {
        Nanos(began.0.saturating_add((at - began).0.div_ceil(self.grain).saturating_mul(self.grain)))
    }
}

impl Schedule for NumberedArrivals {
    fn next_due(&mut self) -> Option<Nanos> {
        self.drawn = (self.in_warmup, self.next);
        self.due = self.draw();
        self.due
    }

    fn change(&mut self, at: Nanos, change: Change) -> Option<Nanos> {
        let (in_warmup, after) = (self.effect(at, Nanos::ZERO), self.effect(at, self.warmup));
        self.warming.change(in_warmup, change);
        self.curve.change(after, change);
        if self.due.is_none_or(|due| due >= at) {
            (self.in_warmup, self.next) = self.drawn;
            self.due = self.draw();
        }
        self.due
    }

    fn take_rest(&mut self, _from: Nanos, until: Nanos, lump: &mut dyn FnMut(Nanos, u64)) {
        if self.in_warmup {
            (self.in_warmup, self.next) = (false, u64::from(self.share.index));
        }
        let (first, step, mut curve) = (self.next, u64::from(self.share.of), self.curve.clone());
        let mut due = |nth: u64| {
            curve.rewind();
            (self.time_of)(&mut curve, first + nth * step, self.warmup).filter(|due| *due <= until)
        };
        // An upper bound, because a burst is due before the integral reaches its last arrival.
        let integral = self.curve.due_by(until.saturating_add(Nanos(self.grain)));
        let most = (integral as u64).saturating_add(2).min(self.requests);
        let (mut there, mut not_there) = (0, most.saturating_sub(first).div_ceil(step));
        while there < not_there {
            let middle = there + (not_there - there) / 2;
            match due(middle) {
                Some(_) => there = middle + 1,
                None => not_there = middle,
            }
        }
        in_lumps(there, |so_far, many| lump(due(so_far - 1).unwrap_or(until), many));
        self.next += there * step;
    }
}

/// Equal gaps: arrival `i` is due when the integral of the rate reaches `i`.
fn on_time(curve: &mut Curve, i: u64, _began: Nanos) -> Option<Nanos> {
    curve.time_of(i as f64)
}

/// Bursts: all arrivals of a second are due at its beginning. The number per second is rounded and the remainder
/// carried over, i.e. arrival `i` belongs to the second in which the integral reaches `i + 1/2`.
fn at_once(curve: &mut Curve, i: u64, began: Nanos) -> Option<Nanos> {
    // Slightly less than a half, so that a half reached exactly at the end of a second still belongs to it.
    let reached = curve.time_of(i as f64 + 0.499_999)?;
    Some(Nanos(began.0 + (reached - began).0 / SECOND * SECOND))
}

#[cfg(test)]
mod changing_tests;
#[cfg(test)]
mod rest_tests;
#[cfg(test)]
mod tests;
