//! A single pass over the steps of a flow in execution order, for remarks before anything is sent: values used before
//! they are set, and unreachable steps.

use brunt_cause::{Complaint, complaint};
use std::collections::BTreeMap;

use brunt_measure::Nanos;
use brunt_plan::WeightedUrl;
use brunt_plan::flow::{CAPTURE, Flow, LoopList, Pause, RepeatCount, Step, each};
use brunt_plan::yaml::FilePosition;
use brunt_scenario::Condition;

use super::calls::values_in;
use super::positions::{NOWHERE, Section, StepPositions};

/// The state of the pass.
pub(super) struct FlowPass<'a> {
    pub(super) flow: &'a Flow,
    urls: &'a [WeightedUrl],
    places: &'a StepPositions,
    /// Positions of the following steps.
    ahead: std::slice::Iter<'a, FilePosition>,
    /// Position of the current step.
    at: FilePosition,
    /// Position of the preceding infinite loop, if any.
    endless: FilePosition,
    known: Vec<&'a str>,
    pub(super) used: Vec<&'a String>,
    early: Vec<&'a str>,
    unknown: Vec<(&'a str, FilePosition)>,
    /// Captured or passed values, each with its position; the flag is set for a captured value.
    pub(super) defined: Vec<(&'a str, FilePosition, bool)>,
    /// Flows visited so far; the flag is set if they return.
    pub(super) called: Vec<(&'a str, bool)>,
    /// Remarks found.
    remarks: Vec<(FilePosition, Complaint)>,
}

impl<'a> FlowPass<'a> {
    /// Visits sections in execution order; `known` are the values set before.
    pub(super) fn read(
        (flow, urls, places): (&'a Flow, &'a [WeightedUrl], &'a StepPositions),
        sections: &[(Section<'_>, &'a [Step])],
        known: Vec<&'a str>,
    ) -> FlowPass<'a> {
        let (used, early, unknown, defined, called, found) = Default::default();
        let (ahead, at, endless) = ([].iter(), NOWHERE, NOWHERE);
        let mut reader = FlowPass {
            flow,
            urls,
            places,
            ahead,
            at,
            endless,
            known,
            used,
            early,
            unknown,
            defined,
            called,
            remarks: found,
        };
        for (section, steps) in sections {
            reader.ahead = places.of(section).iter();
            reader.steps(steps);
        }
        reader
    }

    /// Returns the remarks, except those on unused values.
    pub(super) fn into_remarks(
        self,
        unknown: impl Fn(&str) -> Complaint,
    ) -> impl Iterator<Item = (FilePosition, Complaint)> {
        let unknown: Vec<(FilePosition, Complaint)> =
            self.unknown.into_iter().map(|(name, at)| (at, unknown(name))).collect();
        self.remarks.into_iter().chain(unknown)
    }

    /// Returns the captured or passed values that are never used, each once.
    pub(super) fn unused(&self) -> Vec<(&'a str, FilePosition, bool)> {
        let mut all: Vec<(&str, FilePosition, bool)> = Vec::new();
        for (name, at, captured) in &self.defined {
            if !self.used.iter().any(|used| used == name) && !all.iter().any(|(known, ..)| known == name) {
                all.push((name, *at, *captured));
            }
        }
        all
    }

    /// Visits a list of steps; returns `false` if its end is never reached.
    fn steps(&mut self, steps: &'a [Step]) -> bool {
        let (mut goes_on, mut told) = (true, false);
        for step in steps {
            self.at = self.ahead.next().copied().unwrap_or(NOWHERE);
            if !goes_on && !told {
                let line = self.endless.line;
                self.add_remark(match line {
                    0 => complaint!(
                        "no user ever reaches this step, as the loop before it never ends",
                        "没有用户会到达该步骤，因为之前的循环永不结束"
                    ),
                    _ => complaint!(
                        "no user ever reaches this step, as the loop of line {line} before it never ends",
                        "没有用户会到达该步骤，因为之前第 {line} 行的循环永不结束"
                    ),
                });
                told = true;
            }
            goes_on &= self.step(step);
        }
        goes_on
    }

    fn add_remark(&mut self, sentence: Complaint) {
        self.remarks.push((self.at, sentence));
    }

    /// Visits a step; returns `false` if the next step is never reached.
    fn step(&mut self, step: &'a Step) -> bool {
        match step {
            Step::Request { url, .. } => self.request(*url),
            Step::Batch { urls, .. } => {
                // The requests do not wait for each other.
                let before = self.known.len();
                urls.iter().for_each(|url| {
                    let captured = self.known.split_off(before);
                    self.request(*url);
                    self.known.extend(captured);
                });
            }
            Step::Group { steps, .. } | Step::Once { steps } => return self.steps(steps),
            Step::Repeat { times, steps } => {
                match times {
                    RepeatCount::Times(0) => {
                        self.add_remark(complaint!("the steps of `repeat: 0` never run", "`repeat: 0` 的步骤从不执行"))
                    }
                    RepeatCount::Times(_) => {}
                    RepeatCount::Value(name) => self.uses(|known| known == name),
                }
                let ends = self.visit_loop(steps);
                return ends || matches!(times, RepeatCount::Times(0) | RepeatCount::Value(_));
            }
            Step::While { condition, steps } => return self.loops(condition, steps),
            Step::If { condition, steps, otherwise } => return self.choice(condition, steps, otherwise),
            Step::Choose { ways } => {
                let mut goes_on = ways.is_empty();
                ways.iter().for_each(|way| goes_on |= self.steps(&way.steps));
                return goes_on;
            }
            Step::ForEach { name, list, steps } => return self.for_each(name, list, steps),
            Step::Call { flow, with } => return self.call(flow, with),
            Step::Pause(_) | Step::Pace(_) | Step::Close { .. } => {}
        }
        true
    }

    fn for_each(&mut self, name: &'a str, list: &'a LoopList, steps: &'a [Step]) -> bool {
        let surely = match list {
            LoopList::Captured(list) => {
                self.uses(|known| known == list);
                self.check_list(name, list);
                false
            }
            LoopList::Fixed(texts) => {
                texts.iter().for_each(|text| self.text(text));
                if texts.is_empty() {
                    self.add_remark(complaint!(
                        "the steps of `for-each: {name}` never run: its list is empty",
                        "`for-each: {name}` 的步骤从不执行：其列表为空"
                    ));
                }
                !texts.is_empty()
            }
        };
        self.known.push(name);
        self.defined.push((name, self.at, false));
        self.visit_loop(steps) || !surely
    }

    fn loops(&mut self, condition: &'a str, steps: &'a [Step]) -> bool {
        let at = self.at;
        if !always_takes_time(self.flow, steps) {
            self.add_remark(complaint!(
                "the steps of `while: {condition}` may send nothing, and then the loop never ends; put a request or \
                    a pause outside its conditions",
                "`while: {condition}` 的步骤可能什么也不发送，这样循环永不结束；请在其条件之外放一个请求或停顿"
            ));
        }
        let set = set_in(self.flow, steps, self.urls);
        self.known.extend(&set);
        self.condition(condition);
        let always = self.always(condition);
        let looked_at = self.tested_values(condition);
        let changes = looked_at.iter().any(|name| set.contains(name));
        let names = looked_at.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match always {
            Some(false) => self.add_remark(complaint!(
                "the steps of `while: {condition}` never run: no step captures {names} before them",
                "`while: {condition}` 的步骤从不执行：之前没有步骤提取 {names}"
            )),
            Some(true) => self.add_remark(complaint!(
                "`while: {condition}` never ends: none of its steps captures {names}",
                "`while: {condition}` 永不结束：其中没有步骤提取 {names}"
            )),
            None if !changes => {
                self.add_remark(complaint!(
                    "`while: {condition}` never ends once it holds: none of its steps captures {names}",
                    "`while: {condition}` 一旦成立便永不结束：其中没有步骤提取 {names}"
                ));
            }
            None => {}
        }
        self.steps(steps);
        if always == Some(true) {
            self.endless = at;
        }
        always != Some(true)
    }

    fn choice(&mut self, condition: &'a str, steps: &'a [Step], otherwise: &'a [Step]) -> bool {
        self.condition(condition);
        let always = self.always(condition);
        let names = self.tested_values(condition).iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match always {
            Some(false) if !steps.is_empty() => {
                self.add_remark(complaint!(
                    "the steps of `if: {condition}` never run: no step captures {names} before it",
                    "`if: {condition}` 的步骤从不执行：之前没有步骤提取 {names}"
                ));
            }
            Some(true) if !otherwise.is_empty() => {
                self.add_remark(complaint!(
                    "the `else` of `if: {condition}` never runs: no step captures {names} before it",
                    "`if: {condition}` 的 `else` 从不执行：之前没有步骤提取 {names}"
                ));
            }
            _ => {}
        }
        let [goes_on, goes_on_otherwise] = [steps, otherwise].map(|steps| self.steps(steps));
        match always {
            Some(true) => goes_on,
            Some(false) => goes_on_otherwise,
            None => goes_on || goes_on_otherwise,
        }
    }

    /// Visits a flow at its first call; its captures are known from then on.
    fn call(&mut self, name: &'a str, with: &'a BTreeMap<String, String>) -> bool {
        with.values().for_each(|text| self.text(text));
        self.known.extend(with.keys().map(String::as_str));
        let at = self.at;
        self.defined.extend(with.keys().map(|name| (name.as_str(), at, false)));
        if let Some((_, comes_back)) = self.called.iter().find(|(known, _)| *known == name) {
            return *comes_back;
        }
        self.called.push((name, true));
        let index = self.called.len() - 1;
        let ahead = std::mem::replace(&mut self.ahead, self.places.of(&Section::Called(name)).iter());
        let comes_back = self.steps(self.flow.named_flow(name).map_or(&[], |called| &called.steps));
        self.ahead = ahead;
        self.called[index].1 = comes_back;
        comes_back
    }

    /// Visits a text with values.
    fn text(&mut self, text: &'a str) {
        let values = values_in(text, &self.flow.variables);
        self.uses(|known| values.contains(&known));
        let at = self.at;
        let unknown = words_in_braces(text).filter(|word| !values.contains(word)).map(|word| (word, at));
        self.unknown.extend(unknown);
    }

    /// Adds a remark if the list is a single value that cannot be a JSON array.
    fn check_list(&mut self, name: &str, list: &str) {
        let mut sources = self.urls.iter().filter_map(|url| url.options.get(CAPTURE)).flatten();
        let may_be_array = |source: &str| {
            let of_path =
                source.starts_with("json ") && !["*", "..", "?"].iter().any(|several| source.contains(several));
            of_path || matches!(source, "body" | "message" | "reply")
        };
        let one = |text: &&String| {
            let named = text.split_once(' ').filter(|(name, _)| *name == list).map(|(_, source)| source.trim());
            named.is_some_and(|source| !source.contains('|') && !may_be_array(source))
        };
        if sources.any(|text| one(&text)) {
            self.add_remark(complaint!(
                "`for-each: {name}` runs once, as `{list}` holds one value; capture it with `| all`",
                "`for-each: {name}` 只执行一次，因为 `{list}` 只有一个值；请用 `| all` 提取"
            ));
        }
    }

    /// Visits the steps of a loop: in later rounds, a step can use the captures of the steps after it.
    fn visit_loop(&mut self, steps: &'a [Step]) -> bool {
        self.known.extend(captured_in(self.flow, steps, self.urls));
        self.steps(steps)
    }

    fn request(&mut self, number: u32) {
        let Some(url) = self.urls.get(number as usize) else { return };
        let step = std::mem::replace(&mut self.at, self.places.of_url(number));
        let options = url.options.iter().filter(|(name, _)| *name != CAPTURE).flat_map(|(_, values)| values);
        let texts: Vec<&str> = options.chain([&url.url]).map(String::as_str).collect();
        for name in texts.iter().flat_map(|text| words_in_braces(text)) {
            let part = format!("{{{name}=");
            let known = self.flow.variables.iter().any(|known| known == name)
                || brunt_protocols::template::is_reserved(name)
                || texts.iter().any(|text| text.contains(&part));
            if !known && !self.unknown.iter().any(|(told, _)| *told == name) {
                self.unknown.push((name, self.at));
            }
        }
        self.uses(|name| texts.iter().any(|text| is_slot_of(text, name)));
        self.known.extend(captures(url));
        let places = self.places;
        self.defined.extend(captures(url).map(|name| (name, places.of_capture(number, name), true)));
        self.at = step;
    }

    /// Visits a condition. Conditions may test values that are not set yet.
    fn condition(&mut self, text: &str) {
        let looked_at = self.tested_values(text);
        self.used.extend(self.flow.variables.iter().filter(|name| looked_at.contains(&name.as_str())));
    }

    /// Returns the values that a condition tests, each once.
    fn tested_values(&self, text: &str) -> Vec<&'a str> {
        let names = &self.flow.variables;
        let mut values =
            Condition::parse(text, names).map_or_else(|_| Vec::new(), |condition| condition.value_indices());
        values.sort_unstable();
        values.dedup();
        values.into_iter().filter_map(|value| names.get(usize::from(value))).map(String::as_str).collect()
    }

    /// Returns the constant value of a condition; `None` if it depends on responses.
    fn always(&self, text: &str) -> Option<bool> {
        let names = &self.flow.variables;
        let may_be_known =
            |value: u16| names.get(usize::from(value)).is_none_or(|name| self.known.contains(&name.as_str()));
        Condition::parse(text, names).ok()?.constant_result(may_be_known)
    }

    fn uses(&mut self, uses: impl Fn(&str) -> bool) {
        for name in self.flow.variables.iter().filter(|name| uses(name)) {
            self.used.push(name);
            if !self.known.contains(&name.as_str()) && !self.early.contains(&name.as_str()) {
                self.early.push(name);
                self.add_remark(complaint!(
                    "`{name}` is used before any step of the iteration has captured it, and is empty there",
                    "`{name}` 在本次迭代的任何步骤提取它之前就被使用，在那里为空"
                ));
            }
        }
    }
}

/// Returns the values that steps of a loop may change: captures, loop variables and arguments of calls.
fn set_in<'a>(flow: &'a Flow, steps: &'a [Step], urls: &'a [WeightedUrl]) -> Vec<&'a str> {
    let mut all = captured_in(flow, steps, urls);
    let mut calls = Vec::new();
    each(steps, &mut |step| calls.extend(matches!(step, Step::Call { .. }).then_some(())));
    let called = flow.flows.iter().filter(|_| !calls.is_empty()).map(|called| &called.steps[..]);
    for steps in called.chain([steps]) {
        each(steps, &mut |step| match step {
            Step::ForEach { name, .. } => all.push(name),
            Step::Call { with, .. } => all.extend(with.keys().map(String::as_str)),
            _ => {}
        });
    }
    all
}

