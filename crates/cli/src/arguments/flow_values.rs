//! What can be said of the values of a flow before anything is sent: captured for nobody, or used before any step captured them.

use std::collections::BTreeMap;

use plan::WeightedUrl;
use plan::flow::{CAPTURE, Flow, List, Step, each};

use super::flow_called::values_in;

/// What its author will want to know, a sentence each.
pub(super) fn remarks(flow: &Flow, urls: &[WeightedUrl]) -> Vec<String> {
    let mut reader = Values {
        flow,
        urls,
        known: vec![],
        used: vec![],
        early: vec![],
        unknown: vec![],
        called: vec![],
        never: vec![],
    };
    // What comes first is read first.
    [&flow.setup, &flow.start, &flow.steps, &flow.end, &flow.teardown]
        .into_iter()
        .for_each(|steps| reader.steps(steps));
    let Values { used, early, unknown, called, never, .. } = reader;
    let uncalled = flow.flows.iter().filter(|other| !called.contains(&other.name.as_str()));
    let uncalled = uncalled.map(|other| format!("the flow `{}` is never called", other.name));
    let unused = flow.variables.iter().filter(|name| !used.contains(name));
    let captured = variables_of(urls);
    let unused = unused.map(|name| match captured.contains(&name.as_str()) {
        true => format!("`{name}` is captured, and no step uses it"),
        false => format!("`{name}` is given, and no step uses it"),
    });
    let early = early
        .into_iter()
        .map(|name| format!("`{name}` is used before any step of the iteration has captured it, and is empty there"));
    let unknown =
        unknown.into_iter().map(|name| format!("`{{{name}}}` is no slot and no step captures it; it is sent as it is"));
    unused.chain(early).chain(unknown).chain(never).chain(uncalled).collect()
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
                        List::Captured(list) => self.uses(|known| known == list),
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
            self.never.push(format!("the steps of `for-each: {name}` are never done: its list is empty"));
        }
    }

    /// What steps capture, and the flows that they may call.
    fn captured_in(&self, steps: &[Step]) -> Vec<&'a str> {
        let (mut urls, mut calls) = (Vec::new(), false);
        each(steps, &mut |step: &Step| {
            urls.extend_from_slice(step.urls());
            calls |= matches!(step, Step::Call { .. });
        });
        if calls {
            let called = self.flow.flows.iter().map(|called| &called.steps);
            called.for_each(|steps| each(steps, &mut |step| urls.extend_from_slice(step.urls())));
        }
        urls.into_iter().filter_map(|url| self.urls.get(url as usize)).flat_map(captures).collect()
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
        assert_eq!(remarks(login), ["`token` is captured, and no step uses it"]);
        let early = "`token` is used before any step of the iteration has captured it, and is empty there";
        assert_eq!(remarks(&format!("{page}{login}")), [early]);
        let body = " - url: h/login?{token}\n   capture: {token: status}\n";
        assert_eq!(remarks(body), [early], "its own response comes later");
    }

    #[test]
    fn words_between_braces_that_mean_nothing_are_told() {
        let said = |name: &str| vec![format!("`{{{name}}}` is no slot and no step captures it; it is sent as it is")];
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
                "the steps of `for-each: x` are never done: its list is empty",
            ),
            (" - h\nflows: {x: [h]}\n", "the flow `x` is never called"),
        ] {
            assert_eq!(remarks(flow), [said], "{flow}");
        }
    }

    #[test]
    fn what_flows_are_given_is_known_in_them_and_is_to_be_of_use() {
        let given = |path: &str| format!(" - call: x\n   with: {{a: 1}}\nflows: {{x: ['h/{path}']}}\n");
        assert_eq!(remarks(&given("{a}")), [""; 0]);
        assert_eq!(remarks(&given("b")), ["`a` is given, and no step uses it"]);
        let unknown = " - call: x\n   with: {a: '{b}'}\nflows: {x: ['h/{a}']}\n";
        assert_eq!(remarks(unknown), ["`{b}` is no slot and no step captures it; it is sent as it is"]);
    }
}
