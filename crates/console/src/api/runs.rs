//! The runs of the library: listed, started, edited, deleted.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{blocking, body, language, query};
use crate::App;
use crate::library::{self, LibraryRun, RunEdits, RunState as Standing};
use crate::problem::Problem;
use crate::program::LONGEST_PLAN;
use crate::runs::RunRequest;

/// The body of a start request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// A plan file.
    plan: String,
    #[serde(default)]
    yes: bool,
    /// The agents that it runs on, as after `--agents`; empty for this machine.
    #[serde(default)]
    agents: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    lang: Option<String>,
}

/// Returns the JSON of a run, with the actions available now.
fn shown(app: &App, run: &LibraryRun) -> Value {
    let mut value = serde_json::to_value(run).unwrap_or_default();
    if let Some(entries) = value.as_object_mut() {
        let steered = run.state == Standing::Running && app.runs.takes_commands(&run.id);
        entries.insert("takes_orders".into(), steered.into());
    }
    value
}

/// Finds a run of the library.
pub fn find(app: &App, id: &str) -> Result<LibraryRun, Problem> {
    if !library::is_id(id) {
        return Err(Problem::no_run());
    }
    app.library.run(id)?.ok_or_else(Problem::no_run)
}

/// `GET /runs`.
pub async fn list(
    State(app): State<App>,
    asked: Result<Query<library::RunQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let asked = query(asked)?.validated()?;
    blocking(&app, move |app| {
        app.library.refresh(&|id| app.runs.is_active(id))?;
        let page = app.library.list(&asked)?;
        let runs: Vec<Value> = page.runs.iter().map(|run| shown(app, run)).collect();
        let mut value = serde_json::to_value(&page).map_err(Problem::machine)?;
        value["runs"] = runs.into();
        Ok(Json(value))
    })
    .await
}

/// `GET /runs/{id}`.
pub async fn one(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    blocking(&app, move |app| {
        let mut run = find(app, &id)?;
        if run.state == Standing::Running {
            app.library.refresh(&|id| app.runs.is_active(id))?;
            run = find(app, &id)?;
        }
        Ok(Json(shown(app, &run)))
    })
    .await
}

/// `POST /runs`.
pub async fn start(
    State(app): State<App>,
    asked: Result<Json<StartRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let StartRequest { plan, yes, agents, name, tags, lang } = body(asked)?;
    if plan.len() > LONGEST_PLAN {
        return Err(Problem::bad(format!("a plan has at most {} KiB", LONGEST_PLAN >> 10)));
    }
    let marks = RunEdits { name: Some(name), tags: Some(tags), ..RunEdits::default() }.validated()?;
    let agents = Some(agents).filter(|agents| !agents.is_empty());
    let asked = RunRequest { plan, yes, agents, lang: language(lang.as_deref()) };
    blocking(&app, move |app| {
        let id = app.runs.start(&asked)?;
        app.library.edit(&id, &marks)?;
        Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
    })
    .await
}

/// `PATCH /runs/{id}`.
pub async fn mark(
    State(app): State<App>,
    Path(id): Path<String>,
    marks: Result<Json<RunEdits>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let marks = body(marks)?.validated()?;
    blocking(&app, move |app| {
        find(app, &id)?;
        app.library.edit(&id, &marks)?;
        Ok(Json(shown(app, &find(app, &id)?)))
    })
    .await
}

/// `DELETE /runs/{id}`.
pub async fn delete(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    blocking(&app, move |app| {
        find(app, &id)?;
        if app.runs.is_active(&id) || brunt_record::is_being_written(&app.library.record(&id)) {
            return Err(Problem::conflict("running", "this run is still going; stop it first"));
        }
        app.library.delete(&id)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
