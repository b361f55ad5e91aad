//! The `brunt` binary with the protocols of this build.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main_with(protocols::all())
}
