//! What can be said of the values of a flow before anything is sent: captured for nobody, or used before any step captured them.

use std::collections::BTreeMap;

use measure::Nanos;
use plan::WeightedUrl;
use plan::flow::{CAPTURE, Flow, List, Pause, Step, each};

use super::flow_called::values_in;

/// What its author will want to know, a sentence each.
pub(super) fn remarks(flow: &Flow, urls: &[WeightedUrl]) -> Vec<String> {
    let reader =
        Values::read(flow, urls, &[&flow.setup, &flow.start, &flow.steps, &flow.end, &flow.teardown], Vec::new());
    let unused = flow.variables.iter().filter(|name| !reader.used.contains(name)).map(String::as_str);
    let unused: Vec<String> = unused.map(|name| unused_one(name, urls)).collect();
    let uncalled = uncalled(flow, &reader.called);
    let said = reader.said(|name| format!("`{{{name}}}` is not a slot and no step captures it; it is sent literally"));
    unused.into_iter().chain(said).chain(uncalled).collect()
}

/// The same of scenarios, whose users have in `common` what is done once, and the flows that they call.
pub(super) fn of_scenarios(common: &Flow, scenarios: &[(&str, &Flow)], urls: &[WeightedUrl]) -> Vec<String> {
    // What one captures no other knows, so each has names of its own, and those of all.
    let own = |flow: &Flow| {
        let around = Flow { setup: common.setup.clone(), teardown: common.teardown.clone(), ..flow.clone() };
        let reached: Vec<WeightedUrl> =
            around.urls().iter().filter_map(|url| urls.get(*url as usize)).cloned().collect();
        Flow { variables: Vec::new(), ..around }.with_variables(&reached)
    };
    let flows: Vec<Flow> = scenarios.iter().map(|(_, flow)| own(flow)).collect();
    let of_all = own(&Flow { flows: common.flows.clone(), ..Flow::default() });
    let around = Values::read(&of_all, urls, &[&of_all.setup, &of_all.teardown], Vec::new());
    let of_setup = captured_in(&of_all, &of_all.setup, urls);
    let read = flows.iter().map(|flow| {
        let sections = [&flow.start[..], &flow.steps, &flow.end];
        Values::read(flow, urls, &sections, of_setup.clone())
    });
    let readers: Vec<Values<'_>> = read.collect();
    let called: Vec<&str> = readers.iter().chain([&around]).flat_map(|reader| reader.called.iter().copied()).collect();
    let mut all = Vec::new();
    let used_by_any = |name: &String| readers.iter().chain([&around]).any(|reader| reader.used.contains(&name));
    let unused = of_all.variables.iter().filter(|name| of_setup.contains(&name.as_str()) && !used_by_any(name));
    all.extend(unused.map(|name| unused_one(name, urls)));
    all.extend(
        around.said(|name| format!("`{{{name}}}` is not a slot and `setup` does not capture it; it is sent literally")),
    );
    for ((name, _), reader) in scenarios.iter().zip(readers) {
        let unused = reader
            .flow
            .variables
            .iter()
            .filter(|known| !reader.used.contains(known) && !of_setup.contains(&known.as_str()));
        all.extend(unused.map(|known| format!("{name}: {}", unused_one(known, urls))));
        let unknown = |word: &str| match flows.iter().any(|flow| flow.variables.iter().any(|known| known == word)) {
            true => format!("`{{{word}}}` is captured only in another scenario; it is empty here"),
            false => format!("`{{{word}}}` is not a slot and no step captures it; it is sent literally"),
        };
        all.extend(reader.said(unknown).map(|said| format!("{name}: {said}")));
    }
    all.extend(uncalled(common, &called));
    all
}

fn unused_one(name: &str, urls: &[WeightedUrl]) -> String {
    match variables_of(urls).contains(&name) {
        true => format!("`{name}` is captured, but no step uses it"),
        false => format!("`{name}` is given, but no step uses it"),
    }
}

fn uncalled(flow: &Flow, called: &[&str]) -> Vec<String> {
    let uncalled = flow.flows.iter().filter(|other| !called.contains(&other.name.as_str()));
    uncalled.map(|other| format!("the flow `{}` is never called", other.name)).collect()
}

