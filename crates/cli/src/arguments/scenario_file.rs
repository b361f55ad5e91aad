//! The `scenarios` of a plan file: each a load, and a flow or URLs that join those of the plan.

use engine::Runner;
use measure::Nanos;
use plan::flow::{Flow, GROUPS, OnFailure, Pause, REQUESTS, Step, Way};
use plan::scenarios::SCENARIOS;
use plan::stages::Level;
use plan::yaml::{At, Node, Value};
use plan::{Arrivals, Load, Plan, Scenario, Stage, quantity, stages};
use report::Objective;
use serde_json::json;
use wire::Complaint;

use super::file::{Reader, json_of, text_of};
use super::given::Given;
use super::intent::in_one_queue;
use super::keys::nearest;
use super::load::{MOST_USERS, UNTIL_DONE};
use super::matched::Matched;

/// The keys of a scenario.
const KEYS: [&str; 18] = [
    "name",
    "users",
    "rate",
    "stages",
    "arrivals",
    "duration",
    "start",
    "iterations",
    "iterations-per-user",
    "graceful-stop",
    "spawn-rate",
    "max-users",
    "max-connections",
    "think",
    "clear-cookies",
    "flow",
    "urls",
    "url",
];
/// The longest name.
const LONGEST: usize = 60;

/// A scenario as it was written; what it leaves out the flags of the run say.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    scenario: Scenario,
    graceful_stop: Option<Nanos>,
    max_connections: Option<u32>,
}

type Entry = (String, At, Node);

