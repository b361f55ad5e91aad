//! A plan file, read into what flags would say.
//!
//! Its keys are the long names of the flags and of the protocols' options. The `plan` of a JSON report is taken as well:
//! there `load` is a map, times are nanoseconds and words are joined by `_`. One reader serves both, and all checks are
//! those of the flags.

use std::sync::Arc;

use std::rc::Rc;

use measure::Nanos;
use plan::flow::{AT_MOST, TIMEOUT};
use plan::yaml::{At, Node, Value};
use plan::{Options, WeightedUrl, document, yaml};
use wire::{Complaint, OptionSpec, Protocol, Takes};

use super::flow_called::Later;
use super::flow_places::Places;
use super::given::{Given, Said};
use super::keys::{Key, Keys};
use super::{urls, ways};

/// The plan in this text.
///
/// # Errors
/// What is wrong with it, its line and column, and what would be right.
pub fn read(path: &str, text: &str, protocols: &[Arc<dyn Protocol>]) -> Result<Given, Complaint> {
    let wrong = |(At { line, column }, trouble): yaml::Wrong| {
        Complaint::new(format!("{path} line {line} column {column}"), trouble)
    };
    let root = yaml::parse(text).map_err(wrong)?;
    let schemes = protocols.iter().flat_map(|p| p.schemes()).copied().collect();
    let specs = protocols.iter().flat_map(|p| p.options().iter().copied()).collect();
    let mut reader = Reader {
        path,
        keys: Rc::new(Keys::new(protocols)),
        schemes,
        specs,
        recorded: false,
        given: Given::default(),
        later: Vec::new(),
        places: Places::default(),
    };
    reader.root(&root)?;
    Ok(reader.given)
}

pub(super) struct Reader<'a> {
    path: &'a str,
    pub(super) keys: Rc<Keys>,
    schemes: Vec<&'static str>,
    specs: Vec<OptionSpec>,
    /// The plan of a report: bare numbers are nanoseconds.
    pub(super) recorded: bool,
    pub(super) given: Given,
    /// What can be checked once all of a flow is known, and where it stands.
    pub(super) later: Vec<(Later, At)>,
    /// Where steps stand.
    pub(super) places: Places,
}

