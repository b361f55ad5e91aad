//! The client/server protocol of MySQL and MariaDB, both halves: the client's ([`Mysql`], [`MysqlSession`]) and the
//! server's ([`MysqlServer`], as small as a simulation needs).
//!
//! Spoken: "MySQL Source Code Documentation, Client/Server Protocol" (protocol version 10, from MySQL 5.5 on) and what
//! MariaDB adds to it (columns described once): text and prepared statements, several results, transactions as one
//! exchange, `mysql_native_password` and `caching_sha2_password`, TLS behind the greeting. Left out: compression, cursors,
//! LOAD DATA LOCAL (refused), bulk execution, replication, further ways of authentication (refused by name).

mod answer;
mod auth;
mod codec;
mod dialect;
mod dialogue;
mod errors;
mod greeting;
mod looking;
mod opening;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod server;
mod session;
mod statement;
#[cfg(test)]
mod tests;

pub use codec::refusal_shown;
pub use dialogue::{Mysql, MysqlDialogue};
pub use server::MysqlServer;
pub use session::MysqlSession;

pub use crate::sql::Request;
