//! The load of a run: users or a rate, duration and stages, and the combinations that are not allowed.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::stages::Level;
use brunt_plan::{Load, Stage, stages};

use super::parsers::UNTIL_DONE;
use super::settings::*;
use super::values::SettingValues;

/// The load and the end of a run.
#[derive(Debug, PartialEq)]
pub struct LoadSettings {
    /// The load model.
    pub load: Load,
    /// Number of requests after which the run stops.
    pub requests: Option<u64>,
    /// Time after which the run stops.
    pub duration: Option<Nanos>,
    /// Number of connections under a rate, if the protocol keeps `-c` connections open.
    pub connections: Option<u32>,
}

/// Reads the load. `fixed` is set if the protocol keeps `-c` connections open, so that `-c` can be combined with a
/// rate. `several` is set if scenarios have their own loads, to which the settings for rates apply.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(values: &SettingValues, fixed: bool, several: bool) -> Result<LoadSettings, UsageError> {
    let requests = values.get(&REQUESTS)?;
    let requests = values.get(&ITERATIONS)?.or(requests);
    let duration = values.get(&DURATION)?;
    let staged = staged(values)?;
    if let (Some(_), Some(given)) = (&staged, values.text(&DURATION)) {
        let trouble = complaint!(
            "{given} cannot be combined with --stage, whose times add up; leave one of them out",
            "{given} 不能与 --stage 同用，各阶段自有时长；请去掉其中一个"
        );
        return Err(values.wrong(&DURATION, trouble));
    }
    let duration = match (&staged, duration, requests) {
        (Some((stages, _)), _, _) => Some(stages.iter().fold(Nanos::ZERO, |sum, s| sum.saturating_add(s.lasts))),
        (None, None, None) if values.has(&HOLD) => None,
        (None, None, None) => Some(Nanos::from_secs(10)),
        (None, given, _) => given,
    };
    let constant = |level: f64| vec![Stage { lasts: duration.unwrap_or(UNTIL_DONE), from: level, to: level }];
    let load = match (staged, values.get(&RATE)?) {
        (Some((stages, Level::Rate)), _) => open(values, stages, fixed)?,
        (Some((stages, Level::Users)), _) => closed(values, stages, several)?,
        (None, Some(rate)) => open(values, constant(rate), fixed)?,
        (None, None) => closed(values, constant(f64::from(users(values, requests)?)), several)?,
    };
    let connections = (load.is_open() && fixed).then(|| users(values, None)).transpose()?;
    Ok(LoadSettings { load, requests, duration, connections })
}

fn staged(values: &SettingValues) -> Result<Option<(Vec<Stage>, Level)>, UsageError> {
    let texts = values.texts(&STAGE);
    if texts.is_empty() {
        return Ok(None);
    }
    for level in [USERS.spec, RATE.spec] {
        if let Some(given) = values.named(level.name).next_back() {
            let trouble = complaint!(
                "{} cannot be combined with --stage, which has its own levels; leave one of them out",
                "{} 不能与 --stage 同用，各阶段自有负载；请去掉其中一个",
                given.text
            );
            return Err(given.wrong(&level.display_name(), trouble));
        }
    }
    stages::parse_all(texts).map(Some).map_err(|(which, trouble)| {
        let said = values.named(STAGE.spec.name).nth(which).expect("the stage that is wrong");
        said.wrong("--stage", trouble)
    })
}

fn users(values: &SettingValues, requests: Option<u64>) -> Result<u32, UsageError> {
    match (values.get(&USERS)?, requests) {
        (Some(users), Some(requests)) if requests < u64::from(users) => {
            let are = if requests == 1 { "request is" } else { "requests are" };
            let trouble = Complaint::new(
                format!("{requests} {are} too few for {users} users; use -n {users} or more, or -c {requests}"),
                format!("{requests} 个请求对 {users} 个用户来说太少；请用 -n {users} 或更多，或 -c {requests}"),
            );
            Err(values.wrong(&REQUESTS, trouble))
        }
        (Some(users), _) => Ok(users),
        (None, requests) => Ok(requests.map_or(10, |n| n.min(10) as u32)),
    }
}

fn open(values: &SettingValues, stages: Vec<Stage>, fixed: bool) -> Result<Load, UsageError> {
    if let Some(users) = values.text(&USERS).filter(|_| !fixed) {
        let trouble = complaint!(
            "{users} users cannot be combined with a rate (-r); leave one of them out, or limit the connections with \
                --max-connections {users}",
            "{users} 个用户不能与速率（-r）同用；请去掉其中一个，或用 --max-connections {users} 限制连接数"
        );
        return Err(values.wrong(&USERS, trouble));
    }
    let trouble = complaint!(
        "needs users and cannot be combined with a rate; leave it out, or use -c 10 instead of the rate",
        "需要用户数，不能与速率同用；请去掉，或用 -c 10 代替速率"
    );
    values.refuse(&[THINK.spec, INTERVAL.spec, TOGETHER.spec, HOLD.spec], trouble)?;
    Ok(Load::Open { stages, arrivals: values.get(&ARRIVALS)?.unwrap_or_default() })
}

fn closed(values: &SettingValues, stages: Vec<Stage>, several: bool) -> Result<Load, UsageError> {
    values.refuse(
        &[ARRIVALS.spec],
        complaint!("needs a rate; add one, such as -r 100/s", "需要速率；请加上，例如 -r 100/s"),
    )?;
    if !several {
        let trouble = complaint!(
            "needs a rate, as users have a connection each; add one, such as -r 100/s, or use -c",
            "需要速率，因为每个用户各有一个连接；请加上，例如 -r 100/s，或改用 -c"
        );
        values.refuse(&[MAX_CONNECTIONS.spec], trouble)?;
        values.refuse(
            &[SLACK.spec],
            complaint!("needs a rate; add one, such as -r 100/s", "需要速率；请加上，例如 -r 100/s"),
        )?;
    }
    let together = values.has(&TOGETHER);
    if together && stages.iter().any(|s| s.from != s.to) {
        let trouble = complaint!(
            "starts all users at once, and --stage changes their number; leave one of them out",
            "让所有用户同时开始，而 --stage 会改变用户数；请去掉其中一个"
        );
        return Err(values.wrong(&TOGETHER, trouble));
    }
    let (think, interval) = (values.get(&THINK)?, values.get(&INTERVAL)?);
    if think.is_some() && interval.is_some() {
        return Err(values.wrong(
            &INTERVAL,
            complaint!("is the same as --think; leave one of them out", "与 --think 相同；请去掉其中一个"),
        ));
    }
    if values.has(&HOLD) && (values.has(&DURATION) || values.has(&REQUESTS) || values.has(&STAGE)) {
        let trouble = complaint!(
            "holds the connections once all messages are sent, and cannot be combined with -d, -n or --stage; \
            leave one of them out",
            "在所有消息发送后保持连接，不能与 -d、-n 或 --stage 同用；请去掉其中一个"
        );
        return Err(values.wrong(&HOLD, trouble));
    }
    Ok(Load::Closed { stages, think: think.or(interval), together })
}

/// Returns `true` if a load must run on a single worker, so that all arrivals wait for a connection in one queue. With
/// a connection limit per worker, an arrival could wait at one worker while another has a free connection. One worker
/// can handle `CONNECTIONS` and `RATE`.
pub fn needs_single_worker(load: &Load, limit: u32) -> bool {
    const CONNECTIONS: u32 = 4096;
    const RATE: f64 = 20_000.0;
    load.is_open() && limit <= CONNECTIONS && load.peak() <= RATE
}
