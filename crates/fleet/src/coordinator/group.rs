//! Agents chosen for runs: how a run begins on them, or goes on.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_bench::{FleetRun, FleetRunner};
use brunt_cause::{Complaint, complaint};
use brunt_contract::{Origin, UsageError};
use brunt_engine::{PreparedRun, ShareConnections, Task};
use brunt_measure::{Nanos, Rng};
use brunt_plan::{AgentSelection, Change, Load, LossPolicy, NamedAgent, OwnerTerms, Plan, RunTerms};
use brunt_record::{AgentHead, RunEvent, WorkerRange};

use super::conduct::{Conductor, RefusedShare};
use super::directory::{RunDirectory, RunHead, RunOutput};
use super::wires::Wires;
use super::{Fleet, at_once, clock};
use crate::protocol::{
    AgentAnswer, AgentDescription, AgentQuestion, AgentState, PIECE, RunQuestion, ShareOffer, from_bytes,
};
use crate::shares::divide;

pub(super) const OPTION: &str = "--agents";

/// Agents chosen for runs.
pub struct AgentGroup {
    fleet: Arc<Fleet>,
    agents: Vec<AgentDescription>,
    terms: RunTerms,
    /// Directory of the directories of runs.
    runs: PathBuf,
    /// The fleet, as `--fleet` names it, without a password.
    fleet_name: Option<String>,
    /// Set if the last run could not begin because an agent was not there, or made another run.
    lacks_agents: AtomicBool,
    /// The report files of the run, for whoever goes on with it.
    outputs: Vec<RunOutput>,
}

impl AgentGroup {
    /// Chooses agents; waits up to `within` for them to come.
    ///
    /// # Errors
    /// They are not there, or two of one name are.
    pub fn choose(
        fleet: Arc<Fleet>,
        selection: &AgentSelection,
        (within, terms): (Duration, RunTerms),
        (fleet_name, runs): (Option<String>, PathBuf),
    ) -> Result<AgentGroup, Complaint> {
        let (mut known, mut busy) = (Vec::<AgentDescription>::new(), Vec::<AgentDescription>::new());
        fleet.wait_for(within, |names| {
            let new: Vec<&String> =
                names.iter().filter(|name| known.iter().all(|agent| agent.name != **name)).collect();
            let found = at_once(&new, |name| fleet.describe(name)).into_iter().flatten();
            let (idle, others): (Vec<_>, Vec<_>) = found.partition(|agent| agent.state == AgentState::Idle);
            busy = others;
            known.extend(idle);
            known.retain(|agent| names.contains(&agent.name));
            // All that come may still be coming, unless all there are have come.
            let idle: Vec<String> = known.iter().map(|agent| agent.name.clone()).collect();
            let is_open = matches!(selection, AgentSelection::All | AgentSelection::Label(_));
            (!is_open || fleet.is_whole(&idle)) && selection.choose(&named(&known)).is_ok()
        });
        known.extend(busy);
        known.sort_by(|a, b| a.name.cmp(&b.name));
        let chosen = selection.choose(&named(&known))?;
        let agents: Vec<_> = chosen.into_iter().filter_map(|n| known.get(n).cloned()).collect();
        fleet.check_alone(&names(&agents))?;
        Ok(AgentGroup {
            fleet,
            agents,
            terms,
            runs,
            fleet_name,
            outputs: Vec::new(),
            lacks_agents: AtomicBool::new(false),
        })
    }

    /// Adds the report files that are asked for, so that whoever goes on with a run can write them.
    pub fn with_outputs(self, outputs: Vec<RunOutput>) -> AgentGroup {
        AgentGroup { outputs, ..self }
    }

    /// Returns the chosen agents.
    pub fn agents(&self) -> &[AgentDescription] {
        &self.agents
    }

    /// Returns the weight of each agent: its measured capacity if all have one, otherwise its cores.
    fn weights(&self) -> Vec<f64> {
        let capacity = |agent: &AgentDescription| {
            agent.host.calibration.as_ref().map(|found| found.at_most_per_s(cores(agent), agent.host.cores))
        };
        let measured: Option<Vec<f64>> = self.agents.iter().map(capacity).collect();
        measured.unwrap_or_else(|| self.agents.iter().map(|agent| agent.host.cores).collect())
    }

