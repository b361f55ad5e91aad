//! What the API answers where it does not do what it was asked: a status, a stable word and a sentence.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An answer that is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    sentence: String,
}

impl Problem {
    /// One of a status, with a stable word.
    pub fn new(status: StatusCode, code: &'static str, sentence: impl Into<String>) -> Problem {
        Problem { status, code, sentence: sentence.into() }
    }

    /// Something was asked that cannot be.
    pub fn bad(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", sentence)
    }

    /// No such run.
    pub fn no_run() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "no_run", "there is no such run")
    }

    /// It does not go with what is so now.
    pub fn conflict(code: &'static str, sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, code, sentence)
    }

    /// It was understood, and is not right.
    pub fn unfit(code: &'static str, sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, sentence)
    }

    /// The machine did not do it.
    pub fn machine(why: impl std::fmt::Display) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "machine", why.to_string())
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
