//! brunt with the protocols of this build, in the order they are listed.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main_with(vec![
        engine::runner(protocols::http::Http),
        engine::runner(protocols::websocket::WebSocket),
        engine::runner(protocols::grpc::Grpc),
        engine::runner(protocols::redis::Redis),
        engine::runner(protocols::mysql::Mysql),
        engine::runner(protocols::postgres::Postgres),
        engine::runner(protocols::raw::Raw),
    ])
}
