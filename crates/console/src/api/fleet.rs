//! The fleet: who is there, what each agent may do, and what it does now.

use std::collections::HashMap;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{blocking, language, query};
use crate::App;
use crate::fleet::{FleetView, shown};
use crate::problem::Problem;

/// The query of a look.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FleetQuery {
    lang: Option<String>,
}

/// `GET /fleet`.
pub async fn fleet(
    State(app): State<App>,
    asked: Result<Query<FleetQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let lang = language(query(asked)?.lang.as_deref());
    let view = app.fleet.look().await;
    blocking(&app, move |app| {
        let mut value = match &view {
            FleetView::Seen(line) => shown(line, &agents_of_runs(app), lang),
            FleetView::Awaited | FleetView::Unseen(_) => shown(&Default::default(), &HashMap::new(), lang),
        };
        value["exists"] = app.fleet.exists().into();
        value["place"] = app.fleet.place().into();
        value["trouble"] = match &view {
            FleetView::Unseen(why) => json!(why.of(lang)),
            FleetView::Awaited | FleetView::Seen(_) => Value::Null,
        };
        Ok(Json(value))
    })
    .await
}

/// Returns the runs that were started here and are in progress, by the names of their agents: each takes one run at a time.
fn agents_of_runs(app: &App) -> HashMap<String, String> {
    let runs = app.runs.ids().into_iter();
    runs.flat_map(|id| app.runs.agents_of(&id).into_iter().map(move |agent| (agent, id.clone()))).collect()
}
