//! `brunt doctor`: the limits of this machine, and those that a run would reach. Nothing is sent to the target, except
//! the queries that its protocol needs before requests can be prepared.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use brunt_contract::{PeerAddress, Protocol};
use brunt_counters::{CounterSource, HostReader, MachineLoad, MachineLoadMeter, Service};
use brunt_diagnose::doctor::{
    Advice, CurrentLoad, RunRequirements, Severity, abilities, examine, examine_service, service_abilities,
};
use brunt_measure::Nanos;
use brunt_plan::{Load, Plan};
use brunt_record::CounterValue;
use brunt_report::Lang;
use brunt_report::text::{Text, text};

use crate::run::CommandResult;
use crate::screen;
use crate::worker::SelfLauncher;
use brunt_bench::remote_probes::{self, ProbeSnapshot};
use brunt_bench::{Bench, WorkerPlaces};
use brunt_config::Intent;

const THIS_MACHINE: Text = text("This machine", "本机");
const THIS_RUN: Text = text("This run", "本次压测");
const THAT_MACHINE: Text = text("The service's machine, {name}", "服务所在机器 {name}");
const ANOTHER: Text = text("Another machine, {name}", "另一台机器 {name}");
const NOTHING: Text = text("nothing in the way", "未发现问题");
const UNREAD: Text = text("not observable", "无法读取");
const COMMAND: Text = text("change: {command}", "改进：{command}");

/// The exit code if a run cannot go as planned, so that its results would be misleading.
const UNFIT: u8 = 20;

/// Shows the limits of this machine, and those that a planned run would reach.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn examine_run(
    planned: Option<(&mut Intent, &dyn Protocol)>,
    facts: &brunt_record::GeneratorHost,
) -> CommandResult {
    let meter = MachineLoadMeter::start();
    let mut host = HostReader::new(CounterSource::here());
    let (lang, run, others) = match planned {
        None => (Lang::from_env(), None, Vec::new()),
        Some((intent, protocol)) => {
            let (run, target) = plan_of(intent, protocol, facts, &mut host)?;
            (intent.lang(), Some(run), remote_probes::look(&intent.watching.probes, target)?)
        }
    };
    let counters = host.read();
    let read = |name: &str| reading(&counters.values, name);
    let mut page = String::new();
    section(&mut page, lang.of(THIS_MACHINE));
    abilities(&read).iter().for_each(|said| line(&mut page, "", &said.render(lang)));
    if let Some(load) = meter.and_then(MachineLoadMeter::finish) {
        line(&mut page, "", &current(load).sentence().render(lang));
    }
    if !counters.unobservable.is_empty() {
        line(&mut page, "", &format!("{}: {}", lang.of(UNREAD), counters.unobservable.join(", ")));
    }
    let advice = run.as_ref().map(|run| examine(&read, run));
    if let Some(advice) = &advice {
        page.push('\n');
        section(&mut page, lang.of(THIS_RUN));
        if advice.is_empty() {
            line(&mut page, "+ ", lang.of(NOTHING));
        }
        advice.iter().for_each(|advice| push_advice(&mut page, advice, lang));
    }
    let mut all = advice.unwrap_or_default();
    for (host, run) in others.iter().zip(run.iter().cycle()) {
        all.extend(push_other_host(&mut page, host, run, lang));
    }
    let stops = all.iter().any(|advice| advice.prospect == Severity::Blocker);
    Ok(screen::print(&page, if stops { UNFIT } else { 0 }, lang))
}

/// Returns what others take of this machine, as the checks understand it.
pub fn current(load: MachineLoad) -> CurrentLoad {
    let MachineLoad { cores, others, stolen, late } = load;
    CurrentLoad { cores, others, stolen, late_s: late.as_secs_f64() }
}

/// Appends the limits of a host with a probe, and returns those that the run would reach there.
fn push_other_host(page: &mut String, host: &ProbeSnapshot, run: &RunRequirements, lang: Lang) -> Vec<Advice> {
    let read = |name: &str| reading(&host.sample.values, name);
    // Connections do not go to a host that does not hold the target.
    let serves = host.holds_target || read("listener.limit").is_some() || read("service.room").is_some();
    page.push('\n');
    section(page, &lang.fill(if serves { THAT_MACHINE } else { ANOTHER }, &[("name", &host.name)]));
    service_abilities(&read).iter().for_each(|said| line(page, "", &said.render(lang)));
    if !host.sample.unobservable.is_empty() {
        line(page, "", &format!("{}: {}", lang.of(UNREAD), host.sample.unobservable.join(", ")));
    }
    let advice = if serves { examine_service(&read, run) } else { Vec::new() };
    if serves && advice.is_empty() {
        line(page, "+ ", lang.of(NOTHING));
    }
    advice.iter().for_each(|advice| push_advice(page, advice, lang));
    advice
}