/// Returns the captures of steps and of the flows that they may call.
pub(super) fn captured_in<'a>(flow: &Flow, steps: &[Step], urls: &'a [WeightedUrl]) -> Vec<&'a str> {
    let (mut of, mut calls) = (Vec::new(), false);
    each(steps, &mut |step: &Step| {
        of.extend_from_slice(step.urls());
        calls |= matches!(step, Step::Call { .. });
    });
    if calls {
        let called = flow.flows.iter().map(|called| &called.steps);
        called.for_each(|steps| each(steps, &mut |step| of.extend_from_slice(step.urls())));
    }
    of.into_iter().filter_map(|url| urls.get(url as usize)).flat_map(captures).collect()
}

/// Returns `true` if the steps always send a request or pause.
fn always_takes_time(flow: &Flow, steps: &[Step]) -> bool {
    let sure = |steps: &[Step]| always_takes_time(flow, steps);
    steps.iter().any(|step| match step {
        Step::Request { .. } | Step::Batch { .. } => true,
        Step::Pause(pause) => *pause != Pause::Uniform { from: Nanos::ZERO, to: Nanos::ZERO },
        Step::Group { steps, .. } => sure(steps),
        Step::Repeat { times: RepeatCount::Times(1..), steps } => sure(steps),
        Step::If { steps, otherwise, .. } => sure(steps) && sure(otherwise),
        Step::Choose { ways } => ways.iter().all(|way| sure(&way.steps)),
        Step::ForEach { list: LoopList::Fixed(texts), steps, .. } => !texts.is_empty() && sure(steps),
        // The recursion ends, because no flow calls itself.
        Step::Call { flow: name, .. } => flow.named_flow(name).is_some_and(|called| sure(&called.steps)),
        Step::Repeat { .. } | Step::ForEach { .. } | Step::While { .. } | Step::Once { .. } => false,
        Step::Pace(_) | Step::Close { .. } => false,
    })
}

/// Returns the names of a URL's captures.
fn captures(url: &WeightedUrl) -> impl Iterator<Item = &str> {
    url.options.get(CAPTURE).into_iter().flatten().map(|text| text.split(' ').next().unwrap_or_default())
}

/// Iterates over single words in braces that could be names: `{name}`, `{name | url}`, but not `{{name}}`.
fn words_in_braces(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(move |(at, _)| {
        let inside = &text[at + 1..];
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')?;
        let closes = inside[end..].trim_start_matches(' ').starts_with(['}', '|']);
        (brunt_protocols::capture::is_word(&inside[..end]) && closes && !text[..at].ends_with('{'))
            .then_some(&inside[..end])
    })
}

/// Returns `true` if the text contains `{name}` or `{name | url}`.
fn is_slot_of(text: &str, name: &str) -> bool {
    text.match_indices(&format!("{{{name}"))
        .any(|(at, found)| text[at + found.len()..].trim_start_matches(' ').starts_with(['}', '|']))
}
