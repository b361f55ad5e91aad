//! The scenarios, each with its contenders, its yardstick and the ratios that brunt must stay within.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::BenchSettings;
use super::history;

use super::peer::Peer;

use super::table;
use crate::measure::{self, GENERATOR_CORE, Usage};
use crate::nginx::{Nginx, NginxConfig};
use crate::noise::NoiseGuard;
use crate::places;

/// A comparison of CPU time.
pub(super) struct BenchScenario {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) connections: u32,
    /// Set if each request has its own connection.
    pub(super) close: bool,
    /// Requests per second of an open load.
    pub(super) rate: Option<u32>,
    pub(super) peers: &'static [Peer],
    /// The contender that ratios are relative to.
    pub(super) yardstick: Peer,
    /// Maximum ratios of CPU time per request.
    pub(super) limits: &'static [(Peer, f64)],
}

use Peer::{BruntEpoll, BruntSlack, BruntUring, H2load, Hey, Oha, Vegeta, Wrk};

/// All scenarios.
pub(super) const ALL: [BenchScenario; 4] = [
    BenchScenario {
        name: "alive-100",
        what: "100 keep-alive connections",
        connections: 100,
        close: false,
        rate: None,
        peers: &[Wrk, BruntEpoll, BruntUring, H2load, Oha, Hey],
        yardstick: Wrk,
        limits: &[(BruntEpoll, 0.90), (BruntUring, 0.82)],
    },
    BenchScenario {
        name: "alive-10k",
        what: "10,000 keep-alive connections",
        connections: 10_000,
        close: false,
        rate: None,
        peers: &[Wrk, BruntEpoll, BruntUring, H2load, Oha, Hey],
        yardstick: Wrk,
        limits: &[(BruntEpoll, 0.72), (BruntUring, 0.62)],
    },
    BenchScenario {
        name: "close-100",
        what: "a connection for each request, 100 users",
        connections: 100,
        close: true,
        rate: None,
        peers: &[Wrk, BruntEpoll, BruntUring, H2load, Oha, Hey],
        yardstick: Wrk,
        limits: &[(BruntEpoll, 0.95), (BruntUring, 0.95)],
    },
    BenchScenario {
        name: "open-20k",
        what: "20,000 requests per second at equal gaps on 100 connections",
        connections: 100,
        close: false,
        rate: Some(20_000),
        peers: &[H2load, BruntEpoll, BruntUring, BruntSlack, Oha, Hey, Vegeta],
        yardstick: H2load,
        limits: &[(BruntEpoll, 1.0), (BruntUring, 1.0), (BruntSlack, 1.0)],
    },
];

/// The result of one run of one contender.
pub(super) struct ScenarioRun {
    pub(super) peer: Peer,
    /// Number of requests counted by nginx.
    pub(super) requests: u64,
    pub(super) accepted: u64,
    pub(super) usage: Usage,
    /// CPU time of nginx.
    pub(super) server_cpu_s: f64,
    /// Schedule figures of an open load, if the generator reports them.
    pub(super) kept: Option<ScheduleFigures>,
    /// Disturbances that remained after the repetitions.
    pub(super) noise: Option<String>,
}

/// The schedule report of brunt.
#[derive(Clone, Copy)]
pub(super) struct ScheduleFigures {
    pub(super) sent_by_due: f64,
    pub(super) gen_late_p99_us: f64,
}

impl ScheduleFigures {
    /// Reads the report of an open run.
    fn read(document: &Path) -> Option<Self> {
        let report: Value = serde_json::from_str(&fs::read_to_string(document).ok()?).ok()?;
        let sent: f64 = report["seconds"].as_array()?.iter().filter_map(|second| second["sent"].as_f64()).sum();
        let due = report["requests"]["scheduled"].as_f64()?;
        Some(Self { sent_by_due: sent / due, gen_late_p99_us: report["latency"]["gen_late"]["p99_us"].as_f64()? })
    }
}

impl ScenarioRun {
    pub(super) fn cpu_per_million(&self) -> f64 {
        self.usage.cpu_s() / self.requests.max(1) as f64 * 1e6
    }
    pub(super) fn per_second(&self) -> f64 {
        self.requests as f64 / self.usage.wall_s
    }
}

/// Maximum number of repetitions of a disturbed run.
const REPEATS: u32 = 3;
/// Maximum number of repetitions in one scenario, so that the benchmark ends even if the machine
/// never becomes quiet.
const ALL_REPEATS: u32 = 12;

