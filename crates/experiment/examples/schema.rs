//! Prints the JSON Schema of a document: `schema report`, `record`, `comparison`, `capacity`, `lint`, or that of an
//! experiment. `cargo xtask generate` keeps them in `docs/schema/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let word = std::env::args().nth(1);
    if let Some(schema) = word.as_deref().and_then(brunt_experiment::schema_json) {
        print!("{schema}");
        return ExitCode::SUCCESS;
    }
    match word.as_deref() {
        Some("report") => print!("{}", brunt_report::schema_json()),
        Some("comparison") => print!("{}", brunt_report::formats::run_comparison::schema_json()),
        Some("capacity") => print!("{}", brunt_arithmetic::capacity_schema_json()),
        Some("lint") => print!("{}", brunt_arithmetic::lint_schema_json()),
        Some("record") => print!("{}", brunt_record::schema_json()),
        _ => {
            eprintln!(
                "schema: write `schema report`, `record`, `comparison`, `capacity`, `lint`, `find`, `compare`, `sweep`, \
                 `ladder` or `trend`"
            );
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
