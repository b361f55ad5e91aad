//! A seeded simulation of clock and network: a minute of load runs in milliseconds, and a failing seed replays exactly.
//!
//! [`Sim`] implements [`wire::Network`] over virtual time. At the other end of every connection stands a [`Peer`]:
//! [`ServerPeer`] makes one of any [`wire::ServerSession`], [`SecurePeer`] puts simulated TLS ([`FakeSecurity`]) in
//! front of another. The client's processor is simulated by what its calls cost ([`SimSettings`]) and by pauses, so
//! that a generator that is late can be put to the test too.
//!
//! Left out: listening, congestion. Bytes of a stream are never lost or reordered: loss shows as it does to a program on
//! TCP, as a delay. A datagram arrives whole, in its turn, or never.

mod network;
mod path;
mod peer;
mod server;
mod settings;
mod slot;
mod station;
mod stream;
pub mod tls;
mod world;

#[cfg(test)]
mod tests;

pub use network::Sim;
pub use peer::{Deed, Peer, Say, Welcome};
pub use server::{Mishap, ReplyOwned, ServerPeer};
pub use settings::{Delay, SimSettings, Span};
pub use station::Station;
pub use tls::{FakeFailure, FakeSecurity, FakeSettings, SecurePeer};
