//! Protocols without I/O, and the ordered list of all of them.

pub mod composite;
#[cfg(test)]
mod names;

use std::sync::Arc;

use brunt_contract::Protocol;

pub use brunt_databases::{mysql, postgres, redis};
pub use brunt_http_family::{cache, grpc, http, http1, http2, resources, websocket};
pub use brunt_raw as raw;
pub use brunt_values::{budget, capture, data, file, pipe, standard_input, template, verify, weight};

pub use brunt_values::capture::CAPTURE;

/// Returns all protocols in listing order.
#[must_use]
pub fn all() -> Vec<Arc<dyn Protocol>> {
    with_composite(vec![
        Arc::new(http::Http),
        Arc::new(websocket::WebSocketProtocol),
        Arc::new(grpc::GrpcProtocol),
        Arc::new(redis::RedisProtocol),
        Arc::new(mysql::MysqlProtocol),
        Arc::new(postgres::PostgresProtocol),
        Arc::new(brunt_raw::RawProtocol),
    ])
}

/// Appends the protocol for flows that mix these protocols.
#[must_use]
pub fn with_composite(mut protocols: Vec<Arc<dyn Protocol>>) -> Vec<Arc<dyn Protocol>> {
    protocols.push(Arc::new(composite::CompositeProtocol::of(protocols.clone())));
    protocols
}
