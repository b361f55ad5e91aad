//! The places of a plan's texts, which decide what in them is a secret.

use super::positions::{SecretSpans, TextOrigin};
use super::redis;
use crate::Plan;
use crate::flow::{CAPTURE, Flow, LoopList, Step};

/// Options whose whole value is a secret.
const SECRET_OPTIONS: [&str; 9] =
    ["user", "proxy-user", "probe-token", "key", "password", "token", "auth", "bearer", "cookie"];

/// The place of a text in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanPlace<'a> {
    /// A URL, whose scheme may be missing.
    Url,
    /// The value of an option with this name.
    Option(&'a str),
    /// A value of a user with this name: an argument of a flow, an element of a list.
    Value(&'a str),
    /// Anything else: a name, a condition, an objective.
    Text,
}

impl PlanPlace<'_> {
    /// Finds the secrets of a text in this place.
    pub fn spans<'a>(&self, text: &'a str) -> SecretSpans<'a> {
        match self {
            PlanPlace::Url => SecretSpans::of_url(text),
            PlanPlace::Option(name) => option(name, text),
            PlanPlace::Value(name) => SecretSpans::of_value(name, text),
            PlanPlace::Text => SecretSpans::of_text(text, TextOrigin::Plan),
        }
    }
}

fn option<'a>(name: &str, value: &'a str) -> SecretSpans<'a> {
    match name {
        "request-target" | "proxy" => SecretSpans::of_url(value),
        // The place of a value in a response is not the value.
        CAPTURE => SecretSpans::none(value, TextOrigin::Plan),
        name if SECRET_OPTIONS.contains(&name) => SecretSpans::whole(value),
        "header" if !is_header_line(value) => SecretSpans::whole(value),
        _ => {
            let mut spans = SecretSpans::of_text(value, TextOrigin::Plan);
            if matches!(name, "data" | "data-raw" | "data-urlencode") {
                spans.form(value);
            }
            if matches!(name, "form" | "form-string") {
                spans.form_field(value);
            }
            if matches!(name, "command" | "before" | "after" | "on-connect") {
                redis::commands(&mut spans, value);
            }
            spans
        }
    }
}

/// Returns `true` for a line with a header name and for the path of a file with header lines (`@FILE`). Any other text,
/// such as a bare token, may be a secret as a whole.
fn is_header_line(value: &str) -> bool {
    let name = value.split_once(':').map(|(name, _)| name).or_else(|| value.trim_end().strip_suffix(';'));
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    value.starts_with('@') || name.is_some_and(|name| !name.is_empty() && name.chars().all(is_part))
}

/// Passes every text of a plan that a user chose to `hear`, except those of its URLs.
pub fn each_text(plan: &mut Plan, hear: &mut dyn FnMut(PlanPlace<'_>, &mut String)) {
    options(&mut plan.options, hear);
    let proxies = [&mut plan.proxies.clear, &mut plan.proxies.tls];
    proxies.into_iter().flatten().for_each(|proxy| hear(PlanPlace::Url, proxy));
    plan.tls.key.iter_mut().for_each(|key| hear(PlanPlace::Option("key"), key));
    plan.objectives.iter_mut().for_each(|objective| hear(PlanPlace::Text, objective));
    plan.flow.iter_mut().chain(&mut plan.common).for_each(|flow| flow_texts(flow, hear));
    for scenario in &mut plan.scenarios {
        hear(PlanPlace::Text, &mut scenario.name);
        flow_texts(&mut scenario.flow, hear);
    }
}

/// Passes every option to `hear`.
pub fn options(options: &mut crate::PlanOptions, hear: &mut dyn FnMut(PlanPlace<'_>, &mut String)) {
    for (name, values) in options {
        values.iter_mut().for_each(|value| hear(PlanPlace::Option(name), value));
    }
}

fn flow_texts(flow: &mut Flow, hear: &mut dyn FnMut(PlanPlace<'_>, &mut String)) {
    let Flow { steps, flows, start, end, setup, teardown, .. } = flow;
    let sections = [steps, start, end, setup, teardown].into_iter();
    for steps in sections.chain(flows.iter_mut().map(|called| &mut called.steps)) {
        steps.iter_mut().for_each(|step| step_texts(step, hear));
    }
}

fn step_texts(step: &mut Step, hear: &mut dyn FnMut(PlanPlace<'_>, &mut String)) {
    let mut nested: Vec<&mut Vec<Step>> = Vec::new();
    match step {
        Step::Request { .. } | Step::Batch { .. } | Step::Pause(_) | Step::Pace(_) => {}
        Step::Close { servers } => servers.iter_mut().for_each(|server| hear(PlanPlace::Url, server)),
        Step::Group { name, steps } => {
            hear(PlanPlace::Text, name);
            nested.push(steps);
        }
        Step::Repeat { steps, .. } | Step::Once { steps } => nested.push(steps),
        Step::Choose { ways } => nested.extend(ways.iter_mut().map(|way| &mut way.steps)),
        Step::If { condition, steps, otherwise } => {
            hear(PlanPlace::Text, condition);
            nested.extend([steps, otherwise]);
        }
        Step::While { condition, steps } => {
            hear(PlanPlace::Text, condition);
            nested.push(steps);
        }
        Step::ForEach { name, list, steps } => {
            if let LoopList::Fixed(texts) = list {
                texts.iter_mut().for_each(|text| hear(PlanPlace::Value(name), text));
            }
            nested.push(steps);
        }
        Step::Call { with, .. } => {
            with.iter_mut().for_each(|(name, text)| hear(PlanPlace::Value(name), text));
        }
    }
    nested.into_iter().flatten().for_each(|step| step_texts(step, hear));
}
