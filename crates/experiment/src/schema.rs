//! The JSON Schemas of the documents.

use crate::{compare, find, ladder, sweep, trend};

/// Returns the JSON Schema of `brunt COMMAND --format json`; `None` for what is no experiment.
pub fn schema_json(command: &str) -> Option<String> {
    let schema = match command {
        "find" => schemars::schema_for!(find::FindReport<'static>),
        "compare" => schemars::schema_for!(compare::CompareReport<'static>),
        "sweep" => schemars::schema_for!(sweep::SweepReport<'static>),
        "ladder" => schemars::schema_for!(ladder::LadderReport<'static>),
        "trend" => schemars::schema_for!(trend::TrendReport),
        _ => return None,
    };
    Some(format!("{}\n", serde_json::to_string_pretty(&schema).expect("a schema is JSON")))
}
