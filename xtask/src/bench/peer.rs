//! The generators that are compared, with equivalent command lines.

use std::ffi::OsString;
use std::path::Path;

use super::scenario::BenchScenario;
use crate::measure::Invocation;
use crate::places;

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Wrk,
    /// wrk with a rate, built from source: found on the path under this name, or skipped.
    Wrk2,
    H2load,
    Oha,
    Hey,
    Vegeta,
    BruntEpoll,
    BruntUring,
    /// brunt with two milliseconds of slack to batch arrivals, comparable to the timers of the others.
    BruntSlack,
}

impl Peer {
    /// Returns the name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::Wrk => "wrk",
            Peer::Wrk2 => "wrk2",
            Peer::H2load => "h2load",
            Peer::Oha => "oha",
            Peer::Hey => "hey",
            Peer::Vegeta => "vegeta",
            Peer::BruntEpoll => "brunt epoll",
            Peer::BruntUring => "brunt uring",
            Peer::BruntSlack => "brunt slack",
        }
    }

    /// Returns `true` if the contender is the program under test.
    pub(super) fn is_brunt(self) -> bool {
        matches!(self, Peer::BruntEpoll | Peer::BruntUring | Peer::BruntSlack)
    }

    /// Returns its command line for a scenario; `None` if it is not installed. It may write a file to `document`.
    pub(super) fn invocation(
        self,
        scenario: &BenchScenario,
        url: &str,
        seconds: u32,
        brunt: Option<&Path>,
        document: &Path,
    ) -> Option<Invocation> {
        let program = if self.is_brunt() { brunt?.to_owned() } else { places::find(self.name())? };
        let line = match self {
            Peer::Wrk => wrk(scenario, seconds),
            Peer::Wrk2 => format!("{} -R{}", wrk(scenario, seconds), scenario.rate?),
            Peer::H2load => h2load(scenario, seconds),
            Peer::Oha => oha(scenario, seconds),
            Peer::Hey => hey(scenario, seconds),
            Peer::Vegeta => vegeta(scenario, url, seconds, document)?,
            Peer::BruntEpoll => brunt_line(scenario, seconds, "epoll"),
            Peer::BruntUring => brunt_line(scenario, seconds, "uring"),
            Peer::BruntSlack => brunt_line(scenario, seconds, "epoll --slack 2ms"),
        };
        let mut arguments: Vec<OsString> = Vec::new();
        for word in line.split_whitespace() {
            match word {
                "URL" => arguments.push(url.into()),
                "FILE" => arguments.push(document.into()),
                "Connection:close" => arguments.push("Connection: close".into()),
                word => arguments.push(word.into()),
            }
        }
        // The Go runtime detects the single core by itself; the setting makes this explicit.
        let environment = if matches!(self, Peer::Hey | Peer::Vegeta) { vec![("GOMAXPROCS", "1")] } else { vec![] };
        Some(Invocation { program, arguments, environment })
    }
}

fn wrk(scenario: &BenchScenario, seconds: u32) -> String {
    let close = if scenario.close { " -H Connection:close" } else { "" };
    format!("-t1 -c{} -d{seconds}s{close} URL", scenario.connections)
}

/// Returns the options of h2load. `--rps` is the rate of each client. With a connection per request
/// it never stops by time, so it gets a number of requests that takes about as long.
fn h2load(scenario: &BenchScenario, seconds: u32) -> String {
    if scenario.close {
        return format!("--h1 -t1 -m1 -c{} -n{} -H Connection:close URL", scenario.connections, seconds * 20_000);
    }
    let rate = scenario.rate.map(|rate| format!(" --rps={}", rate / scenario.connections)).unwrap_or_default();
    format!("--h1 -t1 -m1 -c{} -D{seconds}{rate} URL", scenario.connections)
}

fn oha(scenario: &BenchScenario, seconds: u32) -> String {
    let close = if scenario.close { " --disable-keepalive" } else { "" };
    let rate = scenario.rate.map(|rate| format!(" -q {rate}")).unwrap_or_default();
    format!("--no-tui -c {} -z {seconds}s{rate}{close} URL", scenario.connections)
}

fn hey(scenario: &BenchScenario, seconds: u32) -> String {
    let close = if scenario.close { " -disable-keepalive" } else { "" };
    // `-q` is the rate of each worker.
    let rate = scenario.rate.map(|rate| format!(" -q {}", rate / scenario.connections)).unwrap_or_default();
    format!("-cpus 1 -c {} -z {seconds}s{rate}{close} URL", scenario.connections)
}

/// Returns the options of vegeta, which supports only open rates and reads its targets from a file.
fn vegeta(scenario: &BenchScenario, url: &str, seconds: u32, document: &Path) -> Option<String> {
    let (rate, connections) = (scenario.rate?, scenario.connections);
    let targets = document.with_extension("targets");
    std::fs::write(&targets, format!("GET {url}\n")).ok()?;
    let targets = targets.display();
    Some(format!(
        "attack -rate={rate} -duration={seconds}s -connections={connections} -max-connections={connections} \
         -workers={connections} -max-workers={connections} -targets={targets} -output FILE"
    ))
}

fn brunt_line(scenario: &BenchScenario, seconds: u32, net: &str) -> String {
    let close = if scenario.close { " --no-keepalive" } else { "" };
    let load = match scenario.rate {
        None => format!("-c {}", scenario.connections),
        Some(rate) => format!("-r {rate}/s --arrivals constant --max-connections {}", scenario.connections),
    };
    format!("URL {load} -d {seconds}s -w 1 --net {net}{close} --quiet --format json -o FILE")
}