impl Reader<'_> {
    pub(super) fn place(&self, at: At, name: &str) -> String {
        format!("{} line {} column {} ({name})", self.path, at.line, at.column)
    }

    pub(super) fn wrong<T>(&self, at: At, name: &str, trouble: impl Into<String>) -> Result<T, Complaint> {
        Err(Complaint::new(self.place(at, name), trouble))
    }

    fn root(&mut self, root: &Node) -> Result<(), Complaint> {
        let Value::Map(entries) = &root.value else {
            let trouble = yaml::unspaced(text_of(root));
            let usual = || "must be a map of keys and values, such as `users: 10`".to_owned();
            return self.wrong(root.at, "plan", trouble.unwrap_or_else(usual));
        };
        // A whole report: its plan is meant.
        if let (Some((.., plan)), true) = (entry(entries, "plan"), entry(entries, "schema").is_some()) {
            return self.root(plan);
        }
        self.recorded = matches!(entry(entries, "load"), Some((.., Node { value: Value::Map(_), .. })));
        let closed =
            self.recorded && entry(entries, "load").is_some_and(|(.., load)| word_of(load, "model") == "closed");
        let keys = Rc::clone(&self.keys);
        let side_by_side = entry(entries, "scenarios").is_some_and(|(.., node)| node.value != Value::List(Vec::new()));
        for (written, at, node) in entries {
            let name = written.replace('_', "-");
            let nothing = node.value == Value::Null || (closed && ["max-connections", "slack"].contains(&&name[..]));
            if nothing {
                continue;
            }
            match keys.find(&name) {
                None if self.recorded && name == "common" => self.recorded_common(*at, node)?,
                None => {
                    let trouble = keys.unknown(&name);
                    return self.wrong(*at, written, trouble);
                }
                Some(Key::Urls) => self.urls(node)?,
                Some(Key::Flow) => self.flow(*at, node, entries)?,
                Some(Key::BesideFlow) if side_by_side || entry(entries, "flow").is_some() => {}
                Some(Key::BesideFlow) => {
                    return self.wrong(*at, written, "needs a `flow` or `scenarios`; add one, or leave it out");
                }
                Some(Key::Scenarios) => self.scenarios(*at, node, entries)?,
                Some(Key::Protocol) => {}
                // What scenarios ask for together follows from what each does.
                Some(Key::Load | Key::Duration) if self.recorded && side_by_side => {}
                // Beside the load, which says whether it adds anything.
                Some(Key::Duration) if self.recorded => {}
                Some(Key::Options) => self.map(node, "options", |reader, name, at, node| {
                    if reader.specs.iter().any(|spec| spec.name == name) {
                        return reader.option(name, at, node);
                    }
                    let trouble = reader.keys.unknown(name);
                    reader.wrong(at, name, trouble)
                })?,
                Some(Key::Tls) => self.map(node, "tls", Self::tls)?,
                Some(Key::Load) => self.load(node, entries)?,
                Some(Key::Duration) => self.flag("duration", *at, node)?,
                Some(Key::Flag(flag)) if flag == "net" && text_of(node) == "auto" => {}
                // What a report's plan counts are iterations where it has a flow.
                Some(Key::Flag("requests")) if self.recorded && entry(entries, "flow").is_some() => {
                    self.flag("iterations", *at, node)?;
                }
                Some(Key::Flag(flag)) => self.flag(flag, *at, node)?,
                Some(Key::Option(name)) => self.option(name, *at, node)?,
            }
        }
        Ok(())
    }

    /// Each entry of a map in a map.
    fn map(
        &mut self,
        node: &Node,
        name: &str,
        each: impl Fn(&mut Self, &str, At, &Node) -> Result<(), Complaint>,
    ) -> Result<(), Complaint> {
        let Value::Map(entries) = &node.value else {
            return self.wrong(node.at, name, "must be a map of keys and values");
        };
        entries
            .iter()
            .filter(|(.., node)| node.value != Value::Null)
            .try_for_each(|(key, at, node)| each(self, key, *at, node))
    }

    fn tls(&mut self, name: &str, at: At, node: &Node) -> Result<(), Complaint> {
        match (name, text_of(node)) {
            ("resume", "true") => Ok(()),
            ("resume", "false") => {
                let place = self.place(at, name);
                self.given.say("no-resume", "", place);
                Ok(())
            }
            ("version", version @ ("1.2" | "1.3")) => {
                let place = self.place(at, name);
                match version {
                    "1.2" => self.given.say("tls-max", version, place),
                    _ => self.given.say("tlsv1.3", "", place),
                }
                Ok(())
            }
            ("insecure" | "cacert" | "cert" | "key" | "no-resume", _) => self.flag(name, at, node),
            ("version", _) => self.wrong(at, name, "is not a TLS version; write \"1.2\" or \"1.3\""),
            _ => self.wrong(at, name, "is not one of insecure, cacert, cert, key, resume, version"),
        }
    }

    /// A flag of the run: one value, or a list where the flag may be repeated.
    fn flag(&mut self, name: &str, at: At, node: &Node) -> Result<(), Complaint> {
        let (takes, is_time) = self.keys.takes(name);
        for value in self.values(name, at, node, takes)? {
            let bare = !value.0.is_empty() && value.0.bytes().all(|b| b.is_ascii_digit());
            let text = match value.0.parse() {
                Ok(nanos) if self.recorded && is_time && bare => document::time(Nanos(nanos)),
                _ => value.0,
            };
            let place = self.place(value.1, name);
            self.given.say(name, text, place);
        }
        Ok(())
    }

    /// An option of a protocol.
    fn option(&mut self, name: &str, at: At, node: &Node) -> Result<(), Complaint> {
        for (text, at) in self.option_values(name, at, node)? {
            let place = self.place(at, name);
            self.given.say(name, text, place);
        }
        Ok(())
    }

    fn option_values(&self, name: &str, at: At, node: &Node) -> Result<Vec<(String, At)>, Complaint> {
        // What one protocol takes once, another may take several times.
        let repeated = |spec: &&OptionSpec| matches!(spec.takes, Takes::Many(_));
        let specs = || self.specs.iter().filter(|spec| spec.name == name);
        let takes = specs().find(repeated).or_else(|| specs().next()).map_or(Takes::Nothing, |spec| spec.takes);
        self.values(name, at, node, takes)
    }

    /// The values of a key; a switch that is on has one empty value.
    fn values(&self, name: &str, at: At, node: &Node, takes: Takes) -> Result<Vec<(String, At)>, Complaint> {
        match (&node.value, takes) {
            (Value::Text(text), Takes::Nothing) => match &text[..] {
                "true" => Ok(vec![(String::new(), at)]),
                "false" => Ok(Vec::new()),
                other => self.wrong(node.at, name, format!("`{other}` is neither true nor false; write one of them")),
            },
            (Value::List(items), Takes::Nothing) if self.recorded && items.len() == 1 => Ok(vec![(String::new(), at)]),
            (Value::Text(text), _) => self.revealed(name, text, node.at).map(|text| vec![(text, node.at)]),
            (Value::List(items), takes) => {
                if matches!(takes, Takes::One(_)) && !(self.recorded && items.len() == 1) {
                    return self.wrong(node.at, name, "takes a single value, not a list");
                }
                items.iter().map(|item| Ok((self.scalar(name, item)?, item.at))).collect()
            }
            (Value::Map(_), Takes::Many(_)) => self.wrong(node.at, name, "is a map; write a value or a list of values"),
            (Value::Map(_), _) => self.wrong(node.at, name, "is a map; write a single value"),
            (Value::Null, _) => Ok(Vec::new()),
        }
    }

    pub(super) fn scalar(&self, name: &str, node: &Node) -> Result<String, Complaint> {
        match &node.value {
            Value::Text(text) => self.revealed(name, text, node.at),
            // As k6 writes them: `{duration: 1m, target: 50}`.
            Value::Map(_) if name == "stage" => {
                let usual =
                    "write `1m:50` (users) or `1m:10/s..100/s` (a rate), which begins where the stage before it ended";
                self.wrong(node.at, name, format!("is a map; {usual}"))
            }
            _ => self.wrong(node.at, name, "must be a single value; write a text or a number"),
        }
    }

    /// What was hidden cannot be sent again. In a file that people write, three stars may also be meant: only where a secret
    /// stands are they none.
    fn revealed(&self, name: &str, text: &str, at: At) -> Result<String, Complaint> {
        if self.recorded && text.contains(plan::mask::MASK) {
            return self.wrong(
                at,
                name,
                "is masked in the report (***); write the real value, or record with --keep-secrets",
            );
        }
        let secret = text == plan::mask::MASK || text.ends_with(": ***") || text.contains("//***@");
        if !self.recorded && secret {
            return self.wrong(at, name, "was masked (***) when the plan was saved; write the real value");
        }
        Ok(text.to_owned())
    }

    pub(super) fn urls(&mut self, node: &Node) -> Result<(), Complaint> {
        let items = match &node.value {
            Value::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        for item in items {
            let url = match &item.value {
                Value::Map(entries) => self.url(item, entries)?,
                _ => WeightedUrl::plain(self.scalar("URL", item)?),
            };
            self.add_url(item.at, url)?;
        }
        Ok(())
    }

    pub(super) fn add_url(&mut self, at: At, url: WeightedUrl) -> Result<(), Complaint> {
        let place = self.place(at, "URL");
        let typed = urls::with_scheme(&place, &url.url, &self.schemes)?;
        self.given.inside.push(Said { name: "URL".into(), text: typed.clone(), place });
        self.places.url(at);
        self.given.urls.push(WeightedUrl { url: typed, ..url });
        Ok(())
    }

    /// A URL with a weight and options of its own.
    pub(super) fn url(&mut self, item: &Node, entries: &[(String, At, Node)]) -> Result<WeightedUrl, Complaint> {
        let mut url = WeightedUrl::plain("");
        let mut options = Options::new();
        for (written, at, node) in entries {
            let name = written.replace('_', "-");
            match &name[..] {
                "url" => url.url = self.scalar("URL", node)?,
                "weight" => url.weight = self.weight(node)?,
                "name" => url.name = Some(self.name(node)?),
                "options" => {
                    let Value::Map(inner) = &node.value else {
                        return self.wrong(node.at, "options", "must be a map of keys and values");
                    };
                    for (name, at, node) in inner {
                        self.own(name, *at, node, &mut options)?;
                    }
                }
                _ => self.own(&name, *at, node, &mut options)?,
            }
        }
        if url.url.is_empty() {
            return self.wrong(item.at, "urls", "has no `url`; write `- url: http://localhost:8080/`");
        }
        url.options = options;
        Ok(url)
    }

    fn name(&mut self, node: &Node) -> Result<String, Complaint> {
        let name = self.scalar("name", node)?;
        let checked = ways::request_name(&name);
        checked.or_else(|trouble| self.wrong(node.at, "name", trouble))
    }

    pub(super) fn own(&mut self, name: &str, at: At, node: &Node, options: &mut Options) -> Result<(), Complaint> {
        if let (Value::Map(entries), true) = (&node.value, name.starts_with("expect-")) {
            return self.named_checks(name, (at, entries), options);
        }
        // A step's, as a report has it.
        let captures = self.recorded && [protocols::CAPTURE, wire::CHECK_NAMES, TIMEOUT, AT_MOST].contains(&name);
        if !self.keys.is_of_one_url(name) && !captures {
            let trouble = match self.keys.find(name) {
                Some(_) if ["await", "push"].contains(&name) => {
                    "is for steps that send or await messages, such as those of ws:// URLs; leave it out here"
                        .to_owned()
                }
                Some(_) => {
                    "applies to the whole run; write it at the top of the plan, not at one URL or step".to_owned()
                }
                None => self.keys.unknown_of_one_url(name),
            };
            return self.wrong(at, name, trouble);
        }
        let values = match captures {
            true => self.values(name, at, node, Takes::Many(""))?,
            false => self.option_values(name, at, node)?,
        };
        for (text, at) in &values {
            let place = self.place(*at, name);
            self.given.inside.push(Said { name: name.into(), text: text.clone(), place });
        }
        options.insert(name.to_owned(), values.into_iter().map(|(text, _)| text).collect());
        Ok(())
    }

    /// `expect-json: {has a token: $.token}`: checks with names of their own.
    fn named_checks(
        &mut self,
        name: &str,
        (at, entries): (At, &[(String, At, Node)]),
        options: &mut Options,
    ) -> Result<(), Complaint> {
        let items: Vec<Node> = entries.iter().map(|(_, _, node)| node.clone()).collect();
        let rules = match &items[..] {
            [one] => one.clone(),
            _ => Node { at, value: Value::List(items) },
        };
        self.own(name, at, &rules, options)?;
        for (which, (check, at, _)) in entries.iter().enumerate() {
            if check.trim().is_empty() || check.len() > 100 {
                return self.wrong(*at, check, "cannot be the name of a check; use at most 100 characters");
            }
            options.entry(wire::CHECK_NAMES.to_owned()).or_default().push(format!("{name} {which} {check}"));
        }
        // As they stand where a plan is shown: option by option.
        let option = |text: &String| text.split(' ').next().unwrap_or_default().to_owned();
        options.entry(wire::CHECK_NAMES.to_owned()).or_default().sort_by_key(option);
        Ok(())
    }

    pub(super) fn weight(&self, node: &Node) -> Result<f64, Complaint> {
        let weight = text_of(node).parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight > 0.0);
        weight.map_or_else(
            || {
                self.wrong(
                    node.at,
                    "weight",
                    format!("`{}` is not a weight; write a number above zero, such as 3", text_of(node)),
                )
            },
            Ok,
        )
    }

    /// The load as a report has it.
    fn load(&mut self, node: &Node, root: &[(String, At, Node)]) -> Result<(), Complaint> {
        if !self.recorded {
            let trouble = "is a key of reports, not of plans; write `users: 10`, `rate: 500/s` or `stages: [...]`";
            return self.wrong(node.at, "load", trouble);
        }
        let load: plan::Load = serde_json::from_value(json_of(node))
            .or_else(|error| self.wrong(node.at, "load", format!("is not a load as in a report: {error}")))?;
        let place = self.place(node.at, "load");
        let open = load.is_open();
        match load.stages() {
            [stage] if stage.from == stage.to => {
                let level =
                    if open { ("rate", format!("{}/s", stage.from)) } else { ("users", stage.from.to_string()) };
                self.given.say(level.0, level.1, &*place);
                if let Some((_, at, duration)) = entry(root, "duration").filter(|(.., node)| node.value != Value::Null)
                {
                    self.flag("duration", *at, duration)?;
                }
            }
            stages => stages.iter().for_each(|stage| self.given.say("stage", document::stage(stage, open), &*place)),
        }
        match load {
            plan::Load::Open { .. } => self.given.say("arrivals", word_of(node, "arrivals"), place),
            plan::Load::Closed { think, together, .. } => {
                if let Some((low, high)) = think {
                    let think = format!("{}..{}", document::time(low), document::time(high));
                    self.given.say("think", think, &*place);
                }
                if together {
                    self.given.say("together", "", place);
                }
            }
        }
        Ok(())
    }
}

/// The tree as JSON, for the one part that a report has in its own form.
pub(super) fn json_of(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.clone())),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), json_of(node))).collect(),
    }
}

fn entry<'a>(entries: &'a [(String, At, Node)], name: &str) -> Option<&'a (String, At, Node)> {
    entries.iter().find(|(key, ..)| key == name)
}

pub(super) fn text_of(node: &Node) -> &str {
    match &node.value {
        Value::Text(text) => text,
        _ => "",
    }
}

fn word_of<'a>(node: &'a Node, name: &str) -> &'a str {
    match &node.value {
        Value::Map(entries) => entry(entries, name).map_or("", |(.., node)| text_of(node)),
        _ => "",
    }
}