impl Reader<'_> {
    /// Reads `scenarios`: a map of names, or a list of maps that have one.
    pub(super) fn scenarios(&mut self, at: At, node: &Node) -> Result<(), Complaint> {
        if self.recorded {
            return self.recorded_scenarios(at, node);
        }
        if !self.given.urls.is_empty() {
            let trouble = "stand beside `urls` or a `flow`; write them in the scenario that sends them";
            return self.wrong(at, "scenarios", trouble);
        }
        let named: Vec<(String, At, &Node)> = match &node.value {
            Value::Map(entries) => entries.iter().map(|(name, at, node)| (name.clone(), *at, node)).collect(),
            Value::List(items) => items.iter().map(|item| self.named_item(item)).collect::<Result<_, _>>()?,
            _ => {
                return self.wrong(at, "scenarios", "are no map; write a name for each, and below it users and a flow");
            }
        };
        let mut all: Vec<Written> = Vec::new();
        for (name, at, node) in named {
            if name.trim().is_empty() || name.len() > LONGEST || name.contains(['{', '}']) {
                let trouble =
                    format!("is no name of a scenario; write one of at most {LONGEST} letters, without braces");
                return self.wrong(at, &name, trouble);
            }
            if all.iter().any(|written| written.scenario.name == name) {
                return self.wrong(at, &name, "is the name of two scenarios; write another");
            }
            all.push(self.scenario(name, at, node)?);
        }
        self.of_all(at, &mut all)?;
        self.given.scenarios = all;
        Ok(())
    }

    fn recorded_scenarios(&mut self, at: At, node: &Node) -> Result<(), Complaint> {
        let read: Result<Vec<Scenario>, _> = serde_json::from_value(json_of(node));
        let all = read.or_else(|error| self.wrong(at, "scenarios", format!("are not those of a report: {error}")))?;
        let written = |scenario: Scenario| {
            let (graceful_stop, most) = (Some(scenario.graceful_stop), Some(scenario.max_connections));
            Written { scenario, graceful_stop, max_connections: most }
        };
        self.given.scenarios = all.into_iter().map(written).collect();
        Ok(())
    }

    fn named_item<'n>(&self, item: &'n Node) -> Result<(String, At, &'n Node), Complaint> {
        let Value::Map(entries) = &item.value else {
            return self.wrong(
                item.at,
                "scenarios",
                "has an item that is no map; write `- name: shop`, and its keys below",
            );
        };
        match entries.iter().find(|(key, ..)| key == "name") {
            Some((_, at, node)) => Ok((self.scalar("name", node)?, *at, item)),
            None => self.wrong(item.at, "scenarios", "has an item without a name; write `- name: shop`"),
        }
    }

    /// What holds for all of them together.
    fn of_all(&mut self, at: At, all: &mut [Written]) -> Result<(), Complaint> {
        if all.is_empty() || all.len() > SCENARIOS {
            return self.wrong(at, "scenarios", format!("are {}; write 1 to {SCENARIOS}", all.len()));
        }
        let steps = all.iter().flat_map(|written| written.scenario.flow.steps.clone()).collect();
        let whole = Flow { steps, ..Flow::default() }.with_variables(&self.given.urls);
        self.check_flow(&whole)?;
        let known = whole.variables;
        let groups: usize = all.iter().map(|written| written.scenario.flow.groups().len()).sum();
        if self.given.urls.len() > REQUESTS || groups > GROUPS {
            let trouble =
                format!("have more than {REQUESTS} requests or {GROUPS} groups together; write fewer, or loops");
            return self.wrong(at, "scenarios", trouble);
        }
        for Written { scenario, .. } in all {
            // What another scenario captures is not known in this one.
            let own = scenario.flow.urls().into_iter().filter_map(|url| self.given.urls.get(url as usize).cloned());
            let own: Vec<_> = own.collect();
            let alone = scenario.flow.clone().with_variables(&own);
            let remarks = super::flow_values::remarks(&alone, &self.given.urls);
            self.given.of_flow.extend(remarks.into_iter().map(|remark| format!("{}: {remark}", scenario.name)));
            scenario.flow.variables.clone_from(&known);
        }
        Ok(())
    }

    fn scenario(&mut self, name: String, at: At, node: &Node) -> Result<Written, Complaint> {
        let Value::Map(entries) = &node.value else {
            return self.wrong(at, &name, "is no map; write `users: 10` and a `flow` below it");
        };
        // As reports have them, too.
        let entries: Vec<Entry> =
            entries.iter().map(|(key, at, node)| (key.replace('_', "-"), *at, node.clone())).collect();
        for (key, at, _) in &entries {
            if !KEYS.contains(&key.as_str()) {
                let trouble = match nearest(key, KEYS.into_iter()) {
                    Some(near) => format!("unknown key; write `{near}` if you meant that"),
                    None => format!(
                        "is not of a scenario, but may be of the whole plan; a scenario has {}",
                        KEYS.join(", ")
                    ),
                };
                return self.wrong(*at, key, trouble);
            }
        }
        self.refuse_together(&entries)?;
        let (load, duration) = self.load_of(&entries)?;
        let flow = self.flow_of(&name, at, &entries)?;
        let time = |key| self.read(&entries, key, quantity::duration);
        let count = |key, what, most| self.read(&entries, key, move |text| quantity::bounded_count(text, what, most));
        let connections = count("max-connections", "connections", 10_000_000)?;
        let graceful_stop = time("graceful-stop")?;
        let scenario = Scenario {
            name,
            load,
            start: time("start")?.unwrap_or_default(),
            duration,
            iterations: self.read(&entries, "iterations", |text| quantity::count(text, "iterations"))?,
            iterations_per_user: count("iterations-per-user", "iterations", u64::from(u32::MAX))?,
            graceful_stop: Nanos::ZERO,
            spawn_rate: self.read(&entries, "spawn-rate", quantity::rate)?,
            max_users: count("max-users", "users", MOST_USERS)?,
            max_connections: 0,
            flow,
        };
        Ok(Written { scenario, graceful_stop, max_connections: connections })
    }

    /// The value of a key, read; None where it is not there.
    fn read<T>(
        &self,
        entries: &[Entry],
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Complaint> {
        let Some((_, at, node)) = find(entries, key) else { return Ok(None) };
        let text = self.scalar(key, node)?;
        read(&text).map(Some).or_else(|trouble| self.wrong(*at, key, trouble))
    }

    /// Keys of which one makes another meaningless.
    fn refuse_together(&self, entries: &[Entry]) -> Result<(), Complaint> {
        let open =
            find(entries, "rate").is_some() || self.stages_of(entries)?.is_some_and(|(_, level)| level == Level::Rate);
        let staged = find(entries, "stages").is_some();
        let users_only = "is about users, and a rate has none of its own; leave it out";
        let rate_only =
            "is about a rate, and users come by themselves; write `rate: 10/s` instead of `users`, or leave it out";
        let clashes = [
            (
                "rate",
                find(entries, "users").is_some(),
                "stands beside `users`; one says who sends, the other how often: leave one out",
            ),
            (
                "stages",
                find(entries, "users").or(find(entries, "rate")).is_some(),
                "say their own levels; leave `users` and `rate` out",
            ),
            ("duration", staged, "does not go with `stages`, whose times add up; leave one of them out"),
            ("iterations-per-user", open, users_only),
            ("iterations-per-user", staged, "goes with a constant number of users; write `users: 10`"),
            (
                "iterations-per-user",
                find(entries, "iterations").is_some(),
                "stands beside `iterations`, which all users share; leave one out",
            ),
            ("spawn-rate", open, users_only),
            ("spawn-rate", staged, "says how fast users come, and so do `stages`; leave one of them out"),
            ("arrivals", !open, rate_only),
            (
                "max-users",
                !open,
                "bounds users whom a rate brings; leave it out, or write `rate: 10/s` instead of `users`",
            ),
            ("max-connections", !open, rate_only),
            (
                "think",
                find(entries, "flow").is_some(),
                "is the pause between requests of `urls`; in a flow write `pause` where it is",
            ),
            (
                "urls",
                find(entries, "flow").is_some(),
                "stand beside a flow; write each as a step of it, or leave one out",
            ),
            (
                "url",
                find(entries, "flow").is_some(),
                "stands beside a flow; write it as a step of it, or leave one out",
            ),
        ];
        match clashes.into_iter().find(|(key, clash, _)| *clash && find(entries, key).is_some()) {
            Some((key, _, trouble)) => {
                let at = find(entries, key).map_or(At { line: 0, column: 0 }, |(_, at, _)| *at);
                self.wrong(at, key, trouble)
            }
            None => Ok(()),
        }
    }

    fn stages_of(&self, entries: &[Entry]) -> Result<Option<(Vec<Stage>, Level)>, Complaint> {
        let Some((_, at, node)) = find(entries, "stages") else { return Ok(None) };
        let items = match &node.value {
            Value::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        let texts: Vec<String> = items.iter().map(|item| self.scalar("stages", item)).collect::<Result<_, _>>()?;
        let read = stages::parse_all(texts.iter().map(String::as_str));
        read.map(Some).or_else(|trouble| self.wrong(*at, "stages", trouble))
    }

    /// Its load, and how long it begins iterations.
    fn load_of(&self, entries: &[Entry]) -> Result<(Load, Option<Nanos>), Complaint> {
        let words = [("poisson", Arrivals::Poisson), ("constant", Arrivals::Constant), ("burst", Arrivals::Burst)];
        let arrivals = |text: &str| {
            let word = words.iter().find(|(word, _)| *word == text);
            word.map(|(_, arrivals)| *arrivals)
                .ok_or(format!("`{text}` is not known; write poisson, constant or burst"))
        };
        let arrivals = self.read(entries, "arrivals", arrivals)?.unwrap_or_default();
        let closed = |stages| Load::Closed { stages, think: None, together: false };
        if let Some((stages, level)) = self.stages_of(entries)? {
            let lasts = stages.iter().fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.lasts));
            let load = if level == Level::Rate { Load::Open { stages, arrivals } } else { closed(stages) };
            return Ok((load, Some(lasts)));
        }
        let counted = find(entries, "iterations").or(find(entries, "iterations-per-user")).is_some();
        let duration = match self.read(entries, "duration", quantity::positive_duration)? {
            None if !counted => Some(Nanos::from_secs(10)),
            given => given,
        };
        let level = |level: f64| vec![Stage { lasts: duration.unwrap_or(UNTIL_DONE), from: level, to: level }];
        if let Some(rate) = self.read(entries, "rate", quantity::rate)? {
            return Ok((Load::Open { stages: level(rate), arrivals }, duration));
        }
        let users = self.read(entries, "users", |text| quantity::bounded_count(text, "users", MOST_USERS))?;
        Ok((closed(level(f64::from(users.unwrap_or(1)))), duration))
    }

    /// What its users do: its flow, or a choice among its URLs.
    fn flow_of(&mut self, name: &str, at: At, entries: &[Entry]) -> Result<Flow, Complaint> {
        let clear_cookies = match find(entries, "clear-cookies").map(|(_, at, node)| (at, text_of(node))) {
            None | Some((_, "false")) => false,
            Some((_, "true")) => true,
            Some((at, other)) => {
                return self.wrong(*at, "clear-cookies", format!("`{other}` is not a switch; write true or false"));
            }
        };
        let before = self.given.urls.len() as u32;
        let steps = if let Some((_, _, node)) = find(entries, "flow") {
            self.flow_steps(node)?
        } else if let Some((_, _, node)) = find(entries, "urls").or(find(entries, "url")) {
            self.urls(node)?;
            let urls = before..self.given.urls.len() as u32;
            let request = |url| Step::Request { url, on_failure: OnFailure::default() };
            let way = |url: u32| Way { weight: self.given.urls[url as usize].weight, steps: vec![request(url)] };
            let mut steps = vec![Step::Choose { ways: urls.map(way).collect() }];
            let think = self.read(entries, "think", quantity::duration_range)?;
            steps.extend(think.map(|(from, to)| Step::Pause(Pause::Uniform { from, to })));
            steps
        } else {
            return self.wrong(at, name, "says nothing; write a `flow`, or `urls`");
        };
        if self.given.urls.len() as u32 == before {
            return self.wrong(at, name, "sends nothing; write a step such as `- url: http://localhost:8080/`");
        }
        // Weights are those of the ways: the requests themselves are chosen by their flow.
        self.given.urls[before as usize..].iter_mut().for_each(|url| url.weight = 1.0);
        Ok(Flow { steps, clear_cookies, ..Flow::default() })
    }
}

