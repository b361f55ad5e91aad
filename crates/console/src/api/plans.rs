//! Requests about plans: check, creation from curl commands, a single try, and the doctor. brunt
//! itself does the work.

use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::runs::find;
use super::{blocking, body, language};
use crate::App;
use crate::access::Role;
use crate::problem::Problem;
use crate::program::{LONGEST_PLAN, missing_output, normalize_error};
use crate::runs::{new_id, private_file};

/// A plan as text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    plan: String,
    /// The agents that it is checked for, as after `--agents`.
    #[serde(default)]
    agents: String,
    lang: Option<String>,
}

/// The body of a request with curl commands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurlText {
    curl: String,
    /// Set if each user sends the requests one after the other.
    #[serde(default)]
    as_flow: bool,
    lang: Option<String>,
}

/// A temporary file with a text for brunt to read.
struct TemporaryPlan(PathBuf);

impl TemporaryPlan {
    fn new(app: &App, text: &str, ending: &str) -> Result<TemporaryPlan, Problem> {
        if text.len() > LONGEST_PLAN {
            return Err(Problem::bad(format!("a plan has at most {} KiB", LONGEST_PLAN >> 10)));
        }
        let path = app.library.plan(&format!("draft-{}", new_id()?)).with_extension(ending);
        let mut file = private_file(&path)?;
        let written = TemporaryPlan(path);
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        Ok(written)
    }

    fn path(&self) -> &FilePath {
        &self.0
    }

    /// Replaces the path of the file in a message from brunt.
    fn without_path(&self, text: &str) -> String {
        text.replace(&self.0.display().to_string(), "plan")
    }
}

impl Drop for TemporaryPlan {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// `POST /plan/check`: the plan, or the error in it and its position.
pub async fn check(
    State(app): State<App>,
    asked: Result<Json<PlanText>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let PlanText { plan, agents, lang } = body(asked)?;
    blocking(&app, move |app| {
        let agents = Some(agents).filter(|agents| !agents.is_empty());
        let file = TemporaryPlan::new(app, &plan, "yaml")?;
        let path = file.path().to_owned();
        let mut said = app.plans.run(move |plans| plans.check(&path, agents.as_deref(), language(lang.as_deref())))?;
        normalize_error(&mut said, file.path());
        Ok(Json(said))
    })
    .await
}

/// `POST /plan/from-curl`: a plan that sends the same requests as the commands.
pub async fn from_curl(
    State(app): State<App>,
    asked: Result<Json<CurlText>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let CurlText { curl, as_flow, lang } = body(asked)?;
    blocking(&app, move |app| {
        let file = TemporaryPlan::new(app, &curl, "curl")?;
        let path = file.path().to_owned();
        let made = app.plans.run(move |plans| plans.plan_of_curl(&path, as_flow, language(lang.as_deref())))?;
        let without_path = |said: &str| file.without_path(said).replace("plan line", "line").replace("plan 第", "第");
        let unfit = |said: String| Problem::unfit("curl", without_path(said.trim()));
        made.map(|plan| Json(json!({ "plan": plan }))).map_err(unfit)
    })
    .await
}

/// `POST /plan/try`: one exchange, or one pass through the flow, in full.
pub async fn try_once(
    State(app): State<App>,
    asked: Result<Json<PlanText>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    command_output(app, asked, &["run", "--debug"]).await
}

/// `POST /plan/doctor`: the limits that the run would reach.
pub async fn doctor(
    State(app): State<App>,
    asked: Result<Json<PlanText>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    command_output(app, asked, &["doctor"]).await
}

/// Returns the output of a command for a plan.
async fn command_output(
    app: App,
    asked: Result<Json<PlanText>, JsonRejection>,
    words: &'static [&'static str],
) -> Result<Json<Value>, Problem> {
    let PlanText { plan, lang, .. } = body(asked)?;
    let place = app.reader().await?;
    blocking(&app, move |app| {
        let _place = place;
        let file = TemporaryPlan::new(app, &plan, "yaml")?;
        let mut command = app.program.command();
        command.args(words).args(["--lang", language(lang.as_deref())]).arg(file.path());
        let answer = app.program.run(&mut command, Duration::from_secs(60))?;
        if answer.timed_out || answer.code.is_none() {
            return Err(missing_output(&answer));
        }
        let (out, err) = (file.without_path(&answer.out), file.without_path(&answer.err));
        Ok(Json(json!({ "exit": answer.code, "said": out, "complaint": err.trim() })))
    })
    .await
}

/// `GET /plan/schema`: the JSON Schema of plan files.
pub async fn schema(State(app): State<App>) -> Result<impl IntoResponse, Problem> {
    blocking(&app, move |app| {
        let schema = app.plans.run(|plans| plans.schema())?;
        Ok(([(CONTENT_TYPE, "application/schema+json")], schema))
    })
    .await
}

/// `GET /runs/{id}/plan`: the plan file with which the console started a run, as typed, including
/// the passwords that the record omits.
pub async fn of_run(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(role): Extension<Option<Role>>,
) -> Result<impl IntoResponse, Problem> {
    if role != Some(Role::Control) {
        let sentence =
            "this token is view only, and a plan can contain passwords; the report shows the plan without them";
        return Err(Problem::new(StatusCode::FORBIDDEN, "look_only", sentence));
    }
    blocking(&app, move |app| {
        find(app, &id)?;
        let text = std::fs::read_to_string(app.library.plan(&id));
        let none = |_| Problem::new(StatusCode::NOT_FOUND, "no_plan", "this run was not started from the console");
        Ok(([(CONTENT_TYPE, "application/yaml")], text.map_err(none)?))
    })
    .await
}
