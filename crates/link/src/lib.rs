//! What connects brunt with the other machines of its fleet: one messenger for each engine, and the ways in which brunt
//! reaches it.

mod local_server;
mod nats_messenger;
pub mod renewed;
mod zenoh_messenger;

pub use local_server::LocalServer;
pub use nats_messenger::NatsMessenger;
pub use zenoh_messenger::{AgentIdentity, ZenohMessenger, names};
