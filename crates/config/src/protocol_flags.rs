//! The options of all protocols as flags of one command.
//!
//! An option that several protocols have is a single flag, shown under the first protocol with its meaning for the
//! others. An option that the protocol of the run does not have is rejected and never ignored.

use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::{OptionArity, OptionSpec, Protocol, UsageError};
use brunt_plan::mask;
use brunt_report::Lang;

use super::help;
use super::setting::message;
use super::settings::TARGET;
use super::values::SettingValues;

/// The name and options of a protocol, known before a URL selects one.
pub type ProtocolOptions = (&'static str, Vec<OptionSpec>);

/// Returns the names and options of these protocols.
pub fn protocol_options(protocols: &[Arc<dyn Protocol>]) -> Vec<ProtocolOptions> {
    standalone(protocols).map(|p| (p.name(), p.options().to_vec())).collect()
}

/// Returns the protocols with their own options, without the protocol that combines others in a flow.
fn standalone(protocols: &[Arc<dyn Protocol>]) -> impl Iterator<Item = &dyn Protocol> {
    protocols.iter().map(|p| &**p).filter(|p| !p.schemes().is_empty())
}

/// An option that several protocols may have, shown under the first of them.
#[derive(Debug)]
pub struct SharedOption {
    /// The name.
    pub name: &'static str,
    /// The short name.
    pub short: Option<char>,
    /// The kind of value.
    pub takes: OptionArity,
    /// Help with its meaning for each protocol.
    pub help: String,
    /// The heading in the help.
    pub heading: String,
}

/// Merges options of the same name, under a heading for each protocol.
pub fn flags(spoken: &[ProtocolOptions], lang: Lang) -> Vec<SharedOption> {
    let mut merged: Vec<(OptionSpec, Vec<(&str, &str)>)> = Vec::new();
    for (protocol, options) in spoken {
        for spec in options {
            let of = (*protocol, lang.of(message(spec.help.en, spec.help.zh)));
            match merged.iter_mut().find(|(known, _)| known.name == spec.name) {
                Some((known, all)) => {
                    known.arity = more_general(known.arity, spec.arity);
                    all.push(of);
                }
                None => merged.push((*spec, vec![of])),
            }
        }
    }
    let shared = |(OptionSpec { name, short, arity: takes, .. }, of): (OptionSpec, Vec<(&str, &str)>)| SharedOption {
        name,
        short,
        takes,
        help: merged_help(&of, lang),
        heading: lang.fill(help::REQUEST, &[("protocol", of[0].0)]),
    };
    merged.into_iter().map(shared).collect()
}

/// Returns the more general kind: one protocol may take a value once, another several times. The name of the value
/// remains that of `known`.
fn more_general(known: OptionArity, other: OptionArity) -> OptionArity {
    match (known, other) {
        (OptionArity::One(value), OptionArity::Many(_)) => OptionArity::Many(value),
        _ => known,
    }
}

/// Returns the help for the first protocol, then the names of the others, with their help if it differs.
fn merged_help(of: &[(&str, &str)], lang: Lang) -> String {
    let Some(((_, first), others)) = of.split_first() else { return String::new() };
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for (protocol, words) in others {
        match told.iter_mut().find(|(known, _)| known == words) {
            Some((_, protocols)) => protocols.push(protocol),
            None => told.push((words, vec![protocol])),
        }
    }
    told.iter().fold((*first).to_owned(), |text, (words, protocols)| match protocols.join(", ") {
        names if words == first => format!("{text} [{} {names}]", lang.of(message("also", "同样适用于"))),
        names => format!("{text} [{names}: {words}]"),
    })
}

/// Rejects options that the protocol of the run does not have.
///
/// # Errors
/// There is such an option; the error names the first one and the protocols that have it.
pub fn refuse_others(values: &SettingValues, protocols: &[Arc<dyn Protocol>], chosen: usize) -> Result<(), UsageError> {
    let own = protocols[chosen].options();
    for other in standalone(protocols) {
        let foreign = |spec: &&OptionSpec| !own.iter().any(|o| o.name == spec.name);
        let given = other.options().iter().filter(foreign).find_map(|spec| values.named(spec.name).next());
        if let Some(said) = given {
            let has = |other: &dyn Protocol| other.options().iter().any(|o| o.name == said.name);
            let names: Vec<&str> =
                standalone(protocols).filter(|other| has(*other)).map(|other| other.name()).collect();
            let typed = values.texts(&TARGET).into_iter().find(|text| !text.contains("://"));
            let trouble = match (
                typed,
                standalone(protocols).find(|other| has(*other)).and_then(|other| other.schemes().first()),
            ) {
                (Some(typed), Some(scheme)) => complaint!(
                    "is an option for {}, and a URL without a scheme is {}; use {scheme}://{}, or leave it out",
                    "是 {} 的选项，而不带协议的 URL 是 {}；请写 {scheme}://{}，或去掉它",
                    listed(&names),
                    protocols[chosen].name(),
                    mask::url(typed)
                ),
                _ => {
                    let (en, zh, url) = (listed(&names), names.join("、"), protocols[chosen].name());
                    complaint!(
                        "is an option for {en}, and the URL is {url}; leave it out",
                        "是 {zh} 的选项，而 URL 是 {url}；请去掉"
                    )
                }
            };
            return Err(said.wrong(&format!("--{}", said.name), trouble));
        }
    }
    Ok(())
}

/// Formats a list: `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_have_an_option_are_named() {
        assert_eq!(listed(&["redis", "mysql", "postgres"]), "redis, mysql and postgres");
        assert_eq!((listed(&["a", "b"]), listed(&["a"])), ("a and b".to_owned(), "a".to_owned()));
    }

    #[test]
    fn a_shared_option_tells_who_else_has_it_and_what_it_is_there() {
        let of = [("http", "Send TEXT"), ("websocket", "A message"), ("redis", "Send TEXT"), ("grpc", "A message")];
        assert_eq!(merged_help(&of, Lang::En), "Send TEXT [websocket, grpc: A message] [also redis]");
        assert_eq!(merged_help(&of[..1], Lang::En), "Send TEXT");
        assert_eq!(more_general(OptionArity::Many("TEXT"), OptionArity::Many("JSON")), OptionArity::Many("TEXT"));
        assert_eq!(more_general(OptionArity::One("TEXT"), OptionArity::Many("JSON")), OptionArity::Many("TEXT"));
    }
}