/// The steps so far, in the order they stand in.
struct Values<'a> {
    flow: &'a Flow,
    urls: &'a [WeightedUrl],
    known: Vec<&'a str>,
    used: Vec<&'a String>,
    early: Vec<&'a str>,
    unknown: Vec<&'a str>,
    /// Flows that were gone through.
    called: Vec<&'a str>,
    /// What is never done, a sentence each.
    never: Vec<String>,
}

impl<'a> Values<'a> {
    /// Goes through steps in the order in which they are done; `known`: what is known before them.
    fn read(flow: &'a Flow, urls: &'a [WeightedUrl], sections: &[&'a [Step]], known: Vec<&'a str>) -> Values<'a> {
        let (used, early, unknown, called, never) = Default::default();
        let mut reader = Values { flow, urls, known, used, early, unknown, called, never };
        sections.iter().for_each(|steps| reader.steps(steps));
        reader
    }

    /// What it found, but for what is of no use: a sentence each.
    fn said(self, unknown: impl Fn(&str) -> String) -> impl Iterator<Item = String> {
        let early = self.early.into_iter().map(|name| {
            format!("`{name}` is used before any step of the iteration has captured it, and is empty there")
        });
        let unknown: Vec<String> = self.unknown.into_iter().map(unknown).collect();
        early.chain(unknown).chain(self.never)
    }

    fn steps(&mut self, steps: &'a [Step]) {
        for step in steps {
            match step {
                Step::Request { url, .. } => self.request(*url),
                Step::Batch { urls, .. } => {
                    // None of them waits for another.
                    let before = self.known.len();
                    urls.iter().for_each(|url| {
                        let captured = self.known.split_off(before);
                        self.request(*url);
                        self.known.extend(captured);
                    });
                }
                Step::Group { steps, .. } | Step::Once { steps } => self.steps(steps),
                Step::Repeat { steps, .. } => self.again(steps),
                Step::While { condition, steps } => {
                    self.sends(condition, steps);
                    self.known.extend(self.captured_in(steps));
                    self.condition(condition);
                    self.again(steps);
                }
                Step::If { condition, steps, otherwise } => {
                    self.condition(condition);
                    self.steps(steps);
                    self.steps(otherwise);
                }
                Step::Choose { ways } => ways.iter().for_each(|way| self.steps(&way.steps)),
                Step::ForEach { name, list, steps } => {
                    match list {
                        List::Captured(list) => {
                            self.uses(|known| known == list);
                            self.goes_over(name, list);
                        }
                        List::Fixed(texts) => texts.iter().for_each(|text| self.text(text)),
                    }
                    self.known.push(name);
                    self.again(steps);
                }
                Step::Call { flow, with } => self.call(flow, with),
                Step::Pause(_) | Step::Pace(_) => {}
            }
            self.reaches(step);
        }
    }

    /// A flow is gone through where it is called first; what it captures is known from then on.
    fn call(&mut self, name: &'a str, with: &'a BTreeMap<String, String>) {
        with.values().for_each(|text| self.text(text));
        self.known.extend(with.keys().map(String::as_str));
        if !self.called.contains(&name) {
            self.called.push(name);
            self.steps(self.flow.called(name).map_or(&[], |called| &called.steps));
        }
    }

    /// A text that is put together of values.
    fn text(&mut self, text: &'a str) {
        let values = values_in(text, &self.flow.variables);
        self.uses(|known| values.contains(&known));
        let unknown = words_in_braces(text).filter(|word| !values.contains(word));
        self.unknown.extend(unknown);
    }

    /// Whether what stands in a step is ever done.
    fn reaches(&mut self, step: &Step) {
        if let Step::ForEach { name, list: List::Fixed(texts), .. } = step
            && texts.is_empty()
        {
            self.never.push(format!("the steps of `for-each: {name}` never run: its list is empty"));
        }
    }

    /// A loop that may send nothing may never end.
    fn sends(&mut self, condition: &str, steps: &[Step]) {
        if !takes_time(self.flow, steps) {
            self.never.push(format!(
                "the steps of `while: {condition}` may send nothing, and then the loop never ends; put a request or \
                    a pause outside its conditions"
            ));
        }
    }