    /// Divides the workers among the agents.
    fn shares(&self, workers: u32) -> Vec<(&AgentDescription, WorkerRange)> {
        let (shares, mut from) = (divide(workers, &self.weights()), 0);
        let ranges = self.agents.iter().zip(shares).map(|(agent, share)| {
            from += share;
            (agent, WorkerRange { from: from - share, to: from })
        });
        ranges.filter(|(_, range)| range.count() > 0).collect()
    }

    /// Divides the workers among the agents; each comes with the comparison of its clock.
    fn heads(&self, workers: u32) -> Result<Vec<AgentHead>, UsageError> {
        let shares = self.shares(workers);
        let clocks = at_once(&shares, |(agent, _)| clock::compare(&*self.fleet.messenger, &agent.name));
        let heads = shares.into_iter().zip(clocks).map(|((agent, workers), clock)| {
            let clock = clock.map_err(|why| self.lacking(&agent.name, &why))?;
            Ok(AgentHead {
                name: agent.name.clone(),
                labels: agent.labels.clone(),
                host: agent.host.clone(),
                workers,
                brunt: agent.brunt.clone(),
                clock_ahead_ns: clock.ahead.0,
                clock_within_ns: clock.within.0,
            })
        });
        heads.collect()
    }
}

fn names(agents: &[AgentDescription]) -> Vec<String> {
    agents.iter().map(|agent| agent.name.clone()).collect()
}

fn named(agents: &[AgentDescription]) -> Vec<NamedAgent> {
    let named = |agent: &AgentDescription| NamedAgent {
        name: agent.name.clone(),
        labels: agent.labels.clone(),
        run: match &agent.state {
            AgentState::Idle => None,
            AgentState::Runs(run) => Some(run.clone()),
        },
    };
    agents.iter().map(named).collect()
}

fn cores(agent: &AgentDescription) -> u32 {
    (agent.host.cores as u32).max(1)
}

/// Returns the error about the directory of a run that cannot be written.
pub(super) fn not_kept(run: &Path, why: &io::Error) -> UsageError {
    let path = run.display();
    UsageError::of_machine(complaint!(
        "{path} cannot be written ({why}), where the figures of agents are kept; make room, or set XDG_STATE_HOME to another place",
        "无法写入 {path}（{why}），施压机的数据要保存在那里；请腾出空间，或把 XDG_STATE_HOME 设为其他位置"
    ))
}

fn refused(agent: &str, en: &str, zh: &str) -> UsageError {
    UsageError::new(OPTION, complaint!("agent {agent} refuses: {en}", "施压机 {agent} 拒绝：{zh}"))
}

/// Returns the highest level of a run's load (rate or users) of which an owner lets an agent carry this share, as its measuring
/// process holds it; `None` if any.
fn ceiling(terms: &OwnerTerms, prepared: &PreparedRun, plan: &Plan, task: Task) -> Option<f64> {
    let connections = ShareConnections::of(prepared, plan, task);
    let users = terms.max_connections.and_then(|most| connections.users_within(most));
    let most = match plan.load.is_open() {
        true => Change::Rate(f64::INFINITY),
        false => Change::Users(u32::MAX),
    };
    match terms.hold(most, &connections.plan_share(prepared, plan), users) {
        Change::Rate(rate) => Some(rate).filter(|rate| rate.is_finite()),
        Change::Users(users) => Some(users).filter(|users| *users < u32::MAX).map(f64::from),
        _ => None,
    }
}

/// Returns why an owner does not allow one of these targets, as far as that is known before the agent resolves their names:
/// of those that are addresses, unless the plan says where they lead (`is_mapped`).
fn forbidden(terms: &OwnerTerms, origins: &[Origin], is_mapped: bool) -> Option<Complaint> {
    let is_forbidden = |host: &str| host.parse::<IpAddr>().is_ok_and(|address| !terms.allows(None, address));
    let target = origins.iter().filter(|_| !is_mapped).find(|origin| is_forbidden(&origin.host))?;
    let why = brunt_cause::connecting::not_lent(&target.host, &target.host);
    Some(Complaint::new(why.to_string(), why.zh().unwrap_or_default().into_owned()))
}

