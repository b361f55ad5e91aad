//! The `flow` of a plan file: parsed into steps whose requests are appended to the URLs of the plan.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::flow::{AT_MOST, Branch, Flow, GROUPS, OnFailure, Pause, REQUESTS, Step, TIMEOUT};
use brunt_plan::quantity;
use brunt_plan::yaml::{FilePosition, YamlNode, YamlValue};
use brunt_protocols::CAPTURE;

use super::positions::Section;
use super::reader::{DeferredCheck, PlanFileEntry, PlanFileReader, StepContext, text_of};
use super::{remarks, report_plan};
use crate::draft::DraftUrl;
use crate::suggestions::nearest;
use crate::values::SettingValues;

/// The keys of the kinds of steps.
pub(super) const KINDS: [&str; 13] =
    ["url", "batch", "pause", "pace", "close", "group", "repeat", "while", "for-each", "if", "choose", "once", "call"];
/// Maximum nesting depth of steps.
const DEEPEST: usize = 32;

impl PlanFileReader {
    /// Reads `flow` and the sections next to it.
    pub(super) fn flow(
        &mut self,
        at: FilePosition,
        node: &YamlNode,
        beside: &[PlanFileEntry],
    ) -> Result<(), UsageError> {
        if self.recorded {
            let flow = serde_json::from_value(report_plan::flow(node));
            self.draft.flow = Some(flow.or_else(|error| {
                self.wrong(
                    at,
                    "flow",
                    complaint!("is not a flow in the form used by reports: {error}", "不是报告所用格式的流程：{error}"),
                )
            })?);
            return Ok(());
        }
        if !self.draft.urls.is_empty() {
            return self.wrong(
                at,
                "flow",
                complaint!(
                    "cannot be combined with `urls`; make each URL a step of the flow, or leave one out",
                    "不能与 `urls` 同用；请把每个 URL 写成流程的步骤，或去掉一个"
                ),
            );
        }
        let steps = self.section(&Section::Own("", "flow"), node)?;
        let mut flow = Flow { steps, ..Flow::default() };
        self.flow_sections(beside, &mut flow)?;
        let urls = self.weighted();
        let flow = flow.with_variables(&urls);
        if flow.urls().len() > REQUESTS {
            return self.wrong(
                at,
                "flow",
                complaint!(
                    "has more than {REQUESTS} requests; use fewer, or loops",
                    "超过 {REQUESTS} 个请求；请减少，或用循环"
                ),
            );
        }
        self.check_flow(&flow)?;
        if flow.with_steps(&flow.steps).urls().is_empty() {
            return self.wrong(
                at,
                "flow",
                complaint!(
                    "sends nothing; write a step such as `- url: http://localhost:8080/`",
                    "什么也不发送；请写步骤，例如 `- url: http://localhost:8080/`"
                ),
            );
        }
        if flow.groups().len() > GROUPS {
            return self.wrong(
                at,
                "flow",
                complaint!("has more than {GROUPS} groups; use fewer", "超过 {GROUPS} 个组；请减少"),
            );
        }
        self.draft.flow_remarks = remarks::of_flow(&flow, &urls, &self.places);
        self.draft.flow = Some(flow);
        Ok(())
    }

    /// Reads the steps of a flow or of a section next to it.
    pub(super) fn section(&mut self, section: &Section<'_>, node: &YamlNode) -> Result<Vec<Step>, UsageError> {
        let steps = self.steps(node, &mut StepContext::default())?;
        self.places.close(section);
        Ok(steps)
    }

    /// Reads a list of steps in a context.
    pub(super) fn steps(&mut self, node: &YamlNode, within: &mut StepContext) -> Result<Vec<Step>, UsageError> {
        let YamlValue::List(items) = &node.value else {
            return self.wrong(
                node.at,
                "steps",
                complaint!(
                    "must be a list; write each step as `- url: http://localhost:8080/`",
                    "必须是列表；每个步骤写成 `- url: http://localhost:8080/`"
                ),
            );
        };
        if within.depth > DEEPEST {
            return self.wrong(
                node.at,
                "steps",
                complaint!(
                    "are nested more than {DEEPEST} deep; use fewer levels",
                    "嵌套超过 {DEEPEST} 层；请减少层数"
                ),
            );
        }
        within.depth += 1;
        let steps = items.iter().map(|item| self.flow_step(item, within)).collect();
        within.depth -= 1;
        steps
    }

