//! PostgreSQL, client side ([`Postgres`], [`PostgresSession`]).
//!
//! Spoken: the frontend/backend protocol, version 3.0 ("Frontend/Backend Protocol", documentation of PostgreSQL 15), to
//! PostgreSQL from 7.4 on and what else speaks it: simple and extended queries, prepared statements, several statements as
//! one exchange, trust, passwords in clear, MD5 and SCRAM-SHA-256, TLS behind SSLRequest. Left out: COPY from us (refused),
//! cursors, binary formats, channel binding (SCRAM-SHA-256-PLUS), Kerberos and the like, several exchanges in flight on a
//! connection, and a server half.

mod codec;
mod dialect;
mod dialogue;
mod errors;
mod login;
mod looking;
mod message;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod scram;
mod session;
mod statement;
#[cfg(test)]
mod tests;

pub use codec::refusal_shown;
pub use dialogue::{Postgres, PostgresDialogue};
pub use session::PostgresSession;

pub use crate::sql::Request;
