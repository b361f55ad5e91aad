//! A seeded simulation of clock and network: a minute of load runs in milliseconds, and a failing seed replays exactly.
//!
//! [`Sim`] implements [`brunt_contract::Network`] over virtual time. The other end of every
//! connection is a [`SimPeer`]: [`ServerPeer`] adapts any [`brunt_contract::ServerSession`], and
//! [`SecurePeer`] puts simulated TLS ([`FakeSecurity`]) in front of another peer. The client's
//! processor is simulated by the cost of its calls ([`SimSettings`]) and by pauses, so that a late
//! generator can be tested too.
//!
//! Listening and congestion are not simulated. Bytes of a stream are never lost or reordered: a loss appears as a
//! delay, as it does to a program on TCP. A datagram arrives whole and in order, or never.

mod network;
mod path;
mod peer;
mod queue;
mod server;
mod settings;
mod slot;
mod stream;
pub mod tls;
mod world;

#[cfg(test)]
mod tests;

pub use network::Sim;
pub use peer::{ConnectDecision, PeerAction, PeerActions, SimPeer};
pub use queue::SimQueue;
pub use server::{ReplyFault, ServerPeer, SimReply};
pub use settings::{SimDelay, SimInterval, SimSettings};
pub use tls::{FakeFailure, FakeSecurity, FakeSettings, SecurePeer};
