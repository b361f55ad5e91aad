//! `brunt fleet` without an action: shows who is there, once or for as long as somebody looks.

use std::io::Write;
use std::time::Duration;

use brunt_config::FleetCommand;
use brunt_contract::UsageError;
use brunt_fleet::{AgentDescription, AgentPresence, AgentState, Fleet, FleetDirectory, unfinished_runs_of};
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Lang, columns, numbers};
use serde_json::{Value, json};

use super::{link, runs, watch};
use crate::delayed_actions::announce_wait;
use crate::preflight::span;
use crate::run::CommandResult;
use crate::signals;

const WAITING: Text = text(
    "waiting up to {time} for agents that are not there yet; all reconnect after one was added or removed",
    "最多等待 {time}，直到尚未在线的施压机上线；添加或移除施压机之后，所有施压机都会重新连接",
);
const NOBODY: Text = text("no agent is there; those that may come: {names}", "没有在线的施压机；可以加入的有：{names}");
const ABSENT: Text = text("not there: {names}", "不在线：{names}");
const HEADINGS: [Text; 9] = [
    text("agent", "施压机"),
    text("labels", "标签"),
    text("cores", "核"),
    text("used by others", "其他占用"),
    text("memory", "内存"),
    text("descriptors", "描述符"),
    text("brunt", "brunt"),
    text("round trip", "往返"),
    text("state", "状态"),
];
const CAPACITY: Text = text("measured", "实测上限");
const SEVERAL: Text = text("{state}, there {times} times", "{state}，同时有 {times} 台在线");
const IDLE: Text = text("idle", "空闲");
const RUNS: Text = text("runs {run}", "正在运行 {run}");
const SILENT: Text = text("there, but does not answer", "在线但没有响应");
const CLOCK: Text = text(
    "{agent}: its clock shows {difference} {way}; runs are not affected, since they compare clocks themselves",
    "{agent}：其时钟{way} {difference}；压测自行对时，不受影响",
);
const UNFINISHED: Text = text(
    "run {run} lost its coordinator, or all its agents; go on with it: brunt run --resume {run}",
    "压测 {run} 失去了协调端或全部施压机；继续：brunt run --resume {run}",
);
const AHEAD: Text = text("ahead", "快");
const BEHIND: Text = text("behind", "慢");
const TOO_OLD: Text = text(
    "{agent}: brunt {theirs}, and this is brunt {ours}; it will be refused until both are the same",
    "{agent}：brunt {theirs}，而这里是 brunt {ours}；版本一致之前会被拒绝",
);
/// Interval at which a fleet is looked at again.
const EVERY: Duration = Duration::from_secs(1);
/// Difference of wall clocks that is worth a line (nanoseconds).
const CLOCK_APART: i64 = 1_000_000_000;

/// Shows who is there, once or until a signal. As JSON, one line a second, so that a reader knows that it is alive; a line
/// with the reason ends it.
///
/// # Errors
/// There is no such fleet, or it is out of reach.
pub fn show(asked: &FleetCommand, goes_on: bool, lang: Lang) -> CommandResult {
    let shown = watch(asked.fleet.as_deref()).and_then(|fleet| follow(&fleet, asked, goes_on, lang));
    if let (true, Err(wrong)) = (asked.json && goes_on, &shown) {
        write(&line(json!({ "trouble": { "en": wrong.to_string(), "zh": wrong.zh() } })));
    }
    shown
}