impl FleetRunner for AgentGroup {
    fn workers(&self) -> u32 {
        self.agents.iter().map(cores).sum()
    }

    fn check(&self, prepared: &PreparedRun, plan: &Plan) -> Result<(), UsageError> {
        let of = prepared.workers(plan);
        self.shares(of).into_iter().try_for_each(|(agent, WorkerRange { from, to })| {
            if let Some(why) = forbidden(&agent.terms, prepared.origins(), !plan.connect_to.is_empty()) {
                return Err(refused(&agent.name, &why, why.zh()));
            }
            let connections = ShareConnections::of(prepared, plan, Task { from, to, of });
            let checked = agent.terms.check(&connections.plan_share(prepared, plan));
            checked.map_err(|why| refused(&agent.name, &why, why.zh()))
        })
    }

    fn run(&self, run: &FleetRun<'_>, sink: &mut dyn FnMut(RunEvent)) -> Result<(), UsageError> {
        let FleetRun { prepared, setup, briefing, stop, control, .. } = run;
        let plan = &setup.plan;
        self.check(prepared, plan)?;
        let level = level(plan).filter(|_| self.terms.on_lost == LossPolicy::Redistribute);
        if self.terms.on_lost == LossPolicy::Redistribute && level.is_none() {
            let trouble = complaint!(
                "redistribute needs one level load for a time (-r or -c with -d), which others can take over; use go-on or abort",
                "redistribute 需要在一段时间内保持不变的单一负载（-r 或 -c 加 -d），其他施压机才能接手；请用 go-on 或 abort"
            );
            return Err(UsageError::new("--on-lost", trouble));
        }
        let alone = self.fleet.check_alone(&names(&self.agents));
        self.lacks_agents.store(alone.is_err(), Ordering::Relaxed);
        alone.map_err(|why| UsageError::new(OPTION, why))?;
        let workers = prepared.workers(plan);
        let heads = self.heads(workers)?;
        let mut bytes = Vec::new();
        briefing.write(&mut bytes).map_err(|error| UsageError::new(OPTION, error.to_string()))?;
        let name = run_name();
        let disk = |why: io::Error| not_kept(&self.runs.join(&name), &why);
        let directory = RunDirectory::create(&self.runs, &name).map_err(disk)?;
        let Some(head) = self.begin(run, &heads, workers, sink) else { return Ok(()) };
        directory.write_head(&head).map_err(|why| {
            directory.remove();
            disk(why)
        })?;
        let offers = offers(&name, &heads, workers, (bytes.len() as u64, &self.terms));
        let wires = Wires::connect(&self.fleet, &directory, &heads)?;
        let pieces = Arc::new(bytes);
        let answers =
            self.fleet.messenger.answer(&format!("run/{name}"), Box::new(move |question| piece(&pieces, question)));
        let answers = answers.map_err(|why| UsageError::new(OPTION, Complaint::of_text(why.0)))?;
        let conductor = Conductor::new(Arc::clone(&self.fleet), (head, directory.clone()), level, wires);
        if let Err(refusal) = self.offer(&offers) {
            conductor.abandon();
            directory.remove();
            return Err(refusal);
        }
        let conducted = conductor.conduct((stop, control), Some(answers), sink);
        if conducted.as_ref().is_ok_and(|is_kept| !is_kept) {
            return Ok(());
        }
        directory.remove();
        conducted.map(drop).map_err(|RefusedShare { agent, why }| refused(&agent, &why, &why))
    }

    fn lacks_agents(&self) -> bool {
        self.lacks_agents.load(Ordering::Relaxed)
    }
}

