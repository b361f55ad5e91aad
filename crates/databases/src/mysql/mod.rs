//! The client/server protocol of MySQL and MariaDB, both sides: the client ([`MysqlProtocol`], [`MysqlSession`]) and a
//! minimal server for simulations ([`MysqlServer`]).
//!
//! Supported: "MySQL Source Code Documentation, Client/Server Protocol" (protocol version 10, since MySQL 5.5) and
//! MariaDB's addition of cached column metadata: text and prepared statements, multiple results, transactions as one
//! exchange, `mysql_native_password` and `caching_sha2_password`, TLS after the greeting. Not supported: compression,
//! cursors, LOAD DATA LOCAL (refused), bulk execution, replication, other authentication methods (refused by name).

mod answer;
mod auth;
mod codec;
mod dialect;
mod errors;
mod greeting;
mod opening;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod row_capture;
mod server;
mod session;
mod statement;
#[cfg(test)]
mod tests;
mod workload;

pub use codec::parse_excerpt;
pub use server::MysqlServer;
pub use session::MysqlSession;
pub use workload::{MysqlProtocol, MysqlWorkload};

pub use crate::sql::SqlRequest;
