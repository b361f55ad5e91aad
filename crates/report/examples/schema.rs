//! Prints the JSON Schema of a document: `schema report`, `schema record` or `schema comparison`. `cargo xtask generate` keeps them in
//! `docs/schema/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("report") => print!("{}", report::schema_json()),
        Some("comparison") => print!("{}", report::formats::compared::schema_json()),
        Some("record") => {
            let schema = schemars::schema_for!(record::RunEvent);
            println!("{}", serde_json::to_string_pretty(&schema).expect("a schema is plain JSON"));
        }
        _ => {
            eprintln!("schema: write `schema report`, `schema record` or `schema comparison`");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
