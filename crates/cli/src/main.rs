//! brunt with the protocols of this build, in the order they are listed.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main_with(vec![engine::runner(protocols::http1::Http1)])
}
