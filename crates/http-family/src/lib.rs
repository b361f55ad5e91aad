//! HTTP and the protocols on top of it: HTTP/1.1, HTTP/2, WebSocket and gRPC, implemented without I/O.

mod awaited;
pub mod cache;
mod cookies;
mod detect;
pub mod grpc;
pub mod http;
pub mod http1;
pub mod http2;
mod identity;
#[cfg(test)]
mod kept_tests;
mod marks;
pub mod resources;
pub mod websocket;
