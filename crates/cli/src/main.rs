//! The `brunt` binary with the protocols of this build.

use std::process::ExitCode;

fn main() -> ExitCode {
    brunt_cli::main_with(brunt_protocols::all())
}