    /// What holds one value is a list of one.
    fn goes_over(&mut self, name: &str, list: &str) {
        let mut sources = self.urls.iter().filter_map(|url| url.options.get(CAPTURE)).flatten();
        let one =
            |text: &&String| text.split_once(' ').is_some_and(|(name, source)| name == list && !source.contains('|'));
        if sources.any(|text| one(&text)) {
            self.never
                .push(format!("`for-each: {name}` runs once, as `{list}` holds one value; capture it with `| all`"));
        }
    }

    fn captured_in(&self, steps: &[Step]) -> Vec<&'a str> {
        captured_in(self.flow, steps, self.urls)
    }

    /// What a later step of a loop captures, an earlier one may use the next time.
    fn again(&mut self, steps: &'a [Step]) {
        self.known.extend(self.captured_in(steps));
        self.steps(steps);
    }

    fn request(&mut self, url: u32) {
        let Some(url) = self.urls.get(url as usize) else { return };
        let options = url.options.iter().filter(|(name, _)| *name != CAPTURE).flat_map(|(_, values)| values);
        let texts: Vec<&str> = options.chain([&url.url]).map(String::as_str).collect();
        for name in texts.iter().flat_map(|text| words_in_braces(text)) {
            let part = format!("{{{name}=");
            let known = self.flow.variables.iter().any(|known| known == name)
                || protocols::template::is_reserved(name)
                || texts.iter().any(|text| text.contains(&part));
            if !known && !self.unknown.contains(&name) {
                self.unknown.push(name);
            }
        }
        self.uses(|name| texts.iter().any(|text| is_slot_of(text, name)));
        self.known.extend(captures(url));
    }

    /// A value that is not known yet is looked at on purpose.
    fn condition(&mut self, text: &str) {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let words: Vec<&str> = text.split(|c| !word(c)).collect();
        self.used.extend(self.flow.variables.iter().filter(|name| words.contains(&name.as_str())));
    }

    fn uses(&mut self, uses: impl Fn(&str) -> bool) {
        for name in self.flow.variables.iter().filter(|name| uses(name)) {
            self.used.push(name);
            if !self.known.contains(&name.as_str()) && !self.early.contains(&name.as_str()) {
                self.early.push(name);
            }
        }
    }
}

/// What steps capture, and the flows that they may call.
fn captured_in<'a>(flow: &Flow, steps: &[Step], urls: &'a [WeightedUrl]) -> Vec<&'a str> {
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

/// True of steps that surely send something or pause.
fn takes_time(flow: &Flow, steps: &[Step]) -> bool {
    let sure = |steps: &[Step]| takes_time(flow, steps);
    steps.iter().any(|step| match step {
        Step::Request { .. } | Step::Batch { .. } => true,
        Step::Pause(pause) => *pause != Pause::Uniform { from: Nanos::ZERO, to: Nanos::ZERO },
        Step::Group { steps, .. } => sure(steps),
        Step::Repeat { times, steps } => *times > 0 && sure(steps),
        Step::If { steps, otherwise, .. } => sure(steps) && sure(otherwise),
        Step::Choose { ways } => ways.iter().all(|way| sure(&way.steps)),
        Step::ForEach { list: List::Fixed(texts), steps, .. } => !texts.is_empty() && sure(steps),
        // None calls itself.
        Step::Call { flow: name, .. } => flow.called(name).is_some_and(|called| sure(&called.steps)),
        Step::ForEach { .. } | Step::While { .. } | Step::Once { .. } | Step::Pace(_) => false,
    })
}

/// The names of what a URL captures.
fn captures(url: &WeightedUrl) -> impl Iterator<Item = &str> {
    url.options.get(CAPTURE).into_iter().flatten().map(|text| text.split(' ').next().unwrap_or_default())
}

fn variables_of(urls: &[WeightedUrl]) -> Vec<&str> {
    urls.iter().flat_map(captures).collect()
}

/// What stands alone between braces and could be a name: `{name}`, `{name | url}`, but not `{{name}}`.
fn words_in_braces(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(move |(at, _)| {
        let inside = &text[at + 1..];
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')?;
        let closes = inside[end..].trim_start_matches(' ').starts_with(['}', '|']);
        (protocols::capture::is_word(&inside[..end]) && closes && !text[..at].ends_with('{')).then_some(&inside[..end])
    })
}