/// Runs a scenario, prints its table and appends to the history.
pub(super) fn run(scenario: &BenchScenario, settings: &BenchSettings) -> Result<(), String> {
    println!("\n== {}: {}", scenario.name, scenario.what);
    let mut guard = NoiseGuard::new();
    let mut repeats_left = ALL_REPEATS;
    let mut rounds: Vec<Vec<ScenarioRun>> = Vec::new();
    for round in 1..=settings.rounds {
        let mut runs = Vec::new();
        let wanted = |peer: &Peer| *peer == scenario.yardstick || settings.wants(peer.name());
        for peer in scenario.peers.iter().copied().filter(wanted) {
            if let Some(run) = quiet_run(scenario, settings, peer, &mut guard, &mut repeats_left)? {
                runs.push(run);
            } else if round == 1 {
                println!("{} is skipped: it is not installed, or sent nothing", peer.name());
            }
        }
        if runs.is_empty() {
            return Err("no generator is available".into());
        }
        rounds.push(runs);
    }
    let summary = table::summarise(scenario, &rounds);
    table::print(scenario, &summary, guard.together());
    if settings.keep_history {
        history::keep(scenario.name, table::as_json(&summary), settings, guard.together())?;
    }
    Ok(())
}

/// Runs a measurement, and repeats it if the machine was disturbed.
fn quiet_run(
    scenario: &BenchScenario,
    settings: &BenchSettings,
    peer: Peer,
    guard: &mut NoiseGuard,
    repeats_left: &mut u32,
) -> Result<Option<ScenarioRun>, String> {
    let mut attempt = 1;
    loop {
        let Some(run) = one_run(scenario, settings, peer, guard)? else { return Ok(None) };
        match &run.noise {
            Some(noise) if attempt <= REPEATS && *repeats_left > 0 => {
                println!("{:<12} disturbed ({noise}); measuring again", peer.name());
                std::thread::sleep(Duration::from_millis(500));
                attempt += 1;
                *repeats_left -= 1;
            }
            Some(noise) => {
                println!("{:<12} disturbed ({noise}); kept anyway", peer.name());
                return Ok(Some(run));
            }
            None => return Ok(Some(run)),
        }
    }
}

/// Runs a contender against a fresh nginx, so that no run inherits the memory layout or the closing
/// connections of another.
fn one_run(
    scenario: &BenchScenario,
    settings: &BenchSettings,
    peer: Peer,
    guard: &mut NoiseGuard,
) -> Result<Option<ScenarioRun>, String> {
    let server = Nginx::start(&NginxConfig::plain()?)?;
    let folder = places::scratch("bench")?;
    let file = format!("{}-{}", scenario.name, peer.name().replace(' ', "-"));
    let document = folder.join(format!("{file}.json"));
    let url = server.url();
    let Some(what) = peer.invocation(scenario, &url, settings.seconds, settings.brunt.as_deref(), &document) else {
        return Ok(None);
    };
    let counted = server.counts()?;
    let server_cpu = measure::cpu_of(server.process());
    let before = guard.before();
    let longest = Duration::from_secs(u64::from(settings.seconds) + 30);
    let usage = measure::run(&what, GENERATOR_CORE, &folder.join(format!("{file}.out")), longest, |_| {})?;
    let server_cpu_s = measure::cpu_of(server.process()) - server_cpu;
    let noise = guard.after(&before, usage.cpu_s() + server_cpu_s);
    let now = server.counts()?;
    // The second status request is included in its own response; all others between the two came from the generator.
    let requests = (now.requests - counted.requests).saturating_sub(1);
    let accepted = (now.accepted - counted.accepted).saturating_sub(1);
    if requests == 0 {
        println!("{} sent nothing (exit {}); see {}", peer.name(), usage.exit, usage.output.display());
        return Ok(None);
    }
    let kept = if peer.is_brunt() && scenario.rate.is_some() { ScheduleFigures::read(&document) } else { None };
    let run = ScenarioRun { peer, requests, accepted, usage, server_cpu_s, kept, noise };
    println!(
        "{:<12} {:>9.0}/s  {:6.3} s per million, {:.0} % user, nginx {:6.3}{}",
        peer.name(),
        run.per_second(),
        run.cpu_per_million(),
        run.usage.user_s / run.usage.cpu_s().max(1e-9) * 100.0,
        run.server_cpu_s / run.requests.max(1) as f64 * 1e6,
        if run.usage.exit == 0 {
            String::new()
        } else {
            format!("  (exit {}, see {})", run.usage.exit, run.usage.output.display())
        },
    );
    Ok(Some(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yardsticks_and_limits_are_among_the_contenders() {
        for scenario in &ALL {
            assert!(scenario.peers.contains(&scenario.yardstick), "{}", scenario.name);
            assert!(scenario.limits.iter().all(|(peer, _)| scenario.peers.contains(peer)), "{}", scenario.name);
        }
    }
}
