//! `brunt doctor`: what this machine can do, and what a run would hit before it is run. Nothing is sent to the target, but for what its
//! protocol must ask before requests can be prepared.

use std::net::SocketAddr;

use diagnose::doctor::{Advice, Planned, Prospect, abilities, examine};
use engine::Runner;
use measure::Nanos;
use plan::{Load, Plan};
use probe::{Counters, Host, Service, Source};
use report::Lang;
use report::text::{Text, text};
use wire::Place;

use crate::arguments::Intent;
use crate::bench::Bench;
use crate::run::Outcome;
use crate::screen;

const THIS_MACHINE: Text = text("This machine", "本机");
const THIS_RUN: Text = text("This run", "本次压测");
const NOTHING: Text = text("nothing stands against it", "没有障碍");
const UNREAD: Text = text("not observable", "无法读取");
const COMMAND: Text = text("change: {command}", "改进：{command}");

/// What it ends with where a run cannot go as planned: its figures would not be what they seem.
const UNFIT: u8 = 20;

/// Tells what this machine can do; with a run, also what that would hit.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn examine_run(planned: Option<(&mut Intent, &dyn Runner)>, facts: &record::Host) -> Outcome {
    let mut host = Host::new(Source::here());
    let (lang, run) = match planned {
        None => (Lang::from_env(), None),
        Some((intent, protocol)) => (intent.lang(), Some(plan_of(intent, protocol, facts, &mut host)?)),
    };
    let counters = host.read();
    let read = |name: &str| reading(&counters, name);
    let mut page = String::new();
    section(&mut page, lang.of(THIS_MACHINE));
    abilities(&read).iter().for_each(|said| line(&mut page, "", &said.of(lang)));
    if !counters.unobservable.is_empty() {
        line(&mut page, "", &format!("{}: {}", lang.of(UNREAD), counters.unobservable.join(", ")));
    }
    let advice = run.map(|run| examine(&read, &run));
    if let Some(advice) = &advice {
        page.push('\n');
        section(&mut page, lang.of(THIS_RUN));
        if advice.is_empty() {
            line(&mut page, "+ ", lang.of(NOTHING));
        }
        advice.iter().for_each(|advice| told(&mut page, advice, lang));
    }
    let stops = advice.into_iter().flatten().any(|advice| advice.prospect == Prospect::Stops);
    Ok(screen::answer(&page, if stops { UNFIT } else { 0 }, lang))
}

fn section(page: &mut String, heading: &str) {
    page.push_str(heading);
    page.push('\n');
}

fn line(page: &mut String, mark: &str, said: &str) {
    page.push_str(&format!("  {mark}{said}\n"));
}

fn told(page: &mut String, advice: &Advice, lang: Lang) {
    let mark = match advice.prospect {
        Prospect::Fine => "+ ",
        Prospect::Caution => "! ",
        Prospect::Stops => "x ",
    };
    line(page, mark, &advice.sentence(lang));
    if let Some(command) = advice.command(lang) {
        line(page, "    ", &lang.fill(COMMAND, &[("command", &command)]));
    }
}

/// A counter by its name; `listener.limit` is that of the only listener there can be.
fn reading(counters: &Counters, name: &str) -> Option<f64> {
    let known = |name: &str| counters.values.get(name).map(|value| value.real());
    match name {
        "listener.limit" => counters
            .values
            .keys()
            .find(|name| name.starts_with("listener.") && name.ends_with(".limit"))
            .and_then(|name| known(name)),
        _ => known(name),
    }
}

/// What a run needs; a service on this machine is watched from now on.
fn plan_of(
    intent: &mut Intent,
    protocol: &dyn Runner,
    facts: &record::Host,
    host: &mut Host,
) -> Result<Planned, wire::Complaint> {
    let bench = Bench::prepare(intent, protocol, facts)?;
    let setup = bench.shown();
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for origin in bench.prepared().origins() {
        for place in setup.resolver.resolve(origin).map_err(|why| wire::Complaint::new("URL", why))? {
            if let Place::Tcp(address) = place
                && !addresses.contains(&address)
            {
                addresses.push(address);
            }
        }
    }
    let local = addresses.iter().find_map(|address| Service::of(host, *address));
    let is_local = local.is_some() || addresses.iter().any(|address| address.ip().is_loopback());
    local.into_iter().for_each(|service| host.watch(service));
    let plan = &setup.plan;
    Ok(Planned {
        connections: connections(plan),
        rate_per_s: plan.load.is_open().then(|| plan.load.peak()),
        is_one_shot: plan.options.contains_key("no-keepalive"),
        lasts_s: lasts(plan),
        sources: sources(setup.sources.len(), &addresses, connections(plan)),
        destinations: addresses.len().max(1) as u64,
        is_local,
        most_per_s: calibrated(plan, facts),
    })
}

/// Source addresses: those that were given, or those that a run takes by itself where the target is on the loopback network.
fn sources(given: usize, to: &[SocketAddr], connections: u64) -> u64 {
    let own = |to: &SocketAddr| net::sources::spread(*to, connections as usize).len();
    let all = if given > 0 { given } else { to.first().map_or(1, own) };
    all.max(1) as u64
}

/// What brunt sends at most here, where it was calibrated: in HTTP/1.1 without TLS.
fn calibrated(plan: &Plan, facts: &record::Host) -> Option<f64> {
    let is_calibrated = plan.protocol == "http" && plan.urls.iter().all(|url| !url.url.starts_with("https:"));
    let is_http2 = plan.options.get("http").is_some_and(|http| http.contains(&"2".into()));
    let calibration = facts.calibration.as_ref().filter(|_| is_calibrated && !is_http2)?;
    Some(calibration.at_most_per_s(plan.workers, facts.cores)).filter(|most| *most > 0.0)
}

fn connections(plan: &Plan) -> u64 {
    match plan.load {
        Load::Closed { .. } => plan.load.peak() as u64,
        Load::Open { .. } => u64::from(plan.max_connections).min(plan.load.peak().ceil().max(1.0) as u64 * 10),
    }
}

/// Until its last stage, or as long as it was said; unknown where a number of requests ends it.
fn lasts(plan: &Plan) -> Option<f64> {
    let stages = plan.load.stages().iter().fold(Nanos::ZERO, |sum, stage| sum + stage.lasts);
    let known = plan.duration.or_else(|| (plan.requests.is_none() && stages > Nanos::ZERO).then_some(stages))?;
    Some((known + plan.warmup).as_secs_f64())
}
