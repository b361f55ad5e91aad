//! Steps for tests.

use std::collections::BTreeMap;

use super::{OnFailure, Step};

/// Returns a request to the URL with this number.
pub fn request(url: u32) -> Step {
    Step::Request { url, on_failure: OnFailure::default() }
}

/// Returns a call of a flow without values.
pub fn call(flow: &str) -> Step {
    Step::Call { flow: flow.into(), with: BTreeMap::new() }
}
