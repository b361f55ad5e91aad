//! Output of a flow in the syntax of plan files.

use super::{Page, quoted, time};
use crate::Plan;
use crate::flow::{CAPTURE, Called, Flow, List, OnFailure, Pause, Step};

/// Writes `flow` and the sections next to it.
pub(super) fn of_plan(page: &mut Page, plan: &Plan, flow: &Flow) {
    section(page, plan, ("flow", &flow.steps));
    of_users(page, plan, flow);
    around(page, plan, flow);
    called(page, plan, &flow.flows);
}

/// Writes the first and last steps of each user.
pub(super) fn of_users(page: &mut Page, plan: &Plan, flow: &Flow) {
    section(page, plan, ("start", &flow.start));
    section(page, plan, ("end", &flow.end));
}

/// Writes the steps that are run once for all users.
pub(super) fn around(page: &mut Page, plan: &Plan, flow: &Flow) {
    section(page, plan, ("setup", &flow.setup));
    section(page, plan, ("teardown", &flow.teardown));
}

/// Writes the flows that are called.
pub(super) fn called<'a>(page: &mut Page, plan: &Plan, flows: impl IntoIterator<Item = &'a Called>) {
    for (at, called) in flows.into_iter().enumerate() {
        if at == 0 {
            page.head("flows");
        }
        page.indent += 2;
        page.head(&quoted(&called.name));
        steps(page, plan, &called.steps);
        page.indent -= 2;
    }
}

fn section(page: &mut Page, plan: &Plan, (name, inner): (&str, &[Step])) {
    if !inner.is_empty() {
        page.head(name);
        steps(page, plan, inner);
    }
}

/// Writes steps as a list below `flow`.
pub(super) fn steps(page: &mut Page, plan: &Plan, steps: &[Step]) {
    page.indent += 2;
    steps.iter().for_each(|step| one(page, plan, step));
    page.indent -= 2;
}

fn one(page: &mut Page, plan: &Plan, step: &Step) {
    let first = |page: &mut Page, name: &str, value: &str| page.line(format!("- {name}: {value}").trim_end());
    match step {
        Step::Request { url, on_failure } => {
            request(page, plan, *url, Some(*on_failure).filter(|on_failure| *on_failure != OnFailure::default()));
        }
        Step::Batch { at_most, urls, on_failure, own } => batch(page, plan, (*at_most, *on_failure), (urls, own)),
        Step::Pause(pause) => first(page, "pause", &quoted(&pause_of(*pause))),
        Step::Pace(pace) => first(page, "pace", &time(*pace)),
        Step::Close { servers } => match &servers[..] {
            [] => first(page, "close", "all"),
            [server] => first(page, "close", &quoted(server)),
            several => first(page, "close", &listed(&List::Fixed(several.to_vec()))),
        },
        Step::Group { name, steps } => {
            first(page, "group", &quoted(name));
            below(page, plan, steps);
        }
        Step::Repeat { times, steps } => {
            first(page, "repeat", &times.to_string());
            below(page, plan, steps);
        }
        Step::If { condition, steps: inner, otherwise } => {
            first(page, "if", &quoted(condition));
            below(page, plan, inner);
            if !otherwise.is_empty() {
                page.indent += 2;
                page.head("else");
                steps(page, plan, otherwise);
                page.indent -= 2;
            }
        }
        Step::While { condition, steps } => {
            first(page, "while", &quoted(condition));
            below(page, plan, steps);
        }
        Step::ForEach { name, list, steps } => {
            first(page, "for-each", name);
            page.line(&format!("  in: {}", listed(list)));
            below(page, plan, steps);
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
            steps(page, plan, inner);
            page.indent -= 2;
        }
        Step::Choose { ways } => {
            page.line("- choose:");
            page.indent += 4;
            for way in ways {
                first(page, "weight", &way.weight.to_string());
                below(page, plan, &way.steps);
            }
            page.indent -= 4;
        }
    }
}

fn batch(
    page: &mut Page,
    plan: &Plan,
    (at_most, on_failure): (u32, OnFailure),
    (urls, own): (&[u32], &[Option<OnFailure>]),
) {
    page.line("- batch:");
    page.indent += 4;
    page.one("at-most", &at_most.to_string());
    if on_failure != OnFailure::default() {
        page.one("on-failure", on_failure.word());
    }
    page.head("requests");
    page.indent += 2;
    for (nth, url) in urls.iter().enumerate() {
        request(page, plan, *url, own.get(nth).copied().flatten());
    }
    page.indent -= 6;
}

fn listed(list: &List) -> String {
    match list {
        List::Captured(captured) => captured.clone(),
        List::Fixed(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

/// Writes the nested steps of the step whose first line was just written.
fn below(page: &mut Page, plan: &Plan, inner: &[Step]) {
    page.indent += 2;
    page.head("steps");
    steps(page, plan, inner);
    page.indent -= 2;
}

/// Writes a request; `on_failure` is given only if it is set on the request itself.
fn request(page: &mut Page, plan: &Plan, url: u32, on_failure: Option<OnFailure>) {
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
        page.one("on-failure", on_failure.word());
    }
    page.indent -= 2;
}

fn pause_of(pause: Pause) -> String {
    match pause {
        Pause::Uniform { from, to } if from == to => time(from),
        Pause::Uniform { from, to } => format!("{}..{}", time(from), time(to)),
        Pause::Normal { mean, deviation } => format!("normal {} {}", time(mean), time(deviation)),
        Pause::Exponential { mean } => format!("exponential {}", time(mean)),
    }
}