impl AgentGroup {
    /// Notes that an agent is not there.
    fn lacking(&self, agent: &str, why: &Complaint) -> UsageError {
        self.lacks_agents.store(true, Ordering::Relaxed);
        let (en, zh) = (&**why, why.zh());
        UsageError::new(OPTION, complaint!("agent {agent} cannot take part: {en}", "施压机 {agent} 无法参与：{zh}"))
    }

    /// Returns `true` if an agent makes another run than this one.
    fn is_busy(&self, agent: &str, run: &str) -> bool {
        let found = self.fleet.describe(agent);
        found.is_some_and(|found| matches!(found.state, AgentState::Runs(other) if other != run))
    }

    /// Passes on the head of the record; returns what a coordinator that is started again must know, without secrets.
    fn begin(
        &self,
        run: &FleetRun<'_>,
        heads: &[AgentHead],
        workers: u32,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Option<RunHead> {
        let mut events: Vec<RunEvent> = Vec::new();
        run.prepared.report_start(run.setup, workers, &mut |mut event| {
            if let RunEvent::Started(head) = &mut event {
                head.agents = heads.to_vec();
            }
            events.push(event.clone());
            sink(event);
        });
        events.extend(run.first.cloned().map(RunEvent::FirstResponse));
        let mut redaction = run.redaction.clone();
        let (mut started, mut opening) = (None, Vec::new());
        for mut event in events {
            redaction.event(&mut event);
            match event {
                RunEvent::Started(head) => started = Some(*head),
                other => opening.push(other),
            }
        }
        let (terms, fleet, outputs) = (self.terms.clone(), self.fleet_name.clone(), self.outputs.clone());
        let plan = &run.setup.plan;
        let ceilings = self.shares(workers).into_iter().map(|(agent, WorkerRange { from, to })| {
            ceiling(&agent.terms, run.prepared, plan, Task { from, to, of: workers })
        });
        Some(RunHead {
            started: started?,
            opening,
            is_open: plan.load.is_open(),
            terms,
            ceilings: ceilings.collect(),
            fleet,
            outputs,
        })
    }

    /// Offers each agent its share.
    fn offer(&self, offers: &[(String, ShareOffer)]) -> Result<(), UsageError> {
        let answers = at_once(offers, |(agent, offer)| self.fleet.ask(agent, &AgentQuestion::Take(offer.clone())));
        for ((agent, offer), answer) in offers.iter().zip(answers) {
            match answer {
                Ok(AgentAnswer::Yes) => {}
                Ok(AgentAnswer::No { en, zh }) => {
                    self.lacks_agents.store(self.is_busy(agent, &offer.run), Ordering::Relaxed);
                    return Err(refused(agent, &en, &zh));
                }
                Ok(_) => return Err(refused(agent, "it answers another question", "它回答了另一个问题")),
                Err(why) => {
                    let why = Complaint::of_text(why.0);
                    let zh = why.zh();
                    return Err(self.lacking(agent, &complaint!("it cannot be reached ({why})", "无法联系（{zh}）")));
                }
            }
        }
        Ok(())
    }
}

fn offers(run: &str, heads: &[AgentHead], of: u32, (bytes, terms): (u64, &RunTerms)) -> Vec<(String, ShareOffer)> {
    let offer = |head: &AgentHead| ShareOffer {
        run: run.to_owned(),
        brunt: env!("CARGO_PKG_VERSION").to_owned(),
        from: head.workers.from,
        to: head.workers.to,
        of,
        bytes,
        orphan_timeout_ns: orphan_timeout(terms).0,
    };
    heads.iter().map(|head| (head.name.clone(), offer(head))).collect()
}

/// Returns the time after which an agent without its coordinator stops: before others take over its load, if they do.
fn orphan_timeout(terms: &RunTerms) -> Nanos {
    match terms.on_lost {
        LossPolicy::Redistribute => terms.orphan_timeout.min(terms.lost_after),
        _ => terms.orphan_timeout,
    }
}

/// Answers an agent that asks for a piece of its briefing.
fn piece(bytes: &[u8], question: &[u8]) -> Vec<u8> {
    match from_bytes(question) {
        Some(RunQuestion::Piece(number)) => {
            let pieces = bytes.chunks(PIECE).nth(usize::try_from(number).unwrap_or(usize::MAX));
            pieces.unwrap_or_default().to_vec()
        }
        None => Vec::new(),
    }
}

/// Returns the change to which the load of a run is equal, if it is level and of one kind.
pub(super) fn level(plan: &Plan) -> Option<Change> {
    let whole = plan.scenarios.is_empty() && plan.hold.is_none() && plan.requests.is_none() && plan.load.is_level();
    whole.then(|| match plan.load {
        Load::Open { .. } => Change::Rate(plan.load.peak()),
        Load::Closed { .. } => Change::Users(plan.load.peak().round() as u32),
    })
}

/// Returns a new identifier of a run: its time, and something by chance.
fn run_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let chance = Rng::new(since.as_nanos() as u64 ^ (u64::from(std::process::id()) << 40)).next_u64();
    format!("{:010x}-{:06x}", since.as_secs(), chance & 0xff_ffff)
}

