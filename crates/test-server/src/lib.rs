//! The built-in server under test: ground truth of the accuracy tests, and fault injector.
//!
//! The path of a request determines the answer, so that one running target serves every test:
//!
//! | path | answer |
//! |---|---|
//! | `/` | 200, `ok` |
//! | `/status/503` | that status (200 to 999) |
//! | `/bytes/N` | a body of N bytes, up to 1 GiB |
//! | `/chunked/N`, `/chunked/N/SIZE` | the same in chunks of SIZE bytes (8192) |
//! | `/close/N` | the same, ended by closing the connection |
//! | `/header/NAME/VALUE` | with that header line |
//! | `/delay/DIST` | after a delay: `10ms`, `constant:10ms`, `uniform:5ms..15ms`, `exponential:2ms`, `lognormal:10ms,0.5` (median, sigma) |
//! | `/redirect/N` | 302 to `/redirect/N-1`, and so on to `/redirect/0` |
//! | `/echo` | the request's head and body as received (of a body in pieces, the first 64 KiB) |
//! | `/hang` | no answer, ever |
//! | `/reset` | the connection is reset |
//! | `/garbage` | bytes that are not HTTP, then the connection is closed |
//! | `/cut/K` | the connection is closed after K bytes of an answer of 1000 bytes and its head |
//! | `/endless-headers` | header lines without end |
//! | `/short/N` | announces N bytes, sends half of them and closes |
//! | `/long/N` | announces N bytes and sends half as many more |
//! | `/-/stats` | the counters as JSON |
//! | `/-/reset-stats` | resets the counters to zero |
//!
//! Query parameters add to the path and win if both set the same thing: `delay=DIST`,
//! `status=CODE`, `size=N`, `header=NAME:VALUE` (repeatable), `cut=K`, `close=1`, and
//! `station=N&service=DIST`: a real queue with N servers, first come first served over the whole
//! process (one queue for each pair of N and DIST). Percent escapes are decoded. Unknown paths are
//! answered 404, invalid values 400, each with a message; unknown parameters are ignored.
//!
//! One port serves HTTP/1.1, HTTP/2 (by its preface; with TLS also by ALPN) and, after an upgrade, WebSocket
//! ([`DetectingSession`]). WebSocket messages are echoed, each after the delay of its path; a path with a size is
//! answered with that many bytes; other paths have no effect. `/status/403` refuses the upgrade. Faults, as each
//! protocol expresses them:
//!
//! | path | HTTP/2 | WebSocket |
//! |---|---|---|
//! | `/reset` | RST_STREAM, the other streams go on | the connection is reset |
//! | `/hang` | no answer; the others go on | no answer; pings are answered |
//! | `/cut/K` | K bytes of the body, then RST_STREAM | K bytes of a message of 1000, then closed |
//! | `/short/N`, `/long/N` | fewer or more bytes than the announced length | a message that does not end, or that is followed by bytes that are no frame |
//! | `/garbage`, `/endless-headers` | bytes that are no frame, then closed | bytes that are no frame, then closed |
//!
//! gRPC calls go to the service `brunt.Target` (Unary, ClientStream, ServerStream, Bidi), whose
//! methods echo, count or repeat messages; health checks and reflection are answered as well. The
//! metadata key `brunt-path` has the role of the HTTP path, and also accepts `grpc-status=N`.
//! `/status/N` is answered in plain HTTP without a gRPC status, `/bytes/N` with a Payload of N
//! bytes of text; `/cut/K` resets the stream after K bytes of a message; `/short/N` and `/long/N`
//! send a message whose length differs from its prefix.
//!
//! Bodies above 16 MiB need HTTP/1.1. `--error-rate` closes a WebSocket with 1011.
//!
//! The crate consists of a [`Responder`] without I/O (how and when to answer), a [`TargetWorker`] that serves it over
//! any [`brunt_contract::Network`], and a [`TargetServer`] that runs workers in threads, as many as the descriptor
//! limit requires. TLS is a network wrapped around the network ([`brunt_net::tls::TlsNetwork`]).

mod accounting;
pub mod arrivals;
mod call_schedule;
mod calls;
mod config;
mod connection;
mod delay;
mod detect;
mod framed;
mod lanes;
mod path;
mod path_spec;
mod protocol_session;
mod queue_model;
mod raw_answer;
mod responder;
mod serve;
mod stall;
mod stats;
mod worker;

pub use calls::CallAction;
pub use config::{ALPN, Config, place, share};
pub use delay::{DelayDistribution, normal_quantile};
pub use detect::DetectingSession;
pub use path_spec::{AnswerBody, PathKind, PathSpec, WithheldAnswer};
pub use protocol_session::{AnswerFault, TargetProtocol, TargetSession};
pub use queue_model::QueueModel;
pub use raw_answer::RawAnswer;
pub use responder::{AnswerPlan, NextStep, ParsedRequest, Responder, SharedState};
pub use serve::{TargetServer, run_until};
pub use stall::{ServerStall, ServerStalls};
pub use stats::{ProtocolStats, Stats, Tallies};
pub use worker::TargetWorker;