fn section(page: &mut String, heading: &str) {
    page.push_str(heading);
    page.push('\n');
}

fn line(page: &mut String, mark: &str, said: &str) {
    page.push_str(&format!("  {mark}{said}\n"));
}

fn push_advice(page: &mut String, advice: &Advice, lang: Lang) {
    let mark = match advice.prospect {
        Severity::Fine => "+ ",
        Severity::Caution => "! ",
        Severity::Blocker => "x ",
    };
    line(page, mark, &advice.sentence(lang));
    if let Some(command) = advice.command(lang) {
        line(page, "    ", &lang.fill(COMMAND, &[("command", &command)]));
    }
}

/// Returns a counter by name. `listener.limit` is the limit of the only listener there can be; `service.room` is the
/// number of file descriptors that the processes of the service can still open.
fn reading<Name: Borrow<str> + Ord>(values: &BTreeMap<Name, CounterValue>, name: &str) -> Option<f64> {
    let known = |name: &str| values.get(name).map(|value| value.real());
    let names = || values.keys().map(Borrow::borrow);
    match name {
        "listener.limit" => {
            names().find(|name: &&str| name.starts_with("listener.") && name.ends_with(".limit")).and_then(known)
        }
        "service.room" => {
            let pids = names().filter_map(|name: &str| name.strip_prefix("service.")?.strip_suffix(".fd_limit"));
            let room = |pid: &str| {
                let open = known(&format!("service.{pid}.fds"))?;
                Some((known(&format!("service.{pid}.fd_limit"))? - open).max(0.0))
            };
            let rooms: Vec<f64> = pids.map(room).collect::<Option<_>>()?;
            // The sum over only some of the processes would be too low.
            (known("service.all.processes")? == rooms.len() as f64).then(|| rooms.iter().sum())
        }
        _ => known(name),
    }
}

/// Returns the requirements of a run and its target address, and makes `host` follow a service on this machine.
fn plan_of(
    intent: &mut Intent,
    protocol: &dyn Protocol,
    facts: &brunt_record::GeneratorHost,
    host: &mut HostReader,
) -> Result<(RunRequirements, Option<SocketAddr>), brunt_contract::UsageError> {
    let bench = Bench::prepare(intent, protocol, facts, WorkerPlaces::here(SelfLauncher))?;
    let setup = bench.shown();
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for origin in bench.prepared().origins() {
        for place in
            setup.resolver.resolve(origin).map_err(|why| brunt_contract::UsageError::new("URL", why.to_string()))?
        {
            if let PeerAddress::Tcp(address) = place
                && !addresses.contains(&address)
            {
                addresses.push(address);
            }
        }
    }
    let local = addresses.iter().find_map(|address| Service::listening_at(host, *address));
    let is_local = local.is_some() || addresses.iter().any(|address| address.ip().is_loopback());
    local.into_iter().for_each(|service| host.watch(service));
    let plan = &setup.plan;
    let planned = RunRequirements {
        connections: connections(plan),
        rate_per_s: plan.load.is_open().then(|| plan.load.peak()),
        is_one_shot: plan.options.contains_key("no-keepalive"),
        lasts_s: lasts(plan),
        sources: sources(setup.sources.len(), &addresses, connections(plan)),
        destinations: addresses.len().max(1) as u64,
        is_local,
        most_per_s: calibrated(plan, facts),
    };
    Ok((planned, addresses.first().copied()))
}

/// Returns the number of source addresses: those given, or else those that a run uses by default for a target on the
/// loopback network.
fn sources(given: usize, to: &[SocketAddr], connections: u64) -> u64 {
    let own = |to: &SocketAddr| brunt_net::sources::spread(*to, connections as usize).len();
    let all = if given > 0 { given } else { to.first().map_or(1, own) };
    all.max(1) as u64
}

/// Returns the maximum rate of brunt on this machine, if it was calibrated and the plan uses HTTP/1.1 without TLS.
fn calibrated(plan: &Plan, facts: &brunt_record::GeneratorHost) -> Option<f64> {
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

/// Returns the duration in seconds: until the last stage, or as given; `None` if a number of requests ends the run.
fn lasts(plan: &Plan) -> Option<f64> {
    let stages = plan.load.stages().iter().fold(Nanos::ZERO, |sum, stage| sum + stage.lasts);
    let known = plan.duration.or_else(|| (plan.requests.is_none() && stages > Nanos::ZERO).then_some(stages))?;
    Some((known + plan.warmup).as_secs_f64())
}