fn follow(fleet: &Fleet, asked: &FleetCommand, goes_on: bool, lang: Lang) -> CommandResult {
    let wait = Duration::from_nanos(asked.wait.0);
    // Agents look for their coordinator once a second.
    let waiting = announce_wait(lang.fill(WAITING, &[("time", &span(asked.wait))]));
    fleet.wait_for(wait, |there| fleet.is_whole(there));
    drop(waiting);
    if !goes_on {
        fleet.wait_for_leftovers(&fleet.names());
    }
    // Some may be added or removed while this goes on.
    let expected = || expected(asked.fleet.as_deref());
    let stop = signals::Interrupts::listen().map_err(|why| UsageError::new("signals", why.to_string()))?;
    if goes_on {
        stop.enable_graceful_stop();
    }
    let mut last = String::new();
    loop {
        let (there, expected) = (fleet.survey(), expected());
        let is_own = |fleet: Option<&str>| super::is_same(asked.fleet.as_deref(), fleet);
        let unfinished = runs().map(|runs| unfinished_runs_of(&runs, is_own)).unwrap_or_default();
        let page = if asked.json {
            let mut document = document(&there, &expected, &unfinished);
            document["join"] = identities(asked.fleet.as_deref()).map(|of| of.join_address(None)).into();
            line(document)
        } else {
            page(&there, (&expected, &unfinished), lang)
        };
        // What a repeated table would show as changed are only its measurements.
        let key = key(&there, &expected);
        let is_news = asked.json || key != last || !goes_on;
        last = key;
        if (is_news && !write(&page)) || !goes_on || stop.stop().requested() {
            return Ok(Exit::Ok.code());
        }
        fleet.wait_for(EVERY, |_| stop.stop().requested());
    }
}

