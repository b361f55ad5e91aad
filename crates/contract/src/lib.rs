//! The contracts of brunt and nothing else: [`Protocol`], [`Workload`] and [`Session`] for protocols, [`ServerSession`]
//! for their server side, [`Network`] for transports, and [`SecureChannel`] for the TLS layer between session and
//! network.
//!
//! A session takes bytes in and gives bytes and finished exchanges out: no I/O, no clock, no threads. The same session
//! runs on epoll, on io_uring and on the simulated network.

mod checks;
mod events;
mod fault;
mod ids;
mod names;
mod network;
mod options;
mod output;
mod protocol;
mod proxy;
mod request;
mod response_content;
mod secure;
mod server;
mod slot_context;
mod trace;
mod user_state;
mod values;

pub use checks::{CHECK_NAMES, Checks, FailedChecks, MAX_CHECK_NAMES, MAX_CHECKS};
pub use events::{Event, EventBuffer, ExchangeEnd, FollowUp, PageResources, ResourceSearch};
pub use fault::{Errno, FaultKind, Phase};
pub use ids::{ConnId, ExchangeId, OriginId, RequestId};
pub use names::{MAX_NAMES, OTHER, RequestNames};
pub use network::{ConnectParameters, ListenerId, Network, NetworkEvent, PeerAddress, ThreadStats, TurnRemainder};
pub use options::{
    HelpText, OptionArity, OptionSpec, OptionValues, ProtocolConfig, RequestedUrl, UsageError, many, one, switch,
    zh_place,
};
pub use output::OutputBuffer;
pub use protocol::{
    ConnectionOwner, EstablishedConnection, MAX_SHOWN_BYTES, OrderedResponses, Origin, PreparedWorkload, Protocol,
    ProtocolDescription, ProtocolError, Session, SessionFull, SubmitOutcome, Workload,
};
pub use proxy::{Proxy, ProxyException, ProxyKind, ProxyRules, bracketed};
pub use request::{Request, RequestDraft, RequestList, WeightedRequest};
pub use response_content::{DatabaseRow, ResponseContent};
pub use secure::{ChannelProgress, Handshake, SecureChannel, SecureChannelFactory};
pub use server::{BodyFraming, RequestPart, ServerRequest, ServerResponse, ServerSession};
pub use slot_context::SlotContext;
pub use trace::{TRACEPARENT, Trace};
pub use user_state::{CacheHit, CacheSavings, StateUpdate, UserState};
pub use values::UserValues;
