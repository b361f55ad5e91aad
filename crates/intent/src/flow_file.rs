//! The `flow` of a plan file: what users do in order, read into steps whose requests join the URLs of the plan.

use measure::Nanos;
use plan::flow::{AT_MOST, Flow, GROUPS, OnFailure, Pause, REQUESTS, Step, TIMEOUT, Way};
use plan::yaml::{At, Node, Value};
use plan::{WeightedUrl, quantity};
use protocols::CAPTURE;
use serde_json::json;
use wire::{Complaint, Protocol};

use super::file::{Reader, json_of, text_of};
use super::flow_called::Later;
use super::flow_places::Section;
use super::given::Given;
use super::keys::nearest;
use super::matched::Matched;

/// What a step may be, by the key that says so.
pub(super) const KINDS: [&str; 13] =
    ["url", "batch", "pause", "pace", "close", "group", "repeat", "while", "for-each", "if", "choose", "once", "call"];
/// Steps within steps go no deeper.
const DEEPEST: usize = 32;
/// A loop is gone through no more often.
const MOST_TIMES: u64 = 1_000_000;

pub(super) type Entry = (String, At, Node);

/// What is around a list of steps.
#[derive(Default)]
pub(super) struct Within {
    groups: Vec<String>,
    depth: usize,
}

