//! What this console is, and what its API has.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde_json::{Value, json};

use crate::App;
use crate::access::Role;

/// The description of the API.
pub const DESCRIPTION: &str = include_str!("../openapi.json");

/// Who asks, and whom.
pub async fn about(State(app): State<App>, Extension(role): Extension<Option<Role>>) -> Json<Value> {
    let formats: Vec<&str> = report::FORMATS.iter().map(|format| format.name()).collect();
    Json(json!({
        "brunt": env!("CARGO_PKG_VERSION"),
        "role": role.map(Role::name),
        "formats": formats,
        "look_link": role.filter(|role| *role == Role::Steer).map(|_| app.access.token(Role::Look)),
    }))
}

/// `openapi.json`.
pub async fn description() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DESCRIPTION)
}
