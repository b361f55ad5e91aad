//! The chores of brunt, as `cargo xtask COMMAND`.
//!
//! A table of contents: each command lives in a file or folder of its own. The crate uses none of brunt's crates, so that
//! it runs while one of them does not compile.

mod arguments;
mod bench;
mod compiler;
mod floors;
mod generate;
mod history;
mod install;
mod lab;
mod links;
mod map;
mod measure;
mod names;
mod nginx;
mod noise;
mod pair;
mod places;
mod reference;
mod shell;
mod test;
mod tidy;
mod truth;

use std::process::ExitCode;

/// What a chore gives back: nothing, or one sentence that says what went wrong.
type Outcome = Result<(), String>;

/// One chore.
struct Chore {
    name: &'static str,
    what: &'static str,
    run: fn(arguments::Arguments) -> Outcome,
}

const CHORES: [Chore; 5] = [
    Chore {
        name: "test",
        what: "check everything; `test --list` names the steps, `test STEP…` runs some",
        run: test::run,
    },
    Chore { name: "bench", what: "speed beside the peers; `bench --help` tells the options", run: bench::run },
    Chore { name: "truth", what: "accuracy on real sockets, judged by the target's own log", run: truth::run },
    Chore { name: "lab", what: "causes made real, and what brunt says limited the run", run: lab::run },
    Chore { name: "generate", what: "write the generated files; `--check` only compares", run: generate::run },
];

fn main() -> ExitCode {
    if let Some(compiled) = compiler::when_asked() {
        return compiled;
    }
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        print_chores();
        return ExitCode::from(64);
    };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        print_chores();
        return ExitCode::SUCCESS;
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("xtask: no chore is called `{name}`; there are test, bench, truth, lab and generate.");
        return ExitCode::from(64);
    };
    match (chore.run)(arguments::Arguments::new(words)) {
        Ok(()) => ExitCode::SUCCESS,
        // A chore that has already told everything, and wants its last line to stay the last, complains with nothing.
        Err(complaint) if complaint.is_empty() => ExitCode::FAILURE,
        Err(complaint) => {
            eprintln!("xtask {name}: {complaint}");
            ExitCode::FAILURE
        }
    }
}

fn print_chores() {
    println!("cargo xtask COMMAND\n");
    for chore in &CHORES {
        println!("  {:<10} {}", chore.name, chore.what);
    }
}
