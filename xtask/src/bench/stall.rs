//! A benchmark in which nginx is stopped for one second in the middle of ten, under an open load:
//! the 99th percentile is then 0.9 s, because the requests due within that second wait for the rest
//! of it. A generator that reports less omits requests it did not send in time.

use std::time::Duration;

use super::BenchSettings;
use super::peer::Peer;
use super::scenario;

use crate::measure::{self, GENERATOR_CORE};
use crate::nginx::{Nginx, NginxConfig};
use crate::places;

const SECONDS: u32 = 10;

pub(super) fn run(settings: &BenchSettings) -> Result<(), String> {
    let open = scenario::ALL.iter().find(|s| s.rate.is_some()).ok_or("no scenario is open")?;
    for peer in [Peer::BruntEpoll, Peer::BruntUring, Peer::Oha, Peer::Vegeta, Peer::H2load, Peer::Hey] {
        let server = Nginx::start(&NginxConfig::plain()?)?;
        let folder = places::scratch("bench")?;
        let name = peer.name().replace(' ', "-");
        let document = folder.join(format!("stall-{name}.json"));
        let Some(what) = peer.invocation(open, &server.url(), SECONDS, settings.brunt.as_deref(), &document) else {
            println!("{} is skipped: it is not installed", peer.name());
            continue;
        };
        let process = server.process();
        let (mut stopped, mut resumed) = (false, false);
        let output = folder.join(format!("stall-{name}.out"));
        let usage = measure::run(&what, GENERATOR_CORE, &output, Duration::from_secs(60), |now| {
            if !stopped && now.since >= Duration::from_millis(4_500) {
                measure::signal(process, libc::SIGSTOP);
                stopped = true;
            } else if stopped && !resumed && now.since >= Duration::from_millis(5_500) {
                measure::signal(process, libc::SIGCONT);
                resumed = true;
            }
        })?;
        println!(
            "{:<12} p99 {}",
            peer.name(),
            p99(peer, &document, &output).unwrap_or_else(|| format!(
                "not found in {} (exit {})",
                output.display(),
                usage.exit
            ))
        );
    }
    println!("expected: 0.9 s");
    Ok(())
}

/// Returns the 99th percentile reported by a generator.
fn p99(peer: Peer, document: &std::path::Path, output: &std::path::Path) -> Option<String> {
    if peer.is_brunt() {
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(document).ok()?).ok()?;
        let response = &report["latency"]["response"];
        let us = response["p99_us"].as_f64();
        let at_least = response["p99_at_least_us"].as_f64();
        return match (us, at_least) {
            (Some(us), _) => Some(format!("{:.3} s", us / 1e6)),
            (None, Some(us)) => Some(format!("at least {:.3} s", us / 1e6)),
            (None, None) => None,
        };
    }
    if peer == Peer::Vegeta {
        let vegeta = places::find("vegeta")?;
        let text = std::process::Command::new(vegeta).args(["report"]).arg(document).output().ok()?;
        return line_with(&String::from_utf8_lossy(&text.stdout), "Latencies");
    }
    // h2load reports no percentiles; its summary shows the maximum and the mean.
    let line = match peer {
        Peer::Oha => "99.00%",
        Peer::Hey => "99%",
        _ => "time for request",
    };
    line_with(&std::fs::read_to_string(output).ok()?, line)
}

fn line_with(text: &str, part: &str) -> Option<String> {
    text.lines().find(|line| line.contains(part)).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
}