impl Reader<'_> {
    /// Reads `flow`, and what stands beside it.
    pub(super) fn flow(&mut self, at: At, node: &Node, beside: &[Entry]) -> Result<(), Complaint> {
        if self.recorded {
            let flow = serde_json::from_value(recorded(node, false));
            self.given.flow =
                Some(flow.or_else(|error| self.wrong(at, "flow", format!("is not a flow as in a report: {error}")))?);
            return Ok(());
        }
        if !self.given.urls.is_empty() {
            return self.wrong(
                at,
                "flow",
                "does not go with `urls`; make each URL a step of the flow, or leave one out",
            );
        }
        let steps = self.section(&Section::Own("", "flow"), node)?;
        let mut flow = Flow { steps, ..Flow::default() };
        self.beside_flow(beside, &mut flow)?;
        let flow = flow.with_variables(&self.given.urls);
        if flow.urls().len() > REQUESTS {
            return self.wrong(at, "flow", format!("has more than {REQUESTS} requests; use fewer, or loops"));
        }
        self.check_flow(&flow)?;
        if flow.of(&flow.steps).urls().is_empty() {
            return self.wrong(at, "flow", "sends nothing; write a step such as `- url: http://localhost:8080/`");
        }
        if flow.groups().len() > GROUPS {
            return self.wrong(at, "flow", format!("has more than {GROUPS} groups; use fewer"));
        }
        self.given.of_flow = super::flow_values::remarks(&flow, &self.given.urls, &self.places);
        self.given.flow = Some(flow);
        Ok(())
    }

    /// The steps of a flow, or of what stands beside it.
    pub(super) fn section(&mut self, section: &Section<'_>, node: &Node) -> Result<Vec<Step>, Complaint> {
        let steps = self.steps(node, &mut Within::default())?;
        self.places.close(section);
        Ok(steps)
    }

    /// A list of steps, and what is around it.
    pub(super) fn steps(&mut self, node: &Node, within: &mut Within) -> Result<Vec<Step>, Complaint> {
        let Value::List(items) = &node.value else {
            return self.wrong(node.at, "steps", "must be a list; write each step as `- url: http://localhost:8080/`");
        };
        if within.depth > DEEPEST {
            return self.wrong(node.at, "steps", format!("are nested more than {DEEPEST} deep; use fewer levels"));
        }
        within.depth += 1;
        let steps = items.iter().map(|item| self.flow_step(item, within)).collect();
        within.depth -= 1;
        steps
    }

    fn flow_step(&mut self, item: &Node, within: &mut Within) -> Result<Step, Complaint> {
        self.places.step(item.at);
        let entries = match &item.value {
            Value::Map(entries) => entries,
            Value::Text(_) => {
                let url = WeightedUrl::plain(self.scalar("URL", item)?);
                return self.request(item.at, url, OnFailure::default());
            }
            _ => return self.wrong(item.at, "step", "is neither a URL nor a map; write `- url: …`"),
        };
        let kinds: Vec<&Entry> = entries.iter().filter(|(key, ..)| KINDS.contains(&key.as_str())).collect();
        let (kind, at, node) = match kinds[..] {
            [(kind, at, node)] => (kind.as_str(), *at, node),
            [] => return self.no_kind(item.at, entries),
            [_, (second, at, _), ..] => {
                return self.wrong(*at, second, "starts another step; put `- ` in front of it");
            }
        };
        let rest: Vec<&Entry> = entries.iter().filter(|(key, ..)| key != kind).collect();
        match kind {
            "url" => self.request_step(item, entries),
            "batch" => self.alone(&rest).and_then(|()| self.batch(node)),
            "pause" => self.alone(&rest).and_then(|()| self.pause(node)).map(Step::Pause),
            "pace" => self.alone(&rest).and_then(|()| self.time("pace", node)).map(Step::Pace),
            "close" => self.alone(&rest).and_then(|()| self.close(node)),
            "group" => self.group((at, node), &rest, within),
            "repeat" => {
                let times = quantity::bounded_count(text_of(node), "times", MOST_TIMES);
                let times = times.or_else(|trouble| self.wrong(at, "repeat", trouble))?;
                let steps = self.steps_beside("repeat", at, &rest, within)?;
                Ok(Step::Repeat { times, steps })
            }
            "while" => {
                let condition = self.condition(node)?;
                let steps = self.steps_beside("while", at, &rest, within)?;
                Ok(Step::While { condition, steps })
            }
            "if" => self.choice((at, node), rest, within),
            "once" => {
                self.alone(&rest)?;
                self.steps(node, within).map(|steps| Step::Once { steps })
            }
            "for-each" => self.for_each((at, node), &rest, within),
            "call" => self.call((at, node), &rest),
            _ => self.alone(&rest).and_then(|()| self.ways(node, within)).map(|ways| Step::Choose { ways }),
        }
    }

    fn group(&mut self, (at, node): (At, &Node), rest: &[&Entry], within: &mut Within) -> Result<Step, Complaint> {
        let name = self.scalar("group", node)?;
        if name.trim().is_empty() || within.groups.contains(&name) {
            let trouble = if name.trim().is_empty() { "has no name" } else { "is inside itself" };
            return self.wrong(at, "group", format!("{trouble}; write a name of its own"));
        }
        within.groups.push(name.clone());
        let steps = self.steps_beside("group", at, rest, within)?;
        within.groups.pop();
        Ok(Step::Group { name, steps })
    }

    fn choice(&mut self, (at, node): (At, &Node), rest: Vec<&Entry>, within: &mut Within) -> Result<Step, Complaint> {
        let condition = self.condition(node)?;
        let (otherwise, rest): (Vec<&Entry>, Vec<&Entry>) = rest.into_iter().partition(|(key, ..)| key == "else");
        let steps = self.steps_beside("if", at, &rest, within)?;
        let otherwise = match otherwise[..] {
            [(.., node)] => self.steps(node, within)?,
            _ => Vec::new(),
        };
        Ok(Step::If { condition, steps, otherwise })
    }

    fn no_kind<T>(&self, at: At, entries: &[Entry]) -> Result<T, Complaint> {
        let Some((key, at, _)) = entries.first() else { return self.wrong(at, "step", "is empty; write `- url: …`") };
        let of_request = |(key, ..): &&Entry| {
            [CAPTURE, TIMEOUT, AT_MOST, "name", "on-failure", "on_failure"].contains(&key.as_str())
                || self.keys.is_of_one_url(&key.replace('_', "-"))
        };
        if let Some((key, at, _)) = entries.iter().find(of_request) {
            return self.wrong(*at, key, "is for a request, and this step has no `url`; write `- url: …`");
        }
        let near = entries.iter().find_map(|(key, at, _)| Some((key, at, nearest(key, KINDS.into_iter())?)));
        match near {
            Some((key, at, kind)) => self.wrong(*at, key, format!("unknown key; write `{kind}` if you meant that")),
            None => self.wrong(*at, key, format!("is not a kind of step; a step has one of {}", KINDS.join(", "))),
        }
    }

    /// Nothing else stands beside the key that says what the step is.
    fn alone(&self, rest: &[&Entry]) -> Result<(), Complaint> {
        match rest.first() {
            None => Ok(()),
            Some((key, at, _)) => self.wrong(*at, key, "does not belong to this step; put `- ` in front of it"),
        }
    }

    pub(super) fn steps_beside(
        &mut self,
        kind: &str,
        at: At,
        rest: &[&Entry],
        within: &mut Within,
    ) -> Result<Vec<Step>, Complaint> {
        match rest {
            // Another way of an `if` may be all there is.
            [(key, at, node)] if key == "steps" => match self.steps(node, within)?.as_slice() {
                [] if kind != "if" && kind != "choose" => self.wrong(*at, key, "is empty; write a step below it"),
                steps => Ok(steps.to_vec()),
            },
            [] => self.wrong(at, kind, "needs `steps`; write them below it"),
            [(key, at, _), ..] => self.wrong(*at, key, "is not a key of this step; it takes only `steps`"),
        }
    }

    pub(super) fn request_step(&mut self, item: &Node, entries: &[Entry]) -> Result<Step, Complaint> {
        let of_flow = ["on-failure", "on_failure", CAPTURE, TIMEOUT, AT_MOST, "at_most"];
        let of_url: Vec<Entry> = entries.iter().filter(|(key, ..)| !of_flow.contains(&key.as_str())).cloned().collect();
        if let Some((key, at, _)) = of_url.iter().find(|(key, ..)| key == "weight") {
            return self.wrong(*at, key, "is for URLs that share a load; in a flow, use `choose`");
        }
        let mut url = self.url(item, &of_url)?;
        let mut on_failure = OnFailure::default();
        for (key, at, node) in entries.iter().filter(|(key, ..)| of_flow.contains(&key.as_str())) {
            if key == CAPTURE {
                url.options.insert(CAPTURE.to_owned(), self.captures(*at, node)?);
                continue;
            }
            if !key.starts_with("on") {
                let (name, text) = (key.replace('_', "-"), self.scalar(key, node)?);
                let read = match &*name {
                    TIMEOUT => quantity::positive_duration(&text).map(drop),
                    _ => quantity::rate(&text).map(drop),
                };
                read.or_else(|trouble| self.wrong(node.at, key, trouble))?;
                url.options.insert(name, vec![text]);
                continue;
            }
            on_failure = self.on_failure((key, *at), node)?;
        }
        self.request(item.at, url, on_failure)
    }

    pub(super) fn on_failure(&self, (key, at): (&str, At), node: &Node) -> Result<OnFailure, Complaint> {
        let word = OnFailure::WORDS.iter().find(|(word, _)| *word == text_of(node));
        let words = OnFailure::WORDS.map(|(word, _)| word).join(", ");
        match word {
            Some((_, meant)) => Ok(*meant),
            None => self.wrong(at, key, format!("`{}` is not one of {words}", text_of(node))),
        }
    }

    pub(super) fn request(&mut self, at: At, url: WeightedUrl, on_failure: OnFailure) -> Result<Step, Complaint> {
        self.add_url(at, url)?;
        Ok(Step::Request { url: self.given.urls.len() as u32 - 1, on_failure })
    }

    /// `capture: {token: json $.token}`, as `token json $.token` each.
    fn captures(&mut self, at: At, node: &Node) -> Result<Vec<String>, Complaint> {
        let Value::Map(entries) = &node.value else {
            return self.wrong(at, CAPTURE, "must be a map; write for instance `capture: {token: json $.token}`");
        };
        let mut all = Vec::new();
        for (name, at, node) in entries {
            if let Err(trouble) = protocols::capture::valid_name(name) {
                return self.wrong(*at, name, trouble);
            }
            let source = self.scalar(name, node)?;
            if let Err(trouble) = protocols::capture::Capture::parse(&source) {
                return self.wrong(node.at, name, trouble);
            }
            self.places.capture(name, *at);
            all.push(format!("{name} {source}"));
        }
        Ok(all)
    }

    fn ways(&mut self, node: &Node, within: &mut Within) -> Result<Vec<Way>, Complaint> {
        let Value::List(items) = &node.value else {
            return self.wrong(node.at, "choose", "must be a list; write `- weight: 3` and `steps` for each branch");
        };
        let mut ways = Vec::new();
        for item in items {
            let Value::Map(entries) = &item.value else {
                return self.wrong(item.at, "choose", "must be a map; write `- weight: 3` and `steps` for each branch");
            };
            let weight = match entries.iter().find(|(key, ..)| key == "weight") {
                Some((.., node)) => self.weight(node)?,
                None => 1.0,
            };
            let rest: Vec<&Entry> = entries.iter().filter(|(key, ..)| key != "weight").collect();
            let steps = self.steps_beside("choose", item.at, &rest, within)?;
            ways.push(Way { weight, steps });
        }
        if ways.is_empty() {
            return self.wrong(node.at, "choose", "has no branches; write `- steps: [...]` for each");
        }
        Ok(ways)
    }

    /// Read once all is known that steps capture.
    fn condition(&mut self, node: &Node) -> Result<String, Complaint> {
        let condition = self.scalar("condition", node)?;
        self.later.push((Later::Condition(condition.clone()), node.at));
        Ok(condition)
    }

    fn time(&self, name: &str, node: &Node) -> Result<Nanos, Complaint> {
        let time = self.scalar(name, node)?;
        quantity::duration(&time).or_else(|trouble| self.wrong(node.at, name, trouble))
    }

    /// `2s`, `1s..3s`, `normal 2s 500ms`, `exponential 2s`.
    fn pause(&self, node: &Node) -> Result<Pause, Complaint> {
        let text = self.scalar("pause", node)?;
        pause(&text).or_else(|trouble| self.wrong(node.at, "pause", trouble))
    }
}

