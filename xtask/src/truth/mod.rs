//! `cargo xtask truth`: accuracy on real sockets, checked against the server's own log of the same run.
//!
//! Separate from the test command, because these runs depend on how quiet the machine is. The reference is always the
//! server's log, never a clock of this process. A case that fails while the machine was disturbed is run again; a
//! failure on a quiet machine counts.

mod bands;
mod check;
mod counts;
mod delays;
mod stamped_server;

use std::path::PathBuf;

use crate::arguments::Arguments;
use crate::noise::NoiseGuard;
use crate::{install, measure, pair};
use check::TruthCheck;

/// A case: one or more runs, and the checks on them.
struct TruthCase {
    name: &'static str,
    what: &'static str,
    run: fn(&TruthSettings) -> Result<Vec<TruthCheck>, String>,
}

/// The settings of every case.
struct TruthSettings {
    brunt: PathBuf,
    net: String,
}

const CASES: [TruthCase; 9] = [
    TruthCase { name: "stall", what: "a stall of one second in ten, against the law and the log", run: delays::stall },
    TruthCase { name: "queue", what: "M/M/1 against the formula and the log", run: delays::queue },
    TruthCase { name: "lognormal", what: "known delays are measured with their quantiles", run: delays::lognormal },
    TruthCase {
        name: "hang",
        what: "a server that never answers gives lower bounds and a nonzero exit code",
        run: delays::hang,
    },
    TruthCase { name: "log", what: "brunt's counts against nginx's access log", run: counts::healthy },
    TruthCase { name: "log-open", what: "the same under an open rate", run: counts::open },
    TruthCase { name: "cut", what: "the same with every tenth connection cut instead of answered", run: counts::cut },
    TruthCase { name: "restart", what: "the same with nginx restarted during the run", run: counts::restart },
    TruthCase { name: "interrupt", what: "the same with Ctrl-C in the middle", run: counts::interrupt },
];

/// Maximum number of runs of a case that fails on a disturbed machine.
const ATTEMPTS: u32 = 3;

/// `truth [--list] [--brunt PATH] [--net NETWORK] [CASE…]`, or `truth bands`.
pub fn run(mut arguments: Arguments) -> Result<(), String> {
    if arguments.switch("--list") || arguments.switch("--help") {
        println!("truth [--brunt PATH] [--net epoll|uring]… [CASE…]\n");
        CASES.iter().for_each(|case| println!("  {:<10} {}", case.name, case.what));
        println!("\ntruth bands [--brunt PATH]: the bands of latencies, under disturbances, against the server's log");
        return Ok(());
    }
    let given = arguments.values("--brunt")?.pop().map(PathBuf::from);
    let mut nets = arguments.values("--net")?;
    let names = arguments.words()?;
    if names == ["bands"] {
        return bands::run(&pair::program(given)?.ok_or("brunt could not be built")?);
    }
    if let Some(unknown) = names.iter().find(|name| CASES.iter().all(|case| case.name != *name)) {
        return Err(format!("unknown case `{unknown}`; see `truth --list`"));
    }
    if nets.is_empty() {
        nets = vec!["epoll".into(), "uring".into()];
    }
    install::from_debian(install::FOR_TESTS);
    let brunt = pair::program(given)?.ok_or("brunt could not be built")?;
    let mut guard = NoiseGuard::new();
    let (mut held, mut failed) = (0, 0);
    for net in nets {
        let setting = TruthSettings { brunt: brunt.clone(), net };
        for case in CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name)) {
            println!("\n== {} on {}: {}", case.name, setting.net, case.what);
            if holds(case, &setting, &mut guard) { held += 1 } else { failed += 1 }
        }
    }
    println!("\n{held} cases hold, {failed} do not");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} cases do not hold")) }
}

/// Runs a case until it passes or fails on a quiet machine.
fn holds(case: &TruthCase, setting: &TruthSettings, guard: &mut NoiseGuard) -> bool {
    for attempt in 1..=ATTEMPTS {
        let used = measure::cpu_of_ended_children();
        let before = guard.before();
        let outcome = (case.run)(setting);
        // Generator and server have both ended by now.
        let noise = guard.after(&before, measure::cpu_of_ended_children() - used);
        let good = match &outcome {
            Ok(checks) => {
                checks.iter().for_each(|check| println!("{check}"));
                checks.iter().all(TruthCheck::holds)
            }
            Err(why) => {
                println!("could not run: {why}");
                false
            }
        };
        match noise {
            _ if good => return true,
            Some(noise) if attempt < ATTEMPTS => println!("the machine was disturbed ({noise}); running again"),
            _ => return false,
        }
    }
    false
}
