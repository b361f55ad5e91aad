//! How things are said: protocols as conversations without I/O, and the one ordered list of them.

pub mod mixed;
#[cfg(test)]
mod names;

use std::sync::Arc;

use wire::Protocol;

pub use databases::{mysql, postgres, redis};
pub use http_family::{cache, grpc, http, http1, http2, resources, websocket};
pub use raw;
pub use values::{capture, file, kept, pipe, template, verify, weight};

pub use values::capture::CAPTURE;

/// Every protocol of brunt, in the order they are listed.
#[must_use]
pub fn all() -> Vec<Arc<dyn Protocol>> {
    with_mixed(vec![
        Arc::new(http::Http),
        Arc::new(websocket::WebSocket),
        Arc::new(grpc::Grpc),
        Arc::new(redis::Redis),
        Arc::new(mysql::Mysql),
        Arc::new(postgres::Postgres),
        Arc::new(raw::Raw),
    ])
}

/// These protocols, and one more for flows that speak several of them.
#[must_use]
pub fn with_mixed(mut protocols: Vec<Arc<dyn Protocol>>) -> Vec<Arc<dyn Protocol>> {
    protocols.push(Arc::new(mixed::Mixed::of(protocols.clone())));
    protocols
}
