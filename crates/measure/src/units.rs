//! Unit types: bare numbers never cross crate boundaries.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A time or a duration in nanoseconds. Times are readings of [`crate::Clock`]; subtraction saturates at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Nanos = Nanos(0);
    /// The latest time: "never".
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Creates a duration of whole seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }
    /// Creates a duration of milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }
    /// Creates a duration of microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }
    /// Creates a duration of fractional seconds; negative values become zero.
    pub fn from_secs_f64(s: f64) -> Nanos {
        Nanos((s * 1e9).round().max(0.0) as u64)
    }
    /// Returns the duration in fractional seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the duration in fractional microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// Returns the duration in fractional milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the sum, or [`Nanos::MAX`] if it overflows.
    pub fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{}ns", self.0),
            1_000..1_000_000 => write!(f, "{:.3}us", self.as_micros_f64()),
            1_000_000..1_000_000_000 => write!(f, "{:.3}ms", self.as_millis_f64()),
            _ => write!(f, "{:.3}s", self.as_secs_f64()),
        }
    }
}

/// Events per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Rate(pub f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtraction_stops_at_zero_and_sums_at_never() {
        assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
        assert_eq!(Nanos(5) - Nanos(3), Nanos(2));
        assert_eq!(Nanos::MAX.saturating_add(Nanos(1)), Nanos::MAX);
    }

    #[test]
    fn conversions() {
        assert_eq!(Nanos::from_secs(2), Nanos::from_millis(2000));
        assert_eq!(Nanos::from_millis(3), Nanos::from_micros(3000));
        assert_eq!(Nanos::from_secs_f64(0.001_000_000_4), Nanos(1_000_000));
        assert_eq!(Nanos::from_secs_f64(0.001_000_000_6), Nanos(1_000_001));
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        let time = Nanos(1_234_567);
        let found = (time.as_secs_f64(), time.as_millis_f64(), time.as_micros_f64());
        assert_eq!(found, (0.001_234_567, 1.234_567, 1_234.567));
    }

    #[test]
    fn display() {
        let table = [(999, "999ns"), (1_500, "1.500us"), (2_000_000, "2.000ms"), (61_000_000_000, "61.000s")];
        for (nanos, text) in table {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }
}
