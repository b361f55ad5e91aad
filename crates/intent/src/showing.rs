//! The flags of `brunt demo`, `brunt calibrate` and `brunt report`: little more than how to show a run.

use clap::ArgMatches;
use measure::Nanos;
use plan::quantity;
use wire::Complaint;

use super::intent::{Presentation, language, presentation};
use super::matched::Matched;
use super::{Calibrate, Demo, flags, help};

/// The command line of `brunt demo`.
pub fn demo_command() -> clap::Command {
    flags::bare("brunt demo")
        .about("Load the built-in target, started in a second process.")
        .after_help(help::DEMO)
        .arg(flags::one("duration", Some('d'), "TIME", "Load for TIME [default: 10s]"))
        .args(flags::document())
        .arg(flags::switch("quiet", None, "No console output except what --format prints; -o is still written"))
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

/// The command line of `brunt calibrate`.
pub fn calibrate_command() -> clap::Command {
    flags::bare("brunt calibrate")
        .about("Measure and save what brunt itself costs on this machine, using the built-in target.")
        .after_help(help::CALIBRATE)
        .arg(flags::one("duration", Some('d'), "TIME", "Load for TIME, twice [default: 3s]"))
        .arg(flags::one("users", Some('c'), "N", "Users, each sending requests back to back [default: 64]"))
        .arg(flags::one("workers", Some('w'), "N", "Worker threads [default: the cores available to brunt]"))
        .arg(flags::one("lang", None, "LANG", "en or zh [default: from the locale]"))
}

/// Reads the flags of `brunt calibrate`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn calibrate(matches: &ArgMatches) -> Result<Calibrate, Complaint> {
    let flags = Matched::line(matches);
    let number = |what: &'static str, most| move |text: &str| quantity::bounded_count(text, what, most);
    Ok(Calibrate {
        duration: flags.time("duration", "-d")?.unwrap_or(Nanos::from_secs(3)),
        users: flags.parsed("users", "-c", number("users", 10_000))?.unwrap_or(64),
        workers: flags.parsed("workers", "-w", number("workers", 1024))?,
        language: flags.parsed("lang", "--lang", language)?,
    })
}

/// The command line of `brunt report`.
pub fn report_command() -> clap::Command {
    flags::bare("brunt report")
        .about(
            "Show a past run again: the last one, or the one in FILE. Several are compared with the first; -o \
            compare.html overlays them.",
        )
        .arg(clap::Arg::new("file").value_name("FILE").num_args(0..).help("A file written by --record"))
        .args(flags::document())
        .arg(flags::switch("quiet", None, "No console output except what --format prints; -o is still written"))
        .arg(flags::switch("no-color", None, "No colours"))
}

/// Reads the flags of `brunt report`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn report(matches: &ArgMatches) -> Result<(Vec<String>, Presentation), Complaint> {
    let flags = Matched::line(matches);
    Ok((flags.texts("file").into_iter().map(String::from).collect(), presentation(&flags)?))
}
