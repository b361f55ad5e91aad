//! Runs beside each other: the first is what the others are held against.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use record::{RecordFile, Started};
use report::contrast::{Contrast, Side, contrast};
use serde::Deserialize;
use serde_json::{Value, json};

use super::runs::find;
use super::{blocking, query};
use crate::App;
use crate::figures::{self, Bounded};
use crate::problem::Problem;

/// So many at once.
const MOST: usize = 6;

/// Which.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Ids, with commas between.
    runs: String,
}

/// `GET /compare`.
pub async fn compare(
    State(app): State<App>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let ids: Vec<String> = query(which)?.runs.split(',').map(|id| id.trim().to_owned()).collect();
    if !(2..=MOST).contains(&ids.len()) {
        return Err(Problem::bad(format!("two to {MOST} runs can be compared; write runs=ID,ID")));
    }
    if let Some((_, twice)) = ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)) {
        let shown: String = twice.chars().take(64).collect();
        return Err(Problem::bad(format!("runs: {shown} stands there twice; a run is compared with others")));
    }
    let place = app.reader().await?;
    blocking(&app, move |app| {
        let _place = place;
        let mut read = Vec::new();
        for id in &ids {
            let run = find(app, id)?;
            let past = Bounded(RecordFile(app.library.record(id)));
            let unreadable = |fault: String| Problem::unfit("record", format!("{id}: {fault}"));
            let summary = figures::summary(&app.library.record(id)).map_err(unreadable)?;
            let side = Side::of(&summary, &past).map_err(|fault| unreadable(fault.to_string()))?;
            read.push((run, summary, side));
        }
        let Some(((_, base, first), others)) = read.split_first() else { return Err(Problem::no_run()) };
        let compared: Vec<Value> = others
            .iter()
            .map(|(run, summary, side)| {
                let figures: Vec<Value> = contrast(first, side).iter().map(shown).collect();
                let differs = differing(base.started.as_deref(), summary.started.as_deref());
                json!({ "id": run.id, "figures": figures, "differs": differs })
            })
            .collect();
        let runs: Vec<&crate::library::Run> = read.iter().map(|(run, ..)| run).collect();
        Ok(Json(json!({ "runs": runs, "base": ids[0], "compared": compared })))
    })
    .await
}

fn shown(one: &Contrast) -> Value {
    json!({
        "name": one.measure.name,
        "more_is_better": one.measure.more_is_better,
        "matters": one.measure.matters,
        "is_share": one.measure.is_share,
        "values": one.values,
        "change": one.change,
        "interval": one.interval,
        "verdict": one.verdict.name(),
    })
}

/// What was not the same of two runs beside their figures: whoever compares them should know.
fn differing(first: Option<&Started>, second: Option<&Started>) -> Vec<&'static str> {
    let (Some(a), Some(b)) = (first, second) else { return Vec::new() };
    let of = |started: &Started| serde_json::to_value(&started.plan).unwrap_or_default();
    let (plan_a, plan_b) = (of(a), of(b));
    let parts = [
        "urls",
        "options",
        "load",
        "flow",
        "duration",
        "requests",
        "warmup",
        "timeout",
        "workers",
        "tls",
        "max_connections",
    ];
    let of_plan = parts.into_iter().filter(|part| plan_a.get(part) != plan_b.get(part));
    let machine = |started: &Started| started.host().map(|host| (host.name.clone(), host.cores.to_bits()));
    let versions = (a.brunt != b.brunt).then_some("brunt");
    of_plan.chain((machine(a) != machine(b)).then_some("machine")).chain(versions).collect()
}
