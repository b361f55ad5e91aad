//! Prints the JSON Schema of a document: `schema report`, `schema record`, `schema comparison`, `schema capacity` or
//! `schema lint`. `cargo xtask generate` keeps them in `docs/schema/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("report") => print!("{}", brunt_report::schema_json()),
        Some("comparison") => print!("{}", brunt_report::formats::run_comparison::schema_json()),
        Some("capacity") => print!("{}", brunt_arithmetic::capacity_schema_json()),
        Some("lint") => print!("{}", brunt_arithmetic::lint_schema_json()),
        Some("record") => print!("{}", brunt_record::schema_json()),
        _ => {
            eprintln!("schema: write `schema report`, `record`, `comparison`, `capacity` or `lint`");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
