//! `cargo xtask bench`: speed, side by side with the peers.

use crate::arguments::Arguments;

/// `bench [--only SCENARIO] [--rounds N] [--seconds S] [--brunt PATH]`.
pub fn run(arguments: Arguments) -> Result<(), String> {
    arguments.words()?;
    crate::install::from_debian(&crate::install::FOR_BENCH);
    crate::install::from_registries();
    Ok(())
}
