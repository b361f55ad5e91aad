//! How things are said: protocols as conversations without I/O, and the one ordered list of them.

mod awaited;
mod before_after;
mod beside;
pub mod cache;
pub mod capture;
mod cookies;
mod detect;
pub mod file;
pub mod grpc;
pub mod http;
pub mod http1;
pub mod http2;
mod identity;
pub mod kept;
mod marks;
pub mod mixed;
pub mod mysql;
#[cfg(test)]
mod names;
mod pattern;
mod percent;
pub mod pipe;
pub mod postgres;
pub mod raw;
pub mod redis;
pub mod resources;
mod span;
mod sql;
pub mod template;
mod url_overrides;
pub mod verify;
pub mod websocket;
pub mod weight;

use std::sync::Arc;

use wire::Protocol;

pub use http1::captured::CAPTURE;

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