fn find<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().find(|(name, _, node)| name == key && node.value != Value::Null)
}

/// What objectives call the scenarios of a plan, their iterations and groups.
fn called(plan: &Plan) -> Vec<String> {
    let spans = plan.spans();
    let groups = spans.iter().filter_map(|span| span.group).map(str::to_owned);
    let scenarios = plan.scenarios.iter().map(|scenario| format!("scenario {}", scenario.name));
    scenarios.chain(groups).chain(spans.iter().map(|span| span.called())).collect()
}

/// The plan with the scenarios of its file, or with the one that is asked for alone.
///
/// # Errors
/// What does not go with them, or only with them.
pub(super) fn of_run(flags: &Matched<'_>, given: &Given, plan: Plan, protocol: &dyn Runner) -> Result<Plan, Complaint> {
    let asked = flags.text("scenario");
    if given.scenarios.is_empty() {
        return match asked {
            Some(_) => {
                Err(Complaint::new("--scenario", "chooses among the scenarios of a plan file, and there are none"))
            }
            None => Ok(plan),
        };
    }
    if protocol.name() != "http" {
        let trouble = format!("have requests of {}; scenarios send HTTP only", protocol.name());
        return Err(Complaint::new("scenarios", trouble));
    }
    let scenario = |written: &Written| Scenario {
        graceful_stop: written.graceful_stop.unwrap_or(plan.drain),
        max_connections: written.max_connections.unwrap_or(plan.max_connections),
        ..written.scenario.clone()
    };
    let scenarios: Vec<Scenario> = given.scenarios.iter().map(scenario).collect();
    let load = plan::scenarios::together(&scenarios);
    // Shares of a small bound would be queues of their own.
    let bounded = |written: &Written| {
        let bound = written.scenario.max_users.or(written.max_connections);
        bound.is_some_and(|bound| in_one_queue(&written.scenario.load, bound))
    };
    let asked_workers = flags.given("workers") || flags.given("processes");
    let workers = if !asked_workers && given.scenarios.iter().any(bounded) { 1 } else { plan.workers };
    let mut plan = Plan { load, scenarios, requests: None, workers, ..plan };
    if let Some(name) = asked {
        let names: Vec<String> = plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect();
        let all = called(&plan);
        plan = plan.only(name).ok_or_else(|| {
            let known = names.iter().map(String::as_str);
            let right = nearest(name, known).map_or_else(|| format!("one of {}", names.join(", ")), str::to_owned);
            Complaint::new("--scenario", format!("no scenario is called `{name}`; write {right}"))
        })?;
        let known = called(&plan);
        // What must hold of the others is for a run that has them.
        let others = |name: &str| all.iter().any(|one| one == name) && !known.iter().any(|one| one == name);
        plan.objectives.retain(|text| {
            Objective::parse(text).ok().and_then(|objective| objective.name().map(others)) != Some(true)
        });
    }
    if flags.switch("debug") && plan.scenarios.len() > 1 {
        let names: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        let trouble = format!("shows one scenario; choose it with --scenario NAME, one of {}", names.join(", "));
        return Err(Complaint::new("--debug", trouble));
    }
    plan.duration = load::run_ends(&plan).map(|end| end - plan.warmup);
    Ok(plan)
}