    fn flow_step(&mut self, item: &YamlNode, within: &mut StepContext) -> Result<Step, UsageError> {
        self.places.step(item.at);
        let entries = match &item.value {
            YamlValue::Map(entries) => entries,
            YamlValue::Text(_) => {
                let url = self.plain_url(item)?;
                return self.request(item.at, url, OnFailure::default());
            }
            _ => {
                return self.wrong(
                    item.at,
                    "step",
                    complaint!(
                        "is neither a URL nor a map; write `- url: …`",
                        "既不是 URL 也不是映射；请写 `- url: …`"
                    ),
                );
            }
        };
        let kinds: Vec<&PlanFileEntry> = entries.iter().filter(|(key, ..)| KINDS.contains(&key.as_str())).collect();
        let (kind, at, node) = match kinds[..] {
            [(kind, at, node)] => (kind.as_str(), *at, node),
            [] => return self.unknown_step(item.at, entries),
            [_, (second, at, _), ..] => {
                return self.wrong(
                    *at,
                    second,
                    complaint!("starts another step; put `- ` in front of it", "是另一个步骤的开始；请在前面写 `- `"),
                );
            }
        };
        let rest: Vec<&PlanFileEntry> = entries.iter().filter(|(key, ..)| key != kind).collect();
        match kind {
            "url" => self.request_step(item, entries),
            "batch" => self.refuse_other_keys(&rest).and_then(|()| self.batch(node)),
            "pause" => self.refuse_other_keys(&rest).and_then(|()| self.pause(node)).map(Step::Pause),
            "pace" => self.refuse_other_keys(&rest).and_then(|()| self.time("pace", node)).map(Step::Pace),
            "close" => self.refuse_other_keys(&rest).and_then(|()| self.close(node)),
            "group" => self.group((at, node), &rest, within),
            "repeat" => {
                let times = self.repeat_count(at, node)?;
                let steps = self.nested_steps("repeat", at, &rest, within)?;
                Ok(Step::Repeat { times, steps })
            }
            "while" => {
                let condition = self.condition(node)?;
                let steps = self.nested_steps("while", at, &rest, within)?;
                Ok(Step::While { condition, steps })
            }
            "if" => self.choice((at, node), rest, within),
            "once" => {
                self.refuse_other_keys(&rest)?;
                self.steps(node, within).map(|steps| Step::Once { steps })
            }
            "for-each" => self.for_each((at, node), &rest, within),
            "call" => self.call((at, node), &rest),
            _ => self.refuse_other_keys(&rest).and_then(|()| self.ways(node, within)).map(|ways| Step::Choose { ways }),
        }
    }

    fn group(
        &mut self,
        (at, node): (FilePosition, &YamlNode),
        rest: &[&PlanFileEntry],
        within: &mut StepContext,
    ) -> Result<Step, UsageError> {
        let name = self.scalar("group", node)?;
        if name.trim().is_empty() || within.groups.contains(&name) {
            let trouble = if name.trim().is_empty() {
                complaint!("has no name", "没有名称")
            } else {
                complaint!("is inside a group of the same name", "位于同名的组之内")
            };
            let zh = trouble.zh();
            return self.wrong(
                at,
                "group",
                complaint!("{trouble}; give it a name of its own", "{zh}；请给它单独的名称"),
            );
        }
        within.groups.push(name.clone());
        let steps = self.nested_steps("group", at, rest, within)?;
        within.groups.pop();
        Ok(Step::Group { name, steps })
    }

    fn choice(
        &mut self,
        (at, node): (FilePosition, &YamlNode),
        rest: Vec<&PlanFileEntry>,
        within: &mut StepContext,
    ) -> Result<Step, UsageError> {
        let condition = self.condition(node)?;
        let (otherwise, rest): (Vec<&PlanFileEntry>, Vec<&PlanFileEntry>) =
            rest.into_iter().partition(|(key, ..)| key == "else");
        let steps = self.nested_steps("if", at, &rest, within)?;
        let otherwise = match otherwise[..] {
            [(.., node)] => self.steps(node, within)?,
            _ => Vec::new(),
        };
        Ok(Step::If { condition, steps, otherwise })
    }

