//! Memory of an idle connection in user space, from a run of 15,000 thinking users and one of 100.

use std::time::Duration;

use serde_json::json;

use super::{BenchSettings, history};
use crate::nginx::{Nginx, NginxConfig};
use crate::pair;

const FEW: u32 = 100;
const MANY: u32 = 15_000;
/// Maximum memory of an idle connection in bytes.
const LIMIT: f64 = 600.0;

pub(super) fn run(settings: &BenchSettings) -> Result<(), String> {
    let Some(brunt) = &settings.brunt else {
        println!("skipped: brunt is not available");
        return Ok(());
    };
    let mut results = serde_json::Map::new();
    for net in ["epoll", "uring"] {
        let memory = |users: u32| -> Result<u64, String> {
            let server = Nginx::start(&NginxConfig::plain()?)?;
            // Each user sends one request and then thinks past the end of the run. Memory is sampled before the end,
            // when the report is made.
            let options = format!("-c {users} --together --think 600s -d 12s --drain 0s --net {net}");
            let mut looked = 0;
            let (_, usage) = pair::generate(brunt, "idle", &server.url(), &options, |now| {
                if now.since < Duration::from_secs(11) {
                    looked = now.anonymous_kib;
                }
            })?;
            let open = server.counts()?.accepted;
            if open < u64::from(users) {
                return Err(format!("only {open} of {users} connections were opened; see {}", usage.output.display()));
            }
            Ok(looked)
        };
        let (few, many) = (memory(FEW)?, memory(MANY)?);
        let each = (many as f64 - few as f64) * 1024.0 / f64::from(MANY - FEW);
        let verdict = if each <= LIMIT { "kept" } else { "MISSED" };
        println!(
            "brunt {net:<6} {each:7.0} bytes per connection ({few} KiB at {FEW}, {many} KiB at {MANY}); limit {LIMIT}: {verdict}"
        );
        results.insert(net.into(), json!({ "bytes_per_connection": each.round(), "kib_few": few, "kib_many": many }));
    }
    if settings.keep_history { history::keep("idle", results.into(), settings, 1.0) } else { Ok(()) }
}
