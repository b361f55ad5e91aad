//! Units, clock, histograms and statistics: the ground floor of brunt.
//!
//! Everything here is pure arithmetic (reading the clock is the one exception), allocates nothing once a run has
//! started, and is where the formulas of `docs/measurement.md` live, each with its source.

mod clock;
pub mod histogram;
pub mod random;
pub mod units;

pub use clock::Clock;
pub use histogram::Histogram;
pub use random::Rng;
pub use units::{Nanos, Rate};
