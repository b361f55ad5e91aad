//! How things are said: protocols as conversations without I/O. The program keeps the one ordered list of them.

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

pub use http1::captured::CAPTURE;
