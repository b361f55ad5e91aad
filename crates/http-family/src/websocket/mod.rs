//! WebSocket, client ([`WebSocketProtocol`], [`WebSocketSession`]) and server ([`WebSocketServer`]).
//!
//! Supports RFC 6455 over HTTP/1.1 (`ws://`, `wss://`) and RFC 7692 (permessage-deflate, offered with `--compress`). An
//! exchange is one message and its answer, matched by order or by a JSON field; a one-way message is complete once
//! written; unsolicited messages are pushes. Validated: the whole handshake, reserved bits, masks, lengths, fragments,
//! UTF-8, close codes. Not supported: redirects of the upgrade, WebSocket over HTTP/2 (RFC 8441), other extensions, and
//! compression on the server side, which declines it.

mod close;
mod codec;
mod content;
mod control;
mod deflate;
mod expect;
mod extras;
mod incoming;
mod json_path;
mod mask;
mod opening;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod pending;
mod request;
mod rules;
mod server;
mod session;
mod steps;
#[cfg(test)]
mod tests;
mod transcript;
mod upgrade;
mod utf8;
mod workload;

pub use request::WebSocketMessage;
pub use server::WebSocketServer;
pub use session::WebSocketSession;
pub use workload::{WebSocketProtocol, WebSocketWorkload};
