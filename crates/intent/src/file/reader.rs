//! The shared parts of the plan file reader: values of keys with their positions, URLs and their options, errors.

use std::rc::Rc;
use std::sync::Arc;

use measure::Nanos;
use plan::flow::{AT_MOST, CAPTURE, CHECK_NAMES, TIMEOUT};
use plan::yaml::{At, Node, Value};
use plan::{WeightedUrl, document};
use wire::{Complaint, Takes};

use super::keys::Keys;
use super::places::Places;
use crate::draft::{Draft, Url};
use crate::origin::Origin;
use crate::values::Said;
use crate::{reading, urls};

/// A key, its position, and its value.
pub(super) type Entry = (String, At, Node);

pub(super) struct Reader {
    pub(super) path: Arc<str>,
    pub(super) keys: Rc<Keys>,
    pub(super) schemes: Vec<&'static str>,
    /// Set for the plan of a report: bare numbers are nanoseconds.
    pub(super) recorded: bool,
    pub(super) draft: Draft,
    /// Checks that need the complete flow, and their positions.
    pub(super) later: Vec<(Later, At)>,
    /// Positions of steps.
    pub(super) places: Places,
}

/// A check that needs the complete flow.
pub(super) enum Later {
    /// A condition, as written.
    Condition(String),
    /// The name of a list.
    List(String),
    /// The name of a called flow.
    Call(String),
    /// A text with values.
    Text(String),
    /// The definition of a called flow.
    Called(String),
    /// A server that steps connect to.
    Server(String),
}

/// The context of a list of steps.
#[derive(Default)]
pub(super) struct Within {
    /// The names of the enclosing groups.
    pub(super) groups: Vec<String>,
    /// The nesting depth.
    pub(super) depth: usize,
}

impl Reader {
    pub(super) fn origin(&self, at: At, key: &str) -> Origin {
        Origin::File { path: Arc::clone(&self.path), at, key: key.into() }
    }

    pub(super) fn wrong<T>(&self, at: At, name: &str, trouble: impl Into<String>) -> Result<T, Complaint> {
        Err(self.origin(at, name).wrong(name, trouble))
    }

    pub(super) fn say(&mut self, name: &'static str, text: impl Into<String>, (at, key): (At, &str)) {
        let origin = self.origin(at, key);
        self.draft.values.say(name, text, origin);
    }

    /// Reads a setting of the run or a protocol option: one value, or a list if it may be repeated.
    pub(super) fn setting(&mut self, name: &'static str, at: At, node: &Node) -> Result<(), Complaint> {
        let takes = self.keys.takes(name);
        for (text, at) in self.values(name, at, node, takes)? {
            let bare = self.recorded && takes == Takes::One("TIME") && text.bytes().all(|b| b.is_ascii_digit());
            let text = text.parse().ok().filter(|_| bare).map_or(text, |nanos| document::time(Nanos(nanos)));
            self.say(name, text, (at, name));
        }
        Ok(())
    }

    /// Returns the values of a key; a switch that is on has one empty value.
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
            // The notation of k6: `{duration: 1m, target: 50}`.
            Value::Map(_) if name == "stage" => {
                let usual =
                    "write `1m:50` (users) or `1m:10/s..100/s` (a rate), which begins where the stage before it ended";
                self.wrong(node.at, name, format!("is a map; {usual}"))
            }
            _ => self.wrong(node.at, name, "must be a single value; write a text or a number"),
        }
    }

    /// Refuses a masked value, which cannot be sent. In a file written by a person, three stars may be meant literally,
    /// so there they are refused only in place of a secret.
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
                _ => self.plain_url(item)?,
            };
            self.add_url(item.at, url)?;
        }
        Ok(())
    }

    /// Reads a URL without options.
    pub(super) fn plain_url(&self, item: &Node) -> Result<Url, Complaint> {
        Ok(Url::plain(self.scalar("URL", item)?, self.origin(item.at, "URL")))
    }

    pub(super) fn add_url(&mut self, at: At, url: Url) -> Result<(), Complaint> {
        let typed = urls::with_scheme(&url.url, &self.schemes).or_else(|trouble| self.wrong(at, "URL", trouble))?;
        self.places.url(at);
        self.draft.urls.push(Url { url: typed, ..url });
        Ok(())
    }

    /// Returns the URLs so far in the form of a plan.
    pub(super) fn weighted(&self) -> Vec<WeightedUrl> {
        self.draft.urls.iter().map(Url::weighted).collect()
    }

    /// Reads a URL with a weight and options of its own.
    pub(super) fn url(&mut self, item: &Node, entries: &[Entry]) -> Result<Url, Complaint> {
        let mut url = Url::plain("", self.origin(item.at, "URL"));
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
                        self.own(name, *at, node, &mut url)?;
                    }
                }
                _ => self.own(&name, *at, node, &mut url)?,
            }
        }
        if url.url.is_empty() {
            return self.wrong(item.at, "urls", "has no `url`; write `- url: http://localhost:8080/`");
        }
        Ok(url)
    }

    fn name(&mut self, node: &Node) -> Result<String, Complaint> {
        let name = self.scalar("name", node)?;
        let checked = reading::request_name(&name);
        checked.or_else(|trouble| self.wrong(node.at, "name", trouble))
    }

    pub(super) fn own(&mut self, name: &str, at: At, node: &Node, url: &mut Url) -> Result<(), Complaint> {
        if let (Value::Map(entries), true) = (&node.value, name.starts_with("expect-")) {
            return self.named_checks(name, (at, entries), url);
        }
        // Option of a step, in the form of a report.
        let of_step = [CAPTURE, CHECK_NAMES, TIMEOUT, AT_MOST].into_iter().find(|own| self.recorded && *own == name);
        let Some(name) = of_step.or_else(|| self.keys.of_one_url(name)) else {
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
        };
        let takes = if of_step.is_some() { Takes::Many("") } else { self.keys.takes(name) };
        let values = self.values(name, at, node, takes)?;
        url.own.take(name);
        if values.is_empty() {
            url.without.push(name);
        }
        values.into_iter().for_each(|(text, at)| url.own.say(name, text, self.origin(at, name)));
        Ok(())
    }

    /// Reads named checks: `expect-json: {has a token: $.token}`.
    fn named_checks(&mut self, name: &str, (at, entries): (At, &[Entry]), url: &mut Url) -> Result<(), Complaint> {
        let items: Vec<Node> = entries.iter().map(|(_, _, node)| node.clone()).collect();
        let rules = match &items[..] {
            [one] => one.clone(),
            _ => Node { at, value: Value::List(items) },
        };
        self.own(name, at, &rules, url)?;
        let mut names = url.own.take(CHECK_NAMES);
        for (which, (check, at, _)) in entries.iter().enumerate() {
            if check.trim().is_empty() || check.len() > 100 {
                return self.wrong(*at, check, "cannot be the name of a check; use at most 100 characters");
            }
            let text = format!("{name} {which} {check}");
            names.push(Said { name: CHECK_NAMES, text, origin: self.origin(*at, name) });
        }
        // The order in which a plan is shown: by option.
        names.sort_by_key(|said| said.text.split(' ').next().unwrap_or_default().to_owned());
        url.own.extend(names);
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
}

pub(super) fn text_of(node: &Node) -> &str {
    match &node.value {
        Value::Text(text) => text,
        _ => "",
    }
}
