//! The requested load, and the first answer.

use brunt_measure::{Nanos, format_rate};
use brunt_plan::{Arrivals, Change, Load, Plan, ScenarioPlan, Stage};
use brunt_record::{FirstResponse, LoadChange, ProbedHost, RunStarted};

use super::TextPage;
use crate::numbers;
use crate::reasons::reason;
use crate::sentences as say;
use crate::summary::Summary;
use crate::text::Lang;

pub(super) fn requested_load(page: &mut TextPage, summary: &Summary) {
    if let Some(started) = &summary.started {
        let title = page.paint.bold(&format!("brunt {}  {}", started.brunt, target(&started.plan, page.lang)));
        page.line(&title);
        let mut line = load_as_run(summary, page.lang);
        line.push(machinery(started, page.lang));
        page.line(&line.join(page.translate(say::COMMA)));
    }
    if let Some(probe) = &summary.probe {
        let line = first_answer(probe, page.lang);
        page.line(&line);
    }
    probed(summary, page.lang).iter().for_each(|line| page.line(line));
}

/// Returns the machines under test that reported their counters, each as a sentence.
pub(crate) fn probed(summary: &Summary, lang: Lang) -> Vec<String> {
    let told = |(first, last): &(ProbedHost, Option<ProbedHost>)| {
        let within = last.as_ref().map_or(0, |last| last.clock_within_ns).max(first.clock_within_ns);
        let (cores, within) = (first.cores.to_string(), numbers::duration(Nanos(within)));
        let facts: [(&str, &str); 5] = [
            ("host", &first.host),
            ("kernel", &first.kernel),
            ("cores", &cores),
            ("probe", &first.probe),
            ("within", &within),
        ];
        lang.fill(say::COUNTED_ON, &facts)
    };
    summary.joined.iter().map(told).collect()
}

/// Returns the first URL and the number of others.
pub(crate) fn target(plan: &Plan, lang: Lang) -> String {
    let first = plan.urls.first().map_or(String::new(), |u| u.url.clone());
    match plan.count_urls() {
        0 | 1 => first,
        n => {
            // A flow begins with its first URL; without one, each request draws its own.
            let more = if plan.has_flows() { say::MORE_URLS } else { say::MORE_IN_RANDOM_ORDER };
            format!("{first} {}", lang.fill(more, &[("n", &numbers::count(n as u64 - 1))]))
        }
    }
}

/// Returns the worker threads and the network backend.
pub(crate) fn machinery(started: &RunStarted, lang: Lang) -> String {
    lang.fill(say::MACHINERY, &[("workers", &started.workers.to_string()), ("net", &started.net)])
}

/// Returns the answer to the pre-flight request as a sentence.
pub(crate) fn first_answer(probe: &FirstResponse, lang: Lang) -> String {
    let through = probe.through.as_ref().map(|proxy| lang.fill(say::OF_PROXY, &[("proxy", proxy)]));
    let address = format!("{}{}", probe.address, through.unwrap_or_default());
    match &probe.failure {
        Some(failure) => lang.fill(say::PROBE_FAILED, &[("failure", &reason(failure, probe.cause.as_ref(), lang))]),
        None => lang.fill(
            match () {
                () if probe.requests == 0 => say::PROBE_CONNECTED,
                () if probe.status.is_empty() => say::PROBE_WITHOUT_STATUS,
                () => say::PROBE,
            },
            &[
                ("status", &probe.status),
                ("bytes", &numbers::bytes(probe.payload)),
                ("took", &numbers::duration(probe.took)),
                ("address", &address),
                ("spoken", &probe.spoken),
            ],
        ),
    }
}

/// Returns the load of a run in words, part by part: as planned, and what it was changed to.
pub(crate) fn load_as_run(summary: &Summary, lang: Lang) -> Vec<String> {
    let Some(started) = &summary.started else { return Vec::new() };
    let mut parts = load(&started.plan, lang);
    let level = |changed: &LoadChange| match changed.change {
        Change::Rate(rate) => Some(format_rate(rate)),
        Change::Users(n) => Some(lang.fill(say::CHANGED_USERS, &[("n", &n.to_string())])),
        Change::Pause | Change::Resume | Change::Drain => None,
    };
    let set: Vec<String> = summary.changes.iter().filter_map(level).collect();
    let shown = set.iter().rev().take(SHOWN_CHANGES).rev().cloned().collect::<Vec<_>>().join(lang.of(say::COMMA));
    let more = if set.len() > SHOWN_CHANGES { "… " } else { "" };
    parts.extend((!set.is_empty()).then(|| lang.fill(say::STEERED, &[("levels", &format!("{more}{shown}"))])));
    parts
}

