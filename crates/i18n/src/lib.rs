//! Sentences in all languages, and number formats for them, used by documents, rules and findings.
//!
//! The sentences themselves are defined where they are used.

pub mod numbers;
mod sentence;
pub mod text;

pub use sentence::{LocalizedSentence, listed};
pub use text::{Lang, Text};
