//! The contracts of brunt and nothing else: [`Protocol`], [`Dialogue`] and [`Session`] for protocols,
//! [`ServerSession`] for their server side, [`Network`] for transports and [`SecureChannel`] for the TLS layer between
//! the two.
//!
//! A session takes bytes in and gives bytes and finished exchanges out: no I/O, no clock, no threads. The same session
//! runs on epoll, on io_uring and on the simulated network.

mod response_content;
mod checks;
mod events;
mod fault;
mod slot_context;
mod ids;
mod user_state;
mod names;
mod network;
mod options;
mod output;
mod protocol;
mod proxy;
mod request;
mod secure;
mod server;
mod trace;
mod values;

pub use response_content::{ResponseContent, DatabaseRow};
pub use checks::{CHECK_NAMES, MAX_CHECK_NAMES, MAX_CHECKS, Checks, FailedChecks};
pub use events::{EventBuffer, ExchangeEnd, Event, FollowUp, ResourceSearch, PageResources};
pub use fault::{Errno, FaultKind, Phase};
pub use slot_context::SlotContext;
pub use ids::{ConnId, ExchangeId, OriginId, RequestId};
pub use user_state::{StateUpdate, UserState, CacheHit, CacheSavings};
pub use names::{MAX_NAMES, RequestNames, OTHER};
pub use network::{NetworkEvent, ConnectParameters, ListenerId, Network, PeerAddress, TurnRemainder, ThreadStats};
pub use options::{ProtocolConfig, RequestedUrl, UsageError, OptionSpec, OptionValues, OptionArity, HelpText, many, one, switch};
pub use output::OutputBuffer;
pub use protocol::{
    ProtocolDescription, ConnectionOwner, ProtocolError, OrderedResponses, Workload, EstablishedConnection, SessionFull, Origin, PreparedWorkload, Protocol, MAX_SHOWN_BYTES, SubmitOutcome, Session,
};
pub use proxy::{ProxyException, ProxyRules, Proxy, ProxyKind, bracketed};
pub use request::{RequestDraft, Request, RequestList, WeightedRequest};
pub use secure::{ChannelProgress, Handshake, SecureChannel, SecureChannelFactory};
pub use server::{ServerRequest, RequestPart, ServerResponse, ServerSession, BodyFraming};
pub use trace::{TRACEPARENT, Trace};
pub use values::UserValues;
