//! Records: downloaded, uploaded, and shown as reports.

use std::io::{self, Read as _, Write};
use std::path::PathBuf;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use brunt_record::{RecordFile, SeriesReader};
use brunt_report::comparison::ComparedRun;
use brunt_report::formats::{Style, html};
use brunt_report::{Lang, RecordedSeconds, ReportFormat, Summary};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::runs::find;
use super::{blocking, downloads, language, query};
use crate::App;
use crate::access::Role;
use crate::figures;
use crate::library::{RunEdits, RunSource};
use crate::problem::Problem;
use crate::runs::{new_id, private_file};

/// Maximum size of an uploaded record: a day of a run with many names takes a tenth of it.
const LARGEST: u64 = 512 << 20;

/// Content security policy of reports: their scripts run in a sandbox with an opaque origin and no
/// network access.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; \
                             style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'none'";

/// Creates a response that is saved as a file.
pub fn attachment(name: &str, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// `GET /runs/{id}/record`.
pub async fn download(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(role): Extension<Option<Role>>,
) -> Result<Response, Problem> {
    blocking(&app, move |app| {
        find(app, &id)?;
        let place = downloads::acquire_slot(app, role)?;
        let file = std::fs::File::open(app.library.record(&id)).map_err(|_| Problem::no_run())?;
        Ok(attachment(&format!("{id}.brunt.zst"), "application/zstd", downloads::body(file, place)))
    })
    .await
}

/// The query of a report.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportQuery {
    #[serde(default)]
    pub format: String,
    pub lang: Option<String>,
    /// Set if the report is shown in the browser instead of saved as a file.
    #[serde(default)]
    pub show: bool,
}

/// Returns the media type of a format.
fn media_type(format: &dyn ReportFormat) -> &'static str {
    match format.name() {
        "json" => "application/json",
        "csv" => "text/csv; charset=utf-8",
        "markdown" => "text/markdown; charset=utf-8",
        "junit" => "application/xml",
        "html" => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

/// `GET /runs/{id}/report`.
pub async fn report(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(role): Extension<Option<Role>>,
    wanted: Result<Query<ReportQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let wanted = query(wanted)?;
    let format = known_format(&wanted)?;
    let lang = if language(wanted.lang.as_deref()) == "zh" { Lang::Zh } else { Lang::En };
    let style = Style { lang, ..Style::default() };
    let body =
        report_body(app, id.clone(), role, move |_, summary, seconds, out| format.write(summary, seconds, style, out));
    Ok(document_response(&id, format, body.await?, wanted.show))
}

/// Returns the format that a query asks for; JSON by default.
pub fn known_format(wanted: &ReportQuery) -> Result<&'static dyn ReportFormat, Problem> {
    let name = if wanted.format.is_empty() { "json" } else { &wanted.format };
    brunt_report::format(name).ok_or_else(|| {
        let known: Vec<&str> = brunt_report::FORMATS.iter().map(|format| format.name()).collect();
        Problem::bad(format!("`{name}` is not a format; use one of {}", known.join(", ")))
    })
}

/// Creates the response with a document, which is saved as a file unless it is shown in the browser.
pub fn document_response(id: &str, format: &dyn ReportFormat, body: Body, is_shown: bool) -> Response {
    let ending = format.extensions().first().copied().unwrap_or("txt");
    let mut response = attachment(&format!("{id}.{ending}"), media_type(format), body);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    if is_shown {
        response.headers_mut().remove(CONTENT_DISPOSITION);
    }
    response
}

/// `GET /runs/{id}/lines`: the data that the page of a report draws, as JSON lines.
pub async fn lines(
    State(app): State<App>,
    Path(id): Path<String>,
    Extension(role): Extension<Option<Role>>,
) -> Result<Response, Problem> {
    let draw = |name: &str, summary: &Summary, seconds: &RecordedSeconds<'_>, out: &mut dyn Write| {
        html::lines(&ComparedRun { name, summary, seconds }, out)
    };
    let mut response = Response::new(report_body(app, id, role, draw).await?);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

