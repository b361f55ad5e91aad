//! Redis, both halves: the client's ([`Redis`], [`RedisSession`]) and the server's ([`RedisServer`]).
//!
//! Spoken: RESP2 and RESP3 (the protocol specification of redis.io), to Redis, Valkey, KeyDB and what else speaks it; any
//! command that has one reply, pipelines, several commands as one exchange (`MULTI; …; EXEC`), AUTH with and without a user
//! of an ACL, SELECT, push messages. Left out: commands that are answered by a stream of messages (SUBSCRIBE, MONITOR, SYNC),
//! streamed strings and aggregates of RESP3 (no server sends them), and following MOVED and ASK: they are counted as what
//! they are, since a client that follows them hides that a node was asked for what it does not have.

mod codec;
mod commands;
mod dialogue;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod reply;
mod request;
mod server;
mod session;
#[cfg(test)]
mod tests;
mod words;

pub use dialogue::{Redis, RedisDialogue};
pub use request::Request;
pub use server::RedisServer;
pub use session::RedisSession;
