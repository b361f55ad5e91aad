//! Whole runs of the engine on the simulated network: exact, deterministic, replayed from a seed.

mod accounting;
mod harness;
mod rate;
