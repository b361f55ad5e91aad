//! Where a value was said, so that a complaint about it names that place and not a flag nobody wrote.

use std::sync::Arc;

use plan::yaml::At;
use wire::Complaint;

/// Where a value was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    Line,
    /// In a plan file.
    File {
        /// The path, as it was given.
        path: Arc<str>,
        /// Line and column.
        at: At,
        /// The key it belongs to.
        key: Arc<str>,
    },
    /// In curl commands, by what complaints call them: `--curl`, `commands.sh line 4`.
    Curl(Arc<str>),
}

impl Origin {
    /// The place, as complaints name it; None: the command line, where each option has its own name.
    pub fn place(&self) -> Option<String> {
        match self {
            Origin::Line => None,
            Origin::File { path, at, key } => Some(format!("{path} line {} column {} ({key})", at.line, at.column)),
            Origin::Curl(place) => Some(place.to_string()),
        }
    }

    /// A complaint about what was said here; `flag`: what people call it on the command line.
    pub fn wrong(&self, flag: &str, trouble: impl Into<String>) -> Complaint {
        Complaint::new(self.place().unwrap_or_else(|| flag.to_owned()), trouble)
    }
}
