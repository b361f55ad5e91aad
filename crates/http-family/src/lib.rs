//! HTTP and the protocols on top of it: HTTP/1.1, HTTP/2, WebSocket and gRPC, implemented without I/O.

mod auth_options;
mod await_condition;
#[cfg(test)]
mod budget_tests;
pub mod cache;
mod cookies;
mod detect;
pub mod grpc;
pub mod http;
pub mod http1;
pub mod http2;
mod placeholders;
pub mod resources;
pub mod websocket;

/// Returns the English text of an error, which must be there in Chinese, too.
#[cfg(test)]
fn bilingual(wrong: brunt_contract::UsageError) -> String {
    assert!(wrong.is_translated(), "in English alone: {wrong}");
    wrong.to_string()
}
