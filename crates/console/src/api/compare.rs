//! Comparison of runs: the first is the baseline of the others.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use brunt_record::RecordFile;
use brunt_report::RecordedSeconds;
use brunt_report::comparison::{ComparedRun, compare_runs};
use serde::Deserialize;
use serde_json::{Value, json};

use super::runs::find;
use super::{blocking, query};
use crate::App;
use crate::figures::{self, BoundedRecord};
use crate::problem::Problem;

/// Maximum number of runs.
const MOST: usize = 6;

/// The query of a comparison.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareQuery {
    /// Run ids, separated by commas.
    runs: String,
}

/// `GET /compare`.
pub async fn compare(
    State(app): State<App>,
    which: Result<Query<CompareQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let ids: Vec<String> = query(which)?.runs.split(',').map(|id| id.trim().to_owned()).collect();
    if !(2..=MOST).contains(&ids.len()) {
        return Err(Problem::bad(format!("two to {MOST} runs can be compared; use runs=ID,ID")));
    }
    if let Some((_, twice)) = ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)) {
        let shown: String = twice.chars().take(64).collect();
        return Err(Problem::bad(format!("runs: {shown} is given twice; list each run once")));
    }
    let place = app.reader().await?;
    blocking(&app, move |app| {
        let _place = place;
        let mut read = Vec::new();
        for id in &ids {
            let run = find(app, id)?;
            let past = BoundedRecord(RecordFile(app.library.record(id)));
            let unreadable = |fault: String| Problem::unfit("record", format!("{id}: {fault}"));
            let summary = figures::summary(&app.library.record(id)).map_err(unreadable)?;
            read.push((run, summary, past));
        }
        let seconds: Vec<RecordedSeconds<'_>> = read.iter().map(|(.., past)| RecordedSeconds(Some(past))).collect();
        let sides = read.iter().zip(&seconds);
        let sides: Vec<ComparedRun<'_>> =
            sides.map(|((run, summary, _), seconds)| ComparedRun { name: &run.name, summary, seconds }).collect();
        let against = compare_runs(&sides).map_err(|error| Problem::unfit("record", error.to_string()))?;
        let told = |((run, ..), against): (&(crate::library::LibraryRun, _, _), _)| with_id(&run.id, against);
        let compared: Vec<Value> =
            read.iter().skip(1).zip(against.iter().map(|told| json!(told.document()))).map(told).collect();
        let runs: Vec<&crate::library::LibraryRun> = read.iter().map(|(run, ..)| run).collect();
        Ok(Json(json!({ "runs": runs, "base": ids[0], "compared": compared })))
    })
    .await
}

/// Adds the id of a run to its JSON.
fn with_id(id: &str, mut told: Value) -> Value {
    if let Value::Object(entries) = &mut told {
        entries.insert("id".into(), id.into());
    }
    told
}
