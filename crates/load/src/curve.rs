//! A piecewise linear rate over time, and the inverse of its integral: the time at which `x` arrivals are due.
//!
//! Every result is computed from the beginning of its piece, never from the previous result, so errors do not
//! accumulate over a long run. Level pieces that begin at a whole number of arrivals, such as any constant rate, use
//! 128-bit integers; ramps use the formula of MEASUREMENT 1.5 in the form that also holds for slope zero.

use brunt_measure::Nanos;
use brunt_plan::{Change, Stage};

/// A stretch of time in which the rate changes linearly.
#[derive(Clone, Copy, Debug)]
struct RatePiece {
    start: Nanos,
    end: Nanos,
    /// Arrivals per second at the beginning.
    from: f64,
    /// Change of the rate per second, in arrivals per second.
    slope: f64,
    /// Number of arrivals due before the piece.
    before: f64,
    /// Number of arrivals due before the end of the piece.
    until: f64,
}

/// A rate over time, queried with ascending numbers of arrivals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    pieces: Vec<RatePiece>,
    current: usize,
    /// The planned pieces; empty until the rate is changed.
    planned: Vec<RatePiece>,
    /// The current rate after a change.
    level: Option<f64>,
    paused: bool,
}

impl Curve {
    /// Creates a constant rate on [start, end).
    pub(crate) fn level(rate: f64, start: Nanos, end: Nanos) -> Curve {
        let mut curve = Curve::default();
        curve.push(start, end, end, rate, rate);
        curve
    }

    /// Creates the curve of consecutive stages from `start`, cut at `end` or extended to it at the last rate.
    pub(crate) fn of_stages(stages: &[Stage], start: Nanos, end: Nanos) -> Curve {
        let mut curve = Curve::default();
        curve.append_stages(stages, start, end);
        curve
    }

    /// Appends consecutive stages from `start`, cut at `end` or extended to it at the last rate.
    pub(crate) fn append_stages(&mut self, stages: &[Stage], start: Nanos, end: Nanos) {
        let mut at = start;
        for stage in stages {
            let stage_end = at.saturating_add(stage.lasts);
            self.push(at, stage_end, end, stage.from, stage.to);
            at = stage_end;
        }
        let last = stages.last().map_or(0.0, |stage| stage.to);
        self.push(at, end, end, last, last);
    }

    /// Adds a piece from `start` to `end`, cut at `cut`.
    fn push(&mut self, start: Nanos, end: Nanos, cut: Nanos, from: f64, to: f64) {
        if start >= end.min(cut) {
            return;
        }
        let (from, to) = (at_least_zero(from), at_least_zero(to));
        let slope = (to - from) / (end - start).as_secs_f64();
        self.append(start, end.min(cut), from, slope);
    }

    fn append(&mut self, start: Nanos, end: Nanos, from: f64, slope: f64) {
        let before = self.pieces.last().map_or(0.0, |piece| piece.until);
        let mut piece = RatePiece { start, end, from, slope, before, until: before };
        piece.end_at(end);
        self.pieces.push(piece);
    }

    /// Changes the rate from `at` on: earlier arrivals are unchanged, and later ones are computed from there.
    pub(crate) fn change(&mut self, at: Nanos, change: Change) {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return };
        let (at, end) = (at.max(first.start), last.end);
        if self.planned.is_empty() {
            self.planned.clone_from(&self.pieces);
        }
        match change {
            Change::Rate(rate) => self.level = Some(at_least_zero(rate)),
            Change::Users(_) => {}
            Change::Pause | Change::Drain => self.paused = true,
            Change::Resume => self.paused = false,
        }
        if at >= end {
            return;
        }
        self.pieces.retain(|piece| piece.start < at);
        if let Some(cut) = self.pieces.last_mut().filter(|piece| piece.end > at) {
            cut.end_at(at);
        }
        match self.level {
            _ if self.paused => self.append(at, end, 0.0, 0.0),
            Some(level) => self.append(at, end, level, 0.0),
            None => {
                for piece in self.planned.clone().into_iter().filter(|piece| piece.end > at) {
                    let start = piece.start.max(at);
                    let from = piece.from + piece.slope * (start - piece.start).as_secs_f64();
                    self.append(start, piece.end, at_least_zero(from), piece.slope);
                }
            }
        }
        self.current = 0;
    }

    /// Returns the number of arrivals due by a time: the integral of the rate.
    pub(crate) fn due_by(&self, at: Nanos) -> f64 {
        let Some(mut piece) = self.pieces.iter().rfind(|piece| piece.start < at).copied() else { return 0.0 };
        if at < piece.end {
            piece.end_at(at);
        }
        piece.until
    }

    /// Returns the end of the curve, at most `until`.
    pub(crate) fn end_by(&self, until: Nanos) -> Nanos {
        self.pieces.last().map_or(until, |piece| piece.end.min(until))
    }

    /// Allows queries to restart from the beginning.
    pub(crate) fn rewind(&mut self) {
        self.current = 0;
    }

    /// Returns the time at which the integral of the rate reaches `x`; `None` if that is not before the end. `x` must
    /// not decrease from call to call.
    pub(crate) fn time_of(&mut self, x: f64) -> Option<Nanos> {
        while x >= self.pieces.get(self.current)?.until {
            self.current += 1;
        }
        let time = self.pieces[self.current].time_of(x)?;
        (time < self.pieces.last()?.end).then_some(time)
    }
}

