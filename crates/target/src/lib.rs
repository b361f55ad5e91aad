//! The built-in server under test: ground truth of the accuracy tests, and fault injector.
//!
//! The path of a request says how it is answered, so that one running target serves every test:
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
//! | `/echo` | the request's head and body as received (bodies that come in pieces: the first 64 KiB) |
//! | `/hang` | nothing, for ever |
//! | `/reset` | the connection is reset |
//! | `/garbage` | bytes that are no HTTP, then the connection is closed |
//! | `/cut/K` | the connection is closed after K bytes of an answer of 1000 bytes and its head |
//! | `/endless-headers` | header lines without end |
//! | `/short/N` | announces N bytes, sends half of them and closes |
//! | `/long/N` | announces N bytes and sends half as many again |
//! | `/-/stats` | the counters as JSON |
//! | `/-/reset-stats` | counts from zero again |
//!
//! Query parameters add to the path and win where both say the same: `delay=DIST`, `status=CODE`, `size=N`,
//! `header=NAME:VALUE` (repeatable), `cut=K`, `close=1`, and `station=N&service=DIST`: a real queue with N servers, first
//! come first served over the whole process (one queue for each pair of N and DIST). Percent signs are undone. Unknown
//! paths are answered 404, wrong values 400, each with a sentence; unknown parameters are ignored.
//!
//! Made of a [`Brain`] without I/O (what to answer, and when), a [`Worker`] that serves it over any [`wire::Network`], and
//! a [`Target`] that runs workers in threads. Left out: TLS, and protocols other than HTTP/1.1 for raw answers.

pub mod arrivals;
mod brain;
mod config;
mod delay;
mod flood;
mod order;
mod path;
mod serve;
mod stall;
mod station;
mod stats;
mod worker;

pub use brain::{Brain, Heard, Next, Plan, Shop};
pub use config::{Config, place, share};
pub use delay::{Delay, normal_quantile};
pub use flood::Flood;
pub use order::{Body, Kind, Order, Withheld};
pub use serve::{Target, run_until};
pub use stall::{Stall, Stalls};
pub use station::Station;
pub use stats::{Stats, Tallies};
pub use worker::Worker;