/// Returns the earliest time at which a run can begin on these agents, from now: every order must arrive before.
pub(super) fn lead(heads: &[AgentHead]) -> Nanos {
    let slowest = heads.iter().map(|head| 2 * head.clock_within_ns).max().unwrap_or(0);
    let rounds = heads.len().div_ceil(super::AT_ONCE) as u64;
    Nanos::from_millis(300) + Nanos(slowest.saturating_mul(4 * rounds.max(1)))
}

#[cfg(test)]
mod tests {
    use brunt_contract::{ProtocolConfig, RequestedUrl};
    use brunt_messenger::{LocalMessenger, Messenger};

    use super::*;
    use crate::protocol::to_bytes;

    /// Offers a run to agent `a`, which is in this state and refuses; returns whether agents are lacking, and what is said.
    fn offered(state: Option<AgentState>) -> (bool, String) {
        let hub = LocalMessenger::default();
        let agent = hub.participant();
        let _held = state.map(|state| {
            let answer = move |question: &[u8]| {
                to_bytes(&match from_bytes(question) {
                    Some(AgentQuestion::Describe) => {
                        let state = state.clone();
                        AgentAnswer::Description(Box::new(AgentDescription { state, ..AgentDescription::default() }))
                    }
                    _ => AgentAnswer::No { en: "it does not".into(), zh: "不".into() },
                })
            };
            agent.answer("agent/a", Box::new(answer)).expect("an agent")
        });
        let group = AgentGroup {
            fleet: Arc::new(Fleet::watch(Arc::new(hub.participant()), Vec::new()).expect("a fleet")),
            agents: Vec::new(),
            terms: RunTerms::default(),
            runs: PathBuf::new(),
            fleet_name: None,
            outputs: Vec::new(),
            lacks_agents: AtomicBool::new(false),
        };
        let heads = [AgentHead { name: "a".into(), ..AgentHead::default() }];
        let refusal = group.offer(&offers("1", &heads, 1, (1, &group.terms))).expect_err("a refusal");
        (group.lacks_agents(), refusal.to_string())
    }

    #[test]
    fn an_address_that_an_owner_does_not_allow_is_known_before_anything_is_sent() {
        let terms = OwnerTerms { allow: vec!["10.0.0.0/8".parse().unwrap()], ..OwnerTerms::default() };
        let said = |host: &str, is_mapped| {
            forbidden(&terms, &[Origin::tcp("10.1.2.3", 80, false), Origin::tcp(host, 80, false)], is_mapped)
        };
        let why = said("127.0.0.1", false).expect("a reason");
        assert!(why.contains("does not allow 127.0.0.1") && why.zh().contains("127.0.0.1"), "{why}");
        assert_eq!((said("127.0.0.1", true), said("10.9.9.9", false)), (None, None));
        assert_eq!(said("api.test", false), None, "only the agent knows where it leads");
    }