/// Flags that say what each scenario says for itself.
///
/// # Errors
/// The first of them.
pub(super) fn refuse_loads(flags: &Matched<'_>, given: &Given) -> Result<(), Complaint> {
    if given.scenarios.is_empty() {
        return Ok(());
    }
    let on_line = flags.texts("target").into_iter().any(|text| !super::urls::is_plan(text));
    if on_line || flags.given("url") || flags.given("urls") {
        return Err(Complaint::new("URL", "stands beside scenarios, which say where requests go; leave it out"));
    }
    let of_each = [
        ("users", "-c"),
        ("rate", "-r"),
        ("stage", "--stage"),
        ("duration", "-d"),
        ("requests", "-n"),
        ("iterations", "--iterations"),
        ("arrivals", "--arrivals"),
        ("connect-rate", "--connect-rate"),
        ("think", "--think"),
        ("interval", "--interval"),
        ("hold", "--hold"),
    ];
    let switches = [("together", "--together"), ("clear-cookies", "--clear-cookies")];
    let given = of_each.into_iter().find(|(name, _)| flags.given(name));
    match given.or(switches.into_iter().find(|(name, _)| flags.switch(name))) {
        Some((_, place)) => Err(Complaint::new(place, "is what each scenario says for itself; write it there")),
        None => Ok(()),
    }
}

