//! Laws of capacity: what throughput can be at most ([`bounds`]), how it scales with users ([`usl`]), where its curve bends
//! ([`kneedle`]), and which step of a ladder costs what ([`ladder`]).

pub mod bounds;
pub mod kneedle;
pub mod ladder;
pub mod least_squares;
pub mod usl;
