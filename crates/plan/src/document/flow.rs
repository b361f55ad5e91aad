//! Output of a flow in the syntax of plan files.

use super::{YamlPage, quoted, time};
use crate::Plan;
use crate::flow::{CAPTURE, Flow, LoopList, NamedFlow, OnFailure, Pause, RepeatCount, Step};

/// Writes `flow` and the sections next to it.
pub(super) fn write_flow(page: &mut YamlPage, plan: &Plan, flow: &Flow) {
    write_section(page, plan, ("flow", &flow.steps));
    write_user_sections(page, plan, flow);
    write_run_sections(page, plan, flow);
    write_named_flows(page, plan, &flow.flows);
}

/// Writes the sections of each user's first and last steps, `start` and `end`.
pub(super) fn write_user_sections(page: &mut YamlPage, plan: &Plan, flow: &Flow) {
    write_section(page, plan, ("start", &flow.start));
    write_section(page, plan, ("end", &flow.end));
}

/// Writes the sections of the steps run once, `setup` and `teardown`.
pub(super) fn write_run_sections(page: &mut YamlPage, plan: &Plan, flow: &Flow) {
    write_section(page, plan, ("setup", &flow.setup));
    write_section(page, plan, ("teardown", &flow.teardown));
}

/// Writes the named flows, which steps call.
pub(super) fn write_named_flows<'a>(page: &mut YamlPage, plan: &Plan, flows: impl IntoIterator<Item = &'a NamedFlow>) {
    for (at, called) in flows.into_iter().enumerate() {
        if at == 0 {
            page.head("flows");
        }
        page.indent += 2;
        page.head(&quoted(&called.name));
        write_steps(page, plan, &called.steps);
        page.indent -= 2;
    }
}

fn write_section(page: &mut YamlPage, plan: &Plan, (name, inner): (&str, &[Step])) {
    if !inner.is_empty() {
        page.head(name);
        write_steps(page, plan, inner);
    }
}

/// Writes steps as a list below `flow`.
pub(super) fn write_steps(page: &mut YamlPage, plan: &Plan, steps: &[Step]) {
    page.indent += 2;
    steps.iter().for_each(|step| write_step(page, plan, step));
    page.indent -= 2;
}

fn write_step(page: &mut YamlPage, plan: &Plan, step: &Step) {
    let first = |page: &mut YamlPage, name: &str, value: &str| page.line(format!("- {name}: {value}").trim_end());
    match step {
        Step::Request { url, on_failure } => {
            write_request(page, plan, *url, Some(*on_failure).filter(|on_failure| *on_failure != OnFailure::default()));
        }
        Step::Batch { at_most, urls, on_failure, own } => write_batch(page, plan, (*at_most, *on_failure), (urls, own)),
        Step::Pause(pause) => first(page, "pause", &quoted(&format_pause(*pause))),
        Step::Pace(pace) => first(page, "pace", &time(*pace)),
        Step::Close { servers } => match &servers[..] {
            [] => first(page, "close", "all"),
            [server] => first(page, "close", &quoted(server)),
            several => first(page, "close", &format_list(&LoopList::Fixed(several.to_vec()))),
        },
        Step::Group { name, steps } => {
            first(page, "group", &quoted(name));
            write_nested_steps(page, plan, steps);
        }
        Step::Repeat { times, steps } => {
            let times = match times {
                RepeatCount::Times(times) => times.to_string(),
                RepeatCount::Value(name) => quoted(&format!("{{{name}}}")),
            };
            first(page, "repeat", &times);
            write_nested_steps(page, plan, steps);
        }
        Step::If { condition, steps: inner, otherwise } => {
            first(page, "if", &quoted(condition));
            write_nested_steps(page, plan, inner);
            if !otherwise.is_empty() {
                page.indent += 2;
                page.head("else");
                write_steps(page, plan, otherwise);
                page.indent -= 2;
            }
        }
        Step::While { condition, steps } => {
            first(page, "while", &quoted(condition));
            write_nested_steps(page, plan, steps);
        }
        Step::ForEach { name, list, steps } => {
            first(page, "for-each", name);
            page.line(&format!("  in: {}", format_list(list)));
            write_nested_steps(page, plan, steps);
        }
        Step::Call { flow, with } => {
            first(page, "call", &quoted(flow));
            if !with.is_empty() {
                page.line("  with:");
            }
            with.iter().for_each(|(name, text)| page.line(&format!("    {name}: {}", quoted(text))));
        }
        Step::Once { steps: inner } => {
            page.line("- once:");
            page.indent += 2;
            write_steps(page, plan, inner);
            page.indent -= 2;
        }
        Step::Choose { ways } => {
            page.line("- choose:");
            page.indent += 4;
            for way in ways {
                first(page, "weight", &way.weight.to_string());
                write_nested_steps(page, plan, &way.steps);
            }
            page.indent -= 4;
        }
    }
}

fn write_batch(
    page: &mut YamlPage,
    plan: &Plan,
    (at_most, on_failure): (u32, OnFailure),
    (urls, own): (&[u32], &[Option<OnFailure>]),
) {
    page.line("- batch:");
    page.indent += 4;
    page.one("at-most", &at_most.to_string());
    if on_failure != OnFailure::default() {
        page.one("on-failure", on_failure.name());
    }
    page.head("requests");
    page.indent += 2;
    for (nth, url) in urls.iter().enumerate() {
        write_request(page, plan, *url, own.get(nth).copied().flatten());
    }
    page.indent -= 6;
}

fn format_list(list: &LoopList) -> String {
    match list {
        LoopList::Captured(captured) => captured.clone(),
        LoopList::Fixed(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

/// Writes the nested steps of a step whose first line was just written.
fn write_nested_steps(page: &mut YamlPage, plan: &Plan, inner: &[Step]) {
    page.indent += 2;
    page.head("steps");
    write_steps(page, plan, inner);
    page.indent -= 2;
}

/// Writes a request; `on_failure` is set only if the request has its own policy.
fn write_request(page: &mut YamlPage, plan: &Plan, url: u32, on_failure: Option<OnFailure>) {
    let Some(url) = plan.urls.get(url as usize) else { return };
    page.line(&format!("- url: {}", quoted(&url.url)));
    page.indent += 2;
    page.maybe("name", url.name.as_deref().map(quoted));
    let mut options = url.options.clone();
    let captures = options.remove(CAPTURE).unwrap_or_default();
    page.options(&options);
    if !captures.is_empty() {
        page.head(CAPTURE);
        for (name, source) in captures.iter().filter_map(|text| text.split_once(' ')) {
            page.line(&format!("  {name}: {}", quoted(source)));
        }
    }
    if let Some(on_failure) = on_failure {
        page.one("on-failure", on_failure.name());
    }
    page.indent -= 2;
}

fn format_pause(pause: Pause) -> String {
    match pause {
        Pause::Uniform { from, to } if from == to => time(from),
        Pause::Uniform { from, to } => format!("{}..{}", time(from), time(to)),
        Pause::Normal { mean, deviation } => format!("normal {} {}", time(mean), time(deviation)),
        Pause::Exponential { mean } => format!("exponential {}", time(mean)),
    }
}
