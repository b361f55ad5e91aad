//! The values of a user that a request uses, for failure examples and for `--debug`.

use brunt_contract::UserValues;
use brunt_plan::Plan;

/// Maximum number of values reported for one request, and maximum length of each in bytes.
const MOST: usize = 32;
const BYTES: usize = 256;

/// A value with its name, possibly truncated; `None` if it was not known.
pub type RequestValue = (String, Option<Vec<u8>>);

/// Returns the values used in a request to the URL with this index.
pub(crate) fn used_values(plan: &Plan, url: usize, values: &UserValues) -> Vec<RequestValue> {
    let Some(asked) = plan.urls.get(url) else { return Vec::new() };
    let names = plan.variables();
    let used = brunt_plan::flow::values_of(asked, &plan.options, names).into_iter().take(MOST);
    used.map(|at| {
        let value = values.get(at).map(beginning);
        (names[usize::from(at)].clone(), value)
    })
    .collect()
}

/// Returns the beginning of a value, with an ellipsis if more follows.
fn beginning(value: &[u8]) -> Vec<u8> {
    let cut = &value[..value.len().min(BYTES)];
    if cut.len() < value.len() { [cut, "…".as_bytes()].concat() } else { cut.to_vec() }
}
