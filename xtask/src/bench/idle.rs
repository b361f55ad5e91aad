//! User memory of an idle connection: a run of 15,000 thinking users against one of 100.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;

use super::measure::{self, Invocation};
use super::server::{GENERATOR_CORE, Server};
use super::{Settings, history};
use crate::places;

const FEW: u32 = 100;
const MANY: u32 = 15_000;
/// Bytes an idle connection may cost.
const LIMIT: f64 = 600.0;

pub(super) fn run(settings: &Settings) -> Result<(), String> {
    let Some(brunt) = &settings.brunt else {
        println!("left out: brunt is not here");
        return Ok(());
    };
    let mut results = serde_json::Map::new();
    for net in ["epoll", "uring"] {
        let memory = |users: u32| -> Result<u64, String> {
            let server = Server::start()?;
            // Everybody asks once and then thinks past the end of the run; the last look is at idle connections only.
            let line = format!("-c {users} --think 600s -d 8s -w 1 --net {net} --drain 0s --quiet --format json -o");
            let mut arguments: Vec<OsString> = vec![server.url().into()];
            arguments.extend(line.split_whitespace().map(OsString::from));
            arguments.push(places::scratch("bench")?.join("idle.json").into());
            let what = Invocation { program: brunt.clone(), arguments, environment: vec![] };
            let output = places::scratch("bench")?.join("idle.out");
            // Looked at in the middle: at the end, the report is being made.
            let mut looked = 0;
            measure::run(&what, GENERATOR_CORE, &output, Duration::from_secs(60), |now| {
                if now.since < Duration::from_secs(7) {
                    looked = now.anonymous_kib;
                }
            })?;
            let open = server.counts()?.accepted;
            if open < u64::from(users) {
                return Err(format!("only {open} of {users} connections were opened; see {}", output.display()));
            }
            Ok(looked)
        };
        let (few, many) = (memory(FEW)?, memory(MANY)?);
        let each = (many as f64 - few as f64) * 1024.0 / f64::from(MANY - FEW);
        let verdict = if each <= LIMIT { "kept" } else { "MISSED" };
        println!(
            "brunt {net:<6} {each:7.0} bytes a connection ({few} KiB at {FEW}, {many} KiB at {MANY}); limit {LIMIT}: {verdict}"
        );
        results.insert(net.into(), json!({ "bytes_per_connection": each.round(), "kib_few": few, "kib_many": many }));
    }
    if settings.keep_history { history::keep("idle", results.into(), settings, 1.0) } else { Ok(()) }
}
