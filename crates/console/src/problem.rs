//! Errors of the API: a status, a stable code and a message.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    sentence: String,
}

impl Problem {
    /// Creates an error with a status and a stable code.
    pub fn new(status: StatusCode, code: &'static str, sentence: impl Into<String>) -> Problem {
        Problem { status, code, sentence: sentence.into() }
    }

    /// Creates an error for an invalid request.
    pub fn bad(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", sentence)
    }

    /// Creates an error for an unknown run.
    pub fn no_run() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "no_run", "there is no such run")
    }

    /// Creates an error for an unknown experiment.
    pub fn no_experiment() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "no_experiment", "there is no such experiment")
    }

    /// Creates an error for a request that conflicts with the current state.
    pub fn conflict(code: &'static str, sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, code, sentence)
    }

    /// Creates an error for a well-formed request with invalid contents.
    pub fn unfit(code: &'static str, sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, sentence)
    }

    /// Creates an error for a failure of this machine.
    pub fn machine(why: impl std::fmt::Display) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "machine", why.to_string())
    }

    /// Returns the message.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": { "code": self.code, "sentence": self.sentence } }))).into_response()
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Problem {
        Problem::machine(error)
    }
}