/// Number of changes of the load in its description, the last ones.
const SHOWN_CHANGES: usize = 3;

/// Returns the planned load in words, part by part.
pub(crate) fn load(plan: &Plan, lang: Lang) -> Vec<String> {
    let mut parts = match &plan.scenarios[..] {
        [] => load_of(&plan.load, (plan.flow.is_some(), plan.requests, plan.duration), lang),
        all => {
            let each: Vec<String> = all.iter().map(|scenario| scenario_of(scenario, lang)).collect();
            vec![each.join(lang.of(say::SEMICOLON))]
        }
    };
    if plan.warmup.0 > 0 {
        parts.push(lang.fill(say::AFTER_WARMUP, &[("time", &numbers::duration(plan.warmup))]));
    }
    parts
}

/// Formats one of several scenarios: `shop: 20.0/s of iterations (Poisson arrivals), for 30.0 s`.
fn scenario_of(scenario: &ScenarioPlan, lang: Lang) -> String {
    let mut parts = load_of(&scenario.load, (true, scenario.iterations, scenario.duration), lang);
    if let Some(each) = scenario.iterations_per_user {
        parts.push(lang.fill(say::ITERATIONS_EACH, &[("n", &numbers::count(u64::from(each)))]));
    }
    if scenario.start > Nanos::ZERO {
        parts.push(lang.fill(say::AFTER, &[("time", &numbers::duration(scenario.start))]));
    }
    format!("{}{}{}", scenario.name, lang.of(say::COLON), parts.join(lang.of(say::COMMA)))
}

fn load_of(load: &Load, (flows, requests, duration): (bool, Option<u64>, Option<Nanos>), lang: Lang) -> Vec<String> {
    let mut parts = Vec::new();
    match load {
        Load::Open { stages, arrivals } => {
            let arrivals = match arrivals {
                Arrivals::Poisson => say::POISSON,
                Arrivals::Constant => say::CONSTANT,
                Arrivals::Burst => say::BURST,
            };
            let rate = levels(stages, format_rate);
            let rate = if flows { format!("{rate} {}", lang.of(say::OF_ITERATIONS)) } else { rate };
            parts.push(lang.fill(say::OPEN_LOAD, &[("rate", &rate), ("arrivals", lang.of(arrivals))]));
        }
        Load::Closed { stages, .. } => {
            parts.push(lang.fill(say::CLOSED_LOAD, &[("users", &users(stages, lang))]));
        }
    }
    if let Some(n) = requests {
        let asked = if flows { say::ITERATIONS_ASKED } else { say::REQUESTS_ASKED };
        parts.push(lang.fill(asked, &[("n", &numbers::count(n))]));
    }
    if let Some(time) = duration {
        parts.push(lang.fill(say::FOR, &[("time", &numbers::duration(time))]));
    }
    parts
}

/// Formats a number of users: `100 users`, `0 to 100 users`.
pub(crate) fn users(stages: &[Stage], lang: Lang) -> String {
    let n = levels(stages, |v| numbers::count(v.round() as u64));
    lang.fill(say::USERS_N, &[("n", &n)])
}

/// Formats the levels of stages: `100`, `0..100..20` if they change gradually, `10, 500` if they jump.
pub(crate) fn levels(stages: &[Stage], shown: impl Fn(f64) -> String) -> String {
    let mut out = String::new();
    let mut last = None;
    for stage in stages {
        if last != Some(stage.from) {
            out += if last.is_some() { ", " } else { "" };
            out += &shown(stage.from);
        }
        if stage.to != stage.from {
            out += &format!("..{}", shown(stage.to));
        }
        last = Some(stage.to);
    }
    out
}