    /// Returns a plan with one URL and an open load of this rate, or one of as many users, and what it sends; each of its ten
    /// connections has a heartbeat a second, if it has any.
    fn planned(url: &str, options: &[(&str, &str)], load: (bool, f64), beats: bool) -> (Plan, Arc<PreparedRun>) {
        let line = include_str!("../../../record/src/version-1.jsonl").lines().next().unwrap();
        let RunEvent::Started(started) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
        let stage = serde_json::json!([{"lasts": 1, "from": load.1, "to": load.1}]);
        let load = match load.0 {
            true => serde_json::json!({"model": "open", "arrivals": "constant", "stages": stage}),
            false => serde_json::json!({"model": "closed", "think": null, "together": false, "stages": stage}),
        };
        let options: brunt_contract::OptionValues =
            options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
        let scheme = url.split("://").next().unwrap();
        let all = brunt_protocols::all();
        let protocol = all.iter().find(|protocol| protocol.schemes().contains(&scheme)).unwrap();
        let asked = ProtocolConfig {
            urls: vec![RequestedUrl { url: url.into(), weight: 1.0 }],
            options: options.clone(),
            ..ProtocolConfig::default()
        };
        let heartbeat = beats.then(|| Nanos::from_secs(1));
        let load = serde_json::from_value(load).unwrap();
        let mut plan = Plan { options, load, heartbeat, max_connections: 10, ..started.plan };
        plan.urls.make_mut()[0].url = url.into();
        (Plan { protocol: protocol.name().into(), ..plan }, PreparedRun::of(&**protocol, &asked).unwrap())
    }

    #[test]
    fn a_ceiling_is_the_highest_level_that_the_measuring_process_takes() {
        let schema = tempfile::NamedTempFile::new().unwrap();
        let service = "syntax = \"proto3\"; package p; message M {} service S { rpc Up(stream M) returns (M); }";
        std::fs::write(&schema, service).unwrap();
        let proto = ("proto", schema.path().to_str().unwrap());
        let terms = OwnerTerms { max_rate: Some(60.0), ..OwnerTerms::default() };
        let task = Task { from: 1, to: 2, of: 4 };
        for (url, options, beats, expected) in [
            ("http://127.0.0.1:1/", &[][..], false, 240.0),
            ("http://127.0.0.1:1/", &[("redirects", "1")], false, 120.0),
            ("grpc://127.0.0.1:1/p.S/Up", &[proto, ("data", "{} {} {}")], false, 80.0),
            // Of ten connections, the second of four workers has three.
            ("grpc://127.0.0.1:1/p.S/Up", &[proto, ("data", "{} {} {}")], true, 76.0),
        ] {
            let (plan, prepared) = planned(url, options, (true, 1.0), beats);
            assert_eq!(ceiling(&terms, &prepared, &plan, task), Some(expected), "{url} {options:?}");
            assert_eq!(ceiling(&OwnerTerms::default(), &prepared, &plan, task), None);
            let is_taken = |rate: f64| {
                let (plan, prepared) = planned(url, options, (true, rate), beats);
                terms.check(&ShareConnections::of(&prepared, &plan, task).plan_share(&prepared, &plan)).is_ok()
            };
            assert_eq!((is_taken(expected), is_taken(expected + 1.0)), (true, false), "{url} {options:?}");
        }
        let terms = OwnerTerms { max_connections: Some(5), ..OwnerTerms::default() };
        // The first worker has one user more than the second.
        let is_taken = |users: f64| {
            let (plan, prepared) = planned("http://127.0.0.1:1/", &[], (false, users), false);
            assert_eq!(ceiling(&terms, &prepared, &plan, task), Some(21.0));
            terms.check(&ShareConnections::of(&prepared, &plan, task).plan_share(&prepared, &plan)).is_ok()
        };
        assert_eq!((is_taken(21.0), is_taken(22.0)), (true, false));
    }

    #[test]
    fn an_agent_that_refuses_a_load_is_not_lacking() {
        let said = "--agents: agent a refuses: it does not".to_owned();
        assert_eq!(offered(Some(AgentState::Idle)), (false, said.clone()));
        assert_eq!(offered(Some(AgentState::Runs("2".into()))), (true, said));
        let (is_lacking, said) = offered(None);
        assert!(is_lacking && said.starts_with("--agents: agent a cannot take part: it cannot be reached ("), "{said}");
    }
}
