//! The flags of `brunt demo` and `brunt report`: little more than how to show a run.

use clap::ArgMatches;
use measure::Nanos;
use wire::Complaint;

use super::intent::{Presentation, presentation};
use super::matched::Matched;
use super::{Demo, flags, help};

/// The command line of `brunt demo`.
pub fn demo_command() -> clap::Command {
    flags::bare("brunt demo")
        .about("Load the built-in target, started in a second process.")
        .after_help(help::DEMO)
        .arg(flags::one("duration", Some('d'), "TIME", "Load for TIME [default: 10s]"))
        .args(flags::document())
        .arg(flags::switch("quiet", None, "No console output; -o is still written"))
        .arg(flags::switch("no-color", None, "No colours"))
}

/// Reads the flags of `brunt demo`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn demo(matches: &ArgMatches) -> Result<Demo, Complaint> {
    let flags = Matched::line(matches);
    let duration = flags.time("duration", "-d")?.unwrap_or(Nanos::from_secs(10));
    Ok(Demo { duration, presentation: presentation(&flags)? })
}

/// The command line of `brunt report`.
pub fn report_command() -> clap::Command {
    flags::bare("brunt report")
        .about("Show a past run again: the last one, or the one in FILE.")
        .arg(clap::Arg::new("file").value_name("FILE").help("A file that --record wrote"))
        .args(flags::document())
        .arg(flags::switch("quiet", None, "No console output; -o is still written"))
        .arg(flags::switch("no-color", None, "No colours"))
}

/// Reads the flags of `brunt report`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn report(matches: &ArgMatches) -> Result<(Option<String>, Presentation), Complaint> {
    let flags = Matched::line(matches);
    Ok((flags.text("file").map(String::from), presentation(&flags)?))
}
