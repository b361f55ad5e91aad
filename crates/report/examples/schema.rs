//! Prints the JSON Schema of a document: `schema report` or `schema record`. `cargo xtask generate` keeps both in
//! `docs/schema/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("report") => print!("{}", report::schema_json()),
        Some("record") => {
            let schema = schemars::schema_for!(record::RunEvent);
            println!("{}", serde_json::to_string_pretty(&schema).expect("a schema is plain JSON"));
        }
        _ => {
            eprintln!("schema: write `schema report` or `schema record`");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
