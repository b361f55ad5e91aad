//! `brunt agent`: lends this machine to the runs of a fleet until a signal ends it.

use std::process::Command;
use std::time::Duration;

use brunt_bench::share::WORD;
use brunt_cause::{Complaint, complaint};
use brunt_config::AgentCommand;
use brunt_contract::UsageError;
use brunt_counters::MachineLoadMeter;
use brunt_fleet::{AgentDescription, AgentSettings, AgentState, AgentToken, LentMachine, check_name};
use brunt_measure::{format_count, format_rate};
use brunt_plan::OwnerTerms;
use brunt_record::GeneratorHost;
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Lang};

use super::link::{self, Joined};
use super::state;
use crate::run::CommandResult;
use crate::{screen, signals};

const LENT: Text = text(
    "agent {name}: this machine ({cores} cores) is offered to the fleet of {join}; Ctrl-C takes it back",
    "施压机 {name}：本机（{cores} 个核）提供给 {join} 的机群；按 Ctrl-C 收回",
);
const TERMS: Text = text("it loads only {targets}{ceilings}", "只向 {targets} 施压{ceilings}");
const TERMS_NOT_PUBLIC: Text =
    text("it loads only addresses that are not public{ceilings}", "只向非公网地址施压{ceilings}");
const UP_TO_RATE: Text = text(", requests at {rate} at most", "，请求速率最多 {rate}");
const UP_TO_CONNECTIONS: Text = text(", over at most {n} connections", "，最多 {n} 个连接");
/// Time for which the use of this machine by others is measured.
const MEASURED: Duration = Duration::from_millis(200);

/// Lends this machine.
///
/// # Errors
/// The token is none, or the link does not start.
pub fn agent(asked: AgentCommand, host: &GeneratorHost) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let (joined, name) = identity(&asked, host)?;
    let signals = signals::EndSignals::register().map_err(|error| UsageError::new("signals", error.to_string()))?;
    let spool = match &asked.spool {
        Some(spool) => spool.clone(),
        None => state()?.join(format!("spool/{name}")),
    };
    let messenger = link::agent(joined, lang).map_err(|trouble| UsageError::new("--join", trouble))?;
    let description = AgentDescription {
        name: name.clone(),
        labels: asked.labels.clone(),
        brunt: env!("CARGO_PKG_VERSION").to_owned(),
        host: host.clone(),
        terms: asked.terms.clone(),
        state: AgentState::Idle,
        remarks: Vec::new(),
        busy_cores: None,
    };
    let settings = AgentSettings {
        describe: Box::new(move || describe(&description)),
        terms: asked.terms.clone(),
        spool,
        start_process: Box::new(start_process),
        say: Box::new(move |en, zh| screen::print_error(if lang == Lang::Zh { zh } else { en })),
    };
    let lent =
        LentMachine::lend(messenger, settings).map_err(|why| UsageError::new("--join", Complaint::of_text(why.0)))?;
    let cores = format!("{:.0}", host.cores);
    screen::print_error(&lang.fill(LENT, &[("name", &name), ("cores", &cores), ("join", shown(&asked.join))]));
    screen::print_error(&terms(&asked.terms, lang));
    signals.wait();
    lent.take_back();
    Ok(Exit::Ok.code())
}

/// Returns an address without a password.
fn shown(join: &str) -> &str {
    join.rsplit_once('@').map_or(join, |(_, host)| host)
}

fn describe(description: &AgentDescription) -> AgentDescription {
    let meter = MachineLoadMeter::start();
    std::thread::sleep(MEASURED);
    let busy_cores = meter.and_then(MachineLoadMeter::finish).map(|load| load.others + load.stolen);
    AgentDescription { busy_cores, ..description.clone() }
}

fn identity(asked: &AgentCommand, host: &GeneratorHost) -> Result<(Joined, String), UsageError> {
    if link::is_nats(&asked.join) {
        let own = host.name.to_ascii_lowercase();
        let name = asked.name.clone().unwrap_or(own);
        check_name(&name).map_err(|trouble| UsageError::new("--name", trouble))?;
        return Ok((Joined::Nats(asked.join.clone()), name));
    }
    let token = asked.token.as_deref().ok_or_else(|| {
        let trouble = complaint!(
            "is missing: `brunt fleet add NAME` on the coordinator's machine prints one",
            "缺失：在协调端机器上运行 `brunt fleet add NAME` 会打印一个"
        );
        UsageError::new("--token", trouble)
    })?;
    let token = AgentToken::parse(token).map_err(|trouble| UsageError::new("--token", trouble))?;
    if asked.name.as_ref().is_some_and(|name| *name != token.name) {
        let trouble = complaint!("is {} by its token; leave --name out", "的令牌属于 {}；请去掉 --name", token.name);
        return Err(UsageError::new("--name", trouble));
    }
    let name = token.name.clone();
    Ok((Joined::Coordinator(asked.join.clone(), token), name))
}

/// Starts this program again for a share, with the terms that it holds by itself.
fn start_process(terms: &OwnerTerms) -> std::io::Result<brunt_engine::ProcessLink> {
    let terms = serde_json::to_string(terms)?;
    brunt_engine::child(Command::new(std::env::current_exe()?).args([WORD, &terms]).current_dir("/"))
}

fn terms(terms: &OwnerTerms, lang: Lang) -> String {
    let targets: Vec<String> = terms.allow.iter().cloned().map(String::from).collect();
    let said = if targets.is_empty() { TERMS_NOT_PUBLIC } else { TERMS };
    let targets = targets.join(if lang == Lang::Zh { "、" } else { ", " });
    let rate = terms.max_rate.map(|rate| lang.fill(UP_TO_RATE, &[("rate", &format_rate(rate))])).unwrap_or_default();
    let most =
        terms.max_connections.map(|n| lang.fill(UP_TO_CONNECTIONS, &[("n", &format_count(n))])).unwrap_or_default();
    lang.fill(said, &[("targets", &targets), ("ceilings", &format!("{rate}{most}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_are_said_without_stray_spaces() {
        let said = |allow: &[&str], lang| {
            let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
            terms(&OwnerTerms { allow, max_rate: Some(50.0), max_connections: None }, lang)
        };
        assert_eq!(said(&[], Lang::Zh), "只向非公网地址施压，请求速率最多 50.0/s");
        assert_eq!(said(&["a.test", "10.0.0.0/8"], Lang::Zh), "只向 a.test、10.0.0.0/8 施压，请求速率最多 50.0/s");
        assert_eq!(said(&[], Lang::En), "it loads only addresses that are not public, requests at 50.0/s at most");
        let many = OwnerTerms { max_connections: Some(20_000), ..OwnerTerms::default() };
        assert!(terms(&many, Lang::En).ends_with("over at most 20,000 connections"));
    }
}
