//! Why requests fail, connections are lost and runs cannot begin: each sentence stands here once, in English and in Chinese.
//!
//! A [`Cause`] is one of these sentences and what stands in its places. Whoever finds something wrong makes one with the
//! function that has the sentence's name, so that none is said without; records keep it beside the English text, and reports
//! write it in the reader's language. The words of others (an error of a server, an excerpt of a body) are never translated:
//! they stand in places, or alone ([`said`]).
//!
//! A record made before causes were kept has the English text only: [`Cause::before`] finds the sentence that it is.

mod before;
mod sentence;
mod told;

#[macro_use]
mod table;

pub mod beside;
pub mod captures;
pub mod checks;
pub mod grpc;
pub mod http1;
pub mod http2;
pub mod mysql;
pub mod postgres;
pub mod proxy;
pub mod raw;
pub mod reaching;
pub mod redis;
pub mod response;
pub mod run;
pub mod sql;
pub mod tls;
pub mod websocket;

#[cfg(test)]
mod tests;

pub use sentence::Sentence;
pub use told::{Cause, Fixed, Place, Plain};

/// Every sentence, area by area. A sentence of a record made before causes is taken for the first one that fits.
const AREAS: &[&[Sentence]] = &[
    reaching::ALL,
    proxy::ALL,
    tls::ALL,
    response::ALL,
    beside::ALL,
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
];

/// Every sentence.
pub fn all() -> impl Iterator<Item = &'static Sentence> {
    AREAS.iter().copied().flatten()
}

/// The words of somebody else, as they are.
pub fn said(words: impl Into<String>) -> Cause {
    Cause::new(&sentence::SAID, [Place::Words(words.into())])
}
