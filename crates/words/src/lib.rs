//! Sentences in all languages and number formats for them: the base of documents, rules and findings.
//!
//! The sentences themselves are defined where they are used.

mod said;
pub mod show;
pub mod text;

pub use said::Said;
pub use text::{Lang, Text};
