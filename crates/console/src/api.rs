//! The HTTP API, version 1, and the routes of the pages. [`routes`] lists the API; `openapi.json` describes it, and a
//! test keeps both consistent.

mod about;
mod compare;
mod downloads;
mod experiments;
mod fleet;
mod live;
mod plans;
mod records;
mod runs;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::routing::{MethodRouter, delete, get, patch, post};

use crate::problem::Problem;
use crate::{App, gate, pages};

/// A method, a path, and its handler.
type Route = (&'static str, &'static str, MethodRouter<App>);

/// Maximum size of a request body that is not a record.
const LARGEST_BODY: usize = 2 << 20;

/// Returns every route of the API.
fn routes() -> Vec<Route> {
    vec![
        ("get", "/api/v1", get(about::about)),
        ("get", "/api/v1/openapi.json", get(about::description)),
        ("get", "/api/v1/runs", get(runs::list)),
        ("post", "/api/v1/runs", post(runs::start)),
        ("get", "/api/v1/runs/{id}", get(runs::one)),
        ("patch", "/api/v1/runs/{id}", patch(runs::mark)),
        ("delete", "/api/v1/runs/{id}", delete(runs::delete)),
        ("get", "/api/v1/runs/{id}/events", get(live::events)),
        ("post", "/api/v1/runs/{id}/change", post(live::change)),
        ("post", "/api/v1/runs/{id}/stop", post(live::stop)),
        ("get", "/api/v1/runs/{id}/plan", get(plans::of_run)),
        ("get", "/api/v1/runs/{id}/record", get(records::download)),
        ("get", "/api/v1/runs/{id}/lines", get(records::lines)),
        ("get", "/api/v1/runs/{id}/report", get(records::report)),
        ("post", "/api/v1/records", post(records::upload)),
        ("get", "/api/v1/experiments", get(experiments::list)),
        ("post", "/api/v1/experiments", post(experiments::start)),
        ("post", "/api/v1/experiments/check", post(experiments::check)),
        ("get", "/api/v1/experiments/{id}", get(experiments::one)),
        ("delete", "/api/v1/experiments/{id}", delete(experiments::delete)),
        ("post", "/api/v1/experiments/{id}/stop", post(experiments::stop)),
        ("post", "/api/v1/experiments/{id}/go-on", post(experiments::go_on)),
        ("get", "/api/v1/experiments/{id}/lines", get(experiments::lines)),
        ("get", "/api/v1/experiments/{id}/report", get(experiments::report)),
        ("get", "/api/v1/experiments/{id}/record", get(experiments::record)),
        ("get", "/api/v1/fleet", get(fleet::fleet)),
        ("get", "/api/v1/compare", get(compare::compare)),
        ("get", "/api/v1/plan/schema", get(plans::schema)),
        ("post", "/api/v1/plan/check", post(plans::check)),
        ("post", "/api/v1/plan/from-curl", post(plans::from_curl)),
        ("post", "/api/v1/plan/try", post(plans::try_once)),
        ("post", "/api/v1/plan/doctor", post(plans::doctor)),
    ]
}

/// Creates the router of everything that is served.
pub fn router(app: App) -> Router {
    let api = routes().into_iter().fold(Router::new(), |router, (_, path, answer)| router.route(path, answer));
    api.route("/", get(pages::index))
        .route("/login", post(pages::login))
        .route("/logout", post(pages::logout))
        .route("/{*path}", get(pages::asset))
        .route("/api/{*rest}", axum::routing::any(not_found))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(axum::middleware::from_fn_with_state(app.clone(), gate::pass))
        .with_state(app)
}

async fn not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_route", "there is no such API path; see GET /api/v1/openapi.json")
}

/// Runs blocking work on a thread of the blocking pool.
async fn blocking<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let app = app.clone();
    let outcome = tokio::task::spawn_blocking(move || work(&app)).await;
    outcome.unwrap_or_else(|_| Err(Problem::machine("the console failed; this is a bug in brunt")))
}

/// Returns the body of a request, or an error message.
fn body<T>(taken: Result<axum::Json<T>, JsonRejection>) -> Result<T, Problem> {
    taken.map(|axum::Json(body)| body).map_err(|refused| {
        let status = refused.status();
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "bad_request" };
        Problem::new(status, code, refused.body_text())
    })
}

/// Returns the query of a request, or an error message.
fn query<T>(taken: Result<axum::extract::Query<T>, QueryRejection>) -> Result<T, Problem> {
    taken.map(|axum::extract::Query(query)| query).map_err(|refused| Problem::bad(refused.body_text()))
}

/// Returns the language of messages.
fn language(asked: Option<&str>) -> &'static str {
    if asked.is_some_and(|lang| lang.starts_with("zh")) { "zh" } else { "en" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_description_has_every_route_and_no_other() {
        let described: Value = serde_json::from_str(about::DESCRIPTION).expect("JSON");
        let mut there: Vec<(String, String)> = Vec::new();
        for (path, methods) in described["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                if method == "parameters" {
                    continue;
                }
                assert!(operation["summary"].is_string() && operation["responses"].is_object(), "{method} {path}");
                there.push((method.clone(), path.clone()));
            }
        }
        let mut ours: Vec<(String, String)> =
            routes().iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
        there.sort();
        ours.sort();
        assert_eq!(there, ours);
    }

    #[test]
    fn every_reference_of_the_description_leads_somewhere() {
        fn walk(value: &Value, whole: &Value) {
            match value {
                Value::Object(entries) => {
                    if let Some(Value::String(to)) = entries.get("$ref") {
                        let found = whole.pointer(to.trim_start_matches('#'));
                        assert!(found.is_some(), "{to}");
                    }
                    entries.values().for_each(|value| walk(value, whole));
                }
                Value::Array(items) => items.iter().for_each(|value| walk(value, whole)),
                _ => {}
            }
        }
        let described: Value = serde_json::from_str(about::DESCRIPTION).expect("JSON");
        walk(&described, &described);
    }
}