/// What in the flow of a report is a number or a word of JSON, by its key; all else is text, whatever it looks like.
const NO_TEXTS: [&str; 14] = [
    "url",
    "urls",
    "times",
    "weight",
    "from",
    "to",
    "mean",
    "deviation",
    "pace",
    "at_most",
    "clear_cookies",
    "variable",
    "value",
    "ends",
];

/// The flow of a report as JSON.
pub(super) fn recorded(node: &Node, no_text: bool) -> serde_json::Value {
    match &node.value {
        Value::List(items) => items.iter().map(|item| recorded(item, no_text)).collect(),
        Value::Map(entries) => {
            let entry = |(name, _, node): &Entry| {
                let value = match name.as_str() {
                    "with" => texts(node),
                    name => recorded(node, NO_TEXTS.contains(&name)),
                };
                (name.clone(), value)
            };
            entries.iter().map(entry).collect()
        }
        Value::Text(text) if !no_text => serde_json::Value::String(text.clone()),
        Value::Null | Value::Text(_) => json_of(node),
    }
}

/// A map of texts, whatever they are called.
fn texts(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|(name, _, node)| (name.clone(), recorded(node, false))).collect(),
        _ => json_of(node),
    }
}

fn pause(text: &str) -> Result<Pause, String> {
    let usual = "write 2s, 1s..3s, `normal 2s 500ms` or `exponential 2s`";
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["normal", mean, deviation] => {
            Pause::Normal { mean: quantity::duration(mean)?, deviation: quantity::duration(deviation)? }
        }
        ["exponential", mean] => Pause::Exponential { mean: quantity::duration(mean)? },
        ["normal" | "exponential", ..] => return Err(format!("`{text}` is not a pause; {usual}")),
        [one] => {
            let (from, to) = quantity::duration_range(one)?;
            Pause::Uniform { from, to }
        }
        _ => return Err(format!("`{text}` is not a pause; {usual}")),
    })
}

