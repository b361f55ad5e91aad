//! The `scenarios` of a plan file: each has a load and either a flow or URLs, which are appended to the URLs of the
//! plan.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::flow::{Branch, Flow, GROUPS, OnFailure, Pause, REQUESTS, Step, each};
use brunt_plan::scenarios::SCENARIOS;
use brunt_plan::stages::Level;
use brunt_plan::yaml::{FilePosition, YamlNode, YamlValue};
use brunt_plan::{Load, ScenarioPlan, Stage, quantity, stages};

use super::positions::Section;
use super::reader::{PlanFileEntry, PlanFileReader, text_of};
use super::{remarks, report_plan};
use crate::draft::{DraftScenario, DraftUrl};
use crate::origin::ValueOrigin;
use crate::parsers::{self, MOST_USERS, UNTIL_DONE};
use crate::suggestions::nearest;

/// The keys of a scenario.
const KEYS: [&str; 20] = [
    "name",
    "users",
    "rate",
    "stages",
    "arrivals",
    "duration",
    "start-time",
    "start",
    "end",
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
/// Maximum length of the name of a scenario.
const LONGEST: usize = 60;

impl PlanFileReader {
    /// Reads `scenarios`: a map by name, or a list of maps with a name.
    pub(super) fn scenarios(
        &mut self,
        at: FilePosition,
        node: &YamlNode,
        beside: &[PlanFileEntry],
    ) -> Result<(), UsageError> {
        if self.recorded {
            return self.recorded_scenarios(at, node);
        }
        if !self.draft.urls.is_empty() {
            let trouble = complaint!(
                "cannot be combined with `urls` or `flow` at the top level; move those into a scenario",
                "不能与最上层的 `urls` 或 `flow` 同用；请把它们移入某个场景"
            );
            return self.wrong(at, "scenarios", trouble);
        }
        let named: Vec<(String, FilePosition, &YamlNode)> = match &node.value {
            YamlValue::Map(entries) => entries.iter().map(|(name, at, node)| (name.clone(), *at, node)).collect(),
            YamlValue::List(items) => items.iter().map(|item| self.named_item(item)).collect::<Result<_, _>>()?,
            _ => {
                return self.wrong(
                    at,
                    "scenarios",
                    complaint!(
                        "must be a map of names, each with its users and flow",
                        "必须是名称的映射，每个名称有自己的用户和流程"
                    ),
                );
            }
        };
        let mut all: Vec<DraftScenario> = Vec::new();
        for (name, at, node) in named {
            if name.trim().is_empty() || name.len() > LONGEST || name.contains(['{', '}']) {
                let trouble = complaint!(
                    "cannot be the name of a scenario; use at most {LONGEST} characters and no braces",
                    "不能用作场景的名称；请用至多 {LONGEST} 个字符，且不含花括号"
                );
                return self.wrong(at, &name, trouble);
            }
            if all.iter().any(|written| written.scenario.name == name) {
                return self.wrong(
                    at,
                    &name,
                    complaint!("is the name of two scenarios; rename one", "是两个场景的名称；请改掉一个"),
                );
            }
            all.push(self.scenario(name, at, node)?);
        }
        let mut common = Flow::default();
        self.scenario_sections(beside, &mut common)?;
        self.complete_scenarios(at, &mut all, &mut common)?;
        self.draft.scenarios = all;
        self.draft.common = Some(common).filter(|common| *common != Flow::default());
        Ok(())
    }

    /// Reads the common part of a report's scenarios.
    pub(super) fn recorded_common(&mut self, at: FilePosition, node: &YamlNode) -> Result<(), UsageError> {
        let common = serde_json::from_value(report_plan::flow(node));
        let common = common.or_else(|error| {
            self.wrong(
                at,
                "common",
                complaint!("is not in the form used by reports: {error}", "不是报告所用的格式：{error}"),
            )
        })?;
        self.draft.common = Some(common);
        Ok(())
    }

    fn recorded_scenarios(&mut self, at: FilePosition, node: &YamlNode) -> Result<(), UsageError> {
        let read: Result<Vec<ScenarioPlan>, _> = serde_json::from_value(report_plan::scenarios(node));
        let all = read.or_else(|error| {
            self.wrong(
                at,
                "scenarios",
                complaint!("are not in the form used by reports: {error}", "不是报告所用的格式：{error}"),
            )
        })?;
        let written = |scenario: ScenarioPlan| {
            let (graceful_stop, most) = (Some(scenario.graceful_stop), Some(scenario.max_connections));
            DraftScenario { scenario, graceful_stop, max_connections: most }
        };
        self.draft.scenarios = all.into_iter().map(written).collect();
        Ok(())
    }

    fn named_item<'n>(&self, item: &'n YamlNode) -> Result<(String, FilePosition, &'n YamlNode), UsageError> {
        let YamlValue::Map(entries) = &item.value else {
            return self.wrong(
                item.at,
                "scenarios",
                complaint!(
                    "has an item that is not a map; write `- name: shop`, and its keys below it",
                    "中有一项不是映射；请写 `- name: shop`，并在其下写各键"
                ),
            );
        };
        match entries.iter().find(|(key, ..)| key == "name") {
            Some((_, at, node)) => Ok((self.scalar("name", node)?, *at, item)),
            None => self.wrong(
                item.at,
                "scenarios",
                complaint!("has an item without a name; write `- name: shop`", "中有一项没有名称；请写 `- name: shop`"),
            ),
        }
    }

    /// Checks and completes all scenarios together.
    fn complete_scenarios(
        &mut self,
        at: FilePosition,
        all: &mut [DraftScenario],
        common: &mut Flow,
    ) -> Result<(), UsageError> {
        if all.is_empty() || all.len() > SCENARIOS {
            return self.wrong(
                at,
                "scenarios",
                complaint!("there are {}; use 1 to {SCENARIOS}", "共有 {} 个；请用 1 到 {SCENARIOS} 个", all.len()),
            );
        }
        let steps =
            |of: fn(&Flow) -> &[Step]| all.iter().flat_map(|written| of(&written.scenario.flow).to_vec()).collect();
        let whole =
            Flow { steps: steps(|f| &f.steps), start: steps(|f| &f.start), end: steps(|f| &f.end), ..common.clone() };
        let urls = self.weighted();
        let whole = whole.with_variables(&urls);
        self.check_flow(&whole)?;
        for DraftScenario { scenario, .. } in &mut *all {
            scenario.flow.flows.clone_from(&common.flows);
            scenario.flow.remove_uncalled();
        }
        let groups: usize = all.iter().map(|written| written.scenario.flow.groups().len()).sum();
        if self.draft.urls.len() > REQUESTS || groups > GROUPS {
            let trouble = complaint!(
                "have more than {REQUESTS} requests or {GROUPS} groups in all; use fewer, or loops",
                "合计超过 {REQUESTS} 个请求或 {GROUPS} 个组；请减少，或用循环"
            );
            return self.wrong(at, "scenarios", trouble);
        }
        let flows: Vec<(&str, &Flow)> = all.iter().map(|w| (w.scenario.name.as_str(), &w.scenario.flow)).collect();
        self.draft.flow_remarks = remarks::of_scenarios(common, &flows, &urls, &self.places);
        // All flows have the same list of names, so that a value has the same index in each.
        all.iter_mut().for_each(|written| written.scenario.flow.variables.clone_from(&whole.variables));
        if *common != Flow::default() {
            common.variables = whole.variables;
        }
        Ok(())
    }

    fn scenario(&mut self, name: String, at: FilePosition, node: &YamlNode) -> Result<DraftScenario, UsageError> {
        let YamlValue::Map(entries) = &node.value else {
            return self.wrong(
                at,
                &name,
                complaint!(
                    "must be a map; write `users: 10` and a `flow` below it",
                    "必须是映射；请在其下写 `users: 10` 和 `flow`"
                ),
            );
        };
        // Keys in the form of reports are accepted as well.
        let entries: Vec<PlanFileEntry> =
            entries.iter().map(|(key, at, node)| (key.replace('_', "-"), *at, node.clone())).collect();
        for (key, at, _) in &entries {
            if !KEYS.contains(&key.as_str()) && self.keys.of_one_url(key).is_none() {
                let trouble = match nearest(key, KEYS.into_iter()) {
                    Some(near) => {
                        complaint!("unknown key; write `{near}` if you meant that", "未知的键；是否要写 `{near}`？")
                    }
                    None => complaint!(
                        "is not a key of a scenario, though it may be one of the whole plan; a scenario has {}, and \
                         options of its requests, such as `header` or `resources`",
                        "不是场景的键（也许是整个计划的键）；场景的键有 {}，以及其请求的选项，例如 `header` 或 `resources`",
                        KEYS.join(", ")
                    ),
                };
                return self.wrong(*at, key, trouble);
            }
        }
        self.refuse_together(&entries)?;
        let (load, duration) = self.load_of(&entries)?;
        if load.is_open() {
            self.refuse_of_users(&entries)?;
        }
        let first = self.draft.urls.len();
        let flow = self.flow_of(&name, at, &entries)?;
        self.apply_request_options(first, &entries)?;
        let time = |key| self.read(&entries, key, quantity::duration);
        let count = |key, what, most| self.read(&entries, key, move |text| quantity::bounded_count(text, what, most));
        let connections = count("max-connections", "connections", 10_000_000)?;
        let graceful_stop = time("graceful-stop")?;
        let scenario = ScenarioPlan {
            name,
            load,
            start: self.start_time(&entries)?,
            duration,
            iterations: self.read(&entries, "iterations", |text| quantity::count(text, "iterations"))?,
            iterations_per_user: count("iterations-per-user", "iterations", u64::from(u32::MAX))?,
            graceful_stop: Nanos::ZERO,
            spawn_rate: self.read(&entries, "spawn-rate", quantity::rate)?,
            max_users: count("max-users", "users", MOST_USERS)?,
            max_connections: 0,
            flow,
        };
        Ok(DraftScenario { scenario, graceful_stop, max_connections: connections })
    }

    /// Applies the options that a scenario has for all its requests to those from `first` on. A request's own options
    /// replace them.
    fn apply_request_options(&mut self, first: usize, entries: &[PlanFileEntry]) -> Result<(), UsageError> {
        let mut common = DraftUrl::plain("", ValueOrigin::CommandLine);
        for (key, at, node) in entries {
            if !KEYS.contains(&key.as_str()) && node.value != YamlValue::Null {
                self.url_option(key, *at, node, &mut common)?;
            }
        }
        for url in &mut self.draft.urls[first..] {
            url.own = std::mem::take(&mut url.own).merged_over(common.own.clone(), &url.without);
            let without = common.without.iter().filter(|name| !url.own.contains(name) && !url.without.contains(name));
            url.without.extend(without.copied().collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Reads the start time. `start` with any other value is the section of first steps.
    fn start_time(&self, entries: &[PlanFileEntry]) -> Result<Nanos, UsageError> {
        let time = self.read(entries, "start-time", quantity::duration)?;
        match find(entries, "start") {
            Some((_, at, YamlNode { value: YamlValue::Text(_), .. })) if time.is_some() => self.wrong(
                *at,
                "start",
                complaint!(
                    "gives a time here, and so does `start-time`; leave one of them out",
                    "在这里给出了时间，而 `start-time` 也给出了；请去掉其中一个"
                ),
            ),
            Some((.., YamlNode { value: YamlValue::Text(_), .. })) => {
                Ok(self.read(entries, "start", quantity::duration)?.unwrap_or_default())
            }
            _ => Ok(time.unwrap_or_default()),
        }
    }

    /// Rejects `start` and `end` for a rate, where each iteration is a new user.
    fn refuse_of_users(&self, entries: &[PlanFileEntry]) -> Result<(), UsageError> {
        for (key, [place, zh]) in [("start", ["first", "开头"]), ("end", ["last", "末尾"])] {
            if let Some((_, at, YamlNode { value: YamlValue::List(_), .. })) = find(entries, key) {
                let trouble = complaint!(
                    "runs once per user, and with a rate each iteration is a new user; put it {place} in `flow`",
                    "对每个用户执行一次，而按速率时每次迭代都是新用户；请放在 `flow` 的{zh}"
                );
                return self.wrong(*at, key, trouble);
            }
        }
        Ok(())
    }

    /// Parses the value of a key; `None` if it is missing.
    fn read<T>(
        &self,
        entries: &[PlanFileEntry],
        key: &str,
        read: impl Fn(&str) -> Result<T, Complaint>,
    ) -> Result<Option<T>, UsageError> {
        let Some((_, at, node)) = find(entries, key) else { return Ok(None) };
        let text = self.scalar(key, node)?;
        read(&text).map(Some).or_else(|trouble| self.wrong(*at, key, trouble))
    }

    /// Rejects keys that exclude each other.
    fn refuse_together(&self, entries: &[PlanFileEntry]) -> Result<(), UsageError> {
        let open =
            find(entries, "rate").is_some() || self.stages_of(entries)?.is_some_and(|(_, level)| level == Level::Rate);
        let staged = find(entries, "stages").is_some();
        let users_only = complaint!(
            "is for a number of users and cannot be combined with a rate; leave it out",
            "用于用户数，不能与速率同用；请去掉"
        );
        let rate_only = complaint!(
            "is for a rate; write `rate: 10/s` instead of `users`, or leave it out",
            "用于速率；请用 `rate: 10/s` 代替 `users`，或去掉"
        );
        let clashes = [
            (
                "rate",
                find(entries, "users").is_some(),
                complaint!(
                    "cannot be combined with `users`: the load is a number of users or a rate; leave one out",
                    "不能与 `users` 同用：负载要么是用户数，要么是速率；请去掉一个"
                ),
            ),
            (
                "stages",
                find(entries, "users").or(find(entries, "rate")).is_some(),
                complaint!(
                    "give the number of users or the rate themselves; leave out `users` and `rate`",
                    "自己给出用户数或速率；请去掉 `users` 和 `rate`"
                ),
            ),
            (
                "duration",
                staged,
                complaint!(
                    "cannot be combined with `stages`, which have their own times; leave one of them out",
                    "不能与 `stages` 同用，各阶段有自己的时间；请去掉其中一个"
                ),
            ),
            ("iterations-per-user", open, users_only.clone()),
            (
                "iterations-per-user",
                staged,
                complaint!(
                    "needs a constant number of users; write `users: 10` instead of `stages`",
                    "需要固定的用户数；请用 `users: 10` 代替 `stages`"
                ),
            ),
            (
                "iterations-per-user",
                find(entries, "iterations").is_some(),
                complaint!(
                    "cannot be combined with `iterations`, which all users share; leave one out",
                    "不能与 `iterations` 同用，后者由所有用户共享；请去掉一个"
                ),
            ),
            ("spawn-rate", open, users_only),
            (
                "spawn-rate",
                staged,
                complaint!(
                    "cannot be combined with `stages`, which say how fast users start; leave one of them out",
                    "不能与 `stages` 同用，后者决定用户启动的快慢；请去掉其中一个"
                ),
            ),
            ("arrivals", !open, rate_only.clone()),
            (
                "max-users",
                !open,
                complaint!(
                    "is for a rate; leave it out, or write `rate: 10/s` instead of `users`",
                    "用于速率；请去掉，或用 `rate: 10/s` 代替 `users`"
                ),
            ),
            ("max-connections", !open, rate_only),
            (
                "think",
                find(entries, "flow").is_some(),
                complaint!(
                    "is the pause between requests of `urls`; in a flow, add `pause` steps",
                    "是 `urls` 的请求之间的停顿；流程中请加 `pause` 步骤"
                ),
            ),
            (
                "urls",
                find(entries, "flow").is_some(),
                complaint!(
                    "cannot be combined with `flow`; make each a step of it, or leave one out",
                    "不能与 `flow` 同用；请把每个写成它的步骤，或去掉一个"
                ),
            ),
            (
                "url",
                find(entries, "flow").is_some(),
                complaint!(
                    "cannot be combined with `flow`; make it a step of it, or leave one out",
                    "不能与 `flow` 同用；请写成它的步骤，或去掉一个"
                ),
            ),
        ];
        match clashes.into_iter().find(|(key, clash, _)| *clash && find(entries, key).is_some()) {
            Some((key, _, trouble)) => {
                let at = find(entries, key).map_or(FilePosition { line: 0, column: 0 }, |(_, at, _)| *at);
                self.wrong(at, key, trouble)
            }
            None => Ok(()),
        }
    }

    fn stages_of(&self, entries: &[PlanFileEntry]) -> Result<Option<(Vec<Stage>, Level)>, UsageError> {
        let Some((_, at, node)) = find(entries, "stages") else { return Ok(None) };
        let items = match &node.value {
            YamlValue::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        let texts: Vec<String> = items.iter().map(|item| self.scalar("stages", item)).collect::<Result<_, _>>()?;
        let read = stages::parse_all(texts.iter().map(String::as_str));
        read.map(Some).or_else(|(_, trouble)| self.wrong(*at, "stages", trouble))
    }

    /// Reads the load and the time during which iterations are started.
    fn load_of(&self, entries: &[PlanFileEntry]) -> Result<(Load, Option<Nanos>), UsageError> {
        let arrivals = self.read(entries, "arrivals", parsers::arrivals)?.unwrap_or_default();
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
        let users = self.read(entries, "users", parsers::users)?;
        Ok((closed(level(f64::from(users.unwrap_or(1)))), duration))
    }

    /// Reads the steps of a scenario's users: its flow, or a random choice among its URLs.
    fn flow_of(&mut self, name: &str, at: FilePosition, entries: &[PlanFileEntry]) -> Result<Flow, UsageError> {
        let clear_cookies = match find(entries, "clear-cookies").map(|(_, at, node)| (at, text_of(node))) {
            None | Some((_, "false")) => false,
            Some((_, "true")) => true,
            Some((at, other)) => {
                return self.wrong(
                    *at,
                    "clear-cookies",
                    complaint!(
                        "`{other}` is neither true nor false; use one of \
                    them",
                        "`{other}` 既不是 true 也不是 false；请用其中之一"
                    ),
                );
            }
        };
        let before = self.draft.urls.len() as u32;
        let steps = if let Some((_, _, node)) = find(entries, "flow") {
            self.section(&Section::Own(name, "flow"), node)?
        } else if let Some((_, _, node)) = find(entries, "urls").or(find(entries, "url")) {
            self.urls(node)?;
            let urls = before..self.draft.urls.len() as u32;
            let request = |url| Step::Request { url, on_failure: OnFailure::default() };
            let way = |url: u32| Branch { weight: self.draft.urls[url as usize].weight, steps: vec![request(url)] };
            let mut steps = vec![Step::Choose { ways: urls.map(way).collect() }];
            let think = self.read(entries, "think", quantity::duration_range)?;
            steps.extend(think.map(|(from, to)| Step::Pause(Pause::Uniform { from, to })));
            steps
        } else {
            return self.wrong(
                at,
                name,
                complaint!("sends nothing; write a `flow` or `urls`", "什么也不发送；请写 `flow` 或 `urls`"),
            );
        };
        let mut sends = false;
        each(&steps, &mut |step| sends |= !step.urls().is_empty() || matches!(step, Step::Call { .. }));
        if !sends {
            return self.wrong(
                at,
                name,
                complaint!(
                    "sends nothing; write a step such as `- url: http://localhost:8080/`",
                    "什么也不发送；请写步骤，例如 `- url: http://localhost:8080/`"
                ),
            );
        }
        // The branches of the flow have the weights now, because the flow chooses the requests.
        self.draft.urls[before as usize..].iter_mut().for_each(|url| url.weight = 1.0);
        let mut flow = Flow { steps, clear_cookies, ..Flow::default() };
        for (key, section) in [("start", &mut flow.start), ("end", &mut flow.end)] {
            match find(entries, key) {
                Some((.., YamlNode { value: YamlValue::Text(_), .. })) if key == "start" => {}
                Some((_, _, node)) => *section = self.section(&Section::Own(name, key), node)?,
                None => {}
            }
        }
        Ok(flow)
    }
}

fn find<'a>(entries: &'a [PlanFileEntry], key: &str) -> Option<&'a PlanFileEntry> {
    entries.iter().find(|(name, _, node)| name == key && node.value != YamlValue::Null)
}