/// Creates a body from a record: from the name of its run, its summary, and its seconds.
async fn report_body(
    app: App,
    id: String,
    role: Option<Role>,
    make: impl FnOnce(&str, &Summary, &RecordedSeconds<'_>, &mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Result<Body, Problem> {
    let (download, reader) = (downloads::acquire_slot(&app, role)?, app.reader().await?);
    blocking(&app, move |app| {
        let _reader = reader;
        let name = find(app, &id)?.name;
        let path = app.library.record(&id);
        let summary = figures::summary(&path).map_err(|fault| Problem::unfit("record", fault))?;
        let past = figures::BoundedRecord(RecordFile(path));
        downloads::body_from_writer(app, download, |out| make(&name, &summary, &RecordedSeconds(Some(&past)), out))
    })
    .await
}

/// The query of an upload: the name of the run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadQuery {
    #[serde(default)]
    name: String,
}

/// A file that is deleted when dropped, unless it is kept.
struct UploadFile(Option<PathBuf>);

impl Drop for UploadFile {
    fn drop(&mut self) {
        // It may be gone already.
        self.0.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// `POST /records`: the bytes of a record of a run or of an experiment, which may come from any source.
pub async fn upload(
    State(app): State<App>,
    named: Result<Query<UploadQuery>, QueryRejection>,
    body: Body,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let marks = RunEdits { name: Some(query(named)?.name), ..RunEdits::default() }.validated()?;
    let id = new_id()?;
    let incoming = UploadFile(Some(app.library.incoming(&id)));
    receive(body.into_data_stream(), &incoming).await?;
    // Acquired only now, so that a slow sender does not block readers.
    let reader = app.reader().await?;
    blocking(&app, move |app| {
        let _reader = reader;
        let mut incoming = incoming;
        let path = incoming.0.clone().unwrap_or_default();
        if SeriesReader::is_series(&path) {
            app.experiments.take_in(&path, &id, marks.name.unwrap_or_default())?;
            incoming.0 = None;
            return Ok((StatusCode::CREATED, Json(json!({ "id": id, "experiment": true }))));
        }
        let refused = |why: String| Problem::unfit("record", refusal(&why, &beginning(&path)));
        let figures = figures::RunFigures::of(&path).map_err(refused)?;
        std::fs::rename(&path, app.library.record(&id))?;
        incoming.0 = None;
        app.library.begin(&id, RunSource::Dropped, figures.started_ms)?;
        app.library.read(&id)?;
        app.library.edit(&id, &marks)?;
        Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
    })
    .await
}

/// Returns the beginning of a file.
fn beginning(path: &std::path::Path) -> String {
    let mut start = Vec::new();
    // An unreadable file counts as empty.
    let _ = std::fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    String::from_utf8_lossy(&start).into_owned()
}

/// Returns the reason why a file is refused, and a hint: users keep reports, and expect to be able to upload them.
fn refusal(why: &str, start: &str) -> String {
    let report = if start.contains("\"brunt-report/") {
        Some("a JSON report")
    } else if start.trim_start().to_ascii_lowercase().starts_with("<!doctype html") {
        Some("an HTML page")
    } else {
        None
    };
    match report {
        Some(what) => {
            format!("this is {what}, and only records can be shown again: drop a file written by --record")
        }
        None => format!("{why}; drop the unchanged file written by --record"),
    }
}

/// Timeout for the next bytes of an uploaded record; the total time is limited as for any request, see `gate.rs`.
const NEXT_BYTES: Duration = Duration::from_secs(10);

/// Writes the body into a file, up to a maximum size.
async fn receive(mut pieces: BodyDataStream, incoming: &UploadFile) -> Result<(), Problem> {
    let path = incoming.0.clone().unwrap_or_default();
    let mut file = tokio::task::spawn_blocking(move || private_file(&path)).await.map_err(Problem::machine)??;
    let mut left = LARGEST;
    let late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "time", "the upload of the record stalled for 10 s");
    while let Some(piece) = tokio::time::timeout(NEXT_BYTES, pieces.next()).await.map_err(late)? {
        let piece = piece.map_err(|_| Problem::bad("the upload of the record ended early"))?;
        left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
            let sentence = format!("a record has at most {} MiB", LARGEST >> 20);
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", sentence)
        })?;
        let written = tokio::task::spawn_blocking(move || file.write_all(&piece).map(|()| file)).await;
        file = written.map_err(Problem::machine)??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_told_for_what_it_is_and_what_would_be_right() {
        let said = |start| refusal("line 1: this is not a brunt record", start);
        assert!(said("{\n  \"schema\": \"brunt-report/1\",").starts_with("this is a JSON report, and only records"));
        assert!(said("\n<!DOCTYPE html>").starts_with("this is an HTML page, and only records"));
        let other = said("hello");
        assert_eq!(other, "line 1: this is not a brunt record; drop the unchanged file written by --record");
    }
}