/// Requests that are sent one after the other, by users who keep cookies.
///
/// # Errors
/// There are none, or more than a flow has.
pub(super) fn in_order(mut given: Given) -> Result<Given, Complaint> {
    let trouble = match given.urls.len() {
        0 => "needs curl commands; add --curl-file FILE".to_owned(),
        more if more > REQUESTS => {
            format!("makes a flow of {more} requests, and at most {REQUESTS} are allowed; use fewer")
        }
        _ => String::new(),
    };
    if !trouble.is_empty() {
        return Err(Complaint::new("--as-flow", trouble));
    }
    let step = |url| Step::Request { url, on_failure: OnFailure::default() };
    let steps = (0..given.urls.len() as u32).map(step).collect();
    given.flow = Some(Flow { steps, ..Flow::default() }.with_variables(&given.urls));
    if !given.has("cookie-jar") {
        given.say("cookie-jar", "", "--as-flow");
    }
    let unkept = |said: &String| said.contains("not kept without --cookie-jar");
    given.notes.retain(|said| !unkept(said));
    given.remarks.retain(|said| !unkept(said));
    Ok(given)
}

/// What does not go with a flow, or only with one.
///
/// # Errors
/// The first flag that does not.
pub(super) fn of_run(flags: &Matched<'_>, given: &Given, protocol: &dyn Protocol) -> Result<Option<Flow>, Complaint> {
    let Some(flow) = &given.flow else {
        if !given.scenarios.is_empty() {
            return Ok(None);
        }
        let of_flows = [
            ("iterations", "--iterations", "needs a flow; for requests write -n"),
            ("clear-cookies", "--clear-cookies", "needs a flow; leave it out"),
        ];
        let said = of_flows.into_iter().find(|(name, ..)| flags.given(name));
        return said.map_or(Ok(None), |(_, place, trouble)| Err(Complaint::new(place, trouble)));
    };
    if protocol.name() != "http" && protocol.name() != protocols::mixed::NAME {
        let trouble = format!("has steps of {}, which flows of this build do not support", protocol.name());
        return Err(Complaint::new("flow", trouble));
    }
    let on_line = flags.texts("target").into_iter().any(|text| !super::urls::is_plan(text));
    if on_line || flags.given("url") || flags.given("urls") {
        return Err(Complaint::new("URL", "does not go with a flow, whose steps have URLs of their own; leave it out"));
    }
    let others = [
        ("requests", "-n", "counts requests; with a flow, write --iterations"),
        ("think", "--think", "is the pause between requests; in a flow, add `pause` steps"),
        ("interval", "--interval", "is the time from request to request; in a flow, use `pace`"),
        ("hold", "--hold", "does not go with a flow; leave it out"),
    ];
    let clears = flags.switch("clear-cookies") && !given.has("cookie-jar");
    if clears {
        return Err(Complaint::new("clear-cookies", "has no cookies to clear; add `cookie-jar: true`"));
    }
    match others.into_iter().find(|(name, ..)| flags.given(name)) {
        Some((_, place, trouble)) => Err(Complaint::new(place, trouble)),
        None => Ok(Some(Flow { clear_cookies: flags.switch("clear-cookies"), ..flow.clone() })),
    }
}