    fn unknown_step<T>(&self, at: FilePosition, entries: &[PlanFileEntry]) -> Result<T, UsageError> {
        let Some((key, at, _)) = entries.first() else {
            return self.wrong(at, "step", complaint!("is empty; write `- url: …`", "为空；请写 `- url: …`"));
        };
        let of_request = |(key, ..): &&PlanFileEntry| {
            [CAPTURE, TIMEOUT, AT_MOST, "name", "on-failure", "on_failure"].contains(&key.as_str())
                || self.keys.of_one_url(&key.replace('_', "-")).is_some()
        };
        if let Some((key, at, _)) = entries.iter().find(of_request) {
            return self.wrong(
                *at,
                key,
                complaint!(
                    "is for a request, and this step has no `url`; write `- url: …`",
                    "用于请求，而该步骤没有 `url`；请写 `- url: …`"
                ),
            );
        }
        let near = entries.iter().find_map(|(key, at, _)| Some((key, at, nearest(key, KINDS.into_iter())?)));
        match near {
            Some((key, at, kind)) => self.wrong(
                *at,
                key,
                complaint!("unknown key; write `{kind}` if you meant that", "未知的键；是否要写 `{kind}`？"),
            ),
            None => self.wrong(
                *at,
                key,
                complaint!(
                    "is not a kind of step; a step has one of {}",
                    "不是步骤的种类；步骤须有以下之一：{}",
                    KINDS.join(", ")
                ),
            ),
        }
    }

    /// Rejects other keys next to the key for the kind of the step.
    fn refuse_other_keys(&self, rest: &[&PlanFileEntry]) -> Result<(), UsageError> {
        match rest.first() {
            None => Ok(()),
            Some((key, at, _)) => self.wrong(
                *at,
                key,
                complaint!("does not belong to this step; put `- ` in front of it", "不属于该步骤；请在前面写 `- `"),
            ),
        }
    }

    pub(super) fn nested_steps(
        &mut self,
        kind: &str,
        at: FilePosition,
        rest: &[&PlanFileEntry],
        within: &mut StepContext,
    ) -> Result<Vec<Step>, UsageError> {
        match rest {
            // An `if` may have an `else` branch only.
            [(key, at, node)] if key == "steps" => match self.steps(node, within)?.as_slice() {
                [] if kind != "if" && kind != "choose" => {
                    self.wrong(*at, key, complaint!("is empty; write a step below it", "为空；请在其下写步骤"))
                }
                steps => Ok(steps.to_vec()),
            },
            [] => self.wrong(at, kind, complaint!("needs `steps`; write them below it", "需要 `steps`；请写在其下")),
            [(key, at, _), ..] => self.wrong(
                *at,
                key,
                complaint!("is not a key of this step; it takes only `steps`", "不是该步骤的键；它只有 `steps`"),
            ),
        }
    }

    pub(super) fn request_step(&mut self, item: &YamlNode, entries: &[PlanFileEntry]) -> Result<Step, UsageError> {
        let of_flow = ["on-failure", "on_failure", CAPTURE, TIMEOUT, AT_MOST, "at_most"];
        let of_url: Vec<PlanFileEntry> =
            entries.iter().filter(|(key, ..)| !of_flow.contains(&key.as_str())).cloned().collect();
        if let Some((key, at, _)) = of_url.iter().find(|(key, ..)| key == "weight") {
            return self.wrong(
                *at,
                key,
                complaint!(
                    "is for URLs that share a load; in a flow, use `choose`",
                    "用于分担负载的 URL；流程中请用 `choose`"
                ),
            );
        }
        let mut url = self.url(item, &of_url)?;
        let mut on_failure = OnFailure::default();
        for (key, at, node) in entries.iter().filter(|(key, ..)| of_flow.contains(&key.as_str())) {
            if key == CAPTURE {
                self.captures(*at, node, &mut url.own)?;
                continue;
            }
            if !key.starts_with("on") {
                let text = self.scalar(key, node)?;
                let (name, read) = match key.as_str() {
                    TIMEOUT => (TIMEOUT, quantity::positive_duration(&text).map(drop)),
                    _ => (AT_MOST, quantity::rate(&text).map(drop)),
                };
                read.or_else(|trouble| self.wrong(node.at, key, trouble))?;
                url.own.take(name);
                url.own.push(name, text, self.origin(node.at, name));
                continue;
            }
            on_failure = self.on_failure((key, *at), node)?;
        }
        self.request(item.at, url, on_failure)
    }

    pub(super) fn on_failure(&self, (key, at): (&str, FilePosition), node: &YamlNode) -> Result<OnFailure, UsageError> {
        let word = OnFailure::WORDS.iter().find(|(word, _)| *word == text_of(node));
        let words = OnFailure::WORDS.map(|(word, _)| word).join(", ");
        match word {
            Some((_, meant)) => Ok(*meant),
            None => {
                self.wrong(at, key, complaint!("`{}` is not one of {words}", "`{}` 不是 {words} 之一", text_of(node)))
            }
        }
    }

