//! Whole runs of the engine on the simulated network: exact, deterministic, replayed from a seed.

mod accounting;
mod beating;
mod behaviour;
mod blame;
mod changed;
mod cookies;
mod cut;
mod ending;
mod endless;
mod flowing;
mod fronted;
mod full;
pub(crate) mod harness;
mod held;
mod lost;
mod memory;
mod named;
mod patience;
mod played;
mod rate;
mod refused;
mod shared;
mod spinning;
mod strays;
mod together;
mod truth;
mod watched;