/// The schema of `flow`, for editors; `url`: that of a URL in `urls`.
pub(super) fn schema(url: &serde_json::Value) -> serde_json::Value {
    let mut request = url["anyOf"][1].clone();
    if let Some(properties) = request["properties"].as_object_mut() {
        properties.remove("weight");
        properties.insert(
            CAPTURE.into(),
            json!({"type": "object", "additionalProperties": {"type": "string"},
                "description": "Values for later steps, taken from the response: `token: json $.token`"}),
        );
        properties.insert(
            "on-failure".into(),
            json!({"enum": OnFailure::WORDS.map(|(word, _)| word), "description": "What happens when the step fails"}),
        );
        properties.insert(
            TIMEOUT.into(),
            json!({"type": "string", "examples": ["500ms"], "description": "What its request may take"}),
        );
        properties.insert(
            AT_MOST.into(),
            json!({"type": "string", "examples": ["50/s"], "description": "So often it is sent at most, by all users together; they wait for their turns"}),
        );
    }
    let time = json!({"type": "string", "examples": ["2s", "1s..3s", "normal 2s 500ms", "exponential 2s"]});
    let steps = json!({"$ref": "#/properties/flow"});
    let object = |properties: serde_json::Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let way = object(json!({"weight": {"type": ["number", "string"]}, "steps": steps}), &["steps"]);
    json!({
        "type": "array",
        "description": "Steps each user does in an iteration",
        "items": {"anyOf": [
            {"type": "string"},
            request,
            super::flow_beside::schema_of_batch(&request),
            object(json!({"pause": time}), &["pause"]),
            object(json!({"pace": {"type": "string"}}), &["pace"]),
            super::flow_called::schema_of_close(),
            object(json!({"group": {"type": "string"}, "steps": steps}), &["group", "steps"]),
            object(json!({"repeat": {"type": ["integer", "string"]}, "steps": steps}), &["repeat", "steps"]),
            super::flow_called::schema_of_each(&steps),
            super::flow_called::schema_of_call(),
            object(json!({"while": {"type": "string"}, "steps": steps}), &["while", "steps"]),
            object(json!({"if": {"type": "string"}, "steps": steps, "else": steps}), &["if", "steps"]),
            object(json!({"choose": {"type": "array", "items": way}}), &["choose"]),
            object(json!({"once": steps}), &["once"]),
        ]},
    })
}
