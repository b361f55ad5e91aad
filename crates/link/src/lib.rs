//! What connects brunt with the other machines of its fleet: one messenger for each engine, and the ways in which brunt
//! reaches it.

mod joined_fleet;
mod local_server;
mod nats_messenger;
mod probe;
pub mod renewed;
mod standstill;
mod under_way;
mod unreached;
mod zenoh_messenger;

/// Questions under way to what answers at one address; beyond that they are asked again by whoever asked.
const QUESTIONS_AT_ONCE: usize = 1024;

pub use joined_fleet::{AgentIdentity, FleetContact, JoinedFleet, Resolve};
pub use local_server::LocalServer;
pub use nats_messenger::NatsMessenger;
pub use standstill::{STANDSTILL, watch_standstill};
pub use unreached::Unreached;
pub use zenoh_messenger::{ZenohMessenger, members};
