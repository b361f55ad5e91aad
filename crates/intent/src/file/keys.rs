//! The keys a plan file may have: the flags of a run by their long names, the options of the protocols, and a few that
//! hold several things. One list serves the reader, the suggestions and the schema.

use std::sync::Arc;

use wire::{Protocol, Takes};

use crate::nearest::nearest;
use crate::{settings, spoken};

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Where requests go.
    Urls,
    /// What users do in order.
    Flow,
    /// What stands beside it: flows that are called, and what is done before and after.
    BesideFlow,
    /// What users of several sorts do side by side.
    Scenarios,
    /// The name of the protocol, which the URLs say already.
    Protocol,
    /// Options of the protocol, together.
    Options,
    /// How TLS is spoken.
    Tls,
    /// The load of a recorded plan.
    Load,
    /// A setting of the run.
    Setting(&'static str),
    /// An option of a protocol.
    Option(&'static str),
}

/// Keys that are more than a setting, and what each is.
const SPECIAL: [(&str, Key); 13] = [
    ("urls", Key::Urls),
    ("url", Key::Urls),
    ("flow", Key::Flow),
    ("flows", Key::BesideFlow),
    ("setup", Key::BesideFlow),
    ("start", Key::BesideFlow),
    ("end", Key::BesideFlow),
    ("teardown", Key::BesideFlow),
    ("scenarios", Key::Scenarios),
    ("protocol", Key::Protocol),
    ("options", Key::Options),
    ("tls", Key::Tls),
    ("load", Key::Load),
];

/// A setting or an option as a key.
#[derive(Debug)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// What follows it.
    pub takes: Takes,
    /// One line of help.
    pub help: String,
    /// What else it may be called.
    pub alias: Option<&'static str>,
    /// A plan may have it by its own name.
    pub is_key: bool,
    /// It is an option of a protocol.
    pub option: bool,
    /// One URL may have it for itself.
    pub of_one_url: bool,
}

/// What other tools call what we have, and what is only of scenarios.
const ELSEWHERE: [(&str, &str); 11] = [
    ("vus", "`users: 10`"),
    ("thresholds", "`objectives: [p95<300ms]`"),
    ("check", CHECKS),
    ("checks", CHECKS),
    ("body", "`data: TEXT`"),
    ("base-url", "the whole URL at each step"),
    ("max-users", "`max-connections: 100`, or it in a scenario"),
    ("executor", "`users`, `rate` or `stages`"),
    ("iterations-per-user", "it in a scenario: `scenarios: {all: {users: 10, iterations-per-user: 5, flow: …}}`"),
    ("spawn-rate", "it in a scenario, or `--connect-rate`"),
    ("graceful-stop", "`drain: 5s`, or it in a scenario"),
];

/// What is checked of a response.
const CHECKS: &str = "`expect-status: 200`, `expect-body: TEXT` or `expect-json: $.token`";

/// All keys.
#[derive(Debug)]
pub struct Keys(Vec<Named>);

impl Keys {
    /// The keys with these protocols.
    pub fn new(protocols: &[Arc<dyn Protocol>]) -> Keys {
        let of_one_url: Vec<&str> = protocols.iter().flat_map(|p| p.options_of_one_url()).copied().collect();
        let settings = settings::all().map(|spec| Named {
            name: spec.name,
            takes: spec.takes,
            help: spec.help.to_owned(),
            alias: spec.alias,
            is_key: spec.is_key,
            option: false,
            of_one_url: of_one_url.contains(&spec.name),
        });
        let options = spoken::flags(&spoken::of(protocols)).into_iter().map(|option| Named {
            name: option.name,
            takes: option.takes,
            help: option.help,
            alias: None,
            is_key: true,
            option: true,
            of_one_url: of_one_url.contains(&option.name),
        });
        Keys(settings.chain(options).collect())
    }

    /// The settings and options among them.
    pub fn named(&self) -> impl Iterator<Item = &Named> {
        self.0.iter()
    }

    /// What a key (written with `-`) is.
    pub fn find(&self, name: &str) -> Option<Key> {
        if let Some((_, key)) = SPECIAL.iter().find(|(special, _)| *special == name) {
            return Some(*key);
        }
        let meant = |known: &&Named| known.name == name && known.is_key || known.alias == Some(name);
        let known = self.0.iter().find(meant)?;
        Some(if known.option { Key::Option(known.name) } else { Key::Setting(known.name) })
    }

    /// The option of this name that one URL may have for itself, in some protocol at least.
    pub fn of_one_url(&self, name: &str) -> Option<&'static str> {
        self.0.iter().find(|known| known.name == name && known.of_one_url).map(|known| known.name)
    }

    /// What follows a setting or an option.
    pub fn takes(&self, name: &str) -> Takes {
        self.0.iter().find(|known| known.name == name).map_or(Takes::One(""), |known| known.takes)
    }

    /// What to say about a key that is none.
    pub fn unknown(&self, name: &str) -> String {
        if let Some((_, ours)) = ELSEWHERE.iter().find(|(other, _)| *other == name) {
            return format!("has another name here; write {ours}");
        }
        match nearest(name, self.names()) {
            Some(known) => format!("unknown key; write `{known}` if you meant that"),
            None => "unknown key; `brunt plan --schema` lists all keys".into(),
        }
    }

    /// The same of a key at one URL: its options, and how often and under which name it is asked.
    pub fn unknown_of_one_url(&self, name: &str) -> String {
        let options = self.0.iter().filter(|known| known.of_one_url).map(|known| known.name);
        if ELSEWHERE.iter().any(|(other, _)| *other == name) {
            return self.unknown(name);
        }
        match nearest(name, options.chain(["url", "weight", "name", "options", "capture", "on-failure"])) {
            Some(known) => format!("unknown key; write `{known}` if you meant that"),
            None => self.unknown(name),
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        let known = self.0.iter().flat_map(|known| known.is_key.then_some(known.name).into_iter().chain(known.alias));
        known.chain(SPECIAL.map(|(name, _)| name))
    }
}
