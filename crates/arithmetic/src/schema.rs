//! The JSON Schemas of the documents.

use crate::capacity::CapacityDocument;
use crate::lint::LintDocument;

/// Returns the JSON Schema of `brunt capacity --format json`.
pub fn capacity_schema_json() -> String {
    pretty(&schemars::schema_for!(CapacityDocument))
}

/// Returns the JSON Schema of `brunt lint --format json`.
pub fn lint_schema_json() -> String {
    pretty(&schemars::schema_for!(LintDocument))
}

fn pretty(schema: &schemars::Schema) -> String {
    format!("{}\n", serde_json::to_string_pretty(schema).expect("a schema is JSON"))
}
