//! HTTP and the protocols on top of it: HTTP/1.1, HTTP/2, WebSocket and gRPC, implemented without I/O.

mod await_condition;
pub mod cache;
mod cookies;
mod detect;
pub mod grpc;
pub mod http;
pub mod http1;
pub mod http2;
mod auth_options;
#[cfg(test)]
mod budget_tests;
mod placeholders;
pub mod resources;
pub mod websocket;
