//! Prints the JSON Schema of a document: `schema report`, `schema record` or `schema comparison`. `cargo xtask
//! generate` keeps them in `docs/schema/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("report") => print!("{}", brunt_report::schema_json()),
        Some("comparison") => print!("{}", brunt_report::formats::run_comparison::schema_json()),
        Some("record") => print!("{}", brunt_record::schema_json()),
        _ => {
            eprintln!("schema: write `schema report`, `schema record` or `schema comparison`");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
