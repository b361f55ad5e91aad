//! The protocols of this build. The engine is generic over them, and here it is compiled for each: apart from the program, so
//! that a change of the program, and its tests, do not compile it again.

use engine::Runner;

/// Every protocol, in the order they are listed.
#[must_use]
pub fn all() -> Vec<Box<dyn Runner>> {
    vec![
        engine::runner(protocols::http::Http),
        engine::runner(protocols::websocket::WebSocket),
        engine::runner(protocols::grpc::Grpc),
        engine::runner(protocols::redis::Redis),
        engine::runner(protocols::mysql::Mysql),
        engine::runner(protocols::postgres::Postgres),
        engine::runner(protocols::raw::Raw),
        // For flows that speak several of them.
        engine::runner(protocols::mixed::Mixed),
    ]
}
