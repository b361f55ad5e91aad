//! The client side of PostgreSQL's protocol ([`PostgresProtocol`], [`PostgresSession`]).
//!
//! Supported: the frontend/backend protocol, version 3.0 ("Frontend/Backend Protocol", documentation of PostgreSQL 15),
//! with PostgreSQL since 7.4 and compatible servers: simple and extended queries, prepared statements, several
//! statements as one exchange, trust, clear-text passwords, MD5 and SCRAM-SHA-256, TLS after SSLRequest. Not supported:
//! COPY from the client (refused), cursors, binary formats, channel binding (SCRAM-SHA-256-PLUS), Kerberos and the
//! like, several exchanges in flight on a connection, and a server side.

mod codec;
mod dialect;
mod errors;
mod login;
mod message;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod row_capture;
mod scram;
mod session;
mod statement;
#[cfg(test)]
mod tests;
mod workload;

pub use codec::parse_excerpt;
pub use session::PostgresSession;
pub use workload::{PostgresProtocol, PostgresWorkload};

pub use crate::sql::SqlRequest;
