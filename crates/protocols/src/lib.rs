//! Protocols without I/O, and the ordered list of all of them.

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

/// Returns all protocols in listing order.
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

/// Appends the protocol for flows that mix these protocols.
#[must_use]
pub fn with_mixed(mut protocols: Vec<Arc<dyn Protocol>>) -> Vec<Arc<dyn Protocol>> {
    protocols.push(Arc::new(mixed::Mixed::of(protocols.clone())));
    protocols
}
