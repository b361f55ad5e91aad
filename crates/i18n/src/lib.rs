//! Sentences in all languages and number formats for them: the base of documents, rules and findings.
//!
//! The sentences themselves are defined where they are used.

mod sentence;
pub mod numbers;
pub mod text;

pub use sentence::LocalizedSentence;
pub use text::{Lang, Text};
