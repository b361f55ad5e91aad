//! `cargo xtask bench`: speed compared with other load generators.
//!
//! One server for all (nginx, one worker, on the first core), each generator alone on the second,
//! rounds interleaved so that a slow minute of the machine affects all of them. Requests are
//! counted by nginx, never by the generators. The figure is CPU time per million requests: medians
//! over the rounds, and of the ratios within a round. Open loads have an additional figure,
//! `highest`: the highest rate that a core sends accurately (docs/decisions/0015).

mod duel;
mod highest;
mod history;
mod idle;
mod lateness;
mod opponent;
mod peer;
mod scenario;
mod stall;
mod table;

use std::path::PathBuf;

use crate::arguments::Arguments;
use crate::{install, pair};

/// Options of `bench`.
struct BenchSettings {
    rounds: u32,
    seconds: u32,
    /// The program under test; without one, only the peers are measured.
    brunt: Option<PathBuf>,
    keep_history: bool,
    /// The peers to measure besides the yardstick; all if empty.
    peers: Vec<String>,
}

impl BenchSettings {
    /// Returns `true` if a contender takes part.
    fn wants(&self, name: &str) -> bool {
        self.peers.is_empty() || self.peers.iter().any(|wanted| name.starts_with(wanted.as_str()))
    }
}

/// A measurement that is not a comparison of CPU time.
struct SpecialBench {
    name: &'static str,
    what: &'static str,
    run: fn(&BenchSettings) -> Result<(), String>,
}

const SPECIAL: [SpecialBench; 4] = [
    SpecialBench {
        name: "highest",
        what: "the highest constant rate one core sustains, by the target's log",
        run: highest::run,
    },
    SpecialBench { name: "idle", what: "user memory of an idle connection, over 15,000", run: idle::run },
    SpecialBench {
        name: "lateness",
        what: "how late an open load's requests arrive, by the target's log",
        run: lateness::run,
    },
    SpecialBench { name: "stall", what: "nginx stopped for one second in the middle of ten", run: stall::run },
];

/// `bench [--list] [--only SCENARIO]… [--rounds N] [--seconds S] [--brunt PATH] [--peer NAME]… [--no-history]`.
pub fn run(mut arguments: Arguments) -> Result<(), String> {
    if arguments.switch("--help") || arguments.switch("--list") {
        return help();
    }
    let only = arguments.values("--only")?;
    let duels = || duel::ALL.iter().map(|d| d.name);
    let known =
        scenario::ALL.iter().map(|s| s.name).chain(duels()).chain(SPECIAL.iter().map(|s| s.name)).collect::<Vec<_>>();
    if let Some(unknown) = only.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("--only {unknown}: there are {}", known.join(", ")));
    }
    let asked = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    let rounds = arguments.number("--rounds", 5)?.max(1);
    let seconds = arguments.number("--seconds", 4)?.max(1);
    let given = arguments.values("--brunt")?.pop().map(PathBuf::from);
    let keep_history = !arguments.switch("--no-history");
    let peers = arguments.values("--peer")?;
    arguments.words()?;

    let missing = install::from_debian(install::FOR_BENCH);
    if missing.contains(&"nginx") {
        return Err("nginx is needed: apt-get install nginx".into());
    }
    install::from_registries();
    let settings = BenchSettings { rounds, seconds, brunt: pair::program(given)?, keep_history, peers };
    for scenario in scenario::ALL.iter().filter(|scenario| asked(scenario.name)) {
        scenario::run(scenario, &settings)?;
    }
    for duel in duel::ALL.iter().filter(|duel| asked(duel.name)) {
        duel::run(duel, &settings)?;
    }
    for special in SPECIAL.iter().filter(|special| asked(special.name)) {
        println!("\n== {}: {}", special.name, special.what);
        (special.run)(&settings)?;
    }
    Ok(())
}

fn help() -> Result<(), String> {
    println!("bench [--only SCENARIO]… [--rounds N] [--seconds S] [--brunt PATH] [--peer NAME]… [--no-history]\n");
    let duels = duel::ALL.iter().map(|d| (d.name, d.what));
    for (name, what) in
        scenario::ALL.iter().map(|s| (s.name, s.what)).chain(duels).chain(SPECIAL.iter().map(|s| (s.name, s.what)))
    {
        println!("  {name:<10} {what}");
    }
    Ok(())
}