    pub(super) fn request(
        &mut self,
        at: FilePosition,
        url: DraftUrl,
        on_failure: OnFailure,
    ) -> Result<Step, UsageError> {
        self.add_url(at, url)?;
        Ok(Step::Request { url: self.draft.urls.len() as u32 - 1, on_failure })
    }

    /// Reads `capture: {token: json $.token}`; each entry becomes a value `token json $.token`.
    fn captures(&mut self, at: FilePosition, node: &YamlNode, own: &mut SettingValues) -> Result<(), UsageError> {
        let YamlValue::Map(entries) = &node.value else {
            return self.wrong(
                at,
                CAPTURE,
                Complaint::new(
                    "must be a map; use, for example, `capture: {token: json $.token}`",
                    "必须是映射；请写，例如 `capture: {token: json $.token}`",
                ),
            );
        };
        for (name, at, node) in entries {
            if let Err(trouble) = brunt_protocols::capture::valid_name(name) {
                return self.wrong(*at, name, trouble);
            }
            let source = self.scalar(name, node)?;
            if let Err(trouble) = brunt_protocols::capture::Capture::parse(&source) {
                return self.wrong(node.at, name, trouble);
            }
            self.places.capture(name, *at);
            own.push(CAPTURE, format!("{name} {source}"), self.origin(node.at, name));
        }
        Ok(())
    }

    fn ways(&mut self, node: &YamlNode, within: &mut StepContext) -> Result<Vec<Branch>, UsageError> {
        let YamlValue::List(items) = &node.value else {
            return self.wrong(
                node.at,
                "choose",
                complaint!(
                    "must be a list; write `- weight: 3` and `steps` for each branch",
                    "必须是列表；每个分支请写 `- weight: 3` 和 `steps`"
                ),
            );
        };
        let mut ways = Vec::new();
        for item in items {
            let YamlValue::Map(entries) = &item.value else {
                return self.wrong(
                    item.at,
                    "choose",
                    complaint!(
                        "must be a map; write `- weight: 3` and `steps` for each branch",
                        "必须是映射；每个分支请写 `- weight: 3` 和 `steps`"
                    ),
                );
            };
            let weight = match entries.iter().find(|(key, ..)| key == "weight") {
                Some((.., node)) => self.weight(node)?,
                None => 1.0,
            };
            let rest: Vec<&PlanFileEntry> = entries.iter().filter(|(key, ..)| key != "weight").collect();
            let steps = self.nested_steps("choose", item.at, &rest, within)?;
            ways.push(Branch { weight, steps });
        }
        if ways.is_empty() {
            return self.wrong(
                node.at,
                "choose",
                complaint!(
                    "has no branches; write `- steps: [...]` for each",
                    "没有分支；每个分支请写 `- steps: [...]`"
                ),
            );
        }
        Ok(ways)
    }

    /// Reads a condition, which is parsed later, when all captures are known.
    fn condition(&mut self, node: &YamlNode) -> Result<String, UsageError> {
        let condition = self.scalar("condition", node)?;
        self.deferred.push((DeferredCheck::Condition(condition.clone()), node.at));
        Ok(condition)
    }

    fn time(&self, name: &str, node: &YamlNode) -> Result<Nanos, UsageError> {
        let time = self.scalar(name, node)?;
        quantity::duration(&time).or_else(|trouble| self.wrong(node.at, name, trouble))
    }

    /// Parses `2s`, `1s..3s`, `normal 2s 500ms`, `exponential 2s`.
    fn pause(&self, node: &YamlNode) -> Result<Pause, UsageError> {
        let text = self.scalar("pause", node)?;
        pause(&text).or_else(|trouble| self.wrong(node.at, "pause", trouble))
    }
}

fn pause(text: &str) -> Result<Pause, Complaint> {
    let wrong = || {
        complaint!(
            "`{text}` is not a pause; use 2s, 1s..3s, `normal 2s 500ms` or `exponential 2s`",
            "`{text}` 不是停顿；请用 2s、1s..3s、`normal 2s 500ms` 或 `exponential 2s`"
        )
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["normal", mean, deviation] => {
            Pause::Normal { mean: quantity::duration(mean)?, deviation: quantity::duration(deviation)? }
        }
        ["exponential", mean] => Pause::Exponential { mean: quantity::duration(mean)? },
        ["normal" | "exponential", ..] => return Err(wrong()),
        [one] => {
            let (from, to) = quantity::duration_range(one)?;
            Pause::Uniform { from, to }
        }
        _ => return Err(wrong()),
    })
}
