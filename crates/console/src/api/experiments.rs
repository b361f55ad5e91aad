//! Experiments: listed, checked, started, stopped, gone on with, shown, deleted.

use axum::body::Body;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::records::{ReportQuery, attachment, document_response, known_format};
use super::{blocking, body, downloads, language, query};
use crate::App;
use crate::access::Role;
use crate::experiments::{ExperimentRequest, ShelvedExperiment, can_go_on};
use crate::library::{RunEdits, RunState};
use crate::problem::Problem;
use crate::program::LONGEST_PLAN;

/// The body of a check, and of a start.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandText {
    /// The command line, as a shell takes it; the word `brunt` may be left out.
    command: String,
    #[serde(default)]
    yes: bool,
    #[serde(default)]
    name: String,
    lang: Option<String>,
}

/// The body of a request that goes on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoOnRequest {
    lang: Option<String>,
}

/// Returns the JSON of an experiment, with the actions available now. The command line as typed may contain secrets, and
/// is not for viewers.
fn shown(app: &App, experiment: &ShelvedExperiment, role: Option<Role>) -> Value {
    let mut value = serde_json::to_value(experiment).unwrap_or_default();
    if let Some(entries) = value.as_object_mut() {
        let is_going = experiment.state == RunState::Running;
        let stops = is_going && (app.experiments.is_active(&experiment.id) || experiment.process.is_some());
        entries.insert("takes_orders".into(), stops.into());
        entries.insert("can_go_on".into(), can_go_on(experiment).into());
        for hidden in ["process", "yes"] {
            entries.remove(hidden);
        }
        if role != Some(Role::Control) {
            entries.remove("words");
        }
    }
    value
}

/// Parses the command line.
fn checked(app: &App, command: String, lang: &'static str) -> Result<crate::CheckedExperiment, Problem> {
    if command.len() > LONGEST_PLAN {
        return Err(Problem::bad(format!("a command line has at most {} KiB", LONGEST_PLAN >> 10)));
    }
    let checked = app.plans.run(move |plans| plans.check_experiment(&command, lang))?;
    checked.map_err(|said| Problem::unfit("command", said))
}

/// `GET /experiments`.
pub async fn list(State(app): State<App>, Extension(role): Extension<Option<Role>>) -> Result<Json<Value>, Problem> {
    blocking(&app, move |app| {
        let all: Vec<Value> = app.experiments.all()?.iter().map(|one| shown(app, one, role)).collect();
        Ok(Json(json!({ "experiments": all })))
    })
    .await
}

/// `GET /experiments/{id}`.
pub async fn one(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(role): Extension<Option<Role>>,
) -> Result<Json<Value>, Problem> {
    blocking(&app, move |app| Ok(Json(shown(app, &app.experiments.find(&id)?, role)))).await
}

/// `POST /experiments/check`: what would be done, or the error in the command line.
pub async fn check(
    State(app): State<App>,
    asked: Result<Json<CommandText>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let CommandText { command, lang, .. } = body(asked)?;
    blocking(&app, move |app| {
        let checked = checked(app, command, language(lang.as_deref()))?;
        Ok(Json(json!({ "kind": checked.words.first(), "outlook": checked.outlook })))
    })
    .await
}

/// `POST /experiments`.
pub async fn start(
    State(app): State<App>,
    asked: Result<Json<CommandText>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let CommandText { command, yes, name, lang } = body(asked)?;
    let marks = RunEdits { name: Some(name), ..RunEdits::default() }.validated()?;
    blocking(&app, move |app| {
        let lang = language(lang.as_deref());
        let words = checked(app, command, lang)?.words;
        let name = marks.name.unwrap_or_default();
        let id = app.experiments.start(&ExperimentRequest { words, name, yes, lang })?;
        Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
    })
    .await
}

/// `POST /experiments/{id}/stop`.
pub async fn stop(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    blocking(&app, move |app| {
        let found = app.experiments.find(&id)?;
        app.experiments.stop(&found.id).map(|()| StatusCode::ACCEPTED)
    })
    .await
}

/// `POST /experiments/{id}/go-on`.
pub async fn go_on(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Result<Json<GoOnRequest>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let lang = language(body(asked)?.lang.as_deref());
    blocking(&app, move |app| app.experiments.go_on(&id, lang).map(|()| StatusCode::ACCEPTED)).await
}

/// `DELETE /experiments/{id}`.
pub async fn delete(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    blocking(&app, move |app| {
        let found = app.experiments.find(&id)?;
        if found.state == RunState::Running {
            return Err(Problem::conflict("running", "this experiment is still going; stop it first"));
        }
        app.experiments.shelf.delete(&found.id);
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// `GET /experiments/{id}/lines`: the line of JSON that its page draws, from what is known so far.
pub async fn lines(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let reader = app.reader().await?;
    blocking(&app, move |app| {
        let _reader = reader;
        let page = app.experiments.page(&app.experiments.find(&id)?)?;
        let mut response = Response::new(Body::from(page.as_bytes().to_vec()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        Ok(response)
    })
    .await
}

/// `GET /experiments/{id}/report`.
pub async fn report(
    State(app): State<App>,
    Path(id): Path<String>,
    wanted: Result<Query<ReportQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let wanted = query(wanted)?;
    let format = known_format(&wanted)?;
    let lang = language(wanted.lang.as_deref());
    let reader = app.reader().await?;
    blocking(&app, move |app| {
        let _reader = reader;
        let record = app.experiments.shelf.record(&app.experiments.find(&id)?.id);
        let made = app.plans.run(move |plans| plans.experiment_document(&record, format.name(), lang))?;
        let made = made.map_err(|fault| Problem::unfit("record", fault))?;
        Ok(document_response(&id, format, Body::from(made), wanted.show))
    })
    .await
}

/// `GET /experiments/{id}/record`.
pub async fn record(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(role): Extension<Option<Role>>,
) -> Result<Response, Problem> {
    blocking(&app, move |app| {
        let found = app.experiments.find(&id)?;
        let place = downloads::acquire_slot(app, role)?;
        let path = app.experiments.shelf.record(&found.id);
        let file = std::fs::File::open(path).map_err(|_| Problem::no_experiment())?;
        let name = format!("{}{}", found.id, brunt_record::SERIES_ENDING);
        Ok(attachment(&name, "application/zstd", downloads::body(file, place)))
    })
    .await
}
