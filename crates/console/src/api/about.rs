//! Version and description of the API.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde_json::{Value, json};

use crate::App;
use crate::access::Role;

/// The OpenAPI description.
pub const DESCRIPTION: &str = include_str!("../openapi.json");

/// `GET /`: version, role, report formats, and whether there is a fleet.
pub async fn about(State(app): State<App>, Extension(role): Extension<Option<Role>>) -> Json<Value> {
    let formats: Vec<&str> = brunt_report::FORMATS.iter().map(|format| format.name()).collect();
    Json(json!({
        "brunt": env!("CARGO_PKG_VERSION"),
        "role": role.map(Role::name),
        "formats": formats,
        "fleet": app.fleet.exists(),
        "look_link": role.filter(|role| *role == Role::Control).map(|_| app.access.token(Role::View)),
    }))
}

/// `GET /openapi.json`.
pub async fn description() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DESCRIPTION)
}
