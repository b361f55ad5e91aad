//! The development tasks of brunt, as `cargo xtask COMMAND`.
//!
//! Each command has its own file or folder. The crate depends on none of brunt's crates, so it runs even while one of
//! them does not compile.

mod arguments;
mod bench;
mod compiler;
mod floors;
mod generate;
mod history;
mod install;
mod kept_out;
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

/// The result of a task: nothing, or an error message.
type Outcome = Result<(), String>;

/// A task.
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
    Chore { name: "bench", what: "speed compared with other load generators; see `bench --help`", run: bench::run },
    Chore { name: "truth", what: "accuracy on real sockets, checked against the server's own log", run: truth::run },
    Chore { name: "lab", what: "real bottlenecks, and whether brunt finds them", run: lab::run },
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
        eprintln!("xtask: unknown command `{name}`; use test, bench, truth, lab or generate");
        return ExitCode::from(64);
    };
    match (chore.run)(arguments::Arguments::new(words)) {
        Ok(()) => ExitCode::SUCCESS,
        // A task that has printed everything already, and whose last line must stay last, fails with an empty message.
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
