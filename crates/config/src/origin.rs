//! The origin of a value, so that an error names its position and not a flag that the user did not write.

use std::sync::Arc;

use brunt_cause::Complaint;
use brunt_contract::UsageError;
use brunt_plan::yaml::FilePosition;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The command line.
    CommandLine,
    /// A plan file.
    File {
        /// Path as given.
        path: Arc<str>,
        /// Line and column.
        at: FilePosition,
        /// The key of the value.
        key: Arc<str>,
    },
    /// A curl command, by its name in errors: `--curl`, `commands.sh line 4`.
    Curl(Arc<str>),
}

impl ValueOrigin {
    /// Returns the position for errors; `None` for the command line, where errors name the option instead.
    pub fn place(&self) -> Option<String> {
        match self {
            ValueOrigin::CommandLine => None,
            ValueOrigin::File { path, at, key } => {
                Some(format!("{path} line {} column {} ({key})", at.line, at.column))
            }
            ValueOrigin::Curl(place) => Some(place.to_string()),
        }
    }

    /// Creates an error about the value; `flag` is its name on the command line.
    pub fn wrong(&self, flag: &str, trouble: impl Into<Complaint>) -> UsageError {
        UsageError::new(self.place().unwrap_or_else(|| flag.to_owned()), trouble)
    }
}