/// The schema of `scenarios`, for editors.
pub(super) fn schema() -> serde_json::Value {
    let number = json!({"type": ["integer", "string"]});
    let time = json!({"type": "string", "examples": ["10s", "500ms", "1m30s"]});
    let rate = json!({"type": ["string", "number"], "examples": ["500/s", "300/min"]});
    let with = |schema: &serde_json::Value, description: &str| {
        let mut schema = schema.clone();
        schema["description"] = json!(description);
        schema
    };
    let text = json!({"type": "string"});
    let properties = json!({
        "name": with(&text, "What it is called in figures, in a list of scenarios"),
        "users": with(&number, "So many users, each one iteration after the other"),
        "rate": with(&rate, "So many iterations begin per second, whatever the server does"),
        "stages": {"type": "array", "items": text, "description": "Stretches of load: 30s:10..50 users, 1m:20/s"},
        "arrivals": {"enum": ["poisson", "constant", "burst"], "description": "How iterations of a rate are spaced"},
        "duration": with(&time, "It begins iterations for so long"),
        "start": with(&time, "It begins so long after the run"),
        "iterations": with(&number, "So many iterations, by all of its users together"),
        "iterations-per-user": with(&number, "So many iterations by each user, who then leaves"),
        "graceful-stop": with(&time, "What is under way at its end may go on for so long"),
        "spawn-rate": with(&rate, "Users started per second"),
        "max-users": with(&number, "So many iterations of a rate at a time; what is due beyond them is dropped and counted"),
        "max-connections": with(&number, "Bound of the connections of a rate"),
        "think": with(&time, "Pause after each request of its URLs"),
        "clear-cookies": {"type": "boolean", "description": "Users begin each iteration without cookies"},
        "flow": {"$ref": "#/properties/flow"},
        "urls": {"$ref": "#/properties/urls"},
        "url": {"$ref": "#/properties/url"},
    });
    let one = json!({"type": "object", "properties": properties, "additionalProperties": false});
    json!({
        "description": "Several sorts of users side by side, each with its own load and its own flow",
        "anyOf": [{"type": "object", "additionalProperties": one}, {"type": "array", "items": one}],
    })
}
