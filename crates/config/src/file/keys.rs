//! The keys of a plan file: the flags of a run by their long names, the options of the protocols, and a few structured
//! ones. The parser, the suggestions and the schema use the same list.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{OptionArity, Protocol};
use brunt_report::Lang;

use crate::suggestions::nearest;
use crate::{protocol_flags, settings};

/// The kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The URLs.
    Urls,
    /// The flow.
    Flow,
    /// Sections next to the flow: named flows, and steps before and after the flow.
    FlowSection,
    /// Concurrent scenarios.
    Scenarios,
    /// The name of the protocol, which follows from the URLs.
    Protocol,
    /// Protocol options in a map.
    Options,
    /// TLS settings in a map.
    Tls,
    /// The load of a recorded plan.
    Load,
    /// A setting of the run.
    Setting(&'static str),
    /// An option of a protocol.
    Option(&'static str),
}

/// Keys that are neither settings nor protocol options, with their kinds.
const SPECIAL: [(&str, KeyKind); 13] = [
    ("urls", KeyKind::Urls),
    ("url", KeyKind::Urls),
    ("flow", KeyKind::Flow),
    ("flows", KeyKind::FlowSection),
    ("setup", KeyKind::FlowSection),
    ("start", KeyKind::FlowSection),
    ("end", KeyKind::FlowSection),
    ("teardown", KeyKind::FlowSection),
    ("scenarios", KeyKind::Scenarios),
    ("protocol", KeyKind::Protocol),
    ("options", KeyKind::Options),
    ("tls", KeyKind::Tls),
    ("load", KeyKind::Load),
];

/// A setting or an option as a key.
#[derive(Debug)]
pub struct NamedKey {
    /// The name.
    pub name: &'static str,
    /// The kind of value.
    pub takes: OptionArity,
    /// One line of help.
    pub help: String,
    /// An alternative name.
    pub alias: Option<&'static str>,
    /// Set if the name is itself a key of the plan.
    pub is_key: bool,
    /// Set if it is a protocol option.
    pub option: bool,
    /// Set if it may apply to a single URL.
    pub of_one_url: bool,
}

/// Keys of other tools and keys of scenarios, with their equivalents.
const ELSEWHERE: [(&str, &str); 11] = [
    ("vus", "`users: 10`"),
    ("thresholds", "`objectives: [p95<300ms]`"),
    ("check", CHECKS),
    ("checks", CHECKS),
    ("body", "`data: TEXT`"),
    ("base-url", "the whole URL at each step"),
    ("max-users", "`max-connections: 100`, or `max-users` in a scenario"),
    ("executor", "`users`, `rate` or `stages`"),
    ("iterations-per-user", "it inside a scenario: `scenarios: {all: {users: 10, iterations-per-user: 5, flow: …}}`"),
    ("spawn-rate", "it inside a scenario, or `--connect-rate`"),
    ("graceful-stop", "`drain: 5s`, or `graceful-stop` in a scenario"),
];

/// Hint for the checks of a response.
const CHECKS: &str = "`expect-status: 200`, `expect-body: TEXT` or `expect-json: $.token`";

/// All keys.
#[derive(Debug)]
pub struct PlanKeys(Vec<NamedKey>);

impl PlanKeys {
    /// Creates the keys for these protocols.
    pub fn new(protocols: &[Arc<dyn Protocol>]) -> PlanKeys {
        let of_one_url: Vec<&str> = protocols.iter().flat_map(|p| p.options_of_one_url()).copied().collect();
        let settings = settings::all().map(|spec| NamedKey {
            name: spec.name,
            takes: spec.takes,
            help: spec.help.en.to_owned(),
            alias: spec.alias,
            is_key: spec.is_key,
            option: false,
            of_one_url: of_one_url.contains(&spec.name),
        });
        let options =
            protocol_flags::flags(&protocol_flags::protocol_options(protocols), Lang::En).into_iter().map(|option| {
                NamedKey {
                    name: option.name,
                    takes: option.takes,
                    help: option.help,
                    alias: None,
                    is_key: true,
                    option: true,
                    of_one_url: of_one_url.contains(&option.name),
                }
            });
        PlanKeys(settings.chain(options).collect())
    }

    /// Returns the keys that are settings or options.
    pub fn named(&self) -> impl Iterator<Item = &NamedKey> {
        self.0.iter()
    }

    /// Returns the kind of a key, whose words are separated by `-`.
    pub fn find(&self, name: &str) -> Option<KeyKind> {
        if let Some((_, key)) = SPECIAL.iter().find(|(special, _)| *special == name) {
            return Some(*key);
        }
        let meant = |known: &&NamedKey| known.name == name && known.is_key || known.alias == Some(name);
        let known = self.0.iter().find(meant)?;
        Some(if known.option { KeyKind::Option(known.name) } else { KeyKind::Setting(known.name) })
    }

    /// Returns the option with this name if at least one protocol accepts it for a single URL.
    pub fn of_one_url(&self, name: &str) -> Option<&'static str> {
        self.0.iter().find(|known| known.name == name && known.of_one_url).map(|known| known.name)
    }

    /// Returns the kind of value of a setting or an option.
    pub fn takes(&self, name: &str) -> OptionArity {
        self.0.iter().find(|known| known.name == name).map_or(OptionArity::One(""), |known| known.takes)
    }

    /// Returns the error message for an unknown key.
    pub fn unknown(&self, name: &str) -> Complaint {
        if let Some((_, ours)) = ELSEWHERE.iter().find(|(other, _)| *other == name) {
            return complaint!("has a different name here; use {ours}", "在这里另有名称；请用 {ours}");
        }
        match nearest(name, self.names()) {
            Some(known) => {
                complaint!("unknown key; write `{known}` if you meant that", "未知的键；是否要写 `{known}`？")
            }
            None => complaint!(
                "unknown key; `brunt plan --schema` lists all keys",
                "未知的键；`brunt plan --schema` 列出全部键"
            ),
        }
    }

    /// Returns the error message for an unknown key of a URL; the suggestions are its options, `weight` and `name`.
    pub fn unknown_of_one_url(&self, name: &str) -> Complaint {
        let options = self.0.iter().filter(|known| known.of_one_url).map(|known| known.name);
        if ELSEWHERE.iter().any(|(other, _)| *other == name) {
            return self.unknown(name);
        }
        match nearest(name, options.chain(["url", "weight", "name", "options", "capture", "on-failure"])) {
            Some(known) => {
                complaint!("unknown key; write `{known}` if you meant that", "未知的键；是否要写 `{known}`？")
            }
            None => self.unknown(name),
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        let known = self.0.iter().flat_map(|known| known.is_key.then_some(known.name).into_iter().chain(known.alias));
        known.chain(SPECIAL.map(|(name, _)| name))
    }
}
