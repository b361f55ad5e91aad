//! Experiments: several runs that answer one question. Each is a brunt process that writes one record, from which
//! everything shown is read; so it goes on if the console ends, and the next console finds it.

mod active;
mod live_pages;
mod shelf;
#[cfg(test)]
mod tests;

pub use active::{ActiveExperiments, ExperimentRequest, can_go_on};
pub use shelf::{ExperimentShelf, ShelvedExperiment};
