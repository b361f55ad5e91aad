//! Protocols other than HTTP/1.1, compared with generators for those protocols: the same pinned cores, interleaved
//! rounds and CPU time, but with a server for each protocol and contenders that count their own requests.
//!
//! A contender's own count is trusted here, because servers count differently or not at all; the end-to-end tests check
//! that brunt's count equals the server's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::opponent::{self, BenchServer};
use super::{BenchSettings, history};
use crate::measure::{self, GENERATOR_CORE, Invocation};
use crate::places;

/// A comparison.
pub(super) struct Duel {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    contenders: &'static [Contender],
    /// (contender, reference contender, maximum ratio of CPU time).
    limits: &'static [(&'static str, &'static str, f64)],
}

struct Contender {
    name: &'static str,
    server: fn(&BenchSettings) -> Result<Option<BenchServer>, String>,
    /// The program of the contender; `None` for brunt.
    program: Option<&'static str>,
    /// The command line; PORT, SECONDS and FILE are filled in.
    line: &'static str,
    count: CountSource,
}

impl Contender {
    /// Creates a contender that runs brunt with these arguments.
    const fn brunt(
        name: &'static str,
        server: fn(&BenchSettings) -> Result<Option<BenchServer>, String>,
        line: &'static str,
    ) -> Contender {
        Contender { name, server, program: None, line, count: CountSource::Report }
    }
}

