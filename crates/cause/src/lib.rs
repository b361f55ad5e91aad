//! Causes: the reasons why requests fail, connections are lost and runs cannot begin. Each sentence is defined once, in
//! English and Chinese.
//!
//! A [`Cause`] is a sentence with its arguments. Code that detects an error creates a cause with the function named
//! after the sentence, so that every error has a defined sentence. Records store the cause next to the English text,
//! and reports show it in the reader's language. Third-party text (an error message of a server, an excerpt of a body)
//! is never translated: it is an argument or a separate cause ([`verbatim`]).
//!
//! Records from before causes were stored have only the English text, whose sentence [`Cause::from_legacy_text`]
//! recognizes.

mod complaint;
mod legacy;
mod message;
mod sentence;

#[macro_use]
mod table;

pub mod agents;
pub mod captures;
pub mod checks;
pub mod connecting;
pub mod delivery;
pub mod grpc;
pub mod http1;
pub mod http2;
pub mod mysql;
pub mod postgres;
pub mod proxy;
pub mod raw;
pub mod redis;
pub mod response;
pub mod run;
pub mod side_messages;
pub mod sql;
pub mod tls;
pub mod websocket;

#[cfg(test)]
mod tests;

pub use complaint::Complaint;
pub use message::{Cause, CauseArgument, StaticCause, StaticSentence};
pub use sentence::Sentence;

/// All sentences by area. The text of an old record is assigned to the first sentence that matches.
const AREAS: &[&[Sentence]] = &[
    connecting::ALL,
    proxy::ALL,
    tls::ALL,
    response::ALL,
    side_messages::ALL,
    http1::ALL,
    http2::ALL,
    websocket::ALL,
    checks::ALL,
    captures::ALL,
    grpc::ALL,
    redis::ALL,
    sql::ALL,
    mysql::ALL,
    postgres::ALL,
    raw::ALL,
    run::ALL,
    agents::ALL,
    delivery::ALL,
];

/// Returns all sentences.
pub fn all() -> impl Iterator<Item = &'static Sentence> {
    AREAS.iter().copied().flatten()
}

/// Creates a cause from unchanged third-party text.
pub fn verbatim(words: impl Into<String>) -> Cause {
    Cause::new(&sentence::SAID, [CauseArgument::Words(words.into())])
}
