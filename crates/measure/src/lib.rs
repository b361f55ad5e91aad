//! Units, clock, histograms and statistics: the base layer of brunt.
//!
//! Except for the clock and [`sanitize`], everything here is pure arithmetic, and nothing allocates once a run has
//! started. The formulas of `docs/measurement.md` are implemented here, each with its source.

pub mod blocks;
mod calendar;
mod clock;
mod estimate;
pub mod format;
pub mod histogram;
pub mod quantile;
pub mod random;
pub mod sanitize;
pub mod steady;
pub mod units;

pub use blocks::RunBlocks;
pub use calendar::Calendar;
pub use clock::Clock;
pub use estimate::Estimate;
pub use format::{format_bytes, format_count, format_duration, format_rate};
pub use histogram::{Histogram, HistogramRows, PackedHistogram};
pub use quantile::{Quantile, QuantileValue, quantile};
pub use random::Rng;
pub use units::{Nanos, Rate};
