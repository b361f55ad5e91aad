//! What a virtual user sends next.
//!
//! For now a weighted choice among prepared requests; flows and scripts will stand beside it.

mod mix;

pub use mix::Mix;
