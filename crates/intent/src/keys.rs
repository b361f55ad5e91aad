//! The keys a plan file may have: the flags of a run by their long names, the options of the protocols, and a few that
//! hold several things. One list serves the reader, the suggestions and the schema.

use std::sync::Arc;

use clap::ArgAction;
use serde_json::{Map, Value, json};
use wire::{Protocol, Takes};

use super::{flags, spoken};

/// Flags that say how a run is watched by whoever started it, or that make no sense in a file.
const NOT_KEYS: [&str; 9] = ["scenario", "help", "version", "target", "debug", "yes", "keep-secrets", "url", "urls"];

/// Other names of flags: the fields of a recorded plan, and plurals.
const ALIASES: [(&str, &str); 5] = [
    ("stages", "stage"),
    ("objectives", "objective"),
    ("sources", "source"),
    ("heartbeat", "ping"),
    ("urls-file", "urls"),
];

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
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
    /// How long.
    Duration,
    /// A flag of the run.
    Flag(&'a str),
    /// An option of a protocol.
    Option(&'a str),
}

/// A flag as a key.
#[derive(Debug)]
struct Flag {
    name: String,
    takes: Takes,
    value: String,
    help: String,
    option: bool,
    of_one_url: bool,
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
pub struct Keys(Vec<Flag>);

impl Keys {
    /// The keys with these protocols.
    pub fn new(protocols: &[Arc<dyn Protocol>]) -> Keys {
        let options: Vec<&str> = protocols.iter().flat_map(|p| p.options()).map(|spec| spec.name).collect();
        let of_one_url: Vec<&str> = protocols.iter().flat_map(|p| p.options_of_one_url()).copied().collect();
        let command = flags::run_command(&spoken::of(protocols));
        let flag = |arg: &clap::Arg| {
            let name = arg.get_long()?;
            let takes = match arg.get_action() {
                ArgAction::Append => Takes::Many(""),
                ArgAction::Set => Takes::One(""),
                _ => Takes::Nothing,
            };
            let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            Some(Flag {
                name: name.to_owned(),
                takes,
                value: value.unwrap_or_default(),
                help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
                option: options.contains(&name),
                of_one_url: of_one_url.contains(&name),
            })
        };
        Keys(command.get_arguments().filter_map(flag).collect())
    }

    /// What a key (written with `-`) is.
    pub fn find(&self, name: &str) -> Option<Key<'_>> {
        match name {
            "urls" | "url" => return Some(Key::Urls),
            "flow" => return Some(Key::Flow),
            "flows" | "setup" | "start" | "end" | "teardown" => return Some(Key::BesideFlow),
            "scenarios" => return Some(Key::Scenarios),
            "protocol" => return Some(Key::Protocol),
            "options" => return Some(Key::Options),
            "tls" => return Some(Key::Tls),
            "load" => return Some(Key::Load),
            "duration" => return Some(Key::Duration),
            _ => {}
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let meant = alias.map_or(name, |(_, name)| name);
        let flag = self.0.iter().find(|flag| flag.name == meant)?;
        if flag.option {
            return Some(Key::Option(&flag.name));
        }
        (alias.is_some() || !NOT_KEYS.contains(&name)).then_some(Key::Flag(&flag.name))
    }

    /// True for options that one URL may have for itself, in some protocol at least.
    pub fn is_of_one_url(&self, name: &str) -> bool {
        self.0.iter().any(|flag| flag.name == name && flag.of_one_url)
    }

    /// What follows a flag, and whether it is a time.
    pub fn takes(&self, name: &str) -> (Takes, bool) {
        let flag = self.0.iter().find(|flag| flag.name == name);
        flag.map_or((Takes::One(""), false), |flag| (flag.takes, flag.value == "TIME"))
    }

    /// What to say about a key that is none.
    pub fn unknown(&self, name: &str) -> String {
        if let Some((_, ours)) = ELSEWHERE.iter().find(|(other, _)| *other == name) {
            return format!("has another name here; write {ours}");
        }
        let names = self.names();
        match nearest(name, names.iter().map(String::as_str)) {
            Some(known) => format!("unknown key; write `{known}` if you meant that"),
            None => "unknown key; `brunt plan --schema` lists all keys".into(),
        }
    }

    /// The same of a key at one URL: its options, and how often and under which name it is asked.
    pub fn unknown_of_one_url(&self, name: &str) -> String {
        let options = self.0.iter().filter(|flag| flag.of_one_url).map(|flag| flag.name.as_str());
        if ELSEWHERE.iter().any(|(other, _)| *other == name) {
            return self.unknown(name);
        }
        match nearest(name, options.chain(["url", "weight", "name", "options", "capture", "on-failure"])) {
            Some(known) => format!("unknown key; write `{known}` if you meant that"),
            None => self.unknown(name),
        }
    }

    fn names(&self) -> Vec<String> {
        let special = [
            "urls",
            "flow",
            "flows",
            "setup",
            "start",
            "end",
            "teardown",
            "scenarios",
            "protocol",
            "options",
            "tls",
            "load",
        ];
        let special = special.map(String::from);
        let flags = self.0.iter().map(|flag| flag.name.clone()).filter(|name| self.find(name).is_some());
        flags.chain(special).chain(ALIASES.iter().map(|(alias, _)| (*alias).to_owned())).collect()
    }

    /// The JSON Schema of a plan file, for editors.
    pub fn schema(&self) -> Value {
        let scalar = json!({"type": ["string", "number"]});
        let many = json!({"anyOf": [scalar, {"type": "array", "items": scalar}]});
        let property = |flag: &Flag| {
            let mut schema = match (flag.takes, &flag.value[..]) {
                (Takes::Nothing, _) => json!({"type": "boolean"}),
                (Takes::Many(_), _) => many.clone(),
                (Takes::One(_), "TIME") => {
                    json!({"type": ["string", "integer"], "examples": ["10s", "500ms", "1m30s"]})
                }
                (Takes::One(_), "RATE") => json!({"type": ["string", "number"], "examples": ["500/s", "300/min"]}),
                (Takes::One(_), _) => scalar.clone(),
            };
            schema["description"] = json!(flag.help);
            schema
        };
        let options: Map<String, Value> =
            self.0.iter().filter(|f| f.option).map(|f| (f.name.clone(), property(f))).collect();
        let flags = self.0.iter().filter(|flag| self.find(&flag.name).is_some());
        let mut all: Map<String, Value> = flags.map(|flag| (flag.name.clone(), property(flag))).collect();
        for (alias, name) in ALIASES {
            all.extend(self.0.iter().find(|flag| flag.name == name).map(|flag| (alias.to_owned(), property(flag))));
        }
        for name in ["connect-timeout", "connect-rate", "max-connections", "connect-to", "unix-socket"] {
            all.extend(all.get(name).cloned().map(|schema| (name.replace('-', "_"), schema)));
        }
        let mut own: Map<String, Value> =
            self.0.iter().filter(|f| f.of_one_url).map(|f| (f.name.clone(), property(f))).collect();
        own.insert("url".into(), json!({"type": "string", "description": "Where to send requests"}));
        own.insert(
            "weight".into(),
            json!({"type": ["number", "string"], "description": "How often, relative to the others"}),
        );
        own.insert("name".into(), json!({"type": "string", "description": "Name of its requests in the report"}));
        own.insert("options".into(), json!({"type": "object", "description": "Options for this URL only"}));
        let url = json!({"anyOf": [
            {"type": "string"},
            {"type": "object", "properties": own, "required": ["url"], "additionalProperties": false},
        ]});
        all.insert("url".into(), url.clone());
        all.insert(
            "urls".into(),
            json!({"description": "Where to send requests", "anyOf": [url, {"type": "array", "items": url}]}),
        );
        all.insert("flow".into(), super::flow_file::schema(&url));
        all.insert("flows".into(), super::flow_called::schema());
        all.extend(super::flow_beside::schemas());
        all.insert("scenarios".into(), super::scenario_run::schema());
        all.insert("protocol".into(), json!({"type": "string", "description": "Name of the protocol, as in reports"}));
        all.insert("load".into(), json!({"type": "object", "description": "The load as in a JSON report"}));
        all.insert("options".into(), json!({"type": "object", "properties": options, "additionalProperties": false}));
        let file = json!({"type": ["string", "null"]});
        let tls = json!({"insecure": {"type": "boolean"}, "resume": {"type": "boolean"}, "cacert": file, "cert": file, "key": file,
            "version": {"enum": ["1.2", "1.3", null]}});
        all.insert("tls".into(), json!({"type": "object", "properties": tls, "additionalProperties": false}));
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A brunt plan",
            "description": "What `brunt PLAN.yaml` runs. Times carry units (10s), rates too (500/s).",
            "type": "object",
            "properties": all,
            "additionalProperties": false,
        })
    }
}

/// The word that somebody who wrote another one may have meant: a quarter of its letters may differ.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (letters, near) = known.map(|known| (distance(wrong, known), known)).min()?;
    (letters <= 1 + wrong.len() / 4).then_some(near)
}

/// Letters to change, add or leave out between two words (Levenshtein 1966).
pub(super) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = change.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