impl RatePiece {
    fn end_at(&mut self, end: Nanos) {
        let seconds = (end - self.start).as_secs_f64();
        self.end = end;
        self.until = snapped(self.before + seconds * (self.from + self.slope * seconds / 2.0));
    }

    fn time_of(&self, x: f64) -> Option<Nanos> {
        let x = (x - self.before).max(0.0);
        if self.slope == 0.0 && x as u64 as f64 == x {
            return Some(Nanos(self.start.0.checked_add(exact_time(x as u64, self.from)?)?));
        }
        let root = (self.from * self.from + 2.0 * self.slope * x).max(0.0).sqrt();
        // Avoids 0/0 at the beginning of a ramp from zero.
        let seconds = if x == 0.0 { 0.0 } else { 2.0 * x / (self.from + root) };
        // Rounds by the cast: `round` is a function call, and this code runs for every request.
        let nanos = Nanos((seconds * 1e9 + 0.5) as u64);
        Some(self.start.saturating_add(nanos).min(self.end))
    }
}

/// Returns `i / rate` seconds to the nearest nanosecond, computed exactly from the binary value of the rate; `None`
/// beyond 584 years.
fn exact_time(i: u64, rate: f64) -> Option<u64> {
    if i == 0 {
        return Some(0);
    }
    // rate = mantissa · 2^exponent; trailing zeros go into the exponent to keep the numbers small.
    let exponent = ((rate.to_bits() >> 52) & 0x7ff) as i32 - 1075;
    let mantissa = (rate.to_bits() & ((1 << 52) - 1)) | (1 << 52);
    let zeros = mantissa.trailing_zeros();
    let (mantissa, exponent) = (u128::from(mantissa >> zeros), exponent + zeros as i32);
    let shift = exponent.unsigned_abs();
    let nanos = u128::from(i) * 1_000_000_000;
    let (nanos, divisor) = if exponent < 0 {
        (shifted(nanos, shift)?, mantissa)
    } else {
        // An infinite rate: everything is due at once.
        (nanos, shifted(mantissa, shift).unwrap_or(u128::MAX / 2))
    };
    u64::try_from((nanos + divisor / 2) / divisor).ok()
}

/// Returns `value · 2^by`; `None` if the result has more than 127 bits (one is left for rounding).
fn shifted(value: u128, by: u32) -> Option<u128> {
    (by < value.leading_zeros()).then(|| value << by)
}

/// Returns the rate, or 0 if it is invalid.
fn at_least_zero(rate: f64) -> f64 {
    if rate.is_finite() { rate.max(0.0) } else { 0.0 }
}

/// Rounds a count that differs from a whole number only by the rounding of its terms.
fn snapped(count: f64) -> f64 {
    let whole = count.round();
    if (count - whole).abs() <= 1e-6_f64.max(count * 1e-14) { whole } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_times() {
        let hour = 3_600_000_000_000;
        let table = [
            (1, 1.0, Some(1_000_000_000)),
            (3, 3.0, Some(1_000_000_000)),
            (1, 3.0, Some(333_333_333)),
            (2, 3.0, Some(666_666_667)),
            (1, 20.0 / 60.0, Some(3_000_000_000)),
            (2, 2.0 / 3600.0, Some(hour)),
            (7_200, 2.0 / 3600.0, Some(3600 * hour)),
            (3_600_000_000, 1e6, Some(hour)),
            (3_600_000_001, 1e6, Some(hour + 1000)),
            (10_800_000_000, 3e6, Some(hour)),
            (0, 1e-300, Some(0)),
            (1, 1e-300, None),
            (1, 1e300, Some(0)),
            (u64::MAX, 1e9, Some(u64::MAX)),
            (u64::MAX, 1.0, None),
        ];
        for (i, rate, expected) in table {
            assert_eq!(exact_time(i, rate), expected, "arrival {i} at {rate}/s");
        }
    }

    #[test]
    fn rates_that_make_no_sense_count_as_none() {
        for rate in [-1.0, f64::NAN, f64::INFINITY, 0.0] {
            assert_eq!(Curve::level(rate, Nanos::ZERO, Nanos::MAX).time_of(0.0), None, "{rate}");
        }
    }
}
