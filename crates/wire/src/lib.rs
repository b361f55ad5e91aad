//! The contracts of brunt and nothing else: [`Protocol`], [`Dialogue`] and [`Session`] for protocols,
//! [`ServerSession`] for their server side, [`Network`] for transports and [`SecureChannel`] for the TLS layer between
//! the two.
//!
//! A session takes bytes in and gives bytes and finished exchanges out: no I/O, no clock, no threads. The same session
//! runs on epoll, on io_uring and on the simulated network.

mod answer;
mod checks;
mod events;
mod fault;
mod fill;
mod ids;
mod memory;
mod names;
mod network;
mod options;
mod out;
mod protocol;
mod proxy;
mod request;
mod secure;
mod server;
mod trace;
mod values;

pub use answer::{Answer, Row};
pub use checks::{CHECK_NAMES, CHECK_ROWS, CHECKS, Checks, Failed};
pub use events::{Done, Ended, Event, Follow, Found, Page};
pub use fault::{Errno, FaultKind, Phase};
pub use fill::Fill;
pub use ids::{ConnId, ExchangeId, OriginId, RequestId};
pub use memory::{Lesson, Memory, Recalled, Saved};
pub use names::{NAMES, Names, OTHER};
pub use network::{Arrival, Dial, ListenerId, Network, Place, Rest, Running};
pub use options::{Asked, AskedUrl, Complaint, OptionSpec, Options, Takes, Text, many, one, switch};
pub use out::Out;
pub use protocol::{
    About, Belongs, Broken, ByOrder, Dialogue, Established, Full, Origin, Prepared, Protocol, SHOWN, Sent, Session,
};
pub use proxy::{Exception, Proxies, Proxy, ProxyKind, bracketed};
pub use request::{Draft, Request, RequestList, Weighted};
pub use secure::{Fed, Handshake, SecureChannel, Security};
pub use server::{Ask, Extent, Reply, ServerSession, Shape};
pub use trace::{TRACEPARENT, Trace};
pub use values::Values;
