//! Sentences in every language, and how numbers look in them: what documents, rules and findings say things with.
//!
//! The sentences themselves stand where they are said.

mod said;
pub mod show;
pub mod text;

pub use said::Said;
pub use text::{Lang, Text};
