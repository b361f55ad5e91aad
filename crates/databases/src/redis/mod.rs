//! Redis, both sides: the client ([`RedisProtocol`], [`RedisSession`]) and the server ([`RedisServer`]).
//!
//! Supported: RESP2 and RESP3 (the protocol specification of redis.io), with Redis, Valkey, KeyDB and compatible
//! servers; any command with one reply, pipelines, several commands as one exchange (`MULTI; …; EXEC`), AUTH with and
//! without an ACL user, SELECT, push messages. Not supported: commands answered by a stream of messages (SUBSCRIBE,
//! MONITOR, SYNC), streamed strings and aggregates of RESP3 (no server sends them), and following MOVED and ASK: these
//! are counted as errors, since a client that follows them hides that a node was asked for keys that it does not hold.

mod codec;
mod commands;
mod error_words;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod reply;
mod request;
mod server;
mod session;
#[cfg(test)]
mod tests;
mod workload;

pub use request::RedisRequest;
pub use server::RedisServer;
pub use session::RedisSession;
pub use workload::{RedisProtocol, RedisWorkload};