/// Writes to standard output; returns `false` if nobody reads it any more.
fn write(text: &str) -> bool {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Returns the names of the agents that may come, where they are known.
pub fn expected(fleet: Option<&str>) -> Vec<String> {
    identities(fleet).map(|of| of.names()).unwrap_or_default()
}

/// Returns the identities of a fleet that has some of its own.
fn identities(fleet: Option<&str>) -> Option<FleetDirectory> {
    let is_nats = fleet.is_some_and(link::is_nats);
    let path = (!is_nats).then(|| link::directory(fleet).ok())??;
    FleetDirectory::open(&path).ok()
}

/// Returns what of the fleet is worth another line.
fn key(there: &[AgentPresence], expected: &[String]) -> String {
    let one = |agent: &AgentPresence| match &agent.description {
        Some(found) => {
            format!("{} {} {:?} {:?} {}", agent.name, agent.times, found.state, found.labels, found.brunt)
        }
        None => format!("{} {} silent", agent.name, agent.times),
    };
    there.iter().map(one).chain(absent(there, expected).map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

fn line(value: Value) -> String {
    value.to_string() + "\n"
}

/// Returns who is there as JSON, with what the terminal remarks about each.
fn document(there: &[AgentPresence], expected: &[String], unfinished: &[String]) -> Value {
    let agent = |agent: &AgentPresence| {
        let mut shown = json!(agent);
        shown["capacity_per_s"] = agent.description.as_ref().and_then(capacity).into();
        let said = remarks(agent, Lang::En).into_iter().zip(remarks(agent, Lang::Zh));
        shown["remarks"] = said.map(|(en, zh)| json!({ "en": en, "zh": zh })).collect();
        shown
    };
    let agents: Vec<Value> = there.iter().map(agent).collect();
    json!({ "agents": agents, "expected": expected, "unfinished_runs": unfinished })
}

/// Returns the most requests a second that were measured on an agent's machine.
fn capacity(found: &AgentDescription) -> Option<f64> {
    let cores = found.host.cores;
    found.host.calibration.as_ref().map(|c| c.at_most_per_s(cores as u32, cores))
}

/// Returns the names of the agents that may come and are not there.
fn absent<'a>(there: &'a [AgentPresence], expected: &'a [String]) -> impl Iterator<Item = &'a str> {
    expected.iter().map(|name| &**name).filter(|name| there.iter().all(|agent| agent.name != *name))
}

fn page(there: &[AgentPresence], (expected, unfinished): (&[String], &[String]), lang: Lang) -> String {
    let unfinished = unfinished.iter().map(|run| lang.fill(UNFINISHED, &[("run", run)]));
    if there.is_empty() {
        let between = if lang == Lang::Zh { "、" } else { ", " };
        let names = if expected.is_empty() { "-".to_owned() } else { expected.join(between) };
        let lines = std::iter::once(lang.fill(NOBODY, &[("names", &names)])).chain(unfinished);
        return lines.map(|line| line + "\n").collect();
    }
    let mut headings: Vec<String> = HEADINGS.iter().map(|heading| lang.of(*heading).to_owned()).collect();
    headings.insert(4, lang.of(CAPACITY).to_owned());
    let rows = std::iter::once(headings).chain(there.iter().map(|agent| row(agent, lang))).collect::<Vec<_>>();
    let mut lines = columns::table(&rows);
    let absent: Vec<&str> = absent(there, expected).collect();
    if !absent.is_empty() {
        let names = absent.join(if lang == Lang::Zh { "、" } else { ", " });
        lines.push(lang.fill(ABSENT, &[("names", &names)]));
    }
    lines.extend(there.iter().flat_map(|agent| remarks(agent, lang)));
    lines.extend(unfinished);
    lines.join("\n") + "\n"
}

fn row(agent: &AgentPresence, lang: Lang) -> Vec<String> {
    let state = state(agent, lang);
    let Some(found) = &agent.description else {
        let mut row = vec!["-".to_owned(); 10];
        (row[0], row[9]) = (agent.name.clone(), state);
        return row;
    };
    let host = &found.host;
    let dash = || "-".to_owned();
    let capacity = capacity(found).map(|most| format!("{}/s", numbers::rate(most)));
    let labels = if found.labels.is_empty() { dash() } else { found.labels.join(" ") };
    vec![
        agent.name.clone(),
        labels,
        format!("{:.0}", host.cores),
        found.busy_cores.map_or_else(dash, |cores| format!("{cores:.1}")),
        capacity.unwrap_or_else(dash),
        format!("{:.1} GB", host.memory as f64 / 1e9),
        numbers::count(host.descriptors),
        found.brunt.clone(),
        if agent.round_trip.0 == 0 { dash() } else { numbers::seconds(agent.round_trip.as_secs_f64()) },
        state,
    ]
}

fn state(agent: &AgentPresence, lang: Lang) -> String {
    let state = match agent.description.as_ref().map(|found| &found.state) {
        None => lang.of(SILENT).to_owned(),
        Some(AgentState::Idle) => lang.of(IDLE).to_owned(),
        Some(AgentState::Runs(run)) => lang.fill(RUNS, &[("run", run)]),
    };
    match agent.times {
        ..2 => state,
        times => lang.fill(SEVERAL, &[("state", &state), ("times", &times.to_string())]),
    }
}

fn remarks(agent: &AgentPresence, lang: Lang) -> Vec<String> {
    let not_alone =
        agent.why_not_alone().map(|why| if lang == Lang::Zh { why.zh().to_owned() } else { why.to_string() });
    let mut said = Vec::from_iter(not_alone);
    let Some(found) = &agent.description else { return said };
    let ours = env!("CARGO_PKG_VERSION");
    if found.brunt != ours {
        let facts = [("agent", &*agent.name), ("theirs", &*found.brunt), ("ours", ours)];
        said.push(lang.fill(TOO_OLD, &facts));
    }
    if agent.wall_ahead_ns.abs() > CLOCK_APART {
        let difference = numbers::seconds(agent.wall_ahead_ns.unsigned_abs() as f64 / 1e9);
        let way = lang.of(if agent.wall_ahead_ns > 0 { AHEAD } else { BEHIND });
        said.push(lang.fill(CLOCK, &[("agent", &agent.name), ("difference", &difference), ("way", way)]));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_may_come_and_are_absent_are_named() {
        let there = [AgentPresence {
            description: None,
            name: "a2".into(),
            times: 1,
            clock_ahead_ns: 0,
            wall_ahead_ns: 0,
            round_trip: Default::default(),
        }];
        let expected = ["a1", "a2", "a3"].map(str::to_owned);
        let said = |expected: &[String], lang| page(&there, (expected, &[]), lang);
        assert!(said(&expected, Lang::En).ends_with("\nnot there: a1, a3\n"), "{}", said(&expected, Lang::En));
        assert!(said(&expected, Lang::Zh).ends_with("\n不在线：a1、a3\n"));
        assert_eq!(said(&expected[1..2], Lang::En), said(&[], Lang::En));
        assert_ne!(key(&there, &expected), key(&there, &expected[..2]));
    }
}
