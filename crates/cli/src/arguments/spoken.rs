//! The options of all protocols as flags of one command.
//!
//! Two protocols may have an option of the same name: it is one flag then, shown under the first of them. An option that
//! the protocol of the run does not have is refused, never ignored.

use clap::Arg;
use engine::Runner;
use wire::{Complaint, OptionSpec, Takes};

use super::flags::{many, one, switch};
use super::matched::Matched;

/// What is known of a protocol before a URL chooses one: its name and its options.
pub type Spoken = (&'static str, &'static [OptionSpec]);

/// The names and options of these protocols.
pub fn of(protocols: &[Box<dyn Runner>]) -> Vec<Spoken> {
    protocols.iter().map(|p| (p.name(), p.options())).collect()
}

/// One flag for each name, under a heading for each protocol.
pub fn flags(spoken: &[Spoken]) -> Vec<Arg> {
    let mut merged: Vec<(&'static str, OptionSpec)> = Vec::new();
    for (protocol, options) in spoken {
        for spec in *options {
            match merged.iter_mut().find(|(_, known)| known.name == spec.name) {
                // What one protocol takes once, another may take several times.
                Some((_, known)) if matches!(spec.takes, Takes::Many(_)) => known.takes = spec.takes,
                Some(_) => {}
                None => merged.push((protocol, *spec)),
            }
        }
    }
    merged.iter().map(|(protocol, spec)| flag(spec).help_heading(format!("Request ({protocol})"))).collect()
}

fn flag(spec: &OptionSpec) -> Arg {
    match spec.takes {
        Takes::Nothing => switch(spec.name, spec.short, spec.help.en),
        Takes::One(value) => one(spec.name, spec.short, value, spec.help.en),
        Takes::Many(value) => many(spec.name, spec.short, value, spec.help.en),
    }
}

/// Refuses options that the protocol of the run does not have.
///
/// # Errors
/// The first such option, and who has it.
pub fn refuse_others(flags: &Matched<'_>, protocols: &[Box<dyn Runner>], chosen: usize) -> Result<(), Complaint> {
    let own = protocols[chosen].options();
    for other in protocols {
        let given = |spec: &&OptionSpec| match spec.takes {
            Takes::Nothing => flags.switch(spec.name),
            Takes::One(_) | Takes::Many(_) => flags.given(spec.name),
        };
        let foreign = |spec: &&OptionSpec| !own.iter().any(|o| o.name == spec.name);
        if let Some(spec) = other.options().iter().filter(foreign).find(given) {
            let trouble = format!(
                "is an option of {}, and the URL asks for {}; leave it out",
                other.name(),
                protocols[chosen].name()
            );
            return Err(Complaint::new(format!("--{}", spec.name), trouble));
        }
    }
    Ok(())
}
