//! An active run: its events, and commands to it.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use brunt_plan::Change;
use futures_util::stream::{self, Stream, StreamExt as _};
use serde::Deserialize;

use super::runs::find;
use super::{blocking, body, query};
use crate::App;
use crate::feed::{FeedMessage, Watcher};
use crate::problem::Problem;
use crate::run_control::RunCommand;

/// Interval of `alive` messages while there is nothing to tell, so that a page notices a broken connection.
const ALIVE: Duration = Duration::from_secs(1);

/// The query of a watcher.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventQuery {
    /// Number of the last message received, for clients that cannot send `Last-Event-ID`.
    after: u64,
}

/// `GET /runs/{id}/events`: server-sent events from the beginning of the run, or after the last one received.
pub async fn events(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Result<Query<EventQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let after = query(asked)?.after;
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(after);
    let watcher = blocking(&app, move |app| {
        find(app, &id)?;
        let (record, runs) = (app.library.record(&id), std::sync::Arc::clone(&app.runs));
        let (written, name) = (record.clone(), id.clone());
        let goes = move || runs.is_active(&name) || brunt_record::is_being_written(&written);
        let too_many = || {
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_watchers",
                "too many clients are already \
                watching this run",
            )
        };
        app.feeds.watch(&id, record, seen, goes).ok_or_else(too_many)
    })
    .await?;
    let alive = KeepAlive::new().interval(ALIVE).event(Event::default().event("alive").data("{}"));
    Ok(Sse::new(event_stream(watcher)).keep_alive(alive))
}

/// Returns the stream of a watcher's messages, to the end.
fn event_stream(watcher: Watcher) -> impl Stream<Item = Result<Event, Infallible>> {
    let some = |mut watcher: Watcher| async move {
        let messages = watcher.next().await;
        (!messages.is_empty()).then_some((messages, watcher))
    };
    let event = |message: FeedMessage| {
        Ok(Event::default().id(message.number.to_string()).event(message.name).data(&*message.data))
    };
    stream::unfold(watcher, some).flat_map(move |messages| stream::iter(messages.into_iter().map(event)))
}

/// A single change of load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum LoadChangeRequest {
    /// Requests per second.
    Rate(f64),
    /// Number of users.
    Users(u32),
    /// Change of the load in percent.
    ByPercent(f64),
    /// Pauses arrivals until the load is resumed.
    Pause,
    /// Resumes the load.
    Resume,
}

impl LoadChangeRequest {
    fn order(self) -> Result<RunCommand, Problem> {
        Ok(match self {
            LoadChangeRequest::Rate(rate) => RunCommand::Change(Change::Rate(rate)),
            LoadChangeRequest::Users(users) => RunCommand::Change(Change::Users(users)),
            LoadChangeRequest::Pause => RunCommand::Change(Change::Pause),
            LoadChangeRequest::Resume => RunCommand::Change(Change::Resume),
            LoadChangeRequest::ByPercent(percent) if (-90.0..=900.0).contains(&percent) => {
                RunCommand::Scale(1.0 + percent / 100.0)
            }
            LoadChangeRequest::ByPercent(percent) => {
                return Err(Problem::unfit("change", format!("{percent}% is not a valid change; use -90 to 900")));
            }
        })
    }
}

/// The query of a change.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeQuery {
    /// Set if the target may be put under any load, although its address is public.
    yes: bool,
}

/// `POST /runs/{id}/change`.
pub async fn change(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Result<Query<ChangeQuery>, QueryRejection>,
    wanted: Result<Json<LoadChangeRequest>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let (yes, order) = (query(asked)?.yes, body(wanted)?.order()?);
    blocking(&app, move |app| {
        find(app, &id)?;
        let plan = app.runs.plan_of(&id)?;
        let judged = match order {
            RunCommand::Change(change) => change.check(&plan),
            // Scenarios have no single load that could be changed by a factor or to a number.
            RunCommand::Scale(_) if !plan.scenarios.is_empty() => Change::Rate(1.0).check(&plan),
            _ => Change::Pause.check(&plan),
        };
        judged.map_err(|sentence| Problem::unfit("change", sentence))?;
        if yes {
            app.runs.confirm(&id)?;
        } else if let Some(address) = app.runs.unconfirmed(&id, &plan, order) {
            let sentence =
                format!("{address} is a public address, and this is real load; add yes=true if you may load-test it");
            return Err(Problem::conflict("public_address", sentence));
        }
        app.runs.send(&id, order)?;
        Ok(StatusCode::ACCEPTED)
    })
    .await
}

/// The body of a stop request.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StopRequest {
    /// Set if requests in flight may still finish.
    drain: bool,
}

/// `POST /runs/{id}/stop`.
pub async fn stop(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Result<Json<StopRequest>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let order = if body(asked)?.drain { RunCommand::Drain } else { RunCommand::Stop };
    blocking(&app, move |app| {
        find(app, &id)?;
        app.runs.send(&id, order)?;
        Ok(StatusCode::ACCEPTED)
    })
    .await
}