/// The source of a contender's number of requests.
enum CountSource {
    /// brunt's report.
    Report,
    /// The number that follows these words in the contender's output.
    After(&'static str),
    /// A number fixed by the contender's command line.
    Fixed(u64),
}

const BRUNT_H1: Contender = Contender::brunt("brunt http/1.1", opponent::nginx, "http://127.0.0.1:PORT/ -c 100");
const BRUNT_H2: Contender =
    Contender::brunt("brunt http/2", opponent::nginx_h2, "http://127.0.0.1:PORT/ --http2 -c 100 --streams 10");
/// brunt over HTTP/1.1, on io_uring.
const BRUNT_H1_URING: Contender =
    Contender { name: "brunt http/1.1, io_uring", line: "http://127.0.0.1:PORT/ -c 100 --net uring", ..BRUNT_H1 };
const BRUNT_H2_URING: Contender = Contender {
    name: "brunt http/2, io_uring",
    line: "http://127.0.0.1:PORT/ --http2 -c 100 --streams 10 --net uring",
    ..BRUNT_H2
};

/// Both of k6's interfaces measure each round trip, as brunt does.
const K6_WEBSOCKETS: Contender = Contender {
    name: "k6",
    server: opponent::target,
    program: Some("k6"),
    line: "run --quiet --no-usage-report -e PORT=PORT -e SECONDS=SECONDS k6_websockets.js",
    count: CountSource::After("messages: "),
};

/// Each iteration logs in, keeps the cookie, takes a token out of 1 kB of JSON and sends it in a header twice.
const BRUNT_FLOW: Contender = Contender::brunt("brunt flow", opponent::nginx_json, "flow.yaml");

pub(super) const ALL: [Duel; 7] = [
    Duel {
        name: "http2",
        what: "HTTP/2 in clear text, 100 users on 10 connections, nginx",
        contenders: &[
            BRUNT_H2,
            BRUNT_H1,
            BRUNT_H2_URING,
            BRUNT_H1_URING,
            Contender {
                name: "h2load",
                server: opponent::nginx_h2,
                program: Some("h2load"),
                line: "-t1 -c10 -m10 -DSECONDS http://127.0.0.1:PORT/",
                count: CountSource::After("requests: "),
            },
        ],
        limits: &[
            ("brunt http/2", "h2load", 0.50),
            ("brunt http/2", "brunt http/1.1", 1.0),
            ("brunt http/2, io_uring", "h2load", 0.50),
            ("brunt http/2, io_uring", "brunt http/1.1, io_uring", 1.0),
        ],
    },
    Duel {
        name: "grpc",
        what: "unary calls, 100 users on 10 connections, grpc-go",
        contenders: &[
            Contender::brunt(
                "brunt grpc",
                opponent::grpc_go,
                "grpc://127.0.0.1:PORT/grpc.health.v1.Health/Check -c 100 --streams 10",
            ),
            BRUNT_H2,
            Contender {
                name: "ghz",
                server: opponent::grpc_go,
                program: Some("ghz"),
                line: "--insecure --connections 10 -c 100 -z SECONDSs --call grpc.health.v1.Health.Check 127.0.0.1:PORT",
                count: CountSource::After("Count:"),
            },
        ],
        limits: &[("brunt grpc", "brunt http/2", 1.5), ("brunt grpc", "ghz", 0.10)],
    },
    Duel {
        name: "websocket",
        what: "echoed messages, 100 connections, the built-in target",
        contenders: &[
            Contender::brunt("brunt websocket", opponent::target, "ws://127.0.0.1:PORT/echo -c 100 --data hello"),
            Contender { server: opponent::target, ..BRUNT_H1 },
            K6_WEBSOCKETS,
            Contender {
                name: "k6, k6/ws",
                line: "run --quiet --no-usage-report -e PORT=PORT -e SECONDS=SECONDS k6_ws.js",
                ..K6_WEBSOCKETS
            },
        ],
        limits: &[("brunt websocket", "brunt http/1.1", 1.1), ("brunt websocket", "k6", 0.10)],
    },
    Duel {
        name: "flow",
        what: "three requests with a JSON capture, a cookie and a header slot, 1,000 users, nginx with 1 kB of JSON",
        contenders: &[
            BRUNT_FLOW,
            Contender { name: "brunt plain", line: "http://127.0.0.1:PORT/items -c 1000", ..BRUNT_FLOW },
            Contender {
                name: "k6",
                program: Some("k6"),
                line: "run --quiet --no-usage-report -e PORT=PORT -e SECONDS=SECONDS k6_flow.js",
                count: CountSource::After("requests: "),
                ..BRUNT_FLOW
            },
            Contender {
                name: "locust",
                program: Some("locust"),
                line: "-f locust_flow.py --headless --only-summary -u 1000 -r 1000 -t SECONDSs -H http://127.0.0.1:PORT",
                count: CountSource::After("Aggregated"),
                ..BRUNT_FLOW
            },
        ],
        limits: &[("brunt flow", "brunt plain", 1.4), ("brunt flow", "k6", 0.10), ("brunt flow", "locust", 0.06)],
    },
    Duel {
        name: "redis",
        what: "GET, 100 connections, one at a time and 16 in a pipeline",
        contenders: &[
            Contender::brunt("brunt redis", opponent::redis, "redis://127.0.0.1:PORT --command GET:key -c 100"),
            Contender {
                name: "redis-benchmark",
                server: opponent::redis,
                program: Some("redis-benchmark"),
                line: "-p PORT -c 100 -n 300000 -q GET key",
                count: CountSource::Fixed(300_000),
            },
            Contender::brunt(
                "brunt redis, 16",
                opponent::redis,
                "redis://127.0.0.1:PORT --command GET:key -c 100 --pipeline 16",
            ),
            Contender {
                name: "redis-benchmark, 16",
                server: opponent::redis,
                program: Some("redis-benchmark"),
                line: "-p PORT -c 100 -P 16 -n 2000000 -q GET key",
                count: CountSource::Fixed(2_000_000),
            },
        ],
        limits: &[("brunt redis", "redis-benchmark", 0.70), ("brunt redis, 16", "redis-benchmark, 16", 1.0)],
    },
    Duel {
        name: "mysql",
        what: "point selects by prepared statement, 16 connections, MariaDB",
        contenders: &[
            Contender::brunt(
                "brunt mysql",
                opponent::mariadb,
                "mysql://bench@127.0.0.1:PORT/sbtest -c 16 --prepared --sql POINT_SELECT",
            ),
            Contender {
                name: "sysbench",
                server: opponent::mariadb,
                program: Some("sysbench"),
                line: "oltp_point_select --mysql-host=127.0.0.1 --mysql-port=PORT --mysql-user=bench --mysql-db=sbtest \
                       --tables=1 --table-size=10000 --threads=16 --time=SECONDS run",
                count: CountSource::After("total:"),
            },
        ],
        limits: &[("brunt mysql", "sysbench", 1.0)],
    },
    Duel {
        name: "memcached",
        what: "a protocol that was declared: memcached's get, 100 connections",
        contenders: &[
            Contender::brunt(
                "brunt tcp",
                opponent::memcached,
                "tcp://127.0.0.1:PORT -c 100 --send GET_KEY --until END_LINE",
            ),
            BRUNT_H1,
        ],
        limits: &[("brunt tcp", "brunt http/1.1", 1.1)],
    },
];

/// The scenario that contenders run.
const SCRIPTS: [(&str, &str); 5] = [
    ("k6_websockets.js", include_str!("k6_websockets.js")),
    ("k6_ws.js", include_str!("k6_ws.js")),
    ("k6_flow.js", include_str!("k6_flow.js")),
    ("locust_flow.py", include_str!("locust_flow.py")),
    ("flow.yaml", include_str!("flow.yaml")),
];

/// Placeholders in lines for arguments with spaces or escapes.
const WORDS: [(&str, &str); 4] = [
    ("GET:key", "GET key"),
    ("POINT_SELECT", "SELECT c FROM sbtest1 WHERE id={random 1..10000}"),
    ("GET_KEY", r"get key\r\n"),
    ("END_LINE", r"END\r\n"),
];

/// The figures of one run.
#[derive(Clone, Copy)]
struct DuelRun {
    cpu_per_million: f64,
    per_second: f64,
    peak_kib: f64,
}

/// Runs a duel, prints its figures and appends to the history.
pub(super) fn run(duel: &Duel, settings: &BenchSettings) -> Result<(), String> {
    println!("\n== {}: {}", duel.name, duel.what);
    let mut rounds: BTreeMap<&str, Vec<DuelRun>> = BTreeMap::new();
    for _ in 0..settings.rounds {
        for contender in duel.contenders {
            if let Some(run) = one_run(contender, settings)? {
                rounds.entry(contender.name).or_default().push(run);
            }
        }
    }
    let mut results = serde_json::Map::new();
    for (name, runs) in &rounds {
        let (cpu, rate) = (median(runs.iter().map(|r| r.cpu_per_million)), median(runs.iter().map(|r| r.per_second)));
        let peak = median(runs.iter().map(|r| r.peak_kib));
        println!("{name:<24} {cpu:8.3} s per million {rate:>12.0}/s {peak:>9.0} KiB");
        let result = json!({ "cpu_s_per_million": round(cpu), "per_second": rate.round(), "peak_kib": peak.round() });
        results.insert((*name).into(), result);
    }
    for (name, against, limit) in duel.limits {
        let (Some(mine), Some(theirs)) = (rounds.get(name), rounds.get(against)) else { continue };
        let ratio = median(mine.iter().zip(theirs).map(|(m, t)| m.cpu_per_million / t.cpu_per_million));
        let verdict = if ratio <= *limit { "kept" } else { "MISSED" };
        println!("{name} / {against}: {ratio:.3}; limit {limit}: {verdict}");
        results.insert(format!("{name} / {against}"), json!(round(ratio)));
    }
    if settings.keep_history { history::keep(duel.name, Value::Object(results), settings, 1.0) } else { Ok(()) }
}

fn one_run(contender: &Contender, settings: &BenchSettings) -> Result<Option<DuelRun>, String> {
    let program = match contender.program {
        None => settings.brunt.clone(),
        Some(name) => places::find(name),
    };
    let (Some(program), Some(server)) = (program, (contender.server)(settings)?) else { return Ok(None) };
    let folder = places::scratch("bench")?;
    let document = folder.join("duel.json");
    for (name, text) in SCRIPTS {
        let script = folder.join(name);
        // A plan cannot get the port in any other way.
        let text = text.replace("127.0.0.1:PORT", &format!("127.0.0.1:{}", server.port));
        fs::write(&script, text).map_err(|e| format!("cannot write {}: {e}", script.display()))?;
    }
    let own = contender.program.is_none();
    let line = if own {
        format!("{} -d SECONDSs -w 1 --quiet --format json -o FILE", contender.line)
    } else {
        contender.line.into()
    };
    let (port, seconds) = (server.port.to_string(), settings.seconds.to_string());
    let fill = |word: &str| -> OsString {
        if let Some((_, text)) = WORDS.iter().find(|(name, _)| *name == word) {
            return text.into();
        }
        if word == "FILE" {
            return document.clone().into();
        }
        if SCRIPTS.iter().any(|(name, _)| *name == word) {
            return folder.join(word).into();
        }
        let (name, value) = word.split_once('=').map_or(("", word), |(name, value)| (name, value));
        let value = value.replace("PORT", &port).replace("SECONDS", &seconds);
        if name.is_empty() { value.into() } else { format!("{name}={value}").into() }
    };
    let arguments = line.split_whitespace().map(fill).collect();
    let what = Invocation { program, arguments, environment: vec![("GOMAXPROCS", "1")] };
    let output = folder.join("duel.out");
    let longest = Duration::from_secs(u64::from(settings.seconds) + 30);
    let usage = measure::run(&what, GENERATOR_CORE, &output, longest, |_| {})?;
    let count = counted(&contender.count, &document, &output).filter(|n| *n > 0.0);
    let Some(count) = count else {
        println!("{} did nothing (exit {}); see {}", contender.name, usage.exit, output.display());
        return Ok(None);
    };
    Ok(Some(DuelRun {
        cpu_per_million: usage.cpu_s() / count * 1e6,
        per_second: count / usage.wall_s,
        peak_kib: usage.peak_kib as f64,
    }))
}

fn counted(count: &CountSource, document: &Path, output: &Path) -> Option<f64> {
    let text = || fs::read_to_string(output).ok();
    match count {
        CountSource::Report => {
            let report: Value = serde_json::from_str(&fs::read_to_string(document).ok()?).ok()?;
            let _ = fs::remove_file(document);
            // The program may be an older one, whose fields have other names.
            let [now, before] = ["succeeded", "finished"].map(|name| report["requests"][name].as_f64());
            // A run that is not trusted (20), because its only core had to wait, still counts
            // correctly.
            (report["exit"] == 0 || report["exit"] == 20).then_some(now.or(before))?
        }
        CountSource::Fixed(count) => Some(*count as f64),
        CountSource::After(words) => number(text()?.split_once(words)?.1.trim_start()),
    }
}

fn number(text: &str) -> Option<f64> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse().ok()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_about_contenders() {
        for duel in &ALL {
            for (name, against, _) in duel.limits {
                for wanted in [name, against] {
                    assert!(duel.contenders.iter().any(|c| c.name == *wanted), "{}: {wanted}", duel.name);
                }
            }
        }
    }

    #[test]
    fn numbers_are_read_out_of_what_peers_print() {
        assert_eq!(number("138372 total, 1 started"), Some(138_372.0));
        assert_eq!(number("none"), None);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
    }
}