/// True where `{name}` or `{name | url}` stands in a text.
fn is_slot_of(text: &str, name: &str) -> bool {
    text.match_indices(&format!("{{{name}"))
        .any(|(at, found)| text[at + found.len()..].trim_start_matches(' ').starts_with(['}', '|']))
}

#[cfg(test)]
mod tests {
    use super::super::file_tests::with_file;

    fn remarks(flow: &str) -> Vec<String> {
        with_file(&format!("flow:\n{flow}"), &[]).unwrap_or_else(|complaint| panic!("{complaint}")).of_flow
    }

    #[test]
    fn what_is_captured_for_nobody_or_used_too_early_is_told() {
        let login = " - url: h/login\n   capture: {token: status}\n";
        let page = " - url: h/page\n   header: 'X: {token | url}'\n";
        assert_eq!(remarks(&format!("{login}{page}")), [""; 0]);
        assert_eq!(remarks(login), ["`token` is captured, but no step uses it"]);
        let early = "`token` is used before any step of the iteration has captured it, and is empty there";
        assert_eq!(remarks(&format!("{page}{login}")), [early]);
        let body = " - url: h/login?{token}\n   capture: {token: status}\n";
        assert_eq!(remarks(body), [early], "its own response comes later");
    }

    #[test]
    fn words_between_braces_that_mean_nothing_are_told() {
        let said = |name: &str| {
            vec![format!(
                "`{{{name}}}` is not a slot and no step captures it; it is sent \
            literally"
            )]
        };
        assert_eq!(remarks(" - h/?{tok}\n"), said("tok"));
        assert_eq!(remarks(" - url: h\n   header: 'X: {a | url}{a}'\n"), said("a"));
        let known = " - url: h/{user}?{id={uuid}}{id}\n   data: '{\"a\":1}{{b}}{counter}{}'\n";
        assert_eq!(remarks(known), [""; 0]);
    }

    #[test]
    fn loops_and_conditions_may_use_what_comes_later() {
        let next = "steps: [{url: 'h/?{next}', capture: {next: header X}}]";
        assert_eq!(remarks(&format!(" - repeat: 3\n   {next}\n")), [""; 0]);
        assert_eq!(remarks(&format!(" - while: not next\n   {next}\n")), [""; 0]);
        let asked = " - if: state\n   steps: [h]\n - url: h\n   capture: {state: status}\n";
        assert_eq!(remarks(asked), [""; 0]);
    }

    #[test]
    fn what_is_never_done_is_told() {
        for (flow, said) in [
            (
                " - h\n - for-each: x\n   in: []\n   steps: ['h/{x}']\n",
                "the steps of `for-each: x` never run: its list is empty",
            ),
            (" - h\nflows: {x: [h]}\n", "the flow `x` is never called"),
            (
                " - url: h\n   capture: {n: status}\n - while: n > 0\n   steps: [{if: n > 1, steps: [h]}]\n",
                "the steps of `while: n > 0` may send nothing, and then the loop never ends; put a request or a pause outside its conditions",
            ),
            (
                " - url: h\n   capture: {ids: 'json $.ids[*]'}\n - for-each: x\n   in: ids\n   steps: ['h/{x}']\n",
                "`for-each: x` runs once, as `ids` holds one value; capture it with `| all`",
            ),
        ] {
            assert_eq!(remarks(flow), [said], "{flow}");
        }
    }

    #[test]
    fn what_flows_are_given_is_known_in_them_and_is_to_be_of_use() {
        let given = |path: &str| format!(" - call: x\n   with: {{a: 1}}\nflows: {{x: ['h/{path}']}}\n");
        assert_eq!(remarks(&given("{a}")), [""; 0]);
        assert_eq!(remarks(&given("b")), ["`a` is given, but no step uses it"]);
        let unknown = " - call: x\n   with: {a: '{b}'}\nflows: {x: ['h/{a}']}\n";
        assert_eq!(remarks(unknown), ["`{b}` is not a slot and no step captures it; it is sent literally"]);
    }
}
